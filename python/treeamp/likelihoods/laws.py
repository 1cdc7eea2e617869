r"""Noise and functions of components, observed.

Written by ``python/generate.py`` from the catalogue: change the law's ``MODULE`` or ``python/tramp_names.json``, not this file.
"""

from __future__ import annotations

from typing import Any

from .._arrays import array, number, one_of, owned
from .base_likelihood import Likelihood

__all__ = [
    "AbsLikelihood",
    "AsymmetricAbsLikelihood",
    "CensoredLikelihood",
    "GaussianLikelihood",
    "HardSigmoidLikelihood",
    "HardTanhLikelihood",
    "HeteroscedasticNoiseLikelihood",
    "HingeLikelihood",
    "HuberLikelihood",
    "LaplaceNoiseLikelihood",
    "LeakyReluLikelihood",
    "LogisticLikelihood",
    "NegativeBinomialLikelihood",
    "OutlierNoiseLikelihood",
    "PoissonLikelihood",
    "PoissonSoftplusLikelihood",
    "ProbitLikelihood",
    "QuantileLikelihood",
    "QuantisedLikelihood",
    "ReluLikelihood",
    "SgnLikelihood",
    "SigmoidLikelihood",
    "SoftplusLikelihood",
    "SquaredHingeLikelihood",
    "StudentTNoiseLikelihood",
    "SymmetricDoorLikelihood",
    "TanhLikelihood",
]


class SgnLikelihood(Likelihood):
    r"""Sign: :math:`y = \operatorname{sign}(z)`.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs without values, in theory.
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
        The observations; ``None`` for outputs without values, in theory.
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
        The observations; ``None`` for outputs without values, in theory.
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
        The observations; ``None`` for outputs without values, in theory.
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
        The observations; ``None`` for outputs without values, in theory.
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
        The observations; ``None`` for outputs without values, in theory.
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
        The observations; ``None`` for outputs without values, in theory.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.
    knee : float
        :math:`L`: where it is clipped; positive; 2.5 by default.
    l : float
        Another name of ``knee``.

    Examples
    --------
    >>> HardSigmoidLikelihood(y=None)
    HardSigmoidLikelihood(y_name='y', knee=2.5)
    """

    repr_parameters = ("y_name", "knee")
    _law, _native_parameters = "hard_sigmoid", ("knee",)

    def __init__(
        self, y: Any, y_name: str = "y", isotropic: bool = True, knee: float | None = None, l: float | None = None
    ) -> None:
        self.knee, self._given_as = one_of(2.5, knee=knee, l=l)
        self._start(y, y_name, isotropic)


