r"""Laws known by their log-density only: :math:`A, r, v` by adaptive quadrature, all components at once.

The peaks of every tilted law are looked for first, so that a narrow law is found wherever its log-density points to it.
What points nowhere (a density that is zero almost everywhere, a spike on a broad ground) has to be declared by its landmarks.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ._arrays import Array
from .errors import FactorError

#: Numbers of components.
Index = npt.NDArray[np.intp]
#: ``(x, component) -> log p``, arrays of one shape.
LogDensity = Callable[[Array, Index], Array]

__all__ = ["gaussian_average", "tilted_moments"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
#: Relative accuracy of every panel against the whole, for mass and second moment.
_TOLERANCE = 1e-11
#: Panels this far below the largest, in nats, do not matter.
_NEGLIGIBLE = 45.0
#: A panel is halved at most this often.
_HALVINGS = 40
#: Panels at once, for all components of a block and for each of them: a law that needs more has no form to integrate.
_PANELS, _PANELS_EACH = 20_000, 256
#: Components integrated at once.
_BLOCK = 256
#: Offsets of the first breaks in units of a scale.
_STEPS = np.array([0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 1024.0])
_OFFSETS = np.concatenate([-_STEPS[:0:-1], _STEPS])
#: More of them, for tails that no Gaussian cuts off.
_FAR = 1024.0 * 16.0 ** np.arange(1, 9)
#: Peaks looked for in every component.
_PEAKS = 2
#: Breaks of averages over a normal law, in deviations.
_EDGES = np.array([0.0, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 12.0])


def tilted_moments(
    log_density: LogDensity,
    a: float,
    b: Array,
    support: tuple[float, float] = (-np.inf, np.inf),
    marks: list[tuple[float, float]] | None = None,
) -> tuple[Array, Array, Array]:
    r"""Log-partition, mean and variance of :math:`p(x)\,e^{-\frac12 a x^2 + b x}`, component by component.

    Parameters
    ----------
    log_density : callable
        ``(x, component) -> log p``, arrays of one shape; ``component`` is its index.
    a : float
        Precision of the tilt.
    b : array
        Its linear part, one number per component.
    support : pair of float
        Where the density is not zero.
    marks : list of (place, width), optional
        Where the law lives and changes its form; ``[(0, 1)]`` by default.

    Raises
    ------
    FactorError
        Where the law vanishes at all places tried, or cannot be integrated.

    Examples
    --------
    >>> A, r, v = tilted_moments(lambda x, i: -0.5 * x**2 - 0.5 * np.log(2 * np.pi), 1.0, np.array([2.0]))
    >>> [round(float(q[0]), 9) for q in (A, r, v)]
    [0.65342641, 1.0, 0.5]
    >>> narrow = tilted_moments(lambda x, i: -0.5 * ((x - 30) / 1e-4) ** 2, 0.1, np.array([0.0]))
    >>> round(float(narrow[1][0]), 6)
    30.0
    """
    blocks = []
    for first in range(0, b.size, _BLOCK):
        part = b[first : first + _BLOCK]
        blocks.append(_block(_Tilt(log_density, a, part, first), support, marks or [(0.0, 1.0)]))
    log_z, mean, variance = (np.concatenate([block[k] for block in blocks]) for k in range(3))
    return log_z, mean, variance


class _Tilt:
    """A density under a tilt; ``first`` is the number of its first component."""

    def __init__(self, log_density: LogDensity, a: float, b: Array, first: int) -> None:
        self.log_density, self.a, self.b, self.first = log_density, a, b, first

    def height(self, x: Array, component: Index) -> Array:
        """The logarithm of the tilted density."""
        with np.errstate(all="ignore"):
            return self.log_density(x, component + self.first) - 0.5 * self.a * x * x + self.b[component] * x

    def nodes(self, low: Array, high: Array, component: Index) -> tuple[Array, Array]:
        """Nodes of panels, and the logarithms of their weighted heights."""
        half = 0.5 * (high - low)[:, None]
        x = 0.5 * (high + low)[:, None] + half * _NODES
        which = np.broadcast_to(component[:, None], x.shape)
        with np.errstate(divide="ignore"):  # a panel as short as numbers allow
            return x, self.height(x, which) + np.log(half * _WEIGHTS)


def _block(tilt: _Tilt, support: tuple[float, float], marks: list[tuple[float, float]]) -> tuple[Array, Array, Array]:
    n = tilt.b.size
    points, rounding = _with_peaks(tilt, _breaks(tilt, support, marks), support)
    which, xs, heights, top = _refined(tilt, points, rounding)
    weights = np.exp(heights - top[which])
    mass = np.bincount(which, weights, n)
    mean = np.bincount(which, weights * xs, n) / mass
    variance = np.bincount(which, weights * (xs - mean[which]) ** 2, n) / mass
    log_z = top + np.log(mass)
    # mass at an end that is not an end of the support: the integral does not converge there; or that of the variance
    span = np.abs(points[:, -1] - points[:, 0])
    for end, limit in ((points[:, 0], support[0]), (points[:, -1], support[1])):
        if np.isinf(limit):
            with np.errstate(all="ignore"):
                left = tilt.height(end, np.arange(n)) + np.log(span)
                spread = left + 2 * np.log(np.abs(end - mean)) > log_z + np.log(variance) - 20.0
            variance[(left > log_z - 20.0) | spread] = np.inf
            log_z[left > log_z - 20.0] = np.inf
    return log_z, mean, variance


def _breaks(tilt: _Tilt, support: tuple[float, float], marks: list[tuple[float, float]]) -> Array:
    """First breaks of every component: about the marks of the law, and about the peak of the tilt."""
    offsets = _OFFSETS if tilt.a > 0 else np.concatenate([-_FAR[::-1], _OFFSETS, _FAR])
    fixed = np.concatenate([place + (width or 1.0) * offsets for place, width in marks])
    rows = [np.broadcast_to(fixed, (tilt.b.size, fixed.size))]
    if tilt.a > 0:
        rows.append(tilt.b[:, None] / tilt.a + _OFFSETS[None, :] / np.sqrt(tilt.a))
    return np.sort(np.clip(np.concatenate(rows, axis=1), *support), axis=1)


def _with_peaks(tilt: _Tilt, points: Array, support: tuple[float, float]) -> tuple[Array, Array]:
    """The breaks, and more about the highest peaks that the law shows between them; how exact heights are there."""
    n = tilt.b.size
    # places inside panels, never at an end of the support; panels of no length have none
    lengths = points[:, 1:] - points[:, :-1]
    middles = 0.5 * (points[:, 1:] + points[:, :-1])
    rows = np.arange(n)[:, None]
    inside = np.where(lengths > 0, middles, middles[rows, lengths.argmax(axis=1)[:, None]])
    heights = np.where(lengths > 0, tilt.height(inside, np.broadcast_to(rows, middles.shape)), -np.inf)
    left = np.concatenate([np.full((n, 1), -np.inf), heights[:, :-1]], axis=1)
    right = np.concatenate([heights[:, 1:], np.full((n, 1), -np.inf)], axis=1)
    local = np.where((heights >= left) & (heights >= right), heights, -np.inf)
    chosen = np.argsort(-local, axis=1)[:, :_PEAKS]
    component = np.broadcast_to(rows, chosen.shape).ravel()
    k = chosen.ravel()
    low = np.where(k > 0, middles[component, np.maximum(k - 1, 0)], points[component, 0])
    last = middles.shape[1] - 1
    high = np.where(k < last, middles[component, np.minimum(k + 1, last)], points[component, -1])
    # what is no peak adds no breaks
    low = np.where(np.isfinite(local[component, k]), low, high)
    place, width = _climbed(tilt, component, low, inside[component, k], high)
    about = place.reshape(n, -1, 1) + width.reshape(n, -1, 1) * _OFFSETS
    peaks = tilt.height(place, component).reshape(n, -1)
    best = np.arange(n), peaks.argmax(axis=1)
    x = place.reshape(n, -1)[best]
    # a height is a sum of terms that may all but cancel
    size = np.where(np.isfinite(peaks[best]), np.abs(peaks[best]), 0.0) + abs(tilt.a) * x**2 + np.abs(tilt.b * x)
    rounding = np.finfo(float).eps * size
    return np.sort(np.concatenate([points, np.clip(about, *support).reshape(n, -1)], axis=1), axis=1), rounding


def _climbed(tilt: _Tilt, component: Index, low: Array, place: Array, high: Array) -> tuple[Array, Array]:
    """Peaks in brackets, narrowed until the law falls by less than two nats on a side: places and widths."""
    low, place, high = low.copy(), place.copy(), high.copy()
    active: Index = np.flatnonzero(high > low)
    steps = np.arange(1, 7) / 7
    for _ in range(60):
        if active.size == 0:
            break
        lo, hi, which = low[active], high[active], component[active]
        x = np.sort(np.column_stack([lo[:, None] + (hi - lo)[:, None] * steps, place[active]]), axis=1)
        h = tilt.height(x, np.broadcast_to(which[:, None], x.shape))
        best = h.argmax(axis=1)
        row = np.arange(active.size)
        around = np.column_stack([lo, x, hi])
        below = np.column_stack([np.full(lo.size, -np.inf), h, np.full(lo.size, -np.inf)])
        beside = np.stack([np.where(around[row, best + k] == x[row, best], -np.inf, below[row, best + k]) for k in (0, 2)])
        drop = below[row, best + 1] - beside.max(axis=0)
        low[active], place[active], high[active] = around[row, best], x[row, best], around[row, best + 2]
        tiny = high[active] - low[active] <= 1e-13 * (1e-300 + np.abs(place[active]))
        active = active[~((drop < 2.0) | tiny)]
    return place, high - low


def _sums(x: Array, height: Array, reference: Array, middle: Array, scale: Array) -> tuple[Array, Array]:
    """Mass and second moment of panels, relative to the largest height of their component."""
    with np.errstate(invalid="ignore", over="ignore"):
        w = np.exp(height - reference)
    return w.sum(axis=1), (w * (x - middle) ** 2 / scale).sum(axis=1)


def _refined(tilt: _Tilt, points: Array, rounding: Array) -> tuple[Index, Array, Array, Array]:
    """Halves panels until both ways of summing them agree: components, nodes, heights, and the largest of each."""
    n = tilt.b.size
    component: Index = np.repeat(np.arange(n), points.shape[1] - 1)
    low: Array = points[:, :-1].ravel()
    high: Array = points[:, 1:].ravel()
    kept = high > low
    component, low, high = component[kept], low[kept], high[kept]
    top = np.full(n, -np.inf)
    x, height = tilt.nodes(low, high, component)
    np.maximum.at(top, component, height.max(axis=1))
    _check_top(top, points)
    found: list[tuple[Index, Array, Array]] = []
    for halving in range(_HALVINGS + 1):
        middle = 0.5 * (low + high)
        pieces = np.concatenate([np.stack([low, middle]), np.stack([middle, high])], axis=1)
        twice: Index = np.concatenate([component, component])
        xs, heights = tilt.nodes(pieces[0], pieces[1], twice)
        np.maximum.at(top, twice, heights.max(axis=1))
        k = component.size
        at = top[component][:, None], middle[:, None], np.maximum(1.0, middle**2)[:, None]
        one = _sums(x, height, *at)
        left, right = _sums(xs[:k], heights[:k], *at), _sums(xs[k:], heights[k:], *at)
        error = np.maximum(abs(one[0] - left[0] - right[0]), abs(one[1] - left[1] - right[1]))
        largest = np.maximum(height, np.maximum(heights[:k], heights[k:])).max(axis=1)
        exact = error <= _TOLERANCE + 8 * rounding[component]
        done = exact | (largest < top[component] - _NEGLIGIBLE) | (halving == _HALVINGS)
        both = np.concatenate([done, done])
        found.append((np.repeat(twice[both], _NODES.size), xs[both].ravel(), heights[both].ravel()))
        if both.all():
            break
        low, high, component = pieces[0][~both], pieces[1][~both], twice[~both]
        x, height = xs[~both], heights[~both]
        if component.size > _PANELS + _PANELS_EACH * n:
            raise FactorError(f"the log-density is too rough to be integrated, between {low.min():g} and {high.max():g}")
    which, nodes, logs = (np.concatenate([f[i] for f in found]) for i in range(3))
    return which, nodes, logs, top


def _check_top(top: Array, points: Array) -> None:
    empty = np.flatnonzero(top == -np.inf)
    if empty.size:
        low, high = points[empty[0], 0], points[empty[0], -1]
        raise FactorError(
            f"the log-density is -inf at all places that were tried, from {low:g} to {high:g}: "
            "give `support`, where it is not, or `landmarks`"
        )


def gaussian_average(f: Callable[[Array], Array], tau: float) -> float:
    r"""The average of a function of an array over :math:`N(0, \tau)`, to about :math:`10^{-10}`.

    >>> round(gaussian_average(np.square, 3.0), 9)
    3.0
    """
    spread = float(np.sqrt(tau))
    ends = spread * np.concatenate([-_EDGES[:0:-1], _EDGES])

    def panels(low: Array, high: Array) -> Array:
        half = 0.5 * (high - low)[:, None]
        z = 0.5 * (high + low)[:, None] + half * _NODES
        density = np.exp(-0.5 * z * z / tau) / (np.sqrt(2 * np.pi) * spread)
        return np.asarray((half * _WEIGHTS * density * f(z)).sum(axis=1))

    low, high = ends[:-1], ends[1:]
    whole = panels(low, high)
    total = 0.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        left, right = panels(low, middle), panels(middle, high)
        done = np.abs(left + right - whole) <= 1e-12 * max(1.0, abs(total) + float(np.abs(whole).sum()))
        total += float((left + right)[done].sum())
        if done.all():
            return total
        low, high = np.concatenate([low[~done], middle[~done]]), np.concatenate([middle[~done], high[~done]])
        whole = np.concatenate([left[~done], right[~done]])
        if low.size > _PANELS:
            break
    return total + float(whole.sum())
