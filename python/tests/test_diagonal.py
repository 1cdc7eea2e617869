"""Sparse regressions with a precision for each component settle by default."""

from __future__ import annotations

import os

import numpy as np

import treeamp as ta

FULL = "TREEAMP_FULL" in os.environ


def regression(seed: int) -> ta.Model:
    """Half as many outputs as inputs, a tenth of which are not zero."""
    rng, m, n = np.random.default_rng(seed), 100, 200
    W = rng.normal(size=(m, n)) / np.sqrt(n)
    x = rng.normal(size=n) * (rng.random(n) < 0.1)
    y = W @ x + 0.1 * rng.normal(size=m)
    return (
        ta.GaussBernoulliPrior(n, rho=0.1) @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z") @ ta.GaussianLikelihood(y, 0.01)
    ).to_model().with_beliefs("diagonal")  # fmt: skip


def test_regressions_with_diagonal_beliefs_settle() -> None:
    """One of sixty ends at the bound of the double loop, whose inner problem is not solved there."""
    seeds = range(60 if FULL else 5)
    reports = [ta.ExpectationPropagation(regression(seed)).iterate() for seed in seeds]
    others = [(seed, report.message) for seed, report in zip(seeds, reports) if not report.converged]
    assert len(others) <= (1 if FULL else 0), others
