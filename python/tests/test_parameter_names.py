"""Errors speak of the class and of the parameter that was written, not of what they become inside."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treeamp as ta
from treeamp import channels, ensembles

CASES: list[tuple[str, Callable[[], Any]]] = [
    ("Blur2DChannel: `sigma` must be finite and not negative, got -1", lambda: ta.Blur2DChannel(sigma=[1, -1], shape=(4, 4))),
    ("Blur2DChannel: `sigma` must be finite and not negative, got NaN", lambda: ta.Blur2DChannel(sigma=[1, np.nan], shape=(4, 4))),
    ("Blur2DChannel: expected a sigma with one number for all axes or one for each of 2, got 3", lambda: ta.Blur2DChannel([1, 1, 1], (4, 4))),
    ("Blur1DChannel: `sigma` must be finite and not negative, got -1", lambda: ta.Blur1DChannel(sigma=-1, N=4)),
    ("ConvChannel: `filter` must be finite, got nan at index 0", lambda: ta.ConvChannel(filter=[np.nan, 1])),
    ("ConvChannel: `filter` must be finite", lambda: ta.ConvChannel(filter=[1j * np.inf, 1], real=False)),
    ("ConvChannel: `filter` must have at least one component", lambda: ta.ConvChannel(filter=[])),
    ("DifferentialChannel: `D1` must be finite, got nan", lambda: ta.DifferentialChannel([np.nan], [1], (4,))),
    ("DifferentialChannel: `D2` must be finite, got inf", lambda: ta.DifferentialChannel([1], np.inf, (4,))),
    ("DifferentialChannel: `shape` must have at least one component", lambda: ta.DifferentialChannel([1], [1], 0)),
    ("GradientChannel: `shape` must have at least one component, got shape (0,)", lambda: ta.GradientChannel(shape=0)),
    ("GradientChannel: expected an array with at least one axis, got ()", lambda: ta.GradientChannel(shape=())),
    ("LaplacianChannel: `shape` must have at least one component", lambda: ta.LaplacianChannel(shape=(4, 0))),
    ("RealDFTChannel: `shape` must have at least one component", lambda: ta.RealDFTChannel(shape=0)),
    ("MaskChannel: `mask` must have at least one component", lambda: ta.MaskChannel([])),
    ("MaskChannel: expected a mask with at least one observed entry, got nothing observed", lambda: ta.MaskChannel([0, 0])),
    ("MaskedDFTChannel: `mask` must have at least one component", lambda: ta.MaskedDFTChannel([])),
    ("LinearOperatorChannel: `prev_shape` must have at least one", lambda: ta.LinearOperatorChannel(np.copy, np.copy, 0, 4)),
    ("LinearOperatorChannel: `next_shape` must have at least one", lambda: ta.LinearOperatorChannel(np.copy, np.copy, 4, (2, 0))),
    ("LinearOperatorChannel: `apply of mine`: expected 3 components, got 4", lambda: ta.LinearOperatorChannel(np.copy, np.copy, 4, 3, name="mine")),
    ("BinaryEnsemble: `p_pos` must be between 0 and 1, so that entries vary, got 2", lambda: ta.BinaryEnsemble(2, 3, p_pos=2)),
    ("BinaryEnsemble: `p_pos` must be between 0 and 1, so that entries vary, got 1", lambda: ta.BinaryEnsemble(2, 3, p_pos=1)),
    ("TernaryEnsemble: `p_pos` must be a probability below 1", lambda: ta.TernaryEnsemble(2, 3, p_pos=-1)),
    ("TernaryEnsemble: `p_neg` must be a probability below 1", lambda: ta.TernaryEnsemble(2, 3, p_neg=np.nan)),
    ("TernaryEnsemble: `p_pos` + `p_neg` must be above 0 and at most 1", lambda: ta.TernaryEnsemble(2, 3, p_pos=0.7, p_neg=0.7)),
    ("TernaryEnsemble: `p_pos` + `p_neg` must be above 0 and at most 1", lambda: ta.TernaryEnsemble(2, 3, p_pos=0, p_neg=0)),
    ("MarchenkoPasturEnsemble: `alpha` must be positive and finite, got -1", lambda: ta.MarchenkoPasturEnsemble(-1)),
    ("GaussianMixturePrior: `vars` must be at least one, and as many as means, got 3 means, 2 vars", lambda: ta.GaussianMixturePrior(5, means=[1, 2, 3])),
    (
        "NonnegativeGaussianMixturePrior: `variances` must be at least one, and as many as means, got 3 means, 2 variances",
        lambda: ta.NonnegativeGaussianMixturePrior(5, means=[1, 2, 3]),
    ),
]


@pytest.mark.parametrize(("told", "make"), CASES, ids=[told for told, _ in CASES])
def test_the_class_and_the_parameter_are_named(told: str, make: Callable[[], Any]) -> None:
    with pytest.raises((ValueError, TypeError), match=f"^{re.escape(told)}"):
        make()


def test_a_sparse_matrix_is_named_as_it_was_given() -> None:
    W = pytest.importorskip("scipy.sparse").csr_matrix(np.array([[1.0, np.nan]]))
    with pytest.raises(ta.ModelError, match="^LinearChannel: `W` must be finite, got NaN"):
        ta.LinearChannel(W)


def test_probabilities_that_add_up_to_one_but_for_rounding_are_taken() -> None:
    """1 - 0.9 - 0.1 is below zero."""
    assert set(np.sign(ta.TernaryEnsemble(20, 20, p_pos=0.9, p_neg=0.1).generate(seed=0)).ravel()) == {-1.0, 1.0}


WORDS = ("port 0", "parameter `", "convolution", "sub_sampl", "gradient`", "real_dft", "ternary matrix", "spectrum:")
WRONG = [-1, 0, 2.5, np.nan, np.inf, None, [1.0, np.nan], [], [[1.0, 2.0], [3.0, 4.0]], [1, -1], (0,), "x"]
GIVEN: dict[str, Any] = {
    **{"W": np.eye(2), "U": np.eye(2), "R": np.eye(2), "shape": (4,), "N": 4, "M": 3, "K": 2, "sigma": 1.0, "filter": [1.0, 0.0], "D1": [1.0]},
    **{"D2": [1.0], "mask": [1, 0], "prev_shape": 4, "next_shape": 4, "Ns": [2, 2], "n_prev": 2, "n_next": 2, "bias": 1.0, "alpha": 0.5},
    **{"ensemble": ta.GaussianEnsemble(2, 2), "func": np.tanh, "apply": np.copy, "adjoint": np.copy, "f": "relu"},
    "regions": [{"zmin": -np.inf, "zmax": np.inf, "x0": 0.0, "slope": 1.0}],
}


@pytest.mark.parametrize("kind", [*channels.__all__, *ensembles.__all__])
def test_no_inner_name_is_said(kind: str) -> None:
    """Every parameter of every channel and ensemble, with arguments that are wrong for most: an error begins with the class."""
    import inspect

    made = getattr(channels, kind, None) or getattr(ensembles, kind)
    if not inspect.isclass(made) or kind in ("Channel", "Ensemble"):
        pytest.skip("no class to make")
    parameters = inspect.signature(made).parameters.values()
    required = {p.name: GIVEN.get(p.name, 1.0) for p in parameters if p.default is p.empty}
    made(**required)
    for parameter in parameters:
        for wrong in WRONG:
            try:
                drawn = made(**{**required, parameter.name: wrong})
                if hasattr(drawn, "generate"):
                    drawn.generate(**{"N": 10} if kind.startswith("Marchenko") else {})
            except (ValueError, TypeError) as error:
                said = str(error)
                assert not any(word in said for word in WORDS), (parameter.name, wrong, said)
                assert said.startswith((kind, f"`{parameter.name}", "`apply", "`adjoint")), (parameter.name, wrong, said)
