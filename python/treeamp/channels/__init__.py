r"""Channels :math:`p(x|z)` between hidden variables.

Each is its log-partition :math:`A = \ln\int p(x|z)\,e^{-\frac12 a_z z^2 + b_z z - \frac12 a_x x^2 + b_x x}\,dz\,dx`,
with means :math:`r_z = \partial_{b_z} A`, :math:`r_x = \partial_{b_x} A`, and variances from second derivatives.
*Forward* is towards :math:`x`, *backward* towards :math:`z`. In state evolution :math:`a_z = \hat m_z + 1/\tau_z` and
:math:`a_x = \hat m_x`; potentials are per component of :math:`z`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._arrays import choice
from . import activations
from .activations import *  # noqa: F403
from .base_channel import Channel
from .complex import (
    ComplexLinearChannel,
    DFTChannel,
    MaskedDFTChannel,
    ModulusChannel,
    PhaseChannel,
    RicianModulusChannel,
    UnitaryChannel,
)
from .functions import ActivationChannel, PiecewiseLinearChannel
from .linear import (
    AnalyticalLinearChannel,
    BiasChannel,
    DuplicateChannel,
    LinearChannel,
    LinearOperatorChannel,
    MarchenkoPasturChannel,
    RotationChannel,
    SumChannel,
)
from .products import LowRankFactorization, LowRankGramChannel
from .rows import SignCommitteeChannel, SoftmaxChannel
from .operators import (
    Blur1DChannel,
    Blur2DChannel,
    ConcatChannel,
    ConvChannel,
    DifferentialChannel,
    GradientChannel,
    LaplacianChannel,
    MaskChannel,
    RealDFTChannel,
    ReshapeChannel,
    SplitChannel,
)

__all__ = [
    "ActivationChannel",
    "AnalyticalLinearChannel",
    "BiasChannel",
    "Blur1DChannel",
    "Blur2DChannel",
    "Channel",
    "ComplexLinearChannel",
    "ConcatChannel",
    "ConvChannel",
    "DFTChannel",
    "DifferentialChannel",
    "DuplicateChannel",
    "GradientChannel",
    "LaplacianChannel",
    "LinearChannel",
    "LinearOperatorChannel",
    "LowRankFactorization",
    "LowRankGramChannel",
    "MarchenkoPasturChannel",
    "MaskChannel",
    "MaskedDFTChannel",
    "ModulusChannel",
    "PhaseChannel",
    "PiecewiseLinearChannel",
    "RealDFTChannel",
    "ReshapeChannel",
    "RicianModulusChannel",
    "SignCommitteeChannel",
    "SoftmaxChannel",
    "RotationChannel",
    "SplitChannel",
    "SumChannel",
    "UnitaryChannel",
    "get_channel",
]
# those of laws, written by python/generate.py: type checkers read a list
__all__ += [
    "AbsChannel",
    "AsymmetricAbsChannel",
    "CensoredChannel",
    "GaussianChannel",
    "HardSigmoidChannel",
    "HardTanhChannel",
    "HeteroscedasticNoiseChannel",
    "HingeChannel",
    "HuberChannel",
    "LaplaceNoiseChannel",
    "LeakyReluChannel",
    "LogisticChannel",
    "NegativeBinomialChannel",
    "OutlierNoiseChannel",
    "PoissonChannel",
    "PoissonSoftplusChannel",
    "ProbitChannel",
    "QuantileChannel",
    "QuantisedChannel",
    "ReluChannel",
    "SgnChannel",
    "SigmoidChannel",
    "SoftplusChannel",
    "SquaredHingeChannel",
    "StudentTNoiseChannel",
    "SymmetricDoorChannel",
    "TanhChannel",
]

#: Channels by the names that ``get_channel`` takes.
CHANNEL_CLASSES: dict[str, Callable[..., Channel]] = {
    **activations.CLASSES,
    "linear": LinearChannel,
    "complex_linear": ComplexLinearChannel,
    "rotation": RotationChannel,
    "unitary": UnitaryChannel,
    "dft": DFTChannel,
    "conv": ConvChannel,
    "blur_1d": Blur1DChannel,
    "blur_2d": Blur2DChannel,
    "gradient": GradientChannel,
    "laplacian": LaplacianChannel,
    "differential": DifferentialChannel,
    "diff": DifferentialChannel,
    "real_dft": RealDFTChannel,
    "mask": MaskChannel,
    "masked_dft": MaskedDFTChannel,
    "bias": BiasChannel,
    "sum": SumChannel,
    "analytical": AnalyticalLinearChannel,
    "marchenko": MarchenkoPasturChannel,
    "duplicate": DuplicateChannel,
    "reshape": ReshapeChannel,
    "concat": ConcatChannel,
    "split": SplitChannel,
    "activation": ActivationChannel,
    "modulus": ModulusChannel,
    "rician_modulus": RicianModulusChannel,
    "phase": PhaseChannel,
    "low_rank_gram": LowRankGramChannel,
    "low_rank": LowRankFactorization,
    "sign_committee": SignCommitteeChannel,
    "softmax": SoftmaxChannel,
    "multinomial": SoftmaxChannel,
}


def get_channel(channel_type: str, **kwargs: Any) -> Channel:
    """A channel by name.

    >>> get_channel("door", width=0.5)
    SymmetricDoorChannel(width=0.5)
    """
    return CHANNEL_CLASSES[choice(channel_type, CHANNEL_CLASSES, "channel_type")](**kwargs)
