"""Numbers that stand beside the components of a signal have its shape, and masks are zeros and ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treeamp as ta

SHAPE, TURNED = (4, 6), (6, 4)
NUMBERS = np.arange(1.0, 25.0)


def signal() -> Any:
    return ta.GaussianPrior(SHAPE) @ ta.V("x")


def bias(numbers: Any) -> Any:
    return signal() @ ta.BiasChannel(numbers) @ ta.O("y")


def noise(numbers: Any) -> Any:
    return signal() @ ta.HeteroscedasticNoiseChannel(numbers) @ ta.O("y")


def flat_observations(numbers: Any) -> Any:
    return signal() @ ta.HeteroscedasticNoiseLikelihood(np.ones(24), numbers)


@pytest.mark.parametrize("made", [bias, noise, flat_observations])
def test_another_shape_of_as_many_numbers_is_refused(made: Callable[[Any], Any]) -> None:
    for numbers in (NUMBERS, NUMBERS.reshape(SHAPE), [0.5]):
        made(numbers).to_model()
    with pytest.raises(ta.ModelError, match=r"variable `x`: expected shape \(6, 4\), that of .*, got shape \(4, 6\)"):
        made(NUMBERS.reshape(TURNED)).to_model()


def test_observations_and_variances_have_one_shape() -> None:
    y = np.ones(SHAPE)
    for variances in (NUMBERS, NUMBERS.reshape(SHAPE)):
        ta.HeteroscedasticNoiseLikelihood(y, variances)
    with pytest.raises(ta.ModelError, match=r"^HeteroscedasticNoiseLikelihood: `variances` must have the shape of `y`, \(4, 6\), got \(6, 4\)"):
        ta.HeteroscedasticNoiseLikelihood(y, NUMBERS.reshape(TURNED))


def test_modules_alone_refuse_it_too() -> None:
    channel, z = ta.BiasChannel(NUMBERS.reshape(TURNED)), np.zeros(SHAPE)
    with pytest.raises(ValueError, match=r"`Z` must have shape \(6, 4\), got \(4, 6\)"):
        channel.sample(z)
    with pytest.raises(ta.ModelError, match=r"expected shape \(6, 4\), .*got shape \(4, 6\)"):
        channel.compute_forward_message(1.0, z, 1.0, z)
    assert (ta.BiasChannel(NUMBERS).sample(z) == NUMBERS.reshape(SHAPE)).all()


@pytest.mark.parametrize("shape", [(2, 3), (2, 2, 3)])
def test_a_bias_of_a_complex_signal_is_an_array_as_the_signal(shape: tuple[int, ...]) -> None:
    """Both parts are on the first axis: every number is added where it stands."""
    numbers = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    for given in (numbers, numbers.ravel()):
        noisy = ta.BiasChannel(given) @ ta.V("z") @ ta.GaussianChannel(var=0.1) @ ta.O("y")
        drawn = (ta.CircularGaussianPrior(shape) @ ta.V("x") @ noisy).to_model().sample(seed=0)
        assert np.allclose(drawn["z"] - drawn["x"], numbers)
    for wrong in (np.ones((2, 3, 2)), np.ones((4, 3)), np.ones((3, 4)), np.ones(5)):
        with pytest.raises(ta.ModelError, match="mismatch at factor `bias`, variable `x`"):
            (ta.CircularGaussianPrior(shape) @ ta.V("x") @ ta.BiasChannel(wrong) @ ta.O("y")).to_model()


@pytest.mark.parametrize("channel", [ta.MaskChannel, ta.MaskedDFTChannel])
def test_masks_are_zeros_and_ones(channel: Any) -> None:
    for mask in ([1, 0, 1], [True, False, True], np.array([1.0, 0.0, 1.0])):
        channel(mask)
    assert ta.MaskChannel(1).sample(2.0) == [2.0]
    for wrong in (0.5, 2, -1, np.nan):
        got = "NaN" if np.isnan(wrong) else str(wrong)
        with pytest.raises(ta.ModelError, match=f"^{channel.__name__}: `mask` must be zeros and ones, got {got} at index 1"):
            channel([1, wrong, 0])
    mask = np.arange(24).reshape(TURNED) % 2
    with pytest.raises(ta.ModelError, match=r"\(?6, 4\)?"):
        (signal() @ channel(mask) @ ta.O("y")).to_model()
