"""Routes through a linear channel: exact messages, or approximate message passing for independent entries."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import treeamp as ta
from treeamp.channels import ComplexLinearChannel, LinearChannel


def regression(W, route):
    rng = np.random.default_rng(1)
    x = rng.normal(size=W.shape[1]) * (rng.random(W.shape[1]) < 0.1)
    y = W @ x + 0.1 * rng.normal(size=W.shape[0])
    return (
        ta.GaussBernoulliPrior(size=W.shape[1], rho=0.1)
        @ ta.V("x")
        @ LinearChannel(W, route=route)
        @ ta.V("z")
        @ ta.GaussianLikelihood(y, 0.01)
    ).to_model()


def gaussian(rows, cols):
    return np.random.default_rng(0).normal(size=(rows, cols)) / np.sqrt(cols)


def test_both_routes_agree_and_say_so():
    W = gaussian(500, 1000)
    exact = ta.ExpectationPropagation(regression(W, "exact")).iterate(max_iter=200)
    assert exact.routes == {}
    for route in ("iid", "iid_only", "auto"):
        report = ta.ExpectationPropagation(regression(W, route)).iterate(max_iter=200)
        assert report.converged
        [(taken, why)] = report.routes.values()
        assert taken == "iid" and why
        assert np.sqrt(np.mean((report.mean("x") - exact.mean("x")) ** 2)) < 2e-4
        assert abs(report.log_evidence() - exact.log_evidence()) < 1
        asked = ta.ExpectationPropagation(regression(W, route)).iterate(max_iter=200, exact=True)
        assert list(asked.routes.values()) == [("exact", "asked for")]
        assert np.allclose(asked.mean("x"), exact.mean("x"), atol=1e-9)
        assert pickle.loads(pickle.dumps(report)).routes == report.routes


def test_half_the_bytes_and_any_number_of_threads():
    W = gaussian(600, 1000)
    for route in ("iid", "exact"):
        wide = ta.ExpectationPropagation(regression(W, route)).iterate(max_iter=200)
        narrow = ta.ExpectationPropagation(regression(W.astype(np.float32), route))
        runs = [narrow.iterate(max_iter=200, threads=threads) for threads in (1, 2)]
        assert np.array_equal(runs[0].mean("x"), runs[1].mean("x"))
        assert runs[0].log_evidence() == runs[1].log_evidence()
        # both matrices differ by 6e-8, relative
        assert np.sqrt(np.mean((runs[0].mean("x") - wide.mean("x")) ** 2)) < 1e-6
    channel = LinearChannel(W.astype(np.float32))
    assert channel.W.dtype == np.float32 and not channel.W.flags.writeable
    assert pickle.loads(pickle.dumps(channel)).W.dtype == np.float32
    kept = W.astype(np.float32)
    assert LinearChannel(kept, route="iid", copy=False).W is kept
    with pytest.raises(ta.ModelError, match="inf at row 0, column 0"):
        LinearChannel(np.full((1, 1), np.inf, dtype=np.float32))
    with pytest.raises(ValueError, match="threads"):
        narrow.iterate(threads=0)


def test_other_matrices_take_the_exact_route():
    W = np.linalg.qr(gaussian(600, 300))[0].T
    exact = ta.ExpectationPropagation(regression(W, "exact")).iterate(max_iter=200)
    for route in ("iid", "auto"):
        report = ta.ExpectationPropagation(regression(W, route)).iterate(max_iter=200)
        [(taken, why)] = report.routes.values()
        assert taken == "exact" and "independent entries" in why
        assert np.allclose(report.mean("x"), exact.mean("x"), atol=1e-6)
    report = ta.ExpectationPropagation(regression(W, "iid_only")).iterate(max_iter=200)
    assert report.termination == "not_iid" and not report.converged
    assert report.verdict["kind"] == "not_iid" and "exact route" in report.message


def test_bad_routes():
    W = gaussian(3, 4)
    with pytest.raises(ta.ModelError, match="exact, iid, iid_only, auto.*fast"):
        LinearChannel(W, route="fast")
    with pytest.raises(ta.ModelError, match="fast"):
        ComplexLinearChannel(W + 1j * W, route="fast")
    scipy_sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(ta.ModelError, match="must be 'exact'"):
        LinearChannel(scipy_sparse.csr_matrix(W), route="iid")


def test_without_a_copy():
    W = gaussian(300, 600)
    expected = ta.ExpectationPropagation(regression(W, "iid")).iterate(max_iter=200).mean("x")
    assert W.flags.writeable
    channel = LinearChannel(W, route="iid", copy=False)
    assert np.shares_memory(channel.W, W) and not W.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        W[0, 0] = 1.0
    # views cannot be written to either
    whole = gaussian(600, 600)
    half = whole[:300]
    kept = LinearChannel(half, route="iid", copy=False).W
    assert np.shares_memory(kept, whole) and not whole.flags.writeable
    report = ta.ExpectationPropagation(regression(W, "iid")).iterate(max_iter=200)
    assert np.array_equal(report.mean("x"), expected)
    # by the exact route from shared memory: the same decomposition, by another layout
    exact = ta.ExpectationPropagation(regression(W, "exact")).iterate(max_iter=200)
    asked = ta.ExpectationPropagation(regression(W, "iid")).iterate(max_iter=200, exact=True)
    assert np.allclose(asked.mean("x"), exact.mean("x"), atol=1e-9)
    with pytest.raises(ta.ModelError, match="nan at row 1, column 2|NaN at row 1, column 2"):
        bad = gaussian(3, 4)
        bad[1, 2] = np.nan
        LinearChannel(bad, route="iid", copy=False)
