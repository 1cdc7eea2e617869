r"""Exponential belief :math:`e^{b x}` on :math:`x > 0`, :math:`b < 0`.

>>> float(r(-2.0)), float(v(-2.0))
(0.5, 0.25)
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["A", "p", "r", "tau", "v"]


def A(b: Any) -> Any:
    r""":math:`-\ln(-b)`."""
    return -np.log(-np.asarray(b))


def r(b: Any) -> Any:
    r""":math:`-1/b`."""
    return -1.0 / np.asarray(b)


def v(b: Any) -> Any:
    r""":math:`1/b^2`."""
    return 1.0 / np.square(b)


def tau(b: Any) -> Any:
    r""":math:`2/b^2`."""
    return 2.0 / np.square(b)


def p(x: Any, b: Any) -> Any:
    """Density at ``x``."""
    return np.where(np.asarray(x) > 0, -np.asarray(b) * np.exp(b * np.asarray(x)), 0.0)
