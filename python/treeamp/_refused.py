"""Modules of tramp's that are not here: what its own modules were made of, or checked with. Importing from them says what is in their place."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from .errors import NotImported

__all__ = ["register"]

_CHECKED = "modules are checked by treeamp.testing.check_factor"
_INSIDE = {
    "checks.check_gradients": _CHECKED,
    "checks.check_high_dim": _CHECKED,
    "checks.check_limits": _CHECKED,
    "utils.conv_filters": "ConvChannel takes a filter as an array, Blur1DChannel and the like make their own",
    "utils.linear_region": "PiecewiseLinearChannel takes regions as a list of dicts",
    "utils.truncated_normal": "treeamp.beliefs.truncated has the log-partition, mean and variance",
}


def _refusing(name: str, why: str) -> Any:
    def refuse(attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        raise NotImported(f"{name}.{attribute} is not available: {why}")

    return refuse


def register() -> None:
    """Makes each a module that can be imported, and refuses its names."""
    for path, why in _INSIDE.items():
        name = f"treeamp.{path}"
        module = ModuleType(name, f"tramp's ``{path}``, which is not here: {why}.")
        setattr(module, "__getattr__", _refusing(name, why))
        package, _, last = name.rpartition(".")
        sys.modules[name] = module
        setattr(sys.modules[package], last, module)
