"""What was broken in tramp is right here."""

from __future__ import annotations

import numpy as np
import pytest
from test_modules import PRIORS

import treeamp as ta


def test_binary_variance_does_not_underflow() -> None:
    v = ta.BinaryPrior(1).scalar_forward_variance(0.0, np.array([20.0, 50.0, 300.0]))
    assert np.all(v > 0)
    assert v == pytest.approx(4 * np.exp(-2 * np.array([20.0, 50.0, 300.0])), rel=1e-12)


@pytest.mark.parametrize("p_pos", [0.0, 1.0])
def test_certain_binary(p_pos: float) -> None:
    r, v = ta.BinaryPrior(2, p_pos=p_pos).compute_forward_posterior(1.0, [0.3, -0.2])
    assert r == pytest.approx(np.full(2, 2 * p_pos - 1)) and v == 0


def test_exponential_samples_have_their_mean() -> None:
    """100000 draws: four standard errors of the mean are 4 * 3 / 316."""
    x = ta.ExponentialPrior(100_000, mean=3.0).sample(seed=0)
    assert abs(x.mean() - 3.0) < 4 * 3 / np.sqrt(x.size)


def test_exponential_far_in_the_tail() -> None:
    v = ta.ExponentialPrior(1).scalar_forward_variance(1.0, np.array([-1e3, -1e5]))
    assert v == pytest.approx(1 / np.array([1001.0, 100001.0]) ** 2, rel=1e-4) and np.all(v > 0)


def test_state_evolution_of_all_priors() -> None:
    for prior in PRIORS:
        tau = prior.second_moment()
        assert 0 < prior.compute_forward_error(2.0) < tau
        assert prior.compute_forward_overlap(2.0) == pytest.approx(tau - prior.compute_forward_error(2.0), rel=1e-8)


def test_mixture_samples_of_any_shape() -> None:
    assert ta.GaussianMixturePrior((2, 3)).sample(seed=0).shape == (2, 3)


def test_sign_far_in_the_tail() -> None:
    _, v = ta.SgnLikelihood([1.0]).compute_backward_posterior(1.0, [-5e4])
    assert v == pytest.approx(1 / 5e4**2, rel=1e-6)


def test_abs_at_high_precision() -> None:
    """tramp gave zero from a = 70 on; the numbers are the truth recorded with that."""
    abs_ = ta.AbsLikelihood(None)
    assert abs_.compute_backward_error(70.0, 1.0) == pytest.approx(0.00105, abs=5e-6)
    assert abs_.compute_backward_error(100.0, 1.0) == pytest.approx(0.00061, abs=5e-6)


def test_asymmetric_abs_is_a_number() -> None:
    likelihood = ta.AsymmetricAbsLikelihood([0.5, 1.5])
    r, v = likelihood.compute_backward_posterior(1.0, [0.3, -0.2])
    assert np.isfinite(r).all() and 0 <= v < 1.5**2 and np.isfinite(likelihood.compute_log_partition(1.0, [0.3, -0.2]))


@pytest.mark.parametrize("slope", [0.1, -0.5])
def test_leaky_relu_at_zero_and_with_negative_slope(slope: float) -> None:
    r, _ = ta.LeakyReluLikelihood(slope, [0.0, 1.0]).compute_backward_posterior(1.0, [0.5, 0.5])
    assert r[0] == pytest.approx(0, abs=1e-12) and np.isfinite(r).all()


def test_hard_tanh_free_energy_is_consistent() -> None:
    """v = tau - 2 dA/da: the difference quotient leaves 1e-6."""
    h_tanh, h = ta.HardTanhLikelihood(None), 1e-4
    slope = (h_tanh.compute_free_energy(3 + h, 1.0) - h_tanh.compute_free_energy(3 - h, 1.0)) / (2 * h)
    assert h_tanh.compute_backward_error(3.0, 1.0) == pytest.approx(1 - 2 * slope, abs=1e-6)


def test_hard_sigmoid_has_one_knee() -> None:
    assert ta.HardSigmoidChannel().knee == ta.HardSigmoidLikelihood(None).knee


def test_narrow_door() -> None:
    likelihood = ta.SymmetricDoorLikelihood(1e-9, [-1.0])
    r, v = likelihood.compute_backward_posterior(1e8, [3.0])
    # uniform on a width of 2e-9
    assert v == pytest.approx((2e-9) ** 2 / 12, rel=1e-6) and abs(r[0]) < 1e-9
    assert likelihood.compute_log_partition(1e8, [3.0]) == pytest.approx(np.log(2e-9), rel=1e-9)


