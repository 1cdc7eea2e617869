"""Operators and complex signals that are refused."""

from __future__ import annotations

import numpy as np
from bad_calls import MODEL, NAN, RUN, TYPE, VALUE, W, Table, ep, operator, seen

import treeamp as ta

TABLE: Table = {
    "a kernel larger than the signal": (lambda: seen(ta.ConvChannel(np.ones(5))), MODEL, "`convolution`"),
    "a mask with nothing observed": (lambda: seen(ta.MaskChannel([False] * 3)), MODEL, "nothing observed"),
    "an operator whose adjoint is wrong": (lambda: operator(scale=2.0), MODEL, "fails the dot test"),
    "an operator that raises": (lambda: ta.LinearOperatorChannel(lambda z: {}["mine"], abs, 3, 3), KeyError, "mine"),
    "an operator that gives too little": (
        lambda: ta.LinearOperatorChannel(lambda z: z[:2], lambda x: x, 3, 3), VALUE, "expected 3 components, got 2",
    ),
    "an operator that gives complex numbers": (
        lambda: ta.LinearOperatorChannel(lambda z: 1j * z, lambda x: x, 3, 3), TYPE, "must be real",
    ),
    "complex data where real is expected": (lambda: ta.GaussianLikelihood(np.array([1j]), 0.1), TYPE, "`y` must be real"),
    "a complex signal where a real one is expected": (
        lambda: (ta.GaussianPrior((2, 3)) @ ta.V("x") @ ta.ComplexLinearChannel(W) @ ta.V("z") @ ta.ReluChannel()
                 @ ta.V("y")).to_model(),
        MODEL, "expected a real signal",
    ),
    "conjugate gradients that do not converge": (
        lambda: ep((ta.GaussianPrior(3) @ ta.V("x") @ operator(max_iter=1) @ ta.V("z")
                    @ ta.GaussianLikelihood([1.0, 2.0], 1e-3)).to_model()),
        RUN, "conjugate gradients",
    ),
    "no tolerance of conjugate gradients": (lambda: operator(tolerance=0.0), MODEL, "`tolerance`"),
    "a reshape of another size": (lambda: ta.ReshapeChannel(6, (2, 4)), MODEL, "ReshapeChannel: `next_shape`"),
    "a blur of a negative width": (lambda: ta.Blur1DChannel(-1.0, 8), MODEL, "Blur1DChannel: `sigma`"),
    "derivatives of too many axes": (lambda: ta.DifferentialChannel([1.0, 1.0], [0.0], (4,)), MODEL, "one number per axis"),
    "a mask of another shape": (
        lambda: (ta.GaussianPrior(3) @ ta.V("x") @ ta.MaskChannel([True, False]) @ ta.V("y")).to_model(), MODEL, "expected shape (2)",
    ),
    "a matrix that is not unitary": (lambda: ta.UnitaryChannel(W), MODEL, "UnitaryChannel: `U` must be square"),
    "a complex signal without parts": (
        lambda: (ta.GaussianPrior(3) @ ta.V("x") @ ta.ComplexLinearChannel(W) @ ta.V("z")).to_model(), MODEL, "size=(2, ...)",
    ),
    "a modulus without parts": (lambda: ta.ModulusLikelihood([1.0]).compute_backward_posterior(1.0, [1.0]), MODEL, "parts"),
    "a modulus that is negative": (lambda: ta.ModulusLikelihood([-1.0]), MODEL, "-1"),
    "a complex filter of a real signal": (lambda: ta.ConvChannel([1j, 0.0, 0.0]), TYPE, "`filter` must be real"),
    "a complex kernel larger than the signal": (
        lambda: seen(ta.ConvChannel(np.ones(5), real=False), ta.GaussianPrior((2, 3))), MODEL, "`convolution`",
    ),
    "a filter of a complex signal without parts": (
        lambda: seen(ta.ConvChannel(np.ones(3), real=False), ta.GaussianPrior(3)), MODEL, "size=(2, ...)",
    ),
    "an activation that raises": (
        lambda: ta.ActivationChannel(lambda z: {}["mine"]).compute_forward_posterior(1.0, [1.0], 1.0, [1.0]), KeyError, "mine",
    ),
    "an activation that is NaN": (
        lambda: ta.ActivationChannel(lambda z: NAN).compute_forward_posterior(1.0, [1.0], 1.0, [1.0]), VALUE, "got NaN",
    ),
    "an activation that is no function": (lambda: ta.ActivationChannel(3), TYPE, "`func`"),  # type: ignore[arg-type]
}

#: What must be refused, and the entries that show it.
PHRASES = {
    "kernels larger than the signal": ["a kernel larger than the signal"],
    "masks of the wrong shape": ["a mask of another shape"],
    "masks with nothing observed": ["a mask with nothing observed"],
    "operators whose adjoint is wrong": ["an operator whose adjoint is wrong"],
    "complex data where real is expected": ["complex data where real is expected", "a complex signal where a real one is expected", "a complex filter of a real signal"],
    "conjugate gradients that do not converge": ["conjugate gradients that do not converge"],
}
