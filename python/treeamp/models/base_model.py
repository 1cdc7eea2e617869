"""A path of tramp's; written by ``python/generate.py`` from ``python/tramp_names.json``."""

from treeamp.models import (
    Model,
)

__all__ = [
    "Model",
]
