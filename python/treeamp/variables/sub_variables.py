"""A path of tramp's; written by ``python/generate.py`` from ``python/tramp_names.json``."""

from treeamp.variables import (
    MILeafVariable,
    MISOVariable,
    MORootVariable,
    SILeafVariable,
    SIMOVariable,
    SISOVariable,
    SORootVariable,
)

__all__ = [
    "MILeafVariable",
    "MISOVariable",
    "MORootVariable",
    "SILeafVariable",
    "SIMOVariable",
    "SISOVariable",
    "SORootVariable",
]
