"""A path of tramp's; written by ``python/generate.py`` from ``python/tramp_names.json``."""

from treeamp.algos import (
    StateEvolution,
)

__all__ = [
    "StateEvolution",
]
