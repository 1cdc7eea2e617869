"""A path of tramp's; written by ``python/generate.py`` from ``python/tramp_names.json``."""

from treeamp.priors import (
    MAP_L21NormPrior,
)

__all__ = [
    "MAP_L21NormPrior",
]
