"""Committees whose beliefs keep how units covary: runs, theory with matrices, bad input."""

from __future__ import annotations

import numpy as np
import pytest

import treeamp as ta
from treeamp.algos.metrics import permutation_symmetric_mse


def committee(n: int, alpha: float, units: int = 2, belief: str = "block(2)") -> ta.models.Model:
    W = np.random.default_rng(3).normal(size=(round(alpha * n), n)) / np.sqrt(n)
    weights = ta.GaussianPrior(size=(n, units)) @ ta.V("w", belief=belief)
    z = weights @ ta.LinearChannel(W) @ ta.V("z", belief=belief)
    return (z @ ta.SignCommitteeChannel(2) @ ta.O("y")).to_model()


def test_units_specialise_where_theory_says() -> None:
    model = committee(300, 4.0)
    sample = model.sample(1)
    assert set(np.unique(sample["y"])) == {-1.0, 0.0, 1.0}
    ep = ta.ExpectationPropagation(model.to_observed({"y": sample["y"]}))
    report = ep.iterate(max_iter=1000, initializer=ta.NoisyInit(b_var=0.1, seed=0))
    assert report.converged and report.mean("w").shape == (300, 2)
    assert ep.get_variables_data(["w"])["w"]["covariance"].shape == (300, 2, 2)
    theory = ta.StateEvolution(model.to_observed({"y": None})).iterate(max_iter=1000, tol=1e-5)
    assert theory.converged
    predicted = theory.variable("w")
    q, v = predicted["q_matrix"], predicted["covariance"]
    assert np.allclose(q + v, np.eye(2), atol=1e-6) and q[0, 0] > q[0, 1] + 0.5
    found = permutation_symmetric_mse(sample["w"], report.mean("w"))
    assert abs(found - predicted["mse"]) < 0.06
    assert abs(report.variance("w") - predicted["v"]) < 0.02


def test_messages_of_rows_start_again() -> None:
    theory = ta.StateEvolution(committee(100, 1.0).to_observed({"y": None}))
    first = theory.iterate(max_iter=3)
    again = theory.iterate(max_iter=200, tol=1e-6, warm_start=True)
    assert not first.converged and again.converged


def test_blocks_that_do_not_match() -> None:
    with pytest.raises(ta.TreeampError, match=r"block\(2\)"):
        model = committee(20, 1.5, belief="isotropic")
        ta.ExpectationPropagation(model.to_observed({"y": model.sample(0)["y"]})).iterate()
    with pytest.raises(ta.ModelError, match="rows of 2 fields"):
        committee(20, 1.5, units=4, belief="block(4)")
    with pytest.raises(ta.ModelError, match="from 1 to 4"):
        ta.SignCommitteeChannel(5)


def test_classes_are_learnt() -> None:
    n, classes = 60, 4
    W = np.random.default_rng(5).normal(size=(600, n)) / np.sqrt(n)
    weights = ta.GaussianPrior(size=(n, classes), var=4.0) @ ta.V("w", belief="block(4)")
    z = weights @ ta.LinearChannel(W) @ ta.V("z", belief="block(4)")
    model = (z @ ta.SoftmaxChannel(classes) @ ta.O("y")).to_model()
    sample = model.sample(2)
    assert set(np.unique(sample["y"])) == set(range(classes))
    report = ta.ExpectationPropagation(model.to_observed({"y": sample["y"]})).iterate(max_iter=500)
    assert report.converged
    error = np.mean((report.mean("w") - sample["w"]) ** 2)
    # the common part of all classes is not seen, which diagonal blocks do not know: they claim too much
    assert 1.0 < error < 0.5 * 4.0 and report.variance("w") < error
    with pytest.raises(ta.ModelError, match="from 2 to 64"):
        ta.SoftmaxChannel(1)
