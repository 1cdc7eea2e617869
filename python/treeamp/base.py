"""Variables, factors, and the algebra that makes a model of them: ``@`` chains, ``+`` places side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _lib
from ._arrays import array, check_memory, count
from ._shapes import check_shapes
from .errors import ModelError

if TYPE_CHECKING:
    from .models import Model

__all__ = ["Factor", "Fragment", "ReprMixin", "Variable", "filter_message", "inv"]


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


class ReprMixin:
    """A ``repr`` from the parameters of the constructor."""

    #: Names of the parameters shown.
    repr_parameters: tuple[str, ...] = ()

    def repr_init(self, pad: str | None = None) -> None:
        """Shows the attributes that there are now; for classes of one's own, at the end of ``__init__``."""
        del pad
        self.repr_parameters = tuple(name for name in self.__dict__ if not name.startswith("_") and name != "repr_parameters")

    def __repr__(self) -> str:
        def shown(name: str) -> str:
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                return f"{name}=<array {value.shape}>"
            return f"{name}={value!r}"

        return f"{type(self).__name__}({', '.join(map(shown, self.repr_parameters))})"


class Piece:
    """Whatever can stand in a declaration."""

    def to_fragment(self) -> Fragment:
        """It as a piece of a model."""
        raise NotImplementedError

    def __matmul__(self, other: Any) -> Fragment:
        if not isinstance(other, Piece):
            return NotImplemented
        return self.to_fragment()._chain(other.to_fragment())

    def __add__(self, other: Any) -> Fragment:
        if not isinstance(other, Piece):
            return NotImplemented
        return self.to_fragment()._beside(other.to_fragment())

    def to_model_dag(self) -> Fragment:
        """It as a piece of a model, as tramp calls that."""
        return self.to_fragment()

    def to_model(self) -> Model:
        """The validated model."""
        from .models import Model

        return Model(self.to_fragment())


class Variable(Piece, ReprMixin):
    r"""A hidden variable.

    Parameters
    ----------
    id : str
        Its name, unique in a model.
    n_prev, n_next : int, optional
        How many factors produce and consume it. Without them it takes whatever the model gives.
    belief : str, optional
        The structure of the precision :math:`a`: ``"isotropic"``, one number for all components, unless a factor with
        ``isotropic=False`` asks for ``"diagonal"``, one per component; ``"full"``, a matrix; ``"block(d)"``, a matrix
        for every ``d`` components in a row. Expectation propagation then tells ``variances`` too, and ``covariance``.

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

    def to_fragment(self) -> Fragment:
        return Fragment([self], [], [(0, None)], [(0, None)], self.id)

    def compute_log_partition(self, ax: float, bx: Any) -> float:
        r""":math:`A = \frac{\|b\|^2}{2a} + \frac n2 \ln\frac{2\pi}a`, infinite for :math:`a \le 0`.

        >>> round(Variable("x").compute_log_partition(2.0, [1.0, 1.0]), 6)
        1.64473
        """
        b = array(bx, "bx")
        if not ax > 0:
            return float("inf")
        return float(0.5 * np.sum(b * b) / ax + 0.5 * b.size * np.log(2 * np.pi / ax))

    def compute_free_energy(self, ax: float, tau_x: float) -> float:
        r"""Its average, :math:`\frac12 a\tau - \frac12\ln a\tau + \frac12\ln\frac{2\pi\tau}{e}`."""
        return float(0.5 * ax * tau_x - 0.5 * np.log(ax * tau_x) + 0.5 * np.log(2 * np.pi * tau_x / np.e))

    def compute_mutual_information(self, ax: float, tau_x: float) -> float:
        r""":math:`\frac12\ln a\tau`."""
        return float(0.5 * np.log(ax * tau_x))

    def compute_dual_mutual_information(self, vx: float, tau_x: float) -> float:
        r""":math:`\frac12\ln\frac\tau v - \frac12`."""
        return float(0.5 * np.log(tau_x / vx) - 0.5)

    def compute_dual_free_energy(self, mx: float, tau_x: float) -> float:
        r"""The Legendre transform :math:`\frac12 a m - \bar A = -\frac12\ln 2\pi(\tau - m)`, as of factors."""
        return float(-0.5 * np.log(2 * np.pi * (tau_x - mx)))


class _NativeTwin:
    """The native twin of a module, made when it is first asked for where the constructor did not make it."""

    def __get__(self, module: Any, owner: Any = None) -> Any:
        module._native = module._make()
        return module._native


class Factor(Piece, ReprMixin):
    """A module: a prior, a likelihood or a channel. It holds its parameters and its native twin."""

    #: Numbers of variables it consumes and produces.
    n_prev: int = 0
    n_next: int = 0
    #: One precision per variable; per component otherwise (a module alone only).
    isotropic: bool = True
    #: A name in the model; that of the module otherwise.
    label: str | None = None
    #: Its name in the model that was built with it last, as in edges and messages.
    id: str | None = None

    #: Whether inputs and outputs are complex; None where the factor follows its neighbours.
    _complex: tuple[bool | None, bool | None] = (None, None)
    #: Its output has not the shape of its input.
    _reduces: bool = False

    _native: _lib.Factor = _NativeTwin()  # type: ignore[assignment]

    def _complex_native(self) -> _lib.Factor:
        """The native twin on complex signals, whose parts are on the first axis."""
        return self._native

    def _make(self) -> _lib.Factor:
        """The native twin, from the parameters."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_native"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._native = self._make()

    def compute_a_new(self, v: Any, a: Any) -> Any:
        r"""The outgoing precision :math:`1/v - a`."""
        return inv(v) - a

    def compute_ab_new(self, r: Any, v: Any, a: Any, b: Any) -> tuple[Any, Any]:
        r"""The outgoing message :math:`(1/v - a,\; r/v - b)`, without bounds."""
        return inv(v) - a, r * inv(v) - b

    def named(self, label: str) -> Factor:
        """The same factor under a name of its own in models and messages."""
        self.label = label
        return self

    def to_fragment(self) -> Fragment:
        inputs: list[Any] = [None] * self.n_prev
        outputs: list[Any] = [None] * self.n_next
        heads: list[End] = [(0, port) for port in range(self.n_prev)]
        tails: list[End] = [(0, self.n_prev + port) for port in range(self.n_next)]
        return Fragment([], [(self, inputs, outputs)], heads, tails, type(self).__name__)

    @property
    def has_expectation_propagation(self) -> bool:
        """Whether expectation propagation can use it."""
        return "posterior" in self._native.rules

    @property
    def has_state_evolution(self) -> bool:
        """Whether state evolution can use it."""
        return "ensemble" in self._native.rules


