"""Expectation propagation and state evolution through Python."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import treeamp as ta
from treeamp.algos import metrics


def regression(N: int = 60, alpha: float = 1.5, seed: int = 0, **kwargs: Any) -> tuple[ta.Model, ta.Sample]:
    options: dict[str, Any] = dict(ensemble_type="gaussian", prior_type="gauss_bernoulli", output_type="gaussian",
                                   prior_rho=0.2, output_var=0.05)  # fmt: skip
    teacher = ta.glm_generative(N=N, alpha=alpha, seed=seed, **{**options, **kwargs})
    sample = teacher.sample(seed=seed)
    return teacher.to_observed({"y": sample["y"]}), sample


def test_evidence_is_exact_on_a_gaussian_tree() -> None:
    """The model of the defect list (N = 50, M = 30), where tramp gave -46.84 for -39.515."""
    rng = np.random.default_rng(0)
    A, y = rng.normal(size=(30, 50)) / np.sqrt(50), rng.normal(size=30)
    model = (ta.GaussianPrior(50) @ ta.V("x") @ ta.LinearChannel(A) @ ta.V("z")
             @ ta.GaussianLikelihood(y, var=0.3)).to_model()  # fmt: skip
    ep = ta.ExpectationPropagation(model)
    ep.iterate()
    C = A @ A.T + 0.3 * np.eye(30)
    exact = -0.5 * (y @ np.linalg.solve(C, y) + np.linalg.slogdet(2 * np.pi * C)[1])
    assert ep.log_evidence() == pytest.approx(exact, rel=1e-10)
    assert ep.surprisal() == -ep.log_evidence()
    assert ep.report.mean("x") == pytest.approx(A.T @ np.linalg.solve(C, y), abs=1e-10)


def test_entropy_is_exact_on_a_gaussian_tree() -> None:
    """Per component of x: the weights that tramp lacked (2.817 for 0.787)."""
    alpha, delta = 0.6, 0.3
    model = ta.glm_state_evolution(alpha=alpha, prior_type="gaussian", output_type="gaussian", output_var=delta)
    se = ta.StateEvolution(model)
    se.iterate()
    mp = ta.MarchenkoPasturEnsemble(alpha)
    information = 0.5 * mp.shannon_transform(1 / delta)
    noise = 0.5 * alpha * np.log(2 * np.pi * np.e * delta)
    # nodes of the spectrum carry twelve digits
    assert se.mutual_information() == pytest.approx(information, rel=1e-9)
    assert se.entropy() == pytest.approx(information + noise, rel=1e-9)


def test_state_evolution_predicts_the_run() -> None:
    """N = 2000: the error fluctuates by a few percent about its prediction, fixed seed."""
    model, sample = regression(N=2000, alpha=0.5, seed=1)
    ep, se = ta.ExpectationPropagation(model), ta.StateEvolution(model)
    ep.iterate(), se.iterate()
    mse = ta.mean_squared_error(sample["x"], ep.report.mean("x"))
    assert mse == pytest.approx(se.get_variables_data(["x"])["x"]["mse"], rel=0.15)
    assert ep.report.variance("x") == pytest.approx(se.report.variance("x"), rel=0.15)


def test_informed_and_uninformed_differ_in_the_hard_phase() -> None:
    model = ta.glm_state_evolution(
        alpha=0.6, prior_type="gauss_bernoulli", output_type="gaussian", prior_rho=0.5, output_var=1e-10
    )
    low, high = ta.StateEvolution(model), ta.StateEvolution(model)
    low.iterate(max_iter=2000)
    high.iterate(max_iter=2000, initializer=ta.InformedInit(["x"]))
    assert low.report.variance("x") > 0.01 > 1e-6 > high.report.variance("x")
    precise = ta.StateEvolution(model)
    precise.iterate(max_iter=2000, initializer=ta.ConstantInit(a=1e6))
    assert precise.report.variance("x") == pytest.approx(high.report.variance("x"), rel=1e-3)


def test_mismatched() -> None:
    def model(rho: float, var: float) -> ta.Model:
        return ta.glm_state_evolution(
            alpha=0.8, prior_type="gauss_bernoulli", output_type="gaussian", prior_rho=rho, output_var=var
        )

    teacher = model(0.2, 0.1)
    optimal, same = ta.StateEvolution(teacher), ta.StateEvolution(teacher=teacher, student=model(0.2, 0.1))
    optimal.iterate(), same.iterate()
    best = optimal.get_variables_data(["x"])["x"]["mse"]
    assert same.get_variables_data(["x"])["x"]["mse"] == pytest.approx(best, rel=1e-6)
    wrong = ta.StateEvolution(teacher=teacher, student=model(0.5, 0.3))
    wrong.iterate(initializer=ta.InformedInit())
    assert wrong.get_variables_data(["x"])["x"]["mse"] > best * 1.01
    assert wrong.entropy() > optimal.entropy()
    with pytest.raises(ta.RunError, match="teacher and student differ"):
        wrong.mutual_information()
    with pytest.raises(ta.RunError, match="differ"):
        ta.StateEvolution(teacher=teacher, student=regression()[0]).iterate()


def test_callbacks_see_what_a_run_does() -> None:
    model, sample = regression()
    seen: list[tuple[int, int, float]] = []

    def watch(algo: Any, i: int, max_iter: int) -> bool:
        assert algo.n_iter == i + 1
        seen.append((i, max_iter, algo.get_variables_data(["x"])["x"]["v"]))
        return i == 6

    ep = ta.ExpectationPropagation(model)
    report = ep.iterate(max_iter=30, callback=watch)
    assert report.termination == "stopped" and report.sweeps == 7
    assert [i for i, _, _ in seen] == list(range(7)) and {m for _, m, _ in seen} == {30}
    assert [v for _, _, v in seen] == list(report.variances["x"])
    assert seen[-1][2] == report.variance("x")


def test_trackers() -> None:
    pytest.importorskip("pandas")
    model, sample = regression()
    evolution, estimate = ta.TrackEvolution(ids=["x"]), ta.TrackEstimate(ids=["x"], every=5)
    overlaps, messages, objective = ta.TrackOverlaps({"x": sample["x"]}), ta.TrackMessages(), ta.TrackObjective()
    errors = ta.TrackErrors({"x": sample["x"], "z": sample["z"]}, metrics=["mse", "sign_mse", "overlap"])
    everything = ta.JoinCallback(
        [errors, evolution, estimate, overlaps, messages, objective, ta.LogProgress(), ta.EarlyStoppingEP(tol=1e-9)]
    )
    ep = ta.ExpectationPropagation(model)
    report = ep.iterate(max_iter=100, callback=everything)
    assert report.sweeps < 100
    table = evolution.get_dataframe()
    assert list(table["v"]) == list(report.variances["x"]) and list(table["iter"]) == list(range(report.sweeps))
    assert len(estimate.records) == (report.sweeps + 4) // 5
    last = errors.get_dataframe().query("id == 'x'").iloc[-1]
    assert last["mse"] == ta.mean_squared_error(sample["x"], report.mean("x"))
    assert overlaps.records[-1]["mse"] == last["mse"]
    assert {r["direction"] for r in messages.records} == {"fwd", "bwd"}
    assert set(messages.records[0]) == {"iter", "x_id", "f_id", "a", "n_iter", "direction"}
    # the objective after the last sweep is that of the report, and the sum of its terms
    edges, nodes, whole = objective.get_dataframe()
    assert whole["A"].iloc[-1] == pytest.approx(ep.log_evidence(), rel=1e-12) and len(whole) == report.sweeps
    last_nodes, last_edges = nodes[nodes.n_iter == report.sweeps], edges[edges.n_iter == report.sweeps]
    forward = last_edges[last_edges.direction == "fwd"]
    assert last_nodes["A"].sum() - forward["A"].sum() == pytest.approx(ep.A_model, rel=1e-9)


def test_objective_in_a_callback_of_state_evolution() -> None:
    model = ta.glm_state_evolution(alpha=0.8, prior_type="binary", output_type="sgn")
    track = ta.TrackObjective()
    se = ta.StateEvolution(model)
    se.iterate(max_iter=20, callback=track)
    assert track.model_records[-1]["A"] == pytest.approx(se.free_entropy(), rel=1e-12)


def test_early_stopping() -> None:
    model, _ = regression()
    for callback in (ta.EarlyStopping(tol=1e-8), ta.EarlyStoppingEP(tol=1e-8), ta.EarlyStopping(min_variance=1e3)):
        report = ta.ExpectationPropagation(model).iterate(max_iter=500, callback=callback)
        assert report.termination == "stopped" and report.sweeps < 100
    full = ta.ExpectationPropagation(model).iterate(max_iter=17, callback=ta.PassCallback())
    assert full.termination == "sweep_limit" and full.sweeps == 17


# --- the double loop and the splitting are watched too


def slow(kind: str) -> Any:
    """A run that is handed over at once, and takes long."""
    rng = np.random.default_rng(0)
    if kind == "MAP":
        # thousands of steps, of a tenth of a millisecond or more
        y = np.kron([[0.0, 1.0], [0.5, 0.0]], np.ones((40, 40))) + 0.1 * rng.normal(size=(80, 80))
        penalty = ta.MAP_L21NormPrior(size=(2, 80, 80), gamma=0.1)
        differences = (ta.GradientChannel() + penalty) @ ta.V("z", n_prev=2, n_next=0)
        image = ta.MAP_L2NormPrior((80, 80), gamma=0) @ ta.V("x", n_prev=1, n_next=2)
        return ta.MAP((image @ (ta.GaussianLikelihood(y, 1.0) + differences)).to_model())
    W = ta.GaussianEnsemble(M=200, N=300).generate(seed=0)
    y = W @ (rng.normal(size=300) * (rng.random(300) < 0.1)) + 0.1 * rng.normal(size=200)
    prior, likelihood = ta.GaussBernoulliPrior(300, rho=0.1), ta.GaussianLikelihood(y, var=0.01)
    return ta.ExpectationPropagation((prior @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z") @ likelihood).to_model())


FORCED: dict[str, Any] = {"max_iter": 10**6, "tol": 0.0, "damping": "adaptive", "fallback": "forced"}


@pytest.mark.parametrize("kind", ["MAP", "EP"])
def test_callbacks_stop_a_fallback(kind: str) -> None:
    seen: list[tuple[int, float]] = []

    def stop(algo: Any, i: int, max_iter: int) -> bool:
        seen.append((i, algo.get_variable_data("x")["v"]))
        return len(seen) == 12

    algo = slow(kind)
    report = algo.iterate(callback=stop, **FORCED)
    assert report.termination == "stopped" and len(seen) == 12
    assert [i for i, _ in seen] == sorted({i for i, _ in seen})
    assert np.isfinite(algo.get_variable_data("x")["r"]).all()
    if kind == "EP":
        assert algo.get_variable_data("x")["v"] == seen[-1][1]


@pytest.mark.parametrize("callback", [ta.EarlyStopping(tol=1e-3), ta.EarlyStoppingEP(tol=1e-3)])
def test_early_stopping_does_not_judge_a_fallback(callback: Any) -> None:
    """Its steps may be short, far from where it ends."""
    rng = np.random.default_rng(0)
    W = ta.GaussianEnsemble(M=40, N=60).generate(seed=0)
    y = W @ (rng.normal(size=60) * (rng.random(60) < 0.1)) + 0.1 * rng.normal(size=40)
    prior, likelihood = ta.GaussBernoulliPrior(60, rho=0.1), ta.GaussianLikelihood(y, var=0.01)
    model = (prior @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z") @ likelihood).to_model()
    algo = ta.ExpectationPropagation(model)
    report = algo.iterate(callback=callback, fallback="forced", tol=1e-6)
    assert report.converged and report.fallback is not None and report.fallback["steps"] > 1
    exact = ta.ExpectationPropagation(model).iterate(fallback="forced")
    assert exact.converged and np.allclose(report.variable("x")["r"], exact.variable("x")["r"], atol=1e-4)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("kind", ["MAP", "EP"])
def test_exceptions_and_interrupts_leave_a_fallback(kind: str) -> None:
    def boom(algo: Any, i: int, max_iter: int) -> None:
        if i >= 10:
            raise LookupError("mine")

    algo = slow(kind)
    with pytest.raises(LookupError, match="mine"):
        algo.iterate(callback=boom, **FORCED)
    assert algo.report is not None and algo.report.termination == "stopped"
    assert np.isfinite(algo.get_variable_data("x")["r"]).all()
    algo = slow(kind)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        algo.iterate(**FORCED)
        timer.cancel()  # nobody else is to be interrupted
    timer.join()
    assert algo.report is not None and algo.report.termination == "stopped"
    assert np.isfinite(algo.get_variable_data("x")["r"]).all()


def test_initial_conditions() -> None:
    model, _ = regression()
    fixed = ta.ExpectationPropagation(model)
    fixed.iterate(tol=1e-11)
    noisy = ta.NoisyInit(a_mean=0.1, b_var=0.1)
    for start in (
        ta.ConstantInit(a=1, b=1),
        noisy,
        ta.NoisyInit(a_mean=1.0, a_var=0.01, b_var=0.1, seed=0),
        ta.CustomInit(a_init=[("x", "bwd", 2.0)], b_init=[("x", "bwd", np.ones(60))], a=0.5),
    ):
        ep = ta.ExpectationPropagation(model)
        report = ep.iterate(initializer=start, tol=1e-11)
        assert report.converged
        # one fixed point, reached to the tolerance
        assert report.mean("x") == pytest.approx(fixed.report.mean("x"), abs=1e-6), start
    again = ta.NoisyInit(a_mean=0.1, b_var=0.1, seed=noisy.seed)
    first = [ta.ExpectationPropagation(model).iterate(max_iter=1, initializer=i).mean("x") for i in (noisy, again)]
    assert np.array_equal(*first)


def test_damping() -> None:
    model, _ = regression()
    free = ta.ExpectationPropagation(model).iterate(tol=1e-10)
    every = ta.ExpectationPropagation(model).iterate(damping=0.5, tol=1e-10)
    some = ta.ExpectationPropagation(model).iterate(damping=[("x", "bwd", 0.5), ("z", "fwd", 0.2)], tol=1e-10)
    assert every.sweeps > free.sweeps and every.sweeps != some.sweeps
    assert every.mean("x") == pytest.approx(free.mean("x"), abs=1e-6)
    plain = [ta.ExpectationPropagation(model).iterate(tol=1e-10, **kwargs) for kwargs in ({"damping": 0}, {"steps": [1.0]})]
    assert plain[0].sweeps == plain[1].sweeps >= free.sweeps
    assert np.array_equal(plain[0].mean("x"), plain[1].mean("x"))


def test_warm_start_goes_on() -> None:
    model, _ = regression()
    whole = ta.ExpectationPropagation(model).iterate(max_iter=10, callback=ta.PassCallback())
    parts = ta.ExpectationPropagation(model)
    parts.iterate(max_iter=4, callback=ta.PassCallback())
    parts.iterate(max_iter=6, callback=ta.PassCallback(), warm_start=True)
    assert np.array_equal(parts.report.mean("x"), whole.mean("x"))
    theory = ta.glm_state_evolution(alpha=0.8, prior_type="binary", output_type="sgn")
    whole_se = ta.StateEvolution(theory).iterate(max_iter=10, callback=ta.PassCallback())
    parts_se = ta.StateEvolution(theory)
    parts_se.iterate(max_iter=4, callback=ta.PassCallback())
    parts_se.iterate(max_iter=6, callback=ta.PassCallback(), warm_start=True)
    assert parts_se.report.variance("x") == whole_se.variance("x")


def test_a_callback_cannot_change_the_state() -> None:
    model, _ = regression()
    ep = ta.ExpectationPropagation(model)

    def meddle(algo: Any, i: int, max_iter: int) -> None:
        algo.get_variables_data(["x"])["x"]["r"][0] = 1e6

    with pytest.raises(ValueError, match="read-only"):
        ep.iterate(max_iter=10, callback=meddle)
    assert ep.report.sweeps == 1 and np.abs(ep.report.mean("x")).max() < 1e3

    def cheat(algo: Any, i: int, max_iter: int) -> None:
        algo.get_variables_data(["x"])["x"]["v"] = 0.0
        algo.get_edges_data()[0]["a"] = 1e9
        algo._snapshot.variables["x"]["v"] = 0.0

    honest = ta.ExpectationPropagation(model).iterate(max_iter=10, callback=ta.PassCallback())
    meddled = ta.ExpectationPropagation(model).iterate(max_iter=10, callback=cheat)
    assert np.array_equal(honest.mean("x"), meddled.mean("x"))

    def restart(algo: Any, i: int, max_iter: int) -> None:
        algo.iterate(max_iter=1)

    with pytest.raises(ta.RunError, match="callback cannot start"):
        ta.ExpectationPropagation(model).iterate(callback=restart)


def test_an_exception_in_a_callback_arrives_as_itself() -> None:
    class Mine(Exception):
        pass

    def fail(algo: Any, i: int, max_iter: int) -> None:
        if i == 3:
            raise Mine("here")

    model, _ = regression()
    for algo in (ta.ExpectationPropagation(model), ta.StateEvolution(model)):
        with pytest.raises(Mine, match="here"):
            algo.iterate(max_iter=10, callback=fail)
        assert algo.report.sweeps == 4 and algo.report.variance("x") > 0
        assert algo.iterate(max_iter=10).sweeps > 0


@pytest.mark.parametrize("damping", [0, 0.5, 0.9, 0.99])
def test_early_stopping_judges_a_full_step_at_any_damping(damping: float) -> None:
    model, _ = regression()
    fixed = ta.ExpectationPropagation(model)
    fixed.iterate(tol=1e-10)
    ep = ta.ExpectationPropagation(model)
    # strong damping takes as many sweeps more
    report = ep.iterate(max_iter=20_000, callback=ta.EarlyStopping(tol=1e-6), damping=damping, fallback="forbidden")
    assert report.termination == "stopped"
    np.testing.assert_allclose(report.trace["step"], 1 - damping, rtol=1e-12)
    gap = abs(ep.get_variable_data("x")["v"] - fixed.get_variable_data("x")["v"])
    # a full step from there changes v by at most the tolerance, and the distance is a few such steps
    assert gap < 3e-5


def test_results_are_ones_own() -> None:
    ep = ta.ExpectationPropagation(regression()[0])
    ep.iterate()
    ep.get_variables_data(["x"])["x"]["r"][:] = 0
    assert np.abs(ep.report.mean("x")).max() > 0


@pytest.mark.usefixtures("interruptible")
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_interrupt_leaves_the_state_readable() -> None:
    model, _ = regression(N=1000, alpha=1.0)
    ep = ta.ExpectationPropagation(model)
    ep.iterate(max_iter=1)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        # millions of sweeps: hours, unless it is interrupted
        ep.iterate(max_iter=10_000_000, tol=0.0, damping=0.99)
    assert time.monotonic() - start < 20
    assert ep.report.termination == "stopped" and "interrupted" in ep.report.message
    assert ep.report.sweeps > 1 and np.isfinite(ep.get_variables_data(["x"])["x"]["r"]).all()


def test_the_interpreter_is_free_during_a_run() -> None:
    """A thread counts while another one runs: held, it could not count at all."""
    model, _ = regression(N=1000, alpha=1.0)
    ep = ta.ExpectationPropagation(model)
    ep.iterate(max_iter=1)
    worker = threading.Thread(target=lambda: ep.iterate(max_iter=300, tol=0.0, damping=0.9))
    worker.start()
    ticks = 0
    while worker.is_alive():
        ticks += 1
        time.sleep(0.001)
    assert ep.report.seconds > 0.02 and ticks >= 10


def test_results_do_not_depend_on_threads() -> None:
    model, _ = regression(N=300)
    reports: list[ta.Report] = []
    workers = [threading.Thread(target=lambda: reports.append(ta.ExpectationPropagation(model).iterate())) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(np.array_equal(reports[0].mean("x"), r.mean("x")) for r in reports) and len(reports) == 4


def test_report() -> None:
    model, _ = regression()
    report = ta.ExpectationPropagation(model).iterate()
    assert report.converged and report.message == f"converged after {report.sweeps} sweeps"
    assert list(report.trace["sweep"]) == list(range(1, report.sweeps + 1))
    assert report.trace["residual"][-1] < 1e-6
    assert set(report.objective()) == {"total", "error", "factors", "variables", "edges"}
    assert report.log_evidence_error() == 0 and report.divergence is None and not report.perfect_recovery
    assert report.log_evidence() == report.objective()["total"]
    factor, variable, numbers, linear = report.messages[0]
    assert (factor, variable) == ("gauss_bernoulli", "x") and len(numbers) == 1 and len(linear) == 60


def test_explanations() -> None:
    model, _ = regression()
    assert "linear -> z" in ta.ExplainMessagePassing(model).run(max_iter=2)
    assert "a=" in ta.ExplainStateEvolution(model).run()
    assert r"\to x" in ta.DisplayLatexMessagePassing(model)._repr_latex_()


def test_metrics() -> None:
    x = np.array([[1.0, 2.0], [0.5, -1.0]])
    turned = metrics.complex2array(np.exp(0.7j) * metrics.array2complex(x))
    assert metrics.phase_symmetric_mse(x, turned) == pytest.approx(0, abs=1e-15)
    assert metrics.sign_symmetric_mse(x, -x) == 0 and metrics.overlap(x, x) == pytest.approx(np.mean(x * x))


def test_curves_of_state_evolution(oracle: Any) -> None:
    """Fixed points of whole models: direct integrals, relative 2e-4 (what their prior averages carry)."""
    import json

    known = {
        "sparse_regression": dict(prior_type="gauss_bernoulli", prior_rho=0.05, output_type="gaussian", output_var=0.01),
    }
    compared = 0
    for record in json.loads((oracle / "models_se.json").read_text())["records"]:
        kwargs = known.get(record["model"])
        if kwargs is None or record["init"] != "uninformed" or record["direct"]["vx"] < 1e-4 * record["tau_x"]:
            continue
        se = ta.StateEvolution(ta.glm_state_evolution(alpha=record["alpha"], **kwargs))  # type: ignore[arg-type]
        se.iterate(max_iter=2000, initializer=ta.ConstantInit(a=record["a0"]))
        assert se.report.variance("x") == pytest.approx(record["direct"]["vx"], rel=2e-4), record["alpha"]
        compared += 1
    assert compared >= 3


# --- what is logged, and what has no evidence


def test_ends_are_logged(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    model = (ta.GaussianPrior(2) @ ta.V("x") @ ta.GaussianLikelihood([1.0, -2.0], var=1.0)).to_model()
    with caplog.at_level("INFO", logger="treeamp"):
        ta.ExpectationPropagation(model).iterate()
        assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
            ("INFO", "ExpectationPropagation: converged after 2 sweeps")
        ]
        caplog.clear()
        report = ta.ExpectationPropagation(_hard()).iterate(max_iter=3)
        assert not report.converged and [r.levelname for r in caplog.records] == ["WARNING"]
        caplog.clear()
        # a run with a callback that comes to its limit is one that did not converge, unless it is at a fixed point
        for callback in (ta.PassCallback(), ta.EarlyStopping(), ta.EarlyStoppingEP(), lambda algo, i, n: False):
            caplog.clear()
            ta.ExpectationPropagation(_hard()).iterate(max_iter=3, callback=callback)
            assert [r.levelname for r in caplog.records] == ["WARNING"]
        caplog.clear()
        ta.ExpectationPropagation(model).iterate(max_iter=5, callback=ta.PassCallback())
        ta.ExpectationPropagation(_hard()).iterate(max_iter=3, steps=[1.0], tol=0.0)
        assert [r.levelname for r in caplog.records] == ["INFO", "INFO"]
    assert capsys.readouterr().out == ""


def test_restarts_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    model = (ta.GaussianPrior(2) @ ta.V("x") @ ta.GaussianLikelihood([1.0, -2.0], var=1.0)).to_model()
    with caplog.at_level("INFO", logger="treeamp"):
        ta.ExpectationPropagation(model).restart(seeds=2)
        ta.ExpectationPropagation(_hard()).restart(seeds=1, plain=False, max_iter=1, damping=0.5)
        unseen = (ta.GaussianPrior(2) @ ta.V("x") @ ta.GaussianChannel(var=1.0) @ ta.O("y")).to_model()
        ta.ExpectationPropagation(unseen).restart(seeds=1, plain=False)
    told = [(r.levelname, r.getMessage().partition("; ")[0]) for r in caplog.records]
    assert told == [
        ("INFO", "ExpectationPropagation: 1 fixed point from 3 starts"),
        ("WARNING", "ExpectationPropagation: 0 fixed points from 1 start, 1 did not settle"),
        ("WARNING", "nothing is observed: the result is the law of the model itself"),
        ("INFO", "ExpectationPropagation: 1 fixed point from 1 start"),
    ]
    assert "; kept that of plain: converged after " in caplog.records[0].getMessage()


def test_progress_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Of a run that takes more than three seconds; not of one that is over sooner."""
    model = _hard()
    with caplog.at_level("INFO", logger="treeamp"):
        ta.ExpectationPropagation(model).iterate(max_iter=5, callback=lambda algo, i, n: time.sleep(0.01))
        assert len(caplog.records) == 1
        caplog.clear()
        ta.ExpectationPropagation(model).iterate(max_iter=8, callback=lambda algo, i, n: time.sleep(0.5))
    told = [(r.levelname, r.getMessage()) for r in caplog.records]
    assert len(told) == 2 and told[0][0] == "INFO" and re.fullmatch(r"[67] sweeps in 3 s, residual \d\.\de[-+]\d\d", told[0][1]), told


