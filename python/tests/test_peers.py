"""Regressions as scikit-learn has them: the objective is not above its own. Posterior means against sampling."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treeamp as ta

linear_model = pytest.importorskip("sklearn.linear_model")
svm = pytest.importorskip("sklearn.svm")

#: An objective may be above scikit-learn's by this, relative.
ABOVE = 1e-8
N = 6


def design(M: int = 60, seed: int = 3) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(M, N))
    return W, W @ rng.normal(size=N) * 0.5, rng


def labels() -> tuple[Any, Any]:
    W, z, rng = design()
    return W, np.where(rng.random(len(z)) < 1 / (1 + np.exp(-2 * z)), 1.0, -1.0)


def residuals() -> tuple[Any, Any]:
    W, z, rng = design()
    return W, z + 0.5 * rng.standard_t(2, size=len(z))


def minimiser(prior: ta.Prior, W: Any, likelihood: ta.Likelihood) -> Any:
    found = ta.MAP((prior @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z") @ likelihood).to_model())
    assert found.iterate().converged
    return found.minimiser("x")


def fitted(model: Any, W: Any, y: Any) -> Any:
    # names of options change from version to version
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.ravel(model.fit(W, y).coef_)


def logistic_loss(W: Any, y: Any, x: Any) -> float:
    return float(np.logaddexp(0, -y * (W @ x)).sum())


def not_above(objective: Any, own: Any, theirs: Any) -> None:
    mine, other = objective(own), objective(theirs)
    assert mine <= other + ABOVE * abs(other), (mine, other)


@pytest.mark.parametrize("strength", [0.1, 2.0])
def test_logistic_ridge(strength: float) -> None:
    W, y = labels()
    theirs = fitted(linear_model.LogisticRegression(C=1 / strength, fit_intercept=False, tol=1e-10, max_iter=10_000), W, y)
    own = minimiser(ta.MAP_L2NormPrior(N, gamma=strength), W, ta.LogisticLikelihood(y))
    not_above(lambda x: logistic_loss(W, y, x) + 0.5 * strength * x @ x, own, theirs)


@pytest.mark.parametrize("strength", [0.5, 5.0])
def test_logistic_lasso(strength: float) -> None:
    W, y = labels()
    model = linear_model.LogisticRegression(
        C=1 / strength, penalty="l1", solver="liblinear", fit_intercept=False, tol=1e-10, max_iter=10_000
    )
    own = minimiser(ta.MAP_L1NormPrior(N, gamma=strength), W, ta.LogisticLikelihood(y))
    not_above(lambda x: logistic_loss(W, y, x) + strength * np.abs(x).sum(), own, fitted(model, W, y))


def test_poisson_ridge() -> None:
    W, z, rng = design()
    y, alpha = rng.poisson(np.exp(z)).astype(float), 0.05
    theirs = fitted(linear_model.PoissonRegressor(alpha=alpha, fit_intercept=False, tol=1e-10, max_iter=10_000), W, y)
    own = minimiser(ta.MAP_L2NormPrior(N, gamma=alpha * len(y)), W, ta.PoissonLikelihood(y))
    not_above(lambda x: np.mean(np.exp(W @ x) - y * (W @ x)) + 0.5 * alpha * x @ x, own, theirs)


def test_huber() -> None:
    W, y = residuals()
    alpha, epsilon = 0.2, 1.35
    model = linear_model.HuberRegressor(epsilon=epsilon, alpha=alpha, fit_intercept=False, tol=1e-10, max_iter=10_000)
    theirs, scale = fitted(model, W, y), model.scale_
    likelihood = ta.HuberLikelihood(y, strength=2 / scale, threshold=epsilon * scale)
    own = minimiser(ta.MAP_L2NormPrior(N, gamma=2 * alpha), W, likelihood)

    def objective(x: Any) -> float:
        u = np.abs(y - W @ x) / scale
        huber = np.where(u < epsilon, u**2, 2 * epsilon * u - epsilon**2)
        return float(scale * huber.sum() + alpha * x @ x)

    not_above(objective, own, theirs)


@pytest.mark.parametrize("quantile", [0.2, 0.5])
def test_quantiles(quantile: float) -> None:
    W, y = residuals()
    alpha = 0.02
    theirs = fitted(linear_model.QuantileRegressor(quantile=quantile, alpha=alpha, fit_intercept=False), W, y)
    likelihood = ta.QuantileLikelihood(y, quantile=quantile)
    own = minimiser(ta.MAP_L1NormPrior(N, gamma=alpha * len(y)), W, likelihood)

    def objective(x: Any) -> float:
        r = y - W @ x
        return float(np.mean(np.maximum(quantile * r, (quantile - 1) * r)) + alpha * np.abs(x).sum())

    not_above(objective, own, theirs)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_support_vectors(loss: str) -> None:
    W, y = labels()
    C, power = 0.7, 1 if loss == "hinge" else 2
    kind = ta.HingeLikelihood if loss == "hinge" else ta.SquaredHingeLikelihood
    theirs = fitted(svm.LinearSVC(C=C, loss=loss, fit_intercept=False, tol=1e-10, max_iter=10**6), W, y)
    own = minimiser(ta.MAP_L2NormPrior(N, gamma=1.0), W, kind(y, strength=C))
    not_above(lambda x: C * (np.maximum(0, 1 - y * (W @ x)) ** power).sum() + 0.5 * x @ x, own, theirs)


# --- posterior means, in standard deviations of the posterior; oracle/generate/regressions.py

DATA = Path(__file__).parents[2] / "oracle" / "data" / "regressions.json"


@pytest.mark.parametrize(
    ("law", "on_x", "on_z", "tolerance"),
    [
        ("logistic", "full", "diagonal", 0.02),
        ("student_t", "full", "diagonal", 0.05),
        ("logistic", "isotropic", "isotropic", 0.1),
        ("student_t", "isotropic", "isotropic", 0.3),
    ],
)
def test_posterior_means(law: str, on_x: str, on_z: str, tolerance: float) -> None:
    data = json.loads(DATA.read_text())
    record, W = data[law], np.array(data["W"])
    assert record["error"] < 0.2 * tolerance
    y = np.array(record["y"])
    if law == "logistic":
        likelihood: ta.Likelihood = ta.LogisticLikelihood(y)
    else:
        likelihood = ta.StudentTNoiseLikelihood(y, df=record["df"], scale=record["scale"])
    x = ta.V("x", belief=on_x)
    z = ta.V("z", belief=on_z)
    model = (ta.GaussianPrior(W.shape[1]) @ x @ ta.LinearChannel(W) @ z @ likelihood).to_model()
    ep = ta.ExpectationPropagation(model)
    assert ep.iterate(max_iter=1000).converged
    mean = ep.get_variables_data(["x"])["x"]["r"]
    gap = np.abs(mean - np.array(record["mean"])) / np.array(record["sd"])
    assert gap.max() < tolerance, gap.max()
