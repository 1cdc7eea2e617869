"""A path of tramp's; written by ``python/generate.py`` from ``python/tramp_names.json``."""

from treeamp.ensembles import (
    RandomFeatureEnsemble,
)

__all__ = [
    "RandomFeatureEnsemble",
]
