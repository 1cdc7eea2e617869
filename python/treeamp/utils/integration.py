"""Averages of a function of one or two numbers over simple laws, by adaptive quadrature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import matrix

__all__ = [
    "exponential_measure",
    "gaussian_measure",
    "gaussian_measure_2d",
    "gaussian_measure_2d_full",
    "gaussian_measure_full",
    "is_pos_def",
    "norm_pdf",
]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(15)
#: Standard deviations beyond which a Gaussian has nothing left.
_REACH = 10.0
_DEPTH = 40


def _panel(f: Callable[[float], float], low: float, high: float) -> float:
    half, middle = 0.5 * (high - low), 0.5 * (high + low)
    return float(half * sum(w * f(middle + half * x) for w, x in zip(_WEIGHTS.tolist(), _NODES.tolist())))


def _integral(f: Callable[[float], float], breaks: list[float], tolerance: float) -> float:
    """Panels are halved until both ways of summing them agree."""
    todo = [(a, b, _panel(f, a, b), 0) for a, b in zip(breaks, breaks[1:])]
    scale = max(sum(abs(value) for *_, value, _ in todo), 1e-300)
    total = 0.0
    while todo:
        low, high, value, depth = todo.pop()
        middle = 0.5 * (low + high)
        left, right = _panel(f, low, middle), _panel(f, middle, high)
        if abs(left + right - value) <= tolerance * max(scale, abs(total)) or depth == _DEPTH:
            total += left + right
        else:
            todo += [(low, middle, left, depth + 1), (middle, high, right, depth + 1)]
    return total


def norm_pdf(x: Any) -> Any:
    r""":math:`e^{-x^2/2}/\sqrt{2\pi}`.

    >>> round(float(norm_pdf(0.0)), 6)
    0.398942
    """
    return np.exp(-0.5 * np.square(x)) / np.sqrt(2 * np.pi)


def is_pos_def(x: Any) -> bool:
    """Whether a matrix is symmetric and positive definite.

    >>> is_pos_def([[2.0, 0.0], [0.0, 1.0]]), is_pos_def([[1.0, 2.0], [2.0, 1.0]])
    (True, False)
    """
    m = matrix(x, "x")
    return bool(m.shape[0] == m.shape[1] and np.allclose(m, m.T) and np.all(np.linalg.eigvalsh(m) > 0))


def gaussian_measure(m: float, s: float, f: Callable[[float], float], tolerance: float = 1e-11) -> float:
    r""":math:`E f(x)` for :math:`x \sim N(m, s^2)`.

    >>> round(gaussian_measure(1.0, 2.0, lambda x: x * x), 9)
    5.0
    """
    if s == 0:
        return float(f(m))
    breaks = [-_REACH, -4.0, -1.0, 0.0, 1.0, 4.0, _REACH]
    return _integral(lambda x: float(norm_pdf(x)) * float(f(m + s * x)), breaks, tolerance)


def gaussian_measure_2d(
    m1: float, s1: float, m2: float, s2: float, f: Callable[[float, float], float], tolerance: float = 1e-9
) -> float:
    r""":math:`E f(x_1, x_2)` for independent :math:`x_i \sim N(m_i, s_i^2)`.

    >>> round(gaussian_measure_2d(0.0, 1.0, 0.0, 2.0, lambda x, y: x * x * y * y), 7)
    4.0
    """
    return gaussian_measure(m1, s1, lambda x: gaussian_measure(m2, s2, lambda y: f(x, y), tolerance), tolerance)


def gaussian_measure_2d_full(mean: Any, cov: Any, f: Callable[[float, float], float], tolerance: float = 1e-9) -> float:
    r""":math:`E f(x_1, x_2)` for :math:`x \sim N(\mu, \Sigma)`.

    >>> round(gaussian_measure_2d_full([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]], lambda x, y: x * y), 7)
    0.5
    """
    if not is_pos_def(cov):
        raise ValueError("`cov` must be symmetric and positive definite")
    (l00, _), (l10, l11) = np.linalg.cholesky(matrix(cov, "cov")).tolist()
    m0, m1 = float(mean[0]), float(mean[1])
    return gaussian_measure_2d(0, 1, 0, 1, lambda x, y: f(m0 + l00 * x, m1 + l10 * x + l11 * y), tolerance)


def gaussian_measure_full(mean: Any, cov: Any, f: Callable[[Any], float], tolerance: float = 1e-7) -> float:
    r""":math:`E f(x)` for :math:`x \sim N(\mu, \Sigma)` in a few dimensions; ``f`` takes an array.

    >>> round(gaussian_measure_full([0.0, 1.0], [[1.0, 0.0], [0.0, 1.0]], lambda x: float(x[1])), 6)
    1.0
    """
    if not is_pos_def(cov):
        raise ValueError("`cov` must be symmetric and positive definite")
    root, centre = np.linalg.cholesky(matrix(cov, "cov")), np.asarray(mean, dtype=float)

    def along(known: list[float]) -> float:
        if len(known) == centre.size:
            return float(f(centre + root @ np.array(known)))
        return gaussian_measure(0, 1, lambda x: along([*known, x]), tolerance)

    return along([])


def exponential_measure(m: float, f: Callable[[float], float], tolerance: float = 1e-11) -> float:
    r""":math:`E f(x)` for :math:`p(x) = \frac1m e^{-x/m}`, :math:`x > 0`.

    >>> round(exponential_measure(2.0, lambda x: x), 9)
    2.0
    """
    breaks = [0.0, 1.0, 4.0, 12.0, 40.0]
    return _integral(lambda u: float(np.exp(-u)) * float(f(m * u)), breaks, tolerance)
