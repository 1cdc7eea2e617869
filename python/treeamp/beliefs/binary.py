r"""Binary belief :math:`e^{b x}` on :math:`x = \pm1`.

>>> float(r(0.0)), float(v(0.0))
(0.0, 1.0)
>>> bool(v(30.0) > 0)
True
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["A", "p", "r", "tau", "v"]


def A(b: Any) -> Any:
    r""":math:`\ln(e^b + e^{-b})`."""
    return np.logaddexp(b, -np.asarray(b))


def r(b: Any) -> Any:
    r""":math:`\tanh b`."""
    return np.tanh(b)


def v(b: Any) -> Any:
    r""":math:`1 - \tanh^2 b = 4e^{-2|b|}/(1 + e^{-2|b|})^2`, without the cancellation."""
    e = np.exp(-2 * np.abs(b))
    return 4 * e / (1 + e) ** 2


def tau(b: Any) -> Any:
    """One."""
    return np.ones_like(np.asarray(b, dtype=float))


def p(b: Any) -> Any:
    r"""Probability of :math:`x = +1`."""
    return 0.5 * (1 + np.tanh(b))
