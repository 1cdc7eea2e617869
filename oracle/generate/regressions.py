"""Posterior means of two regressions, by sampling that shares nothing with the library.

    pip install numpy
    python oracle/generate/regressions.py            # writes oracle/data/regressions.json

x ~ N(0, 1) in 20 dimensions and z = W x with 40 rows. Labels of logistic probability: Hamiltonian Monte Carlo, with the covariance at the mode
as its metric. Student noise of 3 degrees of freedom and scale 0.3: Gibbs sampling of the variances of the noise. Every chain is 16
chains; `error` is the largest standard error of a mean between chains, in posterior standard deviations.
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
    def slope(x):
        return -x + (y / (1 + np.exp(y * (x @ W.T)))) @ W

    def log_density(x):
        return -0.5 * (x * x).sum(-1) - np.logaddexp(0, -y * (x @ W.T)).sum(-1)

    mode = np.zeros(COLS)
    for _ in range(100):
        p = 1 / (1 + np.exp(-W @ mode))
        hessian = np.eye(COLS) + (W.T * (p * (1 - p))) @ W
        mode = mode + np.linalg.solve(hessian, slope(mode))
    root = np.linalg.cholesky(np.linalg.inv(hessian))
    x = mode + rng.normal(size=(CHAINS, COLS)) @ root.T
    draws = []
    for i in range(count + 500):
        p = rng.normal(size=x.shape)
        q, step = x.copy(), 0.35 * rng.uniform(0.8, 1.2)
        start = log_density(q) - 0.5 * (p * p).sum(-1)
        p = p + 0.5 * step * slope(q) @ root
        for k in range(5):
            q = q + step * p @ root.T
            p = p + (step if k < 4 else 0.5 * step) * slope(q) @ root
        end = log_density(q) - 0.5 * (p * p).sum(-1)
        taken = np.log(rng.uniform(size=CHAINS)) < end - start
        x = np.where(taken[:, None], q, x)
        if i >= 500:
            draws.append(x)
    return np.stack(draws, axis=1)


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
        "logistic": {"y": labels.tolist(), **summary(logistic(W, labels, rng, 20000))},
        "student_t": {"df": DF, "scale": SCALE, "y": outputs.tolist(), **summary(student(W, outputs, rng, 4000))},
    }
    path = pathlib.Path(__file__).parents[1] / "data" / "regressions.json"
    path.write_text(json.dumps(records) + "\n")
    print({k: v["error"] for k, v in records.items() if k != "W"})


if __name__ == "__main__":
    main()
