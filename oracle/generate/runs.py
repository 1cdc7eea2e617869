"""Full runs of expectation propagation on small models, written independently of the library.

Dense matrix inverses, scipy's special functions, no decomposition, no innovation form: slow and
plain. Run with numpy 2 and scipy 1.17:

    python oracle/generate/runs.py > oracle/data/runs.json
"""

import json
import sys

import numpy as np
from scipy.special import expit, log_ndtr

SWEEPS = 400


def gauss_bernoulli(rho, mean, var):
    def moments(a, b):
        a1, b1 = a + 1 / var, b + mean / var
        r, v = b1 / a1, 1 / a1
        xi = np.log(rho / (1 - rho)) + 0.5 * (b1 * r - mean**2 / var) - 0.5 * np.log(a1 * var)
        p = expit(xi)
        return p * r, np.mean(p * v + p * (1 - p) * r**2)

    return moments


def binary(p):
    def moments(a, b):
        r = np.tanh(b + 0.5 * np.log(p / (1 - p)))
        return r, np.mean(1 - r**2)

    return moments


def sign(y):
    def moments(a, b):
        z = y * b / np.sqrt(a)
        mills = np.exp(-0.5 * z**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(z))
        return y * (z + mills) / np.sqrt(a), np.mean(1 - z * mills - mills**2) / a

    return moments


def extrinsic(moments, a, b):
    r, v = moments
    return 1 / v - a, r / v - b


def glm(w, prior, likelihood, damping):
    """Forward and backward passes on prior - x - W - z - likelihood."""
    m, n = w.shape
    ax_f, bx_f, ax_b, bx_b = 0.0, np.zeros(n), 0.0, np.zeros(n)
    az_f, bz_f, az_b, bz_b = 0.0, np.zeros(m), 0.0, np.zeros(m)
    keep = lambda old, new: damping * old + (1 - damping) * new
    for _ in range(SWEEPS):
        a, b = extrinsic(prior(ax_b, bx_b), ax_b, bx_b)
        ax_f, bx_f = keep(ax_f, a), keep(bx_f, b)
        sigma = np.linalg.inv(ax_f * np.eye(n) + az_b * w.T @ w)
        r = w @ sigma @ (bx_f + w.T @ bz_b)
        v = np.trace(w @ sigma @ w.T) / m
        a, b = extrinsic((r, v), az_b, bz_b)
        az_f, bz_f = keep(az_f, a), keep(bz_f, b)
        a, b = extrinsic(likelihood(az_f, bz_f), az_f, bz_f)
        az_b, bz_b = keep(az_b, a), keep(bz_b, b)
        sigma = np.linalg.inv(ax_f * np.eye(n) + az_b * w.T @ w)
        a, b = extrinsic((sigma @ (bx_f + w.T @ bz_b), np.trace(sigma) / n), ax_f, bx_f)
        ax_b, bx_b = keep(ax_b, a), keep(bx_b, b)
    ax, az = ax_f + ax_b, az_f + az_b
    return {
        "x": {"mean": ((bx_f + bx_b) / ax).tolist(), "variance": 1 / ax},
        "z": {"mean": ((bz_f + bz_b) / az).tolist(), "variance": 1 / az},
    }


def gaussian(y, delta):
    return lambda a, b: ((b + y / delta) / (a + 1 / delta), 1 / (a + 1 / delta))


def main():
    rng = np.random.default_rng(20)
    runs = []
    for m, n in [(24, 40), (40, 40), (50, 40)]:
        w = rng.normal(size=(m, n)) / np.sqrt(n)
        x = rng.normal(size=n) * (rng.random(n) < 0.2)
        y = w @ x + 0.3 * rng.normal(size=m)
        result = glm(w, gauss_bernoulli(0.2, 0.1, 1.0), gaussian(y, 0.09), 0.2)
        runs.append(
            {
                "prior": "gauss_bernoulli(0.2, 0.1, 1)",
                "likelihood": "gaussian(0.09)",
                "w": w.tolist(),
                "y": y.tolist(),
                "damping": 0.2,
                "result": result,
            }
        )
    w = rng.normal(size=(40, 30)) / np.sqrt(30)
    x = np.where(rng.random(30) < 0.7, 1.0, -1.0)
    y = np.sign(w @ x)
    result = glm(w, binary(0.7), sign(y), 0.4)
    runs.append(
        {
            "prior": "binary(0.7)",
            "likelihood": "sign",
            "w": w.tolist(),
            "y": y.tolist(),
            "damping": 0.4,
            "result": result,
        }
    )
    json.dump(runs, sys.stdout)


main()
