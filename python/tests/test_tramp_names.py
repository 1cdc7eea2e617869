"""The names and signatures that scripts written for tramp use: the same under `treeamp`.

Positions, names and defaults of every parameter are those of tramp. Modules that are not available yet exist and say so.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from typing import Any

import numpy as np
import pytest

import treeamp as ta

SIGNATURES = {
    "priors": [
        'BinaryPrior(size, p_pos=0.5, isotropic=True)',
        'CommitteeBinaryPrior(N, K, p_pos=0.5)',
        'ExponentialPrior(size, mean=1, isotropic=True)',
        'GaussBernoulliPrior(size, rho=0.5, mean=0, var=1, isotropic=True)',
        'GaussianMixturePrior(size, probs=[0.5, 0.5], means=[-1, 1], vars=[1, 1], isotropic=True)',
        'GaussianPrior(size, mean=0, var=1, isotropic=True)',
        'MAP_L1NormPrior(size, gamma=1, isotropic=True)',
        'MAP_L21NormPrior(size, gamma=1, axis=0, isotropic=True)',
        'PositivePrior(size, isotropic=True)',
        'get_prior(size, prior_type, **kwargs)',
    ],
    "likelihoods": [
        "AbsLikelihood(y, y_name='y', isotropic=True)",
        "AsymmetricAbsLikelihood(y, y_name='y', isotropic=True, shift=0.0001)",
        "GaussianLikelihood(y, var=1, y_name='y', isotropic=True)",
        "HardSigmoidLikelihood(y, y_name='y', isotropic=True)",
        "HardTanhLikelihood(y, y_name='y', isotropic=True)",
        "LeakyReluLikelihood(slope, y, y_name='y', isotropic=True)",
        "ModulusLikelihood(y, y_name='y', isotropic=True)",
        "ReluLikelihood(y, y_name='y', isotropic=True)",
        "SgnLikelihood(y, y_name='y', isotropic=True)",
        "SymmetricDoorLikelihood(width, y, y_name='y', isotropic=True)",
        'get_likelihood(y, likelihood_type, **kwargs)',
    ],
    "channels": [
        'AbsChannel()',
        "AnalyticalLinearChannel(ensemble, name='W')",
        'AsymmetricAbsChannel(shift=0.0001)',
        'BiasChannel(bias)',
        'Blur1DChannel(sigma, N, real=True)',
        'Blur2DChannel(sigma, shape, real=True)',
        "ComplexLinearChannel(W, precompute_svd=True, name='W')",
        'ConcatChannel(Ns, axis=0)',
        'ConvChannel(filter, real=True)',
        'DFTChannel(real=True)',
        'DifferentialChannel(D1, D2, shape, real=True)',
        'DuplicateChannel(n_next)',
        'GaussianChannel(var=1)',
        'GradientChannel(shape, real=True)',
        'HardSigmoidChannel()',
        'HardTanhChannel()',
        'LaplacianChannel(shape, real=True)',
        'LeakyReluChannel(slope)',
        "LinearChannel(W, precompute_svd=True, name='W')",
        'LowRankFactorization(M, N, K)',
        'LowRankGramChannel(N, K)',
        "MarchenkoPasturChannel(alpha, name='W')",
        'ModulusChannel()',
        'PiecewiseLinearChannel(name, regions)',
        'ReluChannel()',
        'ReshapeChannel(prev_shape, next_shape)',
        "RotationChannel(R, name='R')",
        'SgnChannel()',
        'SumChannel(n_prev)',
        'SymmetricDoorChannel(width)',
        'TanhChannel()',
        "UnitaryChannel(U, name='U')",
        'get_channel(channel_type, **kwargs)',
    ],
    "ensembles": [
        'BinaryEnsemble(M, N, p_pos=0.5)',
        'ComplexGaussianEnsemble(M, N)',
        'ComplexUnitaryEnsemble(M, N, scale=1)',
        'GaussianEnsemble(M, N)',
        'MarchenkoPasturEnsemble(alpha)',
        'RandomFeatureEnsemble(M, N, f)',
        'RotationEnsemble(N)',
        'TernaryEnsemble(M, N, p_pos=0.33, p_neg=0.33)',
        'UnitaryEnsemble(N)',
        'get_ensemble(ensemble_type, **kwargs)',
    ],
    "variables": [
        'MILeafVariable(id, n_prev)',
        'MISOVariable(id, n_prev)',
        'MORootVariable(id, n_next)',
        'SILeafVariable(id)',
        'SIMOVariable(id, n_next)',
        'SISOVariable(id)',
        'SORootVariable(id)',
    ],
    "models": [
        'FactorModel(factor_dag)',
        'Model(model_dag)',
        'MultiLayerModel(layers, ids=None)',
        'committee(K, N, alpha, ensemble_type, priors, activation1, activation2, noise_var)',
        'glm_generative(N, alpha, ensemble_type, prior_type, output_type, **kwargs)',
        'glm_state_evolution(alpha, prior_type, output_type, **kwargs)',
        'sgn_committee(K, N, alpha, ensemble_type, p_pos, noise_var)',
        'soft_committee(K, N, alpha, ensemble_type, prior_mean, prior_var, noise_var)',
        'sparse_gradient_classification(A, y, x_shape, grad_rho, noise_var, prior_var)',
        'sparse_gradient_regression(A, y, x_shape, grad_rho, noise_var, prior_var)',
        'tv_classification(A, y, x_shape, grad_scale, noise_var, prior_var)',
        'tv_regression(A, y, x_shape, grad_scale, noise_var, prior_var)',
    ],
    "algos": [
        'ConstantInit(a=0, b=0)',
        'CustomInit(a_init=None, b_init=None, a=0, b=0)',
        'DisplayLatexMessagePassing(model)',
        "EarlyStopping(ids='all', tol=1e-06, min_variance=-1, wait_increase=5, max_increase=0.2)",
        "EarlyStoppingEP(ids='all', tol=1e-06, wait_increase=5, max_increase=0.2)",
        'ExpectationPropagation(model)',
        'ExplainMessagePassing(model, keys=[], print_incoming=True, print_outcoming=True)',
        'ExplainStateEvolution(model, keys=[], print_incoming=True, print_outcoming=True)',
        'JoinCallback(callbacks)',
        "LogProgress(ids='all', every=1)",
        'NoisyInit(a_mean=0, a_var=0, b_mean=0, b_var=1)',
        'StateEvolution(model)',
        "TrackErrors(true_values, metrics=['mse'], every=1, verbose=False)",
        "TrackEstimate(ids='all', every=1)",
        "TrackEvolution(ids='all', every=1, verbose=False)",
        "TrackMessages(keys=['a', 'n_iter', 'direction'])",
        'TrackObjective()',
        "TrackOverlaps(true_values, ids='all', every=1, verbose=False)",
    ],
    "algos.metrics": [
        'array2complex(Z)',
        'complex2array(z)',
        'mean_squared_error(x_true, x_pred)',
        'overlap(x_true, x_pred)',
        'phase_symmetric_mse(x_true, x_pred)',
        'sign_symmetric_mse(x_true, x_pred)',
    ],
    "base": [
        'Factor()',
        'ReprMixin()',
        'Variable(id, n_prev, n_next)',
        'filter_message(message, direction)',
        'inv(v)',
    ],
    "experiments": [
        "BayesOptimalScenario(model, x_ids=['x'], y_ids=['y'])",
        "TeacherStudentScenario(teacher, student, x_ids=['x'], y_ids=['y'])",
        'binary_search(f, xmin, xmax, xtol)',
        'find_critical_alpha(id, a0, mse_criterion, alpha_min, alpha_max, model_builder, alpha_tol=1e-06, vtol=0.001, **k)',
        'find_state_evolution_mse(id, a0, alpha, model_builder, **k)',
        'log_on_progress(i, total)',
        'plot_compare(x_true, x_pred)',
        'plot_compare_complex(x_true, x_pred)',
        'plot_function(f, xlim=(-3, 3))',
        'qplot(data, x, y, color=None, column=None, row=None, marker=None, linestyle=None, xlog=False, ylog=False, '
        'xlim=None, ylim=None, y_markers=None, sharex=True, sharey=True, figsize=4, y_legend=False, rename=None, '
        'font_size=12, usetex=False)',
        'run_experiments(run, on_progress=None, **k)',
        'run_state_evolution(x_ids, model, **k)',
        'save_experiments(run, csv_file, on_progress=None, **k)',
        'simple_run_experiments(run, **k)',
    ],
    "utils.integration": [
        'exponential_measure(m, f)',
        'gaussian_measure(m, s, f)',
        'gaussian_measure_2d(m1, s1, m2, s2, f)',
        'gaussian_measure_2d_full(mean, cov, f)',
        'gaussian_measure_full(mean, cov, f)',
        'is_pos_def(x)',
        'norm_pdf(x)',
    ],
}

#: Parameters that have no default any more, or another one: name, and why.
CHANGED = {
    ("Variable", "n_prev"): "a plain variable works its own degree out",
    ("Variable", "n_next"): "a plain variable works its own degree out",
    ("StateEvolution", "model"): "a teacher and a student can be given instead",
    ("GradientChannel", "shape"): "the paper's listing gives none",
}


def cases() -> list[tuple[str, str]]:
    return [(module, signature) for module, found in SIGNATURES.items() for signature in found]


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, list):
        return list(ours) == theirs
    return bool(ours == theirs)


@pytest.mark.parametrize(("module", "signature"), cases(), ids=[f"{m}.{s.split('(')[0]}" for m, s in cases()])
def test_signature(module: str, signature: str) -> None:
    name = signature.split("(")[0]
    ours = getattr(importlib.import_module(f"treeamp.{module}"), name)
    declared = ast.parse(f"def {signature}: pass").body[0]
    assert isinstance(declared, ast.FunctionDef)
    parameters = list(inspect.signature(ours).parameters.values())
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        with pytest.raises(ta.NotAvailable):
            ours()
        return
    names = [a.arg for a in declared.args.args]
    positional = [p for p in parameters if p.kind is not p.KEYWORD_ONLY and p.kind is not p.VAR_KEYWORD]
    assert [p.name for p in positional[: len(names)]] == names, signature
    defaults = dict(zip(names[len(names) - len(declared.args.defaults) :], declared.args.defaults))
    for parameter in positional[: len(names)]:
        if (name, parameter.name) in CHANGED:
            continue
        told = parameter.default is not inspect.Parameter.empty
        assert told == (parameter.name in defaults), (signature, parameter.name)
        if told:
            assert same(parameter.default, ast.literal_eval(defaults[parameter.name])), (signature, parameter.name)


def test_beliefs_have_their_functions() -> None:
    for name in ("normal", "binary", "exponential", "sparse", "positive", "truncated", "mixture"):
        belief = importlib.import_module(f"treeamp.beliefs.{name}")
        assert all(callable(getattr(belief, f)) for f in ("A", "r", "v", "tau", "p"))


def test_a_script() -> None:
    """The way a script of tramp's gallery reads, its imports renamed."""
    from treeamp.algos import EarlyStoppingEP, ExpectationPropagation, JoinCallback, StateEvolution, TrackErrors
    from treeamp.algos.metrics import mean_squared_error
    from treeamp.channels import GaussianChannel, LinearChannel
    from treeamp.ensembles import GaussianEnsemble
    from treeamp.priors import GaussBernoulliPrior
    from treeamp.variables import SILeafVariable as O  # noqa: E741
    from treeamp.variables import SISOVariable as V

    N, alpha = 200, 0.8
    F = GaussianEnsemble(M=int(alpha * N), N=N).generate(seed=1)
    teacher = (
        GaussBernoulliPrior(size=N, rho=0.5) @ V(id="x") @ LinearChannel(F, name="F") @ V(id="z")
        @ GaussianChannel(var=1e-2) @ O(id="y")
    ).to_model()
    sample = teacher.sample(seed=1)
    student = teacher.to_observed({"y": sample["y"]})
    track = TrackErrors({"x": sample["x"]}, metrics=["mse"])
    ep = ExpectationPropagation(student)
    ep.iterate(max_iter=100, callback=JoinCallback([track, EarlyStoppingEP()]), damping=0.1)
    x = ep.get_variables_data(["x"])["x"]
    se = StateEvolution(student)
    se.iterate(max_iter=200)
    assert mean_squared_error(sample["x"], x["r"]) == track.records[-1]["mse"]
    # N = 200: the error fluctuates about its prediction
    assert x["v"] == pytest.approx(se.get_variables_data(["x"])["x"]["v"], rel=0.3)
    assert np.isfinite(ep.log_evidence()) and np.isfinite(se.entropy())


