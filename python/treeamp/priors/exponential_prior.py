"""A path of tramp's; written by ``python/generate.py`` from ``python/tramp_names.json``."""

from treeamp.priors import (
    ExponentialPrior,
)

__all__ = [
    "ExponentialPrior",
]
