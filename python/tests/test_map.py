"""Maximum a posteriori estimation and penalties, against the conditions that make a point the minimiser."""

from __future__ import annotations

import pickle
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import treeamp as ta
from treeamp.testing import FactorCheckError, check_factor

#: Runs stop at a residual of 1e-9, relative to the signal; slopes are larger by the norm of the matrix.
SLOPE = 1e-6


def data(M: int = 40, N: int = 60, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(M, N)) / np.sqrt(N)
    x = rng.normal(size=N) * (rng.random(N) < 0.2)
    return W, W @ x + 0.1 * rng.normal(size=M)


def least(prior: ta.Prior, W: Any, y: Any, var: float = 1.0) -> ta.MAP:
    model = (prior @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z") @ ta.GaussianLikelihood(y, var)).to_model()
    found = ta.MAP(model)
    assert found.iterate().converged
    return found


def check_lasso(x: Any, W: Any, y: Any, gamma: float, var: float) -> None:
    """Zero is in the subdifferential."""
    slope = W.T @ (y - W @ x) / var
    assert np.abs(slope).max() <= gamma * (1 + SLOPE)
    assert slope[x != 0] == pytest.approx(gamma * np.sign(x[x != 0]), rel=SLOPE)


@pytest.mark.parametrize("gamma", [0.01, 0.1, 0.5])
def test_the_lasso(gamma: float) -> None:
    W, y = data()
    lasso = least(ta.MAP_L1NormPrior(60, gamma=gamma), W, y, var=0.5)
    x = lasso.minimiser("x")
    check_lasso(x, W, y, gamma, 0.5)
    assert 0 < np.sum(x != 0) < 60
    assert lasso.minimiser("z") == pytest.approx(W @ x, abs=1e-12)
    energies = lasso.energies()
    assert energies["l1"] == pytest.approx(gamma * np.abs(x).sum(), rel=1e-12)
    assert energies["gaussian_likelihood"] == pytest.approx(np.sum((y - W @ x) ** 2), rel=1e-9)
    assert lasso.energy() == pytest.approx(-lasso.objective()["total"], rel=1e-8)


def test_ridge_regression() -> None:
    W, y = data()
    ridge = least(ta.MAP_L2NormPrior(60, gamma=0.3, mean=0.2), W, y)
    exact = np.linalg.solve(W.T @ W + 0.3 * np.eye(60), W.T @ y + 0.3 * 0.2)
    assert ridge.minimiser("x") == pytest.approx(exact, abs=1e-8)


def test_constraints_hold() -> None:
    """The slope points out of the constraint where it binds, and is zero elsewhere."""
    W, y = data(M=80)
    for prior, low, high in (
        (ta.MAP_NonNegativePrior(60), 0.0, np.inf),
        (ta.MAP_BoxPrior(60, low=-0.3, high=0.4), -0.3, 0.4),
    ):
        x = least(prior, W, y).minimiser("x")
        assert (x >= low).all() and (x <= high).all() and (x == low).any()
        slope = W.T @ (y - W @ x)
        assert (slope[x == low] <= SLOPE).all() and (slope[x == high] >= -SLOPE).all()
        assert np.abs(slope[(x > low) & (x < high)]).max() <= SLOPE


def soft(name: str = "soft", slope: float = 1.0, **kwargs: Any) -> ta.MAP_CustomPrior:
    gamma = 0.1
    return ta.MAP_CustomPrior(
        60,
        proximal=lambda t, u: np.sign(u) * np.maximum(np.abs(u) - gamma * t, 0),
        derivative=lambda t, u: slope * (np.abs(u) > gamma * t),
        energy=lambda x: gamma * np.abs(x),
        name=name,
        **kwargs,
    )


def test_a_penalty_of_ones_own_is_a_peer() -> None:
    W, y = data()
    mine, theirs = least(soft(), W, y), least(ta.MAP_L1NormPrior(60, gamma=0.1), W, y)
    assert mine.minimiser("x") == pytest.approx(theirs.minimiser("x"), abs=1e-7)
    assert "soft" in mine.energies()
    check_factor(ta.MAP_L1NormPrior(8, gamma=0.3))
    check_factor(ta.MAP_L21NormPrior((2, 4), gamma=0.3))
    check_factor(soft())
    with pytest.raises(ta.ModelError, match="derivative"):
        soft(slope=0.5).check()
    with pytest.raises(FactorCheckError, match="dr/db"):
        check_factor(soft(slope=0.5))


def test_an_exception_in_a_penalty_arrives_as_itself() -> None:
    def broken(t: float, u: Any) -> Any:
        raise LookupError("mine")

    prior = ta.MAP_CustomPrior(3, broken, broken, abs, name="broken")
    model = (prior @ ta.V("x") @ ta.GaussianLikelihood(np.ones(3), 1.0)).to_model()
    with pytest.raises(LookupError, match="mine") as caught:
        ta.MAP(model).iterate()
    assert any("broken" in note for note in caught.value.__notes__)


def test_penalties_in_expectation_propagation() -> None:
    """The mode of a penalty and its curvature in place of mean and variance: the same minimiser."""
    W, y = data()
    model = (ta.MAP_L1NormPrior(60, gamma=0.1) @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z")
             @ ta.GaussianLikelihood(y, 1.0)).to_model()  # fmt: skip
    ep = ta.ExpectationPropagation(model)
    assert ep.iterate(max_iter=500, damping="adaptive", tol=1e-10).converged
    check = least(ta.MAP_L1NormPrior(60, gamma=0.1), W, y).minimiser("x")
    assert ep.get_variable_data("x")["r"] == pytest.approx(check, abs=1e-6)


def test_the_lasso_is_predicted() -> None:
    """Zero-temperature state evolution of the student on the teacher's data."""
    kwargs: dict[str, Any] = dict(alpha=0.8, output_type="gaussian")
    teacher = ta.glm_state_evolution(**kwargs, prior_type="gauss_bernoulli", prior_rho=0.2, output_var=0.1)
    student = ta.glm_state_evolution(**kwargs, prior_type="L1_norm", prior_gamma=0.3, output_var=1.0)
    se = ta.StateEvolution(teacher=teacher, student=student)
    assert se.iterate(max_iter=500).converged
    rng = np.random.default_rng(1)
    W = rng.normal(size=(800, 1000)) / np.sqrt(1000)
    x = rng.normal(size=1000) * (rng.random(1000) < 0.2)
    found = least(ta.MAP_L1NormPrior(1000, gamma=0.3), W, W @ x + np.sqrt(0.1) * rng.normal(size=800)).minimiser("x")
    # one instance of 1000 components
    assert ta.mean_squared_error(x, found) == pytest.approx(se.get_variable_data("x")["mse"], rel=0.1)


def denoising(y: Any) -> ta.Model:
    """A Gaussian prior, noise of variance 1/2, and a gradient penalty of strength one."""
    penalty = ta.MAP_L21NormPrior(size=(y.ndim, *y.shape), gamma=1)
    return (
        ta.GaussianPrior(size=y.shape) @ ta.V("x", n_prev=1, n_next=2) @ (
            ta.GaussianLikelihood(y, 0.5) + (ta.GradientChannel() + penalty) @ ta.V("z", n_prev=2, n_next=0)
        )
    ).to_model()


def total_variation(x: Any) -> float:
    steps = [np.roll(x, -1, axis=k) - x for k in range(x.ndim)]
    return float(np.sqrt(sum(s * s for s in steps)).sum())


def test_total_variation_models() -> None:
    """No step in any direction from the minimiser lowers the energy."""
    rng = np.random.default_rng(0)
    A, shape = rng.normal(size=(30, 36)) / 6, (6, 6)
    y = A @ np.repeat([1.0, -1.0], 18) + 0.1 * rng.normal(size=30)
    model = ta.tv_regression(A, y, x_shape=shape, grad_scale=5.0, noise_var=0.1, prior_var=2.0)
    tv = ta.MAP(model)
    assert tv.iterate().converged

    def energy(x: Any) -> float:
        fit = np.sum((y - A @ x.ravel()) ** 2) / (2 * 0.1) + np.sum(x * x) / (2 * 2.0)
        return float(fit + 0.2 * total_variation(x))

    x = tv.minimiser("x")
    assert tv.energy() == pytest.approx(energy(x), rel=1e-9)
    for scale in (1e-1, 1e-2, 1e-3):
        steps = scale * rng.normal(size=(20, *shape))
        assert all(energy(x + step) > energy(x) for step in steps)
    signs = ta.tv_classification(A, np.sign(y), x_shape=shape, grad_scale=1.0, noise_var=0.1, prior_var=1.0)
    ep = ta.ExpectationPropagation(signs)
    ep.iterate(max_iter=300, damping="adaptive")
    assert np.mean(np.sign(A @ ep.get_variable_data("x")["r"].ravel()) == np.sign(y)) > 0.8


def test_the_recorded_run_has_no_lower_energy(oracle: Path) -> None:
    """Ours is the minimiser, its energy no higher than that of any recorded state."""
    with np.load(oracle / "models_ep" / "tv_denoise_L21.npz") as arrays:
        y, recorded = arrays["y"], [arrays["r_x"], arrays["fix_r_x"]]
    tv = ta.MAP(denoising(y))
    assert tv.iterate().converged

    def energy(x: Any) -> float:
        return float(0.5 * np.sum(x * x) + np.sum((x - y) ** 2) + total_variation(x))

    assert tv.energy() == pytest.approx(energy(tv.minimiser("x")), rel=1e-9)
    for other in recorded:
        assert tv.energy() <= energy(other) * (1 + 1e-9)


def test_what_a_run_leaves() -> None:
    W, y = data()
    lasso = least(ta.MAP_L1NormPrior(60, gamma=0.1), W, y)
    again = pickle.loads(pickle.dumps(lasso))
    assert again.energy() == lasso.energy() and np.array_equal(again.minimiser("x"), lasso.minimiser("x"))
    seen: list[float] = []
    watched = ta.MAP(lasso.model)
    watched.iterate(max_iter=5, callback=lambda algo, i, n: seen.append(-algo.objective()["total"]))
    assert len(seen) == 5 and np.isfinite(seen).all()
    assert lasso.iterate(warm_start=True).sweeps < 10
    assert set(lasso.get_variables_data("x")["x"]) == {"r", "v"}
    plain = ta.MAP(lasso.model).iterate(max_iter=3, damping=0)
    assert plain.termination == "sweep_limit"
    with pytest.raises(ta.RunError, match="maximum a posteriori"):
        _ = ta.ExpectationPropagation(lasso.model).iterate(max_iter=2).energies()


def test_groups_along_any_axis() -> None:
    """Those along one axis are those along the first of the array with its axes moved."""
    b = np.random.default_rng(2).normal(size=(3, 4, 2))
    for axis in (0, 1, 2, -1):
        moved = np.moveaxis(b, axis, 0)
        prior, first = ta.MAP_L21NormPrior(b.shape, gamma=0.9, axis=axis), ta.MAP_L21NormPrior(moved.shape, gamma=0.9)
        r, v = prior.compute_forward_posterior(0.7, b)
        r0, v0 = first.compute_forward_posterior(0.7, moved)
        # sums over groups in another order: rounding only
        assert np.allclose(np.moveaxis(r, axis, 0), r0, rtol=1e-15, atol=0) and v == pytest.approx(v0, rel=1e-14)
        assert prior.compute_log_partition(0.7, b) == pytest.approx(first.compute_log_partition(0.7, moved), rel=1e-14)
    assert np.all(ta.MAP_L21NormPrior((2, 2), axis=1).compute_forward_posterior(1.0, np.zeros((2, 2)))[0] == 0)


def test_rows_that_are_zero_together() -> None:
    """A denoiser of rows by the group penalty, in closed form: thresholding of every row."""
    y = np.random.default_rng(3).normal(size=(5, 3))
    model = (ta.MAP_L21NormPrior(y.shape, gamma=1.2, axis=1) @ ta.V("x") @ ta.GaussianLikelihood(y, var=0.5)).to_model()
    run = ta.MAP(model)
    assert run.iterate().converged
    norms = np.linalg.norm(y, axis=1, keepdims=True)
    assert run.minimiser("x") == pytest.approx(y * np.maximum(1 - 0.5 * 1.2 / norms, 0), abs=1e-12)


def test_a_relative_gap_ends_a_run_early() -> None:
    rng = np.random.default_rng(0)
    y = np.zeros((24, 24))
    y[4:14, 6:18] = 1
    y += rng.normal(0, 0.3, y.shape)
    best = ta.MAP(denoising(y)).iterate(fallback="forced")
    rough = ta.MAP(denoising(y)).iterate(fallback="forced", gap=1e-3)
    assert best.fallback is not None and rough.fallback is not None
    assert rough.converged and rough.fallback["steps"] < best.fallback["steps"]
    for gap in (0, 1, -1, "x"):
        with pytest.raises((ta.RunError, TypeError, ValueError), match="gap"):
            ta.MAP(denoising(y)).iterate(gap=gap)  # type: ignore[arg-type]


def test_outputs_behind_noise() -> None:
    """Labels, cells and censored outputs at their mode: the energy is stationary there."""
    rng = np.random.default_rng(3)
    w = rng.normal(size=(40, 6)) / np.sqrt(6)
    z = w @ rng.normal(size=6)
    phi = NormalDist().cdf
    edges = [-1.0, 0.0, 1.0]
    ends = [-np.inf, *edges, np.inf]
    laws = [
        (ta.ProbitLikelihood(np.sign(z), noise_variance=0.5), np.sign(z), lambda y, z: phi(y * z / 0.5**0.5)),
        (
            ta.QuantisedLikelihood(np.searchsorted(edges, z), noise_variance=0.5, edges=edges),
            np.searchsorted(edges, z),
            lambda y, z: phi((ends[y + 1] - z) / 0.5**0.5) - phi((ends[y] - z) / 0.5**0.5),
        ),
        (
            ta.CensoredLikelihood(np.maximum(z, 0), threshold=0, noise_variance=0.5),
            np.maximum(z, 0),
            lambda y, z: np.exp(-((y - z) ** 2)) if y > 0 else phi(-z / 0.5**0.5),
        ),
    ]
    for likelihood, y, p in laws:
        model = (ta.GaussianPrior(6) @ ta.V("x") @ ta.LinearChannel(w) @ ta.V("z") @ likelihood).to_model()
        algorithm = ta.MAP(model)
        assert algorithm.iterate(200).converged
        x = algorithm.get_variable_data("x")["r"]

        def energy(x: np.ndarray, y: np.ndarray = y, p: Any = p) -> float:
            return 0.5 * float(x @ x) - sum(float(np.log(p(a, b))) for a, b in zip(y, w @ x))

        for direction in np.eye(6):
            slope = (energy(x + 1e-5 * direction) - energy(x - 1e-5 * direction)) / 2e-5
            assert abs(slope) < 1e-5
    flipped = ta.GaussianPrior(3) @ ta.V("z") @ ta.ProbitLikelihood([1, -1, 1], flip_probability=0.1)
    with pytest.raises(ta.RunError, match="`probit` has no maximum a posteriori"):
        ta.MAP(flipped.to_model()).iterate(1)
