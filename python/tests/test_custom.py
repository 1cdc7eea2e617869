"""Modules given as Python functions are peers of the native ones."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import treeamp as ta
from treeamp.testing import FactorCheckError, check_factor

N, RHO, DELTA = 300, 0.1, 0.01
SLAB = ta.GaussBernoulliPrior(N, RHO)
SIGN = ta.SgnLikelihood(None)


def native_prior(size: Any, **kwargs: Any) -> ta.CustomPrior:
    """A custom prior that does what a native one does."""
    return ta.CustomPrior(
        size, SLAB.scalar_log_partition, SLAB.scalar_forward_mean, SLAB.scalar_forward_variance, **kwargs
    )


W = ta.GaussianEnsemble(150, N).generate(seed=0)
TEACHER = (SLAB @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z") @ ta.GaussianChannel(DELTA) @ ta.O("y")).to_model()
SAMPLE = TEACHER.sample(seed=3)


def run(prior: ta.Prior, **kwargs: Any) -> ta.ExpectationPropagation:
    output = ta.GaussianLikelihood(SAMPLE["y"], DELTA)
    ep = ta.ExpectationPropagation((prior @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z") @ output).to_model())
    ep.iterate(**kwargs)
    return ep


def test_a_r_v_is_a_peer() -> None:
    native, custom = run(SLAB), run(native_prior(N))
    assert custom.report.sweeps == native.report.sweeps
    # the same numbers, summed in another order
    assert custom.report.mean("x") == pytest.approx(native.report.mean("x"), abs=1e-12)
    assert custom.log_evidence() == pytest.approx(native.log_evidence(), rel=1e-12)


def test_log_density_is_a_peer() -> None:
    def density(x: Any) -> Any:
        return -0.5 * x**2 / 0.7 - 0.5 * np.log(2 * np.pi * 0.7)

    native, custom = run(ta.GaussianPrior(N, var=0.7)), run(ta.CustomPrior(N, log_density=density))
    # the quadrature promises eleven digits of a mass
    assert custom.report.mean("x") == pytest.approx(native.report.mean("x"), abs=1e-8)
    assert custom.log_evidence() == pytest.approx(native.log_evidence(), rel=1e-8)


def test_denoiser_with_monte_carlo_divergence() -> None:
    """One probe of 300 signs: its error on the variance is that of an average over 300 components."""
    native = run(SLAB)
    custom = run(ta.CustomPrior(N, mean=SLAB.scalar_forward_mean, seed=0), max_iter=100)
    gap = np.sqrt(np.mean((custom.report.mean("x") - native.report.mean("x")) ** 2))
    assert gap < 0.05 * np.sqrt(RHO)
    assert custom.report.variance("x") == pytest.approx(native.report.variance("x"), rel=0.2)
    with pytest.raises(ta.RunError, match="log-partition"):
        custom.log_evidence()
    again = run(ta.CustomPrior(N, mean=SLAB.scalar_forward_mean, seed=0), max_iter=100)
    assert np.array_equal(custom.report.mean("x"), again.report.mean("x"))


def test_separable_divergence_is_exact() -> None:
    """With signs as probes the divergence of a function of components has no sampling error at all."""
    b = np.linspace(-2, 2, N)
    custom = ta.CustomPrior(N, mean=SLAB.scalar_forward_mean)
    _, v = custom.compute_forward_posterior(3.0, b)
    assert v == pytest.approx(SLAB.compute_forward_posterior(3.0, b)[1], rel=1e-5)


def theory(prior: ta.Prior, output: ta.Likelihood) -> ta.StateEvolution:
    model = (prior @ ta.V("x") @ ta.MarchenkoPasturChannel(0.5) @ ta.V("z") @ output).to_model()
    se = ta.StateEvolution(model)
    se.iterate(max_iter=200)
    return se


def test_state_evolution_of_a_custom_prior() -> None:
    output = ta.GaussianLikelihood(None, DELTA)
    native = theory(ta.GaussBernoulliPrior(None, RHO), output)
    custom = theory(native_prior(None, landmarks=[(0, 0), (0, 1)]), output)
    assert custom.report.variance("x") == pytest.approx(native.report.variance("x"), rel=1e-9)
    assert custom.mutual_information() == pytest.approx(native.mutual_information(), rel=1e-9)


def test_state_evolution_of_a_custom_likelihood() -> None:
    """Finitely many outputs, and a function of z without noise."""
    prior = ta.GaussBernoulliPrior(None, RHO)
    law = SIGN.scalar_log_partition, SIGN.scalar_backward_mean, SIGN.scalar_backward_variance
    custom = ta.CustomLikelihood(None, *law, outputs=[-1, 1], noise_entropy=0.0)
    one, other = theory(prior, SIGN), theory(prior, custom)
    assert other.report.variance("x") == pytest.approx(one.report.variance("x"), rel=1e-9)
    assert other.mutual_information() == pytest.approx(one.mutual_information(), rel=1e-9)
    fold = ta.AbsLikelihood(None)
    law = fold.scalar_log_partition, fold.scalar_backward_mean, fold.scalar_backward_variance
    custom = ta.CustomLikelihood(None, *law, output_map=abs)
    # two integrals and an entry into the interpreter for every point: averages, and no whole run
    one, other = (output.compute_backward_error(5.0, 0.8) for output in (fold, custom))
    # the native law tells where it changes its form, this one does not
    assert other == pytest.approx(one, rel=1e-6)


def test_custom_likelihood_in_a_run() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(80, 40)) / np.sqrt(40)
    y = np.sign(A @ rng.normal(size=40))
    native, custom = (
        ta.ExpectationPropagation(
            (ta.GaussianPrior(40) @ ta.V("x") @ ta.LinearChannel(A) @ ta.V("z") @ output).to_model()
        )
        for output in (
            ta.SgnLikelihood(y),
            ta.CustomLikelihood(
                y, SIGN.scalar_log_partition, SIGN.scalar_backward_mean, SIGN.scalar_backward_variance
            ),
        )
    )
    native.iterate(), custom.iterate()
    assert custom.report.mean("x") == pytest.approx(native.report.mean("x"), abs=1e-10)
    assert custom.log_evidence() == pytest.approx(native.log_evidence(), rel=1e-10)

    def probit(y: Any, z: Any) -> Any:
        return -np.logaddexp(0.0, -3 * y * z)

    logistic = ta.CustomLikelihood(y[:5], log_density=probit, outputs=[-1, 1], name="logistic")
    check_factor(logistic)


def test_samples() -> None:
    def draw(rng: Any, size: Any) -> Any:
        return rng.laplace(size=size)

    prior = ta.CustomPrior((3, 4), log_density=lambda x: -abs(x) - np.log(2), sample=draw)
    model = (prior @ ta.V("x") @ ta.GaussianChannel(0.1) @ ta.O("y")).to_model()
    assert np.array_equal(model.sample(seed=4)["x"], model.sample(seed=4)["x"])
    assert model.sample(seed=4)["x"].shape == (3, 4)
    with pytest.raises(ta.ModelError, match="generative"):
        (native_prior(3) @ ta.V("x")).to_model().sample(seed=0)


class Boom(Exception):
    """Raised by functions of the tests."""


def explode(a: float, b: Any) -> Any:
    raise Boom("in the function")


def test_exceptions_arrive_as_themselves_with_the_node() -> None:
    with pytest.raises(Boom, match="in the function") as caught:
        run(ta.CustomPrior(N, mean=explode, variance=explode, name="mine"))
    assert "raised in factor `mine`" in caught.value.__notes__[0]
    with pytest.raises(Boom) as caught:
        run(ta.CustomPrior(N, mean=explode, variance=explode).named("second"))
    assert "`second`" in caught.value.__notes__[0]

    def late(a: float, b: Any) -> Any:
        if late.calls == 7:  # type: ignore[attr-defined]
            raise Boom("late")
        late.calls += 1  # type: ignore[attr-defined]
        return SLAB.scalar_forward_mean(a, b)

    late.calls = 0  # type: ignore[attr-defined]
    with pytest.raises(Boom, match="late"):
        run(ta.CustomPrior(N, mean=late, variance=SLAB.scalar_forward_variance))
    with pytest.raises(Boom):
        ta.CustomPrior(3, explode, explode, explode)
    prior = ta.CustomPrior(None, explode, SLAB.scalar_forward_mean, SLAB.scalar_forward_variance, separable=False)
    assert not prior.has_state_evolution


def test_exceptions_in_state_evolution() -> None:
    def touchy(a: float, b: Any) -> Any:
        if a > 0:
            raise Boom("touchy")
        return SLAB.scalar_log_partition(a, b)

    prior = ta.CustomPrior(None, touchy, SLAB.scalar_forward_mean, SLAB.scalar_forward_variance, name="touchy")
    with pytest.raises(Boom) as caught:
        theory(prior, ta.GaussianLikelihood(None, DELTA))
    assert "touchy" in caught.value.__notes__[0]


def test_exceptions_in_a_draw() -> None:
    def draw(rng: Any, size: Any) -> Any:
        raise Boom("draw")

    prior = ta.CustomPrior(3, log_density=lambda x: -abs(x), sample=draw)
    with pytest.raises(Boom):
        (prior @ ta.V("x")).to_model().sample(seed=0)


@pytest.mark.parametrize(
    ("functions", "sentence"),
    [
        ({"mean": lambda a, b: b[:-1], "variance": lambda a, b: 1.0}, "must return shape"),
        ({"mean": lambda a, b: b * np.nan, "variance": lambda a, b: 1.0}, "NaN"),
        ({"mean": lambda a, b: "r", "variance": lambda a, b: 1.0}, "array of numbers"),
        ({"mean": lambda a, b: b, "variance": lambda a, b: b[:2]}, "must return shape"),
        ({"mean": lambda a, b: b.__setitem__(0, 1.0), "variance": lambda a, b: 1.0}, "read-only"),
    ],
)
def test_wrong_answers_are_told(functions: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        run(ta.CustomPrior(N, **functions))


def test_check_factor_tells_what_is_wrong() -> None:
    def good_r(a: float, b: Any) -> Any:
        return b / (1 + a)

    def good_v(a: float, b: Any) -> Any:
        return np.full(b.shape, 1 / (1 + a))

    def good_a(a: float, b: Any) -> Any:
        return 0.5 * b**2 / (1 + a) - 0.5 * np.log(1 + a)

    check_factor(ta.CustomPrior(5, good_a, good_r, good_v))
    check_factor(ta.CustomPrior(100, good_a, good_r, good_v))
    wrong = {
        "average of dr/db": ta.CustomPrior(5, good_a, good_r, lambda a, b: 1 / (2 + a)),
        "dA/db": ta.CustomPrior(5, lambda a, b: 2 * good_a(a, b), good_r, good_v),
        "-2 dA/da": ta.CustomPrior(5, lambda a, b: 0.5 * b**2 / (1 + a), good_r, good_v),
        "not negative": ta.CustomPrior(5, None, good_r, lambda a, b: np.inf),
        "two answers": ta.CustomPrior(5, None, good_r, lambda a, b: 1 + 1e-6 * np.random.default_rng().random()),
    }
    for sentence, factor in wrong.items():
        with pytest.raises(FactorCheckError, match=sentence.replace("/", "/")):
            check_factor(factor)
    assert check_factor(ta.CustomPrior(5, None, good_r, good_v), raises=False) == []


def test_divergence_of_a_run_is_told() -> None:
    """A denoiser that expands: the run ends as diverging, at the last good state."""
    wild = ta.CustomPrior(N, None, lambda a, b: 50 * b, lambda a, b: 0.02 / (1 + a))
    report = run(wild, max_iter=200).report
    assert report is not None and report.termination == "diverging" and "diverging in sweep" in report.message
    assert np.isfinite(report.mean("x")).all()


def test_improper_variance_is_counted() -> None:
    report = run(ta.CustomPrior(N, None, lambda a, b: b, lambda a, b: -1.0), max_iter=30).report
    assert report is not None and report.termination == "diverging" and report.trace["improper"].max() > 0


def module_level_mean(a: float, b: Any) -> Any:
    return b / (1 + a)


def test_pickle() -> None:
    prior = ta.CustomPrior(4, mean=module_level_mean, seed=2)
    again = pickle.loads(pickle.dumps(prior))
    b = np.arange(4.0)
    assert np.array_equal(again.compute_forward_posterior(1.0, b)[0], prior.compute_forward_posterior(1.0, b)[0])


def test_one_entry_into_the_interpreter_per_update() -> None:
    calls = []

    def mean(a: float, b: Any) -> Any:
        calls.append(b.shape)
        return SLAB.scalar_forward_mean(a, b)

    prior = ta.CustomPrior(N, None, mean, SLAB.scalar_forward_variance, separable=False)
    report = run(prior, max_iter=7, callback=ta.PassCallback()).report
    assert report is not None and calls == [(N,)] * 7
