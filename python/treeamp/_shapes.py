"""Shapes that numbers of components do not determine, compared when a model is built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _lib
from .errors import ModelError

if TYPE_CHECKING:
    from ._fragment import Fragment

__all__ = ["check_shapes"]


def check_shapes(piece: Fragment, tree: _lib.Tree) -> None:
    """Refuses a likelihood whose input has another shape than its observations, and sides of a product of hidden matrices."""
    shapes = {name: tuple(shape) for name, shape, ratio in tree.variables if ratio is None}
    for module, inputs, _ in piece.factors:
        if not inputs or inputs[0] is None:
            continue
        name = piece.variables[inputs[0]].id
        got = shapes.get(name)
        for v, side in zip(inputs, getattr(module, "_sides", list)()):
            if v is None:
                continue
            given = shapes.get(piece.variables[v].id)
            if given is not None and given not in (side, side[:1] if side[1] == 1 else side):
                raise ModelError(
                    f"shape mismatch at factor `{type(module).__name__}`, variable `{piece.variables[v].id}`: expected {side}, got {given}"
                )
        y: Any = getattr(module, "y", None)
        if got is None or y is None:
            continue
        seen = got[1:] if module._reduces else got
        if np.ndim(y) > 1 and np.shape(y) != seen:
            factor = type(module).__name__
            raise ModelError(
                f"shape mismatch at factor `{factor}`, variable `{name}`: expected {seen}, "
                f"got observations of shape {np.shape(y)}"
            )