#: An open end: the index of a variable and None, or of a factor and its port.
End = tuple[int, "int | None"]


class Fragment(Piece):
    """A piece of a model with open ends; what ``@`` and ``+`` make."""

    def __init__(
        self,
        variables: list[Variable],
        factors: list[tuple[Factor, list[int | None], list[int | None]]],
        heads: list[End],
        tails: list[End],
        label: str,
    ) -> None:
        self.variables = variables
        self.factors = factors
        self.heads = heads
        self.tails = tails
        self.label = label

    def to_fragment(self) -> Fragment:
        return self

    def __repr__(self) -> str:
        ids = ", ".join(v.id for v in self.variables)
        return f"<piece of a model: {len(self.factors)} factors, variables {ids or 'none'}>"

    def _absorb(self, other: Fragment) -> tuple[Fragment, list[End], list[End]]:
        """Both side by side, and the ends of the other, renumbered."""
        dv, df = len(self.variables), len(self.factors)

        def moved(ends: list[End]) -> list[End]:
            return [(i + (dv if port is None else df), port) for i, port in ends]

        def copied(shift: int, nodes: list[Any]) -> list[Any]:
            return [
                (f, [v if v is None else v + shift for v in i], [v if v is None else v + shift for v in o])
                for f, i, o in nodes
            ]

        factors = copied(0, self.factors) + copied(dv, other.factors)
        both = Fragment(self.variables + other.variables, factors, self.heads, self.tails, self.label)
        return both, moved(other.heads), moved(other.tails)

    def _beside(self, other: Fragment) -> Fragment:
        both, heads, tails = self._absorb(other)
        both.heads = self.heads + heads
        both.tails = self.tails + tails
        both.label = f"{self.label} + {other.label}"
        return both

    def _chain(self, other: Fragment) -> Fragment:
        both, heads, new_tails = self._absorb(other)
        tails = self.tails
        if len(tails) == 1 and tails[0][1] is None and heads:
            pairs = [(tails[0], head) for head in heads]
        elif len(heads) == 1 and heads[0][1] is None and tails:
            pairs = [(tail, heads[0]) for tail in tails]
        elif len(tails) == len(heads) and heads:
            pairs = list(zip(tails, heads))
        else:
            raise ModelError(
                f"cannot chain `{self.label}` @ `{other.label}`: the left side offers "
                f"{_described(tails, 'output')}, the right side takes {_described(heads, 'input')}"
            )
        for tail, head in pairs:
            both._join(tail, head)
        both.tails = new_tails
        both.label = other.label
        return both

    def _join(self, tail: End, head: End) -> None:
        if tail[1] is None and head[1] is None:
            left, right = self.variables[tail[0]].id, self.variables[head[0]].id
            raise ModelError(f"cannot chain `{left}` @ `{right}`: expected a factor between two variables")
        if tail[1] is not None and head[1] is not None:
            # two factors end to end: a variable without a name of its own
            taken = {v.id for v in self.variables}
            free = next(name for k in range(len(taken) + 1) if (name := f"x_{k}") not in taken)
            self.variables.append(Variable(free))
            new: End = (len(self.variables) - 1, None)
            self._join(tail, new)
            self._join(new, head)
            return
        variable = tail[0] if tail[1] is None else head[0]
        factor, port = tail if tail[1] is not None else head
        assert port is not None
        module, inputs, outputs = self.factors[factor]
        if port < module.n_prev:
            inputs[port] = variable
        else:
            outputs[port - module.n_prev] = variable

    def _check_ends(self) -> None:
        for module, inputs, outputs in self.factors:
            for side, ends in (("input", inputs), ("output", outputs)):
                if None in ends:
                    name = module.label or type(module).__name__
                    raise ModelError(f"factor `{name}` has an open {side}: expected a variable there, got nothing")
        for index, variable in enumerate(self.variables):
            found = {
                "n_prev": sum(index in outputs for _, _, outputs in self.factors),
                "n_next": sum(index in inputs for _, inputs, _ in self.factors),
            }
            for side, got in found.items():
                expected = getattr(variable, side)
                if expected is not None and expected != got:
                    kind = type(variable).__name__
                    raise ModelError(f"variable `{variable.id}` ({kind}) has {side}={expected}, the model gives it {got}")

    def _complex_variables(self) -> set[int]:
        """Variables at a complex end of a factor, and all that follow them."""
        found: set[int] = set()
        while True:
            before = len(found)
            for module, inputs, outputs in self.factors:
                for side, ends in zip(module._complex, (inputs, outputs)):
                    follows = side is None and not found.isdisjoint(v for v in [*inputs, *outputs] if v is not None)
                    if side or follows:
                        found |= {v for v in ends if v is not None}
            if len(found) == before:
                return found

    def _build(self) -> _lib.Tree:
        """The validated native tree."""
        self._check_ends()
        ids = [v.id for v in self.variables]
        beliefs = ["isotropic"] * len(ids)
        for module, inputs, outputs in self.factors:
            if not module.isotropic:
                for v in [*inputs, *outputs]:
                    assert v is not None
                    beliefs[v] = "diagonal"
        beliefs = [v.belief or found for v, found in zip(self.variables, beliefs)]
        complex_ones = self._complex_variables()

        def native(f: Factor, ends: list[int | None]) -> _lib.Factor:
            return f._native if complex_ones.isdisjoint(ends) else f._complex_native()

        nodes = [
            (f.label, native(f, [*i, *o]), [ids[v] for v in i if v is not None], [ids[v] for v in o if v is not None])
            for f, i, o in self.factors
        ]
        tree = _lib.build(list(zip(ids, beliefs)), nodes)
        for name, shape, _ in tree.variables:
            check_memory(shape, f"variable `{name}`")
        check_shapes(self, tree)
        return tree

    def _name_factors(self, tree: _lib.Tree) -> None:
        """Tells every module its name in the tree."""
        for (module, _, _), (name, _, _) in zip(self.factors, tree.factors):
            module.id = name


def _described(ends: list[End], port: str) -> str:
    variables = sum(p is None for _, p in ends)
    factors = len(ends) - variables
    parts = [f"{variables} variable(s)"] * (variables > 0) + [f"{factors} factor {port}(s)"] * (factors > 0)
    return " and ".join(parts) or "nothing"
