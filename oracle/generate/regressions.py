"""Posterior means of two regressions, by sampling that shares nothing with the library.

    pip install numpy
    python oracle/generate/regressions.py            # writes oracle/data/regressions.json

x ~ N(0, 1) in 20 dimensions and z = W x with 40 rows. Labels of logistic probability: importance sampling, in 16 parts; `effective` is the
effective number of draws. Student noise of 3 degrees of freedom and scale 0.3: Gibbs sampling of the variances of the noise, in 16 chains.
`error` is the largest standard error of a mean between parts or chains, in posterior standard deviations.
"""

import json
import pathlib

import numpy as np

ROWS, COLS, CHAINS = 40, 20, 16
DF, SCALE = 3.0, 0.3


def summary(draws):
    """Means, deviations, and the largest standard error of a mean in deviations; draws are (chains, draws, dimensions)."""
    mean, sd = draws.mean(axis=(0, 1)), draws.std(axis=(0, 1))
    error = draws.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(len(draws)) / sd
    return {"mean": mean.tolist(), "sd": sd.tolist(), "error": float(error.max())}


def logistic(W, y, rng, count):
    """Importance sampling from a Student law of 10 degrees of freedom at the mode, with the covariance there."""

    def log_density(x):
        return -0.5 * (x * x).sum(-1) - np.logaddexp(0, -y * (x @ W.T)).sum(-1)

    mode = np.zeros(COLS)
    for _ in range(100):
        p = 1 / (1 + np.exp(-W @ mode))
        hessian = np.eye(COLS) + (W.T * (p * (1 - p))) @ W
        slope = -mode + (y / (1 + np.exp(y * (W @ mode)))) @ W
        mode = mode + np.linalg.solve(hessian, slope)
    root = np.linalg.cholesky(np.linalg.inv(hessian))
    tails = 10.0
    means, squares, effective = [], [], 0.0
    for _ in range(CHAINS):
        u = rng.normal(size=(count, COLS)) / np.sqrt(rng.chisquare(tails, size=(count, 1)) / tails)
        x = mode + u @ root.T
        log_weight = log_density(x) + 0.5 * (tails + COLS) * np.log1p((u * u).sum(-1) / tails)
        weight = np.exp(log_weight - log_weight.max())
        effective += weight.sum() ** 2 / (weight**2).sum()
        weight /= weight.sum()
        means.append(weight @ x)
        squares.append(weight @ (x * x))
    mean = np.mean(means, axis=0)
    sd = np.sqrt(np.mean(squares, axis=0) - mean**2)
    error = np.std(means, axis=0, ddof=1) / np.sqrt(CHAINS) / sd
    return {"mean": mean.tolist(), "sd": sd.tolist(), "error": float(error.max()), "effective": effective}


def student(W, y, rng, count):
    draws = np.empty((CHAINS, count, COLS))
    for chain in range(CHAINS):
        precision = np.full(ROWS, 1 / SCALE**2)
        for i in range(-200, count):
            hessian = np.eye(COLS) + (W.T * precision) @ W
            root = np.linalg.cholesky(hessian)
            mean = np.linalg.solve(hessian, W.T @ (precision * y))
            x = mean + np.linalg.solve(root.T, rng.normal(size=COLS))
            residual = y - W @ x
            precision = rng.gamma((DF + 1) / 2, 2 / (DF * SCALE**2 + residual**2))
            if i >= 0:
                draws[chain, i] = x
    return draws


def main():
    rng = np.random.default_rng(19)
    W = 1.5 * rng.normal(size=(ROWS, COLS)) / np.sqrt(COLS)
    x = rng.normal(size=COLS)
    labels = np.where(rng.uniform(size=ROWS) < 1 / (1 + np.exp(-W @ x)), 1.0, -1.0)
    outputs = W @ x + SCALE * rng.standard_t(DF, size=ROWS)
    records = {
        "W": W.tolist(),
        "logistic": {"y": labels.tolist(), **logistic(W, labels, np.random.default_rng(20), 200000)},
        "student_t": {"df": DF, "scale": SCALE, "y": outputs.tolist(), **summary(student(W, outputs, np.random.default_rng(21), 16000))},
    }
    path = pathlib.Path(__file__).parents[1] / "data" / "regressions.json"
    path.write_text(json.dumps(records) + "\n")
    print({k: v["error"] for k, v in records.items() if k != "W"})


if __name__ == "__main__":
    main()
