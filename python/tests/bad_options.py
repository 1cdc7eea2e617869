"""Arrays with masked entries, scales, counts and lists that are refused."""

from __future__ import annotations

import numpy as np
from bad_calls import MODEL, TYPE, VALUE, Table

import treeamp as ta

ONES = np.ones(2)
MASKED = np.ma.masked_array([[1.0, 2.0]], mask=[[True, False]])

TABLE: Table = {
    "masked entries of a matrix": (lambda: ta.LinearChannel(MASKED), VALUE, "`W` must be known everywhere"),
    "masked entries of a complex matrix": (lambda: ta.ComplexLinearChannel(MASKED), VALUE, "`W` must be known everywhere"),
    "masked observations": (lambda: ta.GaussianLikelihood(MASKED[0]), VALUE, "`y` must be known everywhere"),
    "a total variation of no scale": (
        lambda: ta.tv_regression(np.eye(2), ONES, 2, grad_scale=0, noise_var=1, prior_var=1), MODEL, "`grad_scale` must be positive",
    ),
    "a total variation of a negative scale": (
        lambda: ta.tv_classification(np.eye(2), ONES, 2, grad_scale=-1, noise_var=1, prior_var=1), MODEL, "got -1.0",
    ),
    "a mask of another shape": (
        lambda: (ta.GaussianPrior((2, 3)) @ ta.V("x") @ ta.MaskChannel(np.ones(6)) @ ta.V("z")).to_model(),
        MODEL, "variable `x`: expected shape (6), got shape (2, 3)",
    ),
    "a mask turned round": (
        lambda: (ta.GaussianPrior((2, 3)) @ ta.V("x") @ ta.MaskChannel(np.ones((3, 2))) @ ta.V("z")).to_model(),
        MODEL, "expected shape (3, 2), got shape (2, 3)",
    ),
    "a signal of another shape than the mask": (lambda: ta.MaskChannel(np.ones(6)).sample(np.ones((2, 3))), VALUE, "(6,)"),
    "more sweeps than can be counted": (
        lambda: ta.ExpectationPropagation((ta.GaussianPrior(2) @ ta.V("x") @ ta.GaussianLikelihood(ONES)).to_model()).iterate(2**70),
        VALUE, "`max_iter` must be at most",
    ),
    "a list with something that is no callback": (
        lambda: ta.ExpectationPropagation(
            (ta.GaussianPrior(2) @ ta.V("x") @ ta.GaussianLikelihood(ONES)).to_model()
        ).iterate(callback=[ta.EarlyStopping(), 3]),
        TYPE, "`callback` must be callable, got int",
    ),
}
