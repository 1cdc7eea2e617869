"""The module paths that scripts written for tramp import from, one class a file there: each is here under its path.

>>> from treeamp.priors.gaussian_prior import GaussianPrior
>>> from treeamp.channels.linear.linear_channel import LinearChannel
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from .errors import NotImported

__all__ = ["PATHS", "register"]

_PIECEWISE = "PiecewiseLinear Sgn Abs AsymmetricAbs Relu LeakyRelu HardTanh HardSigmoid SymmetricDoor"


def _each(names: str, suffix: str) -> str:
    return " ".join(name + suffix for name in names.split())


#: Path below ``treeamp``, and the names that it has; those of the package before the first dot unless a path is given.
PATHS: dict[str, str] = {
    "algos.expectation_propagation": "ExpectationPropagation",
    "algos.state_evolution": "StateEvolution",
    "algos.display_mp": "DisplayLatexMessagePassing",
    "algos.explain_mp": "ExplainMessagePassing",
    "algos.explain_se": "ExplainStateEvolution",
    "channels.activation.modulus_channel": "ModulusChannel",
    "channels.activation.piecewise_linear_channel": _each(_PIECEWISE, "Channel"),
    "channels.activation.abs_channel": "AbsChannel",
    "channels.activation.activation_channel": "ActivationChannel",
    "channels.activation.hard_tanh_channel": "HardTanhChannel",
    "channels.activation.leaky_relu_channel": "LeakyReluChannel",
    "channels.activation.relu_channel": "ReluChannel",
    "channels.activation.sgn_channel": "SgnChannel",
    "channels.activation.tanh_channel": "TanhChannel",
    "channels.linear.analytical_linear_channel": "AnalyticalLinearChannel MarchenkoPasturChannel",
    "channels.linear.bias_channel": "BiasChannel",
    "channels.linear.complex_linear_channel": "ComplexLinearChannel",
    "channels.linear.conv_channel": _each("Conv Blur1D Blur2D Differential Laplacian", "Channel"),
    "channels.linear.dft_channel": "DFTChannel",
    "channels.linear.gradient_channel": "GradientChannel",
    "channels.linear.linear_channel": "LinearChannel",
    "channels.linear.rotation_channel": "RotationChannel",
    "channels.linear.sum_channel": "SumChannel",
    "channels.linear.unitary_channel": "UnitaryChannel",
    "channels.low_rank.low_rank_factorization": "LowRankFactorization",
    "channels.low_rank.low_rank_gram_channel": "LowRankGramChannel",
    "channels.noise.gaussian_channel": "GaussianChannel",
    "channels.shape.concat_channel": "ConcatChannel",
    "channels.shape.duplicate_channel": "DuplicateChannel",
    "channels.shape.reshape_channel": "ReshapeChannel",
    "ensembles.base_ensemble": "Ensemble",
    "ensembles.binary_ensemble": "BinaryEnsemble",
    "ensembles.complex_gaussian_ensemble": "ComplexGaussianEnsemble",
    "ensembles.complex_unitary_ensemble": "ComplexUnitaryEnsemble",
    "ensembles.gaussian_ensemble": "GaussianEnsemble",
    "ensembles.marchenko_pastur_ensemble": "MarchenkoPasturEnsemble",
    "ensembles.random_feature_ensemble": "RandomFeatureEnsemble",
    "ensembles.rotation_ensemble": "RotationEnsemble",
    "ensembles.ternary_ensemble": "TernaryEnsemble",
    "ensembles.unitary_ensemble": "UnitaryEnsemble",
    "experiments.critical_alpha": "binary_search find_critical_alpha find_state_evolution_mse",
    "experiments.multiple_experiments": "log_on_progress run_experiments save_experiments simple_run_experiments",
    "experiments.teacher_student_scenario": "BayesOptimalScenario TeacherStudentScenario run_state_evolution",
    "likelihoods.abs_likelihood": "AbsLikelihood",
    "likelihoods.gaussian_likelihood": "GaussianLikelihood",
    "likelihoods.modulus_likelihood": "ModulusLikelihood",
    "likelihoods.piecewise_linear_likelihood": _each(_PIECEWISE.removeprefix("PiecewiseLinear "), "Likelihood"),
    "likelihoods.sgn_likelihood": "SgnLikelihood",
    "models.base_model": "Model",
    "models.committee_model": "committee sgn_committee soft_committee",
    "models.factor_model": "FactorModel",
    "models.generalized_linear_model": "glm_generative glm_state_evolution",
    "models.multi_layer_model": "MultiLayerModel",
    "models.total_variation_model": (
        "sparse_gradient_classification sparse_gradient_regression tv_classification tv_regression"
    ),
    "priors.binary_prior": "BinaryPrior",
    "priors.committee_binary_prior": "CommitteeBinaryPrior",
    "priors.exponential_prior": "ExponentialPrior",
    "priors.gauss_bernoulli_prior": "GaussBernoulliPrior",
    "priors.gaussian_mixture_prior": "GaussianMixturePrior",
    "priors.gaussian_prior": "GaussianPrior",
    "priors.map_L1_norm_prior": "MAP_L1NormPrior",
    "priors.map_L21_norm_prior": "MAP_L21NormPrior",
    "priors.positive_prior": "PositivePrior",
    "variables.sub_variables": _each("MILeaf MISO MORoot SILeaf SIMO SISO SORoot", "Variable"),
}
# one file a channel, before there were folders of them
PATHS |= {f"channels.{path.rsplit('.', 1)[1]}": names for path, names in PATHS.items() if path.count(".") == 2}

#: What tramp's own modules were made of, or checked with: nothing here is made of it.
_INSIDE = {
    "checks.check_gradients": "modules are checked by treeamp.testing.check_factor",
    "checks.check_high_dim": "modules are checked by treeamp.testing.check_factor",
    "checks.check_limits": "modules are checked by treeamp.testing.check_factor",
    "utils.conv_filters": "ConvChannel takes a filter as an array, Blur1DChannel and the like make their own",
    "utils.linear_region": "PiecewiseLinearChannel takes regions as a list of dicts",
    "utils.truncated_normal": "treeamp.beliefs.truncated has the log-partition, mean and variance",
}


def _module(path: str) -> ModuleType:
    name = f"treeamp.{path}"
    module = ModuleType(name, f"The path ``{name}``, as in tramp.")
    sys.modules.setdefault(name, module)
    parent, _, last = name.rpartition(".")
    if parent not in sys.modules:
        _module(parent.removeprefix("treeamp."))
    if last not in vars(sys.modules[parent]):
        setattr(sys.modules[parent], last, module)
    return sys.modules[name]


def _refusing(name: str, why: str) -> Any:
    def refuse(attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        raise NotImported(f"{name}.{attribute} is not available: {why}")

    return refuse


def register() -> None:
    """Makes every path a module that can be imported."""
    for path, names in PATHS.items():
        package, module = sys.modules["treeamp." + path.split(".", 1)[0]], _module(path)
        for name in names.split():
            setattr(module, name, getattr(package, name))
        module.__dict__["__all__"] = names.split()
    for path, why in _INSIDE.items():
        setattr(_module(path), "__getattr__", _refusing(f"treeamp.{path}", why))
