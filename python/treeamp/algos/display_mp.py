"""A path of tramp's; written by ``python/generate.py`` from ``python/tramp_names.json``."""

from treeamp.algos import (
    DisplayLatexMessagePassing,
)

__all__ = [
    "DisplayLatexMessagePassing",
]
