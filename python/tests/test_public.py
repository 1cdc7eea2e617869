"""What a user sees first: short help, names that are meant to be public, reports that can be looked through."""

from __future__ import annotations

import importlib
import inspect
import pickle
import re
import pkgutil
import pydoc
from typing import Any

import numpy as np
import pytest

import treeamp as ta

#: Names of the inside, wherever they may be.
INNER = {"fragment", "to_fragment", "native", "seen"}


def public_modules() -> list[Any]:
    names = [m.name for m in pkgutil.walk_packages(ta.__path__, "treeamp.")]
    return [ta, *(importlib.import_module(name) for name in names if "._" not in name)]


def test_help_is_short() -> None:
    lines = pydoc.render_doc(ta, renderer=pydoc.plaintext).splitlines()
    assert len(lines) < 100
    text = "\n".join(lines)
    for name in ("priors", "channels", "likelihoods", "algos", "experiments", "ExpectationPropagation"):
        assert name in text


def test_names_that_a_star_imports() -> None:
    names: dict[str, Any] = {}
    exec("from treeamp import *", names)
    for name in ("V", "O", "GaussianPrior", "LinearChannel", "SgnLikelihood", "ExpectationPropagation", "mean_squared_error", "ModelError"):
        assert names[name] is getattr(ta, name)
    assert not INNER & set(names) and not any(name.startswith("_") and name != "__builtins__" for name in names)


def test_public_names_are_meant_and_documented() -> None:
    for module in public_modules():
        assert not INNER & set(dir(module)), module.__name__
        for name in getattr(module, "__all__", []):
            thing = getattr(module, name)
            if not inspect.isclass(thing) or not thing.__module__.startswith("treeamp"):
                continue
            assert not INNER & set(dir(thing)), f"{module.__name__}.{name}"
            for attribute, value in vars(thing).items():
                if not attribute.startswith("_") and (callable(value) or isinstance(value, property)):
                    assert inspect.getdoc(getattr(thing, attribute)), f"{module.__name__}.{name}.{attribute}"


def reports() -> dict[str, tuple[Any, Any]]:
    """An algorithm of each kind, and its report."""
    W = np.random.default_rng(0).normal(size=(10, 8)) / np.sqrt(8)
    end = ta.LinearChannel(W) @ ta.V("z") @ ta.GaussianLikelihood(np.ones(10), var=0.1)
    model = (ta.GaussianPrior(8) @ ta.V("x") @ end).to_model()
    lasso = (ta.MAP_L1NormPrior(8) @ ta.V("x") @ end).to_model()
    found = {"EP": ta.ExpectationPropagation(model), "SE": ta.StateEvolution(model), "MAP": ta.MAP(lasso), "EP of a penalty": ta.ExpectationPropagation(lasso)}
    return {name: (algo, algo.iterate()) for name, algo in found.items()}


RUNS = reports()


@pytest.mark.parametrize("kind", RUNS)
def test_reports_can_be_looked_through(kind: str) -> None:
    """As completion in a notebook does: nothing raises, and what belongs to another algorithm is not there."""
    _, report = RUNS[kind]
    for name in dir(report):
        hasattr(report, name)
    assert hasattr(report, "log_evidence") and hasattr(report, "heuristics") == (kind == "SE")
    inspect.getmembers(report)


@pytest.mark.parametrize("kind", RUNS)
def test_algorithms_can_be_looked_through(kind: str) -> None:
    """Before a run and after one."""
    algo, _ = RUNS[kind]
    fresh = type(algo)(algo.model)
    inspect.getmembers(fresh)
    assert not hasattr(fresh, "n_iter")
    with pytest.raises(ta.RunError, match="nothing is known before a run"):
        _ = fresh.n_iter
    inspect.getmembers(algo)
    assert algo.n_iter > 0 and np.isfinite(algo.A_model)


@pytest.mark.parametrize("kind", RUNS)
def test_a_run_and_its_report_have_the_same_kinds_of_things(kind: str) -> None:
    algo, report = RUNS[kind]
    shared = [n for n in dir(algo) if not n.startswith("_") and hasattr(report, n)]
    assert "objective" in shared
    for name in shared:
        assert callable(getattr(algo, name)) == callable(getattr(report, name)), name
    for name in {"log_evidence", "entropy", "mutual_information", "energy"} & set(shared):
        told = []
        for owner in (algo, report):
            try:
                told.append(getattr(owner, name)())
            except ta.RunError as error:
                told.append(str(error))
        assert told[0] == told[1], name


@pytest.mark.parametrize(("kind", "instead"), [("SE", "this run is state evolution: `objective()`"), ("MAP", "maximum a posteriori: `energy()`")])
def test_an_evidence_is_that_of_expectation_propagation(kind: str, instead: str) -> None:
    algo, report = RUNS[kind]
    for owner in (algo, report, pickle.loads(pickle.dumps(report))):
        with pytest.raises(ta.RunError, match=re.escape(f"`log_evidence` belongs to expectation propagation, {'this run is ' * (kind == 'MAP')}{instead}")):
            owner.log_evidence()
    with pytest.raises(ta.RunError, match="`log_evidence` belongs"):
        algo.surprisal()


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("shape", lambda: ta.GradientChannel(shape=2.0)),
        ("shape", lambda: ta.LaplacianChannel(shape=-3)),
        ("shape", lambda: ta.Blur2DChannel([1.0, 1.0], shape="a")),
        ("prev_shape", lambda: ta.ReshapeChannel(2.5, 4)),
        ("next_shape", lambda: ta.LinearOperatorChannel(np.copy, np.copy, 3, 1.5)),
        ("Ns", lambda: ta.ConcatChannel(3)),
        ("Ns", lambda: ta.SplitChannel([])),
        ("filter", lambda: ta.ConvChannel(2.0)),
        ("regions", lambda: ta.PiecewiseLinearChannel("mine", 2.0)),
        ("regions", lambda: ta.PiecewiseLinearChannel("mine", [1.0])),
        ("N", lambda: ta.RotationEnsemble(N=1.5)),
        ("alpha", lambda: ta.glm_state_evolution(alpha=-1, prior_type="binary", output_type="sgn")),
        ("belief", lambda: (ta.GaussianPrior(3) @ ta.V("x", belief="diag")).to_model()),
        ("tol", lambda: RUNS["EP"][0].iterate(tol=-1)),
        ("steps", lambda: RUNS["EP"][0].iterate(steps=[2])),
        ("damping", lambda: RUNS["EP"][0].iterate(damping=2)),
        ("perfect", lambda: RUNS["EP"][0].iterate(perfect=-1)),
        ("vx", lambda: ta.GaussianPrior(3).compute_precision(2.0)),
        ("vz", lambda: ta.SgnLikelihood(None).compute_precision(2.0, 1.0)),
        ("p_pos", lambda: ta.BinaryPrior(3, p_pos=2)),
        ("y", lambda: ta.SgnLikelihood([0.5])),
    ],
)
def test_errors_name_what_was_written(name: str, call: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=f"`{name}`") as told:
        call()
    assert "size" not in str(told.value)
