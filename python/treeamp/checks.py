"""tramp's checks of its own modules, known by name: here they are tests of the library, and one function for yours."""

from __future__ import annotations

from typing import Any

from .errors import NotImported

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    if name.startswith(("check_", "plot_")):
        raise NotImported(f"treeamp.checks.{name}: modules are checked by treeamp.testing.check_factor")
    raise AttributeError(f"module 'treeamp.checks' has no attribute {name!r}")
