"""Matrices of other array libraries, which multiply them where they are."""

from __future__ import annotations

import os
import pickle
from types import ModuleType

import numpy as np
import pytest

import treeamp as ta
from treeamp._device import DeviceMatrix, is_foreign
from treeamp.channels import LinearChannel

N, M = 800, 400


def libraries():
    """Array libraries, with a way to place an array on another device than the processor's memory where one has it."""
    strict = pytest.importorskip("array_api_strict")
    yield pytest.param(strict, {"device": strict.Device("device1")}, id="strict")
    for name in ["torch"] + ["jax.numpy"] * (os.environ.get("TREEAMP_FULL") == "1"):
        try:
            yield pytest.param(__import__(name, fromlist=["asarray"]), {}, id=name)
        except ImportError:
            yield pytest.param(None, {}, id=name, marks=pytest.mark.skip(f"{name} is not installed"))


LIBRARIES = list(libraries())
KINDS = [("float32", 2e-5), ("float64", 1e-9)]


def has(library: ModuleType, kind: str) -> bool:
    """JAX has 64 bits only where it is told to."""
    return kind == "float32" or "jax" not in library.__name__


def matrix(rows=M, cols=N):
    return np.random.default_rng(0).normal(size=(rows, cols)) / np.sqrt(cols)


def regression(channel, W, **options):
    rng = np.random.default_rng(1)
    x = rng.normal(size=W.shape[1]) * (rng.random(W.shape[1]) < 0.1)
    y = W @ x + 0.1 * rng.normal(size=W.shape[0])
    prior = ta.GaussBernoulliPrior(size=W.shape[1], rho=0.1)
    model = (prior @ ta.V("x") @ channel @ ta.V("z") @ ta.GaussianLikelihood(y, 0.01)).to_model()
    return ta.ExpectationPropagation(model).iterate(max_iter=200, **options)


@pytest.mark.parametrize("kind, near", KINDS)
@pytest.mark.parametrize("library, place", LIBRARIES)
def test_the_route_for_independent_entries(library, place, kind, near, monkeypatch):
    if not has(library, kind):
        pytest.skip("no 64 bits")
    W = matrix()
    given = library.asarray(W, dtype=getattr(library, kind), **place)
    expected = regression(LinearChannel(W, route="iid"), W)

    calls: list[tuple[str, int]] = []
    for name in ("apply", "adjoint"):
        method = getattr(DeviceMatrix, name)
        monkeypatch.setattr(DeviceMatrix, name, lambda self, x, f=method, n=name: calls.append((n, len(x))) or f(self, x))
    channel = LinearChannel(given, route="iid")
    assert channel.W is given
    report = regression(channel, W)
    assert report.converged and [taken for taken, _ in report.routes.values()] == ["iid"]
    assert np.sqrt(np.mean((report.mean("x") - expected.mean("x")) ** 2)) < near
    # two products a sweep; beside them the dot test (2), sums of rows (1), the certificate (10) and the evidence (2), some of several vectors
    assert len(calls) - 2 * report.sweeps <= 15
    assert abs(report.log_evidence() - expected.log_evidence()) < 1e4 * near


@pytest.mark.parametrize("library, place", LIBRARIES)
def test_the_exact_route(library, place):
    W = matrix(60, 100)
    expected = regression(LinearChannel(W), W)
    # in the processor's memory it is decomposed
    here = LinearChannel(library.asarray(W, dtype=library.float32))
    assert isinstance(here.W, np.ndarray)
    # elsewhere it is multiplied
    given = library.asarray(W, dtype=library.float32, **place)
    report = regression(LinearChannel(given, route="iid"), W, exact=True)
    assert list(report.routes.values()) == [("exact", "asked for")]
    assert np.allclose(report.mean("x"), expected.mean("x"), atol=1e-4)


@pytest.mark.parametrize("library, place", LIBRARIES)
def test_other_matrices_leave_the_route(library, place):
    W = np.linalg.qr(matrix(300, 150))[0].T
    given = library.asarray(W, dtype=library.float32, **place)
    report = regression(LinearChannel(given, route="iid"), W)
    [(taken, why)] = report.routes.values()
    assert taken == "exact" and "independent entries" in why
    assert np.allclose(report.mean("x"), regression(LinearChannel(W), W).mean("x"), atol=1e-4)
    only = regression(LinearChannel(given, route="iid_only"), W)
    assert only.verdict["kind"] == "not_iid"


@pytest.mark.parametrize("library, place", LIBRARIES)
def test_alone(library, place):
    W = matrix(5, 7)
    channel = LinearChannel(library.asarray(W, dtype=library.float32, **place), route="iid")
    assert np.allclose(channel.sample(np.arange(7.0)), W @ np.arange(7.0), atol=1e-5)
    assert (channel.Nx, channel.Nz) == (5, 7)
    again = pickle.loads(pickle.dumps(channel))
    assert is_foreign(again.W) and np.allclose(again.sample(np.ones(7)), W.sum(axis=1), atol=1e-5)
    assert "(5, 7)" in repr(channel)


@pytest.mark.parametrize("library, place", LIBRARIES)
def test_bad_input(library, place):
    def of(values, kind=library.float32, **options):
        return LinearChannel(library.asarray(values, dtype=kind, **place), **{"route": "iid", **options})

    with pytest.raises(TypeError, match="float32 or float64 .* got .*int32"):
        of(np.ones((2, 3)), library.int32)
    with pytest.raises(TypeError, match="float32 or float64 .* got .*complex64"):
        of(np.ones((2, 3)), library.complex64)
    with pytest.raises(ValueError, match="must be a matrix, got an array of shape"):
        of(np.ones(3))
    with pytest.raises(ta.ModelError, match="at least one row"):
        of(np.ones((0, 3)))
    for bad in (np.nan, np.inf):
        W = matrix(4, 3)
        W[2, 1] = bad
        with pytest.raises(ta.ModelError, match="must be finite, got (nan|inf) in row 2"):
            of(W)
    with pytest.raises(ta.ModelError, match="exact, iid, iid_only, auto.*fast"):
        of(matrix(4, 3), route="fast")
    # squares of these have no place in 32 bits, the entries have
    for scale in (1e25, 1e-30):
        rows, columns = DeviceMatrix(library.asarray(scale * matrix(4, 3), dtype=library.float32, **place), "W").norms()
        assert np.allclose(rows / scale**2, np.sum(matrix(4, 3) ** 2, axis=1), rtol=1e-5)
        assert np.allclose(columns / scale**2, np.sum(matrix(4, 3) ** 2, axis=0), rtol=1e-5)
    # products that have none are told of
    with pytest.raises(ta.FactorError, match="overflow float32"):
        of(1e38 * np.ones((4, 9)))
    channel = of(matrix(4, 9))
    with pytest.raises(ta.FactorError, match="overflow float32"):
        channel.sample(np.full(9, 1e39))
