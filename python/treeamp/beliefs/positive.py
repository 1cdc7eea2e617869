r"""Belief :math:`e^{-\frac12 a x^2 + b x}` on :math:`x > 0`.

>>> bool(v(1.0, -5e4) > 0)
True
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import truncated

__all__ = ["A", "p", "r", "tau", "v"]


def A(a: Any, b: Any) -> Any:
    r""":math:`A_N(a, b) + \ln\Phi(b/\sqrt a)`."""
    return truncated.A(a, b, 0.0, np.inf)


def r(a: Any, b: Any) -> Any:
    """Mean; not a number where the integral diverges, and the variance is infinite."""
    return truncated.r(a, b, 0.0, np.inf)


def v(a: Any, b: Any) -> Any:
    """Variance."""
    return truncated.v(a, b, 0.0, np.inf)


def tau(a: Any, b: Any) -> Any:
    """Second moment."""
    return truncated.tau(a, b, 0.0, np.inf)


def p(a: Any, b: Any) -> Any:
    r""":math:`\Phi(b/\sqrt a)`, the mass of the normal belief on the positive side."""
    return truncated.p(a, b, 0.0, np.inf)
