"""What a state is at which a run has come to rest."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import treeamp as ta


def image() -> Any:
    x = np.zeros((48, 48))
    x[6:20, 8:40] = 1.0
    i, j = np.mgrid[:48, :48]
    x[(i - 32) ** 2 + (j - 24) ** 2 < 64] = 0.5
    return x


def differences(y: Any, rho: float = 0.05) -> Any:
    jumps = ta.GaussBernoulliPrior(size=(2, *y.shape), rho=rho, var=0.3)
    return (
        ta.GaussianPrior(size=y.shape, var=4.0) @ ta.V("x")
        @ (ta.GaussianLikelihood(var=0.01, y=y) + (ta.GradientChannel() + jumps) @ ta.V("z"))
    ).to_model()  # fmt: skip


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_collapse_is_not_called_converged(seed: int) -> None:
    x = image()
    y = x + 0.1 * np.random.default_rng(seed).normal(size=x.shape)
    ep = ta.ExpectationPropagation(differences(y))
    report = ep.iterate(max_iter=200)
    assert not report.converged and report.termination == "collapsed"
    assert report.verdict is not None
    assert (report.verdict["kind"], report.verdict["variable"]) == ("collapsed", "z")
    assert report.verdict["evidence_limit"] == "depends_on_width"
    assert "diagonal beliefs" in report.message and "Another start" in report.message
    assert "with_beliefs" in report.message
    # the variance that would have been believed is a thousandth of the error
    error = float(np.mean((report.mean("x") - x) ** 2))
    assert report.variance("x") < 0.01 * error
    with pytest.raises(ta.RunError, match="`z`"):
        ep.log_evidence()


def test_settled_runs_have_a_verdict() -> None:
    y = np.array([1.0, -2.0])
    model = (ta.GaussianPrior(size=2) @ ta.V("x") @ ta.GaussianLikelihood(var=0.5, y=y)).to_model()
    report = ta.ExpectationPropagation(model).iterate(max_iter=5)
    assert report.verdict is not None and report.verdict["kind"] == "settled"
    assert report.verdict["evidence_limit"] == "finite"
    assert report.verdict["factor"] is None and report.verdict["variable"] is None


def test_a_precision_for_each_component_is_one_step() -> None:
    """Without a collapse, at a smaller error; the model stays what it was, and pickles."""
    x = np.zeros((20, 20))
    x[2:6, 3:10] = 1.0
    i, j = np.mgrid[:20, :20]
    x[(i - 8) ** 2 + (j - 6) ** 2 < 6] = 0.5
    model = differences(x + 0.1 * np.random.default_rng(0).normal(size=x.shape), rho=0.1)
    each = pickle.loads(pickle.dumps(model.with_beliefs("diagonal")))
    one, more = (ta.ExpectationPropagation(m).iterate() for m in (model, each))
    assert one.termination == "collapsed" and more.converged
    errors = [float(np.mean((r.mean("x") - x) ** 2)) for r in (one, more)]
    assert errors[1] < errors[0]
    assert np.shape(one.std("x")) == () and np.shape(more.std("x")) == x.shape
    with pytest.raises(ta.ModelError, match="isotropic, diagonal, full or block"):
        model.with_beliefs("cubic")
    with pytest.raises(TypeError, match="`belief` must be a string"):
        model.with_beliefs(2)  # type: ignore[arg-type]
