"""Names of tramp's that are not here: what its own modules were made of, or checked with. Asking for one, or importing it, says what is in its place."""

from __future__ import annotations

import importlib.abc
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .errors import NotImported, NotThere

__all__ = ["register", "told"]

_CHECKED = "modules are checked by treeamp.testing.check_factor"
_INSIDE = {
    "checks.check_gradients": _CHECKED,
    "checks.check_high_dim": _CHECKED,
    "checks.check_limits": _CHECKED,
    "utils.conv_filters": "ConvChannel takes a filter as an array, Blur1DChannel and the like make their own",
    "utils.linear_region": "PiecewiseLinearChannel takes regions as a list of dicts",
    "utils.truncated_normal": "treeamp.beliefs.truncated has the log-partition, mean and variance",
}
#: What is in the place of a name, by module: None for a name that tramp does not have either.
_TOLD: dict[str, Callable[[str], str | None]] = {}


class _Refusal(importlib.abc.MetaPathFinder):
    """``from module import name`` looks for a module of that name where there is no attribute, and ends here."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        module, _, name = fullname.rpartition(".")
        tell = _TOLD.get(module)
        why = tell(name) if tell else None
        if why is not None:
            raise NotImported(f"{fullname} is not available: {why}")


def told(module: str, why: Callable[[str], str | None]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module that has some of tramp's names only: ``why(name)`` says what is in the place of another. The
    module needs a ``__path__``, so that a name may be looked for as a module."""
    _TOLD[module] = why

    def refuse(name: str) -> Any:
        reason = None if name.startswith("__") else why(name)
        if reason is not None:
            raise NotThere(f"{module}.{name} is not available: {reason}")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return refuse


def _always(why: str) -> Callable[[str], str | None]:
    return lambda name: why


def register() -> None:
    """Makes each a module that can be imported, and refuses its names."""
    if not any(isinstance(finder, _Refusal) for finder in sys.meta_path):
        sys.meta_path.append(_Refusal())
    for path, why in _INSIDE.items():
        name = f"treeamp.{path}"
        module = ModuleType(name, f"tramp's ``{path}``, which is not here: {why}.")
        module.__path__ = []
        setattr(module, "__getattr__", told(name, _always(why)))
        package, _, last = name.rpartition(".")
        sys.modules[name] = module
        setattr(sys.modules[package], last, module)