def test_what_is_no_answer_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """Labels that a plane separates: it came to rest, and not at an answer."""
    model = (ta.MAP_L1NormPrior(2, gamma=0.0) @ ta.V("x") @ ta.LinearChannel(np.eye(2)) @ ta.V("z")
             @ ta.LogisticLikelihood([1.0, 1.0])).to_model()
    report = ta.MAP(model).iterate()
    assert [r.levelname for r in caplog.records] == ["WARNING"] and caplog.records[0].getMessage() == f"MAP: {report.message}"
    assert report.message.startswith("no answer after ") and "infimum not attained: the energy of factor `logistic`" in report.message


def test_ends_are_one_plain_sentence() -> None:
    hard, shown = _hard(), {}
    cases: dict[str, dict[str, Any]] = {
        "limit": dict(max_iter=3),
        "damped": dict(max_iter=3, damping=0.5),
        "positive": dict(max_iter=3, positive=True),
        "one": dict(max_iter=1),
        "stopped": dict(callback=lambda algo, i, n: i == 4),
        "forced": dict(fallback="forced"),
    }
    for name, options in cases.items():
        report = ta.ExpectationPropagation(hard).iterate(**options)
        assert f"<Report: {report.message}>" == repr(report)
        shown[name] = report.message
    limit = "did not converge: sweep limit after 3 sweeps"
    assert shown["limit"] == limit and shown["positive"] == f"{limit}; precisions were kept positive"
    assert shown["damped"] == f"{limit}; restarted with adaptive damping, because the given one did not converge"
    assert shown["one"] == "did not converge: sweep limit after 1 sweep"
    assert shown["stopped"] == "stopped after 5 sweeps: the callback said so"
    assert re.fullmatch(r"converged after 2 sweeps, then \d+ evaluations of a double loop", shown["forced"])


