"""Averages over a teacher with heavy tails, for `crates/treeamp/tests/averages/heavy_tails.rs`.

A signal x of Student's law (df, 0, scale) is seen as b = m_hat x + sqrt(q_hat) xi, that is y = x + sigma xi with sigma = sqrt(q_hat) / m_hat. Given y,
r0 = E[x | y] and v0 = Var[x | y] are inner integrals over x by Gauss-Legendre rules on panels; the outer integral over y has panels on ln y up to 1e12,
and beyond there the power y^(-df - 1) in closed form: what it leaves out is 1e-24 of it. 22 digits; with half as many panels no number moves by
more than 1e-13, relative.

- `optimal`: the student is the teacher, q_hat = m_hat: v = E[v0], and the information I(x; y) = -E ln p(y) - ln(2 pi e sigma^2) / 2.
- `students`: of precision a: m = E[r0 r], v = E[v(b)] and err = E[r^2] - m^2 / tau0, tau0 = scale^2 df / (df - 2).

    pip install mpmath && python oracle/generate/heavy_tails.py > oracle/data/heavy_tails.json
"""

import json
import sys

from mpmath import mp, mpf

mp.dps = 22
POINTS = 16
FAR = mpf(10) ** 12


def gauss_legendre(points):
    """Nodes and weights on [0, 1]: zeros of Legendre's polynomial."""
    nodes, weights = [], []
    for i in range(1, points + 1):
        x = mp.cos(mp.pi * (i - mpf(1) / 4) / (points + mpf(1) / 2))
        for _ in range(8):
            p, before = mpf(1), mpf(0)
            for k in range(1, points + 1):
                p, before = ((2 * k - 1) * x * p - (k - 1) * before) / k, p
            slope = points * (x * p - before) / (x * x - 1)
            x -= p / slope
        nodes.append((1 + x) / 2)
        weights.append(1 / ((1 - x * x) * slope * slope))
    return list(zip(nodes, weights))


RULE = gauss_legendre(POINTS)


def panels(breaks):
    for low, high in zip(breaks, breaks[1:]):
        for x, w in RULE:
            yield low + (high - low) * x, (high - low) * w


class Teacher:
    def __init__(self, df, scale, sigma, finer):
        self.df, self.scale, self.sigma, self.finer = mpf(df), mpf(scale), sigma, finer
        half = self.df / 2
        self.top = mp.gamma(half + mpf(1) / 2) / mp.gamma(half) / mp.sqrt(self.df * mp.pi) / self.scale
        self.tau0 = self.scale**2 * self.df / (self.df - 2)

    def density(self, x):
        u = x / self.scale
        return self.top * (1 + u * u / self.df) ** (-(self.df + 1) / 2)

    def given(self, y):
        """p(y), r0, v0."""
        # the noise has the width sigma, the law the width scale about zero
        reach = 12 * self.sigma
        marks = {y + 2 * self.sigma * mpf(k) / self.finer for k in range(-6 * self.finer, 6 * self.finer + 1)}
        marks |= {self.scale * mpf(k) / self.finer for k in range(-3 * self.finer, 3 * self.finer + 1)}
        marks = sorted(x for x in marks if abs(x - y) <= reach)
        mass, first, second = mpf(0), mpf(0), mpf(0)
        for x, w in panels(marks):
            gap = (x - y) / self.sigma
            weight = w * self.density(x) * mp.exp(-gap * gap / 2)
            # moments about y: their tails lose no digits
            mass += weight
            first += weight * (x - y)
            second += weight * (x - y) ** 2
        shift = first / mass
        return mass / mp.sqrt(2 * mp.pi) / self.sigma, y + shift, second / mass - shift * shift

    def average(self, f, powers):
        """Of even functions f_i(y, p, r0, v0), that grow as c y^power: pairs of (power, c), as y -> infinity, for each."""
        width = max(self.scale, self.sigma)
        core = [width * k / (2 * self.finer) for k in range(12 * self.finer + 1)]
        sums = [mpf(0)] * len(powers)
        low, high = mp.log(core[-1]), mp.log(FAR)
        steps = 20 * self.finer
        tail = [low + (high - low) * k / steps for k in range(steps + 1)]
        nodes = list(panels(core)) + [(mp.exp(u), w * mp.exp(u)) for u, w in panels(tail)]
        for y, w in nodes:
            p, r0, v0 = self.given(y)
            for i, x in enumerate(f(y, p, r0, v0)):
                sums[i] += 2 * w * p * x
        height = self.density(FAR) * FAR ** (self.df + 1)
        for i, terms in enumerate(powers):
            for power, c in terms:
                sums[i] += 2 * c * height * FAR ** (power - self.df) / (self.df - power)
        return sums


