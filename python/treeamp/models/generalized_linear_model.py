"""A path of tramp's; written by ``python/generate.py`` from ``python/tramp_names.json``."""

from treeamp.models import (
    glm_generative,
    glm_state_evolution,
)

__all__ = [
    "glm_generative",
    "glm_state_evolution",
]
