"""Reference values of further priors and likelihoods, by integration of their definitions with 60 digits.

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


def student_pieces(a, b, df, mean, scale, weight=1):
    (piece,) = student_t(a, b, df, mean, scale)
    _, lo, hi, log_weight, centers = piece
    return ("interval", lo, hi, lambda x: log_weight(x) + mp.log(weight), centers)


def spike_student_t(a, b, rho, df, scale):
    rho = mpf(rho)
    return [("point", mpf(0), mp.log(1 - rho)), student_pieces(a, b, df, 0, scale, rho)]


def root(slope, lo, hi):
    """The zero of a falling function between two places."""
    for _ in range(400):
        middle = (lo + hi) / 2
        lo, hi = (middle, hi) if slope(middle) > 0 else (lo, middle)
    return lo


def concave(value, slope, a, b, lo, hi, features):
    """A piece on the whole line: a concave function with its slope, and places and widths of its features. The top is between lo and hi."""
    top = root(lambda z: slope(z) - a * z + b, lo, hi)
    h = mpf(10) ** -20
    curvature = a - (slope(top + h) - slope(top - h)) / (2 * h)
    centers = [(top, 1 / mp.sqrt(curvature)), *features]
    return [("interval", -INF, INF, lambda z: value(z) - a * z * z / 2 + b * z, centers)]


def logistic_prior(a, b, mean, scale):
    mean, scale = mpf(mean), mpf(scale)

    def value(x):
        u = abs(x - mean) / scale
        return -u - 2 * mp.log1p(mp.exp(-u)) - mp.log(scale)

    def slope(x):
        return -mp.tanh((x - mean) / (2 * scale)) / scale

    far = 2 * (abs(mean) + (abs(b) + 1 / scale) / a) + 200 * scale if a else mean + 4000 * scale
    return concave(value, slope, a, b, -far, far, [(mean, scale)])


def gamma(a, b, shape, rate):
    shape, rate = mpf(shape), mpf(rate)
    constant = shape * mp.log(rate) - mp.loggamma(shape)
    # in the logarithm of x, where the weight is smooth: x = e^u
    def moment(k):
        def value(u):
            x = mp.exp(u)
            return (shape + k) * u + (b - rate) * x - a * x * x / 2 + constant

        top = root(lambda u: shape + k + (b - rate) * mp.exp(u) - a * mp.exp(2 * u), mpf(-200), mpf(200))
        x = mp.exp(top)
        width = 1 / mp.sqrt(2 * a * x * x - (b - rate) * x)
        log_mass, _ = moments([("interval", -INF, INF, value, [(top, width), (top, mpf(1))])], [], 200)
        return log_mass

    m0, m1, m2 = (moment(k) for k in range(3))
    r = mp.exp(m1 - m0)
    return m0, r, mp.exp(m2 - m0) - r * r


def logistic(a, b, y, flip_probability=0):
    y, e = mpf(y), mpf(flip_probability)
    far = (abs(b) + 1) / a if a else mpf(200)
    (piece,) = concave(lambda z: -mp.log1p(mp.exp(-y * z)), lambda z: y / (1 + mp.exp(y * z)), a, b, -far, far, [(mpf(0), mpf(1))])
    if not e:
        return [piece]

    def value(z):
        return mp.log(e + (1 - 2 * e) / (1 + mp.exp(-y * z)))

    _, lo, hi, _, centers = piece
    return [("interval", lo, hi, lambda z: value(z) - a * z * z / 2 + b * z, [*centers, (b / a, 1 / mp.sqrt(a))])]


def probit(a, b, y, noise_variance, flip_probability):
    sd, e = mp.sqrt(mpf(noise_variance)), mpf(flip_probability)

    def value(z):
        return mp.log(e + (1 - 2 * e) * mp.erfc(-y * z / sd / mp.sqrt(2)) / 2)

    # the step pulls the top away from b/a by up to its own width
    centers = [(mpf(0), sd), (b / a, 1 / mp.sqrt(a)), (b / (a + 1 / sd**2), 1 / mp.sqrt(a + 1 / sd**2))]
    return [("interval", -INF, INF, lambda z: value(z) - a * z * z / 2 + b * z, centers)]


def poisson(a, b, y):
    y = mpf(y)
    constant = mp.loggamma(y + 1)
    far = (abs(b) + y + 1) / a if a else mpf(100)
    high = min(far, mp.log(abs(b) + y + 2) + 1)
    return concave(lambda z: y * z - mp.exp(z) - constant, lambda z: y - mp.exp(z), a, b, -far, high, [(mp.log(y + 1), mpf(1))])


def poisson_softplus(a, b, y):
    y = mpf(y)
    constant = mp.loggamma(y + 1)

    def rate(z):
        return mp.log1p(mp.exp(z))

    def value(z):
        return (y * mp.log(rate(z)) if y else 0) - rate(z) - constant

    def slope(z):
        return (y / rate(z) - 1) / (1 + mp.exp(-z))

    far = (abs(b) + y + 1) / a if a else mpf(10) ** 4
    return concave(value, slope, a, b, -far, far, [(mpf(0), mpf(1))])


def negative_binomial(a, b, y, dispersion):
    y, k = mpf(y), mpf(dispersion)
    constant = mp.loggamma(y + k) - mp.loggamma(k) - mp.loggamma(y + 1) + k * mp.log(k)
    far = (abs(b) + y + k + 1) / a if a else mpf(200)

    def value(z):
        return y * z - (y + k) * mp.log(k + mp.exp(z)) + constant

    return concave(value, lambda z: y - (y + k) / (1 + k * mp.exp(-z)), a, b, -far, far, [(mp.log(k), mpf(1))])


def laplace_noise(a, b, y, scale):
    return laplace(a, b, y, scale)


def student_t_noise(a, b, y, df, scale):
    return student_t(a, b, df, y, scale)


def outlier_noise(a, b, y, variance, outlier_variance, outlier_probability):
    y, e, pieces = mpf(y), mpf(outlier_probability), []
    for weight, v in ((1 - e, mpf(variance)), (e, mpf(outlier_variance))):
        pieces.append(interval_piece(-INF, INF, a + 1 / v, b + y / v, mp.log(weight) + normal_constant(y, v)))
    return pieces


def behind_noise(a, b, variance, lo, hi):
    """The probability that z behind noise is in an interval, by two integrals: over the noise in closed form, over z here."""
    sd = mp.sqrt(mpf(variance))

    def value(z):
        # both ends on one side: the difference of the smaller tails
        ends = [(x - z) / sd / mp.sqrt(2) for x in (lo, hi)]
        ends = [-e for e in reversed(ends)] if ends[0] > 0 else ends
        low = mpf(0) if ends[0] == -INF else mp.erfc(-ends[0])
        high = mpf(2) if ends[1] == INF else mp.erfc(-ends[1])
        return mp.log((high - low) / 2) if high > low else mpf(-(10**30))

    k = 1 / sd**2
    near = [x for x in (lo, hi) if abs(x) != INF]
    centers = [(mpf(x), sd) for x in near] + [((b + x * k) / (a + k), 1 / mp.sqrt(a + k)) for x in near]
    centers += [(b / a, 1 / mp.sqrt(a))] if a else []
    return [("interval", -INF, INF, lambda z: value(z) - a * z * z / 2 + b * z, centers)]


def quantised(a, b, lo, hi, noise_variance):
    return behind_noise(a, b, noise_variance, -INF if lo is None else mpf(lo), INF if hi is None else mpf(hi))


def censored(a, b, y, threshold, noise_variance):
    y, c, v = mpf(y), mpf(threshold), mpf(noise_variance)
    if y > c:
        return [interval_piece(-INF, INF, a + 1 / v, b + y / v, normal_constant(y, v))]
    return behind_noise(a, b, v, -INF, c)


def rician_modulus(a, b_re, b_im, y, noise_variance):
    """In polar coordinates: Bessel functions of the angle, panels in the radius."""
    y, d, size = mpf(y), mpf(noise_variance), mp.hypot(b_re, b_im)

    def log_bessel(k, x):
        return mp.log(mp.besseli(k, x)) if x else mpf(-INF if k else 0)

    def log_weight(rho, k, power):
        return (
            mp.log(2 * mp.pi * y / d) - (y * y + rho * rho) / (2 * d) + log_bessel(0, y * rho / d)
            - a * rho * rho / 2 + log_bessel(k, size * rho) + power * mp.log(rho)
        )

    centers = [((size + y / d) / (a + 1 / d), 1 / mp.sqrt(a + 1 / d)), (size / (a + 1 / d), 1 / mp.sqrt(a + 1 / d))]

    def integral(k, power):
        if k and not size:
            return None
        piece = ("interval", mpf(10) ** -30, INF, lambda rho: log_weight(rho, k, power), centers)
        return moments([piece], [], 300)[0]

    m0, m1, m2 = integral(0, 1), integral(1, 2), integral(0, 3)
    r = mp.exp(m1 - m0) if m1 is not None else mpf(0)
    v = (mp.exp(m2 - m0) - r * r) / 2
    along = (r * b_re / size, r * b_im / size) if size else (mpf(0), mpf(0))
    return m0, *along, v


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
    (student_t, {"df": 1e6, "mean": 0.25, "scale": 0.5}, []),
    (regularised_horseshoe, {"scale": 0.125, "slab": 3.0}, [(0.0, 0.5), (-0.0625, 0.25)]),
    (logistic_prior, {"mean": 0.25, "scale": 0.5}, [(0.0, 1.5)]),
    (gamma, {"shape": 0.25, "rate": 2.0}, [(0.0, 1.5), (0.0, -1e6)]),
    (gamma, {"shape": 8.0, "rate": 0.5}, [(0.0, 0.25)]),
    (gamma, {"shape": 1e9, "rate": 5e8}, [(0.0, 0.0), (0.0, 1e4)]),
    (spike_student_t, {"rho": 0.125, "df": 4.0, "scale": 0.5}, [(1e4, 300.0)]),
    (spike_student_t, {"rho": 0.125, "df": 1e6, "scale": 0.5}, []),
]
OUTPUT_POINTS = [(0.5, -1.25), (2.0, 6.0), (1e3, 1e3), (1e12, 1e6), (1e-8, 1e4), (1e-12, -1e3)]
#: Likelihoods with their outputs.
OUTPUTS = [
    (logistic, {}, [{"y": 1.0}, {"y": -1.0}], []),
    (logistic, {"flip_probability": 0.125}, [{"y": 1.0}, {"y": -1.0}], []),
    (probit, {"noise_variance": 0.25, "flip_probability": 0.0}, [{"y": 1.0}, {"y": -1.0}], []),
    (probit, {"noise_variance": 2.0, "flip_probability": 0.125}, [{"y": 1.0}], []),
    (poisson, {}, [{"y": 0.0}, {"y": 7.0}, {"y": 1e6}], []),
    (poisson_softplus, {}, [{"y": 0.0}, {"y": 7.0}, {"y": 1e6}], []),
    (negative_binomial, {"dispersion": 0.5}, [{"y": 0.0}, {"y": 7.0}, {"y": 1e6}], []),
    (negative_binomial, {"dispersion": 1e12}, [{"y": 3.0}, {"y": 1e6}], []),
    (quantised, {"noise_variance": 0.25}, [{"lo": -1.0, "hi": 0.5}, {"lo": None, "hi": 2.0}, {"lo": 0.125, "hi": None}], []),
    (censored, {"threshold": 0.5, "noise_variance": 0.25}, [{"y": 0.5}, {"y": 3.0}], []),
    (laplace_noise, {"scale": 0.5}, [{"y": 0.25}, {"y": -20.0}], []),
    (student_t_noise, {"df": 4.0, "scale": 0.5}, [{"y": 0.25}, {"y": -20.0}], []),
    (outlier_noise, {"variance": 0.25, "outlier_variance": 64.0, "outlier_probability": 0.0625}, [{"y": 0.25}, {"y": -20.0}], []),
]


def record(group, law, params, point):
    found = law(**{k: mpf(v) if k in ("a", "b", "b_re", "b_im") else v for k, v in point.items()}, **params)
    if isinstance(found, list):
        log_z, ((r, v),) = moments(found, [lambda x: x], 1600)
        found = log_z, r, v
    names = ("A", "r", "v") if len(found) == 3 else ("A", "r_re", "r_im", "v")
    truth = {name: float(x) for name, x in zip(names, found)}
    cls = law.__name__.removesuffix("_prior")
    return {"group": group, "cls": cls, "params": params, "point": point, "truth": truth}


def main():
    mp.dps = 60
    records = [record("prior", law, params, {"a": a, "b": b}) for law, params, own in LAWS for a, b in POINTS + own]
    for law, params, outputs, own in OUTPUTS:
        for y in outputs:
            records += [record("likelihood", law, params, {"a": a, "b": b, **y}) for a, b in OUTPUT_POINTS + own]
    path = pathlib.Path(__file__).parents[1] / "data" / "laws2.json"
    lines = ",\n".join(json.dumps(r) for r in records)
    about = f"60-digit integration of the defining integrals, mpmath {__import__('mpmath').__version__}"
    path.write_text(f'{{"about": "{about}",\n"records": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
