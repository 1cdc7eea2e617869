"""A path of tramp's; written by ``python/generate.py`` from ``python/tramp_names.json``."""

from treeamp.priors import (
    CommitteeBinaryPrior,
)

__all__ = [
    "CommitteeBinaryPrior",
]
