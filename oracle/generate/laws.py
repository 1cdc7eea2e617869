"""Reference values of the scalar laws, by integration of their definitions with 50 digits or more.

    pip install mpmath==1.3.0
    python oracle/generate/laws.py            # writes oracle/data/laws.json

A law is a list of pieces: point masses and intervals with a log-weight. Every interval is cut at a
geometric ladder around each place where the weight may vary, down to a fraction of its width there,
and each cell gets a 40-point Gauss-Legendre rule. Nothing here is shared with the library.
"""

import json
import pathlib
import sys

from mpmath import mp, mpf

DIGITS = 50
INF = float("inf")


def legendre_rule(n, cache={}):
    key = (n, mp.dps)
    if key not in cache:
        nodes = []
        for i in range(1, n + 1):
            x = mp.cos(mp.pi * (i - mpf(1) / 4) / (n + mpf(1) / 2))
            for _ in range(8 + mp.dps // 20):
                p0, p1 = mpf(1), x
                for k in range(2, n + 1):
                    p0, p1 = p1, ((2 * k - 1) * x * p1 - (k - 1) * p0) / k
                slope = n * (x * p1 - p0) / (x * x - 1)
                x -= p1 / slope
            nodes.append((x, 2 / ((1 - x * x) * slope * slope)))
        cache[key] = nodes
    return cache[key]


def ladder(lo, hi, centers):
    """Cut points of [lo, hi]: c +- w 1.25^k around every (c, w)."""
    reach = max([abs(c) for c, _ in centers] + [w for _, w in centers]) * 4 + 1
    cuts = {x for x in (lo, hi) if abs(x) != INF}
    for c, w in centers:
        cuts.add(mpf(c))
        step = w / 16
        while step < reach * 100:
            cuts.update((c - step, c + step))
            step *= mpf(5) / 4
    return sorted(x for x in cuts if lo <= x <= hi)


def moments(pieces, functions, depth):
    """log Z, and the mean and variance of every function, of a list of pieces.

    A piece is ("point", place, log weight) or ("interval", lo, hi, log weight, centers, digits kept).
    Cells lower than `depth` below the top are left out.
    """
    nodes = []  # (log weight, measure, place)
    for piece in pieces:
        if piece[0] == "point":
            nodes.append((piece[2], mpf(1), piece[1]))
            continue
        _, lo, hi, log_weight, centers = piece
        cuts = ladder(lo, hi, centers)
        heights = [log_weight(x) for x in cuts]
        top = max(heights)
        for (p, q), (g, h) in zip(zip(cuts, cuts[1:]), zip(heights, heights[1:])):
            if max(g, h) > top - depth:
                for x, w in legendre_rule(40):
                    z = p + (q - p) * (x + 1) / 2
                    nodes.append((log_weight(z), w * (q - p) / 2, z))
    top = max(g for g, _, _ in nodes)
    weights = [(mp.exp(g - top) * m, z) for g, m, z in nodes if g > top - depth]
    mass = mp.fsum(w for w, _ in weights)
    out = []
    for f in functions:
        values = [(w, f(z)) for w, z in weights]
        mean = mp.fsum(w * x for w, x in values) / mass
        out.append((mean, mp.fsum(w * (x - mean) ** 2 for w, x in values) / mass))
    return top + mp.log(mass), out


def gaussian_exponent(a, b):
    return lambda x: -a * x * x / 2 + b * x


def places(a, b, lo=-INF, hi=INF):
    """Centers for exp(-a x^2/2 + b x) on an interval: its vertex, and its ends with their slopes."""
    centers = []
    if a != 0 and lo < b / a < hi:
        centers.append((b / a, 1 / mp.sqrt(abs(a))))
    for end in (lo, hi):
        if abs(end) != INF:
            slope = abs(b - a * end)
            width = 1 / mp.sqrt(abs(a)) if a != 0 else mpf(10) ** 6
            centers.append((mpf(end), min(width, 1 / slope if slope else width, mpf(hi - lo))))
    return centers


# ---------------------------------------------------------------------------- laws
# Every law gives the pieces of its definition under a tilt: density, atoms and constants included.


def interval_piece(lo, hi, a, b, constant):
    g = gaussian_exponent(a, b)
    return ("interval", lo, hi, lambda x: g(x) + constant, places(a, b, lo, hi))


def normal_constant(mean, var):
    return -mean * mean / (2 * var) - mp.log(2 * mp.pi * var) / 2


def gaussian(p, a, b, lo=-INF, hi=INF, weight=1):
    mean, var = mpf(p.get("mean", 0)), mpf(p.get("var", 1))
    constant = normal_constant(mean, var) + mp.log(weight)
    return interval_piece(lo, hi, a + 1 / var, b + mean / var, constant)


def prior(cls, p, a, b):
    if cls == "GaussianPrior":
        return [gaussian(p, a, b)]
    if cls == "GaussBernoulliPrior":
        rho = mpf(p["rho"])
        return [("point", mpf(0), mp.log(1 - rho)), gaussian(p, a, b, weight=rho)]
    if cls == "BinaryPrior":
        plus = mpf(p["p_pos"])
        return [("point", mpf(1), mp.log(plus) - a / 2 + b), ("point", mpf(-1), mp.log(1 - plus) - a / 2 - b)]
    if cls == "ExponentialPrior":
        mean = mpf(p["mean"])
        return [interval_piece(mpf(0), INF, a, b - 1 / mean, -mp.log(mean))]
    if cls in ("PositivePrior", "IntervalPrior"):
        lo, hi = mpf(p.get("xmin", 0)), mpf(p["xmax"]) if "xmax" in p else INF
        mean, var = mpf(p.get("mean", 0)), mpf(p.get("var", 1))
        free = [interval_piece(lo, hi, 1 / var, mean / var, normal_constant(mean, var))]
        log_free, _ = moments(free, [], 400)
        return [interval_piece(lo, hi, a + 1 / var, b + mean / var, normal_constant(mean, var) - log_free)]
    if cls == "GaussianMixturePrior":
        return [
            gaussian({"mean": m, "var": v}, a, b, weight=mpf(w))
            for w, m, v in zip(p["probs"], p["means"], p["vars"])
        ]
    raise ValueError(cls)


def regions(kind, p):
    """(lo, hi, offset, slope) of a piecewise linear function."""
    if kind == "Sgn":
        return [(-INF, 0, -1, 0), (0, INF, 1, 0)]
    if kind == "Abs":
        return [(-INF, 0, 0, -1), (0, INF, 0, 1)]
    if kind == "AsymmetricAbs":
        s = mpf(p["shift"])
        return [(-INF, s, 0, -1), (s, INF, 0, 1)]
    if kind == "Relu":
        return [(-INF, 0, 0, 0), (0, INF, 0, 1)]
    if kind == "LeakyRelu":
        return [(-INF, 0, 0, mpf(p["slope"])), (0, INF, 0, 1)]
    if kind == "HardTanh":
        return [(-INF, -1, -1, 0), (-1, 1, 0, 1), (1, INF, 1, 0)]
    if kind == "HardSigmoid":
        k = mpf(p["L"])
        return [(-INF, -k, 0, 0), (-k, k, mpf(1) / 2, 1 / (2 * k)), (k, INF, 1, 0)]
    if kind == "SymmetricDoor":
        k = mpf(p["width"])
        return [(-INF, -k, 1, 0), (-k, k, -1, 0), (k, INF, 1, 0)]
    return None


ACTIVATIONS = {
    "Tanh": (mp.tanh, mp.atanh, lambda y: 1 / (1 - y * y)),
    "Sigmoid": (lambda z: 1 / (1 + mp.exp(-z)), lambda y: mp.log(y / (1 - y)), lambda y: 1 / (y * (1 - y))),
    "Softplus": (
        lambda z: mp.log1p(mp.exp(z)),
        lambda y: mp.log(mp.expm1(y)),
        lambda y: 1 / (1 - mp.exp(-y)),
    ),
}


def likelihood(cls, p, y, a, b):
    kind = cls.removesuffix("Likelihood")
    g = gaussian_exponent(a, b)
    if kind == "Gaussian":
        return [gaussian({"mean": y, "var": p["var"]}, a, b)]
    if kind in ACTIVATIONS:
        _, inverse, jacobian = ACTIVATIONS[kind]
        z = inverse(y)
        return [("point", z, g(z) + mp.log(jacobian(y)))]
    flat, points = [], []
    for lo, hi, offset, slope in regions(kind, p):
        if slope == 0 and offset == y:
            flat.append(interval_piece(lo, hi, a, b, 0))
        elif slope != 0:
            z = (y - offset) / slope
            if lo <= z <= hi:
                points.append(("point", z, g(z) - mp.log(abs(slope))))
    return flat or points


def channel(cls, p, az, bz, ax, bx):
    """Pieces in z, and the output as a function of z."""
    kind = cls.removesuffix("Channel")
    if kind in ACTIVATIONS:
        phi, inverse, _ = ACTIVATIONS[kind]
        h = lambda z: -az * z * z / 2 + bz * z - ax * phi(z) ** 2 / 2 + bx * phi(z)
        centers = [(bz / az, 1 / mp.sqrt(az)), (mpf(0), min(1 / mp.sqrt(az), mpf(1)))]
        target = bx / ax if ax > 0 else mpf(0)
        if ax > 0 and 0 < target and (kind == "Softplus" or target < 1) or kind == "Tanh" and abs(target) < 1:
            z = inverse(target)
            slope = mp.diff(phi, z)
            centers.append((z, 1 / mp.sqrt(az + ax * slope**2)))
        # the top, wherever it is: from the best point so far, by successively finer ladders
        for _ in range(6):
            top = max(ladder(-INF, INF, centers), key=h)
            slope = mp.diff(phi, top)
            centers.append((top, 1 / mp.sqrt(az + abs(ax) * slope**2)))
        return [("interval", -INF, INF, h, centers)], phi
    table = regions(kind, p)

    def phi(z):
        return next(mpf(o + s * z) for lo, hi, o, s in table if lo <= z <= hi)

    pieces = []
    for lo, hi, offset, slope in table:
        a, b = az + slope**2 * ax, bz + slope * (bx - ax * offset)
        pieces.append(interval_piece(lo, hi, a, b, -ax * mpf(offset) ** 2 / 2 + bx * offset))
    return pieces, phi


def reference(group, cls, params, point, digits=DIGITS, depth=400):
    """The record of one point; numbers of `params` and `point` are exact binary fractions."""
    mp.dps = digits
    q = {k: mpf(v) for k, v in point.items()}
    if group == "channel":
        pieces, phi = channel(cls, params, q["az"], q["bz"], q["ax"], q["bx"])
        log_z, ((rz, vz), (rx, vx)) = moments(pieces, [lambda z: z, phi], depth)
        truth = {"A": log_z, "rz": rz, "vz": vz, "rx": rx, "vx": vx}
    else:
        pieces = prior(cls, params, **q) if group == "prior" else likelihood(cls, params, **q)
        log_z, ((r, v),) = moments(pieces, [lambda x: x], depth)
        truth = {"A": log_z, "r": r, "v": v}
    numbers = {k: float(x) for k, x in truth.items()}
    return {"group": group, "cls": cls, "params": params, "point": point, "truth": numbers}


# -------------------------------------------------------------------------- points

PRIOR_POINTS = [(1e-8, 0.3), (0.5, -1.25), (1e3, 1e3), (1e6, -50.0), (1e12, 1e6), (1e-8, -1e6), (1e12, 0.0)]
PRIORS = [
    ("GaussianPrior", {"mean": 0.5, "var": 2.0}),
    ("GaussBernoulliPrior", {"rho": 0.25, "mean": 0.5, "var": 2.0}),
    ("GaussBernoulliPrior", {"rho": 1e-6, "var": 100.0}),
    ("BinaryPrior", {"p_pos": 0.25}),
    ("ExponentialPrior", {"mean": 0.75}),
    ("PositivePrior", {}),
    ("PositivePrior", {"mean": -20.0, "var": 1.0}),
    ("IntervalPrior", {"xmin": -1.0, "xmax": 2.0, "mean": 0.25, "var": 0.5}),
    ("IntervalPrior", {"xmin": 20.0, "xmax": 20.001, "mean": 0.0, "var": 1.0}),
    ("GaussianMixturePrior", {"probs": [0.25, 0.5, 0.25], "means": [-2.0, 0.0, 1.5], "vars": [0.125, 0.001, 0.5]}),
]
NEGATIVE = [
    ("IntervalPrior", {"xmin": -1.0, "xmax": 2.0, "mean": 0.25, "var": 0.5}, [(-2.0, 0.5), (-3.0, -1.0), (-1e4, 30.0)]),
    ("GaussianPrior", {"mean": 0.5, "var": 2.0}, [(-0.25, 1.0)]),
    ("BinaryPrior", {"p_pos": 0.999}, [(-5.0, -400.0), (1.0, 340.0)]),
]
LIKELIHOODS = [
    ("GaussianLikelihood", {"var": 1e-10}, [0.3]),
    ("SgnLikelihood", {}, [1.0, -1.0]),
    ("AbsLikelihood", {}, [0.7]),
    ("AsymmetricAbsLikelihood", {"shift": 0.5}, [0.3, 0.7]),
    ("ReluLikelihood", {}, [0.0, 1.5]),
    ("LeakyReluLikelihood", {"slope": 0.125}, [-0.5, 2.0]),
    ("HardTanhLikelihood", {}, [-1.0, 0.25]),
    ("HardSigmoidLikelihood", {"L": 2.5}, [0.0, 0.25, 1.0]),
    ("SymmetricDoorLikelihood", {"width": 1.0}, [1.0, -1.0]),
    ("SymmetricDoorLikelihood", {"width": 1e-8}, [-1.0]),
    ("TanhLikelihood", {}, [0.75]),
    ("SigmoidLikelihood", {}, [0.125]),
    ("SoftplusLikelihood", {}, [0.375]),
]
LIKELIHOOD_POINTS = [(0.5, -1.25), (1e-8, 20.0), (1e6, -2e4), (1e12, 1e6)]
CHANNELS = [
    ("SgnChannel", {}),
    ("AbsChannel", {}),
    ("AsymmetricAbsChannel", {"shift": 0.5}),
    ("ReluChannel", {}),
    ("LeakyReluChannel", {"slope": 0.125}),
    ("HardTanhChannel", {}),
    ("HardSigmoidChannel", {"L": 2.5}),
    ("SymmetricDoorChannel", {"width": 1.0}),
]
CHANNEL_POINTS = [(2.0, 1.5, 1.5, 1.25), (1e-8, 1.0, 1e6, 5e5), (1e6, -2e7, 1.0, 3.0), (1.0, 20.0, 0.0, 0.0), (1e12, 1e6, 1e12, 1e6)]
SMOOTH = ["TanhChannel", "SigmoidChannel", "SoftplusChannel"]
SMOOTH_POINTS = CHANNEL_POINTS + [(1e-8, 0.0, 1e12, 5e11), (1e4, 2e4, 1e4, -2e4), (0.25, -5.0, 1e-8, 1e6)]


def points():
    for cls, params in PRIORS:
        for a, b in PRIOR_POINTS:
            yield "prior", cls, params, {"a": a, "b": b}, {}
    for cls, params, list_of_points in NEGATIVE:
        for a, b in list_of_points:
            yield "prior", cls, params, {"a": a, "b": b}, {"depth": 1600}
    for cls, params, ys in LIKELIHOODS:
        for y in ys:
            for a, b in LIKELIHOOD_POINTS:
                yield "likelihood", cls, params, {"y": y, "a": a, "b": b}, {}
    for cls in CHANNELS:
        for az, bz, ax, bx in CHANNEL_POINTS:
            yield "channel", *cls, {"az": az, "bz": bz, "ax": ax, "bx": bx}, {"depth": 1600}
    for cls in SMOOTH:
        for az, bz, ax, bx in SMOOTH_POINTS:
            yield "channel", cls, {}, {"az": az, "bz": bz, "ax": ax, "bx": bx}, {"depth": 1600}
    # saturated outputs: the variance of x is far below the rounding of x itself
    for cls in SMOOTH[:2]:
        for az, bz in [(1.0, 20.0), (0.25, 25.0), (4.0, -240.0)]:
            yield "channel", cls, {}, {"az": az, "bz": bz, "ax": 1.0, "bx": -3.0}, {"digits": 320, "depth": 1600}


def main():
    records = []
    for group, cls, params, point, options in points():
        records.append(reference(group, cls, params, point, **options))
        print(f"\r{len(records)} {cls:30}", end="", file=sys.stderr)
    path = pathlib.Path(__file__).parents[1] / "data" / "laws.json"
    lines = ",\n".join(json.dumps(r) for r in records)
    about = f"50-digit integration of the defining integrals, mpmath {__import__('mpmath').__version__}"
    path.write_text(f'{{"about": "{about}",\n"tolerance": 1e-9,\n"records": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
