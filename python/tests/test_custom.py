"""Modules given as Python functions are peers of the native ones."""

from __future__ import annotations

import math
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
    with pytest.raises(ta.ModelError, match="factor `custom_prior` draws nothing"):
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
        if a > 1e-6:  # flat beliefs are told as 1e-11
            raise Boom("touchy")
        return SLAB.scalar_log_partition(a, b)

    prior = ta.CustomPrior(None, touchy, SLAB.scalar_forward_mean, SLAB.scalar_forward_variance, name="touchy")
    with pytest.raises(Boom) as caught:
        theory(prior, ta.GaussianLikelihood(None, DELTA))
    assert "touchy" in caught.value.__notes__[0]


def test_exceptions_in_a_draw() -> None:
    def draw(rng: Any, size: Any) -> Any:
        raise Boom("draw")

    prior = ta.CustomPrior(3, log_density=lambda x: -abs(x) - np.log(2), sample=draw)
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
def test_wrong_answers_are_reported(functions: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        run(ta.CustomPrior(N, **functions))


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
@pytest.mark.parametrize("callback", [None, lambda algo, i, n: False])
def test_an_exception_in_a_function_leaves_the_last_sweep(error: type[BaseException], callback: Any) -> None:
    """The state after the last whole sweep is that of a run which ends there, and runs go on from it."""
    W = np.random.default_rng(0).normal(size=(30, 40)) / np.sqrt(40)
    left = [10**9]

    def mean(a: Any, b: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise error
        return b / (1 + a)

    prior = ta.CustomPrior(40, mean=mean, variance=lambda a, b: 1 / (1 + a), name="mine")
    model = (prior @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z") @ ta.SgnLikelihood(np.sign(W @ np.ones(40)))).to_model()
    ep = ta.ExpectationPropagation(model)
    left[0] = 5
    with pytest.raises(error) as caught:
        ep.iterate(callback=callback)
    assert "raised in factor `mine`" in caught.value.__notes__[0] and ep.report is None
    left[0] = 10**9
    whole = ta.ExpectationPropagation(model)
    whole.iterate(max_iter=ep.n_iter, tol=0.0)
    assert 0 < ep.n_iter < 5
    assert np.array_equal(ep.get_variable_data("x")["r"], whole.get_variable_data("x")["r"])
    report = ep.iterate(warm_start=True)
    assert report.converged and ep.report is report and ep.n_iter == report.sweeps


def test_check_factor_knows_what_differences_lose_on_narrow_laws() -> None:
    """A correct law of variance 1e-8 passes, and one whose variance is wrong by a tenth does not."""
    y, var = np.array([0.3, -1.2, 2.0]), 1e-8

    def log_density(y: Any, z: Any) -> Any:
        return -((y - z) ** 2) / (2 * var) - 0.5 * np.log(2 * np.pi * var)

    check_factor(ta.CustomLikelihood(y, log_density=log_density))
    check_factor(ta.CustomPrior(3, log_density=lambda x: log_density(0.0, x)))

    def mean(a: Any, b: Any, y: Any) -> Any:
        return (b + y / var) / (a + 1 / var)

    wrong = ta.CustomLikelihood(y, mean=mean, variance=lambda a, b, y: 1.1 / (a + 1 / var))
    problems = check_factor(wrong, raises=False)
    assert problems is not None and len(problems) == 3 and "variance is 1.1e-08" in problems[0]


def test_check_factor_lists_nan() -> None:
    problems = check_factor(ta.CustomPrior(3, mean=lambda a, b: b * np.nan), raises=False)
    assert problems is not None and "`mean` of custom_prior returned NaN" in problems[0]
    late = ta.CustomPrior(
        3, lambda a, b: b * (np.nan if a > 1 else 0.5), lambda a, b: b / (1 + a), lambda a, b: 1 / (1 + a), normalised=False
    )
    problems = check_factor(late, a=[2.0], raises=False)
    assert problems is not None and "`log_partition` of custom_prior returned NaN" in problems[-1]


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
        "has no variance": ta.CustomPrior(5, None, good_r, lambda a, b: np.inf),
        "two answers": ta.CustomPrior(5, None, good_r, lambda a, b: 1 + 1e-6 * np.random.default_rng().random()),
    }
    for sentence, factor in wrong.items():
        with pytest.raises(FactorCheckError, match=sentence.replace("/", "/")):
            check_factor(factor)
    assert check_factor(ta.CustomPrior(5, None, good_r, good_v), raises=False) == []
    check_factor(ta.ModulusLikelihood([1.0, 2.0]))


def test_divergence_of_a_run_is_reported() -> None:
    """A denoiser that expands: the run ends as diverging, at the last good state."""
    wild = ta.CustomPrior(N, None, lambda a, b: 50 * b, lambda a, b: 0.02 / (1 + a))
    report = run(wild, max_iter=200).report
    assert report is not None and report.termination == "diverging" and "diverging in sweep" in report.message
    assert np.isfinite(report.mean("x")).all()


def test_improper_variance_is_counted() -> None:
    report = run(ta.CustomPrior(N, None, lambda a, b: b, lambda a, b: -1.0), max_iter=30).report
    assert report is not None and report.termination == "diverging" and report.trace["improper"].max() > 0


# --- log-densities


@pytest.mark.parametrize("width", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("a", [0.0, 0.1, 1e4, 1e8])
def test_a_narrow_law_is_found_without_landmarks(width: float, a: float) -> None:
    def density(x: Any) -> Any:
        return -0.5 * ((x - 30) / width) ** 2 - np.log(width) - 0.5 * np.log(2 * np.pi)

    native, custom = ta.GaussianPrior(2, mean=30, var=width**2), ta.CustomPrior(2, log_density=density)
    b = np.array([0.0, 5.0])
    # heights are sums of terms as large as a x^2 and (x / width)^2, and exact to 2e-16 of them
    size = 900 * min(a, width**-2) + 1
    assert custom.scalar_forward_mean(a, b) == pytest.approx(native.scalar_forward_mean(a, b), rel=1e-12)
    variance = native.scalar_forward_variance(a, b)
    assert custom.scalar_forward_variance(a, b) == pytest.approx(variance, rel=1e-9 + 1e-15 * size)
    assert custom.scalar_log_partition(a, b) == pytest.approx(native.scalar_log_partition(a, b), abs=1e-9 + 1e-15 * size)


@pytest.mark.parametrize(
    ("density", "sentence"),
    [
        (lambda x: np.full_like(x, -np.inf), "factor `odd`: the log-density is -inf at all places"),
        (lambda x: np.where(abs(x - 5) < 0.01, 0.0, -np.inf), "give `support`"),
        (lambda x: x * np.nan, "factor `odd`: `log_density` is NaN at"),
        (lambda x: np.log(x) - x, "is NaN at -"),
        (lambda x: None, "must return numbers, got NoneType"),
        (lambda x: "text", "must return numbers, got str"),
        (lambda x: x + 0j, "must return numbers, got ndarray"),
        (lambda x: np.full_like(x, np.inf), r"is \+inf at"),
        (lambda x: np.zeros(3), r"must return shape \(.*\), got \(3,\)"),
        (lambda x: 30 * np.sin(1e9 * x) - abs(x), "too rough"),
    ],
)
def test_a_log_density_that_is_none(density: Any, sentence: str) -> None:
    with np.errstate(all="ignore"), pytest.raises(ta.FactorError, match=sentence):
        ta.CustomPrior(5, log_density=density, name="odd")

    def conditional(y: Any, z: Any) -> Any:
        return density(z)

    # of a likelihood it shows in a run, and in a check
    likelihood = ta.CustomLikelihood(np.ones(3), log_density=conditional, name="odd")
    model = (ta.GaussianPrior(3) @ ta.V("x") @ likelihood.named("mine")).to_model()
    with np.errstate(all="ignore"):
        with pytest.raises(ta.FactorError) as caught:
            ta.ExpectationPropagation(model).iterate()
        assert caught.value.__notes__ == ["raised in factor `mine`"]
        with pytest.raises(FactorCheckError, match="odd at a="):
            check_factor(likelihood)


def test_a_mass_that_is_not_one_is_refused() -> None:
    def spike(x: Any) -> Any:
        ground = -0.5 * x * x - 0.5 * np.log(2 * np.pi)
        peak = -0.5 * ((x - 30) / 1e-3) ** 2 - np.log(1e-3) - 0.5 * np.log(2 * np.pi)
        return np.logaddexp(ground, peak) - np.log(2)

    with pytest.raises(ta.ModelError, match=r"integrates to exp\(-0.693147\), expected 1"):
        ta.CustomPrior(3, log_density=spike)
    told = ta.CustomPrior(3, log_density=spike, landmarks=[(0, 1), (30, 1e-3)])
    assert told.second_moment() == pytest.approx(0.5 * (1 + 900 + 1e-6), rel=1e-9)
    with pytest.raises(ta.ModelError, match="expected 1"):
        ta.CustomPrior(3, log_density=lambda x: -abs(x))
    loose = ta.CustomPrior(3, log_density=lambda x: -abs(x), normalised=False)
    assert loose.compute_log_partition(0.0, np.zeros(3)) == pytest.approx(3 * np.log(2))
    with pytest.raises(ta.ModelError, match=r"exp\(inf\)"):
        ta.CustomPrior(3, log_density=lambda x: 0.0)
    uniform = ta.CustomPrior(3, log_density=lambda x: -np.log(2.0), support=(-1, 1))
    assert uniform.second_moment() == pytest.approx(1 / 3)


@pytest.mark.parametrize("nu", [1, 2, 3, 30])
def test_heavy_tails(nu: int) -> None:
    """Student's law integrates to one, whatever its tails; its variance is nu / (nu - 2), where there is one."""
    log_constant = math.lgamma((nu + 1) / 2) - math.lgamma(nu / 2) - 0.5 * math.log(nu * math.pi)
    prior = ta.CustomPrior(N, log_density=lambda x: log_constant - 0.5 * (nu + 1) * np.log1p(x * x / nu), name="student")
    if nu > 2:
        assert prior.second_moment() == pytest.approx(nu / (nu - 2), rel=1e-9)
    else:
        with pytest.raises(ta.FactorError, match="no second moment"):
            prior.scalar_forward_variance(0.0, np.zeros(1))
        with pytest.raises(ta.FactorError, match="second moment"):
            prior.second_moment()
    check_factor(ta.CustomPrior(4, log_density=lambda x: log_constant - 0.5 * (nu + 1) * np.log1p(x * x / nu)))
    # a law without a variance says nothing to start from
    start = ta.ConstantInit(a=1.0) if nu <= 2 else None
    report = run(prior, initializer=start, damping=0.2).report
    assert report is not None and report.converged


def test_a_density_that_is_infinite_at_an_end() -> None:
    prior = ta.CustomPrior(2, log_density=lambda x: -0.5 * np.log(np.pi * x) - x, support=(0, np.inf), name="gamma")
    # forty halvings leave the square root of 2^-41
    assert prior.second_moment() == pytest.approx(0.75, rel=1e-7)


def test_far_modes_are_both_found() -> None:
    def modes(x: Any) -> Any:
        return np.logaddexp(-0.5 * (x - 200) ** 2, -0.5 * (x + 500) ** 2) - np.log(2) - 0.5 * np.log(2 * np.pi)

    assert ta.CustomPrior(2, log_density=modes).second_moment() == pytest.approx(145001.0, rel=1e-9)


def test_the_noise_of_a_logistic_output() -> None:
    """Its entropy depends on the input: the information is that of the rule, not of a constant."""

    def logistic(y: Any, z: Any) -> Any:
        return -np.logaddexp(0.0, -y * z)

    likelihood = ta.CustomLikelihood(None, log_density=logistic, outputs=[-1.0, 1.0], name="logistic")
    model = (ta.GaussianPrior(None) @ ta.V("x") @ ta.MarchenkoPasturChannel(alpha=2.0) @ ta.V("z") @ likelihood).to_model()
    se = ta.StateEvolution(model)
    assert se.iterate().converged
    # H[y|z] with z of unit variance, by a rule of its own
    z, w = np.polynomial.hermite_e.hermegauss(120)
    p = 1 / (1 + np.exp(-z))
    noise = np.sum(w * -(p * np.log(p) + (1 - p) * np.log(1 - p))) / np.sqrt(2 * np.pi)
    assert se.entropy() - se.mutual_information() == pytest.approx(2.0 * noise, rel=1e-8)
    short = ta.CustomLikelihood(None, log_density=logistic, outputs=[1.0], name="logistic")
    half = ta.StateEvolution((ta.GaussianPrior(None) @ ta.V("x") @ short).to_model())
    with pytest.raises(ta.RunError, match="mass 0.(5|4999)"):
        half.iterate()
    with pytest.raises(ta.FactorError, match="must add up to 1, they are off by 0.[89]"):
        _ = short._average_noise_entropy(1.0)


def test_a_gaussian_output_on_a_grid_has_its_noise() -> None:
    grid = np.arange(-12, 12.001, 0.125)

    def gaussian(y: Any, z: Any) -> Any:
        return -0.5 * (y - z) ** 2 / 0.5 - 0.5 * np.log(np.pi)

    rounded = ta.CustomLikelihood(None, log_density=gaussian, outputs=grid, output_step=0.125)
    expected = 0.5 * np.log(np.pi * np.e) - np.log(0.125)
    # rounding to a sixth of the noise's deviation leaves 1e-8 of the entropy
    assert rounded._native.noise_entropy == pytest.approx(expected, rel=1e-6)


def test_notes_name_the_node_that_raised() -> None:
    def boom(*given: Any) -> Any:
        raise Boom("proximal")

    def ones(t: float, u: Any) -> Any:
        return np.ones_like(u)

    penalty = ta.MAP_CustomPrior(N, proximal=boom, derivative=ones, energy=abs, name="mine").named("node")
    model = (penalty @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z") @ ta.GaussianLikelihood(np.ones(W.shape[0]), 1.0)).to_model()
    for algorithm in (ta.MAP(model), ta.ExpectationPropagation(model)):
        with pytest.raises(Boom) as caught:
            algorithm.iterate(initializer=ta.ConstantInit(a=1.0))
        assert caught.value.__notes__ == ["raised in factor `node`"]

    def late(x: Any) -> Any:
        if np.size(x) == 1 and not calls:
            return -abs(x) - np.log(2)
        raise Boom("density")

    calls: list[int] = []
    prior = ta.CustomPrior(N, log_density=lambda x: late(x) if calls else -abs(x) - np.log(2), name="law").named("signal")
    calls.append(1)
    limit = ta.CustomPrior(None, log_density=lambda x: late(x) if len(calls) > 1 else -abs(x) - np.log(2), name="law").named("signal")
    calls.append(2)
    ep = ta.ExpectationPropagation(
        (prior @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z") @ ta.GaussianLikelihood(np.ones(W.shape[0]), 1.0)).to_model()
    )
    se = ta.StateEvolution(
        (limit @ ta.V("x") @ ta.MarchenkoPasturChannel(alpha=1.0) @ ta.V("z") @ ta.GaussianLikelihood(None, 1.0)).to_model()
    )
    for algorithm in (ep, se):
        with pytest.raises(Boom) as caught:
            algorithm.iterate()
        assert caught.value.__notes__ == ["raised in factor `signal`"]
    # before there is a node, the module's own name
    with pytest.raises(Boom) as caught:
        ta.CustomPrior(3, boom, boom, boom, name="early")
    assert caught.value.__notes__ == ["raised in factor `early`"]


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
