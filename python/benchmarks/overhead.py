"""What calling through Python costs: the demo's expectation propagation, and one fixed point of state evolution.

Both times of a pair are of the same run: `Report.seconds` is measured in native code around the native call, and the
rest of the time of `iterate` is what Python adds. Medians over repetitions; nothing is compared across runs.

    python python/benchmarks/overhead.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import treeamp as ta

#: At most this share more than native for the demo, and this much more for a fixed point.
SHARE, SECONDS = 0.05, 50e-6


def overhead(run: Callable[[], ta.Report], repetitions: int) -> tuple[float, float]:
    """Medians of the native time, and of what Python adds."""
    native, added = [], []
    for _ in range(repetitions):
        start = time.perf_counter()
        report = run()
        whole = time.perf_counter() - start
        native.append(report.seconds)
        added.append(whole - report.seconds)
    return statistics.median(native), statistics.median(added)


def demo() -> tuple[float, float]:
    """Sparse regression as the demo has it: N = 1000, M = 500, from a model that is set up."""
    W = ta.GaussianEnsemble(M=500, N=1000).generate(seed=0)
    teacher = (ta.GaussBernoulliPrior(1000, 0.05) @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z")
               @ ta.GaussianChannel(0.01) @ ta.O("y")).to_model()  # fmt: skip
    model = teacher.to_observed({"y": teacher.sample(seed=0)["y"]})

    def run() -> ta.Report:
        ep = ta.ExpectationPropagation(model)
        report = ep.iterate(max_iter=200)
        ep.get_variables_data(["x"])
        return report

    run()
    return overhead(run, 30)


def fixed_point() -> tuple[float, float]:
    """One fixed point of sparse regression in the limit."""
    model = ta.glm_state_evolution(
        alpha=0.5, prior_type="gauss_bernoulli", output_type="gaussian", prior_rho=0.05, output_var=0.01
    )

    def run() -> ta.Report:
        se = ta.StateEvolution(model)
        report = se.iterate(max_iter=200)
        se.get_variables_data(["x"])
        return report

    run()
    return overhead(run, 200)


def main() -> None:
    """Prints both, and fails beyond the bounds."""
    native, added = demo()
    print(f"demo (N = 1000):  native {native * 1e3:8.3f} ms, Python adds {added * 1e6:6.1f} us ({100 * added / native:.2f} %)")
    share = added / native
    native, added = fixed_point()
    print(f"one fixed point:  native {native * 1e3:8.3f} ms, Python adds {added * 1e6:6.1f} us")
    if share > SHARE or added > SECONDS:
        raise SystemExit(f"beyond the bounds: {100 * SHARE:g} % and {SECONDS * 1e6:g} us")


if __name__ == "__main__":
    main()
