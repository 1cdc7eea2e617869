r"""Laws known by their log-density only: :math:`A, r, v` by adaptive quadrature, all components at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ._arrays import Array

#: Numbers of components.
Index = npt.NDArray[np.intp]

__all__ = ["tilted_moments"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
#: Relative accuracy of every panel against the whole, for mass and second moment.
_TOLERANCE = 1e-11
#: Panels this far below the largest, in nats, do not matter.
_NEGLIGIBLE = 45.0
#: A panel is halved at most this often.
_HALVINGS = 40
#: Offsets of the first breaks in units of a scale.
_STEPS = np.array([0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 1024.0])


def _breaks(a: float, b: Array, support: tuple[float, float], marks: list[tuple[float, float]]) -> Array:
    """First breaks of every component: about the marks of the law, and about the peak of the tilt."""
    offsets = np.concatenate([-_STEPS[:0:-1], _STEPS])
    fixed = np.concatenate([place + (width or 1.0) * offsets for place, width in marks])
    rows = [np.broadcast_to(fixed, (b.size, fixed.size))]
    if a > 0:
        rows.append(b[:, None] / a + offsets[None, :] / np.sqrt(a))
    low, high = support
    points = np.sort(np.clip(np.concatenate(rows, axis=1), low, high), axis=1)
    return points


def tilted_moments(
    log_density: Callable[[Array, Index], Array],
    a: float,
    b: Array,
    support: tuple[float, float] = (-np.inf, np.inf),
    marks: list[tuple[float, float]] | None = None,
) -> tuple[Array, Array, Array]:
    r"""Log-partition, mean and variance of :math:`p(x)\,e^{-\frac12 a x^2 + b x}`, component by component.

    Parameters
    ----------
    log_density : callable
        ``(x, component) -> log p``, arrays of one shape; ``component`` tells which one.
    a : float
        Precision of the tilt.
    b : array
        Its linear part, one number per component.
    support : pair of float
        Where the density is not zero.
    marks : list of (place, width), optional
        Where the law lives and changes its form; ``[(0, 1)]`` by default.

    Examples
    --------
    >>> A, r, v = tilted_moments(lambda x, i: -0.5 * x**2 - 0.5 * np.log(2 * np.pi), 1.0, np.array([2.0]))
    >>> [round(float(q[0]), 9) for q in (A, r, v)]
    [0.65342641, 1.0, 0.5]
    """
    points = _breaks(a, b, support, marks or [(0.0, 1.0)])
    which, xs, heights, top = _refined(_Tilt(log_density, a, b), points)
    n = b.size
    weights = np.exp(heights - top[which])
    mass = np.bincount(which, weights, n)
    mean = np.bincount(which, weights * xs, n) / mass
    variance = np.bincount(which, weights * (xs - mean[which]) ** 2, n) / mass
    log_z = top + np.log(mass)
    # mass at an end that is not an end of the support: the integral does not converge there
    span = np.abs(points[:, -1] - points[:, 0])
    for end, limit in ((points[:, 0], support[0]), (points[:, -1], support[1])):
        if np.isinf(limit):
            with np.errstate(all="ignore"):
                edge = log_density(end, np.arange(n)) - 0.5 * a * end * end + b * end + np.log(span)
            loose = edge > log_z - 20.0
            log_z[loose] = variance[loose] = np.inf
    return log_z, mean, variance


class _Tilt:
    """A density under a tilt."""

    def __init__(self, log_density: Callable[[Array, Index], Array], a: float, b: Array) -> None:
        self.log_density, self.a, self.b = log_density, a, b

    def nodes(self, low: Array, high: Array, component: Index) -> tuple[Array, Array]:
        """Nodes of panels, and the logarithms of their weighted heights."""
        half = 0.5 * (high - low)[:, None]
        x = 0.5 * (high + low)[:, None] + half * _NODES
        which = np.broadcast_to(component[:, None], x.shape)
        with np.errstate(all="ignore"):
            height = self.log_density(x, which) - 0.5 * self.a * x * x + self.b[which] * x + np.log(half * _WEIGHTS)
        return x, np.where(np.isnan(height), -np.inf, height)


def _sums(x: Array, height: Array, reference: Array, middle: Array, scale: Array) -> tuple[Array, Array]:
    """Mass and second moment of panels, relative to the largest height of their component."""
    with np.errstate(invalid="ignore", over="ignore"):
        w = np.exp(height - reference)
    return w.sum(axis=1), (w * (x - middle) ** 2 / scale).sum(axis=1)


def _refined(tilt: _Tilt, points: Array) -> tuple[Index, Array, Array, Array]:
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
        done = (error <= _TOLERANCE) | (largest < top[component] - _NEGLIGIBLE) | (halving == _HALVINGS)
        both = np.concatenate([done, done])
        found.append((np.repeat(twice[both], _NODES.size), xs[both].ravel(), heights[both].ravel()))
        if both.all():
            break
        low, high, component = pieces[0][~both], pieces[1][~both], twice[~both]
        x, height = xs[~both], heights[~both]
    which, nodes, logs = (np.concatenate([f[i] for f in found]) for i in range(3))
    return which, nodes, logs, top
