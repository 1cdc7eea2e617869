"""Sparse regression end to end: by both routes of a linear channel, by the products alone, and by the lasso at its best penalty.

From a matrix and observations to an estimate, on one thread, medians of one run; only ratios mean something. The products are two for
every sweep of the route for independent entries, by numpy. The lasso of scikit-learn, where that is installed, is told the penalty with
the smallest error, and stops at a duality gap of 1e-6 of |y|^2 / (2 M).

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python python/benchmarks/sparse_regression.py
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import treeamp as ta

try:
    from sklearn.linear_model import Lasso
except ImportError:
    Lasso = None

RHO, NOISE = 0.1, 0.01


def instance(N: int) -> tuple[Any, Any, Any]:
    """Matrix, signal and observations."""
    rng = np.random.default_rng(0)
    M = N // 2
    W = rng.normal(size=(M, N)) / np.sqrt(N)
    x = rng.normal(size=N) * (rng.random(N) < RHO)
    return W, x, W @ x + np.sqrt(NOISE) * rng.normal(size=M)


def posterior(W: Any, y: Any, route: str) -> ta.Report:
    """Means, variances and evidence."""
    prior = ta.GaussBernoulliPrior(size=W.shape[1], rho=RHO)
    channel = ta.LinearChannel(W, route=route)
    model = (prior @ ta.V("x") @ channel @ ta.V("z") @ ta.GaussianLikelihood(y, NOISE)).to_model()
    return ta.ExpectationPropagation(model).iterate(max_iter=200)


def lasso(W: Any, y: Any, strength: float) -> Any:
    """The lasso of scikit-learn, whose energy is per observation. Its gap is that of |y - W x|^2 / 2, relative to |y|^2."""
    found = Lasso(alpha=strength / len(y), fit_intercept=False, tol=5e-7, max_iter=10_000, copy_X=False).fit(W, y)
    return found.coef_


def seconds(contestants: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Medians, everyone taking turns."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for round in range(rounds + 1):
        for name, work in contestants.items():
            start = time.perf_counter()
            work()
            if round:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(t) for name, t in times.items()}


def compare(N: int, rounds: int) -> None:
    W, x, y = instance(N)
    W.flags.writeable = False
    sweeps = posterior(W, y, "iid").sweeps
    errors = {route: np.mean((posterior(W, y, route).mean("x") - x) ** 2) for route in ("iid", "auto", "exact")}

    def products() -> None:
        z = x
        for _ in range(sweeps):
            z = (W @ z) @ W

    contestants: dict[str, Callable[[], Any]] = {"products": products}
    for route in errors:
        contestants[route] = lambda route=route: posterior(W, y, route)
    if Lasso is not None:
        columns = np.asfortranarray(W)
        strengths = np.geomspace(0.01, 1.0, 17)
        found = {a: np.mean((lasso(columns, y, a) - x) ** 2) for a in strengths}
        best = min(found, key=found.__getitem__)
        errors["lasso"] = found[best]
        contestants["lasso"] = lambda: lasso(columns, y, best)
    times = seconds(contestants, rounds)
    print(f"N = {N}, M = {N // 2}, {sweeps} sweeps")
    for name, t in times.items():
        error = f"error {errors[name]:.2e}" if name in errors else ""
        print(f"  {name:10} {1e3 * t:9.2f} ms  {t / times['products']:7.2f} times the products  {error}")


if __name__ == "__main__":
    for N, rounds in ((1000, 15), (2000, 7), (4000, 3)):
        compare(N, rounds)
