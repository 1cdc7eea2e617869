r"""Priors: one law on every component of a signal.

Each is its log-partition :math:`A(a, b) = \ln\int p(x)\,e^{-\frac12 a x^2 + b x}\,dx`, with the mean
:math:`r = \partial_b A` and the variance :math:`v = \partial_b^2 A`. Arrays are taken everywhere; what is said of a
whole signal is a sum over its components (log-partitions) or their average (isotropic variances, averages of
state evolution). Penalties, :math:`p(x) = e^{-E(x)}` by their mode, are priors too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._arrays import choice
from . import laws, penalties
from .base_prior import ComplexPrior, Prior
from .committee import CommitteeBinaryPrior
from .group_penalties import MAP_CustomPrior, MAP_L21NormPrior
from .laws import *  # noqa: F403
from .penalties import *  # noqa: F403

__all__ = [
    "CommitteeBinaryPrior",
    "ComplexPrior",
    "MAP_CustomPrior",
    "MAP_L21NormPrior",
    "Prior",
    "get_prior",
]
# those of laws, written by python/generate.py: type checkers read a list
__all__ += [
    "BinaryPrior",
    "CircularGaussBernoulliPrior",
    "CircularGaussianMixturePrior",
    "CircularGaussianPrior",
    "ComplexAlphabetPrior",
    "ExponentialPrior",
    "FiniteAlphabetPrior",
    "GammaPrior",
    "GaussBernoulliPrior",
    "GaussianMixturePrior",
    "GaussianPrior",
    "IntervalPrior",
    "LaplacePrior",
    "LogisticPrior",
    "MAP_BoxPrior",
    "MAP_L1NormPrior",
    "MAP_L2NormPrior",
    "MAP_NonNegativePrior",
    "NonnegativeGaussianMixturePrior",
    "PositivePrior",
    "QamPrior",
    "RegularisedHorseshoePrior",
    "SpikeLaplacePrior",
    "SpikeStudentTPrior",
    "StudentTPrior",
    "UniformPrior",
]

#: Priors by the names that ``get_prior`` takes.
PRIOR_CLASSES: dict[str, Callable[..., Prior]] = {
    **laws.CLASSES,
    **penalties.CLASSES,
    "L21_norm": MAP_L21NormPrior,
    "committee_binary": CommitteeBinaryPrior,
}


def get_prior(size: Any, prior_type: str, **kwargs: Any) -> Prior:
    """A prior by name.

    >>> get_prior(10, "gauss_bernoulli", rho=0.1)
    GaussBernoulliPrior(size=10, rho=0.1, mean=0.0, var=1.0)
    """
    return PRIOR_CLASSES[choice(prior_type, PRIOR_CLASSES, "prior_type")](size, **kwargs)
