r"""Sparse belief :math:`e^\eta\,\delta(x) + e^{-\frac12 a x^2 + b x}`: zero with log-odds :math:`-\xi = \eta - A(a, b)`.

>>> float(p(1.0, 0.0, -50.0))
1.0
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import normal

__all__ = ["A", "p", "r", "tau", "v"]


def _odds(a: Any, b: Any, eta: Any) -> tuple[Any, Any]:
    """Probabilities that x is not zero, and that it is."""
    xi = normal.A(a, b) - eta
    e = np.exp(-np.abs(xi))
    large, small = 1 / (1 + e), e / (1 + e)
    return np.where(xi > 0, large, small), np.where(xi > 0, small, large)


def A(a: Any, b: Any, eta: Any) -> Any:
    r""":math:`\ln[e^\eta + e^{A(a, b)}]`."""
    return np.logaddexp(eta, normal.A(a, b))


def p(a: Any, b: Any, eta: Any) -> Any:
    r"""Probability of :math:`x \ne 0`."""
    return _odds(a, b, eta)[0]


def r(a: Any, b: Any, eta: Any) -> Any:
    r""":math:`p\,b/a`."""
    return p(a, b, eta) * normal.r(a, b)


def v(a: Any, b: Any, eta: Any) -> Any:
    r""":math:`p/a + p(1 - p)\,b^2/a^2`."""
    there, zero = _odds(a, b, eta)
    return there * normal.v(a, b) + there * zero * normal.r(a, b) ** 2


def tau(a: Any, b: Any, eta: Any) -> Any:
    r""":math:`p\,(r_N^2 + v_N)`."""
    return p(a, b, eta) * normal.tau(a, b)
