"""Channels known by name only: they say what they wait for."""

from __future__ import annotations

from typing import Any

from ..errors import NotAvailable
from .base import Channel

__all__ = [
    "ComplexLinearChannel",
    "DFTChannel",
    "LowRankFactorization",
    "LowRankGramChannel",
    "ModulusChannel",
    "UnitaryChannel",
]


class _Absent(Channel):
    _why = "needs complex signals, which are"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotAvailable(f"{type(self).__name__} {self._why} not available yet")


class ComplexLinearChannel(_Absent):
    r"""Complex :math:`x = W z`. Not available yet."""


class UnitaryChannel(_Absent):
    r"""Complex :math:`x = U z`, :math:`U^\dagger U = 1`. Not available yet."""


class ModulusChannel(_Absent):
    r""":math:`x = |z|` of a complex :math:`z`. Not available yet."""


class DFTChannel(_Absent):
    r"""Unitary discrete Fourier transform, with complex coefficients. Not available yet; see :class:`RealDFTChannel`."""


class LowRankFactorization(_Absent):
    r""":math:`x = u v^T/\sqrt N`. Not available yet."""

    _why = "needs low-rank factors, which are"


class LowRankGramChannel(LowRankFactorization):
    r""":math:`x = z z^T/\sqrt N`. Not available yet."""
