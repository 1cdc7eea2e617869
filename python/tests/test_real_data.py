"""Ordinary data, whose columns are correlated: default options settle them, whatever plain sweeps do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treeamp as ta

datasets = pytest.importorskip("sklearn.datasets")


def standardised(X: Any) -> Any:
    return (X - X.mean(axis=0)) / X.std(axis=0)


def diabetes() -> tuple[Any, Any]:
    X, y = datasets.load_diabetes(return_X_y=True)
    return standardised(X), (y - y.mean()) / y.std()


def interactions() -> tuple[Any, Any]:
    """Products of all pairs of columns besides, squares of all but the binary one included."""
    X, y = diabetes()
    n = X.shape[1]
    pairs = [X[:, i] * X[:, j] for i in range(n) for j in range(i, n) if (i, j) != (1, 1)]
    return standardised(np.column_stack([X, *pairs])), y


def breast_cancer() -> tuple[Any, Any]:
    X, y = datasets.load_breast_cancer(return_X_y=True)
    return standardised(X), y - y.mean()


def model(X: Any, y: Any, noise: float = 0.5) -> ta.Model:
    return (
        ta.GaussBernoulliPrior(X.shape[1], rho=0.5) @ ta.V("x", belief="diagonal")
        @ ta.LinearChannel(X) @ ta.V("z", belief="diagonal") @ ta.GaussianLikelihood(y, noise)
    ).to_model()  # fmt: skip


@pytest.mark.parametrize("data", [diabetes, interactions, breast_cancer])
def test_default_options_settle(data: Any) -> None:
    """Plain sweeps diverge."""
    X, y = data()
    ep = ta.ExpectationPropagation(model(X, y))
    plain = ep.iterate(damping=0)
    assert plain.termination == "diverging" and not plain.positive and not plain.adaptive
    assert ep.iterate(damping=0, positive=True).positive
    report = ep.iterate()
    assert report.converged and not report.adaptive and not report.positive
    # another sweep stays there
    assert ep.iterate(max_iter=1, damping=0, warm_start=True).mean("x") == pytest.approx(report.mean("x"), abs=1e-3)
    # of the square of the data, which is one or the variance of the label
    error = np.mean((y - X @ report.mean("x")) ** 2)
    assert error < 0.6 * np.mean(y**2)


def test_a_damping_that_does_not_settle_is_followed_by_an_adaptive_one() -> None:
    """Callbacks are called from 0 on again, and the fixed point is that of the default."""
    ep = ta.ExpectationPropagation(model(*diabetes()))
    default = ep.iterate()
    seen: list[int] = []
    report = ep.iterate(damping=0.5, callback=lambda algo, i, n: seen.append(i), tol=1e-6)
    assert report.converged and report.adaptive and "because the given one diverged" in report.message
    assert seen.count(0) == 2 and seen[0] == 0
    assert np.array_equal(report.mean("x"), default.mean("x"))
    left = ep.iterate(damping=0.5, fallback="forbidden")
    assert left.termination == "diverging" and not left.adaptive


def test_short_steps_are_not_taken_for_convergence() -> None:
    """It stops at the first sweep that would have moved the means by less than the tolerance in a full step."""
    ep = ta.ExpectationPropagation(model(*breast_cancer()))
    tol = 1e-2
    seen: list[tuple[float, float]] = []
    means: list[Any] = []

    def note(algo: Any, i: int, max_iter: int) -> None:
        mean = algo.get_variable_data("x")["r"]
        if means and not algo.improper:
            seen.append((algo.step, np.linalg.norm(mean - means[-1]) / np.linalg.norm(mean)))
        means.append(mean)

    report = ep.iterate(max_iter=1000, callback=[ta.EarlyStoppingEP(ids=["x"], tol=tol), note])
    assert report.termination == "stopped"
    assert ep.step == report.trace["step"][-1] == seen[-1][0]
    assert [change < tol * step for step, change in seen].index(True) == len(seen) - 1
    # short steps would have looked like it long before
    assert [change < tol for _, change in seen].index(True) < len(seen) - 50
