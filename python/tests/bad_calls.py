"""What tables of bad calls share: small models, and the check of an entry."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Mapping
from concurrent import futures
from typing import Any

import numpy as np
import pytest

import treeamp as ta
from treeamp.experiments import run_experiments

NAN, INF = float("nan"), float("inf")
W = np.ones((2, 3))


def chain(prior: Any = None, W: Any = W, output: Any = None, belief: str | None = None) -> ta.Model:
    prior = prior or ta.GaussianPrior(3)
    output = output or ta.GaussianLikelihood([1.0, 2.0], 0.1)
    x, z = ta.V("x", belief=belief), ta.V("z", belief=belief)
    return (prior @ x @ ta.LinearChannel(W) @ z @ output).to_model()


def generative() -> ta.Model:
    return (ta.GaussianPrior(3) @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z") @ ta.SgnChannel() @ ta.O("y")).to_model()


def ep(model: ta.Model | None = None, **kwargs: Any) -> Any:
    return ta.ExpectationPropagation(model or chain()).iterate(**kwargs)


def limit(alpha: float = 0.5) -> ta.Model:
    return ta.glm_state_evolution(alpha=alpha, prior_type="gaussian", output_type="gaussian", output_var=0.1)


def entropy_too_early() -> Any:
    se = ta.StateEvolution(limit())
    assert se.iterate(max_iter=1).termination == "sweep_limit"
    return se.entropy()


class Negative:
    alpha, eigenvalues = 0.5, (1.0, -1.0)


class Words:
    alpha, eigenvalues = 0.5, ("one", "two")


def full(n: int) -> ta.Model:
    return (ta.GaussianPrior(n) @ ta.V("x", belief="full") @ ta.GaussianLikelihood(np.ones(n), 0.1)).to_model()


def seen(channel: ta.Channel, prior: ta.Prior | None = None) -> ta.Model:
    return ((prior or ta.GaussianPrior(3)) @ ta.V("x") @ channel @ ta.V("y")).to_model()


def operator(scale: float = 1.0, **kwargs: Any) -> ta.Channel:
    w = np.random.default_rng(0).normal(size=(2, 3))
    return ta.LinearOperatorChannel(lambda z: w @ z, lambda x: scale * w.T @ x, 3, 2, **kwargs)


def table(a: int, scale: float = 1.0) -> dict[str, float]:
    return {"b": scale * a}


def other_table(folder: str, **kwargs: Any) -> Any:
    path = os.path.join(folder, "journal")
    run_experiments(table, a=[1], journal=path)
    return run_experiments(table, a=[1], journal=path, **kwargs)


def in_a_folder(call: Callable[[str], Any]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return call(folder)


class Dead(futures.Executor):
    def submit(self, *args: Any, **kwargs: Any) -> Any:
        raise futures.BrokenExecutor("the workers are gone")


def raising(algo: Any, i: int, n: int) -> None:
    raise KeyError("mine")


def writing(algo: Any, i: int, n: int) -> None:
    algo.get_variables_data()["x"]["r"] += 1


def swapping(algo: Any, i: int, n: int) -> None:
    algo.model = chain()


def as_matrix(x: Any) -> Any:
    return ta.LinearChannel(x)


MODEL, VALUE, TYPE, RUN, NOT = ta.ModelError, ValueError, TypeError, ta.RunError, ta.NotAvailable

#: Name: the call, its exception, a part of its sentence.
Table = Mapping[str, tuple[Callable[[], Any], type[BaseException], str]]

#: An exception of user code arrives as itself.
THEIRS = ("a callback that raises", "an operator that raises", "an activation that raises")


def check(table: Table, name: str) -> None:
    """The call raises what the table says; no panic reaches Python."""
    call, error, sentence = table[name]
    with pytest.raises(error, match=re.escape(sentence)) as caught:
        call()
    allowed = (ValueError, TypeError, ta.TreeampError, *((KeyError,) if name in THEIRS else ()))
    assert isinstance(caught.value, allowed)
    assert "PanicException" not in type(caught.value).__name__
