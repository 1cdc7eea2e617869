"""Variables and factors, the pieces that models are made of: ``@`` chains, ``+`` places side by side."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _lib
from ._arrays import belief, count, positive
from .errors import FactorError, ModelError

if TYPE_CHECKING:
    from ._fragment import Fragment
    from .models import Model

#: A parameter for a native twin: a word, numbers, or a shape with them.
Given = str | list[float] | tuple[list[int], list[float]]

__all__ = ["Factor", "Piece", "ReprMixin", "Variable", "filter_message", "inv"]


def inv(v: Any) -> Any:
    """The precision of a variance, ``1 / v``, infinite at zero.

    >>> inv(0.5), inv(0.0)
    (2.0, inf)
    """
    with np.errstate(divide="ignore"):
        return np.divide(1.0, v)[()] if np.ndim(v) else float(np.divide(1.0, v))


def filter_message(message: Any, direction: str) -> list[Any]:
    """The entries ``(source, target, data)`` of a message that travel in a direction."""
    return [m for m in message if m[2]["direction"] == direction]


def _naming(init: Callable[..., None]) -> Callable[..., None]:
    """A constructor whose refusals of an argument begin with the name of the class."""

    @functools.wraps(init)
    def named(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            init(self, *args, **kwargs)
        except (TypeError, ValueError) as error:
            if str(error).startswith("`"):
                error.args = (f"{type(self).__name__}: {error}",)
            raise

    return named


class ReprMixin:
    """A ``repr`` from the parameters of the constructor, which names its class where it refuses one of them."""

    #: Names of the parameters shown.
    repr_parameters: tuple[str, ...] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # somebody's own classes say what they like
        if "__init__" in cls.__dict__ and cls.__module__.partition(".")[0] == __package__:
            setattr(cls, "__init__", _naming(cls.__dict__["__init__"]))

    def repr_init(self, pad: str | None = None) -> None:
        """Shows the attributes that there are now; for classes of one's own, at the end of ``__init__``."""
        del pad
        shown = (name for name in self.__dict__ if not name.startswith("_") and name != "repr_parameters")
        self.repr_parameters = tuple(shown)

    def __repr__(self) -> str:
        def shown(name: str) -> str:
            value = getattr(self, name)
            if isinstance(value, np.ndarray) and value.ndim == 0:
                return f"{name}={value.item()!r}"
            if isinstance(value, np.ndarray) and value.size == 0:
                return f"{name}=[]"
            if isinstance(value, np.ndarray):
                return f"{name}=<array {value.shape}>"
            if hasattr(value, "shape") and not np.isscalar(value):  # sparse matrices and operators
                return f"{name}=<{type(value).__name__} {tuple(value.shape)}>"
            return f"{name}={value!r}"

        return f"{type(self).__name__}({', '.join(map(shown, self.repr_parameters))})"


class Piece:
    """Whatever can stand in a declaration."""

    #: Arrays leave operators to us, instead of going through their entries.
    __array_ufunc__ = None

    def _to_fragment(self) -> Fragment:
        """It as a piece of a model."""
        raise NotImplementedError

    def __matmul__(self, other: Any) -> Fragment:
        if not isinstance(other, Piece):
            return NotImplemented
        return self._to_fragment()._chain(other._to_fragment())

    def __add__(self, other: Any) -> Fragment:
        if not isinstance(other, Piece):
            return NotImplemented
        return self._to_fragment()._beside(other._to_fragment())

    def to_model_dag(self) -> Fragment:
        """It as a piece of a model, as tramp calls that."""
        return self._to_fragment()

    def to_model(self) -> Model:
        """The validated model."""
        from .models import Model

        return Model(self._to_fragment())


