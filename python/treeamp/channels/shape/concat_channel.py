"""A path of tramp's; written by ``python/generate.py`` from ``python/tramp_names.json``."""

from treeamp.channels import (
    ConcatChannel,
)

__all__ = [
    "ConcatChannel",
]
