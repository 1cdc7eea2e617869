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
