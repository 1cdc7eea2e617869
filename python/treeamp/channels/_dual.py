r"""Precisions at which a channel has given average variances: the arguments of its dual potentials."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import RunError

__all__ = ["linear_precisions", "precisions"]

Pair = tuple[float, float]

#: Residuals of logarithms that count as zero, of averages that are known to about 1e-10.
_TOLERANCE = 1e-9


def _refused(vz: float, vx: float) -> RunError:
    return RunError(f"there are no precisions at which the average variances are vz={vz:g} and vx={vx:g}")


def linear_precisions(nodes: list[Pair], alpha: float, vz: float, vx: float) -> Pair:
    r"""Of a linear channel, from the spectrum of :math:`W^T W`: :math:`v_z = \eta(\gamma)/a_z` and
    :math:`\alpha v_x = (1 - \eta(\gamma))/a_x` with :math:`\gamma = a_x/a_z`, whose ratio falls with :math:`\gamma`."""
    values, weights = np.array(nodes).T

    def ratio(log_gamma: float) -> float:
        # alpha v_x / v_z = E[l / (1 + g l)] / E[1 / (1 + g l)]
        shrunk = 1 / (1 + np.exp(log_gamma) * values)
        return float(weights @ (values * shrunk) / (weights @ shrunk))

    low, high = -80.0, 80.0
    target = alpha * vx / vz
    if not ratio(high) < target < ratio(low):
        raise _refused(vz, vx)
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if ratio(middle) > target else (low, middle)
    gamma = float(np.exp(0.5 * (low + high)))
    az = float(weights @ (1 / (1 + gamma * values))) / vz
    return az, gamma * az


def precisions(errors: Callable[[float, float], Pair], vz: float, vx: float, tau_z: float) -> Pair:
    r"""Of any channel, by Newton's steps in :math:`\ln(a_z - 1/\tau_z)` and :math:`\ln a_x`."""

    def residual(at: np.ndarray) -> np.ndarray:
        found = errors(1 / tau_z + float(np.exp(at[0])), float(np.exp(at[1])))
        if not min(found) > 0:
            return np.array([np.inf, np.inf])
        return np.log([found[0] / vz, found[1] / vx])

    at = np.log([max(1 / vz - 1 / tau_z, 1e-3 / tau_z), 1 / vx])
    now = residual(at)
    for _ in range(100):
        if np.abs(now).max() < _TOLERANCE:
            return 1 / tau_z + float(np.exp(at[0])), float(np.exp(at[1]))
        h = 1e-4
        slopes = np.stack([(residual(at + step) - residual(at - step)) / (2 * h) for step in h * np.eye(2)], axis=1)
        try:
            step = np.clip(-np.linalg.solve(slopes, now), -2.0, 2.0)
        except np.linalg.LinAlgError:
            break
        for _ in range(30):
            new = residual(at + step)
            if np.abs(new).max() < np.abs(now).max():
                break
            step = 0.5 * step
        else:
            break
        at, now = at + step, new
    raise _refused(vz, vx)
