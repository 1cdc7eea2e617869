"""Every module path that scripts of tramp import from, and what cannot be had says so."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import treeamp as ta

PATHS: dict[str, str] = json.loads((Path(__file__).parents[1] / "tramp_names.json").read_text(encoding="utf-8"))["paths"]

#: What tramp has at these paths, written out: one line a path.
EXAMPLES = """
from treeamp.algos.callbacks import EarlyStopping, EarlyStoppingEP, JoinCallback, LogProgress, TrackErrors
from treeamp.algos.expectation_propagation import ExpectationPropagation
from treeamp.algos.initial_conditions import ConstantInit, CustomInit, NoisyInit
from treeamp.algos.message_passing import MessagePassing
from treeamp.algos.metrics import mean_squared_error, sign_symmetric_mse
from treeamp.algos.state_evolution import StateEvolution
from treeamp.base import Factor, ReprMixin, Variable
from treeamp.beliefs import binary, exponential, mixture, normal, positive, sparse, truncated
from treeamp.channels import CHANNEL_CLASSES
from treeamp.channels.activation.piecewise_linear_channel import HardTanhChannel, PiecewiseLinearChannel
from treeamp.channels.activation.tanh_channel import TanhChannel
from treeamp.channels.base_channel import Channel
from treeamp.channels.linear.conv_channel import Blur1DChannel, ConvChannel
from treeamp.channels.linear.gradient_channel import GradientChannel
from treeamp.channels.linear.linear_channel import LinearChannel
from treeamp.channels.linear_channel import LinearChannel
from treeamp.channels.low_rank.low_rank_factorization import LowRankFactorization
from treeamp.channels.noise.gaussian_channel import GaussianChannel
from treeamp.channels.shape.concat_channel import ConcatChannel
from treeamp.ensembles.base_ensemble import Ensemble
from treeamp.ensembles.gaussian_ensemble import GaussianEnsemble
from treeamp.experiments.critical_alpha import find_critical_alpha
from treeamp.experiments.multiple_experiments import run_experiments
from treeamp.experiments.plots import qplot
from treeamp.experiments.teacher_student_scenario import BayesOptimalScenario
from treeamp.likelihoods.base_likelihood import Likelihood
from treeamp.likelihoods.modulus_likelihood import ModulusLikelihood
from treeamp.likelihoods.piecewise_linear_likelihood import ReluLikelihood
from treeamp.models.base_model import Model
from treeamp.models.generalized_linear_model import glm_generative
from treeamp.models.multi_layer_model import MultiLayerModel
from treeamp.priors.base_prior import Prior
from treeamp.priors.committee_binary_prior import CommitteeBinaryPrior
from treeamp.priors.gaussian_prior import GaussianPrior
from treeamp.priors.map_L21_norm_prior import MAP_L21NormPrior
from treeamp.utils.integration import gaussian_measure
from treeamp.utils.misc import array2complex, complex2array, norm_cdf, relu
from treeamp.variables.sub_variables import SISOVariable
""".strip().splitlines()


@pytest.mark.parametrize("path", PATHS)
def test_a_path_has_the_classes_of_its_package(path: str) -> None:
    module = importlib.import_module(f"treeamp.{path}")
    package = importlib.import_module("treeamp." + path.split(".")[0])
    assert module.__all__ == PATHS[path].split()
    for name in module.__all__:
        assert getattr(module, name) is getattr(package, name)


@pytest.mark.parametrize("line", EXAMPLES)
def test_a_line_of_a_script(line: str) -> None:
    exec(line, {})


def test_type_checkers_know_the_paths(tmp_path: Path) -> None:
    """Every line of a script, and that a class keeps its type."""
    script = tmp_path / "script.py"
    lines = [line for line in EXAMPLES if "CHANNEL_CLASSES" not in line]
    lines += [f"from treeamp.{path} import {name}" for path, names in PATHS.items() for name in names.split()]
    # and every name of the package itself, by attribute
    lines += ["import treeamp as ta"] + [f"ta.{name}" for name in sorted(vars(ta)) if not name.startswith("_")]
    lines += ["from treeamp.priors.gaussian_prior import GaussianPrior as P", "wrong: int = P(3)"]
    script.write_text("\n".join(lines) + "\n")
    told = subprocess.run([sys.executable, "-m", "mypy", "--strict", str(script)], capture_output=True, text=True, cwd=tmp_path)
    assert "Found 1 error" in told.stdout and 'has type "GaussianPrior", variable has type "int"' in told.stdout, told.stdout


def test_paths_are_there_in_a_fresh_interpreter() -> None:
    """Before anything else was imported, and as attributes."""
    script = "\n".join([*EXAMPLES, "import treeamp.priors.gaussian_prior as p", "assert p.GaussianPrior is GaussianPrior"])
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True, timeout=60)


@pytest.mark.parametrize(
    ("path", "name", "instead"),
    [
        ("checks.check_gradients", "check_prior_grad_BO", "check_factor"),
        ("checks", "plot_prior_BO_limit", "check_factor"),
        ("utils.conv_filters", "gaussian_filter", "Blur1DChannel"),
        ("utils.linear_region", "LinearRegion", "PiecewiseLinearChannel"),
        ("utils.misc", "phi_0", "treeamp.beliefs"),
        ("utils.truncated_normal", "TruncatedNormal", "beliefs.truncated"),
    ],
)
def test_what_is_not_there_says_what_is(path: str, name: str, instead: str) -> None:
    module = importlib.import_module(f"treeamp.{path}")
    with pytest.raises(ta.NotAvailable, match=instead):
        getattr(module, name)
    assert not hasattr(module, "__wrapped__")


def test_importing_is_quick_and_leaves_the_extras_alone() -> None:
    """Neither pandas nor matplotlib nor dask is loaded, nor anything of scipy."""
    script = "import sys, treeamp; print(sorted(set(sys.modules) & {'pandas', 'matplotlib', 'dask', 'tqdm', 'scipy'}))"
    done = subprocess.run([sys.executable, "-c", script], check=True, timeout=60, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
