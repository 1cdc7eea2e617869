"""Functions of arrays that scripts written for tramp import from here."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import Array, array
from ..algos.metrics import array2complex, complex2array
from ..errors import NotImported
from .integration import norm_pdf

__all__ = ["array2complex", "complex2array", "hard_tanh", "leaky_relu", "norm_cdf", "norm_pdf", "relu", "sigmoid"]


def relu(x: Any) -> Any:
    """The larger of ``x`` and 0.

    >>> relu([-1.0, 2.0])
    array([0., 2.])
    """
    return np.maximum(array(x, "x"), 0.0)


def leaky_relu(x: Any, slope: float) -> Any:
    """``x`` where it is positive, ``slope`` times ``x`` elsewhere.

    >>> leaky_relu([-1.0, 2.0], 0.1)
    array([-0.1,  2. ])
    """
    z = array(x, "x")
    return np.where(z < 0, slope * z, z)[()]


def hard_tanh(x: Any) -> Any:
    """``x`` held between -1 and 1.

    >>> hard_tanh([-3.0, 0.5])
    array([-1. ,  0.5])
    """
    return np.clip(array(x, "x"), -1.0, 1.0)


def sigmoid(x: Any) -> Any:
    r""":math:`1/(1 + e^{-x})`, without overflow.

    >>> sigmoid([-1000.0, 0.0, 1000.0])
    array([0. , 0.5, 1. ])
    """
    return 0.5 * (1 + np.tanh(0.5 * array(x, "x")))


def norm_cdf(x: Any) -> Any:
    r"""The normal distribution function :math:`\Phi(x) = \frac12\operatorname{erfc}(-x/\sqrt2)`, exact in its tails.

    >>> norm_cdf(0.0)
    0.5
    """
    z = array(x, "x")
    values: Array = np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in z.ravel()])
    return values.reshape(z.shape)[()].item() if z.ndim == 0 else values.reshape(z.shape)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'treeamp.utils.misc' has no attribute {name!r}")
    raise NotImported(
        f"treeamp.utils.misc.{name} is not available: treeamp.beliefs has log-partitions, means and variances of truncated laws"
    )
