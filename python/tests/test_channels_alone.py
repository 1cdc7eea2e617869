"""Channels asked alone: several inputs and outputs, precisions, duals, and spectra that users give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treeamp as ta


def test_several_inputs_and_outputs_are_lists() -> None:
    """Sums against the Gaussian formulas: variances add, the rest is what is left."""
    az, bz, ax, bx = [2.0, 5.0], [np.array([1.0]), np.array([2.0])], 3.0, np.array([4.0])
    channel = ta.SumChannel(2)
    a_new, b_new = channel.compute_backward_message(az, bz, ax, bx)
    # to the first: x - z_2, of variance 1/3 + 1/5 and mean 4/3 - 2/5
    assert a_new == pytest.approx([1 / (1 / 3 + 1 / 5), 1 / (1 / 3 + 1 / 2)], rel=1e-14)
    assert [float(b[0]) for b in b_new] == pytest.approx([a_new[0] * (4 / 3 - 2 / 5), a_new[1] * (4 / 3 - 1 / 2)], rel=1e-14)
    r, v = channel.compute_backward_posterior(az, bz, ax, bx)
    assert v == pytest.approx([1 / (a + m) for a, m in zip(az, a_new)], rel=1e-14) and len(r) == 2
    assert channel.compute_backward_error(az, ax, [1.0, 1.0]) == pytest.approx(v, rel=1e-14)
    assert channel.compute_backward_state_evolution(az, ax, [1.0, 1.0]) == pytest.approx(a_new, rel=1e-14)
    assert channel.compute_forward_state_evolution(az, ax, [1.0, 1.0]) == pytest.approx(1 / (1 / 2 + 1 / 5), rel=1e-14)

    copies = ta.DuplicateChannel(2)
    first, second = copies.sample([1.0, 2.0])
    assert np.array_equal(first, second) and np.array_equal(first, [1.0, 2.0])
    assert copies.second_moment(1.5) == pytest.approx([1.5, 1.5], rel=1e-15)
    r, v = copies.compute_forward_posterior(1.0, [1.0], [2.0, 3.0], [[0.0], [5.0]])
    assert v == pytest.approx([1 / 6, 1 / 6], rel=1e-15) and [float(x[0]) for x in r] == pytest.approx([1.0, 1.0], rel=1e-15)
    assert copies.compute_forward_error(2.0, [1.0, 1.0], 1.0) == pytest.approx([0.25, 0.25], rel=1e-15)
    pieces = ta.ConcatChannel([1, 2]).compute_backward_state_evolution([2.0, 3.0], 1.0, 1.0)
    assert pieces == pytest.approx([1.0, 1.0], rel=1e-14)


@pytest.mark.parametrize("alpha", [0.3, 1.0, 2.5])
def test_duals_of_a_gaussian_matrix(alpha: float) -> None:
    r"""Closed forms: :math:`a_x = 1/v_x - 1/v_z`, :math:`a_z v_z + \alpha a_x v_x = 1`, and the information they make."""
    channel, vz, vx, tau = ta.MarchenkoPasturChannel(alpha), 0.5, 0.4, 1.2
    ax = 1 / vx - 1 / vz
    az = (1 - alpha * ax * vx) / vz
    # a bisection to the last bits of ln(gamma), and nodes that stand for the law to 1e-12
    assert channel.compute_precision(vz, vx, tau) == pytest.approx((az, ax), rel=1e-9)
    dual = 0.5 * np.log(tau / vz) - 0.5 + 0.5 * alpha * (np.log(vz / vx) + vx / vz - 1)
    assert channel.compute_dual_mutual_information(vz, vx, tau) == pytest.approx(dual, rel=1e-9)
    found = channel.compute_dual_free_energy(tau - vz, channel.second_moment(tau) - vx, tau)
    assert found == pytest.approx(dual - 0.5 * np.log(2 * np.pi * tau / np.e), rel=1e-9)
    assert channel.compute_n_eff(az, ax) == pytest.approx(alpha * ax * vx, rel=1e-9)


@pytest.mark.parametrize("channel", [ta.ReluChannel(), ta.GaussianChannel(0.3), ta.AbsChannel()], ids=repr)
def test_precisions_are_those_of_the_errors(channel: ta.Channel) -> None:
    az, ax, tau = 2.0, 3.0, 1.1
    vz, vx = channel.compute_backward_error(az, ax, tau), channel.compute_forward_error(az, ax, tau)
    # residuals of 1e-9 in the logarithms of the variances
    assert channel.compute_precision(vz, vx, tau) == pytest.approx((az, ax), rel=1e-7)
    information = channel.compute_mutual_information(az, ax, tau) - 0.5 * (az * vz + ax * vx)
    assert channel.compute_dual_mutual_information(vz, vx, tau) == pytest.approx(information, rel=1e-7)
    assert channel.compute_forward_overlap(az, ax, tau) == pytest.approx(channel.second_moment(tau) - vx, rel=1e-9)
    assert channel.compute_backward_overlap(az, ax, tau) == pytest.approx(tau - vz, rel=1e-9)


def test_variances_that_no_precisions_have() -> None:
    for channel in (ta.MarchenkoPasturChannel(0.5), ta.BiasChannel([1.0])):
        with pytest.raises(ta.RunError, match="there are no precisions"):
            channel.compute_precision(0.5, 0.9, 1.0)
    with pytest.raises(ta.NotAvailable, match="one input"):
        ta.SumChannel(2).compute_precision(0.5, 0.5, 1.0)
    with pytest.raises(ta.NotAvailable, match="linear"):
        ta.ReluChannel().compute_n_eff(1.0, 1.0)


class Bulk:
    """A spectrum by its averages, as tramp's users write an ensemble: a semicircle of eigenvalues, and some zeros."""

    alpha = 0.8

    def measure(self, f: Callable[[float], Any]) -> float:
        angle = (np.arange(200) + 0.5) * np.pi / 200
        places = 2.0 + np.cos(angle)
        weights = 0.7 * np.sin(angle) ** 2 / np.sum(np.sin(angle) ** 2)
        return 0.3 * f(0) + float(sum(w * f(z) for w, z in zip(weights, places)))


