r"""Likelihoods: what an observation :math:`y` says of :math:`z`, component by component.

Each is its log-partition :math:`A(a, b; y) = \ln\int p(y|z)\,e^{-\frac12 a z^2 + b z}\,dz`, with the mean
:math:`r = \partial_b A` and the variance :math:`v = \partial_b^2 A`. With ``y=None`` the outputs are observed and not
told: a likelihood for state evolution only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._arrays import choice
from .base_likelihood import Likelihood
from .laws import (
    AbsLikelihood,
    AsymmetricAbsLikelihood,
    GaussianLikelihood,
    HardSigmoidLikelihood,
    HardTanhLikelihood,
    LeakyReluLikelihood,
    ModulusLikelihood,
    ReluLikelihood,
    SgnLikelihood,
    SymmetricDoorLikelihood,
)

__all__ = [
    "AbsLikelihood",
    "AsymmetricAbsLikelihood",
    "GaussianLikelihood",
    "HardSigmoidLikelihood",
    "HardTanhLikelihood",
    "LeakyReluLikelihood",
    "Likelihood",
    "ModulusLikelihood",
    "ReluLikelihood",
    "SgnLikelihood",
    "SymmetricDoorLikelihood",
    "get_likelihood",
]

#: Likelihoods by the names that ``get_likelihood`` takes.
LIKELIHOOD_CLASSES: dict[str, Callable[..., Likelihood]] = {
    "gaussian": GaussianLikelihood,
    "sgn": SgnLikelihood,
    "abs": AbsLikelihood,
    "a-abs": AsymmetricAbsLikelihood,
    "relu": ReluLikelihood,
    "l-relu": LeakyReluLikelihood,
    "h-tanh": HardTanhLikelihood,
    "h-sigm": HardSigmoidLikelihood,
    "door": SymmetricDoorLikelihood,
    "modulus": ModulusLikelihood,
}


def get_likelihood(y: Any, likelihood_type: str, **kwargs: Any) -> Likelihood:
    """A likelihood by name.

    >>> get_likelihood([1.0, -1.0], "door", width=0.5)
    SymmetricDoorLikelihood(y_name='y', width=0.5)
    """
    return LIKELIHOOD_CLASSES[choice(likelihood_type, LIKELIHOOD_CLASSES, "likelihood_type")](y=y, **kwargs)
