r"""Penalties and constraints on components, at their mode.

Written by ``python/generate.py`` from the catalogue: change the law's ``MODULE`` or ``python/tramp_names.json``, not this file.
"""

from __future__ import annotations

from typing import Any

from .._arrays import number
from .base_penalty import Penalty

__all__ = [
    "MAP_BoxPrior",
    "MAP_L1NormPrior",
    "MAP_L2NormPrior",
    "MAP_NonNegativePrior",
]


class MAP_L1NormPrior(Penalty):
    r"""Penalty of a sparse signal, at its mode: :math:`E(x) = \gamma\|x\|_1`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    gamma : float
        :math:`\gamma`: the strength; not negative.
    isotropic : bool
        Kept for scripts that give it.

    Notes
    -----
    Soft thresholding: :math:`r = \operatorname{sign}(b)\,(|b| - \gamma)_+/a`, :math:`v = 1/a` where
    :math:`|b| > \gamma` and zero elsewhere.

    Examples
    --------
    >>> MAP_L1NormPrior(size=3, gamma=1.0).compute_forward_posterior(2.0, [0.5, 3.0, -2.0])[0]
    array([ 0. ,  1. , -0.5])
    """

    repr_parameters = ("size", "gamma")
    _law, _native_parameters = "l1", ("gamma",)

    def __init__(self, size: Any, gamma: float = 1, isotropic: bool = True) -> None:
        self.gamma = number(gamma, "gamma")
        self._start(size, isotropic)


class MAP_NonNegativePrior(Penalty):
    r"""Constraint to positive values, at its mode: :math:`x \ge 0`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    isotropic : bool
        Kept for scripts that give it.

    Examples
    --------
    >>> MAP_NonNegativePrior(size=2).compute_forward_posterior(2.0, [-3.0, 1.0])[0]
    array([0. , 0.5])
    """

    repr_parameters = ("size",)
    _law = "non_negative"

    def __init__(self, size: Any, isotropic: bool = True) -> None:
        self._start(size, isotropic)


class MAP_BoxPrior(Penalty):
    r"""Constraint to an interval, at its mode: :math:`l \le x \le h`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    low : float
        :math:`l`: the lower end; may be infinite.
    high : float
        :math:`h`: the upper end, above the lower; may be infinite.
    isotropic : bool
        Kept for scripts that give it.

    Examples
    --------
    >>> MAP_BoxPrior(size=3, low=-1, high=1).compute_forward_posterior(1.0, [-3.0, 0.5, 2.0])[0]
    array([-1. ,  0.5,  1. ])
    """

    repr_parameters = ("size", "low", "high")
    _law, _native_parameters = "box", ("low", "high")

    def __init__(self, size: Any, low: float = -1, high: float = 1, isotropic: bool = True) -> None:
        self.low = number(low, "low")
        self.high = number(high, "high")
        self._start(size, isotropic)


class MAP_L2NormPrior(Penalty):
    r"""Quadratic penalty; of strength 0, a variable without a prior: :math:`E(x) = \frac\gamma2\|x - m\|^2`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    gamma : float
        :math:`\gamma`: the strength; not negative.
    mean : float
        :math:`m`: the centre.
    isotropic : bool
        Kept for scripts that give it.

    Examples
    --------
    >>> MAP_L2NormPrior(size=1, gamma=3.0).compute_forward_posterior(1.0, [2.0])
    (array([0.5]), 0.25)
    """

    repr_parameters = ("size", "gamma", "mean")
    _law, _native_parameters = "quadratic", ("gamma", "mean")

    def __init__(self, size: Any, gamma: float = 1, mean: float = 0, isotropic: bool = True) -> None:
        self.gamma = number(gamma, "gamma")
        self.mean = number(mean, "mean")
        self._start(size, isotropic)


#: The same by name.
CLASSES: dict[str, type[Penalty]] = {
    "L1_norm": MAP_L1NormPrior,
    "l1": MAP_L1NormPrior,
    "non_negative": MAP_NonNegativePrior,
    "box": MAP_BoxPrior,
    "L2_norm": MAP_L2NormPrior,
    "quadratic": MAP_L2NormPrior,
    "l2": MAP_L2NormPrior,
}
