"""Reference values of further priors, by integration of their definitions with 50 digits.

    pip install mpmath==1.3.0
    python oracle/generate/laws2.py            # writes oracle/data/laws2.json

Pieces and rules are those of ``laws.py``. Nothing here is shared with the library.
"""

import json
import pathlib

from laws import INF, interval_piece, legendre_rule, moments, normal_constant
from mpmath import mp, mpf


def laplace(a, b, mean, scale, weight=1):
    mean, scale = mpf(mean), mpf(scale)
    constant = mp.log(weight / (2 * scale))
    return [
        interval_piece(mean, INF, a, b - 1 / scale, constant + mean / scale),
        interval_piece(-INF, mean, a, b + 1 / scale, constant - mean / scale),
    ]


def spike_laplace(a, b, rho, scale):
    rho = mpf(rho)
    return [("point", mpf(0), mp.log(1 - rho)), *laplace(a, b, 0, scale, rho)]


def uniform(a, b, low, high):
    low, high = mpf(low), mpf(high)
    return [interval_piece(low, high, a, b, -mp.log(high - low))]


def finite_alphabet(a, b, values, weights):
    letters = [(mpf(x), mpf(w)) for x, w in zip(values, weights)]
    return [("point", x, mp.log(w) - a * x * x / 2 + b * x) for x, w in letters]


def nonnegative_gaussian_mixture(a, b, weights, means, variances):
    pieces = []
    for w, m, v in zip(weights, means, variances):
        w, m, v = mpf(w), mpf(m), mpf(v)
        constant = mp.log(w / mp.ncdf(m / mp.sqrt(v))) + normal_constant(m, v)
        pieces.append(interval_piece(mpf(0), INF, a + 1 / v, b + m / v, constant))
    return pieces


def student_t(a, b, df, mean, scale):
    df, mean, scale = mpf(df), mpf(mean), mpf(scale)
    constant = mp.loggamma((df + 1) / 2) - mp.loggamma(df / 2) - mp.log(df * mp.pi) / 2 - mp.log(scale)

    def log_weight(x):
        return constant - (df + 1) / 2 * mp.log1p(((x - mean) / scale) ** 2 / df) - a * x * x / 2 + b * x

    # narrow enough wherever the prior pulls the top away from b/a
    top = max((b / a + k * (mean - b / a) / 1000 for k in range(1001)), key=log_weight)
    width = 1 / mp.sqrt(a + (df + 1) / (df * scale**2))
    return [("interval", -INF, INF, log_weight, [(mean, min(scale, width)), (b / a, width), (top, width)])]


def regularised_horseshoe(a, b, scale, slab):
    """Log-partition, mean and variance: Gauss-Legendre panels of unit length in the logarithm of the local scale."""
    tau, c2 = mpf(scale), mpf(slab) ** 2
    mass = first = second = mpf(0)
    top = b * b * c2 / (1 + a * c2) / 2
    for panel in range(-130, 130):
        for node, w in legendre_rule(40):
            local = mp.exp(panel + (node + 1) / 2)
            v = c2 * (tau * local) ** 2 / (c2 + (tau * local) ** 2)
            g = v / (1 + a * v)
            weight = w / mp.pi * local / (1 + local**2) / mp.sqrt(1 + a * v) * mp.exp(b * b * g / 2 - top)
            mass += weight
            first += weight * g
            second += weight * g * g
    g, g2 = first / mass, second / mass
    return top + mp.log(mass), b * g, g + b * b * (g2 - g * g)


POINTS = [(0.5, -1.25), (2.0, 6.0), (1e3, 1e3), (1e6, -50.0), (1e12, 1e6), (1e-8, 1e4), (1e-12, -1e3), (1e12, 0.0)]
LAWS = [
    (laplace, {"mean": 0.25, "scale": 0.5}, [(0.0, 1.5)]),
    (laplace, {"mean": -3.0, "scale": 20.0}, [(0.0, 0.01)]),
    (uniform, {"low": -0.5, "high": 2.0}, [(0.0, 0.0), (-3.0, 1.0), (-1e4, 7e3)]),
    (uniform, {"low": 1000.0, "high": 1000.5}, [(-4.0, -4001.0)]),
    (finite_alphabet, {"values": [-1.0, 0.25, 2.0], "weights": [0.25, 0.5, 0.25]}, [(-2.0, 1.0), (0.0, -3.0)]),
    (spike_laplace, {"rho": 0.125, "scale": 2.0}, [(0.0, 0.25), (1e4, 300.0)]),
    (
        nonnegative_gaussian_mixture,
        {"weights": [0.25, 0.75], "means": [-1.0, 2.0], "variances": [0.5, 0.125]},
        [(0.0, 0.0), (-1.5, 0.5)],
    ),
    (student_t, {"df": 4.0, "mean": 0.25, "scale": 0.5}, []),
    (student_t, {"df": 1.0, "mean": 0.0, "scale": 3.0}, []),
    (regularised_horseshoe, {"scale": 0.125, "slab": 3.0}, [(0.0, 0.5), (-0.0625, 0.25)]),
]


def main():
    mp.dps = 50
    records = []
    for law, params, own in LAWS:
        for a, b in POINTS + own:
            found = law(mpf(a), mpf(b), **params)
            if isinstance(found, list):
                log_z, ((r, v),) = moments(found, [lambda x: x], 1600)
            else:
                log_z, r, v = found
            truth = {"A": float(log_z), "r": float(r), "v": float(v)}
            records.append({"group": "prior", "cls": law.__name__, "params": params, "point": {"a": a, "b": b}, "truth": truth})
    path = pathlib.Path(__file__).parents[1] / "data" / "laws2.json"
    lines = ",\n".join(json.dumps(r) for r in records)
    about = f"50-digit integration of the defining integrals, mpmath {__import__('mpmath').__version__}"
    path.write_text(f'{{"about": "{about}",\n"records": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
