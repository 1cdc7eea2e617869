"""A path of tramp's; written by ``python/generate.py`` from ``python/tramp_names.json``."""

from treeamp.channels import (
    PiecewiseLinearChannel,
    SgnChannel,
    AbsChannel,
    AsymmetricAbsChannel,
    ReluChannel,
    LeakyReluChannel,
    HardTanhChannel,
    HardSigmoidChannel,
    SymmetricDoorChannel,
)

__all__ = [
    "PiecewiseLinearChannel",
    "SgnChannel",
    "AbsChannel",
    "AsymmetricAbsChannel",
    "ReluChannel",
    "LeakyReluChannel",
    "HardTanhChannel",
    "HardSigmoidChannel",
    "SymmetricDoorChannel",
]
