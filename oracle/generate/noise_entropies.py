"""Entropies of outputs at a known input, averaged over it, for `crates/treeamp/tests/averages/outputs.rs`.

E H[y | z] over z ~ N(0, tau) in nats per real component, from the densities themselves: sums over labels, counts or cells, and nested integrals by
Gauss-Legendre rules on equal panels for continuous outputs. With half as many panels no number moves by more than 1e-9. Half of the entropy of
Rice's law belongs to either part of a complex z.

    pip install numpy scipy && python oracle/generate/noise_entropies.py > oracle/data/noise_entropies.json
"""

import json

import numpy as np
from scipy.special import expit, gammaln, ive, log_ndtr, ndtr
from scipy.stats import t as student

REACH = 9.0


def panels(low, high, count, points=16):
    """Nodes and weights of Gauss-Legendre rules on equal panels."""
    x, w = np.polynomial.legendre.leggauss(points)
    step = (high - low) / count
    nodes = np.concatenate([low + step * (i + (x + 1) / 2) for i in range(count)])
    return nodes, np.tile(w * step / 2, count)


def entropy(log_p):
    """-sum p ln p over the first axis."""
    return -np.sum(np.exp(log_p) * np.maximum(log_p, -1e300), axis=0)


def logistic(z):
    return entropy(np.log([expit(z), expit(-z)]))


def probit(z, noise, flipped):
    p = flipped + (1 - 2 * flipped) * ndtr(z / np.sqrt(noise))
    return entropy(np.log([p, 1 - p])) if flipped else entropy(np.array([log_ndtr(z / np.sqrt(noise)), log_ndtr(-z / np.sqrt(noise))]))


def counts(log_p, largest):
    """Sums over counts, all that have a probability at the largest rate."""
    y = np.arange(int(largest + 12 * np.sqrt(largest) + 60))
    return entropy(log_p(y[:, None].astype(float)))


def poisson_of(rate):
    return np.array([counts(lambda y, r=r: y * np.log(r) - r - gammaln(y + 1), r)[0] for r in rate])


def poisson(z):
    return poisson_of(np.exp(z))


def poisson_softplus(z):
    return poisson_of(np.logaddexp(0, z))


def negative_binomial(z, r):
    """Of mean e^z and shape r."""

    def one(z):
        odds = z - np.log(r)

        def log_p(y):
            constant = gammaln(y + r) - gammaln(r) - gammaln(y + 1)
            return constant - y * np.logaddexp(0, -odds) - r * np.logaddexp(0, odds)

        return counts(log_p, 60 + 45 * max(np.exp(z), 1) * max(1, 1 / r))[0]

    return np.array([one(x) for x in z])


def quantised(z, noise, edges):
    cut = (np.array([-np.inf, *edges, np.inf])[:, None] - z[None, :]) / np.sqrt(noise)
    p = ndtr(cut[1:]) - ndtr(cut[:-1])
    with np.errstate(divide="ignore"):
        return entropy(np.log(p))


def censored(z, threshold, noise):
    sd = np.sqrt(noise)
    u, w = panels(0, 2 * REACH + 60, 400)
    below = ndtr((threshold - z) / sd)
    log_p = -((threshold + u[:, None] * sd - z[None, :]) ** 2) / (2 * noise) - np.log(2 * np.pi * noise) / 2
    above = -np.sum(w[:, None] * sd * np.exp(log_p) * log_p, axis=0)
    return above - below * log_ndtr((threshold - z) / sd)


def dense(log_p, reach, count):
    """The entropy of noise of a density."""
    x, w = panels(-reach, reach, count)
    return -np.sum(w * np.exp(log_p(x)) * log_p(x))


def laplace_noise(z, scale):
    x, w = panels(0, 60, 100)
    return np.full_like(z, -np.sum(2 * w * np.exp(-x) / 2 * (-x - np.log(2 * scale))))


def student_t_noise(z, df, scale):
    return np.full_like(z, student(df, scale=scale).entropy())


def outlier_noise(z, variance, outlier, share):
    def log_p(x):
        near = np.log1p(-share) - x**2 / (2 * variance) - np.log(2 * np.pi * variance) / 2
        return np.logaddexp(near, np.log(share) - x**2 / (2 * outlier) - np.log(2 * np.pi * outlier) / 2)

    return np.full_like(z, dense(log_p, 12 * np.sqrt(outlier), 800))


def rician_modulus(size, noise):
    sd = np.sqrt(noise)

    def one(size):
        low = max(size - 12 * sd, 0)
        # a logarithm at 0, by y = low + t^4
        t, w = panels(0, (size + 12 * sd - low) ** 0.25, 200)
        y, w = low + t**4, 4 * t**3 * w
        log_p = np.log(y / noise) - (y - size) ** 2 / (2 * noise) + np.log(ive(0, y * size / noise))
        return -np.sum(w * np.exp(log_p) * log_p) / 2

    return np.array([one(x) for x in size])


LAWS = [
    (logistic,),
    (probit, 0.4, 0.1),
    (probit, 0.4, 0.0),
    (poisson,),
    (poisson_softplus,),
    (negative_binomial, 1.5),
    (laplace_noise, 0.6),
    (student_t_noise, 3.0, 0.7),
    (student_t_noise, 1.5, 0.7),
    (outlier_noise, 0.3, 9.0, 0.1),
    (quantised, 0.2, [-0.5, 0.7]),
    (censored, -0.3, 0.4),
    (rician_modulus, 0.3),
]


def average(law, parameters, tau, fine):
    sd = np.sqrt(tau)
    if law is rician_modulus:
        z, w = panels(0, REACH * sd, 12 * fine)
        return np.sum(w * z / tau * np.exp(-(z**2) / (2 * tau)) * law(z, *parameters))
    z, w = panels(-REACH * sd, REACH * sd, 12 * fine)
    return np.sum(w * np.exp(-(z**2) / (2 * tau)) / np.sqrt(2 * np.pi * tau) * law(z, *parameters))


def main():
    rows = []
    for law, *parameters in LAWS:
        for tau in (0.3, 1.2):
            coarse, value = (average(law, parameters, tau, fine) for fine in (1, 2))
            assert abs(coarse - value) < 1e-9, (law, tau, coarse - value)
            row = {"law": [law.__name__, *parameters], "tau": tau, "entropy": float(f"{value:.14g}")}
            rows.append("    " + json.dumps(row))
    about = "E H[y | z] over z ~ N(0, tau), in nats per real component"
    print('{\n  "about": ' + json.dumps(about) + ',\n  "records": [\n' + ",\n".join(rows) + "\n  ]\n}")


main()
