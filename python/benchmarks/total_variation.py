"""Total variation denoising to a relative primal-dual gap of 1e-5, beside scikit-image's at the same gap.

One thread each, in one run: the ratio counts. The gap of both is measured here, from the image alone:
the dual point that bounds the least energy is that of a longer run of the minimiser.

    pip install scikit-image
    OMP_NUM_THREADS=1 python python/benchmarks/total_variation.py
"""

from __future__ import annotations

import time

import numpy as np
import treeamp as ta
from skimage.restoration import denoise_tv_chambolle

GAP, WEIGHT, NOISE = 1e-5, 0.1, 0.1


def image(n: int) -> np.ndarray:
    """A bar of 1 and a disc of 1/2, with noise."""
    a = n // 8
    x = np.zeros((n, n))
    x[a : 3 * a, a : 6 * a] = 1
    i, j = np.mgrid[:n, :n]
    x[(i - 5 * a) ** 2 + (j - 3 * a) ** 2 < (1.3 * a) ** 2] = 0.5
    return x + np.random.default_rng(0).normal(0, NOISE, (n, n))


def energy(x: np.ndarray, y: np.ndarray) -> float:
    """Half the squared misfit, and the weight times the total variation."""
    down = np.diff(x, axis=0, append=x[-1:])
    right = np.diff(x, axis=1, append=x[:, -1:])
    return float(0.5 * np.sum((x - y) ** 2) + WEIGHT * np.sum(np.hypot(down, right)))


def minimiser(y: np.ndarray, gap: float) -> tuple[np.ndarray, ta.Report]:
    """The same by maximum a posteriori."""
    penalty = ta.MAP_L21NormPrior(size=(2, *y.shape), gamma=WEIGHT)
    differences = (ta.GradientChannel(boundary="neumann") + penalty) @ ta.V("z", n_prev=2, n_next=0)
    free = ta.MAP_L2NormPrior(size=y.shape, gamma=0)
    model = (free @ ta.V("x", n_prev=1, n_next=2) @ (ta.GaussianLikelihood(y, var=1) + differences)).to_model()
    algo = ta.MAP(model)
    report = algo.iterate(gap=gap)
    return algo.minimiser("x"), report


if __name__ == "__main__":
    for n in (64, 128, 256):
        y = image(n)
        best, _ = minimiser(y, 1e-7)
        least = energy(best, y)
        start = time.perf_counter()
        x, report = minimiser(y, GAP)
        ours = time.perf_counter() - start
        steps = 1000
        while True:
            start = time.perf_counter()
            other = denoise_tv_chambolle(y, weight=WEIGHT, eps=0, max_num_iter=steps)
            theirs = time.perf_counter() - start
            if energy(other, y) / least - 1 < GAP:
                break
            steps = int(1.25 * steps)
        print(
            f"{n} x {n}: {ours:.2f} s (above the least by {energy(x, y) / least - 1:.1e}), scikit-image {theirs:.2f} s "
            f"({energy(other, y) / least - 1:.1e}, {steps} steps): {theirs / ours:.1f} times faster"
        )
