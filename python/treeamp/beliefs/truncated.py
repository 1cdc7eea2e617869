r"""Belief :math:`e^{-\frac12 a x^2 + b x}` on the interval from ``xmin`` to ``xmax``; either may be infinite.

>>> float(r(0.0, 0.0, 0.0, 1.0)), round(float(v(0.0, 0.0, 0.0, 1.0)), 9)
(0.5, 0.083333333)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _lib
from .._arrays import Array, array
from . import normal

__all__ = ["A", "p", "r", "tau", "v"]


def _law(a: Any, b: Any, xmin: float, xmax: float) -> tuple[Array, Array, Array]:
    ends = [-np.inf, float(xmin), float(xmax), np.inf]
    if not ends[1] < ends[2]:
        raise ValueError(f"expected xmin < xmax, got {xmin} and {xmax}")
    # a step function that is 1 on the interval, seen to be 1
    levels = zip((0.0, 1.0, 0.0), ends[:-1], ends[1:])
    regions = [(low, high, level, 0.0) for level, low, high in levels if high > low]
    if len(regions) == 1:
        raise ValueError("expected an end that is finite: the normal belief covers the line")
    seen = _lib.piecewise("interval", regions).observe(np.array([1.0]))
    assert seen is not None
    full = np.broadcast_arrays(array(a, "a"), array(b, "b"))
    ones = np.ones(full[0].size)
    log_z, mean, variance = seen.likelihood_law(ones, np.ravel(full[0]), np.ravel(full[1]))
    shape = full[0].shape
    return log_z.reshape(shape)[()], mean.reshape(shape)[()], variance.reshape(shape)[()]


def A(a: Any, b: Any, xmin: float, xmax: float) -> Any:
    r""":math:`\ln\int_{x_-}^{x_+} e^{-\frac12 a x^2 + b x}\,dx`."""
    return _law(a, b, xmin, xmax)[0]


def r(a: Any, b: Any, xmin: float, xmax: float) -> Any:
    """Mean; not a number where the integral diverges, and the variance is infinite."""
    _, mean, variance = _law(a, b, xmin, xmax)
    return np.where(np.isinf(variance), np.nan, mean)[()]


def v(a: Any, b: Any, xmin: float, xmax: float) -> Any:
    """Variance."""
    return _law(a, b, xmin, xmax)[2]


def tau(a: Any, b: Any, xmin: float, xmax: float) -> Any:
    """Second moment."""
    _, mean, variance = _law(a, b, xmin, xmax)
    return mean**2 + variance


def p(a: Any, b: Any, xmin: float, xmax: float) -> Any:
    """Mass of the normal belief in the interval."""
    return np.exp(A(a, b, xmin, xmax) - normal.A(a, b))
