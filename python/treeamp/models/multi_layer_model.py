"""A path of tramp's; written by ``python/generate.py`` from ``python/tramp_names.json``."""

from treeamp.models import (
    MultiLayerModel,
)

__all__ = [
    "MultiLayerModel",
]