def optimal(df, scale, m_hat, finer):
    sigma = 1 / mp.sqrt(mpf(m_hat))
    teacher = Teacher(df, scale, sigma, finer)

    def f(y, p, r0, v0):
        return v0, -mp.log(p)

    v, entropy = teacher.average(f, [[(0, sigma**2)], []])
    return v, entropy - mp.log(2 * mp.pi * mp.e * sigma**2) / 2


def laplace(b, a, scale):
    """Mean and variance of e^{-|x|/scale} under e^{-a x^2/2 + b x}: two truncated normals."""
    # scaled so that the heavier side has mass one
    up, down = b - 1 / scale, -b - 1 / scale
    shift = max(up, down, mpf(0)) ** 2 / a / 2

    def scaled(c):
        """Mass, mean and second moment on x > 0 in units of 1 / sqrt(a)."""
        t = c / mp.sqrt(a)
        rest = mp.exp(-shift)
        # far below zero both factors are tiny and huge, and mpmath has the range for them
        mass = mp.exp(t * t / 2 - shift) * mp.erfc(-t / mp.sqrt(2)) * mp.sqrt(mp.pi / 2)
        mean = t * mass + rest
        return mass, mean, mass + t * mean

    one, two = scaled(up), scaled(down)
    mass = one[0] + two[0]
    mean = (one[1] - two[1]) / mass / mp.sqrt(a)
    return mean, (one[2] + two[2]) / mass / a - mean * mean


def binary(b, a, _):
    r = mp.tanh(b)
    return r, 1 - r * r


def student(df, scale, fields, law, parameter, finer):
    m_hat, q_hat, tau_hat = (mpf(x) for x in fields)
    a = q_hat + tau_hat
    teacher = Teacher(df, scale, mp.sqrt(q_hat) / m_hat, finer)

    def f(y, p, r0, v0):
        r, v = law(m_hat * y, a, parameter)
        return r0 * r, v, r * r

    if law is binary:
        powers = [[(1, mpf(1))], [], [(0, mpf(1))]]
    else:
        slope, shift = m_hat / a, 1 / (parameter * a)
        powers = [[(2, slope), (1, -shift)], [(0, 1 / a)], [(2, slope**2), (1, -2 * slope * shift)]]
    m, v, q = teacher.average(f, powers)
    return m, v, q - m * m / teacher.tau0


def digits(x):
    return float(mp.nstr(x, 17))


def main():
    records = []
    for df in ["2.01", "2.1", "2.5", "3", "5", "30"]:
        for scale, m_hat in [("1", "0.2"), ("0.8", "3"), ("1", "200")]:
            two = [optimal(df, scale, m_hat, finer) for finer in (1, 2)]
            print(df, scale, m_hat, [mp.nstr(y / x - 1, 3) for x, y in zip(*two)], file=sys.stderr, flush=True)
            v, information = two[1]
            records.append({"kind": "optimal", "df": float(df), "scale": float(scale), "m_hat": float(m_hat), "v": digits(v), "information": digits(information)})
    for df in ["2.1", "2.5", "3"]:
        for name, law, parameter in [("laplace", laplace, mpf(7) / 10), ("binary", binary, None)]:
            fields = ["1.5", "2", "0.3"]
            two = [student(df, "0.8", fields, law, parameter, finer) for finer in (1, 2)]
            print(df, name, [mp.nstr(y / x - 1, 3) for x, y in zip(*two)], file=sys.stderr, flush=True)
            m, v, err = two[1]
            records.append({"kind": "students", "df": float(df), "scale": 0.8, "fields": [float(x) for x in fields], "student": name, "m": digits(m), "v": digits(v), "err": digits(err)})
    print("{\n  \"about\": \"averages over a teacher of Student's law, 22 digits\",\n  \"records\": [")
    print(",\n".join("    " + json.dumps(r) for r in records))
    print("  ]\n}")


main()
