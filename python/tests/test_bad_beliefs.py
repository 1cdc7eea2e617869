"""Beliefs, arrays and options that are refused: what is not a number never becomes a result without a word."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treeamp as ta

NAN, INF = np.nan, np.inf
ONES = np.ones(2)
MASKED = np.ma.masked_array([[1.0, 2.0]], mask=[[True, False]])

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


TABLE: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "masked entries of a matrix": (lambda: ta.LinearChannel(MASKED), ValueError, "`W` must be known everywhere"),
    "masked entries of a complex matrix": (lambda: ta.ComplexLinearChannel(MASKED), ValueError, "`W` must be known everywhere"),
    "masked observations": (lambda: ta.GaussianLikelihood(MASKED[0]), ValueError, "`y` must be known everywhere"),
    "a total variation of no scale": (
        lambda: ta.tv_regression(np.eye(2), ONES, 2, grad_scale=0, noise_var=1, prior_var=1), ta.ModelError, "`grad_scale` must be positive",
    ),
    "a total variation of a negative scale": (
        lambda: ta.tv_classification(np.eye(2), ONES, 2, grad_scale=-1, noise_var=1, prior_var=1), ta.ModelError, "got -1.0",
    ),
    "a mask of another shape": (
        lambda: (ta.GaussianPrior((2, 3)) @ ta.V("x") @ ta.MaskChannel(np.ones(6)) @ ta.V("z")).to_model(),
        ta.ModelError, "variable `x`: expected shape (6), got shape (2, 3)",
    ),
    "a mask turned round": (
        lambda: (ta.GaussianPrior((2, 3)) @ ta.V("x") @ ta.MaskChannel(np.ones((3, 2))) @ ta.V("z")).to_model(),
        ta.ModelError, "expected shape (3, 2), got shape (2, 3)",
    ),
    "a signal of another shape than the mask": (lambda: ta.MaskChannel(np.ones(6)).sample(np.ones((2, 3))), ValueError, "(6,)"),
    "more sweeps than can be counted": (
        lambda: ta.ExpectationPropagation((ta.GaussianPrior(2) @ ta.V("x") @ ta.GaussianLikelihood(ONES)).to_model()).iterate(2**70),
        ValueError, "`max_iter` must be at most",
    ),
    "a list with something that is no callback": (
        lambda: ta.ExpectationPropagation(
            (ta.GaussianPrior(2) @ ta.V("x") @ ta.GaussianLikelihood(ONES)).to_model()
        ).iterate(callback=[ta.EarlyStopping(), 3]),
        TypeError, "`callback` must be callable, got int",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_bad_call(name: str) -> None:
    call, error, sentence = TABLE[name]
    with pytest.raises(error, match=re.escape(sentence)):
        call()


def test_a_mask_without_masked_entries_is_an_array() -> None:
    whole = np.ma.masked_array(np.eye(2), mask=False)
    assert np.array_equal(ta.LinearChannel(whole).W, np.eye(2))
