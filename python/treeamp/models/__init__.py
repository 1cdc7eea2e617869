"""Models: validated trees of factors, and ready-made ones."""

from .model import FactorModel, Model, MultiLayerModel, Sample
from .ready import (
    glm_generative,
    glm_state_evolution,
    committee,
    sgn_committee,
    soft_committee,
    sparse_gradient_regression,
    sparse_gradient_classification,
    tv_regression,
    tv_classification,
)

__all__ = [
    "FactorModel",
    "Model",
    "MultiLayerModel",
    "Sample",
    "committee",
    "glm_generative",
    "glm_state_evolution",
    "sgn_committee",
    "soft_committee",
    "sparse_gradient_classification",
    "sparse_gradient_regression",
    "tv_classification",
    "tv_regression",
]