class Variable(Piece, ReprMixin):
    r"""A hidden variable.

    Parameters
    ----------
    id : str
        Its name, unique in a model.
    n_prev, n_next : int, optional
        How many factors produce and consume it. Without them they follow from the model.
    belief : str, optional
        The structure of the precision :math:`a`: ``"isotropic"``, one number for all components, unless a factor with
        ``isotropic=False`` asks for ``"diagonal"``, one per component; ``"full"``, a matrix; ``"block(d)"``, a matrix
        for every ``d`` components in a row. Expectation propagation then returns ``variances`` too, and ``covariance``.

    Notes
    -----
    Beliefs on it are :math:`e^{-\frac12 x^T a x + b^T x}`; what factors say of it adds up.

    Examples
    --------
    >>> from treeamp.priors import GaussianPrior
    >>> model = (GaussianPrior(size=3) @ Variable("x")).to_model()
    >>> model.variable_ids
    ['x']
    """

    repr_parameters: tuple[str, ...] = ("id",)

    def __init__(
        self, id: str, n_prev: int | None = None, n_next: int | None = None, *, belief: str | None = None
    ) -> None:
        if not isinstance(id, str):
            raise TypeError(f"`id` must be a string, got {type(id).__name__}")
        if not id:
            raise ValueError("`id` must not be empty")
        if belief is not None and not isinstance(belief, str):
            raise TypeError(f"`belief` must be a string, got {type(belief).__name__}")
        self.belief = belief
        self.id = id
        self.n_prev = None if n_prev is None else count(n_prev, "n_prev", 0)
        self.n_next = None if n_next is None else count(n_next, "n_next", 0)

    def _to_fragment(self) -> Fragment:
        from ._fragment import Fragment

        return Fragment([self], [], [(0, None)], [(0, None)], self.id)

    def posterior_ab(self, message: Any) -> tuple[Any, Any]:
        """The sums of ``a`` and of ``b`` over a message, a list of ``(source, target, data)``."""
        return sum(data["a"] for _, _, data in message), sum(data["b"] for _, _, data in message)

    def posterior_rv(self, message: Any) -> tuple[Any, Any]:
        r"""Mean :math:`b/a` and variance :math:`1/a` of these sums.

        >>> Variable("x").posterior_rv([("f", "x", {"a": 1.0, "b": 2.0}), ("g", "x", {"a": 3.0, "b": 0.0})])
        (0.5, 0.25)
        """
        a, b = self.posterior_ab(message)
        return b / a, 1 / a

    def posterior_a(self, message: Any) -> Any:
        """The sum of ``a`` over a message."""
        return sum(data["a"] for _, _, data in message)

    def posterior_v(self, message: Any) -> Any:
        """The inverse of that sum."""
        return 1 / self.posterior_a(message)

    def compute_log_partition(self, ax: float, bx: Any) -> float:
        r""":math:`A = \frac{\|b\|^2}{2a} + \frac n2 \ln\frac{2\pi}a`, infinite for :math:`a \le 0`.

        >>> round(Variable("x").compute_log_partition(2.0, [1.0, 1.0]), 6)
        1.64473
        """
        a, b = belief(ax, bx, "x")
        if not a > 0:
            return float("inf")
        return float(0.5 * np.sum(b * b) / ax + 0.5 * b.size * np.log(2 * np.pi / ax))

    def compute_free_energy(self, ax: float, tau_x: float) -> float:
        r"""Its average, :math:`\frac12 a\tau - \frac12\ln a\tau + \frac12\ln\frac{2\pi\tau}{e}`."""
        a, tau = positive(ax, "ax"), positive(tau_x, "tau_x")
        return float(0.5 * a * tau - 0.5 * np.log(a * tau) + 0.5 * np.log(2 * np.pi * tau / np.e))

    def compute_mutual_information(self, ax: float, tau_x: float) -> float:
        r""":math:`\frac12\ln a\tau`."""
        return float(0.5 * np.log(positive(ax, "ax") * positive(tau_x, "tau_x")))

    def compute_dual_mutual_information(self, vx: float, tau_x: float) -> float:
        r""":math:`\frac12\ln\frac\tau v - \frac12`."""
        return float(0.5 * np.log(positive(tau_x, "tau_x") / positive(vx, "vx")) - 0.5)

    def compute_dual_free_energy(self, mx: float, tau_x: float) -> float:
        r"""The Legendre transform :math:`\frac12 a m - \bar A = -\frac12\ln 2\pi(\tau - m)`, as of factors."""
        return float(-0.5 * np.log(2 * np.pi * positive(tau_x - mx, "tau_x - mx")))


class _NativeTwin:
    """The native twin of a module, made when it is first asked for where the constructor did not make it."""

    def __get__(self, module: Any, owner: Any = None) -> Any:
        module._native = module._twin()
        return module._native


