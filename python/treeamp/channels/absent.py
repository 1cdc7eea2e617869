"""Channels known by name only: they say what they wait for."""

from __future__ import annotations

from typing import Any

from ..errors import NotAvailable
from .base_channel import Channel

__all__ = ["LowRankFactorization", "LowRankGramChannel"]


class _Absent(Channel):
    _why = "is"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotAvailable(f"{type(self).__name__} {self._why} not available yet")


class LowRankFactorization(_Absent):
    r""":math:`x = u v^T/\sqrt N`. Not available yet."""

    _why = "needs low-rank factors, which are"


class LowRankGramChannel(LowRankFactorization):
    r""":math:`x = z z^T/\sqrt N`. Not available yet."""
