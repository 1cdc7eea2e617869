"""Laws of priors and outputs in Python: what is written is what is named, and what may be left out."""

from __future__ import annotations

import numpy as np
import pytest

import treeamp as ta


@pytest.mark.parametrize(
    ("bare", "given"),
    [
        (ta.FiniteAlphabetPrior(3, values=[-1.0, 0.5]), ta.FiniteAlphabetPrior(3, values=[-1.0, 0.5], weights=[0.5, 0.5])),
        (ta.GaussianMixturePrior(3, means=[-1, 2], vars=[1, 2]), ta.GaussianMixturePrior(3, probs=[0.5, 0.5], means=[-1, 2], vars=[1, 2])),
        (ta.FiniteAlphabetPrior(3, values=[0.0, 1.0, 2.0], weights=None), ta.FiniteAlphabetPrior(3, values=[0.0, 1.0, 2.0], weights=[])),
    ],
)
def test_weights_that_are_not_given_are_equal(bare: ta.Prior, given: ta.Prior) -> None:
    assert bare.second_moment() == pytest.approx(given.second_moment(), rel=1e-14)
    assert bare.scalar_forward_mean(0.7, 0.4) == pytest.approx(given.scalar_forward_mean(0.7, 0.4), rel=1e-13)


@pytest.mark.parametrize(
    ("law", "arguments", "named"),
    [
        (ta.OutlierNoiseLikelihood, {"outlier_variance": -1.0}, "outlier_variance"),
        (ta.OutlierNoiseLikelihood, {"variance": -1.0}, "variance"),
        (ta.QuantileLikelihood, {"quantile": 1.0}, "quantile"),
        (ta.QuantileLikelihood, {"quantile": 0.0}, "quantile"),
        (ta.LogisticLikelihood, {"flip_probability": 1.5}, "flip_probability"),
        (ta.ProbitLikelihood, {"noise_variance": -1.0}, "noise_variance"),
    ],
)
def test_errors_name_the_parameter_that_was_written(law: type, arguments: dict[str, float], named: str) -> None:
    with pytest.raises(ValueError, match=rf"`{named}` must be"):
        law(np.ones(3), **arguments)


def test_the_first_label_that_is_none_is_named() -> None:
    with pytest.raises(ValueError, match=r"0\.5 at index 2"):
        ta.LogisticLikelihood(np.array([1.0, -1.0, 0.5, 0.2]))


def seen(prior: ta.Prior, variance: float) -> ta.Model:
    matrix = ta.GaussianEnsemble(M=200, N=100).generate(seed=0)
    output = ta.GaussianLikelihood(y=None, var=variance)
    return (prior @ ta.V("x") @ ta.LinearChannel(matrix) @ ta.V("z") @ output).to_model()


def test_laws_without_a_second_moment_are_students() -> None:
    heavy, plain = seen(ta.StudentTPrior(100, df=1.0), 0.1), seen(ta.GaussianPrior(100), 0.1)
    with pytest.raises(ta.RunError, match=r"`x` of factor `student_t`.* has no finite second moment"):
        ta.StateEvolution(heavy).iterate()
    theory = ta.StateEvolution(teacher=plain, student=heavy)
    assert theory.iterate(max_iter=200).converged
    assert 0.05 < theory.get_variables_data(["x"])["x"]["mse"] < 0.2


def test_laws_without_a_second_moment_refuse_precision_zero() -> None:
    priors = ta.StudentTPrior(3, df=1.0), ta.StudentTPrior(3, df=2.0), ta.SpikeStudentTPrior(3, df=1.5)
    asked = "scalar_forward_mean", "scalar_forward_variance", "scalar_log_partition", "compute_forward_posterior", "compute_log_partition"
    for prior in priors:
        for name in asked:
            with pytest.raises(ta.FactorError, match=r"no second moment.* above 0, got 0 at index 0"):
                getattr(prior, name)(0.0, np.zeros(3))
            getattr(prior, name)(1e-12, np.zeros(3))
        with pytest.raises(ta.FactorError, match="got 0 at index 2"):
            prior.scalar_forward_variance(np.array([2.0, 1.0, 0.0]), 0.0)
    noise = ta.StudentTNoiseLikelihood(np.array([1.0, 2.0]), df=2.0)
    for name in ("scalar_backward_mean", "scalar_backward_variance", "scalar_log_partition", "compute_backward_posterior", "compute_log_partition"):
        with pytest.raises(ta.FactorError, match="no second moment"):
            getattr(noise, name)(0.0, np.zeros(2))
    # a law that has one answers, and says where its integral diverges
    assert ta.StudentTPrior(1, df=4.0).scalar_forward_variance(0.0, 0.0) == pytest.approx(2.0, rel=1e-12)
    assert ta.LaplacePrior(1).scalar_forward_variance(0.0, 2.0) == np.inf


