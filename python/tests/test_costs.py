"""What a run costs, and what its report says of single components."""

from __future__ import annotations

import logging
import pickle

import numpy as np
import pytest

import treeamp as ta


def _image(side: int, belief: str) -> ta.Model:
    y = np.zeros((side, side))
    prior = ta.GaussianPrior(size=(side, side), var=4.0)
    observed = ta.GaussianLikelihood(y, var=0.01)
    sparse = ta.GaussBernoulliPrior(size=(2, side, side), rho=0.05, var=0.3)
    x, z = ta.V("x", belief=belief), ta.V("z", belief=belief)
    return ((prior @ x @ (observed + ta.GradientChannel(shape=(side, side))) + sparse) @ z).to_model()


def _regression(rows: int, belief: str) -> ta.Model:
    W = np.random.default_rng(0).normal(size=(rows, 2 * rows)) / np.sqrt(2 * rows)
    x, z = ta.V("x", belief=belief), ta.V("z", belief=belief)
    return (ta.GaussBernoulliPrior(size=2 * rows, rho=0.05) @ x @ ta.LinearChannel(W) @ z @ ta.GaussianLikelihood(np.zeros(rows), var=0.01)).to_model()


def test_diagonal_beliefs_on_matrices_are_dear_and_on_images_cheap() -> None:
    cheap, dear = (_regression(1500, belief).cost() for belief in ("isotropic", "diagonal"))
    assert cheap["sweep_seconds"] < 0.1
    assert dear["sweep_seconds"] > 5.0
    assert "nearly all in `linear`" in dear["summary"]
    assert dear["parts"]["linear"]["sweep"] > 1e10
    assert _image(48, "diagonal").cost()["sweep_seconds"] < 0.1


def test_long_runs_are_announced(caplog: pytest.LogCaptureFixture) -> None:
    model = _regression(1024, "diagonal")
    with caplog.at_level(logging.INFO, logger="treeamp"):
        with pytest.raises(KeyboardInterrupt):
            ta.ExpectationPropagation(model).iterate(max_iter=1, callback=_interrupt)
        ta.ExpectationPropagation(_image(4, "diagonal")).iterate(max_iter=1)
    announced = [r.message for r in caplog.records if "estimated cost" in r.message]
    assert len(announced) == 1


def _interrupt(algo: object, i: int, max_iter: int) -> bool:
    raise KeyboardInterrupt


def test_inclusion_is_that_of_bayes() -> None:
    rho, noise, y = 0.3, 0.2, np.array([0.0, 0.5, -1.0, 4.0])
    prior = ta.GaussBernoulliPrior(size=4, rho=rho)
    model = (prior @ ta.V("x", belief="diagonal") @ ta.GaussianLikelihood(y, var=noise)).to_model()
    report = ta.ExpectationPropagation(model).iterate(max_iter=50)
    on = rho * np.exp(-0.5 * y**2 / (1 + noise)) / np.sqrt(1 + noise)
    off = (1 - rho) * np.exp(-0.5 * y**2 / noise) / np.sqrt(noise)
    np.testing.assert_allclose(report.inclusion("x"), on / (on + off), rtol=1e-10)
    np.testing.assert_allclose(np.square(report.std("x")), report.variable("x")["variances"])
    again = pickle.loads(pickle.dumps(report))
    np.testing.assert_array_equal(again.inclusion("x"), report.inclusion("x"))
    assert "expected" in report._repr_html_()


def test_priors_without_a_point_mass_have_none() -> None:
    model = (ta.GaussianPrior(size=2) @ ta.V("x") @ ta.GaussianLikelihood([1.0, 2.0])).to_model()
    report = ta.ExpectationPropagation(model).iterate(max_iter=50)
    assert report.inclusion("x") is None
    assert isinstance(report.std("x"), float)
    with pytest.raises(ValueError, match="there is no variable `q`"):
        report.inclusion("q")
