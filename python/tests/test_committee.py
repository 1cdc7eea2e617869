"""The binary prior of a committee, against sums over all values of a row written out here."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest

import treeamp as ta

N, K, P = 5, 3, 0.3


def enumerated(a: np.ndarray, b: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Log-partition, mean and covariance of one row, value by value."""
    rows = np.array(list(product([-1.0, 1.0], repeat=len(b))))
    weights = np.prod(np.where(rows > 0, P, 1 - P), axis=1)
    logs = np.log(weights) - 0.5 * np.einsum("ki,ij,kj->k", rows, a, rows) + rows @ b
    log_z = np.logaddexp.reduce(logs)
    p = np.exp(logs - log_z)
    mean = p @ rows
    return log_z, mean, (p[:, None] * rows).T @ rows - np.outer(mean, mean)


def belief(scale: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(K, K))
    return scale * root @ root.T, scale * rng.normal(size=(N, K))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_moments_are_sums_over_all_values(scale: float) -> None:
    a, b = belief(scale)
    prior = ta.CommitteeBinaryPrior(N=N, K=K, p_pos=P)
    r, V = prior.compute_forward_posterior(a, b)
    expected = [enumerated(a, row) for row in b]
    # both are sums of eight terms: rounding only
    assert np.allclose(r, [m for _, m, _ in expected], rtol=0, atol=1e-13)
    assert np.allclose(V, np.mean([c for *_, c in expected], axis=0), rtol=0, atol=1e-13)
    total = sum(log_z for log_z, *_ in expected)
    assert abs(prior.compute_log_partition(a, b) - total) < 1e-12 * max(abs(total), 1)


def test_derivatives_of_the_log_partition() -> None:
    a, b = belief(1.0)
    prior = ta.CommitteeBinaryPrior(N=N, K=K, p_pos=P)
    r, _ = prior.compute_forward_posterior(a, b)
    step = 1e-5
    for n, k in ((0, 0), (3, 2)):
        up, down = b.copy(), b.copy()
        up[n, k] += step
        down[n, k] -= step
        slope = (prior.compute_log_partition(a, up) - prior.compute_log_partition(a, down)) / (2 * step)
        # a central difference of this step: 1e-10 of truncation, 1e-16 / 1e-5 of rounding
        assert abs(slope - r[n, k]) < 1e-9


def test_a_diagonal_precision_is_that_of_single_units() -> None:
    prior, unit = ta.CommitteeBinaryPrior(N=N, K=K, p_pos=P), ta.BinaryPrior(size=(N, K), p_pos=P)
    _, b = belief(1.0)
    r, V = prior.compute_forward_posterior(2.0, b)
    alone, _ = unit.compute_forward_posterior(2.0, b)
    assert np.allclose(r, alone, rtol=0, atol=1e-14)
    variances = unit.scalar_forward_variance(2.0, b).mean(axis=0)
    assert np.allclose(V, np.diag(variances), rtol=0, atol=1e-14)
    assert np.allclose(prior.compute_forward_error(2.0), np.eye(K) * unit.compute_forward_error(2.0), rtol=1e-14)
    information = prior.compute_mutual_information(np.diag([1.0, 2.0, 3.0]))
    assert abs(information - sum(unit.compute_mutual_information(a) for a in (1.0, 2.0, 3.0))) < 1e-14


def test_the_message_and_the_belief_make_the_posterior() -> None:
    a, b = belief(0.5)
    prior = ta.CommitteeBinaryPrior(N=N, K=K, p_pos=P)
    r, V = prior.compute_forward_posterior(a, b)
    a_new, b_new = prior.compute_forward_message(a, b)
    assert np.allclose(np.linalg.inv(a + a_new), V, rtol=1e-12)
    assert np.allclose((b + b_new) @ V, r, rtol=1e-12)


def test_second_moments_are_those_of_draws() -> None:
    prior = ta.CommitteeBinaryPrior(N=40_000, K=2, p_pos=0.8)
    x = prior.sample(seed=1)
    assert x.shape == (40_000, 2) and set(np.unique(x)) == {-1.0, 1.0}
    # five standard errors of an average of 40000 numbers of size one
    assert np.allclose(x.T @ x / len(x), prior.second_moment(), atol=5 / 200)
    assert np.array_equal(x, prior.sample(seed=1))


def test_rows_seen_through_noise() -> None:
    """One factor that is not Gaussian: expectation propagation is exact, row by row."""
    noise = 0.7
    prior = ta.CommitteeBinaryPrior(N=N, K=K, p_pos=P)
    model = (prior @ ta.V("x") @ ta.GaussianChannel(var=noise) @ ta.O("y")).to_model()
    y = model.sample(seed=3)["y"]
    ep = ta.ExpectationPropagation(model.to_observed({"y": y}))
    assert ep.iterate().converged
    expected = [enumerated(np.eye(K) / noise, row / noise) for row in y]
    x = ep.get_variables_data(["x"])["x"]
    assert np.allclose(x["r"], [m for _, m, _ in expected], rtol=0, atol=1e-12)
    assert x["v"] == pytest.approx(np.mean([np.trace(c) / K for *_, c in expected]), rel=1e-12)
    evidence = sum(log_z - row @ row / (2 * noise) - 0.5 * K * np.log(2 * np.pi * noise) for (log_z, *_), row in zip(expected, y))
    assert ep.log_evidence() == pytest.approx(evidence, rel=1e-12)


def test_units_that_covary_are_told_apart_from_single_ones() -> None:
    """Two units tied by their product: their means say nothing, their covariance all."""
    prior = ta.CommitteeBinaryPrior(N=1, K=2)
    _, V = prior.compute_forward_posterior([[0.0, -2.0], [-2.0, 0.0]], [[0.0, 0.0]])
    assert V[0, 1] == pytest.approx(np.tanh(2.0), rel=1e-14)


def test_pickles_and_names() -> None:
    prior = pickle.loads(pickle.dumps(ta.CommitteeBinaryPrior(N=4, K=2, p_pos=0.1)))
    assert repr(prior) == "CommitteeBinaryPrior(N=4, K=2, p_pos=0.1)"
    assert isinstance(ta.get_prior(4, "committee_binary", K=2), ta.CommitteeBinaryPrior)
    assert not prior.has_state_evolution and prior.has_expectation_propagation
    with pytest.raises(ta.NotAvailable, match="BinaryPrior"):
        prior.compute_precision(0.5)


