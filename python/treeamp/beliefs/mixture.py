r"""Mixture :math:`\sum_k e^{\eta_k - \frac12 a_k x^2 + b_k x}`; components are on the first axis of ``a``, ``b`` and ``eta``.

>>> float(r([1.0, 1.0], [-1.0, 1.0], [0.0, 0.0]))
0.0
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import normal

__all__ = ["A", "p", "r", "tau", "v"]


def _parts(a: Any, b: Any, eta: Any) -> tuple[Any, Any, Any]:
    a, b, eta = (np.asarray(x, dtype=float) for x in (a, b, eta))
    heights = eta + normal.A(a, b)
    top = heights.max(axis=0)
    total = top + np.log(np.exp(heights - top).sum(axis=0))
    return total, np.exp(heights - total), b / a


def A(a: Any, b: Any, eta: Any) -> Any:
    r""":math:`\ln\sum_k e^{\eta_k + A(a_k, b_k)}`."""
    return _parts(a, b, eta)[0]


def p(a: Any, b: Any, eta: Any) -> Any:
    """Probabilities of the components."""
    return _parts(a, b, eta)[1]


def r(a: Any, b: Any, eta: Any) -> Any:
    """Mean."""
    _, weights, means = _parts(a, b, eta)
    return (weights * means).sum(axis=0)


def v(a: Any, b: Any, eta: Any) -> Any:
    """Variance: within components, and between them."""
    _, weights, means = _parts(a, b, eta)
    within = (weights / np.asarray(a, dtype=float)).sum(axis=0)
    return within + (weights * (means - (weights * means).sum(axis=0)) ** 2).sum(axis=0)


def tau(a: Any, b: Any, eta: Any) -> Any:
    """Second moment."""
    return r(a, b, eta) ** 2 + v(a, b, eta)
