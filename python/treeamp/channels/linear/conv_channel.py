"""A path of tramp's; written by ``python/generate.py`` from ``python/tramp_names.json``."""

from treeamp.channels import (
    ConvChannel,
    Blur1DChannel,
    Blur2DChannel,
    DifferentialChannel,
    LaplacianChannel,
)

__all__ = [
    "ConvChannel",
    "Blur1DChannel",
    "Blur2DChannel",
    "DifferentialChannel",
    "LaplacianChannel",
]
