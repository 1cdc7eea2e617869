"""Figures of tables and signals, with matplotlib (``pip install treeamp[plot]``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["plot_compare", "plot_compare_complex", "plot_function", "qplot"]

_MARKERS = ["o", "s", "^", "D", "v", "x", "+", "*"]
_LINES = ["-", "--", "-.", ":"]


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install treeamp[plot]") from error
    return matplotlib.pyplot


def _levels(data: Any, column: str | None) -> list[Any]:
    if column is None:
        return [None]
    if column not in data.columns:
        raise ValueError(f"there is no column `{column}`: the table has {', '.join(map(str, data.columns))}")
    return list(data[column].drop_duplicates())


def qplot(
    data: Any,
    x: str,
    y: str | Sequence[str],
    color: str | None = None,
    column: str | None = None,
    row: str | None = None,
    marker: str | None = None,
    linestyle: str | None = None,
    xlog: bool = False,
    ylog: bool = False,
    xlim: tuple[float, float] | None = None,
    ylim: tuple[float, float] | None = None,
    y_markers: Sequence[str] | None = None,
    sharex: bool = True,
    sharey: bool = True,
    figsize: float | tuple[float, float] = 4,
    y_legend: bool = False,
    rename: Mapping[str, str] | None = None,
    font_size: float = 12,
    usetex: bool = False,
) -> Any:
    """Curves of a table: one panel for every value of ``column`` and ``row``, one curve for every ``color``, ``marker``
    and ``linestyle``.

    Parameters
    ----------
    data : pandas.DataFrame
        The table.
    x, y : str
        Columns; several ``y`` are several curves.
    color, column, row, marker, linestyle : str, optional
        Columns whose values distinguish curves and panels.
    xlog, ylog : bool
        Logarithmic axes. Zeros of ``y``, as errors of exact recoveries, and what is below the rounding of the largest number stand on a line
        below all others, marked 0.
    figsize : float or (float, float)
        Height of a panel, or width and height of the figure, in inches.
    rename : dict, optional
        Texts in place of others, wherever they stand in labels, titles and legends, where values are written as ``"rho=0.5"``.

    Returns
    -------
    matplotlib.figure.Figure
    """
    if not hasattr(data, "columns"):
        raise TypeError(f"`data` must be a pandas DataFrame, got {type(data).__name__}")
    plt = _pyplot()
    if rename is not None and not isinstance(rename, Mapping):
        raise TypeError(f"`rename` must be a dict of texts by those that they replace, got {type(rename).__name__}")
    names = dict(rename or {})

    def label(name: Any) -> str:
        text = str(name)
        for old, new in names.items():
            text = text.replace(str(old), str(new))
        return text

    ys = [y] if isinstance(y, str) else list(y)
    if not ys:
        raise ValueError("`y` must name at least one column, got none")
    for name in (x, *ys):
        _levels(data, name)
        if data[name].dtype.kind not in "biuf":
            raise TypeError(f"column `{name}` must hold numbers, got {data[name].dtype}")
    # several curves of one colour differ in their lines, unless a column takes these
    lines_of_ys = [_LINES[k % len(_LINES)] if linestyle is None else "-" for k in range(len(ys))]
    markers = list(y_markers) if y_markers is not None else lines_of_ys
    if len(markers) != len(ys):
        raise ValueError(f"`y_markers` must have one entry for every `y`, got {len(markers)} for {len(ys)}")
    floor = _floor(data[ys]) if ylog else None
    columns, rows = _levels(data, column), _levels(data, row)
    colors, marks, lines = _levels(data, color), _levels(data, marker), _levels(data, linestyle)
    with plt.rc_context({"font.size": font_size, "text.usetex": usetex}):
        figure, axes = plt.subplots(
            len(rows),
            len(columns),
            sharex=sharex,
            sharey=sharey,
            squeeze=False,
            figsize=_figure_size(figsize, len(columns), len(rows)),
            layout="constrained",
        )
        for i, r in enumerate(rows):
            for j, c in enumerate(columns):
                panel = axes[i][j]
                title = [label(f"{n}={v}") for n, v in ((row, r), (column, c)) if n is not None]
                panel.set_title(", ".join(title))
                for k, level in enumerate(colors):
                    for m, mark in enumerate(marks):
                        for s, line in enumerate(lines):
                            distinguished = [(color, level), (marker, mark), (linestyle, line)]
                            part = data
                            # one column may be shown twice, by colour and marker
                            for key, value in [(row, r), (column, c), *distinguished]:
                                if key is not None:
                                    part = part[part[key] == value]
                            if part.empty:
                                continue
                            values_shown = [label(f"{n}={v}") for n, v in dict(distinguished).items() if n]
                            for name, style in zip(ys, markers):
                                own = values_shown + ([label(name)] if len(ys) > 1 or y_legend else [])
                                sorted_part = part.sort_values(x)
                                drawn: dict[str, Any] = {"label": ", ".join(own) or None}
                                if marker:
                                    drawn["marker"] = _MARKERS[m % len(_MARKERS)]
                                if color:
                                    drawn["color"] = f"C{k}"
                                drawn_as = style if style != "-" else _LINES[s % len(_LINES)]
                                heights = sorted_part[name]
                                places = sorted_part[x], heights if floor is None else np.maximum(heights, floor)
                                if marker and drawn_as not in _LINES:  # markers are those of the column
                                    panel.plot(*places, linestyle="none", **drawn)
                                else:
                                    panel.plot(*places, drawn_as, **drawn)
                panel.set_xscale("log" if xlog else "linear")
                panel.set_yscale("log" if ylog else "linear")
                if floor is not None:
                    panel.axhline(floor, color="grey", linewidth=0.8, linestyle=":", zorder=0)
                    panel.annotate("0", (0, floor), (-4, 0), ("axes fraction", "data"), "offset points", ha="right", va="center")
                if xlim is not None:
                    panel.set_xlim(xlim)
                if xlog:
                    _label_sparsely(panel.xaxis)
                if ylim is not None:
                    panel.set_ylim(ylim)
                if i == len(rows) - 1:
                    panel.set_xlabel(label(x))
                if j == 0:
                    panel.set_ylabel(", ".join(map(label, ys)))
                if panel.get_legend_handles_labels()[0] and (i, j) == (0, len(columns) - 1):
                    panel.legend(fontsize="small")
    return figure


def _label_sparsely(axis: Any) -> None:
    """Ticks of a horizontal logarithmic axis whose labels do not meet: powers of ten on a long one, 1, 2 and 5 times these on one of
    less than two decades, and round numbers on one of less than a factor of five. Matplotlib labels all multiples on a short one."""
    from matplotlib import ticker

    low, high = axis.get_view_interval()
    axis.set_minor_formatter(ticker.NullFormatter())
    if high >= 100 * low:
        return
    axis.set_major_locator(ticker.MaxNLocator(4) if high < 5 * low else ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(ticker.FuncFormatter(lambda x, _: f"{x:g}"))


def _floor(values: Any) -> float | None:
    """Where zeros stand on a logarithmic axis: a decade below the smallest number above the rounding of the largest; None without zeros."""
    known = values.to_numpy(dtype=float).ravel()
    known = known[np.isfinite(known)]
    rounding = np.finfo(float).eps * known.max(initial=0.0)
    if not np.any((known >= 0) & (known <= rounding)):
        return None
    return float(known[known > rounding].min(initial=1.0)) / 10


def _figure_size(given: Any, columns: int, rows: int) -> tuple[float, float]:
    """Width and height of a figure, from that of the figure or the height of a panel."""
    try:
        width, height = (1.3 * given * columns, given * rows) if np.ndim(given) == 0 else given
        if width > 0 and height > 0:
            return float(width), float(height)
    except (TypeError, ValueError):
        pass
    raise ValueError(f"`figsize` must be a positive number, or a pair of them, got {given!r}")


#: More components than this are a scatter alone, and of a scatter this many are drawn.
_SHOWN, _SCATTERED = 1000, 5000


def _pair(x_true: Any, x_pred: Any) -> tuple[Any, Any]:
    truth, estimate = np.asarray(x_true), np.asarray(x_pred)
    if truth.shape != estimate.shape:
        raise ValueError(f"`x_true` and `x_pred` must have the same shape, got {truth.shape} and {estimate.shape}")
    return truth, estimate


def _scatter(panel: Any, truth: Any, estimate: Any, name: str) -> None:
    """Estimates against the truth; of many components an even sample."""
    step = -(-truth.size // _SCATTERED)
    ends = [min(truth.min(), estimate.min()), max(truth.max(), estimate.max())]
    panel.plot(ends, ends, color="grey", linewidth=1)
    panel.plot(truth[::step], estimate[::step], ".", markersize=4)
    panel.set_xlabel("true")
    panel.set_ylabel(name)
    if step > 1:
        panel.set_title(f"{truth[::step].size} of {truth.size} components", fontsize="small")


def plot_compare(x_true: Any, x_pred: Any) -> Any:
    """A signal and its estimate, component by component and against each other; of more than a thousand components the
    latter alone. An estimate that fits better with its sign turned, as one of a symmetric model may, is drawn so, and called so."""
    plt = _pyplot()
    truth, estimate = map(np.ravel, _pair(x_true, x_pred))
    name = "estimated"
    if np.dot(truth, estimate) < 0:
        name, estimate = "estimated, sign turned", -estimate
    if truth.size > _SHOWN:
        figure, panel = plt.subplots(figsize=(5, 4), layout="constrained")
        _scatter(panel, truth, estimate, name)
        return figure
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.plot(truth, label="true")
    left.plot(estimate, ".", markersize=4, label=name)
    left.set_xlabel("component")
    left.legend(fontsize="small")
    _scatter(right, truth, estimate, name)
    return figure


def plot_compare_complex(x_true: Any, x_pred: Any) -> Any:
    """A complex signal and its estimate, turned by the global phase that fits best, which its name says.

    Arrays of complex numbers, or real ones of shape ``(2, ...)`` with the real and imaginary parts on the first axis.
    """
    plt = _pyplot()
    truth, estimate = map(_complex, _pair(x_true, x_pred))
    inner = np.vdot(estimate, truth)
    estimate = estimate * (inner / abs(inner) if inner != 0 else 1.0)
    angle = float(np.angle(inner))
    drawn = f"estimated, turned by {angle:.2f} rad" if abs(angle) >= 0.005 else "estimated"
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for panel, part, name in zip(axes, (np.real, np.imag), ("real part", "imaginary part")):
        if truth.size > _SHOWN:
            _scatter(panel, part(truth), part(estimate), drawn)
        else:
            panel.plot(part(truth), label="true")
            panel.plot(part(estimate), ".", markersize=4, label=drawn)
            panel.set_xlabel("component")
            panel.legend(fontsize="small")
        panel.set_title(name)
    return figure


def _complex(x: Any) -> Any:
    """A complex vector."""
    if np.iscomplexobj(x):
        return np.ravel(x)
    if x.ndim < 2 or x.shape[0] != 2:
        raise ValueError(f"expected complex numbers, or real ones of shape (2, ...), got shape {x.shape}")
    return np.ravel(x[0] + 1j * x[1])


def plot_function(f: Callable[[float], float], xlim: tuple[float, float] = (-3, 3)) -> Any:
    """A function of one number."""
    plt = _pyplot()
    figure, panel = plt.subplots(figsize=(5, 4), layout="constrained")
    x = np.linspace(*xlim, 201)
    panel.plot(x, [f(value) for value in x])
    panel.set_xlabel("x")
    return figure
