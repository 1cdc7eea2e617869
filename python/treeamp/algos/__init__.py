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
from .initial_conditions import ConstantInit, CustomInit, InformedInit, Initializer, NearInit, NoisyInit, PushInit, spectral_estimate
from .phases import *  # noqa: F403
from .phases import __all__ as _phases
from .report import FixedPoint, Report

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
    "FixedPoint",
    "InformedInit",
    "Initializer",
    "JoinCallback",
    "LogProgress",
    "NearInit",
    "NoisyInit",
    "PassCallback",
    "PushInit",
    "Report",
    "StateEvolution",
    "TrackErrors",
    "TrackEstimate",
    "TrackEvolution",
    "TrackMessages",
    "TrackObjective",
    "TrackOverlaps",
    "spectral_estimate",
    *_phases,
]
