"""Variances of a student of abs whose field knows nothing of the signal, for `crates/treeamp/tests/averages/evaluations.rs`.

At an output y the student's mean is y tanh(b y) and its variance (y / cosh(b y))^2, with b ~ N(0, q) whatever the signal. Averaged over b and
over y = |z| (both signs of z) or y = max(z, 0) (one of them, the other gives y = 0), z ~ N(0, 1).

    pip install mpmath && python oracle/generate/unseen_students.py
"""

from mpmath import mp, mpf, npdf, quad, sech, sqrt

mp.dps = 20


def noise(s):
    """E[sech(s x)^2], x ~ N(0, 1)."""
    cuts = [mpf(0), mpf(1), mpf(4), mpf(12)] + [min(mpf(12), k / s) for k in (1, 4, 10, 30)]
    return 2 * quad(lambda x: npdf(x) * sech(s * x) ** 2, sorted(set(cuts)))


def variance(q, signs):
    """The average over the signals of one sign or of both."""
    scale = 1 / sqrt(q)
    cuts = [k * scale for k in (0, 1, 3, 10, 30, 100)] + [mpf(c) for c in (0.5, 1, 2, 4, 9)]
    return signs * quad(lambda z: npdf(z) * z * z * noise(z / scale), sorted(cuts))


for teacher, q, signs in [("relu", 18_269.8, 1), ("abs", 3_341.1, 2)]:
    print(teacher, q, mp.nstr(variance(mpf(q), signs), 15))
