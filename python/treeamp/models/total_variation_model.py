"""A path of tramp's; written by ``python/generate.py`` from ``python/tramp_names.json``."""

from treeamp.models import (
    sparse_gradient_classification,
    sparse_gradient_regression,
    tv_classification,
    tv_regression,
)

__all__ = [
    "sparse_gradient_classification",
    "sparse_gradient_regression",
    "tv_classification",
    "tv_regression",
]
