"""Noise, and functions of components."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _lib
from .._arrays import known, number
from .base_channel import Channel

__all__ = [
    "AbsChannel",
    "ActivationChannel",
    "AsymmetricAbsChannel",
    "GaussianChannel",
    "HardSigmoidChannel",
    "HardTanhChannel",
    "LeakyReluChannel",
    "PiecewiseLinearChannel",
    "ReluChannel",
    "SgnChannel",
    "SigmoidChannel",
    "SoftplusChannel",
    "SymmetricDoorChannel",
    "TanhChannel",
]


class GaussianChannel(Channel):
    r"""Noise :math:`x = z + \sqrt\Delta\,\xi`.

    Parameters
    ----------
    var : float
        Variance :math:`\Delta` of the noise.

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


class SgnChannel(Channel):
    r""":math:`x = \operatorname{sign}(z)`."""

    _law = "sign"

    def __init__(self) -> None:
        self._start()


class AbsChannel(Channel):
    r""":math:`x = |z|`."""

    _law = "abs"

    def __init__(self) -> None:
        self._start()


class AsymmetricAbsChannel(Channel):
    r""":math:`x = -z` below ``shift``, :math:`x = z` from there on.

    Parameters
    ----------
    shift : float
        Where the sign changes.
    """

    repr_parameters = ("shift",)
    _law, _native_parameters = "asymmetric_abs", ("shift",)

    def __init__(self, shift: float = 1e-4) -> None:
        self.shift = number(shift, "shift")
        self._start()


class ReluChannel(Channel):
    r""":math:`x = \max(0, z)`."""

    _law = "relu"

    def __init__(self) -> None:
        self._start()


class LeakyReluChannel(Channel):
    r""":math:`x = z` for :math:`z \ge 0`, :math:`x = \gamma z` else, :math:`\gamma` being the ``slope``.

    Parameters
    ----------
    slope : float
        :math:`\gamma`.
    """

    repr_parameters = ("slope",)
    _law, _native_parameters = "leaky_relu", ("slope",)

    def __init__(self, slope: float) -> None:
        self.slope = number(slope, "slope")
        self._start()


class HardTanhChannel(Channel):
    r""":math:`x = \max(-1, \min(1, z))`."""

    _law = "hard_tanh"

    def __init__(self) -> None:
        self._start()


class HardSigmoidChannel(Channel):
    r""":math:`x = \max(0, \min(1, \frac12 + \frac z{2L}))`, :math:`L` being the ``knee``.

    Parameters
    ----------
    knee : float
        :math:`L`, where it reaches 1.
    """

    repr_parameters = ("knee",)
    _law, _native_parameters = "hard_sigmoid", ("knee",)

    def __init__(self, knee: float = 2.5) -> None:
        self.knee = number(knee, "knee")
        self._start()


class SymmetricDoorChannel(Channel):
    r""":math:`x = \operatorname{sign}(|z| - K)`, :math:`K` being the ``width``.

    Parameters
    ----------
    width : float
        :math:`K`, half the width of the door.
    """

    repr_parameters = ("width",)
    _law, _native_parameters = "symmetric_door", ("width",)

    def __init__(self, width: float) -> None:
        self.width = number(width, "width")
        self._start()


class TanhChannel(Channel):
    r""":math:`x = \tanh z`, by quadrature."""

    _law = "tanh"

    def __init__(self) -> None:
        self._start()


class SigmoidChannel(Channel):
    r""":math:`x = 1/(1 + e^{-z})`, by quadrature."""

    _law = "sigmoid"

    def __init__(self) -> None:
        self._start()


class SoftplusChannel(Channel):
    r""":math:`x = \ln(1 + e^z)`, by quadrature."""

    _law = "softplus"

    def __init__(self) -> None:
        self._start()


class ActivationChannel(Channel):
    r"""Any function :math:`x = \varphi(z)`, by quadrature, one call of ``func`` at a time.

    Parameters
    ----------
    func : callable
        :math:`\varphi`, a function of one number. Features of it are looked for at scales from about 0.1 up.
    name : str
        In messages and drawings.

    Notes
    -----
    The same integrals as of :class:`TanhChannel`, some hundred calls for every component and message: where speed
    matters take :class:`TanhChannel`, :class:`SigmoidChannel`, :class:`SoftplusChannel` or
    :class:`PiecewiseLinearChannel`.

    Examples
    --------
    >>> import numpy as np
    >>> mine = ActivationChannel(np.tanh).compute_forward_posterior(1.0, [0.5], 1.0, [0.0])
    >>> own = TanhChannel().compute_forward_posterior(1.0, [0.5], 1.0, [0.0])
    >>> bool(abs(mine[0][0] - own[0][0]) < 1e-9 and abs(mine[1] - own[1]) < 1e-9)
    True
    """

    repr_parameters = ("name",)

    def __init__(self, func: Callable[[float], Any], name: str = "activation") -> None:
        if not callable(func):
            raise TypeError(f"`func` must be a function, got {type(func).__name__}")
        self.func, self.name = func, str(name)
        self._start()

    def _value(self, z: float) -> float:
        return known(self.func(z), f"{self.name}({z:g})")

    def _make(self) -> _lib.Factor:
        return _lib.activation(self.name, self._value)


class PiecewiseLinearChannel(Channel):
    r"""Any continuous or stepped :math:`x = x_i + \gamma_i z` on adjacent regions that cover the line.

    Parameters
    ----------
    name : str
        A name for messages and drawings.
    regions : list of dict
        Each with ``zmin``, ``zmax``, ``x0`` and ``slope``.

    Examples
    --------
    >>> inf = float("inf")
    >>> regions = [dict(zmin=-inf, zmax=0, x0=0, slope=0), dict(zmin=0, zmax=inf, x0=0, slope=1)]
    >>> round(PiecewiseLinearChannel("relu", regions).second_moment(1.0), 12)
    0.5
    """

    repr_parameters = ("name",)

    def __init__(self, name: str, regions: Any) -> None:
        self.name = str(name)
        keys = ("zmin", "zmax", "x0", "slope")
        try:
            self.regions = [{key: number(region[key], key) for key in keys} for region in regions]
        except KeyError as error:
            raise ValueError(f"every region must have {', '.join(keys)}, one lacks {error}") from None
        self._start()

    def _make(self) -> _lib.Factor:
        rows = [(r["zmin"], r["zmax"], r["x0"], r["slope"]) for r in self.regions]
        return _lib.piecewise(self.name, rows)
