"""A path of tramp's; written by ``python/generate.py`` from ``python/tramp_names.json``."""

from treeamp.channels import (
    DuplicateChannel,
)

__all__ = [
    "DuplicateChannel",
]
