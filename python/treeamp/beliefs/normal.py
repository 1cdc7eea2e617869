r"""Normal belief :math:`e^{-\frac12 a x^2 + b x}`, :math:`a > 0`.

>>> float(r(2.0, 1.0)), float(v(2.0, 1.0))
(0.5, 0.5)
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["A", "p", "r", "tau", "v"]


def A(a: Any, b: Any) -> Any:
    r""":math:`\frac{b^2}{2a} + \frac12\ln\frac{2\pi}a`."""
    return 0.5 * np.square(b) / a + 0.5 * np.log(2 * np.pi / np.asarray(a))


def r(a: Any, b: Any) -> Any:
    r""":math:`b/a`."""
    return np.asarray(b) / a


def v(a: Any, b: Any) -> Any:
    r""":math:`1/a`."""
    return np.asarray(1.0) / a + 0.0 * np.asarray(b)


def tau(a: Any, b: Any) -> Any:
    r""":math:`r^2 + v`."""
    return r(a, b) ** 2 + v(a, b)


def p(x: Any, a: Any, b: Any) -> Any:
    """Density at ``x``."""
    return np.exp(-0.5 * a * np.square(x) + b * np.asarray(x) - A(a, b))
