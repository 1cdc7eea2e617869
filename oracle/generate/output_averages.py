"""Averages of state evolution of outputs behind noise, for `crates/treeamp/tests/averages/outputs.rs`.

The definition itself, on grids: z0 ~ N(0, 1/tau0_hat), y ~ p0(y | z0), b ~ N(m_hat z0, q_hat), and at each pair of y and b the student's integrals over z
under exp(-a z^2 / 2 + b z), a = q_hat + tau_hat. Of a complex signal everything depends on |z0|, |b| and |z|, with Bessel functions for the angles; all
numbers are per real component. The Gauss-Legendre rules are on equal panels; with half as many panels no number moves by more than 1e-9.

    pip install numpy scipy && python oracle/generate/output_averages.py > oracle/data/output_averages.json
"""

import json

import numpy as np
from scipy.special import gamma, ive, ndtr

TAIL = 9.0


def panels(low, high, count, points=16):
    """Nodes and weights of Gauss-Legendre rules on equal panels."""
    x, w = np.polynomial.legendre.leggauss(points)
    step = (high - low) / count
    nodes = np.concatenate([low + step * (i + (x + 1) / 2) for i in range(count)])
    return nodes, np.tile(w * step / 2, count)


def lengths(high, count):
    """The same from 0 for a logarithm there, by x = t^4."""
    t, w = panels(0, high**0.25, count)
    return t**4, 4 * t**3 * w


