r"""Noise, and functions of components.

Written by ``python/generate.py`` from the catalogue: change the law's ``MODULE`` or ``python/tramp_names.json``, not this file.
"""

from __future__ import annotations

from typing import Any

from .._arrays import array, number, owned
from .base_channel import Channel

__all__ = [
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


class LogisticChannel(Channel):
    r"""Logistic labels, to be observed: :math:`p(x \mid z) = \epsilon + \frac{1 - 2\epsilon}{1 + e^{-x z}},\quad x = \pm1`.
    Its output must be observed.

    Parameters
    ----------
    flip_probability : float
        :math:`\epsilon`: probability of a flipped label; from 0 to 1.

    Notes
    -----
    Labels are flipped with probability :math:`\epsilon`. Moments by quadrature to a relative accuracy of
    :math:`10^{-8}` or better.

    Examples
    --------
    >>> LogisticChannel()
    LogisticChannel(flip_probability=0.0)
    """

    repr_parameters = ("flip_probability",)
    _law, _native_parameters = "logistic", ("flip_probability",)

    def __init__(self, flip_probability: float = 0) -> None:
        self.flip_probability = number(flip_probability, "flip_probability")
        self._start()


class ProbitChannel(Channel):
    r"""Labels by the sign behind noise, to be observed:
    :math:`p(x \mid z) = \epsilon + (1 - 2\epsilon)\,\Phi(x z/\sqrt\Delta),\quad x = \pm1`. Its output must be observed.

    Parameters
    ----------
    noise_variance : float
        :math:`\Delta`: variance of the noise before the sign; not negative.
    flip_probability : float
        :math:`\epsilon`: probability of a flipped label; from 0 to 1.

    Notes
    -----
    The sign of :math:`z + \sqrt\Delta\,\xi`, flipped with probability :math:`\epsilon`.

    Examples
    --------
    >>> ProbitChannel()
    ProbitChannel(noise_variance=1.0, flip_probability=0.0)
    """

    repr_parameters = ("noise_variance", "flip_probability")
    _law, _native_parameters = "probit", ("noise_variance", "flip_probability")

    def __init__(self, noise_variance: float = 1, flip_probability: float = 0) -> None:
        self.noise_variance = number(noise_variance, "noise_variance")
        self.flip_probability = number(flip_probability, "flip_probability")
        self._start()


class PoissonChannel(Channel):
    r"""Poisson counts of rate e^z, to be observed:
    :math:`p(x \mid z) = \frac{e^{x z - e^z}}{x!},\quad x = 0, 1, 2, \ldots`. Its output must be observed.

    Notes
    -----
    Moments by quadrature to a relative accuracy of :math:`10^{-8}` or better.
    """

    _law = "poisson"

    def __init__(self) -> None:
        self._start()


class PoissonSoftplusChannel(Channel):
    r"""Poisson counts of rate ln(1 + e^z), to be observed:
    :math:`p(x \mid z) = \frac{\mu^x e^{-\mu}}{x!},\quad \mu = \ln(1 + e^z),\quad x = 0, 1, 2, \ldots`. Its output must
    be observed.

    Notes
    -----
    Moments by quadrature to a relative accuracy of :math:`10^{-8}` or better.
    """

    _law = "poisson_softplus"

    def __init__(self) -> None:
        self._start()


class LaplaceNoiseChannel(Channel):
    r"""Laplace noise, to be observed: :math:`p(x \mid z) = \frac1{2s} e^{-|x - z|/s}`. Its output must be observed.

    Parameters
    ----------
    scale : float
        :math:`s`: mean size of the noise; positive.

    Notes
    -----
    The variance of the noise is :math:`2s^2`. The mode is that of a least absolute deviation.

    Examples
    --------
    >>> LaplaceNoiseChannel()
    LaplaceNoiseChannel(scale=1.0)
    """

    repr_parameters = ("scale",)
    _law, _native_parameters = "laplace_noise", ("scale",)

    def __init__(self, scale: float = 1) -> None:
        self.scale = number(scale, "scale")
        self._start()


class StudentTNoiseChannel(Channel):
    r"""Heavy-tailed noise, to be observed:
    :math:`p(x \mid z) = \frac{\Gamma(\frac{\nu+1}2)}{\Gamma(\frac\nu2)\sqrt{\nu\pi}\,s}\left(1 + \frac{(x - z)^2}{\nu s^2}\right)^{-\frac{\nu+1}2}`.
    Its output must be observed.

    Parameters
    ----------
    df : float
        :math:`\nu`: degrees of freedom; positive.
    scale : float
        :math:`s`: the scale, which is not the standard deviation; positive.

    Notes
    -----
    Not log-concave: there is no mode to be taken.

    Examples
    --------
    >>> StudentTNoiseChannel()
    StudentTNoiseChannel(df=3.0, scale=1.0)
    """

    repr_parameters = ("df", "scale")
    _law, _native_parameters = "student_t_noise", ("df", "scale")

    def __init__(self, df: float = 3, scale: float = 1) -> None:
        self.df = number(df, "df")
        self.scale = number(scale, "scale")
        self._start()


class OutlierNoiseChannel(Channel):
    r"""Gaussian noise with outliers, to be observed:
    :math:`p(x \mid z) = (1 - \epsilon)\,N(x; z, \sigma^2) + \epsilon\,N(x; z, \Delta)`. Its output must be observed.

    Parameters
    ----------
    variance : float
        :math:`\sigma^2`: variance of most of the noise; positive.
    outlier_variance : float
        :math:`\Delta`: variance of an outlier; positive.
    outlier_probability : float
        :math:`\epsilon`: probability of an outlier; from 0 to 1.

    Notes
    -----
    :math:`\Delta` is the whole variance of an outlier.

    Examples
    --------
    >>> OutlierNoiseChannel()
    OutlierNoiseChannel(variance=1.0, outlier_variance=100.0, outlier_probability=0.05)
    """

    repr_parameters = ("variance", "outlier_variance", "outlier_probability")
    _law, _native_parameters = "outlier_noise", ("variance", "outlier_variance", "outlier_probability")

    def __init__(self, variance: float = 1, outlier_variance: float = 100, outlier_probability: float = 0.05) -> None:
        self.variance = number(variance, "variance")
        self.outlier_variance = number(outlier_variance, "outlier_variance")
        self.outlier_probability = number(outlier_probability, "outlier_probability")
        self._start()


class HeteroscedasticNoiseChannel(Channel):
    r"""Gaussian noise of a variance per observation, to be observed: :math:`p(x_i \mid z_i) = N(x_i; z_i, \Delta_i)`. Its
    output must be observed.

    Parameters
    ----------
    variances : array
        :math:`\Delta`: the variance of every observation, or of all; positive.

    Notes
    -----
    Next to diagonal beliefs its message is constant: precision :math:`1/\Delta_i`.

    Examples
    --------
    >>> HeteroscedasticNoiseChannel()
    HeteroscedasticNoiseChannel(variances=<array (1,)>)
    """

    repr_parameters = ("variances",)
    _law, _native_parameters = "heteroscedastic_noise", ("variances",)

    def __init__(self, variances: Any = (1,)) -> None:
        self.variances = owned(array(variances, "variances"))
        self._start()


class NegativeBinomialChannel(Channel):
    r"""Counts of mean e^z, more dispersed than Poisson's, to be observed:
    :math:`p(x \mid z) = \frac{\Gamma(x + k)}{\Gamma(k)\,x!}\left(\frac k{k + \mu}\right)^k\left(\frac\mu{k + \mu}\right)^x,\quad \mu = e^z,\quad x = 0, 1, 2, \ldots`.
    Its output must be observed.

    Parameters
    ----------
    dispersion : float
        :math:`k`: the dispersion; positive.

    Notes
    -----
    Mean :math:`\mu`, variance :math:`\mu + \mu^2/k`. Moments by quadrature to a relative accuracy of :math:`10^{-8}` or
    better.

    Examples
    --------
    >>> NegativeBinomialChannel()
    NegativeBinomialChannel(dispersion=1.0)
    """

    repr_parameters = ("dispersion",)
    _law, _native_parameters = "negative_binomial", ("dispersion",)

    def __init__(self, dispersion: float = 1) -> None:
        self.dispersion = number(dispersion, "dispersion")
        self._start()


class QuantisedChannel(Channel):
    r"""Cells of noisy inputs, to be observed: :math:`x = \#\{k : e_k < z + \sqrt\Delta\,\xi\}`. Its output must be
    observed.

    Parameters
    ----------
    noise_variance : float
        :math:`\Delta`: variance of the noise; not negative.
    edges : array
        :math:`e`: edges between the cells; finite, in ascending order.

    Notes
    -----
    :math:`P(x = k) = \Phi((e_{k+1} - z)/\sqrt\Delta) - \Phi((e_k - z)/\sqrt\Delta)`; the first and the last cell are
    unbounded.

    Examples
    --------
    >>> QuantisedChannel()
    QuantisedChannel(noise_variance=1.0, edges=<array (3,)>)
    """

    repr_parameters = ("noise_variance", "edges")
    _law, _native_parameters = "quantised", ("noise_variance", "edges")

    def __init__(self, noise_variance: float = 1, edges: Any = (-1, 0, 1)) -> None:
        self.noise_variance = number(noise_variance, "noise_variance")
        self.edges = owned(array(edges, "edges"))
        self._start()


class CensoredChannel(Channel):
    r"""Noisy outputs, censored below a threshold, to be observed: :math:`x = \max(z + \sqrt\Delta\,\xi, c)`. Its output
    must be observed.

    Parameters
    ----------
    threshold : float
        :math:`c`: the least output that is observed as it is.
    noise_variance : float
        :math:`\Delta`: variance of the noise; positive.

    Notes
    -----
    :math:`N(x; z, \Delta)` above the threshold :math:`c`, :math:`\Phi((c - z)/\sqrt\Delta)` at it.

    Examples
    --------
    >>> CensoredChannel()
    CensoredChannel(threshold=0.0, noise_variance=1.0)
    """

    repr_parameters = ("threshold", "noise_variance")
    _law, _native_parameters = "censored", ("threshold", "noise_variance")

    def __init__(self, threshold: float = 0, noise_variance: float = 1) -> None:
        self.threshold = number(threshold, "threshold")
        self.noise_variance = number(noise_variance, "noise_variance")
        self._start()


class HingeChannel(Channel):
    r"""Hinge loss of labels, to be observed: :math:`E(z; x) = s\,\max(0, 1 - xz),\quad x = \pm1`. Its output must be
    observed.

    Parameters
    ----------
    strength : float
        :math:`s`: what the loss is multiplied by; positive.

    Notes
    -----
    At its mode only: support vector machines.

    Examples
    --------
    >>> HingeChannel()
    HingeChannel(strength=1.0)
    """

    repr_parameters = ("strength",)
    _law, _native_parameters = "hinge", ("strength",)

    def __init__(self, strength: float = 1) -> None:
        self.strength = number(strength, "strength")
        self._start()


class SquaredHingeChannel(Channel):
    r"""Squared hinge loss of labels, to be observed: :math:`E(z; x) = s\,\max(0, 1 - xz)^2,\quad x = \pm1`. Its output must
    be observed.

    Parameters
    ----------
    strength : float
        :math:`s`: what the loss is multiplied by; positive.

    Notes
    -----
    At its mode only: support vector machines of smooth loss.

    Examples
    --------
    >>> SquaredHingeChannel()
    SquaredHingeChannel(strength=1.0)
    """

    repr_parameters = ("strength",)
    _law, _native_parameters = "squared_hinge", ("strength",)

    def __init__(self, strength: float = 1) -> None:
        self.strength = number(strength, "strength")
        self._start()


class HuberChannel(Channel):
    r"""Huber loss of residuals, to be observed:
    :math:`E(z; x) = s\,h(|x - z|),\quad h(r) = \tfrac12 r^2\ \text{up to}\ \delta,\ \delta r - \tfrac12\delta^2\ \text{beyond}`.
    Its output must be observed.

    Parameters
    ----------
    strength : float
        :math:`s`: what the loss is multiplied by; positive.
    threshold : float
        :math:`\delta`: residual from which on it is linear; positive.

    Notes
    -----
    At its mode only: robust regression.

    Examples
    --------
    >>> HuberChannel()
    HuberChannel(strength=1.0, threshold=1.35)
    """

    repr_parameters = ("strength", "threshold")
    _law, _native_parameters = "huber", ("strength", "threshold")

    def __init__(self, strength: float = 1, threshold: float = 1.35) -> None:
        self.strength = number(strength, "strength")
        self.threshold = number(threshold, "threshold")
        self._start()


class QuantileChannel(Channel):
    r"""Quantile loss of residuals, to be observed: :math:`E(z; x) = s\,[q\max(0, x - z) + (1 - q)\max(0, z - x)]`. Its
    output must be observed.

    Parameters
    ----------
    strength : float
        :math:`s`: what the loss is multiplied by; positive.
    quantile : float
        :math:`q`: the quantile; between 0 and 1, without these.

    Notes
    -----
    At its mode only: quantile regression; :math:`q = \tfrac12` is half the absolute deviation.

    Examples
    --------
    >>> QuantileChannel()
    QuantileChannel(strength=1.0, quantile=0.5)
    """

    repr_parameters = ("strength", "quantile")
    _law, _native_parameters = "quantile", ("strength", "quantile")

    def __init__(self, strength: float = 1, quantile: float = 0.5) -> None:
        self.strength = number(strength, "strength")
        self.quantile = number(quantile, "quantile")
        self._start()


#: The same by name.
CLASSES: dict[str, type[Channel]] = {
    "sgn": SgnChannel,
    "sign": SgnChannel,
    "abs": AbsChannel,
    "a-abs": AsymmetricAbsChannel,
    "asymmetric_abs": AsymmetricAbsChannel,
    "relu": ReluChannel,
    "l-relu": LeakyReluChannel,
    "leaky_relu": LeakyReluChannel,
    "h-tanh": HardTanhChannel,
    "hard_tanh": HardTanhChannel,
    "h-sigm": HardSigmoidChannel,
    "hard_sigmoid": HardSigmoidChannel,
    "door": SymmetricDoorChannel,
    "symmetric_door": SymmetricDoorChannel,
    "tanh": TanhChannel,
    "sigmoid": SigmoidChannel,
    "softplus": SoftplusChannel,
    "gaussian": GaussianChannel,
    "gaussian_noise": GaussianChannel,
    "logistic": LogisticChannel,
    "probit": ProbitChannel,
    "poisson": PoissonChannel,
    "poisson_deviance": PoissonChannel,
    "poisson_softplus": PoissonSoftplusChannel,
    "laplace_noise": LaplaceNoiseChannel,
    "student_t_noise": StudentTNoiseChannel,
    "outlier_noise": OutlierNoiseChannel,
    "heteroscedastic_noise": HeteroscedasticNoiseChannel,
    "negative_binomial": NegativeBinomialChannel,
    "quantised": QuantisedChannel,
    "quantized": QuantisedChannel,
    "censored": CensoredChannel,
    "tobit": CensoredChannel,
    "hinge": HingeChannel,
    "squared_hinge": SquaredHingeChannel,
    "huber": HuberChannel,
    "quantile": QuantileChannel,
}
