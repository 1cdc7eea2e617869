"""Arguments of modules, runs, draws and figures: every refusal names its class or the argument."""

from __future__ import annotations

from typing import Any

import pandas as pd
from bad_calls import INF, MODEL, NAN, RUN, TYPE, VALUE, Table, ep, limit, table

import treeamp as ta
from treeamp.experiments import qplot, run_experiments

TABLE_OF_TWO = pd.DataFrame({"a": [1, 2], "b": [1.0, 2.0]})
LABELS = ta.LogisticLikelihood([1.0])
HEAVY = ta.StudentTPrior(5, df=2)


def noise() -> Any:
    return ta.HeteroscedasticNoiseLikelihood([0.0, 1.0], variances=[1.0, 4.0])


def heavy_theory() -> ta.StateEvolution:
    return ta.StateEvolution((HEAVY @ ta.V("x") @ ta.GaussianLikelihood(None, 0.1)).to_model())


TABLE: Table = {
    # --- constructors
    "a word for a scale": (lambda: ta.LaplacePrior(3, scale="a"), TYPE, "LaplacePrior: `scale` must be a number, got 'a'"),  # type: ignore[arg-type]
    "no letters": (lambda: ta.QamPrior((2, 3), order=0), MODEL, "QamPrior: `order` must be a power of 4 from 4 to 65536, got 0"),
    "a word for a size": (lambda: ta.StudentTPrior("a"), TYPE, "StudentTPrior: `size` must be an integer, got str"),
    "a word for a channel": (lambda: ta.GaussianChannel(var="a"), TYPE, "GaussianChannel: `var` must be a number"),  # type: ignore[arg-type]
    "a word for a matrix": (lambda: ta.LinearChannel("abc"), TYPE, "LinearChannel: `W` must be an array of numbers"),
    "no rows": (lambda: ta.GaussianEnsemble(0, 3), VALUE, "GaussianEnsemble: `M` must be at least 1, got 0"),
    "a word to start from": (lambda: ta.ConstantInit(a="x"), TYPE, "ConstantInit: `a` must be a number"),  # type: ignore[arg-type]
    "a committee of no probability": (
        lambda: ta.CommitteeBinaryPrior(3, 2, p_pos=3), MODEL, "CommitteeBinaryPrior: `p_pos` must be in [0, 1], got 3",
    ),
    "neither isotropic nor not": (lambda: ta.GaussianPrior(3, isotropic="foo"), TYPE, "GaussianPrior: `isotropic` must be True or False"),  # type: ignore[arg-type]
    # --- observations of modules asked alone
    "a label of its own": (lambda: LABELS.log_density(0.0, 0.3), MODEL, "LogisticLikelihood: y: expected +1 or -1, got 0.3 at index 0"),
    "a label asked with": (lambda: LABELS.scalar_backward_mean(1.0, 0.0, 0.3), MODEL, "LogisticLikelihood: y: expected +1 or -1"),
    "one of two observations": (
        lambda: noise().scalar_backward_mean(1.0, 0.0, 0.5), MODEL,
        "HeteroscedasticNoiseLikelihood: beliefs and observations: expected 2 components, got 1",
    ),
    # --- runs
    "an acceleration that is a word": (lambda: ep(acceleration="foo"), TYPE, "`acceleration` must be True or False, got 'foo'"),
    "a positivity that is a word": (lambda: ep(positive="foo"), TYPE, "`positive` must be True or False"),
    "an exactness that is a number": (lambda: ep(exact=2), TYPE, "`exact` must be True or False, got 2"),
    "a warm start that is a word": (lambda: ep(warm_start="no"), TYPE, "`warm_start` must be True or False"),
    "a rollback that is a word": (lambda: ep(rollback="no"), TYPE, "`rollback` must be True or False"),
    "a plain start that is a word": (
        lambda: ta.ExpectationPropagation(limit()).restart(plain="no"), TYPE, "`plain` must be True or False",  # type: ignore[arg-type]
    ),
    "a change below zero": (lambda: ta.EarlyStopping(tol=-1), VALUE, "EarlyStopping: `tol` must not be negative, got -1.0"),
    "a change that is none": (lambda: ta.EarlyStoppingEP(tol=NAN), VALUE, "EarlyStoppingEP: `tol` must not be negative, got nan"),
    "a least variance of NaN": (lambda: ta.EarlyStopping(min_variance=NAN), VALUE, "EarlyStopping: `min_variance` must be a number"),
    # --- no second moment
    "theory of a heavy law": (heavy_theory, RUN, "`student_t` (df=2, mean=0, scale=1) has no finite second moment"),
    "a second moment of a heavy law": (
        HEAVY.second_moment, ta.FactorError, "StudentTPrior(size=5, df=2.0, mean=0.0, scale=1.0): a law that data are drawn from must have",
    ),
    "an error of a heavy law": (lambda: HEAVY.compute_forward_error(1.0), ta.FactorError, "df=2.0"),
    "a precision of a heavy law": (lambda: HEAVY.compute_precision(0.5), RUN, "df=2.0"),
    "an information of a heavy law": (lambda: HEAVY.compute_mutual_information(1.0), ta.FactorError, "df=2.0"),
    # --- draws
    "a label of NaN": (lambda: ta.LogisticLikelihood(None).sample([NAN, 0.5]), VALUE, "`Z` must be finite, got nan at index 0"),
    "a count of infinity": (lambda: ta.PoissonLikelihood(None).sample([0.5, INF]), VALUE, "`Z` must be finite, got inf at index 1"),
    "a step of NaN": (lambda: ta.QuantisedLikelihood(None).sample([NAN]), VALUE, "`Z` must be finite"),
    "a bound of infinity": (lambda: ta.CensoredLikelihood(None).sample([-INF]), VALUE, "`Z` must be finite, got -inf"),
    "a phase of NaN": (lambda: ta.PhaseLikelihood(None).sample([[NAN], [1.0]]), VALUE, "`Z` must be finite"),
    "a channel of NaN": (lambda: ta.LogisticChannel().sample([[1.0, 2.0], [3.0, NAN]]), VALUE, "`Z` must be finite, got nan at index 3"),
    "a rate beyond all numbers": (
        lambda: ta.PoissonLikelihood(None).sample([1.0, 1000.0]), VALUE, "PoissonLikelihood: the output of 1000 at index 1 is beyond",
    ),
    "counts beyond all numbers": (lambda: ta.PoissonChannel().sample([1000.0]), VALUE, "PoissonChannel: the output of 1000 at index 0"),
    "a model of counts beyond all numbers": (
        lambda: (ta.GaussianPrior(2, mean=1000.0) @ ta.V("z") @ ta.PoissonChannel() @ ta.O("y")).to_model().sample(seed=0),
        MODEL, "variable `y`: what was drawn at index 0 is beyond the largest number",
    ),
    # --- experiments
    "a list of names": (
        lambda: qplot(TABLE_OF_TWO, "a", "b", rename=["a"]), TYPE, "`rename` must be a dict of texts by those that they replace, got list",  # type: ignore[arg-type]
    ),
    "a resumption of nothing": (lambda: run_experiments(table, a=[1], resume=True), VALUE, "`resume=True` needs a `journal`"),
}