@pytest.mark.parametrize(
    ("law", "a", "b"),
    [
        (ta.GaussianPrior(1), -2.0, 1.0),
        (ta.GammaPrior(1), 0.0, 5.0),
        (ta.LaplacePrior(1), 0.0, -5.0),
        (ta.StudentTPrior(1, df=3), 0.0, 1.0),
        (ta.StudentTPrior(1, df=2), -1.0, 0.0),
        (ta.MAP_L1NormPrior(1), 0.0, 10.0),
    ],
)
def test_a_mean_beside_a_diverging_integral_is_not_a_number(law: ta.Prior, a: float, b: float) -> None:
    assert law.scalar_forward_variance(a, b) == law.scalar_log_partition(a, b) == np.inf
    assert np.isnan(law.scalar_forward_mean(a, b))
    # the other components have theirs
    mixed = law.scalar_forward_mean(np.array([a, 1.0]), b)
    assert np.isnan(mixed).tolist() == [True, False] and mixed[1] == law.scalar_forward_mean(1.0, b)


def test_a_truncated_belief_has_no_mean_where_its_integral_diverges() -> None:
    from treeamp.beliefs import positive, truncated

    assert np.isnan(positive.r(0.0, 1.0)) and np.isnan(truncated.r(-1.0, 0.0, -np.inf, 2.0))
    assert positive.v(0.0, 1.0) == positive.A(0.0, 1.0) == positive.tau(0.0, 1.0) == np.inf
    assert positive.r(0.0, np.array([1.0, -2.0]))[1] == pytest.approx(0.5, rel=1e-12)


def test_a_likelihood_says_where_its_integral_diverges() -> None:
    counts, labels = ta.PoissonLikelihood(None), ta.LogisticLikelihood(np.array([1.0]))
    assert np.isnan(counts.scalar_backward_mean(0.0, -5.0, 1.0)) and np.isnan(labels.scalar_backward_mean(-1.0, 0.0)).all()
    assert counts.scalar_backward_variance(0.0, -5.0, 1.0) == counts.scalar_log_partition(0.0, -5.0, 1.0) == np.inf
    assert labels.scalar_backward_variance(0.0, -0.5)[0] == pytest.approx(np.pi**2, rel=1e-12)
    with pytest.raises(ta.FactorError, match="^LogisticLikelihood: beside no precision .* integral diverges at this field"):
        labels.scalar_backward_mean(0.0, 0.5)
    with pytest.raises(ta.FactorError, match="^MAP_NonNegativePrior: the penalty has no curvature of its own"):
        ta.MAP_NonNegativePrior(1).scalar_forward_mean(0.0, 1.0)


def test_every_observation_has_its_variance() -> None:
    variances, y = np.array([0.5, 2.0, 4.0]), np.array([1.0, -2.0, 3.0])
    noise, a = ta.HeteroscedasticNoiseLikelihood(y, variances=variances), 1.5
    b = np.array([0.3, 0.0, -1.0])
    v = 1 / (a + 1 / variances)
    r = v * (b + y / variances)
    assert noise.scalar_backward_variance(a, b) == pytest.approx(v, rel=1e-12)
    assert noise.scalar_backward_mean(a, b) == pytest.approx(r, rel=1e-12)
    assert noise.scalar_backward_mean(a, np.stack([b, b])) == pytest.approx(np.stack([r, r]), rel=1e-12)
    log_density = -0.5 * np.log(2 * np.pi * variances) - y**2 / (2 * variances)
    assert noise.log_density(np.zeros(3)) == pytest.approx(log_density, rel=1e-12)
    each = (ta.GaussianLikelihood(y[i : i + 1], var=variances[i]).compute_log_partition(a, b[i : i + 1]) for i in range(3))
    assert noise.compute_log_partition(a, b) == pytest.approx(sum(each), rel=1e-12)
    with pytest.raises(ta.ModelError, match="expected 3 components, got 2"):
        noise.scalar_backward_mean(a, 0.0, np.zeros(2))


