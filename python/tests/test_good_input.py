"""Arrays that are accepted, whatever their type and layout, and left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treeamp as ta

GOOD = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
FROZEN = GOOD.copy()
FROZEN.flags.writeable = False
BIG = np.repeat(np.repeat(GOOD, 2, axis=0), 2, axis=1)


@pytest.mark.parametrize(
    "matrix",
    [
        GOOD.astype(int), GOOD.astype(np.float32), GOOD.tolist(), np.asfortranarray(GOOD), BIG[::2, ::2],
        GOOD[::-1][::-1], FROZEN, GOOD.astype(">f8"), GOOD.astype(np.int8), tuple(map(tuple, GOOD)),
    ],
    ids=["integers", "float32", "lists", "fortran", "strided", "reversed", "read-only", "big-endian", "int8", "tuples"],
)  # fmt: skip
def test_accepted_arrays(matrix: Any) -> None:
    """Integers, 32-bit floats, lists, and any layout give the same results to the last bit."""

    def run(matrix: Any) -> Any:
        output = ta.GaussianLikelihood(np.asarray([1, 2]), 0.1)
        model = (ta.GaussianPrior(3) @ ta.V("x") @ ta.LinearChannel(matrix) @ ta.V("z") @ output).to_model()
        return ta.ExpectationPropagation(model).iterate().mean("x")

    assert np.array_equal(run(matrix), run(GOOD))


def test_inputs_are_not_changed_or_kept() -> None:
    W, y = GOOD.copy(), np.array([1.0, 2.0])
    model = (ta.GaussianPrior(3) @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z") @ ta.GaussianLikelihood(y, 0.1)).to_model()
    before = ta.ExpectationPropagation(model).iterate().mean("x")
    assert np.array_equal(W, GOOD) and np.array_equal(y, [1.0, 2.0])
    W[:], y[:] = 0, 0
    assert np.array_equal(ta.ExpectationPropagation(model).iterate().mean("x"), before)


def test_errors_are_of_their_kinds() -> None:
    assert issubclass(ta.ModelError, ValueError) and issubclass(ta.RunError, ValueError)
    assert issubclass(ta.FactorError, ValueError) and issubclass(ta.NotAvailable, NotImplementedError)
    assert all(issubclass(e, ta.TreeampError) for e in (ta.ModelError, ta.RunError, ta.FactorError, ta.NotAvailable))


def test_a_mask_without_masked_entries_is_an_array() -> None:
    whole = np.ma.masked_array(np.eye(2), mask=False)
    assert np.array_equal(ta.LinearChannel(whole).W, np.eye(2))


def test_read_only_arrays_are_kept_and_others_copied() -> None:
    W = np.eye(3)
    assert not np.shares_memory(ta.LinearChannel(W).W, W)
    view = W[:]
    view.flags.writeable = False
    assert not np.shares_memory(ta.LinearChannel(view).W, W), "the numbers can still be changed through W"
    W.flags.writeable = False
    assert np.shares_memory(ta.LinearChannel(W).W, W)
