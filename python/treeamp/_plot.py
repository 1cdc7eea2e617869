"""The factor graph with matplotlib: the drawing of the SVG, node for node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .models import Model

__all__ = ["draw_graph"]

#: Sizes of the SVG, in its pixels; a pixel of 100 to the inch has 0.72 points.
_RADIUS, _HALF_SIDE, _PIXELS_PER_INCH, _POINTS = 21.0, 12.0, 100.0, 0.72
_INK, _FACTOR, _OBSERVED = "#333333", "#2b4c7e", "#d0d0d0"


def draw_graph(model: Model, ax: Any = None) -> Any:
    """Circles are variables, grey ones observed, squares factors; generation runs from left to right."""
    try:
        from matplotlib import patches, pyplot  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise ImportError("plot() needs matplotlib: pip install treeamp[plot]") from error
    nodes, links, (width, height) = model._tree.drawing()
    if ax is None:
        figure = pyplot.figure(figsize=(width / _PIXELS_PER_INCH, height / _PIXELS_PER_INCH))
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    for start, end in links:
        (*_, x0, y0), (*_, x1, y1) = nodes[start], nodes[end]
        ax.plot([x0, x1], [y0, y1], color=_INK, linewidth=1.0, zorder=1)
    for label, is_above, note, kind, x, y in nodes:
        if kind == "factor":
            corner = (x - _HALF_SIDE, y - _HALF_SIDE)
            ax.add_patch(patches.Rectangle(corner, 2 * _HALF_SIDE, 2 * _HALF_SIDE, fc=_FACTOR, ec=_INK, zorder=2))
            below = y + _HALF_SIDE + 5
            ax.text(x, below, label, size=10.5 * _POINTS, color=_FACTOR, ha="center", va="top")
            continue
        fill = _OBSERVED if kind == "observed" else "white"
        ax.add_patch(patches.Circle((x, y), _RADIUS, fc=fill, ec=_INK, zorder=2))
        top = y - _RADIUS - 7
        if is_above:
            for line in reversed(label.split("\n")):
                ax.text(x, top, line, size=10 * _POINTS, style="italic", ha="center", va="baseline")
                top -= 11
        else:
            size = (10 if len(label) > 4 else 14) * _POINTS
            ax.text(x, y, label, size=size, style="italic", ha="center", va="center", zorder=3)
        ax.text(x, top, note, size=10 * _POINTS, color="#555555", ha="center", va="baseline")
    ax.set_xlim(0, width)
    ax.set_ylim(height, 0)
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax
