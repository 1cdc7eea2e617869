"""A table of bad calls: what is raised, and what it says. No panic reaches Python."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from concurrent import futures
from typing import Any

import numpy as np
import pytest

import treeamp as ta
from treeamp.experiments import run_experiments, save_experiments

NAN, INF = float("nan"), float("inf")
W = np.ones((2, 3))


def chain(prior: Any = None, W: Any = W, output: Any = None, belief: str | None = None) -> ta.Model:
    prior = prior or ta.GaussianPrior(3)
    output = output or ta.GaussianLikelihood([1.0, 2.0], 0.1)
    x, z = ta.V("x", belief=belief), ta.V("z", belief=belief)
    return (prior @ x @ ta.LinearChannel(W) @ z @ output).to_model()


def generative() -> ta.Model:
    return (ta.GaussianPrior(3) @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z") @ ta.SgnChannel() @ ta.O("y")).to_model()


def ep(model: ta.Model | None = None, **kwargs: Any) -> Any:
    return ta.ExpectationPropagation(model or chain()).iterate(**kwargs)


def limit(alpha: float = 0.5) -> ta.Model:
    return ta.glm_state_evolution(alpha=alpha, prior_type="gaussian", output_type="gaussian", output_var=0.1)


def entropy_too_early() -> Any:
    se = ta.StateEvolution(limit())
    assert se.iterate(max_iter=1).termination == "sweep_limit"
    return se.entropy()


class Negative:
    alpha, eigenvalues = 0.5, (1.0, -1.0)


def full(n: int) -> ta.Model:
    return (ta.GaussianPrior(n) @ ta.V("x", belief="full") @ ta.GaussianLikelihood(np.ones(n), 0.1)).to_model()


def seen(channel: ta.Channel, prior: ta.Prior | None = None) -> ta.Model:
    return ((prior or ta.GaussianPrior(3)) @ ta.V("x") @ channel @ ta.V("y")).to_model()


def operator(scale: float = 1.0, **kwargs: Any) -> ta.Channel:
    w = np.random.default_rng(0).normal(size=(2, 3))
    return ta.LinearOperatorChannel(lambda z: w @ z, lambda x: scale * w.T @ x, 3, 2, **kwargs)


def table(a: int, scale: float = 1.0) -> dict[str, float]:
    return {"b": scale * a}


def other_table(folder: str, **kwargs: Any) -> Any:
    path = os.path.join(folder, "journal")
    run_experiments(table, a=[1], journal=path)
    return run_experiments(table, a=[1], journal=path, **kwargs)


def in_a_folder(call: Callable[[str], Any]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return call(folder)


class Dead(futures.Executor):
    def submit(self, *args: Any, **kwargs: Any) -> Any:
        raise futures.BrokenExecutor("the workers are gone")


def raising(algo: Any, i: int, n: int) -> None:
    raise KeyError("mine")


def writing(algo: Any, i: int, n: int) -> None:
    algo.get_variables_data()["x"]["r"] += 1


def swapping(algo: Any, i: int, n: int) -> None:
    algo.model = chain()


def unordered(x: Any) -> Any:
    return ta.LinearChannel(x)


MODEL, VALUE, TYPE, RUN, NOT = ta.ModelError, ValueError, TypeError, ta.RunError, ta.NotAvailable

#: Name: the call, its exception, a part of its sentence.
TABLE: dict[str, tuple[Callable[[], Any], type[BaseException], str]] = {
    # --- types and shapes of arrays
    "strings": (lambda: unordered([["a", "b"]]), TYPE, "`W` must be an array of numbers"),
    "objects": (lambda: unordered(np.array([[None, 1.0]], dtype=object)), TYPE, "dtype object"),
    "ragged lists": (lambda: unordered([[1.0, 2.0], [3.0]]), VALUE, "different lengths"),
    "a dict": (lambda: unordered({"W": 1}), TYPE, "`W`"),
    "None": (lambda: unordered(None), TYPE, "`W`"),
    "complex numbers": (lambda: unordered(np.array([[1j]])), TYPE, "first axis"),
    "dates": (lambda: unordered(np.array([["2020-01-01"]], dtype="datetime64[D]")), TYPE, "datetime64"),
    "a vector for a matrix": (lambda: unordered([1.0, 2.0]), VALUE, "must be a matrix, got an array of shape (2,)"),
    "an empty matrix": (lambda: unordered(np.zeros((0, 3))), MODEL, "matrix"),
    "NaN in a matrix": (lambda: unordered([[1.0, NAN]]), MODEL, "finite"),
    "infinity in a matrix": (lambda: unordered([[1.0, INF]]), MODEL, "finite"),
    "empty observations": (lambda: ta.SgnLikelihood([]), MODEL, "at least one"),
    "NaN observed": (lambda: ta.GaussianLikelihood([1.0, NAN], 0.1), MODEL, "finite"),
    "an impossible output": (lambda: ta.SgnLikelihood([1.0, 0.5]), MODEL, "0.5"),
    "a negative modulus": (lambda: ta.AbsLikelihood([-1.0]), MODEL, "-1"),
    "strings observed": (lambda: ta.SgnLikelihood(["+", "-"]), TYPE, "`y` must be an array of numbers"),
    "too few observations": (lambda: chain(output=ta.SgnLikelihood([1.0])), MODEL, "1 components"),
    "observations of another shape": (
        lambda: (ta.GaussianPrior((2, 3)) @ ta.V("x") @ ta.SgnLikelihood(np.ones((3, 2)))).to_model(),
        MODEL, "expected (2, 3), got observations of shape (3, 2)",
    ),
    "a matrix of another width": (lambda: chain(W=np.ones((2, 4))), MODEL, "shape mismatch at factor `linear`"),
    "a rotation that is none": (lambda: ta.RotationChannel(np.ones((2, 2))), MODEL, "rotation"),
    "a bias of another length": (
        lambda: (ta.GaussianPrior(3) @ ta.V("x") @ ta.BiasChannel([1.0]) @ ta.V("y")).to_model(), MODEL, "as the bias has",
    ),
    "an empty bias": (lambda: ta.BiasChannel([]), MODEL, "non-empty"),
    # --- parameters
    "rho above one": (lambda: ta.GaussBernoulliPrior(3, rho=1.5), MODEL, "`rho` must be in [0, 1], got 1.5"),
    "rho NaN": (lambda: ta.GaussBernoulliPrior(3, rho=NAN), MODEL, "`rho`"),
    "rho an array": (lambda: ta.GaussBernoulliPrior(3, rho=[0.1, 0.2]), TYPE, "`rho` must be a number"),
    "rho a string": (lambda: ta.GaussBernoulliPrior(3, rho="0.1"), TYPE, "`rho`"),
    "a negative variance": (lambda: ta.GaussianPrior(3, var=-1), MODEL, "variance"),
    "a negative noise": (lambda: ta.GaussianLikelihood([1.0], var=-0.1), MODEL, "noise_variance"),
    "a negative probability": (lambda: ta.BinaryPrior(3, p_pos=-0.1), MODEL, "p_plus"),
    "weights that do not sum": (lambda: ta.GaussianMixturePrior(3, probs=[0.5, 0.6]), MODEL, "gaussian_mixture"),
    "mixtures of other lengths": (lambda: ta.GaussianMixturePrior(3, means=[1.0]), MODEL, "gaussian_mixture"),
    "an empty interval": (lambda: ta.IntervalPrior(3, low=1, high=0), MODEL, "interval"),
    "a negative size": (lambda: ta.GaussianPrior(-1), VALUE, "`size` must be at least 0, got -1"),
    "a size of zero": (lambda: (ta.GaussianPrior(0) @ ta.V("x")).to_model(), MODEL, "empty"),
    "a size that is a truth value": (lambda: ta.GaussianPrior(True), TYPE, "`size` must be an integer, got bool"),
    "a size with a fraction": (lambda: ta.GaussianPrior(2.5), TYPE, "`size` must be an integer"),
    "a size no memory can hold": (
        lambda: (ta.GaussianPrior((2**40, 2**40)) @ ta.V("x")).to_model(), MODEL, "too large",
    ),
    "a matrix no memory can hold": (lambda: ta.GaussianEnsemble(10**7, 10**7), MemoryError, "does not fit in memory"),
    "a signal no memory can hold": (
        lambda: (ta.GaussianPrior(10**14) @ ta.V("x")).to_model(), MemoryError, "variable `x`",
    ),
    "a door without width": (lambda: ta.SymmetricDoorChannel(0.0), MODEL, "width"),
    "no slope": (lambda: ta.LeakyReluChannel(NAN), MODEL, "slope"),
    "a negative ratio": (lambda: ta.MarchenkoPasturChannel(-1.0), MODEL, "alpha"),
    "a sum of nothing": (lambda: ta.SumChannel(0), VALUE, "`n_prev` must be at least 1"),
    "regions with a gap": (
        lambda: ta.PiecewiseLinearChannel("f", [dict(zmin=0, zmax=1, x0=0, slope=1)]), MODEL, "f",
    ),
    "a region without a slope": (lambda: ta.PiecewiseLinearChannel("f", [dict(zmin=0, zmax=1, x0=0)]), VALUE, "slope"),
    "an unknown prior": (lambda: ta.get_prior(3, "gauss"), VALUE, "`prior_type` must be one of gaussian"),
    "an unknown channel": (lambda: ta.get_channel("rely"), VALUE, "`channel_type`"),
    "an unknown likelihood": (lambda: ta.get_likelihood([1.0], "x"), VALUE, "`likelihood_type`"),
    "an unknown ensemble": (lambda: ta.get_ensemble("x", M=1, N=1), VALUE, "`ensemble_type`"),
    "an unknown keyword": (lambda: ta.GaussianPrior(3, sigma=1), TYPE, "sigma"),  # type: ignore[call-arg]
    "a keyword of no family": (
        lambda: ta.glm_state_evolution(0.5, "gaussian", "gaussian", noise=1), TYPE, "unexpected keyword 'noise'",
    ),
    "no observations at all": (lambda: ta.glm_generative(4, 0.0, "gaussian", "gaussian", "sgn"), MODEL, "`alpha`"),
    "ratios that are NaN": (lambda: ta.glm_generative(4, NAN, "gaussian", "gaussian", "sgn"), MODEL, "`alpha`"),
    "ternary without randomness": (lambda: ta.TernaryEnsemble(2, 2, 0, 0).generate(seed=0), MODEL, "vary"),
    "features of a constant": (lambda: ta.RandomFeatureEnsemble(2, 2, lambda u: 1.0).generate(seed=0), MODEL, "constant"),
    "features by an unknown name": (lambda: ta.RandomFeatureEnsemble(2, 2, "relo"), VALUE, "`f` must be one of"),
    # --- declarations
    "two variables in a row": (lambda: ta.V("x") @ ta.V("y"), MODEL, "expected a factor between"),
    "ends that do not fit": (
        lambda: (ta.GaussianPrior(3) + ta.GaussianPrior(3)) @ ta.SumChannel(3), MODEL, "cannot chain",
    ),
    "an open end": (lambda: (ta.GaussianPrior(3) @ ta.V("x") @ ta.SgnChannel()).to_model(), MODEL, "open output"),
    "a name twice": (
        lambda: (ta.GaussianPrior(3) @ ta.V("x") @ ta.SgnChannel() @ ta.V("x")).to_model(), MODEL, "declared twice",
    ),
    "no prior": (lambda: (ta.V("x") @ ta.SgnLikelihood([1.0])).to_model(), MODEL, "dangles"),
    "two trees": (
        lambda: (ta.GaussianPrior(3) @ ta.V("x") + ta.GaussianPrior(3) @ ta.V("y")).to_model(), MODEL, "disconnected",
    ),
    "a cycle": (
        lambda: (ta.GaussianPrior(3) @ ta.V("x") @ (ta.SgnChannel() + ta.AbsChannel()) @ ta.V("y")).to_model(),
        MODEL, "cycle",
    ),
    "a model of no factor": (lambda: ta.V("x").to_model(), MODEL, "empty"),
    "a number in a chain": (lambda: ta.GaussianPrior(3) @ 3, TYPE, "unsupported operand"),  # type: ignore[operator]
    "a variable without a name": (lambda: ta.V(""), VALUE, "`id` must not be empty"),
    "a variable named by a number": (lambda: ta.V(3), TYPE, "`id` must be a string"),  # type: ignore[arg-type]
    "layers of numbers": (lambda: ta.MultiLayerModel([1, 2]), TYPE, "layer 0"),  # type: ignore[list-item]
    "no layers": (lambda: ta.MultiLayerModel([]), MODEL, "at least one layer"),
    "too many ids": (lambda: ta.MultiLayerModel([ta.GaussianPrior(3)], ids=["x", "y"]), MODEL, "expected 1 ids"),
    "a dict for a model": (lambda: ta.Model({}), TYPE, "`model_dag`"),  # type: ignore[arg-type]
    # --- observations and samples
    "an unknown leaf": (lambda: generative().to_observed({"w": [1.0, 1.0]}), MODEL, "there is no variable `w`"),
    "no leaf": (lambda: generative().to_observed({"z": [1.0, 1.0]}), MODEL, "cannot observe `z`"),
    "a leaf twice": (
        lambda: generative().to_observed({"y": [1, 1]}).to_observed({"y": [1, 1]}), MODEL, "observed already",
    ),
    "a leaf of another length": (lambda: generative().to_observed({"y": [1.0]}), MODEL, "expected 2 values, got 1"),
    "a leaf that cannot be": (lambda: generative().to_observed({"y": [1.0, 0.3]}), MODEL, "0.3"),
    "a leaf of NaN": (lambda: generative().to_observed({"y": [1.0, NAN]}), MODEL, "finite"),
    "a list of observations": (lambda: generative().to_observed([1.0]), TYPE, "`observations`"),  # type: ignore[arg-type]
    "a draw after observing": (lambda: generative().to_observed({"y": [1, 1]}).sample(seed=0), MODEL, "cannot sample"),
    "a draw in the limit": (lambda: ta.GaussianPrior(None).sample(seed=0), MODEL, "limit"),
    "a negative seed": (lambda: generative().sample(seed=-1), VALUE, "`seed` must be at least 0"),
    "a seed with a fraction": (lambda: generative().sample(seed=0.5), TYPE, "`seed` must be an integer"),  # type: ignore[arg-type]
    "a seed beyond 64 bits": (lambda: generative().sample(seed=2**64), VALUE, "below 2**64"),
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
    "beliefs by component of a theory": (
        lambda: ta.StateEvolution(chain(ta.GaussianPrior(3, isotropic=False))).iterate(), RUN, "diagonal",
    ),
    "no sweeps": (lambda: ep(max_iter=0), VALUE, "`max_iter` must be at least 1, got 0"),
    "sweeps with a fraction": (lambda: ep(max_iter=1.5), TYPE, "`max_iter` must be an integer"),
    "a negative tolerance": (lambda: ep(tol=-1.0), RUN, "tolerance"),
    "a tolerance of NaN": (lambda: ep(tol=NAN), RUN, "tolerance"),
    "damping of one": (lambda: ep(damping=1), RUN, "option `damping` must be in [0, 1), got 1"),
    "negative damping": (lambda: ep(damping=-0.1), RUN, "damping"),
    "damping by a word": (lambda: ep(damping="much"), TYPE, "`damping`"),
    "damping of an unknown variable": (lambda: ep(damping=[("w", "fwd", 0.1)]), VALUE, "there is no variable `w`"),
    "damping in no direction": (lambda: ep(damping=[("x", "up", 0.1)]), VALUE, "'fwd' or 'bwd'"),
    "damping of no message": (
        lambda: ta.ExpectationPropagation((ta.GaussianPrior(3) @ ta.V("x")).to_model()).iterate(damping=[("x", "bwd", 0.1)]),
        VALUE, "no backward message",
    ),
    "damping by pairs": (lambda: ep(damping=[("x", 0.1)]), TYPE, "(id, direction, number)"),
    "damping twice": (lambda: ep(damping=[("x", "fwd", 0.1), ("x", "fwd", 0.2)]), RUN, "given once"),
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
    "informed of an unknown variable": (
        lambda: ta.StateEvolution(limit()).iterate(initializer=ta.InformedInit(["w"])), VALUE, "there is no variable `w`",
    ),
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
    "a teacher without a student": (lambda: ta.StateEvolution(teacher=limit()), TYPE, "both a teacher and a student"),
    "evidence of contradictions": (
        lambda: ta.ExpectationPropagation(chain(W=np.ones((2, 3)), output=ta.GaussianLikelihood([1.0, 2.0], 0.0))).iterate(),
        RUN, "contradiction",
    ),
    "information of a noiseless output": (
        lambda: (se := ta.StateEvolution(ta.glm_state_evolution(0.5, "gaussian", "relu"))).iterate(max_iter=500)
        and se.mutual_information(),
        RUN, "not defined",
    ),
    # --- modules alone
    "an observation that was not told": (lambda: ta.SgnLikelihood(None).compute_backward_posterior(1.0, [1.0]), MODEL, "`y`"),
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
    "lengths that were not told": (lambda: ta.ConcatChannel([1, 2]).sample([1.0], [1.0]), VALUE, "lengths [1, 2]"),
    "a filter of complex signals": (lambda: ta.ConvChannel([1.0], real=False), NOT, "acts on real signals"),
    "a reshape of another size": (lambda: ta.ReshapeChannel(6, (2, 4)), MODEL, "reshape"),
    "a blur of a negative width": (lambda: ta.Blur1DChannel(-1.0, 8), MODEL, "convolution"),
    "derivatives of too many axes": (lambda: ta.DifferentialChannel([1.0, 1.0], [0.0], (4,)), MODEL, "one number per axis"),
    "a mask of another shape": (
        lambda: (ta.GaussianPrior(3) @ ta.V("x") @ ta.MaskChannel([True, False]) @ ta.V("y")).to_model(), MODEL, "expected shape (2)",
    ),
    "pieces that do not fit": (
        lambda: ta.ConcatChannel([1, 2]).compute_forward_message([1.0], [[1.0]], 0.0, [0.0] * 3), VALUE, "expected 2",
    ),
    # --- theory
    "a teacher and student whose trees differ": (
        lambda: ta.StateEvolution(teacher=limit(), student=chain()).iterate(), RUN, "teacher and student differ",
    ),
    "a ratio that is not positive": (lambda: limit(0.0), MODEL, "`alpha` must be positive"),
    "a spectrum with negative eigenvalues": (lambda: ta.AnalyticalLinearChannel(Negative()), MODEL, "-1 at index 1"),
    "a module without an ensemble rule": (
        lambda: ta.StateEvolution(
            (ta.MAP_L21NormPrior((2, 3)) @ ta.V("x") @ ta.GaussianLikelihood(np.ones((2, 3)), 0.1)).to_model()
        ).iterate(),
        RUN, "`l21` has no state evolution",
    ),
    "an answer that was not reached": (entropy_too_early, RUN, "could not reach the fixed point"),
    # --- operators
    "a kernel larger than the signal": (lambda: seen(ta.ConvChannel(np.ones(5))), MODEL, "`convolution`"),
    "a mask with nothing observed": (lambda: seen(ta.MaskChannel([False] * 3)), MODEL, "nothing observed"),
    "an operator whose adjoint is wrong": (lambda: operator(scale=2.0), MODEL, "fails the dot test"),
    "an operator that raises": (lambda: ta.LinearOperatorChannel(lambda z: {}["mine"], abs, 3, 3), KeyError, "mine"),
    "an operator that gives too little": (
        lambda: ta.LinearOperatorChannel(lambda z: z[:2], lambda x: x, 3, 3), VALUE, "expected 3 components, got 2",
    ),
    "an operator that gives complex numbers": (
        lambda: ta.LinearOperatorChannel(lambda z: 1j * z, lambda x: x, 3, 3), TYPE, "must be real",
    ),
    "complex data where real is expected": (lambda: ta.GaussianLikelihood(np.array([1j]), 0.1), TYPE, "`y` must be real"),
    "a complex signal where a real one is expected": (
        lambda: (ta.GaussianPrior((2, 3)) @ ta.V("x") @ ta.ComplexLinearChannel(W) @ ta.V("z") @ ta.ReluChannel()
                 @ ta.V("y")).to_model(),
        MODEL, "expected a real signal",
    ),
    "conjugate gradients that do not converge": (
        lambda: ep((ta.GaussianPrior(3) @ ta.V("x") @ operator(max_iter=1) @ ta.V("z")
                    @ ta.GaussianLikelihood([1.0, 2.0], 1e-3)).to_model()),
        RUN, "conjugate gradients",
    ),
    "no tolerance of conjugate gradients": (lambda: operator(tolerance=0.0), MODEL, "`tolerance`"),
    # --- convergence
    "a step of zero": (lambda: ep(steps=[1.0, 0.0]), RUN, "`damping.steps` must be in (0, 1], got 0"),
    "a negative step": (lambda: ep(steps=[-0.5]), RUN, "`damping.steps`"),
    "no steps": (lambda: ep(steps=[]), VALUE, "at least one step"),
    "damping and steps": (lambda: ep(steps=[0.5], damping=0.1), TYPE, "got both"),
    "a sweep limit of zero": (lambda: ta.MAP(chain()).iterate(max_iter=0), VALUE, "`max_iter`"),
    "an unknown fallback": (lambda: ep(fallback="perhaps"), VALUE, "`fallback`"),
    "a forced fallback without a log-partition": (
        lambda: ep(chain(ta.CustomPrior(3, mean=lambda a, b: b / (1 + a), name="mine")), fallback="forced"),
        RUN, "factor `mine`: it has no log-partition",
    ),
    "restarts from nowhere": (lambda: ta.ExpectationPropagation(chain()).restart(0, plain=False), VALUE, "at least one start"),
    "a push without strength": (lambda: ep(initializer=ta.PushInit(strength=0.0)), RUN, "`strength`"),
    "a push of a theory": (lambda: ta.StateEvolution(limit()).iterate(initializer=ta.PushInit()), RUN, "limit"),
    "an estimate of another length": (lambda: ep(initializer=ta.NearInit("x", [1.0])), VALUE, "must have shape (3,)"),
    "an estimate of an unknown variable": (lambda: ep(initializer=ta.NearInit("w", [1.0])), VALUE, "no variable `w`"),
    "an estimate without precision": (lambda: ta.NearInit("x", [1.0], precision=0.0), VALUE, "`precision`"),
    "moduli of another number": (lambda: ta.spectral_estimate(W, [1.0]), MODEL, "2 moduli"),
    "moduli that are negative": (lambda: ta.spectral_estimate(W, [1.0, -1.0]), MODEL, "-1"),
    # --- beliefs, penalties
    "an unknown belief": (lambda: chain(belief="cubic"), MODEL, "isotropic, diagonal, full or block(n), got cubic"),
    "a belief by a number": (lambda: ta.V("x", belief=3), TYPE, "`belief` must be a string"),  # type: ignore[arg-type]
    "block sizes that do not divide the shape": (lambda: chain(belief="block(2)"), MODEL, "expected a divisor of 3"),
    "a belief that a module cannot handle": (
        lambda: ep(chain(ta.BinaryPrior(3), belief="full")), RUN, "factor `binary` does not support full beliefs",
    ),
    "a full belief that does not fit in memory": (lambda: ep(full(10**5)), RUN, "would take 800008000000 bytes"),
    "a full belief beyond the limit": (lambda: ep(full(3), memory_limit=10), RUN, "`memory_limit`"),
    "full beliefs of a theory": (lambda: ta.StateEvolution(chain(belief="full")).iterate(), RUN, "full beliefs"),
    "a wrong derivative": (
        lambda: ta.MAP_CustomPrior(3, lambda t, u: u / (1 + t), lambda t, u: 0 * u, lambda x: x**2 / 2).check(),
        MODEL, "derivative",
    ),
    "a proximal map of another energy": (
        lambda: ta.MAP_CustomPrior(3, lambda t, u: u, lambda t, u: 1.0, lambda x: x**2 / 2).check(), MODEL, "minimise",
    ),
    "a penalty without an energy": (lambda: ta.MAP_CustomPrior(3, abs, abs, None), TYPE, "`energy`"),  # type: ignore[arg-type]
    "a penalty that is NaN": (
        lambda: ta.MAP(chain(ta.MAP_CustomPrior(3, lambda t, u: NAN * u, lambda t, u: u, abs))).iterate(), VALUE, "NaN",
    ),
    "a negative penalty strength": (lambda: ta.MAP_L1NormPrior(3, gamma=-1), MODEL, "`strength` must be not negative"),
    "groups along another axis": (lambda: ta.MAP_L21NormPrior((2, 3), axis=1), MODEL, "`axis` must be 0"),
    "a box without an inside": (lambda: ta.MAP_BoxPrior(3, low=1, high=1), MODEL, "below upper"),
    "a penalty of complex numbers": (
        lambda: seen(ta.ComplexLinearChannel(W), ta.MAP_L1NormPrior((2, 3))), MODEL, "penalty of a real signal",
    ),
    "a draw from a penalty": (lambda: ta.MAP_L1NormPrior(3).sample(), MODEL, "no law"),
    "the mode of a law without one": (lambda: ta.MAP(chain(ta.BinaryPrior(3))).iterate(), RUN, "factor `binary` has no"),
    "a minimiser in the limit": (lambda: ta.MAP(limit()).iterate(), RUN, "limit"),
    # --- files and tables
    "a folder that is missing": (
        lambda: in_a_folder(lambda d: run_experiments(table, a=[1], journal=os.path.join(d, "no", "j"))), OSError, "No such file",
    ),
    "a file that is no journal": (lambda: run_experiments(table, a=[1], journal=__file__), VALUE, "line 1"),
    "a device for a journal": (lambda: run_experiments(table, a=[1], journal="/dev/zero"), OSError, "not a regular file"),
    "a journal of another configuration": (lambda: in_a_folder(lambda d: other_table(d, scale=2.0)), VALUE, "scale"),
    "a grid on a parameter that does not exist": (lambda: run_experiments(table, a=[1], c=[1, 2]), TYPE, "'c'"),
    "a disk that is full": (
        lambda: in_a_folder(lambda d: save_experiments(table, "/dev/full", a=[1], journal=None)), OSError, "cannot write /dev/full",
    ),
    "an output that is a folder": (
        lambda: in_a_folder(lambda d: save_experiments(table, d, a=[1], journal=None)), OSError, "cannot write",
    ),
    "an executor that dies": (lambda: run_experiments(table, a=[1], executor=Dead()), RuntimeError, "workers are gone"),
    # --- what does not exist yet
    "a matrix that is not unitary": (lambda: ta.UnitaryChannel(W), MODEL, "unitary"),
    "a complex signal without parts": (
        lambda: (ta.GaussianPrior(3) @ ta.V("x") @ ta.ComplexLinearChannel(W) @ ta.V("z")).to_model(), MODEL, "size=(2, ...)",
    ),
    "a modulus without parts": (lambda: ta.ModulusLikelihood([1.0]).compute_backward_posterior(1.0, [1.0]), MODEL, "parts"),
    "a modulus that is negative": (lambda: ta.ModulusLikelihood([-1.0]), MODEL, "-1"),
    "weights of committees": (lambda: ta.CommitteeBinaryPrior(3, 2), NOT, "low-rank"),
    "low rank": (lambda: ta.LowRankGramChannel(3, 1), NOT, "low-rank"),
    # --- modules of one's own
    "a prior of nothing": (lambda: ta.CustomPrior(3), MODEL, "give either"),
    "a prior of too much": (lambda: ta.CustomPrior(3, mean=abs, log_density=abs), MODEL, "give either"),
    "a function that is none": (lambda: ta.CustomPrior(3, mean=3), TYPE, "`mean` must be a function"),
    "a support that is none": (lambda: ta.CustomPrior(3, log_density=abs, support=(1, 0)), MODEL, "interval"),
    "a grid that is not regular": (
        lambda: ta.CustomLikelihood(None, log_density=max, outputs=[0.0, 1.0, 3.0], output_step=1.0), MODEL, "regular grid",
    ),
    "no probes": (lambda: ta.CustomPrior(3, mean=lambda a, b: b, probes=0), VALUE, "`probes`"),
}


#: An exception of user code arrives as itself.
THEIRS = ("a callback that raises", "an operator that raises")


@pytest.mark.parametrize("name", TABLE)
def test_bad_call(name: str) -> None:
    call, error, sentence = TABLE[name]
    with pytest.raises(error, match=re.escape(sentence)) as caught:
        call()
    allowed = (ValueError, TypeError, ta.TreeampError, *((KeyError,) if name in THEIRS else ()))
    assert isinstance(caught.value, allowed)
    assert "PanicException" not in type(caught.value).__name__


def test_the_table_is_long() -> None:
    assert len(TABLE) >= 50


GOOD = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
FROZEN = GOOD.copy()
FROZEN.flags.writeable = False
BIG = np.repeat(np.repeat(GOOD, 2, axis=0), 2, axis=1)


@pytest.mark.parametrize(
    "matrix",
    [
        GOOD.astype(int), GOOD.astype(np.float32), GOOD.tolist(), np.asfortranarray(GOOD), BIG[::2, ::2],
        GOOD[::-1][::-1], FROZEN, GOOD.astype(">f8"), GOOD.astype(np.int8), tuple(map(tuple, GOOD)),
    ],
    ids=["integers", "float32", "lists", "fortran", "strided", "reversed", "read-only", "big-endian", "int8", "tuples"],
)  # fmt: skip
def test_accepted_arrays(matrix: Any) -> None:
    """Integers, 32-bit floats, lists, and any layout give the same results to the last bit."""

    def run(matrix: Any) -> Any:
        output = ta.GaussianLikelihood(np.asarray([1, 2]), 0.1)
        model = (ta.GaussianPrior(3) @ ta.V("x") @ ta.LinearChannel(matrix) @ ta.V("z") @ output).to_model()
        return ta.ExpectationPropagation(model).iterate().mean("x")

    assert np.array_equal(run(matrix), run(GOOD))


def test_inputs_are_not_changed_or_kept() -> None:
    W, y = GOOD.copy(), np.array([1.0, 2.0])
    model = (ta.GaussianPrior(3) @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z") @ ta.GaussianLikelihood(y, 0.1)).to_model()
    before = ta.ExpectationPropagation(model).iterate().mean("x")
    assert np.array_equal(W, GOOD) and np.array_equal(y, [1.0, 2.0])
    W[:], y[:] = 0, 0
    assert np.array_equal(ta.ExpectationPropagation(model).iterate().mean("x"), before)


def test_errors_are_of_their_kinds() -> None:
    assert issubclass(ta.ModelError, ValueError) and issubclass(ta.RunError, ValueError)
    assert issubclass(ta.FactorError, ValueError) and issubclass(ta.NotAvailable, NotImplementedError)
    assert all(issubclass(e, ta.TreeampError) for e in (ta.ModelError, ta.RunError, ta.FactorError, ta.NotAvailable))
