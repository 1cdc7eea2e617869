"""What the Python package itself refuses: arrays, runs and callbacks, modules alone, modules of one's own."""

from __future__ import annotations

from typing import Any

import numpy as np
from bad_calls import (
    INF,
    MODEL,
    NAN,
    RUN,
    TYPE,
    VALUE,
    W,
    Dead,
    Table,
    as_matrix,
    chain,
    ep,
    limit,
    raising,
    swapping,
    table,
    writing,
)

import treeamp as ta
from treeamp.experiments import qplot, run_experiments


def gradient(x_shape: Any) -> ta.Model:
    return ta.sparse_gradient_regression(np.eye(2), np.ones(2), x_shape, grad_rho=0.1, noise_var=0.1, prior_var=1.0)


def gram(output: Any) -> ta.Model:
    return (ta.GaussianPrior(size=(3, 1)) @ ta.V("z") @ ta.LowRankGramChannel(3, 1) @ ta.V("x") @ output).to_model()


TABLE: Table = {
    # --- types and shapes of arrays
    "strings": (lambda: as_matrix([["a", "b"]]), TYPE, "`W` must be an array of numbers"),
    "objects": (lambda: as_matrix(np.array([[None, 1.0]], dtype=object)), TYPE, "dtype object"),
    "ragged lists": (lambda: as_matrix([[1.0, 2.0], [3.0]]), VALUE, "different lengths"),
    "a dict": (lambda: as_matrix({"W": 1}), TYPE, "`W`"),
    "None": (lambda: as_matrix(None), TYPE, "`W`"),
    "complex numbers": (lambda: as_matrix(np.array([[1j]])), TYPE, "first axis"),
    "dates": (lambda: as_matrix(np.array([["2020-01-01"]], dtype="datetime64[D]")), TYPE, "datetime64"),
    "a vector for a matrix": (lambda: as_matrix([1.0, 2.0]), VALUE, "must be a matrix, got an array of shape (2,)"),
    "empty observations": (lambda: ta.SgnLikelihood([]), MODEL, "at least one"),
    "NaN observed": (lambda: ta.GaussianLikelihood([1.0, NAN], 0.1), MODEL, "finite"),
    "strings observed": (lambda: ta.SgnLikelihood(["+", "-"]), TYPE, "`y` must be an array of numbers"),
    "too few observations": (lambda: chain(output=ta.SgnLikelihood([1.0])), MODEL, "1 components"),
    "observations of another shape": (
        lambda: (ta.GaussianPrior((2, 3)) @ ta.V("x") @ ta.SgnLikelihood(np.ones((3, 2)))).to_model(),
        MODEL, "expected (2, 3), got observations of shape (3, 2)",
    ),
    "an array in a chain": (lambda: np.ones(3) @ ta.GaussianPrior(3), TYPE, "unsupported operand"),  # type: ignore[operator]
    "a shape of a fraction": (lambda: gradient(2.5), TYPE, "`x_shape` must be an integer, got float"),
    "a shape without end": (lambda: gradient(INF), TYPE, "`x_shape` must be an integer"),
    "a shape of nothing": (lambda: gradient(None), VALUE, "`x_shape`"),
    "a total variation without end": (lambda: ta.tv_regression(np.eye(2), np.ones(2), INF, 1.0, 0.1, 1.0), TYPE, "`x_shape`"),
    "a rotation that is none": (lambda: ta.RotationChannel(np.ones((2, 2))), MODEL, "RotationChannel: `R` must be"),
    # --- runs
    "a model with no observation where one is needed": (
        lambda: ta.ExpectationPropagation(chain(output=ta.GaussianLikelihood(None, 0.1))).iterate(), RUN,
        "`y` of GaussianLikelihood is missing",
    ),
    "a minimiser of nothing observed": (
        lambda: ta.MAP(chain(output=ta.GaussianLikelihood(None, 0.1))).iterate(), RUN, "`y` of GaussianLikelihood is missing",
    ),
    "no model": (lambda: ta.ExpectationPropagation(None), TYPE, "`model` must be a Model"),  # type: ignore[arg-type]
    "a piece that is no model": (
        lambda: ta.ExpectationPropagation(ta.GaussianPrior(3) @ ta.V("x")), TYPE, "call .to_model() first",  # type: ignore[arg-type]
    ),
    "a run in the limit": (lambda: ta.ExpectationPropagation(limit()).iterate(), RUN, "limit"),
    "a negative tolerance": (lambda: ep(tol=-1.0), RUN, "`tol`"),
    "a tolerance of NaN": (lambda: ep(tol=NAN), RUN, "`tol`"),
    "a start of NaN": (lambda: ep(initializer=ta.ConstantInit(a=NAN)), RUN, "initial"),
    "a start of another length": (
        lambda: ep(initializer=ta.CustomInit(b_init=[("x", "bwd", [1.0, 2.0])])), RUN, "expected 3 components, got 2",
    ),
    "a start of an unknown variable": (
        lambda: ep(initializer=ta.CustomInit(a_init=[("w", "bwd", 1.0)])), VALUE, "there is no variable `w`",
    ),
    "a start in no direction": (lambda: ta.CustomInit(a_init=[("x", "up", 1.0)]), VALUE, "'fwd' or 'bwd'"),
    "a start by a word": (lambda: ep(initializer="noisy"), TYPE, "`initializer`"),
    "a start of negative variance": (lambda: ta.NoisyInit(b_var=-1.0), VALUE, "`b_var`"),
    "a warm start before a run": (lambda: ep(warm_start=True), RUN, "earlier run"),
    "results before a run": (lambda: ta.ExpectationPropagation(chain()).get_variables_data(), RUN, ".iterate() first"),
    "results of an unknown variable": (lambda: ep().variable("w"), VALUE, "there is no variable `w`"),
    "a callback that cannot be called": (lambda: ep(callback=3), TYPE, "`callback` must be callable"),
    "a callback that raises": (lambda: ep(callback=raising), KeyError, "mine"),
    "a callback that tries to change the state": (lambda: ep(callback=writing), VALUE, "read-only"),
    "a callback that tries to change the model": (lambda: ep(callback=swapping), RUN, "`model` is read-only"),
    "a model that is replaced": (lambda: swapping(ta.ExpectationPropagation(chain()), 0, 1), RUN, "another algorithm"),
    "a callback of callbacks that are none": (lambda: ta.JoinCallback([3]), TYPE, "callable"),  # type: ignore[list-item]
    "an unknown metric": (lambda: ta.TrackErrors({"x": [1.0]}, metrics=["rmse"]), VALUE, "a metric must be one of"),
    "metrics of other shapes": (lambda: ta.mean_squared_error([1.0], [1.0, 2.0]), VALUE, "same shape"),
    "metrics of nothing": (lambda: ta.mean_squared_error([], []), VALUE, "at least one component"),
    "evidence of contradictions": (
        lambda: ta.ExpectationPropagation(chain(W=np.ones((2, 3)), output=ta.GaussianLikelihood([1.0, 2.0], 0.0))).iterate(),
        RUN, "contradiction",
    ),
    # --- modules alone
    "an observation that is missing": (lambda: ta.SgnLikelihood(None).compute_backward_posterior(1.0, [1.0]), MODEL, "`y`"),
    "beliefs of other shapes": (
        lambda: ta.SgnLikelihood([1.0, 1.0]).compute_backward_posterior(1.0, [1.0, 2.0, 3.0]), VALUE, "fit together",
    ),
    "a message of another length": (
        lambda: ta.LinearChannel(W).compute_forward_posterior(1.0, [1.0], 1.0, [1.0, 2.0]), MODEL, "factor `linear`",
    ),
    "an output of another length": (
        lambda: ta.LinearChannel(W).compute_forward_posterior(1.0, [1.0] * 3, 1.0, [1.0] * 3), MODEL, "port 1",
    ),
    "one message for two": (
        lambda: ta.SumChannel(2).compute_log_partition([1.0], [[1.0]], 1.0, [1.0]), VALUE, "expected 2 precisions",
    ),
    "an improper law": (
        lambda: ta.LinearChannel(W).compute_forward_message(-5.0, [1.0] * 3, 1.0, [1.0] * 2), ta.FactorError, "improper",
    ),
    "an improper posterior": (
        lambda: ta.GaussianPrior(3).compute_forward_posterior(-2.0, np.ones(3)), ta.FactorError, "GaussianPrior: the law is improper",
    ),
    "an improper likelihood": (
        lambda: ta.SgnLikelihood([1.0]).compute_backward_posterior(-2.0, [1.0]), ta.FactorError, "improper",
    ),
    "an improper channel": (
        lambda: ta.ReluChannel().compute_forward_posterior(-2.0, [1.0], 1.0, [1.0]), ta.FactorError, "improper",
    ),
    "a belief of another length": (
        lambda: ta.GaussianPrior(3).compute_forward_posterior(1.0, np.ones(5)), VALUE, "`bx` must have shape (3,)",
    ),
    "a variance beyond the prior's": (lambda: ta.GaussianPrior(None).compute_precision(2.0), RUN, "at most 1"),
    "an input without a second moment": (
        lambda: ta.SgnLikelihood(None).compute_backward_error(1.0, tau_z=0.0), VALUE, "`tau_z` must be positive, got 0.0",
    ),
    "information on an input without a second moment": (
        lambda: ta.GaussianLikelihood(None, 0.1).compute_dual_free_energy(0.0, tau_z=0), VALUE, "`tau_z` must be positive",
    ),
    "a channel of an input without a second moment": (
        lambda: ta.ReluChannel().compute_forward_error(1.0, 1.0, tau_z=0.0), VALUE, "`tau_z` must be positive",
    ),
    "a second moment of nothing": (lambda: ta.SumChannel(2).second_moment([1.0, 0.0]), VALUE, "`tau_z` must be positive"),
    "a sample through a wide matrix": (lambda: ta.LinearChannel(W).sample([1.0]), MODEL, "3 rows"),
    "a sum of other shapes": (lambda: ta.SumChannel(2).sample([1.0, 2.0], [3.0]), VALUE, "same shape, got (2,), (1,)"),
    "a sum of too much": (lambda: ta.SumChannel(2).sample([1.0], [1.0], [1.0], [1.0]), VALUE, "expected 2 inputs, got 4"),
    "lengths that were not given": (lambda: ta.ConcatChannel([1, 2]).sample([1.0], [1.0]), VALUE, "lengths [1, 2]"),
    "pieces that do not fit": (
        lambda: ta.ConcatChannel([1, 2]).compute_forward_message([1.0], [[1.0]], 0.0, [0.0] * 3), VALUE, "expected 2",
    ),
    "a rank of zero": (lambda: ta.LowRankGramChannel(3, 0), VALUE, "`K`"),
    "more columns than rows": (lambda: ta.LowRankFactorization(3, 5, 4), MODEL, "`K` must be at most `M`, got 4 for 3 rows"),
    "sides of another shape": (
        lambda: ((ta.GaussianPrior(size=(3, 1)) @ ta.V("u") + ta.GaussianPrior(size=(4, 1)) @ ta.V("v"))
                 @ ta.LowRankFactorization(3, 5, 1) @ ta.V("z")).to_model(), MODEL, "`v`: expected (5, 1), got (4, 1)",
    ),
    "a matrix that is not symmetric": (
        lambda: gram(ta.GaussianLikelihood([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])), MODEL, "got 1.0 at (0, 1) and 2.0",
    ),
    "entries seen through a sign": (
        lambda: ta.ExpectationPropagation(gram(ta.SgnLikelihood(np.ones((3, 3))))).iterate(), RUN, "twice differentiable at zero",
    ),
    # --- modules of one's own
    "a prior of nothing": (lambda: ta.CustomPrior(3), MODEL, "give either"),
    "a prior of too much": (lambda: ta.CustomPrior(3, mean=abs, log_density=abs), MODEL, "give either"),
    "a function that is none": (lambda: ta.CustomPrior(3, mean=3), TYPE, "`mean` must be a function"),
    "a support that is none": (lambda: ta.CustomPrior(3, log_density=abs, support=(1, 0)), MODEL, "interval"),
    "a grid that is not regular": (
        lambda: ta.CustomLikelihood(None, log_density=max, outputs=[0.0, 1.0, 3.0], output_step=1.0), MODEL, "regular grid",
    ),
    "a law of negative variance": (
        lambda: ta.StateEvolution(chain(ta.CustomPrior(3, lambda a, b: 0 * b, lambda a, b: 0 * b, lambda a, b: 0 * b - 1))).iterate(),
        RUN, "the teacher's second moment is -1",
    ),
    "no probes": (lambda: ta.CustomPrior(3, mean=lambda a, b: b, probes=0), VALUE, "`probes`"),
    "errors against a word": (lambda: ta.TrackErrors("x"), TYPE, "`true_values` must be a dict"),  # type: ignore[arg-type]
    "overlaps with a word": (lambda: ta.TrackOverlaps("x"), TYPE, "`true_values` must be a dict"),  # type: ignore[arg-type]
    "a figure of a number": (lambda: qplot(3, x="a", y="b"), TYPE, "`data` must be a pandas DataFrame, got int"),
    "an executor that dies": (lambda: run_experiments(table, a=[1], executor=Dead()), RuntimeError, "workers are gone"),
}

#: What must be refused, and the entries that show it.
PHRASES = {
    "strings, objects, ragged lists": ["strings", "objects", "ragged lists"],
    "NaN": ["NaN observed", "a start of NaN"],
    "empty arrays": ["empty observations", "metrics of nothing"],
    "wrong shapes": ["too few observations", "observations of another shape", "a message of another length"],
    "a model with no observation where one is needed": ["a model with no observation where one is needed", "a minimiser of nothing observed"],
    "a callback that raises": ["a callback that raises"],
    "a callback that tries to change the state": ["a callback that tries to change the state", "a callback that tries to change the model"],
    "an executor that dies": ["an executor that dies"],
}