def test_flipped_logistic_labels() -> None:
    law = ta.LogisticLikelihood(np.array([1.0]), flip_probability=0.125)
    # 50-digit integration: oracle/data/laws2.json
    assert law.scalar_log_partition(0.5, -1.25, 1.0) == pytest.approx(1.3306842158130716, rel=1e-9)
    assert law.scalar_backward_mean(0.5, -1.25, 1.0) == pytest.approx(-1.881602650132433, rel=1e-9)
    assert law.scalar_backward_variance(0.5, -1.25, 1.0) == pytest.approx(2.2671460708599915, rel=1e-9)


def test_losses_alone_are_at_their_mode() -> None:
    y = np.array([1.0, -1.0, 1.0])
    hinge = ta.HingeLikelihood(y, isotropic=False)
    # the minimiser of max(0, 1 - yz) + az²/2 - bz: at a = 2, b = 0.5 the step of y = 1 ends at (b + 1)/a, short of the kink at 1
    mean, variance = hinge.compute_backward_posterior(2.0, np.array([0.5, 0.5, 4.0]))
    assert mean == pytest.approx([0.75, -0.25, 2.0], rel=1e-12)
    assert variance == pytest.approx([0.5, 0.5, 0.5], rel=1e-12)
    assert hinge.scalar_backward_mean(2.0, 0.5, 1.0) == pytest.approx(0.75, rel=1e-12)
    # and its value there: bz - az²/2 less the loss
    assert hinge.scalar_log_partition(2.0, 0.5, 1.0) == pytest.approx(0.5 * 0.75 - 0.75**2 - 0.25, rel=1e-12)
    with pytest.raises(ta.ModelError, match="a loss is not a probability distribution and has no log-density"):
        hinge.log_density(0.5)
    with pytest.raises(ta.ModelError, match=r"y: .*\+1 or -1, got 2 at index 1"):
        hinge.scalar_backward_mean(1.0, 0.0, np.array([1.0, 2.0]))


def test_convex_special_cases_have_a_mode() -> None:
    matrix = ta.GaussianEnsemble(M=30, N=20).generate(seed=0)
    y = matrix @ np.linspace(-1, 1, 20)

    def modes(prior: ta.Prior, output: ta.Likelihood) -> np.ndarray:
        model = (prior @ ta.V("x") @ ta.LinearChannel(matrix) @ ta.V("z") @ output).to_model()
        run = ta.MAP(model)
        run.iterate(max_iter=200)
        return run.get_variables_data(["x"])["x"]["r"]

    noise = ta.GaussianLikelihood(y, var=0.1)
    ridge = modes(ta.GaussianPrior(20, mean=0.5, var=2.0), noise)
    same = [
        (ta.GaussBernoulliPrior(20, rho=1.0, mean=0.5, var=2.0), noise),
        (ta.GaussianMixturePrior(20, probs=[1.0], means=[0.5], vars=[2.0]), noise),
        (ta.GaussianPrior(20, mean=0.5, var=2.0), ta.OutlierNoiseLikelihood(y, 0.1, 5.0, 0.0)),
    ]
    for prior, output in same:
        assert modes(prior, output) == pytest.approx(ridge, rel=1e-6)
    with pytest.raises(ta.RunError, match="the energy is not convex, or not known to be with these parameters"):
        modes(ta.GaussBernoulliPrior(20, rho=0.5), noise)


def test_far_parameters_have_digits() -> None:
    law = ta.GammaPrior(1, shape=1e9, rate=5e8)
    # next to normal, of mean 2 and variance 4e-9
    assert float(law.log_density(2.0)) == pytest.approx(-0.5 * np.log(2 * np.pi * 4e-9), abs=1e-9)
    counts = ta.PoissonLikelihood(np.array([1e12]))
    assert float(counts.log_density(np.log(1e12))[0]) == pytest.approx(-0.5 * np.log(2 * np.pi * 1e12), abs=1e-11)
    with pytest.raises(ValueError, match="`df` must be positive and at most 1e6"):
        ta.StudentTPrior(1, df=1e7)


def test_laws_are_found_by_all_their_names() -> None:
    for name in ("gauss_bernoulli", "mixture", "gaussian_mixture"):
        assert isinstance(ta.get_prior(3, name), ta.Prior)
    for name in ("poisson", "poisson_deviance"):
        assert isinstance(ta.get_likelihood(np.ones(3), name), ta.PoissonLikelihood)
    for name in ("quantised", "quantized"):
        assert isinstance(ta.get_channel(name, edges=[0.0]), ta.QuantisedChannel)


def test_weights_that_are_equal_are_shown_as_none() -> None:
    assert repr(ta.FiniteAlphabetPrior(3, values=[-1.0, 0.5])) == "FiniteAlphabetPrior(size=3, values=<array (2,)>, weights=[])"
