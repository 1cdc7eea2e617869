r"""Likelihoods: what an observation :math:`y` says of :math:`z`, component by component.

Each is its log-partition :math:`A(a, b; y) = \ln\int p(y|z)\,e^{-\frac12 a z^2 + b z}\,dz`, with the mean
:math:`r = \partial_b A` and the variance :math:`v = \partial_b^2 A`. With ``y=None`` the outputs
have no values: a likelihood for state evolution only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._arrays import choice
from . import laws
from .base_likelihood import Likelihood
from .complex import ModulusLikelihood, PhaseLikelihood, RicianModulusLikelihood
from .laws import *  # noqa: F403

__all__ = ["Likelihood", "ModulusLikelihood", "PhaseLikelihood", "RicianModulusLikelihood", "get_likelihood"]
# those of laws, written by python/generate.py: type checkers read a list
__all__ += [
    "AbsLikelihood",
    "AsymmetricAbsLikelihood",
    "CensoredLikelihood",
    "GaussianLikelihood",
    "HardSigmoidLikelihood",
    "HardTanhLikelihood",
    "HeteroscedasticNoiseLikelihood",
    "HingeLikelihood",
    "HuberLikelihood",
    "LaplaceNoiseLikelihood",
    "LeakyReluLikelihood",
    "LogisticLikelihood",
    "NegativeBinomialLikelihood",
    "OutlierNoiseLikelihood",
    "PoissonLikelihood",
    "PoissonSoftplusLikelihood",
    "ProbitLikelihood",
    "QuantileLikelihood",
    "QuantisedLikelihood",
    "ReluLikelihood",
    "SgnLikelihood",
    "SigmoidLikelihood",
    "SoftplusLikelihood",
    "SquaredHingeLikelihood",
    "StudentTNoiseLikelihood",
    "SymmetricDoorLikelihood",
    "TanhLikelihood",
]

#: Likelihoods by the names that ``get_likelihood`` takes.
LIKELIHOOD_CLASSES: dict[str, Callable[..., Likelihood]] = {
    **laws.CLASSES,
    "modulus": ModulusLikelihood,
    "rician_modulus": RicianModulusLikelihood,
    "phase": PhaseLikelihood,
}


def get_likelihood(y: Any, likelihood_type: str, **kwargs: Any) -> Likelihood:
    """A likelihood by name.

    >>> get_likelihood([1.0, -1.0], "door", width=0.5)
    SymmetricDoorLikelihood(y_name='y', width=0.5)
    """
    return LIKELIHOOD_CLASSES[choice(likelihood_type, LIKELIHOOD_CLASSES, "likelihood_type")](y=y, **kwargs)
