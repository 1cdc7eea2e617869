"""A path of tramp's; written by ``python/generate.py`` from ``python/tramp_names.json``."""

from treeamp.experiments import (
    binary_search,
    find_critical_alpha,
    find_state_evolution_mse,
)

__all__ = [
    "binary_search",
    "find_critical_alpha",
    "find_state_evolution_mse",
]
