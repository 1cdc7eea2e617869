"""Algorithms, their initial conditions and callbacks."""

from .algorithms import MAP, ExpectationPropagation, StateEvolution
from .callbacks import (
    Callback,
    EarlyStopping,
    EarlyStoppingEP,
    JoinCallback,
    LogProgress,
    PassCallback,
    TrackErrors,
    TrackEstimate,
    TrackEvolution,
    TrackMessages,
    TrackObjective,
    TrackOverlaps,
)
from .explain import DisplayLatexMessagePassing, ExplainMessagePassing, ExplainStateEvolution
from .initial_conditions import ConstantInit, CustomInit, InformedInit, Initializer, NoisyInit
from .report import Report

__all__ = [
    "MAP",
    "Callback",
    "ConstantInit",
    "CustomInit",
    "DisplayLatexMessagePassing",
    "EarlyStopping",
    "EarlyStoppingEP",
    "ExpectationPropagation",
    "ExplainMessagePassing",
    "ExplainStateEvolution",
    "InformedInit",
    "Initializer",
    "JoinCallback",
    "LogProgress",
    "NoisyInit",
    "PassCallback",
    "Report",
    "StateEvolution",
    "TrackErrors",
    "TrackEstimate",
    "TrackEvolution",
    "TrackMessages",
    "TrackObjective",
    "TrackOverlaps",
]
