"""The factor graph with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .models import Model

__all__ = ["draw_graph"]


def _depths(edges: list[tuple[str, str, str]]) -> dict[tuple[str, str], int]:
    """Longest way from the sources, by node ``(kind, name)``."""
    before: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for factor, variable, direction in edges:
        f, v = ("factor", factor), ("variable", variable)
        source, target = (f, v) if direction == "forward" else (v, f)
        before.setdefault(target, []).append(source)
        before.setdefault(source, [])
    depths: dict[tuple[str, str], int] = {}

    def depth(node: tuple[str, str]) -> int:
        if node not in depths:
            depths[node] = max((depth(p) + 1 for p in before[node]), default=0)
        return depths[node]

    for node in before:
        depth(node)
    return depths


def draw_graph(model: Model, ax: Any = None) -> Any:
    """Circles are variables, squares factors; generation runs from left to right."""
    try:
        from matplotlib import pyplot  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise ImportError("plot() needs matplotlib: pip install treeamp[plot]") from error
    if ax is None:
        _, ax = pyplot.subplots()
    depths = _depths(model.edges)
    columns: dict[int, list[tuple[str, str]]] = {}
    for node, x in depths.items():
        columns.setdefault(x, []).append(node)
    places = {
        node: (float(x), (len(nodes) - 1) / 2 - k) for x, nodes in columns.items() for k, node in enumerate(nodes)
    }
    for factor, variable, _ in model.edges:
        (x0, y0), (x1, y1) = places["factor", factor], places["variable", variable]
        ax.plot([x0, x1], [y0, y1], color="0.6", zorder=1)
    for (kind, name), (px, py) in places.items():
        marker = "o" if kind == "variable" else "s"
        ax.scatter([px], [py], s=400, marker=marker, color="white", edgecolor="black", zorder=2)
        ax.annotate(name, (px, py), xytext=(0, -22), textcoords="offset points", ha="center")
    ax.margins(0.2)
    ax.set_axis_off()
    return ax