def test_channels_of_several_inputs_take_them_one_by_one() -> None:
    u, v = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    assert np.array_equal(ta.SumChannel(2).sample(u, v), u + v)
    assert np.array_equal(ta.SumChannel(2).sample([u, v], 3), u + v)
    assert np.array_equal(ta.ConcatChannel([2, 1]).sample(u, v[:1]), [1.0, 2.0, 3.0])
    rows = ta.ConcatChannel([2, 2], axis=1).sample(np.ones((3, 2)), np.zeros((3, 2)))
    assert np.array_equal(rows, np.hstack([np.ones((3, 2)), np.zeros((3, 2))]))
    assert ta.SumChannel(2).second_moment(1.0, 2.0) == ta.SumChannel(2).second_moment([1.0, 2.0])
    # rounding only; lengths weigh in the second: (2 * 1 + 3 * 2) / 5
    assert abs(ta.SumChannel(2).second_moment(1.0, 2.0) - 3.0) < 1e-15
    assert abs(ta.ConcatChannel([2, 3]).second_moment(1.0, 2.0) - 1.6) < 1e-15
    assert np.array_equal(ta.GaussianChannel(1.0).sample(u, 5), ta.GaussianChannel(1.0).sample(u, seed=5))


def test_fourier_transforms_have_averages_alone() -> None:
    """The same as a matrix of that spectrum, for the forward and backward errors; rounding only."""
    rotation = ta.RotationChannel(np.eye(4))
    for channel in (ta.DFTChannel(real=True), ta.DFTChannel(real=False), ta.RealDFTChannel()):
        found, expected = channel.compute_backward_error(2.0, 1.0, 1.0), rotation.compute_backward_error(2.0, 1.0, 1.0)
        assert abs(found - expected) < 1e-14
    # of a real signal there are twice as many numbers, with half of the variance each
    tall = ta.LinearChannel(np.vstack([np.eye(4), np.eye(4)]) / np.sqrt(2))
    found, expected = (c.compute_forward_error(2.0, 1.0, 1.0) for c in (ta.DFTChannel(real=True), tall))
    assert abs(found - expected) < 1e-14 and ta.DFTChannel(real=True).second_moment(1.0) == 0.5


def test_other_names_of_keys_and_parameters() -> None:
    assert ta.HardSigmoidLikelihood([0.5], l=3).knee == 3.0
    assert isinstance(ta.get_channel("blur_1d", sigma=1.0, N=4), ta.Blur1DChannel)
    assert isinstance(ta.get_channel("blur_2d", sigma=[1.0, 1.0], shape=(4, 4)), ta.Blur2DChannel)
    assert isinstance(ta.get_channel("diff", D1=[1.0], D2=[0.0], shape=(4,)), ta.DifferentialChannel)
