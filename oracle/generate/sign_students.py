"""Variances of a student of sign facing another teacher, for `crates/treeamp/tests/averages/evaluations.rs`.

With L = 2 b_x + ln(Phi(beta) / Phi(-beta)), beta = b_z / sqrt(a_z), the variance of its output is 1 / cosh(L / 2)^2. It is averaged over
the signal z0, the noise of b_z = m_z z0 + sqrt(q_z) xi, and u = L, which is Gaussian given both.

    pip install numpy scipy && python oracle/generate/sign_students.py
"""

import numpy as np
from scipy.special import log_ndtr


def panels(low, high, count, points=20):
    """Nodes and weights of Gauss-Legendre rules on equal panels."""
    x, w = np.polynomial.legendre.leggauss(points)
    step = (high - low) / count
    nodes = np.concatenate([low + step * (i + (x + 1) / 2) for i in range(count)])
    return nodes, np.tile(w * step / 2, count)


def variance(activation, m_z, q_z, tau_z, m_x, q_x, span):
    """E[v_x]; signals beyond `span` deviations of the noise of b_z do not count."""
    u, weight_u = panels(-45, 45, 30)
    weight_u = weight_u / np.cosh(u / 2) ** 2
    xi, weight_xi = panels(-8.5, 8.5, 16)
    weight_xi = weight_xi * np.exp(-(xi**2) / 2) / np.sqrt(2 * np.pi)
    deviation = 2 * np.sqrt(q_x)
    total = 0.0
    for side in (-1, 1):
        s, weight_s = panels(0, span, span)
        for z, weight in zip(side * s * np.sqrt(q_z) / m_z, weight_s * np.sqrt(q_z) / m_z, strict=True):
            beta = (m_z * z + np.sqrt(q_z) * xi) / np.sqrt(q_z + tau_z)
            centre = 2 * m_x * activation(z) + log_ndtr(beta) - log_ndtr(-beta)
            density = np.exp(-(((u - centre[:, None]) / deviation) ** 2) / 2) / (deviation * np.sqrt(2 * np.pi))
            total += weight * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * weight_xi @ (density @ weight_u)
    return total


def leaky_relu(z):
    return z if z > 0 else 0.1 * z


print(variance(leaky_relu, 88503067.4824455, 177416213.8120567, 0.5877313748352799, 5363.67295765925, 7858.221611554245, 120))
print(variance(abs, 46267587.28545153, 229200081.72882676, 1.837594652470507, 37.88306953653448, 80.36355299908821, 40))
