"""Scripts of the kinds in tramp's gallery, smaller, with what made them go wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treeamp as ta
from treeamp.experiments import BayesOptimalScenario, TeacherStudentScenario


@pytest.mark.parametrize("seed", [0, 1])
def test_sign_retrieval_with_early_stopping(seed: int) -> None:
    """The first sweeps have improper laws and change nothing: that is no reason to stop."""
    model = ta.glm_generative(N=500, alpha=1.3, ensemble_type="gaussian", prior_type="gauss_bernoulli", output_type="abs",
                              prior_rho=0.6, prior_mean=0.01, seed=seed)  # fmt: skip
    scenario = BayesOptimalScenario(model, x_ids=["x"])
    scenario.setup(seed)
    early = ta.EarlyStopping(wait_increase=10, tol=1e-4)
    x = scenario.run_ep(max_iter=200, damping=0.1, callback=early)["x"]["r"]
    # recovered, up to the tolerance of the callback
    assert ta.sign_symmetric_mse(scenario.x_true["x"], x) < 1e-4


class SparseGradientTeacher:
    def __init__(self, N: int, rho: float, noise_var: float) -> None:
        self.prior_grad = ta.GaussBernoulliPrior(size=(1, N), rho=rho)
        self.channel = ta.GaussianChannel(var=noise_var)

    def sample(self, seed: Any = None) -> dict[str, Any]:
        if seed:
            np.random.seed(seed)
        z = self.prior_grad.sample()
        x = z.ravel().cumsum()
        x = x - x.mean()
        return {"x": x, "z": z, "y": self.channel.sample(x)}


def sparse_gradient(seed: int, N: int = 400, rho: float = 0.04, noise_var: float = 1e-2) -> TeacherStudentScenario:
    student = (
        ta.GaussianPrior(size=(N,)) @ ta.SIMOVariable(id="x", n_next=2) @ (
            ta.GaussianChannel(var=noise_var) @ ta.O("y") + (
                ta.GradientChannel(shape=(N,)) + ta.GaussBernoulliPrior(size=(1, N), rho=rho)
            ) @ ta.MILeafVariable(id="z", n_prev=2)
        )
    ).to_model()  # fmt: skip
    teacher = SparseGradientTeacher(N, rho, noise_var)
    return TeacherStudentScenario(teacher, student, x_ids=["x", "z"]).setup(seed=seed)


@pytest.mark.parametrize("damping", [0.1, None])
def test_a_sparse_gradient_that_diverges_at_the_damping_given(damping: float | None) -> None:
    scenario = sparse_gradient(seed=1)
    scenario.run_ep(max_iter=1000, damping=damping, callback=ta.EarlyStoppingEP(tol=1e-2))
    report = scenario.report
    assert report is not None and report.adaptive == (damping is not None)
    assert ("because the given one diverged" in report.message) == report.adaptive
    # the observation itself has an error of 0.01
    assert ta.mean_squared_error(scenario.x_true["x"], scenario.x_pred["x"]) < 1e-3
    ep = ta.ExpectationPropagation(scenario.student)
    for options in ({"damping": 0.1, "fallback": "forbidden"}, {"damping": 0}):
        left = ep.iterate(max_iter=1000, **options)
        assert left.termination == "diverging" and not left.adaptive
        assert left.divergence is not None and left.divergence["sweep"] <= left.sweeps


def test_a_sparse_gradient_that_oscillates_at_the_damping_given() -> None:
    """Sweeps that go to and fro for ever are not left at the limit; few of them are, and so are many on request."""
    scenario = sparse_gradient(seed=4)
    scenario.run_ep(max_iter=1000, damping=0.1, callback=ta.EarlyStoppingEP(tol=1e-2))
    report = scenario.report
    assert report is not None and report.adaptive and "because the given one did not converge" in report.message
    assert report.termination == "stopped"
    ep = ta.ExpectationPropagation(scenario.student)
    for options in ({"max_iter": 199, "tol": 0.0}, {"max_iter": 1000, "fallback": "forbidden"}):
        left = ep.iterate(damping=0.1, **options)
        assert left.termination == "sweep_limit" and not left.adaptive
    # the observation itself has an error of 0.01, and so have means that oscillate
    errors = [ta.mean_squared_error(scenario.x_true["x"], x) for x in (scenario.x_pred["x"], left.mean("x"))]
    assert errors[0] < 2e-3 < errors[1]


def test_a_long_run_that_settles_is_left() -> None:
    """With a callback nothing else stops it: it ends at its limit, at its fixed point, and is not run again."""
    track = ta.TrackEvolution()
    model = (ta.GaussianPrior(2) @ ta.V("x") @ ta.GaussianLikelihood([1.0, -2.0], 1.0)).to_model()
    seen: list[int] = []
    report = ta.ExpectationPropagation(model).iterate(max_iter=200, callback=[track, lambda algo, i, n: seen.append(i)])
    assert report.termination == "sweep_limit" and not report.adaptive and seen == list(range(200))


def test_one_callback_for_both_algorithms() -> None:
    """Means in expectation propagation, variances in state evolution."""
    model = ta.glm_generative(N=300, alpha=1.0, ensemble_type="gaussian", prior_type="gauss_bernoulli", output_type="gaussian",
                              prior_rho=0.1, output_var=0.01, seed=1)  # fmt: skip
    records = BayesOptimalScenario(model).setup(2).run_all(max_iter=100, callback=ta.EarlyStoppingEP(tol=1e-6))
    v = {record["source"]: record["v"] for record in records}
    # N = 300: the error fluctuates about its prediction
    assert v["EP"] == pytest.approx(v["SE"], rel=0.5) and 0 < v["mse"] < 0.05


def test_a_denoiser_that_starts_at_zero() -> None:
    """A soft threshold of nothing is zero with no slope: it hears of the data all the same, and finds the lasso."""
    N, M = 60, 100
    W = ta.GaussianEnsemble(M, N).generate(seed=0)
    rng = np.random.default_rng(1)
    y = W @ (rng.normal(size=N) * (rng.random(N) < 0.3)) + 0.1 * rng.normal(size=M)
    lasso = ta.MAP((ta.MAP_L1NormPrior(N, gamma=2.0) @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z")
                    @ ta.GaussianLikelihood(y, 0.05)).to_model())  # fmt: skip
    assert lasso.iterate().converged

    class Soft(ta.Prior):
        def __init__(self, size: int) -> None:
            self.size = size
            self.repr_init()

        def scalar_forward_mean(self, ax: Any, bx: Any) -> Any:
            return np.sign(bx) * np.maximum(np.abs(bx) - 2.0, 0.0) / ax

        def scalar_forward_variance(self, ax: Any, bx: Any) -> Any:
            return (np.abs(bx) > 2.0) / ax

    function = ta.CustomPrior(N, mean=lambda a, b: np.sign(b) * np.maximum(np.abs(b) - 2.0, 0.0) / a, name="soft")
    for prior in (Soft(N), function):
        model = (prior @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z") @ ta.GaussianLikelihood(y, 0.05)).to_model()
        report = ta.ExpectationPropagation(model).iterate(max_iter=500, damping=0.3)
        assert report.converged
        # fixed points of both are minimisers; tolerances of both runs
        assert report.mean("x") == pytest.approx(lasso.minimiser("x"), abs=1e-4)
