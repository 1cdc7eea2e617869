"""Functions of components that are given as such."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import _lib
from .._arrays import known, number
from .base_channel import Channel

__all__ = ["ActivationChannel", "PiecewiseLinearChannel"]


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
    The same integrals as of :class:`~treeamp.channels.TanhChannel`, some hundred calls for every component and message: where speed
    matters take :class:`~treeamp.channels.TanhChannel`, :class:`~treeamp.channels.SigmoidChannel`, :class:`~treeamp.channels.SoftplusChannel` or
    :class:`PiecewiseLinearChannel`.

    Examples
    --------
    >>> import numpy as np
    >>> from treeamp.channels import TanhChannel
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
        if not isinstance(regions, Sequence) or not all(isinstance(region, Mapping) for region in regions):
            raise TypeError(f"`regions` must be a list of dicts with {', '.join(keys)}, got {regions!r}")
        try:
            self.regions = [{key: number(region[key], key) for key in keys} for region in regions]
        except KeyError as error:
            raise ValueError(f"every region must have {', '.join(keys)}, one lacks {error}") from None
        self._start()

    def _make(self) -> _lib.Factor:
        rows = [(r["zmin"], r["zmax"], r["x0"], r["slope"]) for r in self.regions]
        return _lib.piecewise(self.name, rows)
