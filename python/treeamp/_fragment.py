"""Pieces of a model with open ends, and how they are joined."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from . import _lib
from ._arrays import check_memory
from ._shapes import check_shapes
from .base import Factor, Piece, Variable
from .errors import ModelError

__all__ = ["End", "Fragment"]

#: An open end: the index of a variable and None, or of a factor and its port.
End = tuple[int, "int | None"]


class Fragment(Piece):
    """A piece of a model with open ends; what ``@`` and ``+`` make.

    Parameters
    ----------
    variables, factors : list
        What it holds; a factor with the places of its inputs and outputs among the variables, ``None`` for open ones.
    heads, tails : list of (place, port)
        Its open ends, where something can come before and after.
    label : str
        In messages.
    """

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

    def _to_fragment(self) -> Fragment:
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
            asked = module._belief or ("isotropic" if module.isotropic else "diagonal")
            for v in [*inputs, *outputs] if asked != "isotropic" else []:
                assert v is not None
                beliefs[v] = asked
        beliefs = [v.belief or found for v, found in zip(self.variables, beliefs)]
        complex_ones = self._complex_variables()

        produced = [v for _, _, outputs in self.factors for v in outputs]

        symmetric = self._pairs()

        def native(f: Factor, ends: list[int | None]) -> _lib.Factor:
            shared = any(produced.count(v) > 1 for v in ends[f.n_prev :])
            other = f._native_below_a_prior() if shared else None
            if not f.n_next and ends[0] in symmetric and getattr(f, "y", None) is not None:
                return _of_pairs(f)
            return other or (f._native if complex_ones.isdisjoint(ends) else f._complex_native())

        nodes = [
            (f.label, native(f, [*i, *o]), [ids[v] for v in i if v is not None], [ids[v] for v in o if v is not None])
            for f, i, o in self.factors
        ]
        tree = _lib.build(list(zip(ids, beliefs)), nodes)
        for name, shape, _ in tree.variables:
            check_memory(shape, f"variable `{name}`")
        check_shapes(self, tree)
        return tree

    def _pairs(self) -> set[int | None]:
        """The variables whose components are the pairs of a symmetric matrix: what a Gram channel makes, and channels on components behind it."""
        found: set[int | None] = set()
        for _ in self.factors:
            for f, inputs, outputs in self.factors:
                if f._makes_pairs or (len(inputs) == len(outputs) == 1 and inputs[0] in found and _is_separable(f)):
                    found.update(outputs)
        return found

    def _name_factors(self, tree: _lib.Tree) -> None:
        """Gives every module its name in the tree."""
        for (module, _, _), (name, _, _) in zip(self.factors, tree.factors):
            module.id = name


def _is_separable(f: Factor) -> bool:
    return f._law == "gaussian_noise" or "scalar" in f._native.rules


def _of_pairs(f: Any) -> _lib.Factor:
    """The native twin of a likelihood whose observations are a symmetric matrix: each pair once."""
    y = f.y
    if y.ndim != 2 or y.shape[0] != y.shape[1]:
        native: _lib.Factor = f._native
        return native
    if np.abs(y - y.T).max() > 1e-9 * np.abs(y).max():
        i, j = np.unravel_index(np.argmax(np.abs(y - y.T)), y.shape)
        raise ModelError(
            f"{type(f).__name__}: expected a symmetric matrix `y`, got {y[i, j]} at ({i}, {j}) and {y[j, i]} at ({j}, {i})"
        )
    packed = copy.copy(f)
    packed.y = y[np.triu_indices(len(y), 1)]
    made: _lib.Factor = packed._make()
    return made


def _described(ends: list[End], port: str) -> str:
    variables = sum(p is None for _, p in ends)
    factors = len(ends) - variables
    parts = [f"{variables} variable(s)"] * (variables > 0) + [f"{factors} factor {port}(s)"] * (factors > 0)
    return " and ".join(parts) or "nothing"
