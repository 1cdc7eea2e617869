"""A path of tramp's; written by ``python/generate.py`` from ``python/tramp_names.json``."""

from treeamp.likelihoods import (
    GaussianLikelihood,
)

__all__ = [
    "GaussianLikelihood",
]
