"""Log-densities of priors and likelihoods, against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
import treeamp as ta
from scipy import stats

X = np.linspace(-3.0, 4.0, 15)


@pytest.mark.parametrize(
    ("prior", "law"),
    [
        (ta.LaplacePrior(1, scale=2.0), stats.laplace(scale=2.0)),
        (ta.StudentTPrior(1, df=2.5), stats.t(2.5)),
        (ta.GaussianPrior(1, mean=0.3, var=2.0), stats.norm(0.3, np.sqrt(2.0))),
    ],
)
def test_priors(prior: ta.Prior, law: stats.rv_frozen) -> None:
    assert prior.log_density(X) == pytest.approx(law.logpdf(X), rel=1e-12)
    assert prior.log_density(0.5) == pytest.approx(law.logpdf(0.5), rel=1e-12)


def test_likelihoods() -> None:
    counts = np.arange(15.0)
    poisson = ta.PoissonLikelihood(counts).log_density(X)
    assert poisson == pytest.approx(stats.poisson(np.exp(X)).logpmf(counts), rel=1e-11)
    labels = np.where(X > 0.2, 1.0, -1.0)
    assert ta.LogisticLikelihood(labels).log_density(X) == pytest.approx(-np.log1p(np.exp(-labels * X)), rel=1e-12)
    assert ta.LogisticLikelihood(None).log_density(X, labels).shape == X.shape
    with pytest.raises(ta.ModelError, match="index 0"):
        ta.LogisticLikelihood(labels).log_density(X, 0.5)
    with pytest.raises(ta.ModelError, match="`y` is None"):
        ta.LogisticLikelihood(None).log_density(X)


R = np.linspace(0.0, 40.0, 80001)[1:]


@pytest.mark.parametrize(
    ("prior", "mass"),
    [
        (ta.CircularGaussianPrior((2, 1), var=2.0), 1.0),
        (ta.CircularGaussBernoulliPrior((2, 1), rho=0.3, var=2.0), 0.3),
        (ta.CircularGaussianMixturePrior((2, 1), weights=[0.25, 0.75], variances=[0.5, 4.0]), 1.0),
    ],
)
def test_complex_priors_are_densities_on_the_plane(prior: ta.Prior, mass: float) -> None:
    """The mass of the continuous part, in polar coordinates along two rays: a step of 5e-4 leaves 1e-7 of a smooth integrand."""
    for angle in (0.0, 0.7):
        density = np.exp(prior.log_density(R * np.array([[np.cos(angle)], [np.sin(angle)]])))
        assert density.shape == R.shape
        assert np.sum(2 * np.pi * R * density) * (R[1] - R[0]) == pytest.approx(mass, rel=1e-6)


def test_log_densities_of_complex_laws() -> None:
    part = stats.norm(0.0, np.sqrt(2.0))
    x = np.array([[1.0, -0.5], [1.0, 3.0]])
    assert ta.CircularGaussianPrior((2, 2), var=2.0).log_density(x) == pytest.approx(part.logpdf(x).sum(axis=0), rel=1e-12)
    # points have no continuous part: one answer for every component
    assert ta.QamPrior((2, 2)).log_density(x).tolist() == [-np.inf, -np.inf]
    for alone in (1.0, [1.0], np.ones((3, 2))):
        with pytest.raises(ValueError, match="`x` must have real and imaginary parts on its first axis"):
            ta.CircularGaussianPrior((2, 2)).log_density(alone)


def test_log_densities_of_moduli_and_phases() -> None:
    z, y = np.array([[1.0, -0.5], [1.0, 3.0]]), np.array([1.0, 2.0])
    rice = stats.rice(np.hypot(*z) / np.sqrt(0.5), scale=np.sqrt(0.5))
    assert ta.RicianModulusLikelihood(y, 0.5).log_density(z) == pytest.approx(rice.logpdf(y), rel=1e-10)
    assert ta.RicianModulusLikelihood(None, 0.5).log_density(z, y) == pytest.approx(rice.logpdf(y), rel=1e-10)
    assert ta.ModulusLikelihood([5.0]).log_density([[3.0, 1.0], [4.0, 1.0]]).tolist() == [np.inf, -np.inf]
    with pytest.raises(ta.NotAvailable, match="PhaseLikelihood has no log-density"):
        ta.PhaseLikelihood([[1.0], [0.0]]).log_density([[1.0], [1.0]])


def test_log_densities_of_ones_own() -> None:
    prior = ta.CustomPrior(2, log_density=lambda x: np.full(x.shape, -np.log(2.0)), support=(-1, 1))
    assert prior.log_density([0.5, 2.0]).tolist() == [-np.log(2.0), -np.inf]
    noise = ta.CustomLikelihood(y=[1.0, 2.0], log_density=lambda y, z: stats.norm.logpdf(y, z))
    assert noise.log_density([0.0, 0.5]) == pytest.approx(stats.norm.logpdf([1.0, 1.5]), rel=1e-12)
    assert noise.log_density([0.0], [3.0]) == pytest.approx(stats.norm.logpdf([3.0]), rel=1e-12)
    with pytest.raises(ta.NotAvailable, match="shrink: `log_density` was not given"):
        ta.CustomPrior(2, mean=lambda a, b: b / (a + 1), name="shrink").log_density([0.0, 1.0])


def test_what_has_no_log_density() -> None:
    for penalty in (ta.MAP_L1NormPrior(2), ta.MAP_L21NormPrior((2, 3))):
        with pytest.raises(ta.ModelError, match="a penalty is not a probability distribution and has no log-density"):
            penalty.log_density(np.ones(2))
    with pytest.raises(ta.NotAvailable, match="CommitteeBinaryPrior"):
        ta.CommitteeBinaryPrior(3, 2).log_density(np.ones((3, 2)))