class Factor(Piece, ReprMixin):
    """A module: a prior, a likelihood or a channel. It holds its parameters and its native twin."""

    #: Numbers of variables it consumes and produces.
    n_prev: int = 0
    n_next: int = 0
    #: Precisions have no bounds.
    AMIN: float = 0.0
    AMAX: float = float("inf")
    #: One precision per variable; per component otherwise (a module alone only).
    isotropic: bool = True
    #: A name in the model; that of the module otherwise.
    label: str | None = None
    #: Its name in the model that was built with it last, as in edges and messages.
    id: str | None = None
    #: The structure of beliefs that it asks of its variables; None if any will do.
    _belief: str | None = None

    #: Its name in the catalogue, and its parameters, in the order of the catalogue.
    _law: str = ""
    _native_parameters: tuple[str, ...] = ()
    #: Parameters that were given under another name than their own.
    _given_as: dict[str, str] = {}

    #: Whether inputs and outputs are complex; None where the factor follows its neighbours.
    _complex: tuple[bool | None, bool | None] = (None, None)
    #: Its output has not the shape of its input.
    _reduces: bool = False

    #: Whether the components of its output are the pairs of a symmetric matrix.
    _makes_pairs: bool = False

    _native: _lib.Factor = _NativeTwin()  # type: ignore[assignment]

    def _values(self) -> list[tuple[str, Given]]:
        """The parameters for the native twin, numbers or a word, under the names that were written: errors speak of these."""

        def value(name: str) -> Given:
            found = getattr(self, name)
            if isinstance(found, str):
                return found
            numbers: list[float] = np.ravel(found).tolist()
            return (list(found.shape), numbers) if isinstance(found, np.ndarray) and found.ndim != 1 else numbers

        return [(self._given_as.get(name, name), value(name)) for name in self._native_parameters]

    def _complex_native(self) -> _lib.Factor:
        """The native twin on complex signals, whose parts are on the first axis."""
        return self._native

    def _native_below_a_prior(self) -> _lib.Factor | None:
        """Another twin where its output has a prior of its own."""
        return None

    def _make(self) -> _lib.Factor:
        """The native twin, from the parameters."""
        raise NotImplementedError

    def _twin(self) -> _lib.Factor:
        """The native twin. Errors use the parameter names of this class, not those of the catalogue."""
        try:
            return self._make()
        except ModelError as error:
            parts = re.fullmatch(r"\w+: (observation: |parameter )(.*)|factor `\w+`, port \d+: (.*)", str(error), re.DOTALL)
            if not parts:
                raise
            name = "`y`: " if parts[1] == "observation: " else ""
            raise type(error)(f"{type(self).__name__}: {name}{parts[2] or parts[3]}") from None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_native"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._native = self._twin()

    def compute_a_new(self, v: Any, a: Any) -> Any:
        r"""The outgoing precision :math:`1/v - a`."""
        return inv(v) - a

    def compute_ab_new(self, r: Any, v: Any, a: Any, b: Any) -> tuple[Any, Any]:
        r"""The outgoing message :math:`(1/v - a,\; r/v - b)`, without bounds."""
        return inv(v) - a, r * inv(v) - b

    def compute_a_mhat_qhat_new(
        self, v: float, m: float, q: float, a: float, m_hat: float, q_hat: float, t0: float
    ) -> tuple[float, float, float]:
        r"""The outgoing fields of a student on a teacher's data, :math:`t_0` being the teacher's second moment:
        :math:`(\frac1v - a,\; \frac{m}{v t_0} - \hat m,\; \frac1{v^2}(q - \frac{m^2}{t_0}) - \hat q)`."""
        t0 = positive(t0, "t0")
        if v == 0:  # nothing is left unknown: all are infinite
            return np.inf, np.inf, np.inf
        return inv(v) - a, inv(v) * m / t0 - m_hat, inv(v) ** 2 * (q - m**2 / t0) - q_hat

    def named(self, label: str) -> Factor:
        """The same factor under a name of its own in models and messages."""
        self.label = label
        return self

    def _to_fragment(self) -> Fragment:
        from ._fragment import End, Fragment

        inputs: list[Any] = [None] * self.n_prev
        outputs: list[Any] = [None] * self.n_next
        heads: list[End] = [(0, port) for port in range(self.n_prev)]
        tails: list[End] = [(0, self.n_prev + port) for port in range(self.n_next)]
        return Fragment([], [(self, inputs, outputs)], heads, tails, type(self).__name__)

    def _proper(self, variance: Any) -> Any:
        """A variance that is one: an infinite one is that of a law without a norm."""
        if not np.isfinite(variance).all():
            raise FactorError(f"{type(self).__name__}: the law is improper at these precisions, its variance is infinite")
        return variance

    @property
    def has_expectation_propagation(self) -> bool:
        """Whether expectation propagation can use it."""
        return "posterior" in self._native.rules

    @property
    def has_state_evolution(self) -> bool:
        """Whether state evolution can use it."""
        return "ensemble" in self._native.rules
