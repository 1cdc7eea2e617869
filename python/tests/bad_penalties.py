"""Beliefs and penalties that are refused."""

from __future__ import annotations

import numpy as np
from bad_calls import MODEL, NAN, NOT, RUN, TYPE, VALUE, W, Table, chain, ep, full, limit, seen

import treeamp as ta

TABLE: Table = {
    "an unknown belief": (lambda: chain(belief="cubic"), MODEL, "isotropic, diagonal, full or block(n), got cubic"),
    "a belief by a number": (lambda: ta.V("x", belief=3), TYPE, "`belief` must be a string"),  # type: ignore[arg-type]
    "block sizes that do not divide the shape": (lambda: chain(belief="block(2)"), MODEL, "expected a divisor of 3"),
    "a belief that a module cannot handle": (
        lambda: ep(chain(ta.BinaryPrior(3), belief="full")), RUN, "factor `binary` does not support full beliefs",
    ),
    "a full belief that does not fit in memory": (lambda: ep(full(10**5)), RUN, "would take 800008000000 bytes"),
    "a full belief beyond the limit": (lambda: ep(full(3), memory_limit=10), RUN, "`memory_limit`"),
    "full beliefs of a theory": (lambda: ta.StateEvolution(chain(belief="full")).iterate(), RUN, "full beliefs"),
    "a wrong derivative": (
        lambda: ta.MAP_CustomPrior(3, lambda t, u: u / (1 + t), lambda t, u: 0 * u, lambda x: x**2 / 2).check(),
        MODEL, "derivative",
    ),
    "a proximal map of another energy": (
        lambda: ta.MAP_CustomPrior(3, lambda t, u: u, lambda t, u: 1.0, lambda x: x**2 / 2).check(), MODEL, "minimise",
    ),
    "a penalty without an energy": (lambda: ta.MAP_CustomPrior(3, abs, abs, None), TYPE, "`energy`"),  # type: ignore[arg-type]
    "a penalty that is NaN": (
        lambda: ta.MAP(chain(ta.MAP_CustomPrior(3, lambda t, u: NAN * u, lambda t, u: u, abs))).iterate(), VALUE, "NaN",
    ),
    "a negative penalty strength": (lambda: ta.MAP_L1NormPrior(3, gamma=-1), MODEL, "`gamma` must be not negative"),
    "a box without an inside": (lambda: ta.MAP_BoxPrior(3, low=1, high=1), MODEL, "below high"),
    "a penalty of complex numbers": (
        lambda: seen(ta.ComplexLinearChannel(W), ta.MAP_L1NormPrior((2, 3))), MODEL, "penalty of a real signal",
    ),
    "a draw from a penalty": (lambda: ta.MAP_L1NormPrior(3).sample(), MODEL, "not a probability distribution"),
    "the mode of a law without one": (lambda: ta.MAP(chain(ta.BinaryPrior(3))).iterate(), RUN, "factor `binary` has no"),
    "a minimiser in the limit": (lambda: ta.MAP(limit()).iterate(), RUN, "limit"),
    "groups along an axis that is not there": (lambda: ta.MAP_L21NormPrior((2, 3), axis=2), MODEL, "one of the 2 axes"),
    "groups along an axis before the first": (lambda: ta.MAP_L21NormPrior((2, 3), axis=-3), VALUE, "`axis` must be at least -2"),
    "a committee of too many units": (lambda: ta.CommitteeBinaryPrior(3, 13), MODEL, "`K` must be at most 12"),
    "a committee without units": (lambda: ta.CommitteeBinaryPrior(3, 0), VALUE, "`K` must be at least 1"),
    "a committee of no law": (lambda: ta.CommitteeBinaryPrior(3, 2, p_pos=1.5), MODEL, "`p_pos`"),
    "a committee by components": (lambda: ta.CommitteeBinaryPrior(3, 2).scalar_forward_mean(1.0, 1.0), MODEL, "whole rows"),
    "a precision that is no matrix of units": (
        lambda: ta.CommitteeBinaryPrior(3, 2).compute_forward_posterior(np.eye(3), np.ones((3, 2))), VALUE, "symmetric 2 x 2",
    ),
    "averages of units that covary": (
        lambda: ta.CommitteeBinaryPrior(3, 2).compute_forward_error([[1.0, 0.5], [0.5, 1.0]]), NOT, "not diagonal",
    ),
    "a committee with one precision for all": (
        lambda: ep((ta.CommitteeBinaryPrior(3, 2) @ ta.V("x", belief="isotropic")
                    @ ta.GaussianLikelihood(np.ones((3, 2)), 0.1)).to_model()),
        RUN, "isotropic beliefs",
    ),
}

#: What must be refused, and the entries that show it.
PHRASES = {
    "block sizes that do not divide the shape": ["block sizes that do not divide the shape"],
    "a user-given derivative that disagrees with its proximal map": ["a wrong derivative"],
    "a negative penalty strength": ["a negative penalty strength"],
    "a belief that a module cannot handle": ["a belief that a module cannot handle"],
    "a full belief that would not fit in memory, with its bytes": ["a full belief that does not fit in memory"],
}
