"""Averages over Gaussian and exponential laws."""

from . import integration

__all__ = ["integration"]
