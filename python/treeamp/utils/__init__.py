"""Averages over Gaussian and exponential laws, and small functions of arrays."""

from . import integration, misc

__all__ = ["integration", "misc"]
