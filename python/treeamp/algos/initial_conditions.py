"""Messages before the first sweep, from factors to variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _lib
from .._arrays import Array, array, check_seed, complex_matrix, dense, matrix, number
from ..base import ReprMixin
from ..models import Model

__all__ = [
    "ConstantInit",
    "CustomInit",
    "InformedInit",
    "Initializer",
    "NearInit",
    "NoisyInit",
    "PushInit",
    "spectral_estimate",
]

_DIRECTIONS = {"fwd": "forward", "bwd": "backward", "forward": "forward", "backward": "backward"}


def direction_of(word: Any) -> str:
    """``forward`` or ``backward``, from that or tramp's ``fwd`` and ``bwd``."""
    if word not in _DIRECTIONS:
        raise ValueError(f"a direction must be 'fwd' or 'bwd', got {word!r}")
    return _DIRECTIONS[word]


def edges_of(model: Model, id: str, direction: str) -> list[tuple[str, str]]:
    """The edges ``(factor, variable)`` of messages to a variable in a direction."""
    if id not in model.variable_ids:
        known = ", ".join(f"`{name}`" for name in model.variable_ids)
        raise ValueError(f"there is no variable `{id}`: the model has {known}")
    wanted = direction_of(direction)
    found = [(f, v) for f, v, d in model.edges if v == id and d == wanted]
    if not found:
        raise ValueError(f"variable `{id}` has no {wanted} message")
    return found


class Initializer(ReprMixin):
    """An initial condition."""

    def _messages(self, model: Model, moments: Any) -> Any:
        """What the native run takes; ``moments`` gives second moments when called."""
        raise NotImplementedError


class ConstantInit(Initializer):
    """The same message everywhere; in state evolution ``a`` is its precision, zero for an uninformed start.

    Parameters
    ----------
    a, b : float
        Precision and linear part of every message.

    Examples
    --------
    >>> ConstantInit(a=1e3)
    ConstantInit(a=1000.0, b=0.0)
    """

    repr_parameters = ("a", "b")

    def __init__(self, a: float = 0, b: float = 0) -> None:
        self.a, self.b = number(a, "a"), number(b, "b")

    def _messages(self, model: Model, moments: Any) -> Any:
        return (self.a, self.b)


class NoisyInit(Initializer):
    """Gaussian messages. Without a seed one is made and kept in ``seed``.

    Parameters
    ----------
    a_mean, a_var, b_mean, b_var : float
        Means and variances of precisions and linear parts.
    seed : int, optional
        Of the draw.
    """

    repr_parameters = ("a_mean", "a_var", "b_mean", "b_var", "seed")

    def __init__(
        self, a_mean: float = 0, a_var: float = 0, b_mean: float = 0, b_var: float = 1, seed: int | None = None
    ) -> None:
        self.a_mean, self.a_var = number(a_mean, "a_mean"), number(a_var, "a_var")
        self.b_mean, self.b_var = number(b_mean, "b_mean"), number(b_var, "b_var")
        for name in ("a_var", "b_var"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"`{name}` must not be negative, got {getattr(self, name)}")
        self.seed = check_seed(seed)

    def _messages(self, model: Model, moments: Any) -> Any:
        if self.a_var == 0:
            return (self.a_mean, self.b_mean, float(np.sqrt(self.b_var)), self.seed)
        rng = np.random.default_rng(self.seed)
        shapes = model.shapes
        given = []
        for factor, variable, direction in model.edges:
            a = rng.normal(self.a_mean, np.sqrt(self.a_var))
            shape = shapes[variable]
            b = rng.normal(self.b_mean, np.sqrt(self.b_var), size=1 if shape is None else int(np.prod(shape)))
            # forward messages are computed before anyone reads them
            if direction == "backward":
                given.append((factor, variable, float(a), b))
        return given


class CustomInit(Initializer):
    """Messages by variable and direction, ``[(id, direction, value), ...]``; ``a`` and ``b`` elsewhere.

    Parameters
    ----------
    a_init, b_init : list
        Entries ``(id, direction, value)`` for precisions and for linear parts, ``direction`` being ``"fwd"`` or ``"bwd"``.
    a, b : float
        What all other messages are.

    Examples
    --------
    >>> CustomInit(a_init=[("x", "bwd", 1.0)], a=0.1).a_init
    [('x', 'bwd', 1.0)]
    """

    repr_parameters = ("a_init", "b_init", "a", "b")

    def __init__(self, a_init: Any = None, b_init: Any = None, a: float = 0, b: float = 0) -> None:
        self.a_init = [(id, direction, number(value, "a_init")) for id, direction, value in a_init or []]
        self.b_init = [(id, direction, array(value, "b_init")) for id, direction, value in b_init or []]
        for _, direction, _ in [*self.a_init, *self.b_init]:
            direction_of(direction)
        self.a, self.b = number(a, "a"), number(b, "b")

    def _messages(self, model: Model, moments: Any) -> Any:
        a_given = {edge: a for id, direction, a in self.a_init for edge in edges_of(model, id, direction)}
        b_given = {edge: b for id, direction, b in self.b_init for edge in edges_of(model, id, direction)}
        given = []
        for factor, variable, direction in model.edges:
            edge = (factor, variable)
            is_given = edge in a_given or edge in b_given
            if is_given or (direction == "backward" and (self.a or self.b)):
                b = np.ravel(b_given.get(edge, np.array([self.b])))
                given.append((factor, variable, a_given.get(edge, self.a), b))
        return given


