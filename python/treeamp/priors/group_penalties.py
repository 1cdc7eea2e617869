r"""Penalties of groups and of your own: energies :math:`E(x)` of maximum a posteriori estimation, as priors :math:`e^{-E(x)}`.

Each is its proximal map: at a belief :math:`(a, b)` the mode :math:`r = \operatorname{argmin}_x\{E(x) + \frac12 a\|x\|^2 - b^T x\}`, its
curvature :math:`v = \langle\partial_b r\rangle` and :math:`A = \max_x\{-E(x) - \frac12 a\|x\|^2 + b^T x\}`. In expectation propagation it is its own
Laplace approximation, and it can be the student of a mismatched state evolution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _lib
from .._arrays import Array, array, belief, count, flag, number, size_to_shape
from ..errors import ModelError
from .base_penalty import Penalty

__all__ = ["MAP_CustomPrior", "MAP_L21NormPrior"]


class _OnWholeArrays(Penalty):
    """A penalty that mixes components: asked with arrays of its shape."""

    def _scalar(self, ax: Any, bx: Any) -> tuple[Array, Array, Array]:
        raise ModelError(f"{type(self).__name__} does not act on components alone: ask for posteriors of whole arrays")

    def compute_forward_posterior(self, ax: Any, bx: Any) -> tuple[Any, Any]:
        """The mode, and its curvature averaged over the components."""
        a, b = belief(number(ax, "ax"), bx, "x")
        r, v = self._native.moments([(float(a), b)], 0)
        return r.reshape(b.shape), v

    def compute_log_partition(self, ax: Any, bx: Any) -> float:
        """:math:`A` of the signal."""
        a, b = belief(number(ax, "ax"), bx, "x")
        return self._native.log_partition([(float(a), b)])


def _group_modes(strength: float, a: Array, b: Array) -> tuple[Array, Array, Array]:
    r"""Modes of groups with a precision per member, groups along the first axis: :math:`r`, :math:`v_i = \partial_{b_i} r_i` and :math:`A`.

    A group with :math:`\|b\| \le \gamma` is zero. Else :math:`r_i = b_i w_i` with :math:`w_i = s/(a_i s + \gamma)`, and :math:`s = \|r\|` is
    the root of :math:`\|q\| = 1`, :math:`q_i = b_i/(a_i s + \gamma)`. As :math:`1/\|q\|` is concave in :math:`s`, Newton's steps from below the
    root stay below it.
    """
    r, v, log_z = np.zeros(b.shape), np.zeros(b.shape), np.zeros(b.shape[1:])
    norms = np.linalg.norm(b, axis=0)
    active = norms > strength
    a, b = a[:, active], b[:, active]
    size = (norms[active] - strength) / a.max(axis=0, initial=0.0)
    for _ in range(100):
        q = b / (a * size + strength)
        norm = np.linalg.norm(q, axis=0)
        step = norm**2 * (norm - 1) / np.sum(q * q * a / (a * size + strength), axis=0)
        size = size + step
        if np.all(abs(step) <= 1e-15 * size):
            break
    w = size / (a * size + strength)
    mode = b * w
    r[:, active] = mode
    v[:, active] = w + strength / size * (mode * w) ** 2 / np.sum(mode * mode * a * w, axis=0)
    log_z[active] = np.sum(b * mode - 0.5 * a * mode * mode, axis=0) - strength * size
    return r, v, log_z


class MAP_L21NormPrior(_OnWholeArrays):
    r"""The penalty :math:`\gamma\sum_n\|x_n\|_2` of an array whose groups :math:`x_n` run along one axis, the first unless
    ``axis`` says otherwise: total variation, on a gradient.

    Parameters
    ----------
    size : tuple
        Shape of the array.
    gamma : float
        The strength :math:`\gamma`, not negative.
    axis : int
        The axis along which the members of a group lie; negative ones count from the last.
    isotropic : bool
        One curvature for all components; each its own otherwise, and a precision ``ax`` for each, in a penalty asked alone. In models all
        share one.

    Notes
    -----
    Group soft thresholding, :math:`r_n = \frac{b_n}{a}(1 - \gamma/\|b_n\|)_+`. With a precision per component the mode is
    :math:`r_i = b_i s/(a_i s + \gamma)`, :math:`s` being the norm of its group.

    Examples
    --------
    >>> MAP_L21NormPrior(size=(2, 2), gamma=1.0).compute_forward_posterior(1.0, [[3.0, 0.1], [4.0, 0.2]])[0]
    array([[2.4, 0. ],
           [3.2, 0. ]])
    >>> MAP_L21NormPrior(size=(2, 2), gamma=1.0, axis=-1).compute_forward_posterior(1.0, [[3.0, 4.0], [0.1, 0.2]])[0]
    array([[2.4, 3.2],
           [0. , 0. ]])
    """

    repr_parameters = ("size", "gamma", "axis")
    _law, _native_parameters = "l21", ("gamma", "axis")

    def __init__(self, size: Any, gamma: float = 1, axis: int = 0, isotropic: bool = True) -> None:
        self.gamma = number(gamma, "gamma")
        axes = len(size_to_shape(size) or [0])
        self.axis = count(axis, "axis", -axes) % axes if axes else 0
        if axes and axis >= axes:
            raise ModelError(f"MAP_L21NormPrior: `axis` must be one of the {axes} axes of size={size}, got {axis}")
        self._start(size, isotropic)

    def _modes(self, ax: Any, bx: Any) -> tuple[Array, Array, Array]:
        """Mode and curvature of every component, and :math:`A` of every group."""
        a, b = np.broadcast_arrays(*belief(ax, self._sized(bx), "x"))
        if not np.all((a > 0) & (a < np.inf)):
            raise ValueError("`ax` must be positive and finite where every component has its own")
        r, v, log_z = _group_modes(self.gamma, np.moveaxis(a, self.axis, 0), np.moveaxis(b, self.axis, 0))
        return np.moveaxis(r, 0, self.axis), np.moveaxis(v, 0, self.axis), log_z

    def compute_forward_posterior(self, ax: Any, bx: Any) -> tuple[Any, Any]:
        """The mode, and its curvature: averaged, or of every component when not isotropic."""
        if self.isotropic and np.ndim(ax) == 0:
            return super().compute_forward_posterior(ax, bx)
        r, v, _ = self._modes(ax, bx)
        return r, (float(v.mean()) if self.isotropic else v)

    def compute_forward_message(self, ax: Any, bx: Any) -> tuple[Any, Any]:
        r"""The outgoing message :math:`(1/v - a, r/v - b)`; an infinite precision pins :math:`x` at the second."""
        if self.isotropic and np.ndim(ax) == 0:
            return super().compute_forward_message(ax, bx)
        _, b = belief(ax, self._sized(bx), "x")
        r, v, log_z = self._modes(ax, b)
        return self._outgoing(ax, b, (log_z, r, v))

    def compute_log_partition(self, ax: Any, bx: Any) -> float:
        """:math:`A` of the signal."""
        return super().compute_log_partition(ax, bx) if np.ndim(ax) == 0 else float(np.sum(self._modes(ax, bx)[2]))


class MAP_CustomPrior(Penalty):
    r"""A penalty of your own, by its proximal map :math:`p(t, u) = \operatorname{argmin}_x\{t E(x) + \frac12(x - u)^2\}`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    proximal, derivative : callable
        :math:`p(t, u)` and :math:`\partial_u p`, functions of a number and an array, component by component.
    energy : callable
        :math:`E` of every component of an array.
    convex : bool
        Whether :math:`E` is: without it there is no certain way to its minimiser.
    name : str
        In messages and drawings.

    Examples
    --------
    >>> ridge = MAP_CustomPrior(2, proximal=lambda t, u: u / (1 + t), derivative=lambda t, u: np.ones_like(u) / (1 + t),
    ...                         energy=lambda x: 0.5 * x**2, name="ridge")
    >>> ridge.check()
    >>> ridge.compute_forward_posterior(1.0, [1.0, 2.0])
    (array([0.5, 1. ]), 0.5)
    """

    repr_parameters = ("size", "custom_name")

    def __init__(
        self,
        size: Any,
        proximal: Callable[..., Any],
        derivative: Callable[..., Any],
        energy: Callable[..., Any],
        *,
        convex: bool = True,
        name: str = "custom_penalty",
    ) -> None:
        self._given = {"proximal": proximal, "derivative": derivative, "energy": energy}
        for key, function in self._given.items():
            if not callable(function):
                raise TypeError(f"`{key}` must be a function, got {type(function).__name__}")
        self.convex = flag(convex, "convex")
        self.custom_name = str(name)
        self._start(size, True)

    def _called(self, key: str, *at: Any) -> Array:
        found = array(self._given[key](*at), f"{key} of {self.custom_name}")
        x = at[-1]
        if found.shape != np.shape(x):
            if found.ndim == 0:
                return np.full(np.shape(x), float(found))
            raise ValueError(f"`{key}` of {self.custom_name} must return shape {np.shape(x)}, got {found.shape}")
        if np.isnan(found).any():
            raise ValueError(f"`{key}` of {self.custom_name} returned NaN")
        return found

    def _call_proximal(self, t: float, u: Array) -> Array:
        return self._called("proximal", t, u)

    def _call_derivative(self, t: float, u: Array) -> Array:
        return self._called("derivative", t, u)

    def _call_energy(self, x: Array) -> float:
        return float(np.sum(self._called("energy", x)))

    def _make(self) -> _lib.Factor:
        functions = self._call_proximal, self._call_derivative, self._call_energy
        return _lib.custom_penalty(self.custom_name, size_to_shape(self.size), *functions, self.convex)

    def check(self) -> None:
        """Compares the derivative with differences of the proximal map, and that with the energy around it.

        Raises
        ------
        ModelError
            At the first place of disagreement.
        """

        def alone(key: str) -> Callable[[float, float], float]:
            if key == "energy":
                return lambda _, x: float(self._called(key, np.array([x]))[0])
            return lambda t, u: float(self._called(key, t, np.array([u]))[0])

        _lib.check_penalty(self.custom_name, alone("proximal"), alone("derivative"), alone("energy"))
