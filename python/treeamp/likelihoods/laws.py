"""The likelihoods of the catalogue."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _lib
from .._arrays import Array, array, belief, check_seed, number
from ..errors import ModelError, NotAvailable
from .base_likelihood import Likelihood

__all__ = [
    "AbsLikelihood",
    "AsymmetricAbsLikelihood",
    "GaussianLikelihood",
    "HardSigmoidLikelihood",
    "HardTanhLikelihood",
    "LeakyReluLikelihood",
    "ModulusLikelihood",
    "ReluLikelihood",
    "SgnLikelihood",
    "SymmetricDoorLikelihood",
]


class GaussianLikelihood(Likelihood):
    r"""Gaussian noise :math:`p(y|z) = N(y; z, \Delta)`; a variance of zero is a noiseless observation.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs that are observed and not told.
    var : float
        The noise :math:`\Delta`.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    :math:`r = \frac{y + \Delta b}{1 + \Delta a}`, :math:`v = \frac\Delta{1 + \Delta a}`; the message is constant,
    :math:`(1/\Delta, y/\Delta)`.

    Examples
    --------
    >>> GaussianLikelihood(y=[1.0, 3.0], var=1.0).compute_backward_posterior(1.0, [0.0, 0.0])
    (array([0.5, 1.5]), 0.5)
    """

    repr_parameters = ("y_name", "var")
    _law, _native_parameters = "gaussian_noise", ("var",)

    def __init__(self, y: Any, var: float = 1, y_name: str = "y", isotropic: bool = True) -> None:
        self.var = number(var, "var")
        self._start(y, y_name, isotropic)

    def _complex_native(self) -> _lib.Factor:
        return _lib.complex_gaussian_likelihood(self.var, None if self.y is None else np.ravel(self.y))


class SgnLikelihood(Likelihood):
    r"""Sign :math:`y = \operatorname{sign}(z)`, :math:`y = \pm1`: a normal truncated to the side of :math:`y`.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs that are observed and not told.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Examples
    --------
    >>> SgnLikelihood(y=[1.0]).compute_backward_posterior(1.0, [-5e4])[1] > 0
    True
    """

    _law = "sign"

    def __init__(self, y: Any, y_name: str = "y", isotropic: bool = True) -> None:
        self._start(y, y_name, isotropic)


class AbsLikelihood(Likelihood):
    r"""Absolute value :math:`y = |z|`: :math:`z = \pm y`, :math:`r = y\tanh(b y)`, :math:`v = y^2 - r^2`.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs that are observed and not told.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.
    """

    _law = "abs"

    def __init__(self, y: Any, y_name: str = "y", isotropic: bool = True) -> None:
        self._start(y, y_name, isotropic)


class AsymmetricAbsLikelihood(Likelihood):
    r"""Absolute value with its symmetry broken: :math:`y = -z` below ``shift``, :math:`y = z` from there on.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs that are observed and not told.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.
    shift : float
        Where the two lines meet.
    """

    repr_parameters = ("y_name", "shift")
    _law, _native_parameters = "asymmetric_abs", ("shift",)

    def __init__(self, y: Any, y_name: str = "y", isotropic: bool = True, shift: float = 1e-4) -> None:
        self.shift = number(shift, "shift")
        self._start(y, y_name, isotropic)


class ReluLikelihood(Likelihood):
    r"""Rectified :math:`y = \max(0, z)`: :math:`z = y` where :math:`y > 0`, else a normal truncated to :math:`z \le 0`.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs that are observed and not told.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.
    """

    _law = "relu"

    def __init__(self, y: Any, y_name: str = "y", isotropic: bool = True) -> None:
        self._start(y, y_name, isotropic)


class LeakyReluLikelihood(Likelihood):
    r"""Leaky rectified :math:`y = z` for :math:`z \ge 0`, :math:`y = \gamma z` else: :math:`z` is known exactly.

    Parameters
    ----------
    slope : float
        The slope :math:`\gamma` below zero.
    y : array or None
        The observations; ``None`` for outputs that are observed and not told.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.
    """

    repr_parameters = ("y_name", "slope")
    _law, _native_parameters = "leaky_relu", ("slope",)

    def __init__(self, slope: float, y: Any, y_name: str = "y", isotropic: bool = True) -> None:
        self.slope = number(slope, "slope")
        self._start(y, y_name, isotropic)


class HardTanhLikelihood(Likelihood):
    r"""Clipped :math:`y = \max(-1, \min(1, z))`.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs that are observed and not told.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.
    """

    _law = "hard_tanh"

    def __init__(self, y: Any, y_name: str = "y", isotropic: bool = True) -> None:
        self._start(y, y_name, isotropic)


class HardSigmoidLikelihood(Likelihood):
    r"""Clipped line :math:`y = \max(0, \min(1, \frac12 + \frac z{2L}))` with knee :math:`L`, as the channel.

    ``l`` is another name of ``knee``.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs that are observed and not told.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.
    knee, l : float
        The knee :math:`L`, by either name.
    """

    repr_parameters = ("y_name", "knee")
    _law, _native_parameters = "hard_sigmoid", ("knee",)

    def __init__(self, y: Any, y_name: str = "y", isotropic: bool = True, knee: float = 2.5, l: Any = None) -> None:
        self.knee = number(knee, "knee") if l is None else number(l, "l")
        self._start(y, y_name, isotropic)


class SymmetricDoorLikelihood(Likelihood):
    r"""Symmetric door :math:`y = \operatorname{sign}(|z| - K)`, :math:`K` being the ``width``.

    Parameters
    ----------
    width : float
        The width :math:`K`, positive.
    y : array or None
        The observations; ``None`` for outputs that are observed and not told.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.
    """

    repr_parameters = ("y_name", "width")
    _law, _native_parameters = "symmetric_door", ("width",)

    def __init__(self, width: float, y: Any, y_name: str = "y", isotropic: bool = True) -> None:
        self.width = number(width, "width")
        self._start(y, y_name, isotropic)


class ModulusLikelihood(Likelihood):
    r"""Modulus :math:`y = |z|` of a complex :math:`z`, whose parts are on the first axis of its arrays.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs that are observed and not told.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    :math:`z = y e^{i\theta}` with a von Mises law of the phase: :math:`r = y\,\frac{I_1(|b| y)}{I_0(|b| y)}\,\frac b{|b|}`,
    :math:`v = \frac12(y^2 - |r|^2)` per real component.

    Examples
    --------
    >>> r, v = ModulusLikelihood([1.0]).compute_backward_posterior(1.0, [[0.0], [0.0]])
    >>> r.shape, v
    ((2, 1), 0.5)
    """

    _law = "modulus"
    _complex = (True, None)
    _reduces = True

    def __init__(self, y: Any, y_name: str = "y", isotropic: bool = True) -> None:
        if not isotropic:
            raise NotAvailable("ModulusLikelihood has one precision for all components")
        self._start(y, y_name, isotropic)

    def _at(self, y: Any) -> _lib.Factor:
        native = self._native if y is None else ModulusLikelihood(y)._native
        if self.y is None and y is None:
            raise ModelError("ModulusLikelihood: an observation is needed here, and `y` is None")
        return native

    def _scalar(self, az: Any, bz: Any, y: Any) -> tuple[Array, Array, Array]:
        raise NotAvailable("ModulusLikelihood has no real scalar law: ask for posteriors of whole arrays")

    def compute_backward_posterior(self, az: Any, bz: Any, y: Any = None) -> tuple[Any, Any]:
        """Mean of both parts of every component, and variance per real component, averaged."""
        a, b = belief(number(az, "az"), bz, "z")
        r, v = self._at(y).moments([(float(a), b)], 0)
        return r.reshape(b.shape), v

    def compute_backward_message(self, az: Any, bz: Any, y: Any = None) -> tuple[Any, Any]:
        """The outgoing message."""
        a, b = belief(number(az, "az"), bz, "z")
        a_new, b_new = self._at(y).message([(float(a), b)], 0)
        return a_new, b_new.reshape(b.shape)

    def compute_log_partition(self, az: Any, bz: Any, y: Any = None) -> float:
        """Log-partition of the signal: the sum over its components."""
        a, b = belief(number(az, "az"), bz, "z")
        return self._at(y).log_partition([(float(a), b)])

    def sample(self, Z: Any, seed: int | None = None) -> Array:
        """The moduli of ``Z``."""
        z = array(Z, "Z")
        drawn = self._channel().sample([np.ravel(z)], [z.size // 2], check_seed(seed))[0]
        return drawn.reshape(z.shape[1:])
