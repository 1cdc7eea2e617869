r"""Noise and functions of components, observed.

Written by ``python/generate.py`` from the catalogue: change the law's ``MODULE`` or ``python/tramp_names.py``, not this file.
"""

from __future__ import annotations

from typing import Any

from .._arrays import number
from .base_likelihood import Likelihood

__all__ = [
    "AbsLikelihood",
    "AsymmetricAbsLikelihood",
    "GaussianLikelihood",
    "HardSigmoidLikelihood",
    "HardTanhLikelihood",
    "LeakyReluLikelihood",
    "ReluLikelihood",
    "SgnLikelihood",
    "SigmoidLikelihood",
    "SoftplusLikelihood",
    "SymmetricDoorLikelihood",
    "TanhLikelihood",
]


class SgnLikelihood(Likelihood):
    r"""Sign: :math:`y = \operatorname{sign}(z)`.

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
    :math:`y = \pm1` and :math:`z` is a normal truncated to the side of :math:`y`.

    Examples
    --------
    >>> SgnLikelihood(y=[1.0]).compute_backward_posterior(1.0, [-5e4])[1] > 0
    True
    """

    _law = "sign"

    def __init__(self, y: Any, y_name: str = "y", isotropic: bool = True) -> None:
        self._start(y, y_name, isotropic)


class AbsLikelihood(Likelihood):
    r"""Absolute value: :math:`y = |z|`.

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
    :math:`z = \pm y`: :math:`r = y\tanh(b y)`, :math:`v = y^2 - r^2`.
    """

    _law = "abs"

    def __init__(self, y: Any, y_name: str = "y", isotropic: bool = True) -> None:
        self._start(y, y_name, isotropic)


class AsymmetricAbsLikelihood(Likelihood):
    r"""Absolute value with a jump: :math:`y = -z\ \text{below}\ s,\ y = z\ \text{from there on}`.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs that are observed and not told.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.
    shift : float
        :math:`s`: where the sign changes.

    Examples
    --------
    >>> AsymmetricAbsLikelihood(y=None)
    AsymmetricAbsLikelihood(y_name='y', shift=0.0001)
    """

    repr_parameters = ("y_name", "shift")
    _law, _native_parameters = "asymmetric_abs", ("shift",)

    def __init__(self, y: Any, y_name: str = "y", isotropic: bool = True, shift: float = 0.0001) -> None:
        self.shift = number(shift, "shift")
        self._start(y, y_name, isotropic)


class ReluLikelihood(Likelihood):
    r"""Rectifier: :math:`y = \max(0, z)`.

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
    :math:`z = y` where :math:`y > 0`, else a normal truncated to :math:`z \le 0`.
    """

    _law = "relu"

    def __init__(self, y: Any, y_name: str = "y", isotropic: bool = True) -> None:
        self._start(y, y_name, isotropic)


class LeakyReluLikelihood(Likelihood):
    r"""Leaky rectifier: :math:`y = z\ \text{for}\ z \ge 0,\ y = \gamma z\ \text{else}`.

    Parameters
    ----------
    slope : float
        :math:`\gamma`: slope of the negative side.
    y : array or None
        The observations; ``None`` for outputs that are observed and not told.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Examples
    --------
    >>> LeakyReluLikelihood(y=None, slope=1.0)
    LeakyReluLikelihood(y_name='y', slope=1.0)
    """

    repr_parameters = ("y_name", "slope")
    _law, _native_parameters = "leaky_relu", ("slope",)

    def __init__(self, slope: float, y: Any, y_name: str = "y", isotropic: bool = True) -> None:
        self.slope = number(slope, "slope")
        self._start(y, y_name, isotropic)


