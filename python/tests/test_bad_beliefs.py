"""Beliefs that are refused: what is not a number never becomes a result without a word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treeamp as ta

NAN, INF = np.nan, np.inf
ONES = np.ones(2)

MODULES: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "a prior": ("x", lambda a, b: ta.GaussBernoulliPrior(2).compute_forward_posterior(a, b)),
    "a prior's message": ("x", lambda a, b: ta.BinaryPrior(2).compute_forward_message(a, b)),
    "a prior's potential": ("x", lambda a, b: ta.GaussianPrior(2).compute_log_partition(a, b)),
    "a likelihood": ("z", lambda a, b: ta.SgnLikelihood(ONES).compute_backward_posterior(a, b)),
    "a likelihood's message": ("z", lambda a, b: ta.AbsLikelihood(ONES).compute_backward_message(a, b)),
    "a modulus": ("z", lambda a, b: ta.ModulusLikelihood([1.0]).compute_backward_posterior(a, np.reshape(b, (2, 1)))),
    "an input of a matrix": ("z", lambda a, b: ta.LinearChannel(np.eye(2)).compute_forward_posterior(a, b, 1.0, ONES)),
    "an output of a matrix": ("x", lambda a, b: ta.LinearChannel(np.eye(2)).compute_backward_posterior(1.0, ONES, a, b)),
    "an activation": ("x", lambda a, b: ta.ReluChannel().compute_forward_posterior(1.0, ONES, a, b)),
    "a penalty": ("x", lambda a, b: ta.MAP_L1NormPrior(2).compute_forward_posterior(a, b)),
    "a penalty of groups": ("x", lambda a, b: ta.MAP_L21NormPrior((2, 1)).compute_forward_posterior(a, np.reshape(b, (2, 1)))),
    "a law of functions": ("x", lambda a, b: ta.CustomPrior(2, mean=lambda a, b: b / (1 + a)).compute_forward_posterior(a, b)),
}


@pytest.mark.parametrize("name", MODULES)
def test_a_belief_is_finite(name: str) -> None:
    port, asked = MODULES[name]
    asked(1.0, ONES)
    for a, b, wrong in ((NAN, ONES, f"`a{port}`"), (1.0, [NAN, 1.0], f"`b{port}`"), (1.0, [1.0, INF], f"`b{port}`")):
        with pytest.raises(ValueError, match=wrong + " must be (finite, got (nan|inf)|a number, got NaN)"):
            asked(a, b)


def test_a_belief_is_not_empty() -> None:
    with pytest.raises(ValueError, match="`bx` must have at least one component"):
        ta.GaussBernoulliPrior(2).compute_forward_posterior(1.0, [])


AVERAGES: dict[str, Callable[[float], Any]] = {
    "an error": lambda a: ta.GaussBernoulliPrior(None).compute_forward_error(a),
    "an information": lambda a: ta.GaussBernoulliPrior(None).compute_mutual_information(a),
    "a precision": lambda a: ta.GaussBernoulliPrior(None).compute_precision(a),
    "a likelihood's error": lambda a: ta.SgnLikelihood(None).compute_backward_error(a, 1.0),
    "a second moment": lambda a: ta.SgnLikelihood(None).compute_backward_error(2.0, a),
    "a channel's error": lambda a: ta.GaussianChannel(0.1).compute_forward_error(a, 1.0, 1.0),
    "a channel's information": lambda a: ta.LinearChannel(np.eye(2)).compute_mutual_information(2.0, a, 1.0),
    "a variable's potential": lambda a: ta.V("x").compute_free_energy(a, 1.0),
    "a variable's information": lambda a: ta.V("x").compute_mutual_information(1.0, a),
    "a variable's dual": lambda a: ta.V("x").compute_dual_mutual_information(a, 1.0),
}


@pytest.mark.parametrize("name", AVERAGES)
def test_averages_of_nothing(name: str) -> None:
    with pytest.raises(ValueError, match="NaN|nan"):
        AVERAGES[name](NAN)


def test_an_average_whose_infinities_cancel() -> None:
    with pytest.raises(ta.FactorError, match="infinities cancel"):
        ta.LinearChannel(np.eye(2)).compute_free_energy(2.0, INF, 1.0)
