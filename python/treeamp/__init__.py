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

Where things are, each with its own ``help``::

    treeamp.priors, treeamp.channels, treeamp.likelihoods    modules; get_prior("gaussian", size=3) and the like make one by name
    treeamp.variables, treeamp.models                        V, O, Model, Sample, and models that are ready
    treeamp.ensembles                                        random matrices
    treeamp.algos                                            ExpectationPropagation, MAP, StateEvolution, their callbacks and starts,
                                                             reports, phases and thresholds
    treeamp.experiments                                      grids of runs with journals, teacher and student, figures
    treeamp.custom, treeamp.testing                          modules of your own, and what checks them
    treeamp.errors                                           what is raised
    treeamp.beliefs, treeamp.utils                           functions of numbers and arrays

All names but those of ``experiments``, ``testing``, ``beliefs`` and ``utils`` are in ``treeamp`` itself, too.
"""
# There is no `__all__`: `help` would write out every class in full.

from . import algos as algos
from . import base as base
from . import beliefs as beliefs
from . import channels as channels
from . import checks as checks
from . import custom as custom
from . import ensembles as ensembles
from . import errors as errors
from . import experiments as experiments
from . import likelihoods as likelihoods
from . import models as models
from . import priors as priors
from . import testing as testing
from . import utils as utils
from . import variables as variables
from ._lib import __version__ as __version__
from ._refused import register as _register
from .algos import *
from .algos.metrics import mean_squared_error as mean_squared_error
from .algos.metrics import overlap as overlap
from .algos.metrics import phase_symmetric_mse as phase_symmetric_mse
from .algos.metrics import sign_symmetric_mse as sign_symmetric_mse
from .channels import *
from .custom import CustomLikelihood as CustomLikelihood
from .custom import CustomPrior as CustomPrior
from .ensembles import *
from .errors import *
from .likelihoods import *
from .models import *
from .priors import *
from .variables import *

_register()
