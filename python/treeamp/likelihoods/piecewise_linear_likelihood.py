"""A path of tramp's; written by ``python/generate.py`` from ``python/tramp_names.json``."""

from treeamp.likelihoods import (
    SgnLikelihood,
    AbsLikelihood,
    AsymmetricAbsLikelihood,
    ReluLikelihood,
    LeakyReluLikelihood,
    HardTanhLikelihood,
    HardSigmoidLikelihood,
    SymmetricDoorLikelihood,
)

__all__ = [
    "SgnLikelihood",
    "AbsLikelihood",
    "AsymmetricAbsLikelihood",
    "ReluLikelihood",
    "LeakyReluLikelihood",
    "HardTanhLikelihood",
    "HardSigmoidLikelihood",
    "SymmetricDoorLikelihood",
]
