r"""Noise, and functions of components.

Written by ``python/generate.py`` from the catalogue: change the law's ``MODULE`` or ``python/tramp_names.py``, not this file.
"""

from __future__ import annotations

from .._arrays import number
from .base_channel import Channel

__all__ = [
    "AbsChannel",
    "AsymmetricAbsChannel",
    "GaussianChannel",
    "HardSigmoidChannel",
    "HardTanhChannel",
    "LeakyReluChannel",
    "ReluChannel",
    "SgnChannel",
    "SigmoidChannel",
    "SoftplusChannel",
    "SymmetricDoorChannel",
    "TanhChannel",
]


class SgnChannel(Channel):
    r"""Sign: :math:`x = \operatorname{sign}(z)`."""

    _law = "sign"

    def __init__(self) -> None:
        self._start()


class AbsChannel(Channel):
    r"""Absolute value: :math:`x = |z|`."""

    _law = "abs"

    def __init__(self) -> None:
        self._start()


class AsymmetricAbsChannel(Channel):
    r"""Absolute value with a jump: :math:`x = -z\ \text{below}\ s,\ x = z\ \text{from there on}`.

    Parameters
    ----------
    shift : float
        :math:`s`: where the sign changes.

    Examples
    --------
    >>> AsymmetricAbsChannel()
    AsymmetricAbsChannel(shift=0.0001)
    """

    repr_parameters = ("shift",)
    _law, _native_parameters = "asymmetric_abs", ("shift",)

    def __init__(self, shift: float = 0.0001) -> None:
        self.shift = number(shift, "shift")
        self._start()


class ReluChannel(Channel):
    r"""Rectifier: :math:`x = \max(0, z)`."""

    _law = "relu"

    def __init__(self) -> None:
        self._start()


class LeakyReluChannel(Channel):
    r"""Leaky rectifier: :math:`x = z\ \text{for}\ z \ge 0,\ x = \gamma z\ \text{else}`.

    Parameters
    ----------
    slope : float
        :math:`\gamma`: slope of the negative side.

    Examples
    --------
    >>> LeakyReluChannel(slope=1.0)
    LeakyReluChannel(slope=1.0)
    """

    repr_parameters = ("slope",)
    _law, _native_parameters = "leaky_relu", ("slope",)

    def __init__(self, slope: float) -> None:
        self.slope = number(slope, "slope")
        self._start()


class HardTanhChannel(Channel):
    r"""Clipped identity: :math:`x = \max(-1, \min(1, z))`."""

    _law = "hard_tanh"

    def __init__(self) -> None:
        self._start()


class HardSigmoidChannel(Channel):
    r"""Clipped line from 0 to 1: :math:`x = \max(0, \min(1, \frac12 + \frac z{2L}))`.

    Parameters
    ----------
    knee : float
        :math:`L`: where it is clipped; positive.

    Examples
    --------
    >>> HardSigmoidChannel()
    HardSigmoidChannel(knee=2.5)
    """

    repr_parameters = ("knee",)
    _law, _native_parameters = "hard_sigmoid", ("knee",)

    def __init__(self, knee: float = 2.5) -> None:
        self.knee = number(knee, "knee")
        self._start()


class SymmetricDoorChannel(Channel):
    r"""Symmetric door: :math:`x = \operatorname{sign}(|z| - K)`.

    Parameters
    ----------
    width : float
        :math:`K`: half-width of the door; positive.

    Examples
    --------
    >>> SymmetricDoorChannel(width=1.0)
    SymmetricDoorChannel(width=1.0)
    """

    repr_parameters = ("width",)
    _law, _native_parameters = "symmetric_door", ("width",)

    def __init__(self, width: float) -> None:
        self.width = number(width, "width")
        self._start()


class TanhChannel(Channel):
    r"""Hyperbolic tangent: :math:`x = \tanh z`.

    Notes
    -----
    By quadrature.
    """

    _law = "tanh"

    def __init__(self) -> None:
        self._start()


class SigmoidChannel(Channel):
    r"""Logistic function: :math:`x = 1/(1 + e^{-z})`.

    Notes
    -----
    By quadrature.
    """

    _law = "sigmoid"

    def __init__(self) -> None:
        self._start()


class SoftplusChannel(Channel):
    r"""Smooth rectifier: :math:`x = \ln(1 + e^z)`.

    Notes
    -----
    By quadrature.
    """

    _law = "softplus"

    def __init__(self) -> None:
        self._start()


class GaussianChannel(Channel):
    r"""Additive Gaussian noise: :math:`p(x|z) = N(x; z, \Delta)`.

    Parameters
    ----------
    var : float
        :math:`\Delta`: variance of the noise; not negative.

    Examples
    --------
    >>> GaussianChannel(var=0.5).compute_forward_message(2.0, [2.0], 0.0, [0.0])
    (1.0, array([1.]))
    """

    _complex = (None, None)
    repr_parameters = ("var",)
    _law, _native_parameters = "gaussian_noise", ("var",)

    def __init__(self, var: float = 1) -> None:
        self.var = number(var, "var")
        self._start()


#: The same by name.
CLASSES: dict[str, type[Channel]] = {
    "sgn": SgnChannel,
    "abs": AbsChannel,
    "a-abs": AsymmetricAbsChannel,
    "relu": ReluChannel,
    "l-relu": LeakyReluChannel,
    "h-tanh": HardTanhChannel,
    "h-sigm": HardSigmoidChannel,
    "door": SymmetricDoorChannel,
    "tanh": TanhChannel,
    "sigmoid": SigmoidChannel,
    "softplus": SoftplusChannel,
    "gaussian": GaussianChannel,
}