class HardTanhLikelihood(Likelihood):
    r"""Clipped identity: :math:`y = \max(-1, \min(1, z))`.

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
    r"""Clipped line from 0 to 1: :math:`y = \max(0, \min(1, \frac12 + \frac z{2L}))`.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs that are observed and not told.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.
    knee : float
        :math:`L`: where it is clipped; positive.
    l : float
        Another name of ``knee``.

    Examples
    --------
    >>> HardSigmoidLikelihood(y=None)
    HardSigmoidLikelihood(y_name='y', knee=2.5)
    """

    repr_parameters = ("y_name", "knee")
    _law, _native_parameters = "hard_sigmoid", ("knee",)

    def __init__(self, y: Any, y_name: str = "y", isotropic: bool = True, knee: float = 2.5, l: Any = None) -> None:
        self.knee = number(knee, "knee") if l is None else number(l, "l")
        self._start(y, y_name, isotropic)


class SymmetricDoorLikelihood(Likelihood):
    r"""Symmetric door: :math:`y = \operatorname{sign}(|z| - K)`.

    Parameters
    ----------
    width : float
        :math:`K`: half-width of the door; positive.
    y : array or None
        The observations; ``None`` for outputs that are observed and not told.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Examples
    --------
    >>> SymmetricDoorLikelihood(y=None, width=1.0)
    SymmetricDoorLikelihood(y_name='y', width=1.0)
    """

    repr_parameters = ("y_name", "width")
    _law, _native_parameters = "symmetric_door", ("width",)

    def __init__(self, width: float, y: Any, y_name: str = "y", isotropic: bool = True) -> None:
        self.width = number(width, "width")
        self._start(y, y_name, isotropic)


class TanhLikelihood(Likelihood):
    r"""Hyperbolic tangent: :math:`y = \tanh z`.

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
    By quadrature.
    """

    _law = "tanh"

    def __init__(self, y: Any, y_name: str = "y", isotropic: bool = True) -> None:
        self._start(y, y_name, isotropic)


class SigmoidLikelihood(Likelihood):
    r"""Logistic function: :math:`y = 1/(1 + e^{-z})`.

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
    By quadrature.
    """

    _law = "sigmoid"

    def __init__(self, y: Any, y_name: str = "y", isotropic: bool = True) -> None:
        self._start(y, y_name, isotropic)


class SoftplusLikelihood(Likelihood):
    r"""Smooth rectifier: :math:`y = \ln(1 + e^z)`.

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
    By quadrature.
    """

    _law = "softplus"

    def __init__(self, y: Any, y_name: str = "y", isotropic: bool = True) -> None:
        self._start(y, y_name, isotropic)


class GaussianLikelihood(Likelihood):
    r"""Additive Gaussian noise: :math:`p(y|z) = N(y; z, \Delta)`.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs that are observed and not told.
    var : float
        :math:`\Delta`: variance of the noise; not negative.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    :math:`r = \frac{y + \Delta b}{1 + \Delta a}`, :math:`v = \frac\Delta{1 + \Delta a}`: the message is constant,
    :math:`(1/\Delta, y/\Delta)`. A variance of zero is a noiseless observation.

    Examples
    --------
    >>> GaussianLikelihood(y=[1.0, 3.0], var=1.0).compute_backward_posterior(1.0, [0.0, 0.0])
    (array([0.5, 1.5]), 0.5)
    """

    _on_parts = True
    repr_parameters = ("y_name", "var")
    _law, _native_parameters = "gaussian_noise", ("var",)

    def __init__(self, y: Any, var: float = 1, y_name: str = "y", isotropic: bool = True) -> None:
        self.var = number(var, "var")
        self._start(y, y_name, isotropic)


#: The same by name.
CLASSES: dict[str, type[Likelihood]] = {
    "sgn": SgnLikelihood,
    "abs": AbsLikelihood,
    "a-abs": AsymmetricAbsLikelihood,
    "relu": ReluLikelihood,
    "l-relu": LeakyReluLikelihood,
    "h-tanh": HardTanhLikelihood,
    "h-sigm": HardSigmoidLikelihood,
    "door": SymmetricDoorLikelihood,
    "tanh": TanhLikelihood,
    "sigmoid": SigmoidLikelihood,
    "softplus": SoftplusLikelihood,
    "gaussian": GaussianLikelihood,
}
