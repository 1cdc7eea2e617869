r"""Averages over a channel that is piecewise linear: :math:`x = x_i + s_i z` from :math:`z_i` to :math:`z_{i+1}`."""

from __future__ import annotations

from collections.abc import Callable
from math import erfc, inf, sqrt

import numpy as np

from ..utils.integration import _integral, norm_pdf

__all__ = ["area", "average_over_beliefs"]

#: The pieces, ``(start, end, offset, slope)``.
Pieces = list[tuple[float, float, float, float]]
Function = Callable[[float, float], float]

_TOLERANCE = 1e-11
#: Deviations where a Gaussian is cut into panels, and where a step that is smeared out is.
_CUTS, _STEPS = (-10.0, -3.0, 3.0, 10.0), (-6.0, 6.0)


def area(pieces: Pieces, f: Function, zmin: float, zmax: float) -> float:
    r""":math:`\int f(z, x(z))\,dz` between two places."""
    total = 0.0
    for start, end, offset, slope in pieces:
        low, high = max(start, zmin), min(end, zmax)
        if low < high:
            breaks = np.linspace(low, high, 9).tolist()
            total += _integral(lambda z: float(f(z, offset + slope * z)), breaks, _TOLERANCE)
    return total


def average_over_beliefs(pieces: Pieces, m: float, ax: float, tau: float, f: Function) -> float:
    r""":math:`E f(b_z, b_x)` of :math:`b_z \sim N(mz, m)`, :math:`b_x \sim N(a_x x, a_x)` and :math:`z \sim N(0, \tau)`.

    With :math:`A = 1/\tau + m + a_x s^2`, and :math:`t` the estimate of :math:`z` from this piece alone, :math:`t \sim N(0, \tau - 1/A)`:
    :math:`(b_z, b_x) = (0, a_x x_i) + (m, a_x s)\frac{A}{m + a_x s^2}\,t + (-s, 1)\,w`, where :math:`w \sim N(0, \frac{m a_x}{m + a_x s^2})`.
    The piece itself has probability :math:`\Phi((z_{i+1} - t)\sqrt A) - \Phi((z_i - t)\sqrt A)` then.
    """
    return sum(_over_piece(piece, m, ax, tau, f) for piece in pieces)


def _over_piece(piece: tuple[float, float, float, float], m: float, ax: float, tau: float, f: Function) -> float:
    start, end, offset, s = piece
    gained = m + ax * s * s
    precision = 1 / tau + gained
    gain = precision / gained if gained > 0 else 0.0
    beside = sqrt(ax if s == 0 else m * ax / gained if gained > 0 else 0.0)
    sharp = sqrt(precision)

    def inside(t: float) -> float:
        # both odds from the side on which they are small
        low, high = (start - t) * sharp / sqrt(2), (end - t) * sharp / sqrt(2)
        if low > 0:
            low, high = -high, -low
        return 0.5 * (erfc(-high) - erfc(-low))

    def given(t: float) -> float:
        bz, bx = m * gain * t, ax * (offset + s * gain * t)
        if beside == 0:
            return float(f(bz, bx))
        return _integral(lambda u: float(norm_pdf(u)) * float(f(bz - s * beside * u, bx + beside * u)), list(_CUTS), _TOLERANCE)

    spread = sqrt(tau * gained / precision)
    if spread == 0:
        return inside(0.0) * given(0.0)
    places = {spread * cut for cut in _CUTS}
    places |= {edge + step / sharp for edge in (start, end) if abs(edge) < inf for step in _STEPS}
    breaks = sorted(t for t in places if abs(t) <= 10 * spread)
    return _integral(lambda t: float(norm_pdf(t / spread)) / spread * inside(t) * given(t), breaks, _TOLERANCE)