@pytest.mark.parametrize("kind", ["perceptron", "door", "sign"])
def test_state_evolution_starts_from_nothing(kind: str) -> None:
    prior = ta.BinaryPrior(None) if kind == "perceptron" else ta.GaussBernoulliPrior(None, 0.3)
    output = ta.SymmetricDoorLikelihood(1.0, None) if kind == "door" else ta.SgnLikelihood(None)
    model = (prior @ ta.V("x") @ ta.MarchenkoPasturChannel(1.0) @ ta.V("z") @ output).to_model()
    report = ta.StateEvolution(model).iterate(max_iter=200, initializer=ta.ConstantInit(a=0))
    assert 0 < report.variance("x") <= prior.second_moment() * (1 + 1e-12)


def test_svd_flag_changes_nothing() -> None:
    W = ta.GaussianEnsemble(3, 7).generate(seed=0)
    at = 0.7, np.ones(7), 2.0, np.ones(3)
    one, other = ta.LinearChannel(W), ta.LinearChannel(W, precompute_svd=False)
    assert one.compute_backward_posterior(*at)[1] == other.compute_backward_posterior(*at)[1]
    exact = np.trace(np.linalg.inv(0.7 * np.eye(7) + 2.0 * W.T @ W)) / 7
    assert one.compute_backward_posterior(*at)[1] == pytest.approx(exact, rel=1e-12)


def test_shannon_transform_at_zero() -> None:
    assert ta.MarchenkoPasturEnsemble(0.5).shannon_transform(0.0) == 0


def test_sum_and_duplicate_have_log_partitions() -> None:
    rng = np.random.default_rng(1)
    b = rng.normal(size=(3, 4))
    # x = z1 + z2, integrated by hand: a Gaussian of dimension two per component
    P = np.array([[1.0 + 0.7, 0.7], [0.7, 2.0 + 0.7]])
    for channel, exact in (
        (
            ta.SumChannel(2).compute_log_partition([1.0, 2.0], [b[0], b[1]], 0.7, b[2]),
            sum(
                0.5 * h @ np.linalg.solve(P, h) + np.log(2 * np.pi) - 0.5 * np.log(np.linalg.det(P))
                for h in (np.array([b[0, k] + b[2, k], b[1, k] + b[2, k]]) for k in range(4))
            ),
        ),
        (
            ta.DuplicateChannel(2).compute_log_partition(1.0, b[0], [2.0, 0.7], [b[1], b[2]]),
            sum(0.5 * b[:, k].sum() ** 2 / 3.7 + 0.5 * np.log(2 * np.pi / 3.7) for k in range(4)),
        ),
    ):
        assert channel == pytest.approx(exact, rel=1e-12)


def test_binary_and_ternary_ensembles() -> None:
    W = ta.BinaryEnsemble(20, 400, p_pos=0.5).generate(seed=1)
    assert np.allclose(np.abs(W), 1 / 20)
    T = ta.TernaryEnsemble(200, 400).generate(seed=1)
    # 80000 entries of variance 1/400: the sample variance errs by less than 2%
    assert T.var() * 400 == pytest.approx(1, abs=0.02) and len(np.unique(T)) == 3


def test_concatenation_has_potentials() -> None:
    """Of each piece that of a copy; the mean is weighted by the lengths."""
    channel, copy = ta.ConcatChannel([2, 3]), ta.DuplicateChannel(1)
    az, ax, tau = [3.0, 2.5], 1.5, [1.0, 2.0]
    for ask in ("compute_free_energy", "compute_mutual_information"):
        pieces = [getattr(copy, ask)(a, ax, t) for a, t in zip(az, tau)]
        # rounding only
        assert getattr(channel, ask)(az, ax, tau) == pytest.approx((2 * pieces[0] + 3 * pieces[1]) / 5, rel=1e-14)


def test_any_function_is_an_activation() -> None:
    """The same numbers as of the native one, up to the tolerance of both quadratures, and in a run."""
    mine, native = ta.ActivationChannel(np.tanh, name="mine"), ta.TanhChannel()
    at = 1.3, [0.2, -1.0], 0.7, [0.5, 2.0]
    for ask in ("compute_forward_posterior", "compute_backward_posterior"):
        for found, expected in zip(getattr(mine, ask)(*at), getattr(native, ask)(*at)):
            assert found == pytest.approx(expected, rel=1e-9)
    assert mine.compute_log_partition(*at) == pytest.approx(native.compute_log_partition(*at), rel=1e-9)
    assert mine.second_moment(1.5) == pytest.approx(native.second_moment(1.5), rel=1e-7)
    assert np.allclose(mine.sample([0.0, 1.0]), np.tanh([0.0, 1.0]), rtol=0, atol=1e-16)

    def run(channel: ta.Channel) -> float:
        model = (ta.GaussianPrior(4) @ ta.V("z") @ channel @ ta.V("x") @ ta.GaussianLikelihood([0.1, 0.5, -0.9, 1.2], 0.1)).to_model()
        ep = ta.ExpectationPropagation(model)
        assert ep.iterate().converged
        return float(ep.log_evidence())

    assert run(mine) == pytest.approx(run(native), rel=1e-8)
