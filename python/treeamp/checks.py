"""tramp's checks of its own modules, known by name: here they are tests of the library, and one function for yours."""

from __future__ import annotations

from ._refused import told

__all__: list[str] = []
__path__: list[str] = []


def _instead(name: str) -> str | None:
    return "modules are checked by treeamp.testing.check_factor" if name.startswith(("check_", "plot_")) else None


__getattr__ = told(__name__, _instead)
