"""How far an estimate is from the truth."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np

from .._arrays import Array, array

__all__ = [
    "METRICS",
    "array2complex",
    "complex2array",
    "mean_squared_error",
    "overlap",
    "permutation_symmetric_mse",
    "phase_symmetric_mse",
    "rotation_symmetric_mse",
    "sign_symmetric_mse",
]


def _pair(x_true: Any, x_pred: Any) -> tuple[Array, Array]:
    x, y = array(x_true, "x_true"), array(x_pred, "x_pred")
    if x.shape != y.shape:
        raise ValueError(f"`x_true` and `x_pred` must have the same shape, got {x.shape} and {y.shape}")
    if x.size == 0:
        raise ValueError("`x_true` must have at least one component, got an empty array")
    return x, y


def array2complex(Z: Any) -> Any:
    """Complex numbers from real and imaginary parts on the first axis.

    >>> array2complex([[1.0], [2.0]])
    array([1.+2.j])
    """
    z = array(Z, "Z")
    if z.ndim == 0 or z.shape[0] != 2:
        raise ValueError(f"`Z` must have two rows, real and imaginary parts, got shape {z.shape}")
    return z[0] + 1j * z[1]


def complex2array(z: Any) -> Array:
    """Real and imaginary parts on a new first axis.

    >>> complex2array([1 + 2j])
    array([[1.],
           [2.]])
    """
    values = np.asarray(z)
    return np.stack([values.real, values.imag]).astype(np.float64)


def mean_squared_error(x_true: Any, x_pred: Any) -> float:
    r""":math:`\frac1N\|x - \hat x\|^2`.

    >>> mean_squared_error([1.0, 2.0], [1.0, 4.0])
    2.0
    """
    x, y = _pair(x_true, x_pred)
    return float(np.mean((x - y) ** 2))


def overlap(x_true: Any, x_pred: Any) -> float:
    r""":math:`\frac1N x\cdot\hat x`.

    >>> overlap([1.0, 2.0], [1.0, 4.0])
    4.5
    """
    x, y = _pair(x_true, x_pred)
    return float(np.mean(x * y))


def sign_symmetric_mse(x_true: Any, x_pred: Any) -> float:
    r"""The smaller of the errors of :math:`\hat x` and :math:`-\hat x`.

    >>> sign_symmetric_mse([1.0, 2.0], [-1.0, -2.0])
    0.0
    """
    x, y = _pair(x_true, x_pred)
    return min(float(np.mean((x - y) ** 2)), float(np.mean((x + y) ** 2)))


def phase_symmetric_mse(x_true: Any, x_pred: Any) -> float:
    r"""The error up to a global phase, :math:`\min_\theta \frac1{2N}\|x - e^{i\theta}\hat x\|^2`, per real component.

    The minimum is attained where :math:`e^{i\theta}` is the phase of :math:`\hat x^\dagger x`.

    >>> round(phase_symmetric_mse([[1.0], [0.0]], [[0.0], [1.0]]), 12)
    0.0
    """
    x, y = _pair(x_true, x_pred)
    a, b = array2complex(x), array2complex(y)
    inner = np.vdot(b, a)
    phase = inner / abs(inner) if inner != 0 else 1.0
    return float(np.mean(np.abs(a - phase * b) ** 2) / 2)


def rotation_symmetric_mse(x_true: Any, x_pred: Any) -> float:
    r"""The smallest error of :math:`\hat X R` over orthogonal :math:`R`, of rows that are seen through their inner products only.

    >>> round(rotation_symmetric_mse([[1.0, 0.0], [0.0, 2.0]], [[0.0, 1.0], [-2.0, 0.0]]), 12)
    0.0
    """
    x, y = _rows(x_true, x_pred)
    u, _, v = np.linalg.svd(y.T @ x)
    return float(np.mean((y @ (u @ v) - x) ** 2))


def permutation_symmetric_mse(x_true: Any, x_pred: Any) -> float:
    """The smallest error over the orders of columns, at most eight: groups whose labels the data do not determine.

    >>> permutation_symmetric_mse([[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]])
    0.0
    """
    x, y = _rows(x_true, x_pred)
    if x.shape[1] > 8:
        raise ValueError(f"`x_true` must have at most 8 columns, of which all orders are tried, got {x.shape[1]}")
    return min(float(np.mean((y[:, order] - x) ** 2)) for order in map(list, permutations(range(x.shape[1]))))


def _rows(x_true: Any, x_pred: Any) -> tuple[Array, Array]:
    x, y = _pair(x_true, x_pred)
    if x.ndim != 2:
        raise ValueError(f"`x_true` must have rows and columns, got an array of shape {x.shape}")
    return x, y


#: Metrics by the names that ``TrackErrors`` takes.
METRICS = {
    "mse": mean_squared_error,
    "sign_mse": sign_symmetric_mse,
    "phase_mse": phase_symmetric_mse,
    "overlap": overlap,
}
