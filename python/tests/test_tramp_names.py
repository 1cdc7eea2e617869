"""The names and signatures that scripts written for tramp use: the same under `treeamp`.

Positions, names and defaults of every parameter are those of tramp. Modules that are not available yet exist and say so.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treeamp as ta

TABLE = json.loads((Path(__file__).parents[1] / "tramp_names.json").read_text(encoding="utf-8"))["signatures"]

#: Parameters that have no default any more, or another one: name, and why.
CHANGED = {
    ("Variable", "n_prev"): "a plain variable works its own degree out",
    ("Variable", "n_next"): "a plain variable works its own degree out",
    ("StateEvolution", "model"): "a teacher and a student can be given instead",
    ("GradientChannel", "shape"): "the paper's listing gives none",
}


def cases() -> list[tuple[str, str]]:
    return [(module, signature) for module, found in TABLE.items() for signature in found]


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, list):
        return list(ours) == theirs
    return bool(ours == theirs)


@pytest.mark.parametrize(("module", "signature"), cases(), ids=[f"{m}.{s.split('(')[0]}" for m, s in cases()])
def test_signature(module: str, signature: str) -> None:
    name = signature.split("(")[0]
    ours = getattr(importlib.import_module(f"treeamp.{module}"), name)
    declared = ast.parse(f"def {signature}: pass").body[0]
    assert isinstance(declared, ast.FunctionDef)
    parameters = list(inspect.signature(ours).parameters.values())
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        with pytest.raises(ta.NotAvailable):
            ours()
        return
    names = [a.arg for a in declared.args.args]
    positional = [p for p in parameters if p.kind is not p.KEYWORD_ONLY and p.kind is not p.VAR_KEYWORD]
    assert [p.name for p in positional[: len(names)]] == names, signature
    defaults = dict(zip(names[len(names) - len(declared.args.defaults) :], declared.args.defaults))
    for parameter in positional[: len(names)]:
        if (name, parameter.name) in CHANGED:
            continue
        told = parameter.default is not inspect.Parameter.empty
        assert told == (parameter.name in defaults), (signature, parameter.name)
        if told:
            assert same(parameter.default, ast.literal_eval(defaults[parameter.name])), (signature, parameter.name)


def test_beliefs_have_their_functions() -> None:
    for name in ("normal", "binary", "exponential", "sparse", "positive", "truncated", "mixture"):
        belief = importlib.import_module(f"treeamp.beliefs.{name}")
        assert all(callable(getattr(belief, f)) for f in ("A", "r", "v", "tau", "p"))


def test_a_script() -> None:
    """The way a script of tramp's gallery reads, its imports renamed."""
    from treeamp.algos import EarlyStoppingEP, ExpectationPropagation, JoinCallback, StateEvolution, TrackErrors
    from treeamp.algos.metrics import mean_squared_error
    from treeamp.channels import GaussianChannel, LinearChannel
    from treeamp.ensembles import GaussianEnsemble
    from treeamp.priors import GaussBernoulliPrior
    from treeamp.variables import SILeafVariable as O  # noqa: E741
    from treeamp.variables import SISOVariable as V

    N, alpha = 200, 0.8
    F = GaussianEnsemble(M=int(alpha * N), N=N).generate(seed=1)
    teacher = (
        GaussBernoulliPrior(size=N, rho=0.5) @ V(id="x") @ LinearChannel(F, name="F") @ V(id="z")
        @ GaussianChannel(var=1e-2) @ O(id="y")
    ).to_model()
    sample = teacher.sample(seed=1)
    student = teacher.to_observed({"y": sample["y"]})
    track = TrackErrors({"x": sample["x"]}, metrics=["mse"])
    ep = ExpectationPropagation(student)
    ep.iterate(max_iter=100, callback=JoinCallback([track, EarlyStoppingEP()]), damping=0.1)
    x = ep.get_variables_data(["x"])["x"]
    se = StateEvolution(student)
    se.iterate(max_iter=200)
    assert mean_squared_error(sample["x"], x["r"]) == track.records[-1]["mse"]
    # N = 200: the error fluctuates about its prediction
    assert x["v"] == pytest.approx(se.get_variables_data(["x"])["x"]["v"], rel=0.3)
    assert np.isfinite(ep.log_evidence()) and np.isfinite(se.entropy())


def test_channels_of_several_inputs_take_them_one_by_one() -> None:
    u, v = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    assert np.array_equal(ta.SumChannel(2).sample(u, v), u + v)
    assert np.array_equal(ta.SumChannel(2).sample([u, v], 3), u + v)
    assert np.array_equal(ta.ConcatChannel([2, 1]).sample(u, v[:1]), [1.0, 2.0, 3.0])
    rows = ta.ConcatChannel([2, 2], axis=1).sample(np.ones((3, 2)), np.zeros((3, 2)))
    assert np.array_equal(rows, np.hstack([np.ones((3, 2)), np.zeros((3, 2))]))
    assert ta.SumChannel(2).second_moment(1.0, 2.0) == ta.SumChannel(2).second_moment([1.0, 2.0])
    # rounding only; lengths weigh in the second: (2 * 1 + 3 * 2) / 5
    assert abs(ta.SumChannel(2).second_moment(1.0, 2.0) - 3.0) < 1e-15
    assert abs(ta.ConcatChannel([2, 3]).second_moment(1.0, 2.0) - 1.6) < 1e-15
    assert np.array_equal(ta.GaussianChannel(1.0).sample(u, 5), ta.GaussianChannel(1.0).sample(u, seed=5))


def test_fourier_transforms_have_averages_alone() -> None:
    """The same as a matrix of that spectrum, for the forward and backward errors; rounding only."""
    rotation = ta.RotationChannel(np.eye(4))
    for channel in (ta.DFTChannel(real=True), ta.DFTChannel(real=False), ta.RealDFTChannel()):
        found, expected = channel.compute_backward_error(2.0, 1.0, 1.0), rotation.compute_backward_error(2.0, 1.0, 1.0)
        assert abs(found - expected) < 1e-14
    # of a real signal there are twice as many numbers, with half of the variance each
    tall = ta.LinearChannel(np.vstack([np.eye(4), np.eye(4)]) / np.sqrt(2))
    found, expected = (c.compute_forward_error(2.0, 1.0, 1.0) for c in (ta.DFTChannel(real=True), tall))
    assert abs(found - expected) < 1e-14 and ta.DFTChannel(real=True).second_moment(1.0) == 0.5


def test_other_names_of_keys_and_parameters() -> None:
    assert ta.HardSigmoidLikelihood([0.5], l=3).knee == 3.0
    assert isinstance(ta.get_channel("blur_1d", sigma=1.0, N=4), ta.Blur1DChannel)
    assert isinstance(ta.get_channel("blur_2d", sigma=[1.0, 1.0], shape=(4, 4)), ta.Blur2DChannel)
    assert isinstance(ta.get_channel("diff", D1=[1.0], D2=[0.0], shape=(4,)), ta.DifferentialChannel)
