"""A path of tramp's; written by ``python/generate.py`` from ``python/tramp_names.json``."""

from treeamp.models import (
    committee,
    sgn_committee,
    soft_committee,
)

__all__ = [
    "committee",
    "sgn_committee",
    "soft_committee",
]