@pytest.mark.parametrize(
    ("termination", "sentence", "told"),
    [
        ("fallback_limit", "bound of the fallback reached: 20012 evaluations", "did not converge: fallback limit after 20,012 evaluations"),
        ("diverging", "diverging in sweep 3 at variable `x`: a NaN", "did not converge: diverging in sweep 3 at variable `x`: a NaN"),
        ("collapsed", "collapsed at variable `z`: its variance vanishes", "no answer after 1,200 sweeps: collapsed at variable `z`: its variance vanishes"),
        ("converged", "converged (perfect recovery)", "converged after 1,200 sweeps (perfect recovery)"),
    ],
)  # fmt: skip
def test_ends_of_runs_that_are_long(termination: str, sentence: str, told: str) -> None:
    """What native runs say, told as an end."""
    native = SimpleNamespace(termination=(termination, sentence), sweeps=1200, settling={})
    assert ta.algos.Report(native, ["x"]).message == told  # type: ignore[arg-type]
    native.settling = {"fallback": {"reverted": True}}
    back = "; the state is that of the sweeps, which was nearer to a fixed point"
    assert ta.algos.Report(native, ["x"]).message == told + back  # type: ignore[arg-type]


def _hard() -> ta.Model:
    W = np.random.default_rng(0).normal(size=(30, 40))
    return (ta.BinaryPrior(40) @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z") @ ta.SgnLikelihood(np.ones(30))).to_model()


def test_a_run_without_observations_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    model = (ta.GaussianPrior(2) @ ta.V("x") @ ta.GaussianChannel(var=1.0) @ ta.O("y")).to_model()
    ta.ExpectationPropagation(model).iterate()
    assert [r.getMessage() for r in caplog.records if r.levelname == "WARNING"] == [
        "nothing is observed: the result is the law of the model itself"
    ]
    caplog.clear()
    ta.ExpectationPropagation(model.to_observed({"y": [1.0, 2.0]})).iterate()
    ta.StateEvolution(model.to_observed({"y": None})).iterate()
    assert not caplog.records


def test_penalties_and_losses_have_no_evidence() -> None:
    W = np.random.default_rng(0).normal(size=(6, 4))
    lasso = ta.MAP_L1NormPrior(4) @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z") @ ta.GaussianLikelihood(np.ones(6), var=1.0)
    hinge = ta.GaussianPrior(4) @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z") @ ta.HingeLikelihood(np.ones(6))
    for model, factor in ((lasso, "l1"), (hinge, "hinge")):
        ep = ta.ExpectationPropagation(model.to_model())
        report = ep.iterate()
        for ask in (ep.log_evidence, ep.surprisal, report.log_evidence):
            with pytest.raises(ta.RunError, match=f"not defined: factor `{factor}` is not a probability distribution"):
                ask()
        assert np.isfinite(report.objective()["total"]) and hasattr(report, "log_evidence")
