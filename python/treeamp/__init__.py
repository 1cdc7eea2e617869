"""Compositional inference in high-dimensional, tree-structured models.

Declare a tree of priors, channels and likelihoods; run expectation propagation on it, or predict by state evolution
how well that can work.

Examples
--------
>>> import treeamp as ta
>>> W = ta.GaussianEnsemble(M=200, N=400).generate(seed=1)
>>> model = (ta.GaussBernoulliPrior(size=400, rho=0.05) @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z")
...          @ ta.GaussianChannel(var=0.01) @ ta.O("y")).to_model()
>>> truth = model.sample(seed=1)
>>> ep = ta.ExpectationPropagation(model.to_observed({"y": truth["y"]}))
>>> ep.iterate(max_iter=200).converged
True
>>> error = ta.mean_squared_error(truth["x"], ep.get_variables_data(["x"])["x"]["r"])
>>> error < 0.2 * 0.05
True
"""

from . import (
    algos,
    base,
    beliefs,
    channels,
    checks,
    custom,
    ensembles,
    errors,
    experiments,
    likelihoods,
    models,
    priors,
    testing,
    utils,
    variables,
)
from ._lib import __version__
from ._paths import register as _register
from .algos import *  # noqa: F403
from .algos import __all__ as _algos
from .algos.metrics import mean_squared_error, overlap, phase_symmetric_mse, sign_symmetric_mse
from .channels import *  # noqa: F403
from .channels import __all__ as _channels
from .custom import CustomLikelihood, CustomPrior
from .ensembles import *  # noqa: F403
from .ensembles import __all__ as _ensembles
from .errors import (
    FactorError,
    FileError,
    MismatchError,
    ModelError,
    NotAvailable,
    NotImported,
    RunError,
    TooLarge,
    TreeampError,
)
from .likelihoods import *  # noqa: F403
from .likelihoods import __all__ as _likelihoods
from .models import *  # noqa: F403
from .models import __all__ as _models
from .priors import *  # noqa: F403
from .priors import __all__ as _priors
from .variables import *  # noqa: F403
from .variables import __all__ as _variables

__all__ = [
    "CustomLikelihood",
    "CustomPrior",
    "FactorError",
    "FileError",
    "MismatchError",
    "ModelError",
    "NotAvailable",
    "NotImported",
    "RunError",
    "TooLarge",
    "TreeampError",
    "__version__",
    "algos",
    "base",
    "beliefs",
    "channels",
    "checks",
    "custom",
    "ensembles",
    "errors",
    "experiments",
    "likelihoods",
    "mean_squared_error",
    "models",
    "overlap",
    "phase_symmetric_mse",
    "priors",
    "sign_symmetric_mse",
    "testing",
    "utils",
    "variables",
    *_algos,
    *_channels,
    *_ensembles,
    *_likelihoods,
    *_models,
    *_priors,
    *_variables,
]

_register()
