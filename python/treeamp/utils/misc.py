"""Functions of arrays that scripts written for tramp import from here."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import Array, array, number, positive
from ..algos.metrics import array2complex, complex2array
from .._refused import told
from .integration import norm_pdf

__all__ = [
    "array2complex",
    "complex2array",
    "gather",
    "hard_sigm",
    "hard_tanh",
    "leaky_relu",
    "norm_cdf",
    "norm_pdf",
    "relu",
    "sigmoid",
    "symm_door",
]
__path__: list[str] = []


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


def hard_sigm(x: Any, knee: float = 2.5) -> Any:
    r"""The line :math:`\frac12 + x/2L` held between 0 and 1, :math:`L` being the ``knee``, as of
    :class:`~treeamp.channels.HardSigmoidChannel`.

    >>> hard_sigm([-3.0, 1.0])
    array([0. , 0.7])
    """
    return np.clip(0.5 + array(x, "x") / (2 * positive(knee, "knee")), 0.0, 1.0)


def symm_door(x: Any, width: float) -> Any:
    """-1 within ``width`` of zero, 1 elsewhere.

    >>> symm_door([-3.0, 0.5], 1.0)
    array([ 1., -1.])
    """
    return np.where(abs(array(x, "x")) < number(width, "width"), -1.0, 1.0)[()]


def gather(df: Any, melted_columns: Any, value_name: str = "value", var_name: str = "variable") -> Any:
    """A pandas table in which some columns have become rows: one column with their names, one with their values.

    >>> import pandas
    >>> gather(pandas.DataFrame({"alpha": [0.5], "EP": [0.1], "SE": [0.2]}), ["EP", "SE"], value_name="mse").values.tolist()
    [[0.5, 'EP', 0.1], [0.5, 'SE', 0.2]]
    """
    kept = [name for name in df.columns if name not in set(melted_columns)]
    return df.melt(kept, list(melted_columns), var_name, value_name)


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


__getattr__ = told(__name__, lambda name: "treeamp.beliefs has log-partitions, means and variances of truncated laws")