class InformedInit(Initializer):
    r"""State evolution from near-perfect knowledge of some variables (all of them by default).

    Parameters
    ----------
    ids : list of str
        The variables that are known; ``"all"`` for all.
    knowledge : float
        :math:`\hat m\tau_0` of each of them, whatever its size; little of it leaves a symmetric point.

    Examples
    --------
    >>> InformedInit(["x"])
    InformedInit(ids=['x'], knowledge=100000000.0)
    """

    repr_parameters = ("ids", "knowledge")

    def __init__(self, ids: Any = "all", knowledge: float = 1e8) -> None:
        self.ids = ids
        self.knowledge = number(knowledge, "knowledge")

    def _messages(self, model: Model, moments: Any) -> Any:
        ids = model.variable_ids if isinstance(self.ids, str) and self.ids == "all" else list(self.ids)
        tau = moments()
        for id in ids:
            if id not in tau:
                known = ", ".join(f"`{name}`" for name in model.variable_ids)
                raise ValueError(f"there is no variable `{id}`: the model has {known}")
        return [(f, v, self.knowledge / tau[v], np.zeros(1)) for f, v, _ in model.edges if v in ids]


class PushInit(Initializer):
    r"""Expectation propagation from messages that lean to a random side, :math:`b = s\,\xi/\sqrt v`.

    It leaves the point of a symmetric model at which every mean is zero. Without a seed one is made and kept.

    Parameters
    ----------
    strength : float
        :math:`s`, in standard deviations of every variable.
    seed : int, optional
        Of the draw.

    Examples
    --------
    >>> PushInit(seed=1)
    PushInit(strength=0.3, seed=1)
    """

    repr_parameters = ("strength", "seed")

    def __init__(self, strength: float = 0.3, seed: int | None = None) -> None:
        self.strength = number(strength, "strength")
        self.seed = check_seed(seed)

    def _messages(self, model: Model, moments: Any) -> Any:
        return _lib.push(model._tree, self.strength, self.seed)


class NearInit(Initializer):
    r"""Messages that know a variable with a precision, :math:`b = a\,\hat x`, from everything around it.

    What its prior says counts from the second sweep on.

    Parameters
    ----------
    id : str
        The variable.
    estimate : array
        :math:`\hat x`, of its shape.
    precision : float
        :math:`a`.

    Examples
    --------
    >>> NearInit("x", [1.0, 2.0], precision=0.5)
    NearInit(id='x', precision=0.5)
    """

    repr_parameters = ("id", "precision")

    def __init__(self, id: str, estimate: Any, precision: float = 1.0) -> None:
        self.id = id
        self.estimate = array(estimate, "estimate")
        self.precision = number(precision, "precision")
        if not (self.precision > 0 and np.isfinite(self.precision)):
            raise ValueError(f"`precision` must be positive and finite, got {self.precision}")

    def _messages(self, model: Model, moments: Any) -> Any:
        if self.id not in model.variable_ids:
            known = ", ".join(f"`{name}`" for name in model.variable_ids)
            raise ValueError(f"there is no variable `{self.id}`: the model has {known}")
        shape = model.shapes[self.id]
        if shape is not None and self.estimate.size != int(np.prod(shape)):
            raise ValueError(f"`estimate` of `{self.id}` must have shape {shape}, got {self.estimate.shape}")
        b = self.precision * self.estimate.ravel()
        return [(f, v, self.precision, b) for f, v, _ in model.edges if v == self.id]


def spectral_estimate(W: Any, y: Any, seed: int | None = 0) -> Array:
    r"""An estimate of :math:`x` from :math:`y = |W x|`, up to its sign or phase, to start from with :class:`NearInit`.

    The leading eigenvector of :math:`W^T\operatorname{diag}(T(y))\,W` with :math:`T(y) = 1 - \overline{y^2}/y^2`. A
    complex ``W`` gives an array of shape ``(2, N)``.

    >>> W = np.random.default_rng(0).normal(size=(400, 50)) / np.sqrt(50)
    >>> x = np.random.default_rng(1).normal(size=50)
    >>> estimate = spectral_estimate(W, abs(W @ x))
    >>> bool(abs(estimate @ x) > 0.8 * np.linalg.norm(estimate) * np.linalg.norm(x))
    True
    """
    moduli = np.ravel(array(y, "y"))
    W = dense(W, "W")
    if np.iscomplexobj(W):
        w = complex_matrix(W, "W")
        re, im = np.ascontiguousarray(w.real), np.ascontiguousarray(w.imag)
        return _lib.spectral_estimate(re, im, moduli, check_seed(seed)).reshape(2, -1)
    return _lib.spectral_estimate(matrix(W, "W"), None, moduli, check_seed(seed))
