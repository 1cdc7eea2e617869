"""Belief structures, adaptive damping, starts, operators of one's own, and theory beyond real outputs."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import treeamp as ta


def gaussian_chain(belief: str | None, noise: float = 0.1) -> tuple[ta.Model, Any, Any]:
    """A Gaussian tree with its exact posterior."""
    rng = np.random.default_rng(0)
    W, y = rng.normal(size=(5, 3)), rng.normal(size=5)
    model = (ta.GaussianPrior(3) @ ta.V("x", belief=belief) @ ta.LinearChannel(W) @ ta.V("z", belief=belief)
             @ ta.GaussianLikelihood(y, noise)).to_model()  # fmt: skip
    covariance = np.linalg.inv(np.eye(3) + W.T @ W / noise)
    return model, covariance @ W.T @ y / noise, covariance


def test_full_beliefs_know_the_covariance() -> None:
    model, mean, covariance = gaussian_chain("full")
    ep = ta.ExpectationPropagation(model)
    assert ep.iterate().converged
    x = ep.get_variable_data("x")
    assert x["r"] == pytest.approx(mean, abs=1e-10)
    assert x["covariance"] == pytest.approx(covariance, abs=1e-10)
    assert x["variances"] == pytest.approx(np.diag(covariance), abs=1e-10)
    assert x["v"] == pytest.approx(np.trace(covariance) / 3, abs=1e-10)
    isotropic = ta.ExpectationPropagation(gaussian_chain(None)[0])
    isotropic.iterate()
    assert ep.log_evidence() == pytest.approx(isotropic.log_evidence(), abs=1e-9)
    assert set(isotropic.get_variable_data("x")) == {"r", "v"}


def test_messages_of_full_beliefs_come_back() -> None:
    """The output of a tall channel has a covariance without an inverse: its message is in moments."""
    ep = ta.ExpectationPropagation(gaussian_chain("full")[0])
    ep.iterate()
    edges = {(e["f_id"], e["x_id"]): e for e in ep.get_edges_data() if e["source"] == e["f_id"]}
    assert edges["linear", "z"]["pinned"].tolist() == [True]
    assert edges["linear", "x"]["a"].shape == (1, 3, 3) and not edges["linear", "x"]["pinned"].any()
    before = ep.get_variable_data("x")
    again = pickle.loads(pickle.dumps(ep))
    assert again.iterate(warm_start=True, max_iter=1).mean("x") == pytest.approx(before["r"], abs=1e-12)


def test_diagonal_beliefs() -> None:
    model, mean, covariance = gaussian_chain("diagonal")
    ep = ta.ExpectationPropagation(model)
    assert ep.iterate(tol=1e-12).converged
    x = ep.get_variable_data("x")
    assert x["r"] == pytest.approx(mean, abs=1e-8) and "covariance" not in x
    assert x["variances"] == pytest.approx(np.diag(covariance), rel=1e-8)
    # a factor can ask for them too, and a variable overrules it
    loose = (ta.GaussianPrior(3, isotropic=False) @ ta.V("x") @ ta.GaussianLikelihood(np.ones(3), 0.1)).to_model()
    assert "variances" in ta.ExpectationPropagation(loose).iterate().variable("x")
    firm = (ta.GaussianPrior(3, isotropic=False) @ ta.V("x", belief="isotropic")
            @ ta.GaussianLikelihood(np.ones(3), 0.1)).to_model()  # fmt: skip
    assert "variances" not in ta.ExpectationPropagation(firm).iterate().variable("x")


def test_block_beliefs() -> None:
    y = np.arange(8.0).reshape(4, 2)
    model = (ta.GaussianPrior((4, 2)) @ ta.V("x", belief="block(2)") @ ta.GaussianLikelihood(y, 1.0)).to_model()
    x = ta.ExpectationPropagation(model).iterate().variable("x")
    assert x["r"] == pytest.approx(y / 2, abs=1e-12)
    assert x["variances"].shape == (4, 2)
    assert x["covariance"] == pytest.approx(np.tile(0.5 * np.eye(2), (4, 1, 1)), abs=1e-12)


def biased(N: int = 200, mean: float = 0.3) -> ta.Model:
    """A matrix whose entries have a mean, on which plain sweeps do not settle."""
    rng = np.random.default_rng(0)
    W = (rng.normal(size=(N // 2, N)) + mean * np.sqrt(N)) / np.sqrt(N)
    x = np.where(rng.random(N) < 0.2, rng.normal(size=N), 0)
    output = ta.SgnLikelihood(np.sign(W @ x))
    return (ta.GaussBernoulliPrior(N, rho=0.2) @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z") @ output).to_model()


def test_adaptive_damping() -> None:
    """The default is adaptive, bit by bit, and gets where heavy damping gets, without a damping being given; 0 is none."""
    model = biased()

    def run(**kwargs: Any) -> ta.Report:
        return ta.ExpectationPropagation(model).iterate(max_iter=1000, **kwargs)

    plain = [run(damping=0), run(damping=0, fallback="forbidden"), run(steps=[1.0])]
    assert all(report.termination == "sweep_limit" and not report.adaptive for report in plain)
    assert all(np.array_equal(plain[0].mean("x"), report.mean("x")) for report in plain)
    default = run()
    assert default.converged and not default.adaptive and default.trace["step"].min() < 1
    assert np.array_equal(default.mean("x"), run(damping="adaptive").mean("x"))
    adaptive, heavy = run(damping="adaptive"), run(damping=0.7, tol=1e-8)
    assert adaptive.converged and heavy.converged
    # both end at a relative residual of about 1e-6
    assert adaptive.mean("x") == pytest.approx(heavy.mean("x"), abs=1e-4)
    slow = run(damping="adaptive", acceleration=False, fallback="forbidden")
    assert slow.mean("x") == pytest.approx(heavy.mean("x"), abs=1e-4)
    steps = run(steps=[0.3])
    assert np.array_equal(steps.mean("x"), run(damping=0.7).mean("x"))


def test_a_forced_fallback_is_a_fixed_point() -> None:
    model, mean, _ = gaussian_chain(None)
    report = ta.ExpectationPropagation(model).iterate(fallback="forced")
    fallback = report.fallback
    assert fallback is not None and fallback["evaluations"] > 0 and not fallback["reverted"]
    assert "double loop" in fallback["method"] and fallback["end"] in ("stationary point", "perfect recovery")
    assert report.no_fallback is None and len(report.attempts) >= 2
    assert ta.ExpectationPropagation(model).iterate().fallback is None
    assert report.converged and report.mean("x") == pytest.approx(mean, abs=1e-5)


def moduli(N: int = 40, seed: int = 0) -> tuple[ta.Model, Any, Any]:
    rng = np.random.default_rng(seed)
    W, x = rng.normal(size=(4 * N, N)) / np.sqrt(N), rng.normal(size=N)
    model = (ta.GaussianPrior(N) @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z") @ ta.AbsLikelihood(abs(W @ x))).to_model()
    return model, W, x


def test_restarts_leave_the_symmetric_point() -> None:
    model, _, truth = moduli()
    ep = ta.ExpectationPropagation(model)
    points = ep.restart(seeds=[3, 5])
    assert [p.starts for p in points] == [["push, seed 3", "push, seed 5"], ["plain"]]
    assert np.abs(points[1].report.mean("x")).max() < 1e-9
    assert ep.report is points[0].report and ep.report.converged
    assert ta.sign_symmetric_mse(truth, ep.get_variable_data("x")["r"]) < 1e-10
    assert len(ep.restart(seeds=2, plain=False)) == 1
    assert ep.unsettled == []
    assert ep.restart(seeds=0, max_iter=1) == [] and ep.report.termination == "sweep_limit"
    assert [run.starts for run in ep.unsettled] == [["plain"]] and ep.unsettled[0].report is ep.report


def test_starts_of_ones_own() -> None:
    model, W, truth = moduli()
    estimate = ta.spectral_estimate(W, abs(W @ truth), seed=1)
    # four observations per component: far above the weak recovery threshold
    assert abs(estimate @ truth) > 0.7 * np.linalg.norm(estimate) * np.linalg.norm(truth)
    for start in (ta.NearInit("x", estimate, precision=1.0), ta.PushInit(seed=0), ta.PushInit(0.5, seed=1)):
        ep = ta.ExpectationPropagation(model)
        ep.iterate(initializer=start, damping="adaptive")
        assert ta.sign_symmetric_mse(truth, ep.get_variable_data("x")["r"]) < 1e-10
    assert np.array_equal(ta.PushInit(seed=2)._messages(model, None)[0][3], ta.PushInit(seed=2)._messages(model, None)[0][3])


def test_complex_starts_have_their_parts_in_order() -> None:
    """Near the truth, with its parts on the first axis, is near the truth."""
    rng = np.random.default_rng(0)
    F = (rng.normal(size=(60, 20)) + 1j * rng.normal(size=(60, 20))) / np.sqrt(20)
    x = rng.normal(size=(2, 20))
    y = np.abs(F @ (x[0] + 1j * x[1]))
    model = (ta.GaussianPrior((2, 20)) @ ta.V("x") @ ta.ComplexLinearChannel(F) @ ta.V("z")
             @ ta.ModulusLikelihood(y)).to_model()  # fmt: skip
    ep = ta.ExpectationPropagation(model)
    ep.iterate(max_iter=1, initializer=ta.NearInit("x", x, precision=1e6))
    assert ep.get_variable_data("x")["r"] == pytest.approx(x, abs=1e-2)
    pushed = ta.PushInit(seed=0)._messages(model, None)
    assert {b.size for _, v, _, b in pushed if v == "x"} == {40}
    estimate = ta.spectral_estimate(F, y)
    assert estimate.shape == (2, 20)
    assert ta.phase_symmetric_mse(x, estimate) < np.mean(x * x)


def test_an_operator_of_ones_own_is_its_matrix() -> None:
    rng = np.random.default_rng(0)
    W, y = rng.normal(size=(10, 16)), rng.normal(size=10)

    def run(channel: ta.Channel) -> ta.Report:
        model = ta.GaussBernoulliPrior((4, 4), rho=0.3) @ ta.V("x") @ channel @ ta.V("z") @ ta.GaussianLikelihood(y, 0.1)
        return ta.ExpectationPropagation(model.to_model()).iterate(max_iter=300, tol=1e-10)

    mine = run(ta.LinearOperatorChannel(lambda z: W @ z.ravel(), lambda x: (x @ W).reshape(4, 4), (4, 4), 10))
    dense = (ta.GaussBernoulliPrior(16, rho=0.3) @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z")
             @ ta.GaussianLikelihood(y, 0.1)).to_model()  # fmt: skip
    theirs = ta.ExpectationPropagation(dense).iterate(max_iter=300, tol=1e-10)
    # conjugate gradients stop at 1e-12
    assert mine.mean("x").ravel() == pytest.approx(theirs.mean("x"), abs=1e-7)
    assert mine.variance("x") == pytest.approx(theirs.variance("x"), rel=1e-7)


def test_a_noisy_output_of_ones_own_in_state_evolution() -> None:
    """Gaussian noise, given as if it were one's own: the trapezoidal rule on a smooth density is exact to rounding."""
    noise = 0.5
    mine = ta.CustomLikelihood(
        None,
        log_partition=lambda a, b, y: 0.5 * (b + y / noise) ** 2 / (a + 1 / noise) - 0.5 * y**2 / noise
        - 0.5 * np.log(1 + a * noise),
        mean=lambda a, b, y: (b + y / noise) / (a + 1 / noise),
        variance=lambda a, b, y: np.full(np.shape(b), 1 / (a + 1 / noise)),
        outputs=np.arange(-8, 8.25, 0.5), output_step=0.5, noise_entropy=0.5 * np.log(2 * np.pi * np.e * noise),
    )  # fmt: skip

    def run(output: ta.Likelihood) -> ta.StateEvolution:
        prior, channel = ta.GaussBernoulliPrior(None, rho=0.3), ta.MarchenkoPasturChannel(0.8)
        se = ta.StateEvolution((prior @ ta.V("x") @ channel @ ta.V("z") @ output).to_model())
        assert se.iterate().converged
        return se

    rounded, exact = run(mine), run(ta.GaussianLikelihood(None, noise))
    v = exact.get_variable_data("x")["v"]
    assert rounded.get_variable_data("x")["v"] == pytest.approx(v, rel=1e-9)
    assert rounded.mutual_information() == pytest.approx(exact.mutual_information(), rel=1e-8)
    # the entropy of the rounded output, per component of x
    assert rounded.entropy() == pytest.approx(exact.entropy() - 0.8 * np.log(0.5), rel=1e-8)


def test_complex_signals_in_state_evolution() -> None:
    """Phase retrieval of a signal with a mean: an instance of 600 components follows its prediction."""
    common: dict[str, Any] = dict(prior_type="gaussian", output_type="modulus", prior_mean=1.0, prior_var=1.0)
    se = ta.StateEvolution(ta.glm_state_evolution(alpha=0.5, **common))
    assert se.iterate(max_iter=500).converged
    teacher = ta.glm_generative(N=600, alpha=0.5, ensemble_type="complex_gaussian", seed=0, **common)
    truth = teacher.sample(seed=0)
    ep = ta.ExpectationPropagation(teacher.to_observed({"y": truth["y"]}))
    assert ep.iterate(max_iter=500, damping=0.2).converged
    x = ep.get_variable_data("x")["r"]
    assert ta.mean_squared_error(truth["x"], x) == pytest.approx(se.get_variable_data("x")["mse"], rel=0.1)
