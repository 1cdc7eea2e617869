"""What state evolution refuses."""

from __future__ import annotations

import numpy as np
from bad_calls import INF, MODEL, NAN, RUN, TYPE, VALUE, Negative, Table, Words, chain, entropy_too_early, limit

import treeamp as ta

TABLE: Table = {
    "a teacher and student whose trees differ": (
        lambda: ta.StateEvolution(teacher=limit(), student=chain()).iterate(), RUN, "teacher and student differ",
    ),
    "a ratio that is not positive": (lambda: limit(0.0), MODEL, "`alpha` must be positive"),
    "an ensemble that is none": (lambda: ta.AnalyticalLinearChannel(None), TYPE, "`ensemble` must be an ensemble"),
    "a spectrum of words": (lambda: ta.AnalyticalLinearChannel(Words()), TYPE, "`eigenvalues` must be an array of numbers"),
    "a committee of a ratio without end": (
        lambda: ta.sgn_committee(2, 10, INF, "gaussian", 0.5, 0.1), MODEL, "`alpha` must give at least one observation, and finitely many",
    ),
    "a soft committee of no ratio": (
        lambda: ta.soft_committee(2, 10, NAN, "gaussian", 0.0, 1.0, 0.1), MODEL, "`alpha` must give at least one observation",
    ),
    "a spectrum with negative eigenvalues": (lambda: ta.AnalyticalLinearChannel(Negative()), MODEL, "-1 at index 1"),
    "a module without an ensemble rule": (
        lambda: ta.StateEvolution(
            (ta.MAP_L21NormPrior((2, 3)) @ ta.V("x") @ ta.GaussianLikelihood(np.ones((2, 3)), 0.1)).to_model()
        ).iterate(),
        RUN, "`l21` has no state evolution",
    ),
    "an answer that was not reached": (entropy_too_early, RUN, "could not reach the fixed point"),
    "beliefs by component of a theory": (
        lambda: ta.StateEvolution(chain(ta.GaussianPrior(3, isotropic=False))).iterate(), RUN, "diagonal",
    ),
    "informed of an unknown variable": (
        lambda: ta.StateEvolution(limit()).iterate(initializer=ta.InformedInit(["w"])), VALUE, "there is no variable `w`",
    ),
    "a teacher without a student": (lambda: ta.StateEvolution(teacher=limit()), TYPE, "both a teacher and a student"),
    "information of a noiseless output": (
        lambda: (se := ta.StateEvolution(ta.glm_state_evolution(0.5, "gaussian", "relu"))).iterate(max_iter=500)
        and se.mutual_information(),
        RUN, "not defined",
    ),
}

#: What must be refused, and the entries that show it.
PHRASES = {
    "a teacher and student whose trees differ": ["a teacher and student whose trees differ"],
    "a ratio that is not positive": ["a ratio that is not positive"],
    "a spectrum with negative eigenvalues": ["a spectrum with negative eigenvalues"],
    "a module without an ensemble rule": ["a module without an ensemble rule"],
    "an informed start on an unknown variable": ["informed of an unknown variable"],
    "a fixed point not reached within the sweep limit": ["an answer that was not reached"],
}