def normal(x, variance):
    return np.exp(-(x**2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)


def gaussian(y, z, noise):
    return normal(y - z, noise)


def student_t(y, z, df, scale):
    power = (1 + ((y - z) / scale) ** 2 / df) ** (-(df + 1) / 2)
    return power * gamma((df + 1) / 2) / (gamma(df / 2) * np.sqrt(np.pi * df) * scale)


def censored(y, z, threshold, noise):
    return np.where(y > threshold, gaussian(y, z, noise), ndtr((threshold - z) / np.sqrt(noise)))


REAL = {"gaussian": gaussian, "student_t_noise": student_t, "censored": censored}


def line(student, teacher, at, fine):
    """m, v, err and the potential of real laws; a law is a name and its parameters."""
    m_hat, q_hat, tau_hat, tau0_hat = at
    tau0, a = 1 / tau0_hat, q_hat + tau_hat
    noise = teacher[-1]
    span = TAIL * np.sqrt(tau0 + noise)
    z0, w0 = panels(-TAIL * np.sqrt(tau0), TAIL * np.sqrt(tau0), 40 * fine)
    w0 = w0 * normal(z0, tau0)
    # a censored output is at its threshold or above it
    low = teacher[1] if teacher[0] == "censored" else -span
    y, wy = panels(low, span, 30 * fine)
    if teacher[0] == "censored":
        y, wy = np.append(y, teacher[1]), np.append(wy, 1.0)
    width = np.sqrt(q_hat + m_hat**2 * tau0)
    b, wb = panels(-TAIL * width, TAIL * width, 40 * fine)
    given = REAL[teacher[0]](y[:, None], z0[None, :], *teacher[1:])
    field = normal(b[None, :] - m_hat * z0[:, None], q_hat)
    weight = (given * w0) @ field * wy[:, None] * wb[None, :]
    known = (given * w0 * z0) @ field * wy[:, None] * wb[None, :]
    # the tilt has its top at b / a, or where the output puts it
    reach = max(span, TAIL * width / a) + TAIL / np.sqrt(a)
    z, wz = panels(-reach, reach, 60 * fine)
    tilt = np.exp(-a * (z[:, None] - b[None, :] / a) ** 2 / 2)
    own = REAL[student[0]](y[:, None], z[None, :], *student[1:]) * wz
    mass, first, second = own @ tilt, (own * z) @ tilt, (own * z * z) @ tilt
    r = first / mass
    v = second / mass - r**2
    log_z = np.log(mass) + b[None, :] ** 2 / (2 * a)
    assert abs(weight.sum() - 1) < 1e-11, weight.sum()
    m, q = (known * r).sum(), (weight * r * r).sum()
    return np.array([m, (weight * v).sum(), q - m * m / tau0, (weight * log_z).sum()])


def rice(y, z, noise):
    """y / noise exp(-(y^2 + z^2) / 2 noise) I_0(y z / noise)."""
    return y / noise * np.exp(-((y - z) ** 2) / (2 * noise)) * ive(0, y * z / noise)


def plane(student, teacher, at, fine):
    """The same of a complex signal; noise zero is the modulus itself."""
    m_hat, q_hat, tau_hat, tau0_hat = at
    tau0, a = 1 / tau0_hat, q_hat + tau_hat
    s0, w0 = lengths(TAIL * np.sqrt(tau0), 40 * fine)
    w0 = w0 * s0 / tau0 * np.exp(-(s0**2) / (2 * tau0))
    if teacher > 0:
        y, wy = lengths(TAIL * np.sqrt(tau0 + teacher), 40 * fine)
        given = rice(y[:, None], s0[None, :], teacher) * wy[:, None] * w0[None, :]
    else:
        y, given = s0, np.diag(w0)
    width = np.sqrt(q_hat + m_hat**2 * tau0)
    b, wb = panels(0, TAIL * width, 40 * fine)
    kappa = m_hat * s0[:, None] * b[None, :] / q_hat
    top = np.exp(-((b[None, :] - m_hat * s0[:, None]) ** 2) / (2 * q_hat)) * b[None, :] / q_hat
    weight = given @ (top * ive(0, kappa)) * wb[None, :]
    known = given @ (top * ive(1, kappa) * s0[:, None]) * wb[None, :]
    if student > 0:
        reach = max(y[-1], b[-1] / a) + TAIL / np.sqrt(a)
        s, ws = panels(0, reach, 60 * fine)
        own = rice(y[:, None], s[None, :], student) * (2 * np.pi * s * ws)
        tilt = np.exp(-a * (s[:, None] - b[None, :] / a) ** 2 / 2)
        mass = own @ (tilt * ive(0, s[:, None] * b[None, :]))
        first = (own * s) @ (tilt * ive(1, s[:, None] * b[None, :]))
        second = (own * s * s) @ (tilt * ive(0, s[:, None] * b[None, :]))
        r, square = first / mass, second / mass
        log_z = np.log(mass) + b[None, :] ** 2 / (2 * a)
    else:
        arc = y[:, None] * b[None, :]
        r = y[:, None] * ive(1, arc) / ive(0, arc)
        square = np.broadcast_to(y[:, None] ** 2, r.shape)
        log_z = np.log(2 * np.pi * y[:, None] * ive(0, arc)) + arc - a * y[:, None] ** 2 / 2
    assert abs(weight.sum() - 1) < 1e-11, weight.sum()
    m, q = (known * r).sum() / 2, (weight * r * r).sum() / 2
    v = (weight * (square - r * r)).sum() / 2
    return np.array([m, v, q - m * m / tau0, (weight * log_z).sum() / 2])


def listed(student, teacher, at, fine):
    """A variance per observation, of either: averages of m, q and v over the observations."""
    tau0 = 1 / at[3]
    sums = np.zeros(4)
    for own, own0 in zip(student, teacher, strict=True):
        m, v, err, potential = line(own, own0, at, fine)
        sums += np.array([m, v, err + m * m / tau0, potential]) / len(teacher)
    m, v, q, potential = sums
    return np.array([m, v, q - m * m / tau0, potential])


BAYES = [(m, m, t, t) for m, t in [(0.05, 0.6), (0.7, 1.0), (8.0, 2.0)]]
OTHER = [(1.3, 0.9, 0.7, 1.2), (0.4, 2.0, 0.5, 1.0)]


def records():
    variances, others = [0.2, 0.5, 0.2, 2.0], [0.3, 0.3, 1.0, 1.5]
    own = [("gaussian", v) for v in variances]
    many = len(variances)
    hetero = ["heteroscedastic_noise", variances]
    yield from ((listed, own, own, at, hetero, hetero) for at in BAYES)
    students = [
        ([("gaussian", v) for v in others], ["heteroscedastic_noise", others]),
        ([("gaussian", 0.4)] * many, ["gaussian", 0.4]),
        ([("student_t_noise", 3.0, 0.7)] * many, ["student_t_noise", 3.0, 0.7]),
    ]
    yield from ((listed, law, own, at, name, hetero) for law, name in students for at in OTHER)
    for law in [("censored", -0.3, 0.4), ("censored", 0.8, 0.1)]:
        yield from ((line, law, law, at, list(law), list(law)) for at in BAYES)
    law = ("censored", -0.3, 0.4)
    for student in [("censored", -0.3, 1.0), ("censored", -1.0, 0.4), ("gaussian", 0.4), ("student_t_noise", 3.0, 0.7)]:
        yield from ((line, student, law, at, list(student), list(law)) for at in OTHER)
    name = "rician_modulus"
    yield from ((plane, 0.3, 0.3, at, [name, 0.3], [name, 0.3]) for at in BAYES)
    for student, teacher in [(1.0, 0.3), (0.0, 0.3), (0.3, 0.0)]:
        yield from ((plane, student, teacher, at, [name, student], [name, teacher]) for at in OTHER)


def main():
    out = []
    for rule, student, teacher, at, name, name0 in records():
        coarse, value = rule(student, teacher, at, 1), rule(student, teacher, at, 2)
        assert np.abs(coarse - value).max() < 1e-9, (name, name0, at, coarse - value)
        row = {"student": name, "teacher": name0, "fields": at, "values": [float(f"{x:.14g}") for x in value]}
        out.append("    " + json.dumps(row))
    about = "m, v, err and potential at the fields m_hat, q_hat, tau_hat, tau0_hat; a rician_modulus without noise is the modulus"
    print('{\n  "about": ' + json.dumps(about) + ',\n  "records": [\n' + ",\n".join(out) + "\n  ]\n}")


main()