class SymmetricDoorLikelihood(Likelihood):
    r"""Symmetric door: :math:`y = \operatorname{sign}(|z| - K)`.

    Parameters
    ----------
    width : float
        :math:`K`: half-width of the door; positive.
    y : array or None
        The observations; ``None`` for outputs without values, in theory.
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
        The observations; ``None`` for outputs without values, in theory.
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
        The observations; ``None`` for outputs without values, in theory.
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
        The observations; ``None`` for outputs without values, in theory.
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
        The observations; ``None`` for outputs without values, in theory.
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


class LogisticLikelihood(Likelihood):
    r"""Logistic labels, to be observed: :math:`p(y \mid z) = \epsilon + \frac{1 - 2\epsilon}{1 + e^{-y z}},\quad y = \pm1`.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs without values, in theory.
    flip_probability : float
        :math:`\epsilon`: probability of a flipped label; from 0 to 1.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    Labels are flipped with probability :math:`\epsilon`. Moments by quadrature to a relative accuracy of
    :math:`10^{-8}` or better.

    Examples
    --------
    >>> LogisticLikelihood(y=None)
    LogisticLikelihood(y_name='y', flip_probability=0.0)
    """

    repr_parameters = ("y_name", "flip_probability")
    _law, _native_parameters = "logistic", ("flip_probability",)

    def __init__(self, y: Any, flip_probability: float = 0, y_name: str = "y", isotropic: bool = True) -> None:
        self.flip_probability = number(flip_probability, "flip_probability")
        self._start(y, y_name, isotropic)


class ProbitLikelihood(Likelihood):
    r"""Labels by the sign behind noise, to be observed:
    :math:`p(y \mid z) = \epsilon + (1 - 2\epsilon)\,\Phi(y z/\sqrt\Delta),\quad y = \pm1`.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs without values, in theory.
    noise_variance : float
        :math:`\Delta`: variance of the noise before the sign; not negative.
    flip_probability : float
        :math:`\epsilon`: probability of a flipped label; from 0 to 1.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    The sign of :math:`z + \sqrt\Delta\,\xi`, flipped with probability :math:`\epsilon`.

    Examples
    --------
    >>> ProbitLikelihood(y=None)
    ProbitLikelihood(y_name='y', noise_variance=1.0, flip_probability=0.0)
    """

    repr_parameters = ("y_name", "noise_variance", "flip_probability")
    _law, _native_parameters = "probit", ("noise_variance", "flip_probability")

    def __init__(
        self, y: Any, noise_variance: float = 1, flip_probability: float = 0, y_name: str = "y", isotropic: bool = True
    ) -> None:
        self.noise_variance = number(noise_variance, "noise_variance")
        self.flip_probability = number(flip_probability, "flip_probability")
        self._start(y, y_name, isotropic)


class PoissonLikelihood(Likelihood):
    r"""Poisson counts of rate e^z, to be observed:
    :math:`p(y \mid z) = \frac{e^{y z - e^z}}{y!},\quad y = 0, 1, 2, \ldots`.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs without values, in theory.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    Moments by quadrature to a relative accuracy of :math:`10^{-8}` or better.
    """

    _law = "poisson"

    def __init__(self, y: Any, y_name: str = "y", isotropic: bool = True) -> None:
        self._start(y, y_name, isotropic)


class PoissonSoftplusLikelihood(Likelihood):
    r"""Poisson counts of rate ln(1 + e^z), to be observed:
    :math:`p(y \mid z) = \frac{\mu^y e^{-\mu}}{y!},\quad \mu = \ln(1 + e^z),\quad y = 0, 1, 2, \ldots`.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs without values, in theory.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    Moments by quadrature to a relative accuracy of :math:`10^{-8}` or better.
    """

    _law = "poisson_softplus"

    def __init__(self, y: Any, y_name: str = "y", isotropic: bool = True) -> None:
        self._start(y, y_name, isotropic)


class LaplaceNoiseLikelihood(Likelihood):
    r"""Laplace noise, to be observed: :math:`p(y \mid z) = \frac1{2s} e^{-|y - z|/s}`.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs without values, in theory.
    scale : float
        :math:`s`: mean size of the noise; positive.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    The variance of the noise is :math:`2s^2`. The mode is that of a least absolute deviation.

    Examples
    --------
    >>> LaplaceNoiseLikelihood(y=None)
    LaplaceNoiseLikelihood(y_name='y', scale=1.0)
    """

    repr_parameters = ("y_name", "scale")
    _law, _native_parameters = "laplace_noise", ("scale",)

    def __init__(self, y: Any, scale: float = 1, y_name: str = "y", isotropic: bool = True) -> None:
        self.scale = number(scale, "scale")
        self._start(y, y_name, isotropic)


class StudentTNoiseLikelihood(Likelihood):
    r"""Heavy-tailed noise, to be observed:
    :math:`p(y \mid z) = \frac{\Gamma(\frac{\nu+1}2)}{\Gamma(\frac\nu2)\sqrt{\nu\pi}\,s}\left(1 + \frac{(y - z)^2}{\nu s^2}\right)^{-\frac{\nu+1}2}`.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs without values, in theory.
    df : float
        :math:`\nu`: degrees of freedom; positive.
    scale : float
        :math:`s`: the scale, which is not the standard deviation; positive.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    Not log-concave: there is no mode to be taken.

    Examples
    --------
    >>> StudentTNoiseLikelihood(y=None)
    StudentTNoiseLikelihood(y_name='y', df=3.0, scale=1.0)
    """

    repr_parameters = ("y_name", "df", "scale")
    _law, _native_parameters = "student_t_noise", ("df", "scale")

    def __init__(self, y: Any, df: float = 3, scale: float = 1, y_name: str = "y", isotropic: bool = True) -> None:
        self.df = number(df, "df")
        self.scale = number(scale, "scale")
        self._start(y, y_name, isotropic)


class OutlierNoiseLikelihood(Likelihood):
    r"""Gaussian noise with outliers, to be observed:
    :math:`p(y \mid z) = (1 - \epsilon)\,N(y; z, \sigma^2) + \epsilon\,N(y; z, \Delta)`.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs without values, in theory.
    variance : float
        :math:`\sigma^2`: variance of most of the noise; positive.
    outlier_variance : float
        :math:`\Delta`: variance of an outlier; positive.
    outlier_probability : float
        :math:`\epsilon`: probability of an outlier; from 0 to 1.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    :math:`\Delta` is the whole variance of an outlier.

    Examples
    --------
    >>> OutlierNoiseLikelihood(y=None)
    OutlierNoiseLikelihood(y_name='y', variance=1.0, outlier_variance=100.0, outlier_probability=0.05)
    """

    repr_parameters = ("y_name", "variance", "outlier_variance", "outlier_probability")
    _law, _native_parameters = "outlier_noise", ("variance", "outlier_variance", "outlier_probability")

    def __init__(
        self, y: Any, variance: float = 1, outlier_variance: float = 100, outlier_probability: float = 0.05, y_name: str = "y", isotropic: bool = True
    ) -> None:
        self.variance = number(variance, "variance")
        self.outlier_variance = number(outlier_variance, "outlier_variance")
        self.outlier_probability = number(outlier_probability, "outlier_probability")
        self._start(y, y_name, isotropic)


class HeteroscedasticNoiseLikelihood(Likelihood):
    r"""Gaussian noise of a variance per observation, to be observed: :math:`p(y_i \mid z_i) = N(y_i; z_i, \Delta_i)`.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs without values, in theory.
    variances : array
        :math:`\Delta`: the variance of every observation, or of all; positive.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    Next to diagonal beliefs its message is constant: precision :math:`1/\Delta_i`.

    Examples
    --------
    >>> HeteroscedasticNoiseLikelihood(y=None)
    HeteroscedasticNoiseLikelihood(y_name='y', variances=<array (1,)>)
    """

    repr_parameters = ("y_name", "variances")
    _law, _native_parameters = "heteroscedastic_noise", ("variances",)

    def __init__(self, y: Any, variances: Any = (1,), y_name: str = "y", isotropic: bool = True) -> None:
        self.variances = owned(array(variances, "variances"))
        self._start(y, y_name, isotropic)


class NegativeBinomialLikelihood(Likelihood):
    r"""Counts of mean e^z, more dispersed than Poisson's, to be observed:
    :math:`p(y \mid z) = \frac{\Gamma(y + k)}{\Gamma(k)\,y!}\left(\frac k{k + \mu}\right)^k\left(\frac\mu{k + \mu}\right)^y,\quad \mu = e^z,\quad y = 0, 1, 2, \ldots`.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs without values, in theory.
    dispersion : float
        :math:`k`: the dispersion; positive.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    Mean :math:`\mu`, variance :math:`\mu + \mu^2/k`. Moments by quadrature to a relative accuracy of :math:`10^{-8}` or
    better.

    Examples
    --------
    >>> NegativeBinomialLikelihood(y=None)
    NegativeBinomialLikelihood(y_name='y', dispersion=1.0)
    """

    repr_parameters = ("y_name", "dispersion")
    _law, _native_parameters = "negative_binomial", ("dispersion",)

    def __init__(self, y: Any, dispersion: float = 1, y_name: str = "y", isotropic: bool = True) -> None:
        self.dispersion = number(dispersion, "dispersion")
        self._start(y, y_name, isotropic)


class QuantisedLikelihood(Likelihood):
    r"""Cells of noisy inputs, to be observed: :math:`y = \#\{k : e_k < z + \sqrt\Delta\,\xi\}`.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs without values, in theory.
    noise_variance : float
        :math:`\Delta`: variance of the noise; not negative.
    edges : array
        :math:`e`: edges between the cells; finite, in ascending order.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    :math:`P(y = k) = \Phi((e_{k+1} - z)/\sqrt\Delta) - \Phi((e_k - z)/\sqrt\Delta)`; the first and the last cell are
    unbounded.

    Examples
    --------
    >>> QuantisedLikelihood(y=None)
    QuantisedLikelihood(y_name='y', noise_variance=1.0, edges=<array (3,)>)
    """

    repr_parameters = ("y_name", "noise_variance", "edges")
    _law, _native_parameters = "quantised", ("noise_variance", "edges")

    def __init__(
        self, y: Any, noise_variance: float = 1, edges: Any = (-1, 0, 1), y_name: str = "y", isotropic: bool = True
    ) -> None:
        self.noise_variance = number(noise_variance, "noise_variance")
        self.edges = owned(array(edges, "edges"))
        self._start(y, y_name, isotropic)


class CensoredLikelihood(Likelihood):
    r"""Noisy outputs, censored below a threshold, to be observed: :math:`y = \max(z + \sqrt\Delta\,\xi, c)`.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs without values, in theory.
    threshold : float
        :math:`c`: the least output that is observed as it is.
    noise_variance : float
        :math:`\Delta`: variance of the noise; positive.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    :math:`N(y; z, \Delta)` above the threshold :math:`c`, :math:`\Phi((c - z)/\sqrt\Delta)` at it.

    Examples
    --------
    >>> CensoredLikelihood(y=None)
    CensoredLikelihood(y_name='y', threshold=0.0, noise_variance=1.0)
    """

    repr_parameters = ("y_name", "threshold", "noise_variance")
    _law, _native_parameters = "censored", ("threshold", "noise_variance")

    def __init__(
        self, y: Any, threshold: float = 0, noise_variance: float = 1, y_name: str = "y", isotropic: bool = True
    ) -> None:
        self.threshold = number(threshold, "threshold")
        self.noise_variance = number(noise_variance, "noise_variance")
        self._start(y, y_name, isotropic)


class HingeLikelihood(Likelihood):
    r"""Hinge loss of labels, to be observed: :math:`E(z; y) = s\,\max(0, 1 - xz),\quad y = \pm1`.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs without values, in theory.
    strength : float
        :math:`s`: what the loss is multiplied by; positive.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    At its mode only: support vector machines.

    Examples
    --------
    >>> HingeLikelihood(y=None)
    HingeLikelihood(y_name='y', strength=1.0)
    """

    repr_parameters = ("y_name", "strength")
    _law, _native_parameters = "hinge", ("strength",)

    def __init__(self, y: Any, strength: float = 1, y_name: str = "y", isotropic: bool = True) -> None:
        self.strength = number(strength, "strength")
        self._start(y, y_name, isotropic)


class SquaredHingeLikelihood(Likelihood):
    r"""Squared hinge loss of labels, to be observed: :math:`E(z; y) = s\,\max(0, 1 - xz)^2,\quad y = \pm1`.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs without values, in theory.
    strength : float
        :math:`s`: what the loss is multiplied by; positive.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    At its mode only: support vector machines of smooth loss.

    Examples
    --------
    >>> SquaredHingeLikelihood(y=None)
    SquaredHingeLikelihood(y_name='y', strength=1.0)
    """

    repr_parameters = ("y_name", "strength")
    _law, _native_parameters = "squared_hinge", ("strength",)

    def __init__(self, y: Any, strength: float = 1, y_name: str = "y", isotropic: bool = True) -> None:
        self.strength = number(strength, "strength")
        self._start(y, y_name, isotropic)


class HuberLikelihood(Likelihood):
    r"""Huber loss of residuals, to be observed:
    :math:`E(z; y) = s\,h(|y - z|),\quad h(r) = \tfrac12 r^2\ \text{up to}\ \delta,\ \delta r - \tfrac12\delta^2\ \text{beyond}`.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs without values, in theory.
    strength : float
        :math:`s`: what the loss is multiplied by; positive.
    threshold : float
        :math:`\delta`: residual from which on it is linear; positive.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    At its mode only: robust regression.

    Examples
    --------
    >>> HuberLikelihood(y=None)
    HuberLikelihood(y_name='y', strength=1.0, threshold=1.35)
    """

    repr_parameters = ("y_name", "strength", "threshold")
    _law, _native_parameters = "huber", ("strength", "threshold")

    def __init__(
        self, y: Any, strength: float = 1, threshold: float = 1.35, y_name: str = "y", isotropic: bool = True
    ) -> None:
        self.strength = number(strength, "strength")
        self.threshold = number(threshold, "threshold")
        self._start(y, y_name, isotropic)


class QuantileLikelihood(Likelihood):
    r"""Quantile loss of residuals, to be observed: :math:`E(z; y) = s\,[q\max(0, y - z) + (1 - q)\max(0, z - y)]`.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for outputs without values, in theory.
    strength : float
        :math:`s`: what the loss is multiplied by; positive.
    quantile : float
        :math:`q`: the quantile; between 0 and 1, without these.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    At its mode only: quantile regression; :math:`q = \tfrac12` is half the absolute deviation.

    Examples
    --------
    >>> QuantileLikelihood(y=None)
    QuantileLikelihood(y_name='y', strength=1.0, quantile=0.5)
    """

    repr_parameters = ("y_name", "strength", "quantile")
    _law, _native_parameters = "quantile", ("strength", "quantile")

    def __init__(
        self, y: Any, strength: float = 1, quantile: float = 0.5, y_name: str = "y", isotropic: bool = True
    ) -> None:
        self.strength = number(strength, "strength")
        self.quantile = number(quantile, "quantile")
        self._start(y, y_name, isotropic)


#: The same by name.
CLASSES: dict[str, type[Likelihood]] = {
    "sgn": SgnLikelihood,
    "sign": SgnLikelihood,
    "abs": AbsLikelihood,
    "a-abs": AsymmetricAbsLikelihood,
    "asymmetric_abs": AsymmetricAbsLikelihood,
    "relu": ReluLikelihood,
    "l-relu": LeakyReluLikelihood,
    "leaky_relu": LeakyReluLikelihood,
    "h-tanh": HardTanhLikelihood,
    "hard_tanh": HardTanhLikelihood,
    "h-sigm": HardSigmoidLikelihood,
    "hard_sigmoid": HardSigmoidLikelihood,
    "door": SymmetricDoorLikelihood,
    "symmetric_door": SymmetricDoorLikelihood,
    "tanh": TanhLikelihood,
    "sigmoid": SigmoidLikelihood,
    "softplus": SoftplusLikelihood,
    "gaussian": GaussianLikelihood,
    "gaussian_noise": GaussianLikelihood,
    "logistic": LogisticLikelihood,
    "probit": ProbitLikelihood,
    "poisson": PoissonLikelihood,
    "poisson_deviance": PoissonLikelihood,
    "poisson_softplus": PoissonSoftplusLikelihood,
    "laplace_noise": LaplaceNoiseLikelihood,
    "student_t_noise": StudentTNoiseLikelihood,
    "outlier_noise": OutlierNoiseLikelihood,
    "heteroscedastic_noise": HeteroscedasticNoiseLikelihood,
    "negative_binomial": NegativeBinomialLikelihood,
    "quantised": QuantisedLikelihood,
    "quantized": QuantisedLikelihood,
    "censored": CensoredLikelihood,
    "tobit": CensoredLikelihood,
    "hinge": HingeLikelihood,
    "squared_hinge": SquaredHingeLikelihood,
    "huber": HuberLikelihood,
    "quantile": QuantileLikelihood,
}
