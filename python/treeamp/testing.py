r"""Checks for modules of your own.

>>> import numpy as np
>>> from treeamp.custom import CustomPrior
>>> good = CustomPrior(4, mean=lambda a, b: b / (1 + a), variance=lambda a, b: 1 / (1 + a),
...                    log_partition=lambda a, b: 0.5 * b**2 / (1 + a) - 0.5 * np.log(1 + a))
>>> check_factor(good)
>>> bad = CustomPrior(4, mean=lambda a, b: b / (1 + a), variance=lambda a, b: 2 / (1 + a))
>>> check_factor(bad)  # doctest: +ELLIPSIS
Traceback (most recent call last):
...
treeamp.testing.FactorCheckError: custom_prior at a=0.5: variance is 1.33..., but the average of dr/db is 0.66...
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import Array, size_to_shape
from .base import Factor
from .errors import FactorError, ModelError
from .priors import MAP_CustomPrior
from .priors.base_penalty import Penalty

__all__ = ["FactorCheckError", "check_factor"]


class FactorCheckError(AssertionError):
    """What is wrong with a factor: one sentence per failure, also in ``problems``.

    Parameters
    ----------
    problems : list of str
        The sentences.
    """

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def _shape_of(factor: Any) -> tuple[int, ...]:
    y = getattr(factor, "y", None)
    shape = list(y.shape) if y is not None else size_to_shape(getattr(factor, "size", None))
    if shape is None:
        raise TypeError("check_factor needs a prior with a size or a likelihood with observations")
    # what an output is made of may have parts
    return (2, *shape) if factor._reduces else tuple(shape)


def check_factor(
    factor: Factor, a: Any = (0.5, 2.0, 20.0), seed: int = 0, tolerance: float = 1e-4, raises: bool = True
) -> list[str] | None:
    r"""Checks a prior or likelihood at random beliefs: what it returns, and its derivatives.

    * means have the shape of the signal and are finite, variances are not negative;
    * :math:`v = \langle\partial r/\partial b\rangle`, by central differences of the mean;
    * if there is a log-partition, :math:`\partial A/\partial b = r` along random directions, and
      :math:`-2\,\partial A/\partial a = \|r\|^2 + N v`;
    * the functions are deterministic.

    A penalty of one's own is compared with its energy too, and has no :math:`N v` in the last derivative of :math:`A`.

    Parameters
    ----------
    factor : Prior or Likelihood
        With a size or observations.
    a : sequence of float
        Precisions to try.
    seed : int
        Of the beliefs.
    tolerance : float
        Relative. What differences lose to rounding is allowed besides: of the mean, of which a narrow law changes little, and
        of the log-partition.
    raises : bool
        Raises :class:`FactorCheckError`; otherwise the sentences are returned.
    """
    shape = _shape_of(factor)
    name = factor._native.name
    rng = np.random.default_rng(seed)
    problems: list[str] = []
    if isinstance(factor, MAP_CustomPrior):
        try:
            factor.check()
        except ModelError as error:
            problems.append(str(error))
    for precision in np.atleast_1d(np.asarray(a, dtype=float)):
        # a signal of order one seen through noise of this precision
        b = precision * rng.normal(size=shape) + np.sqrt(precision) * rng.normal(size=shape)
        try:
            wrong = _at(factor, float(precision), b, rng, tolerance)
        except FactorError as error:
            wrong = [str(error)]
        problems += [f"{name} at a={precision:g}: {p}" for p in wrong]
    if problems and raises:
        raise FactorCheckError(problems)
    return problems if not raises else None


def _close(x: float, y: float, scale: float, tolerance: float, rounding: float = 0.0) -> bool:
    return bool(abs(x - y) <= tolerance * scale + rounding)


#: Rounding of a value by a few operations, relative to it.
_ROUNDING = 8 * float(np.finfo(float).eps)


def _at(factor: Factor, a: float, b: Array, rng: Any, tolerance: float) -> list[str]:
    """What is wrong at one belief."""
    native = factor._native

    def moments(a: float, b: Array) -> tuple[Array, float]:
        r, v = native.moments([(a, b)], 0)
        return r, v

    r, v = moments(a, b)
    if not np.isfinite(r).all():
        return ["the mean is not finite"]
    if not (np.isfinite(v) and v >= 0):
        return [f"the variance is {v}, expected a number that is not negative"]
    again = moments(a, b)
    if not (np.array_equal(again[0], r) and again[1] == v):
        return ["the same belief gives two answers: draw random numbers once, from a seed"]
    problems = []
    n = b.size
    divergence, step = 0.0, 1e-5 * max(1.0, float(np.abs(b).max()))
    # exact up to differences for small signals, by 64 probes for large ones
    exact = n <= 64
    for k in range(n if exact else 64):
        probe = np.zeros(n) if exact else rng.choice([-1.0, 1.0], size=n)
        if exact:
            probe[k] = 1.0
        probe = probe.reshape(b.shape)
        up, down = moments(a, b + step * probe)[0], moments(a, b - step * probe)[0]
        divergence += float(np.sum(probe.ravel() * (up - down))) / (2 * step)
    divergence /= n if exact else 64 * n
    # 64 sign probes of n components leave an error of about sqrt(2 / 64 n) where components mix
    loose = tolerance if exact else max(tolerance, 4 * np.sqrt(2 / (64 * n)))
    # the mean of a law of variance v moves by v * step only
    rounding = _ROUNDING * float(np.abs(r).max()) / step
    if not _close(v, divergence, max(abs(v), abs(divergence)), loose, rounding):
        problems.append(f"variance is {v:.6g}, but the average of dr/db is {divergence:.6g}")
    try:
        native.log_partition([(a, b)])
    except ValueError as error:
        none = not isinstance(error, FactorError) or "has no log-partition" in str(error)
        return problems if none else [*problems, str(error)]
    problems += _potential(native, a, b, r, 0.0 if isinstance(factor, Penalty) else v, rng, tolerance)
    return problems


def _potential(native: Any, a: float, b: Array, r: Array, v: float, rng: Any, tolerance: float) -> list[str]:
    """What is wrong with the log-partition."""
    problems = []
    n = b.size
    # terms of A that cancel are the logarithms of widths, one per component
    width = abs(np.log(v)) if v > 0 else 0.0
    rounding = _ROUNDING * max(abs(native.log_partition([(a, b)])), n * (1 + width))
    for _ in range(3):
        direction = rng.normal(size=b.shape)
        h = 1e-3 * np.sqrt(a) / max(1.0, float(np.abs(direction).max()))
        up = native.log_partition([(a, b + h * direction)])
        down = native.log_partition([(a, b - h * direction)])
        slope, expected = (up - down) / (2 * h), float(np.sum(direction.ravel() * r))
        scale = abs(expected) + np.sqrt(n * (v + 1e-300))
        if not _close(slope, expected, scale, tolerance, rounding / h):
            problems.append(f"dA/db along a direction is {slope:.6g}, but the mean gives {expected:.6g}")
            break
    h = 1e-4 * a
    slope = -(native.log_partition([(a + h, b)]) - native.log_partition([(a - h, b)])) / h
    expected = float(np.sum(r * r)) + n * v
    if not _close(slope, expected, abs(expected), tolerance, 2 * rounding / h):
        problems.append(f"-2 dA/da is {slope:.6g}, but |r|^2 + N v is {expected:.6g}")
    return problems