def test_an_ensemble_by_its_measure() -> None:
    channel, law = ta.AnalyticalLinearChannel(Bulk()), Bulk()
    for az, ax in ((1.0, 1e-3), (1.0, 1.0), (0.1, 50.0)):
        # Gauss nodes of 200 places: rounding of their recurrence
        vz = law.measure(lambda z: 1 / (az + ax * z))
        assert channel.compute_backward_error(az, ax, 1.0) == pytest.approx(vz, rel=1e-10)
        vx = law.measure(lambda z: z / (az + ax * z)) / law.alpha
        assert channel.compute_forward_error(az, ax, 1.0) == pytest.approx(vx, rel=1e-10)
    model = (ta.GaussianPrior(None) @ ta.V("x") @ channel @ ta.V("z") @ ta.GaussianLikelihood(None, 0.1)).to_model()
    se = ta.StateEvolution(model)
    assert se.iterate().converged
    exact = law.measure(lambda z: 1 / (1 + z / 0.1))
    assert se.get_variables_data(["x"])["x"]["v"] == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(
    ("measure", "sentence"),
    [
        (lambda f: 0.5 * f(1.0), "must average 1 to 1"),
        (lambda f: 0.5 * f(1.0) + 0.5 * f(-1.0), "not negative"),
        (lambda f: sum(f(10.0**-k) for k in range(200)) / 200, "too close to zero"),
        (lambda f: "much", "must be a number"),
    ],
    ids=["half a law", "negative", "too close to zero", "no numbers"],
)
def test_a_measure_that_is_none(measure: Any, sentence: str) -> None:
    ensemble = type("Mine", (), {"alpha": 1.0, "measure": lambda self, f: measure(f)})()
    with pytest.raises((ValueError, TypeError), match=sentence):
        ta.AnalyticalLinearChannel(ensemble)


def test_an_ensemble_without_a_spectrum() -> None:
    with pytest.raises(ta.ModelError, match="unknown spectrum of Mine"):
        ta.AnalyticalLinearChannel(type("Mine", (), {"alpha": 1.0})())


def test_the_ensemble_of_marchenko_and_pastur() -> None:
    law = ta.MarchenkoPasturEnsemble(alpha=0.4)
    assert law.mean_spectrum == 0.4
    assert law.measure(lambda z: z) == pytest.approx(0.4, rel=1e-12)


def test_a_penalty_is_no_teacher() -> None:
    for ask in ("compute_forward_vmq_RS", "compute_potential_RS"):
        with pytest.raises(ta.ModelError, match="MAP_L1NormPrior: a penalty is not a probability distribution"):
            getattr(ta.GaussianPrior(3), ask)(2.0, 0.7, 0.8, ta.MAP_L1NormPrior(3), 0.1)
    with pytest.raises(ta.ModelError, match="a penalty is not a probability distribution"):
        ta.MAP_L1NormPrior(3).compute_forward_error(1.0)
    v, m, q = ta.MAP_L1NormPrior(3).compute_forward_vmq_RS(2.0, 0.7, 0.8, ta.GaussianPrior(3), 0.1)
    assert v > 0 and q > 0 and m > 0


def test_nothing_unknown_has_infinite_fields() -> None:
    law = ta.LeakyReluLikelihood(0.1, [1.0])
    assert law.compute_backward_state_evolution_RS(2.0, 0.7, 0.8, law, 1.0, 1.0) == (np.inf, np.inf, np.inf)
