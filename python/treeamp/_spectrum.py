r"""Gauss nodes of a spectrum that is known by its averages only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._arrays import Array, number
from .errors import ModelError

__all__ = ["gauss_nodes"]

#: Nodes at most: averages of user code have about ten digits, which more polynomials would use up.
_MOST = 40
#: A polynomial of this norm is rounding: the spectrum has no more places.
_NOTHING = 1e-9
#: The nodes are compared with ``measure`` at these ratios of precisions, to this accuracy.
_RATIOS, _ACCURACY = (1e-3, 1.0, 1e3, 1e6), 1e-6


def gauss_nodes(measure: Callable[[Callable[[float], float]], Any]) -> list[tuple[float, float]]:
    r"""Places and weights with the averages :math:`E f(\lambda)` that ``measure(f)`` gives.

    What lies at zero is a place of its own. The others are those of Gauss in :math:`\ln\lambda`, from the recurrence of the
    polynomials that are orthogonal under ``measure``, whose coefficients are averages too (Stieltjes' procedure).

    >>> [(round(place, 9), round(weight, 9)) for place, weight in gauss_nodes(lambda f: 0.25 * f(0.0) + 0.75 * f(2.0))]
    [(0.0, 0.25), (2.0, 0.75)]
    """

    def average(f: Callable[[float], float]) -> float:
        return number(measure(lambda z: f(float(z))), "measure(f)")

    zero, mass = average(lambda z: float(z == 0)), average(lambda z: float(z != 0))
    if average(lambda z: float(z < 0)) > 0:
        raise ModelError("`measure` of the ensemble must be over eigenvalues that are not negative")
    if not (zero >= 0 and mass >= 0 and abs(zero + mass - 1) < _ACCURACY):
        raise ModelError(f"`measure` of the ensemble must average 1 to 1, got {zero + mass}")
    if mass < _NOTHING:
        return [(0.0, 1.0)]
    places, weights = _of_logarithms(average, mass)
    nodes = [(0.0, zero)] if zero > 0 else []
    nodes += [(float(np.exp(x)), float(w)) for x, w in zip(places, weights)]
    for ratio in _RATIOS:
        stated = average(lambda z: 1 / (1 + ratio * z))
        found = sum(w / (1 + ratio * z) for z, w in nodes)
        if not abs(found - stated) < _ACCURACY:
            raise ModelError(
                "`measure` of the ensemble comes too close to zero, or is not accurate enough, to be known by "
                f"{len(nodes)} places: expected {stated} for the average of 1 / (1 + {ratio:g} z), got {found}; give `eigenvalues`"
            )
    return nodes


def _of_logarithms(average: Callable[[Callable[[float], float]], float], mass: float) -> tuple[Array, Array]:
    """Places and weights of the logarithm of what is not zero."""
    diagonal: list[float] = []
    beside: list[float] = []

    def squared(z: float, power: int) -> float:
        """The square of the last polynomial, orthonormal but for its own norm, times a power of the logarithm."""
        if z <= 0:
            return 0.0
        x = np.log(z)
        before, last = 0.0, 1.0 / np.sqrt(mass)
        for a, root, back in zip(diagonal, beside, [0.0, *beside]):
            before, last = last, ((x - a) * last - back * before) / root
        return float(last * last * x**power)

    for _ in range(_MOST):
        diagonal.append(average(lambda z: squared(z, 1)))
        beside.append(1.0)
        norm = average(lambda z: squared(z, 0))
        if not norm > (_NOTHING * (1 + max(map(abs, diagonal)))) ** 2:
            break
        beside[-1] = float(np.sqrt(norm))
    off = beside[: len(diagonal) - 1]
    places, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1))
    return places, mass * vectors[0] ** 2
