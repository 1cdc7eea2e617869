"""Phases, thresholds, landscapes and informations, next to what is known of them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treeamp as ta
from treeamp.experiments import run_state_evolution

RHO = 0.25


def sensing(alpha: float, noise: float = 1e-10) -> ta.Model:
    return ta.glm_state_evolution(
        alpha=alpha, prior_type="gauss_bernoulli", output_type="gaussian", prior_rho=RHO, output_var=noise
    )


def moduli(alpha: float) -> ta.Model:
    return ta.glm_state_evolution(alpha=alpha, prior_type="gaussian", output_type="abs")


def test_the_phases_of_compressed_sensing() -> None:
    """Easy below and beyond, hard up to the algorithmic threshold; noise leaves next to nothing that is impossible."""
    phases = [ta.phase_report(sensing(alpha), "x").phase for alpha in (0.2, 0.35, 0.5)]
    assert phases == ["easy", "hard", "easy"]
    report = ta.phase_report(sensing(0.35), "x")
    assert report.mmse == report.allowed.mse == report.informed.mse < 1e-8 < 1e-2 < report.uninformed.mse
    assert report.between == [] and report.heuristics == []
    assert report.uninformed.report.converged and report.uninformed.report.variable("x")["mse"] == report.uninformed.mse
    assert report.uninformed.entropy is not None and report.informed.entropy is not None
    assert report.informed.entropy < report.uninformed.entropy
    assert pickle.loads(pickle.dumps(report)).uninformed.report.variable("x")["mse"] == report.uninformed.mse


def test_thresholds_of_all_kinds() -> None:
    algorithmic = ta.threshold(sensing, "x", 0.3, 0.6, tol=1e-3)
    assert algorithmic == pytest.approx(ta.noiseless_linear_threshold(ta.GaussBernoulliPrior(size=None, rho=RHO)), abs=5e-3)
    information = ta.threshold(sensing, "x", 0.1, 0.6, kind="information", tol=1e-3)
    assert RHO < information < algorithmic
    assert ta.threshold(sensing, "x", 0.1, 0.6, kind="informed", tol=1e-3) <= information + 1e-3
    # phase retrieval of a Gaussian signal: weak recovery from half an observation per component on
    assert ta.threshold(moduli, "x", 0.2, 2.0, kind="weak") == pytest.approx(0.5, abs=1e-3)


def test_a_family_that_raises() -> None:
    def broken(alpha: float) -> ta.Model:
        raise KeyError(f"no model at {alpha}")

    def wrong(alpha: float) -> Any:
        return alpha

    with pytest.raises(KeyError, match="no model at"):
        ta.threshold(broken, "x", 0.1, 0.6)
    with pytest.raises(TypeError, match="`family` must make a Model, got float"):
        ta.threshold(wrong, "x", 0.1, 0.6)
    with pytest.raises(ta.RunError, match="no .*transition|threshold"):
        ta.threshold(sensing, "x", 0.6, 0.9)


def test_what_is_refused() -> None:
    model = sensing(0.5)
    with pytest.raises(TypeError, match="`model` must be a Model, got str"):
        ta.phase_report("model", "x")  # type: ignore[arg-type]
    with pytest.raises(ta.ModelError, match="`w`"):
        ta.phase_report(model, "w")
    with pytest.raises(ValueError, match="`kind` must be 'algorithmic'.*got 'sharp'"):
        ta.threshold(sensing, "x", 0.1, 0.6, kind="sharp")
    with pytest.raises(ta.RunError, match="`high` must be finite and above `low`"):
        ta.threshold(sensing, "x", 0.6, 0.1)
    with pytest.raises(TypeError, match="`points` must be FixedPoints, got dict"):
        ta.phase_report(model, "x", points={"push": 1.0})  # type: ignore[arg-type]
    with pytest.raises(ta.RunError, match="`push` must be finite and not negative"):
        ta.phase_report(model, "x", points=ta.FixedPoints(push=-1.0))
    with pytest.raises(ta.RunError, match="`places` must be at least 2"):
        ta.landscape(model, "x", places=1)
    with pytest.raises(TypeError, match="`prior` must be a prior, got Model"):
        ta.noiseless_linear_threshold(model)  # type: ignore[arg-type]
    with pytest.raises(ta.RunError, match="`rho` must be in"):
        ta.l1_threshold(2.0)


def test_the_landscape_has_its_maxima_at_the_fixed_points() -> None:
    model = sensing(0.35, noise=1e-4)
    report = ta.phase_report(model, "x")
    curve = ta.landscape(model, "x", places=200)
    free = curve.free_entropy
    peaks = [k for k in range(1, 199) if free[k] > free[k - 1] and free[k] > free[k + 1]]
    errors = curve.mse[peaks]
    for point in (report.uninformed, report.informed):
        # the nearest of two hundred places, and the value there
        k = peaks[int(np.argmin(np.abs(np.log(errors / point.mse))))]
        assert curve.mse[k] == pytest.approx(point.mse, rel=0.1)
        assert point.entropy is not None and free[k] == pytest.approx(-point.entropy, abs=1e-3)
        assert curve.answer[k] == pytest.approx(curve.knowledge[k], rel=0.3)
    # one signal: the rest of the tree has one state
    assert np.isnan(curve.informed).all()


def test_information_and_its_terms() -> None:
    model = sensing(0.5, noise=0.01)
    se = ta.StateEvolution(model)
    se.iterate(max_iter=2000)
    told = se.information()
    terms = [sum(value for _, value in told[name]) for name in ("factors", "variables", "edges")]
    assert told["entropy"] == pytest.approx(terms[0] + terms[1] - terms[2]) == se.entropy()
    noise = sum(value for _, value in told["noise"])
    assert told["entropy"] - noise == pytest.approx(se.mutual_information())
    # all that is hidden follows from the signal
    found = ta.mutual_information(model, "x")
    assert found.start == "either" and found.value == pytest.approx(se.mutual_information(), abs=1e-6) == found.attained
    report = se.report
    assert report is not None and report.heuristics == [] == ta.heuristics(model)
    assert report.teacher_moments["x"] == pytest.approx(RHO) and report.normalisation == 0 and report.unnormalised is None
    with pytest.raises(ta.RunError, match="expected a teacher and a student, got one model"):
        se.divergences()


def test_divergences_of_a_student() -> None:
    same = ta.StateEvolution(teacher=sensing(0.5, 0.01), student=sensing(0.5, 0.01))
    same.iterate(max_iter=2000)
    assert all(abs(value) < 1e-6 for value in same.divergences().values())
    other = ta.StateEvolution(teacher=sensing(0.5, 0.01), student=sensing(0.5, 0.1))
    other.iterate(max_iter=2000)
    assert max(abs(value) for value in other.divergences().values()) > 1e-3


def test_starts_by_name() -> None:
    rng = np.random.default_rng(0)
    W, x = rng.normal(size=(160, 40)) / np.sqrt(40), rng.normal(size=40)
    model = (ta.GaussianPrior(40) @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z") @ ta.AbsLikelihood(abs(W @ x))).to_model()
    ep = ta.ExpectationPropagation(model)
    estimate = ta.spectral_estimate(W, abs(W @ x))
    points = ep.restart(seeds=0, plain=False, starts={"spectral": ta.NearInit("x", estimate)})
    assert [point.starts for point in points] == [["spectral"]]
    assert ta.sign_symmetric_mse(x, points[0].report.mean("x")) < 1e-8
    with pytest.raises(TypeError, match="`starts` must hold Initializers by name, got int"):
        ep.restart(starts={"one": 1})  # type: ignore[dict-item]


def unseen(alpha: float = 1.0) -> ta.Model:
    return (ta.GaussBernoulliPrior(3, rho=0.5) @ ta.V("x") @ ta.GaussianChannel(0.1 / alpha) @ ta.O("y")).to_model()


@pytest.mark.parametrize(
    "asked",
    [
        lambda model: ta.phase_report(model, "x"),
        lambda model: ta.mutual_information(model, "x"),
        lambda model: ta.landscape(model, "x", places=5),
        lambda model: run_state_evolution(["x"], model),
        lambda model: ta.StateEvolution(model).iterate(),
        lambda model: ta.StateEvolution(teacher=model, student=model).iterate(),
    ],
)
def test_a_model_without_observations_is_warned_of(asked: Callable[[ta.Model], Any], caplog: pytest.LogCaptureFixture) -> None:
    said = "nothing is observed: the result is the law of the model itself"
    for model, times in ((unseen(), 1), (unseen().to_observed({"y": None}), 0)):
        caplog.clear()
        with caplog.at_level("WARNING", logger="treeamp"):
            asked(model)
        assert [record.getMessage() for record in caplog.records].count(said) == times


def test_a_family_without_observations_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("WARNING", logger="treeamp"), pytest.raises(ta.RunError):
        ta.threshold(unseen, "x", 0.5, 2.0)
    assert [record.getMessage() for record in caplog.records] == ["nothing is observed: the result is the law of the model itself"]
