"""Sparse regression with a matrix on a device: a run of the package beside a sketch of plain approximate message passing.

The sketch is written with the same array library and stays on the device; the run of the package multiplies there and does all else in the
processor. Both stop where means change by less than 1e-6, relative. Without a device the library is numpy. Medians of some rounds, after
one that is not counted; the package's time is that of making the channel and the model, and of the run.

    python python/benchmarks/device.py
    python python/benchmarks/device.py --library jax --sizes 2000 20000 60000
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import treeamp as ta
from treeamp import _device

RHO, NOISE, TOLERANCE = 0.1, 0.01, 1e-6


class Library:
    """An array library, where its arrays are, and how to wait for it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.xp = importlib.import_module("jax.numpy" if name == "jax" else name)
        self.place: dict[str, Any] = {}
        self.wait: Callable[[], None] = lambda: None
        self.where = "cpu"
        if name == "torch" and self.xp.cuda.is_available():
            self.place, self.wait, self.where = {"device": "cuda"}, self.xp.cuda.synchronize, self.xp.cuda.get_device_name()
        elif name == "cupy":
            self.where = self.xp.cuda.runtime.getDeviceProperties(0)["name"].decode()
            self.wait = self.xp.cuda.Device().synchronize
        elif name == "jax":
            jax = importlib.import_module("jax")
            self.where = jax.devices()[0].device_kind
            # the sketch as the package: 32-bit products
            jax.config.update("jax_default_matmul_precision", "highest")

    @property
    def is_device(self) -> bool:
        return self.where.lower() != "cpu"

    def array(self, x: Any) -> Any:
        return self.xp.asarray(x, **self.place)


def instance(N: int, kind: str) -> tuple[Any, Any, Any]:
    """Matrix, signal and observations."""
    rng = np.random.default_rng(0)
    M = N // 2
    W = rng.standard_normal((M, N), dtype=kind)
    W /= np.sqrt(N, dtype=kind)
    x = rng.normal(size=N) * (rng.random(N) < RHO)
    return W, x, W @ x.astype(kind) + np.sqrt(NOISE) * rng.normal(size=M)


def sketch(library: Library, W: Any, y: Any, square_norm: float) -> tuple[Any, int]:
    """Means by approximate message passing, and iterations."""
    xp = library.xp
    M, N = W.shape
    y = library.array(y)
    r, g = library.array(np.zeros(N, dtype=y_kind(W))), 0 * y
    v = RHO
    for step in range(1, 201):
        V = square_norm / M * v
        g = (y - xp.matmul(W, r) + V * g) / (NOISE + V)
        A = square_norm / N / (NOISE + V)
        B = A * r + xp.matmul(g, W)
        s = 1 / (1 + A)
        odds = (1 - RHO) / RHO * s**-0.5 * xp.exp(-0.5 * s * B * B)
        weight = 1 / (1 + odds)
        new = weight * s * B
        v = float(xp.sum(weight * (s + (s * B) ** 2) - new * new)) / N
        change = float(xp.sum((new - r) ** 2)) / float(xp.sum(new**2))
        r = new
        if change < TOLERANCE**2:
            break
    return r, step


def y_kind(W: Any) -> str:
    return str(W.dtype).rpartition(".")[2]


def posterior(W: Any, y: Any, channel: Any = None) -> ta.Report:
    """Means, variances and evidence."""
    prior = ta.GaussBernoulliPrior(size=W.shape[1], rho=RHO)
    channel = channel or ta.LinearChannel(W, route="iid")
    model = (prior @ ta.V("x") @ channel @ ta.V("z") @ ta.GaussianLikelihood(y, NOISE)).to_model()
    return ta.ExpectationPropagation(model).iterate(max_iter=200, tol=TOLERANCE)


class Products:
    """How many products are made, of how many vectors, and how long they take with their travel."""

    def __init__(self) -> None:
        self.seconds, self.calls, self.vectors = 0.0, 0, 0

    def __enter__(self) -> Products:
        self.kept = {name: getattr(_device.DeviceMatrix, name) for name in ("apply", "adjoint")}
        for name, method in self.kept.items():
            setattr(_device.DeviceMatrix, name, lambda this, x, method=method: self.timed(method, this, x))
        return self

    def timed(self, method: Any, this: Any, x: Any) -> Any:
        start = time.perf_counter()
        out = method(this, x)
        self.seconds += time.perf_counter() - start
        self.calls += 1
        self.vectors += len(x)
        return out

    def __exit__(self, *error: Any) -> None:
        for name, method in self.kept.items():
            setattr(_device.DeviceMatrix, name, method)


def median(work: Callable[[], Any], wait: Callable[[], None], rounds: int) -> float:
    times = []
    for round in range(rounds + 1):
        wait()
        start = time.perf_counter()
        work()
        wait()
        if round:
            times.append(time.perf_counter() - start)
    return statistics.median(times)


def compare(library: Library, N: int, kind: str, rounds: int) -> None:
    host, x, y = instance(N, kind)
    if library.name == "numpy":
        host.flags.writeable = False
    W = library.array(host)
    observed = y.astype(kind)
    square_norm = float(np.vdot(host, host))
    found, iterations = sketch(library, W, observed, square_norm)
    found = _device._host(found)(found) if library.name != "numpy" else found
    report = posterior(W, y)
    channel = ta.LinearChannel(W, route="iid")
    [(route, why)] = report.routes.values()
    times = {
        "sketch": median(lambda: sketch(library, W, observed, square_norm), library.wait, rounds),
        "package": median(lambda: posterior(W, y), library.wait, rounds),
        "  run alone": median(lambda: posterior(W, y, channel), library.wait, rounds),
    }
    print(f"N = {N}, M = {N // 2}, {kind}: {iterations} iterations of the sketch, {report.sweeps} sweeps of the route {route} ({why})")
    for name, t in times.items():
        print(f"  {name:12} {1e3 * t:10.2f} ms  {t / times['sketch']:6.2f} times the sketch")
    if library.name != "numpy":
        with Products() as products:
            start = time.perf_counter()
            posterior(W, y)
            whole = time.perf_counter() - start
        print(
            f"  of {1e3 * whole:.2f} ms once more: {1e3 * products.seconds:.2f} ms in {products.calls} products of {products.vectors} vectors"
        )
    apart = np.sqrt(np.mean((found - report.mean("x")) ** 2))
    errors = [10 * np.log10(np.mean((r - x) ** 2) / np.mean(x**2)) for r in (found, report.mean("x"))]
    print(f"  errors {errors[0]:.2f} dB (sketch) and {errors[1]:.2f} dB, means {apart:.1e} rms apart")


def available() -> str:
    """The first library that has a device, or numpy."""
    for name in ("torch", "cupy", "jax"):
        try:
            if Library(name).is_device:
                return name
        except (ImportError, RuntimeError):
            continue
    return "numpy"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", choices=["numpy", "torch", "cupy", "jax"], help="by default the first with a device")
    parser.add_argument("--sizes", type=int, nargs="+", help="unknowns N; there are half as many observations")
    parser.add_argument("--kind", choices=["float32", "float64"], default="float32")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    library = Library(options.library or available())
    print(f"{library.name} {library.xp.__version__ if hasattr(library.xp, '__version__') else ''} on {library.where}")
    for N in options.sizes or ([2000, 20000, 60000] if library.is_device else [2000, 4000]):
        compare(library, N, options.kind, options.rounds)
