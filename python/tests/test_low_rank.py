"""Products of hidden matrices: recorded runs of another package, symmetric observations, metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from test_parity import factorization, spiked

import treeamp as ta
from treeamp.algos.metrics import permutation_symmetric_mse, rotation_symmetric_mse


def turned(estimate: Any, other: Any) -> Any:
    """The estimate with the sign of the other."""
    return estimate * np.sign(np.sum(estimate * other))


def error(estimate: Any, truth: Any) -> float:
    return ta.sign_symmetric_mse(np.ravel(truth), np.ravel(estimate))


def test_recorded_factorization(oracle: Path) -> None:
    """Averaged variances here, one per entry in the record, which stopped at 1e-5: means agree to 2e-4, variances to 1e-2 of each."""
    with np.load(oracle / "models_ep" / "low_rank_uv.npz") as record:
        report = ta.ExpectationPropagation(factorization(record)).iterate()
        assert report.converged
        for id in "uv":
            found, recorded = np.ravel(report.mean(id)), np.ravel(record[f"r_{id}"])
            assert np.sqrt(np.mean((turned(found, recorded) - recorded) ** 2)) < 2e-4
            assert abs(report.variance(id) - record[f"v_{id}"]) < 1e-2 * record[f"v_{id}"]


def test_recorded_gram(oracle: Path) -> None:
    """The record counts the diagonal, whose entries say nothing of signs, as if they were pairs: it errs by more."""
    with np.load(oracle / "models_ep" / "low_rank_gram.npz") as record:
        report = ta.ExpectationPropagation(spiked(record)).iterate()
        assert report.converged
        found, recorded = np.ravel(report.mean("z")), np.ravel(record["r_z"])
        assert np.sqrt(np.mean((turned(found, recorded) - recorded) ** 2)) < 0.1
        own, theirs = error(found, record["true_z"]), error(recorded, record["true_z"])
        print(f"error {own:.5f}, recorded {theirs:.5f}, claimed {report.variance('z'):.5f}")
        assert own < theirs


def test_samples_are_symmetric_and_a_start_is_reported() -> None:
    x = ta.BinaryPrior(size=120) @ ta.V("z") @ ta.LowRankGramChannel(120, 1) @ ta.V("x")
    model = (x @ ta.GaussianChannel(var=0.1) @ ta.O("y")).to_model()
    sample = model.sample(1)
    y = sample["y"]
    assert y.shape == (120, 120) and np.array_equal(y, y.T) and not np.diag(y).any()
    observed = ta.ExpectationPropagation(model.to_observed({"y": y})).iterate()
    given = (x @ ta.GaussianLikelihood(y=y, var=0.1)).to_model()
    report = ta.ExpectationPropagation(given).iterate()
    assert report.converged and "leading directions" in report.notes["low_rank_gram"]
    assert np.array_equal(report.mean("z"), observed.mean("z"))
    assert report.mean("x").shape == (120, 120)
    assert error(report.mean("z"), sample["z"]) < 0.1


def test_theory_has_the_overlap_of_signs() -> None:
    model = (
        ta.BinaryPrior(size=None) @ ta.V("z") @ ta.LowRankGramChannel(1000, 1) @ ta.V("x")
        @ ta.GaussianChannel(var=0.5) @ ta.O("y")
    ).to_model()
    evolution = ta.StateEvolution(model.to_observed({"y": None}))
    report = evolution.iterate(initializer=ta.ConstantInit(a=0.1))
    assert abs(1 - report.variance("z") - 0.618448) < 1e-6


def test_metrics_of_symmetric_problems() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 3))
    rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    assert rotation_symmetric_mse(x, x @ rotation) < 1e-28
    assert permutation_symmetric_mse(x, x[:, [2, 0, 1]]) == 0.0
    assert 0 < rotation_symmetric_mse(x, x[:, [2, 0, 1]] + 0.1) < permutation_symmetric_mse(x, x[:, [2, 0, 1]] + 0.1) + 1e-12
