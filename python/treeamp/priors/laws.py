r"""Laws on every component of a signal.

Written by ``python/generate.py`` from the catalogue: change the law's ``MODULE`` or ``python/tramp_names.json``, not this file.
"""

from __future__ import annotations

from typing import Any

from .._arrays import array, count, number, owned
from .base_prior import ComplexPrior, Prior

__all__ = [
    "BinaryPrior",
    "CircularGaussBernoulliPrior",
    "CircularGaussianMixturePrior",
    "CircularGaussianPrior",
    "ComplexAlphabetPrior",
    "ExponentialPrior",
    "FiniteAlphabetPrior",
    "GammaPrior",
    "GaussBernoulliPrior",
    "GaussianMixturePrior",
    "GaussianPrior",
    "IntervalPrior",
    "LaplacePrior",
    "LogisticPrior",
    "NonnegativeGaussianMixturePrior",
    "PositivePrior",
    "QamPrior",
    "RegularisedHorseshoePrior",
    "SpikeLaplacePrior",
    "SpikeStudentTPrior",
    "StudentTPrior",
    "UniformPrior",
]


class GaussianPrior(Prior):
    r"""Gaussian components: :math:`p(x) = N(x; m, \sigma^2)`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    mean : float
        :math:`m`: the mean.
    var : float
        :math:`\sigma^2`: the variance; positive.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    :math:`r = \frac{m + b\sigma^2}{1 + a\sigma^2}`, :math:`v = \frac{\sigma^2}{1 + a\sigma^2}`.

    Examples
    --------
    >>> GaussianPrior(size=2, mean=1.0).compute_forward_posterior(1.0, [0.0, 2.0])
    (array([0.5, 1.5]), 0.5)
    """

    repr_parameters = ("size", "mean", "var")
    _law, _native_parameters = "gaussian", ("mean", "var")

    def __init__(self, size: Any, mean: float = 0, var: float = 1, isotropic: bool = True) -> None:
        self.mean = number(mean, "mean")
        self.var = number(var, "var")
        self._start(size, isotropic)


class GaussBernoulliPrior(Prior):
    r"""Sparse Gaussian components: :math:`p(x) = (1 - \rho)\,\delta(x) + \rho\,N(x; m, \sigma^2)`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    rho : float
        :math:`\rho`: fraction that is not zero; from 0 to 1.
    mean : float
        :math:`m`: mean of those that are not zero.
    var : float
        :math:`\sigma^2`: variance of those that are not zero; positive.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    With :math:`u = 1/(1 + a\sigma^2)` the slab has mean :math:`r_1 = u(m + b\sigma^2)` and variance :math:`u\sigma^2`;
    it has probability :math:`p = 1/(1 + e^{-\xi})`,
    :math:`\xi = \ln\frac\rho{1-\rho} + \frac u2[\sigma^2 b^2 + m(2b - am)] + \frac12\ln u`. Then :math:`r = p r_1`,
    :math:`v = p u\sigma^2 + p(1 - p) r_1^2`.

    Examples
    --------
    >>> round(GaussBernoulliPrior(size=1, rho=0.1).second_moment(), 12)
    0.1
    """

    repr_parameters = ("size", "rho", "mean", "var")
    _law, _native_parameters = "gauss_bernoulli", ("rho", "mean", "var")

    def __init__(self, size: Any, rho: float = 0.5, mean: float = 0, var: float = 1, isotropic: bool = True) -> None:
        self.rho = number(rho, "rho")
        self.mean = number(mean, "mean")
        self.var = number(var, "var")
        self._start(size, isotropic)


class BinaryPrior(Prior):
    r"""Signs: :math:`p(x) = p_+\,\delta(x - 1) + (1 - p_+)\,\delta(x + 1)`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    p_pos : float
        :math:`p_+`: probability of +1; from 0 to 1.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    :math:`r = \tanh(b + \frac12\ln\frac{p_+}{1-p_+})`, :math:`v = 1 - r^2`, without the cancellation.

    Examples
    --------
    >>> bool(BinaryPrior(size=1).scalar_forward_variance(0.0, 25.0) > 0)
    True
    """

    repr_parameters = ("size", "p_pos")
    _law, _native_parameters = "binary", ("p_pos",)

    def __init__(self, size: Any, p_pos: float = 0.5, isotropic: bool = True) -> None:
        self.p_pos = number(p_pos, "p_pos")
        self._start(size, isotropic)


class GaussianMixturePrior(Prior):
    r"""A mixture of Gaussians; a variance of zero is a point mass: :math:`p(x) = \sum_k p_k\,N(x; m_k, \sigma_k^2)`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    probs : array
        :math:`p_k`: the weights; none for equal ones; positive, of sum 1.
    means : array
        :math:`m_k`: one mean per weight.
    vars : array
        :math:`\sigma_k^2`: one variance per weight; not negative.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Examples
    --------
    >>> GaussianMixturePrior(size=3, probs=[0.5, 0.5], means=[-1, 1], vars=[0.1, 0.1]).second_moment()
    1.1
    """

    repr_parameters = ("size", "probs", "means", "vars")
    _law, _native_parameters = "gaussian_mixture", ("probs", "means", "vars")

    def __init__(
        self, size: Any, probs: Any = None, means: Any = (-1, 1), vars: Any = (1, 1), isotropic: bool = True
    ) -> None:
        self.probs = owned(array(() if probs is None else probs, "probs"))
        self.means = owned(array(means, "means"))
        self.vars = owned(array(vars, "vars"))
        self.K = self.means.size
        self._start(size, isotropic)


class PositivePrior(Prior):
    r"""Gaussian components, given that they are positive: :math:`p(x) \propto 1_{x \ge 0}\,N(x; m, \sigma^2)`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.
    mean : float
        :math:`m`: mean of the Gaussian that is cut.
    var : float
        :math:`\sigma^2`: variance of the Gaussian that is cut; positive.

    Examples
    --------
    >>> round(PositivePrior(size=1).second_moment(), 12)
    1.0
    """

    repr_parameters = ("size", "mean", "var")
    _law, _native_parameters = "positive", ("mean", "var")

    def __init__(self, size: Any, isotropic: bool = True, *, mean: float = 0, var: float = 1) -> None:
        self.mean = number(mean, "mean")
        self.var = number(var, "var")
        self._start(size, isotropic)


class IntervalPrior(Prior):
    r"""Gaussian components, given that they lie in an interval: :math:`p(x) \propto 1_{l \le x \le h}\,N(x; m, \sigma^2)`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    low : float
        :math:`l`: lower end of the interval; may be infinite.
    high : float
        :math:`h`: upper end of the interval, above the lower; may be infinite.
    mean : float
        :math:`m`: mean of the Gaussian that is cut.
    var : float
        :math:`\sigma^2`: variance of the Gaussian that is cut; positive.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Examples
    --------
    >>> 0 < IntervalPrior(size=1, low=0.0, high=1.0).second_moment() < 1
    True
    """

    repr_parameters = ("size", "low", "high", "mean", "var")
    _law, _native_parameters = "interval", ("low", "high", "mean", "var")

    def __init__(
        self, size: Any, low: float = -1, high: float = 1, mean: float = 0, var: float = 1, isotropic: bool = True
    ) -> None:
        self.low = number(low, "low")
        self.high = number(high, "high")
        self.mean = number(mean, "mean")
        self.var = number(var, "var")
        self._start(size, isotropic)


class ExponentialPrior(Prior):
    r"""Exponential components: :math:`p(x) = \frac1m e^{-x/m}\ \text{on}\ x \ge 0`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    mean : float
        :math:`m`: the mean; positive.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Examples
    --------
    >>> float(ExponentialPrior(size=1, mean=2.0).compute_forward_posterior(0.0, [0.0])[0][0])
    2.0
    """

    repr_parameters = ("size", "mean")
    _law, _native_parameters = "exponential", ("mean",)

    def __init__(self, size: Any, mean: float = 1, isotropic: bool = True) -> None:
        self.mean = number(mean, "mean")
        self._start(size, isotropic)


class LaplacePrior(Prior):
    r"""Laplace components: :math:`p(x) = \frac1{2s} e^{-|x - m|/s}`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    mean : float
        :math:`m`: the mean.
    scale : float
        :math:`s`: mean distance from the mean; positive.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    With :math:`c = b - a m` the mode is :math:`m` where :math:`|c| \le 1/s`, and :math:`(b \mp 1/s)/a` beyond: a soft
    threshold about the mean. The variance of :math:`x` is :math:`2s^2`.

    Examples
    --------
    >>> LaplacePrior(size=3)
    LaplacePrior(size=3, mean=0.0, scale=1.0)
    """

    repr_parameters = ("size", "mean", "scale")
    _law, _native_parameters = "laplace", ("mean", "scale")

    def __init__(self, size: Any, mean: float = 0, scale: float = 1, isotropic: bool = True) -> None:
        self.mean = number(mean, "mean")
        self.scale = number(scale, "scale")
        self._start(size, isotropic)


class UniformPrior(Prior):
    r"""Components anywhere in an interval: :math:`p(x) = \frac1{u - l}\ \text{on}\ l \le x \le u`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    low : float
        :math:`l`: lower end; finite, in ascending order.
    high : float
        :math:`u`: upper end; finite, in ascending order.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Examples
    --------
    >>> UniformPrior(size=3)
    UniformPrior(size=3, low=-1.0, high=1.0)
    """

    repr_parameters = ("size", "low", "high")
    _law, _native_parameters = "uniform", ("low", "high")

    def __init__(self, size: Any, low: float = -1, high: float = 1, isotropic: bool = True) -> None:
        self.low = number(low, "low")
        self.high = number(high, "high")
        self._start(size, isotropic)


class FiniteAlphabetPrior(Prior):
    r"""Components with finitely many values: :math:`p(x) = \sum_k w_k\,\delta(x - x_k)`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    values : array
        :math:`x_k`: the values, all different.
    weights : array
        :math:`w_k`: one weight per value; none for equal ones; positive, of sum 1.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    On the two parts of a complex signal it is a square constellation: :math:`\pm1, \pm3` make 16-QAM.

    Examples
    --------
    >>> FiniteAlphabetPrior(size=3)
    FiniteAlphabetPrior(size=3, values=<array (2,)>, weights=[])
    """

    repr_parameters = ("size", "values", "weights")
    _law, _native_parameters = "finite_alphabet", ("values", "weights")

    def __init__(self, size: Any, values: Any = (-1, 1), weights: Any = None, isotropic: bool = True) -> None:
        self.values = owned(array(values, "values"))
        self.weights = owned(array(() if weights is None else weights, "weights"))
        self._start(size, isotropic)


class SpikeLaplacePrior(Prior):
    r"""Sparse Laplace components: :math:`p(x) = (1 - \rho)\,\delta(x) + \rho\,\frac1{2s} e^{-|x|/s}`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    rho : float
        :math:`\rho`: fraction that is not zero; from 0 to 1.
    scale : float
        :math:`s`: mean size of those that are not zero; positive.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    The slab has probability :math:`p = 1/(1 + e^{-\xi})`, :math:`\xi = \ln\frac\rho{1-\rho} + A_1`, and
    :math:`r = p r_1`, :math:`v = p v_1 + p(1 - p) r_1^2`, where :math:`A_1, r_1, v_1` are those of the Laplace law.

    Examples
    --------
    >>> SpikeLaplacePrior(size=3)
    SpikeLaplacePrior(size=3, rho=0.5, scale=1.0)
    """

    repr_parameters = ("size", "rho", "scale")
    _law, _native_parameters = "spike_laplace", ("rho", "scale")

    def __init__(self, size: Any, rho: float = 0.5, scale: float = 1, isotropic: bool = True) -> None:
        self.rho = number(rho, "rho")
        self.scale = number(scale, "scale")
        self._start(size, isotropic)


class NonnegativeGaussianMixturePrior(Prior):
    r"""A mixture of Gaussians, each cut at zero:
    :math:`p(x) = \sum_k w_k\,\frac{N(x; m_k, \sigma_k^2)}{\Phi(m_k/\sigma_k)}\ \text{on}\ x \ge 0`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    weights : array
        :math:`w_k`: the weights; none for equal ones; positive, of sum 1.
    means : array
        :math:`m_k`: one mean per weight, of the Gaussian that is cut.
    variances : array
        :math:`\sigma_k^2`: one variance per weight, of the Gaussian that is cut; positive.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Examples
    --------
    >>> NonnegativeGaussianMixturePrior(size=3)
    NonnegativeGaussianMixturePrior(size=3, weights=[], means=<array (2,)>, variances=<array (2,)>)
    """

    repr_parameters = ("size", "weights", "means", "variances")
    _law, _native_parameters = "nonnegative_gaussian_mixture", ("weights", "means", "variances")

    def __init__(
        self, size: Any, weights: Any = None, means: Any = (0, 2), variances: Any = (1, 1), isotropic: bool = True
    ) -> None:
        self.weights = owned(array(() if weights is None else weights, "weights"))
        self.means = owned(array(means, "means"))
        self.variances = owned(array(variances, "variances"))
        self._start(size, isotropic)


class StudentTPrior(Prior):
    r"""Heavy-tailed components:
    :math:`p(x) = \frac{\Gamma(\frac{\nu+1}2)}{\Gamma(\frac\nu2)\sqrt{\nu\pi}\,s}\left(1 + \frac{(x - m)^2}{\nu s^2}\right)^{-\frac{\nu+1}2}`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    df : float
        :math:`\nu`: degrees of freedom; positive.
    mean : float
        :math:`m`: the centre.
    scale : float
        :math:`s`: the scale, which is not the standard deviation; positive.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    Its variance is :math:`s^2\nu/(\nu - 2)` for :math:`\nu > 2`. For :math:`\nu \le 2` it has none: the law can be a
    student's, at precisions :math:`a > 0`.

    Examples
    --------
    >>> StudentTPrior(size=3)
    StudentTPrior(size=3, df=3.0, mean=0.0, scale=1.0)
    """

    repr_parameters = ("size", "df", "mean", "scale")
    _law, _native_parameters = "student_t", ("df", "mean", "scale")

    def __init__(self, size: Any, df: float = 3, mean: float = 0, scale: float = 1, isotropic: bool = True) -> None:
        self.df = number(df, "df")
        self.mean = number(mean, "mean")
        self.scale = number(scale, "scale")
        self._start(size, isotropic)


class RegularisedHorseshoePrior(Prior):
    r"""Components that are nearly zero or of the size of a slab:
    :math:`p(x) = \int_0^\infty \frac{2\,d\lambda}{\pi(1+\lambda^2)}\,N(x; 0, V),\quad \frac1V = \frac1{\tau^2\lambda^2} + \frac1{c^2}`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    scale : float
        :math:`\tau`: scale of most components; positive.
    slab : float
        :math:`c`: standard deviation of the largest; positive.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    :math:`E\,x^2 = c^2\tau/(c + \tau)`.

    Examples
    --------
    >>> RegularisedHorseshoePrior(size=3)
    RegularisedHorseshoePrior(size=3, scale=1.0, slab=2.0)
    """

    repr_parameters = ("size", "scale", "slab")
    _law, _native_parameters = "regularised_horseshoe", ("scale", "slab")

    def __init__(self, size: Any, scale: float = 1, slab: float = 2, isotropic: bool = True) -> None:
        self.scale = number(scale, "scale")
        self.slab = number(slab, "slab")
        self._start(size, isotropic)


class LogisticPrior(Prior):
    r"""Components with exponential tails and a round top:
    :math:`p(x) = \frac{e^{-u}}{s(1 + e^{-u})^2},\quad u = \frac{x - m}s`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    mean : float
        :math:`m`: the mean.
    scale : float
        :math:`s`: the scale; positive.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    Its variance is :math:`\pi^2 s^2/3`. Moments by quadrature to a relative accuracy of :math:`10^{-8}` or better.

    Examples
    --------
    >>> LogisticPrior(size=3)
    LogisticPrior(size=3, mean=0.0, scale=1.0)
    """

    repr_parameters = ("size", "mean", "scale")
    _law, _native_parameters = "logistic_prior", ("mean", "scale")

    def __init__(self, size: Any, mean: float = 0, scale: float = 1, isotropic: bool = True) -> None:
        self.mean = number(mean, "mean")
        self.scale = number(scale, "scale")
        self._start(size, isotropic)


class GammaPrior(Prior):
    r"""Positive components of some shape: :math:`p(x) = \frac{\beta^k}{\Gamma(k)} x^{k-1} e^{-\beta x}\ \text{on}\ x > 0`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    shape : float
        :math:`k`: the shape, at least 1e-5; positive.
    rate : float
        :math:`\beta`: the rate; positive.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    Mean :math:`k/\beta`, variance :math:`k/\beta^2`. Moments by quadrature to a relative accuracy of :math:`10^{-8}` or
    better.

    Examples
    --------
    >>> GammaPrior(size=3)
    GammaPrior(size=3, shape=1.0, rate=1.0)
    """

    repr_parameters = ("size", "shape", "rate")
    _law, _native_parameters = "gamma", ("shape", "rate")

    def __init__(self, size: Any, shape: float = 1, rate: float = 1, isotropic: bool = True) -> None:
        self.shape = number(shape, "shape")
        self.rate = number(rate, "rate")
        self._start(size, isotropic)


class SpikeStudentTPrior(Prior):
    r"""Sparse heavy-tailed components: :math:`p(x) = (1 - \rho)\,\delta(x) + \rho\,t_\nu(x; 0, s)`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    rho : float
        :math:`\rho`: fraction that is not zero; from 0 to 1.
    df : float
        :math:`\nu`: degrees of freedom; positive.
    scale : float
        :math:`s`: scale of those that are not zero; positive.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    :math:`t_\nu` is Student's law of :math:`\nu` degrees of freedom, without a variance for :math:`\nu \le 2`: the law
    can then be a student's only, at precisions :math:`a > 0`.

    Examples
    --------
    >>> SpikeStudentTPrior(size=3)
    SpikeStudentTPrior(size=3, rho=0.5, df=3.0, scale=1.0)
    """

    repr_parameters = ("size", "rho", "df", "scale")
    _law, _native_parameters = "spike_student_t", ("rho", "df", "scale")

    def __init__(self, size: Any, rho: float = 0.5, df: float = 3, scale: float = 1, isotropic: bool = True) -> None:
        self.rho = number(rho, "rho")
        self.df = number(df, "df")
        self.scale = number(scale, "scale")
        self._start(size, isotropic)


class CircularGaussianPrior(ComplexPrior):
    r"""Complex Gaussian components: :math:`p(x) = CN(x; 0, \sigma^2)`.

    Parameters
    ----------
    size : tuple or None
        Shape, the parts on its first axis: ``(2, ...)``; ``None`` for the limit of large sizes.
    var : float
        :math:`\sigma^2`: variance per real component; positive.
    isotropic : bool
        Kept for scripts that give it.

    Examples
    --------
    >>> CircularGaussianPrior(size=(2, 3))
    CircularGaussianPrior(size=(2, 3), var=1.0)
    """

    repr_parameters = ("size", "var")
    _law, _native_parameters = "circular_gaussian", ("var",)

    def __init__(self, size: Any, var: float = 1, isotropic: bool = True) -> None:
        self.var = number(var, "var")
        self._start(size, isotropic)


class CircularGaussBernoulliPrior(ComplexPrior):
    r"""Sparse complex Gaussian components: :math:`p(x) = (1 - \rho)\,\delta(x) + \rho\,CN(x; 0, \sigma^2)`.

    Parameters
    ----------
    size : tuple or None
        Shape, the parts on its first axis: ``(2, ...)``; ``None`` for the limit of large sizes.
    rho : float
        :math:`\rho`: fraction that is not zero; from 0 to 1.
    var : float
        :math:`\sigma^2`: variance per real component; positive.
    isotropic : bool
        Kept for scripts that give it.

    Examples
    --------
    >>> CircularGaussBernoulliPrior(size=(2, 3))
    CircularGaussBernoulliPrior(size=(2, 3), rho=0.5, var=1.0)
    """

    repr_parameters = ("size", "rho", "var")
    _law, _native_parameters = "circular_gauss_bernoulli", ("rho", "var")

    def __init__(self, size: Any, rho: float = 0.5, var: float = 1, isotropic: bool = True) -> None:
        self.rho = number(rho, "rho")
        self.var = number(var, "var")
        self._start(size, isotropic)


class CircularGaussianMixturePrior(ComplexPrior):
    r"""Mixture of complex Gaussian components: :math:`p(x) = \sum_k w_k\,CN(x; 0, v_k)`.

    Parameters
    ----------
    size : tuple or None
        Shape, the parts on its first axis: ``(2, ...)``; ``None`` for the limit of large sizes.
    weights : array
        :math:`w`: weights of the components; none for equal ones; positive, of sum 1.
    variances : array
        :math:`v`: variances per real component; positive.
    isotropic : bool
        Kept for scripts that give it.

    Examples
    --------
    >>> CircularGaussianMixturePrior(size=(2, 3))
    CircularGaussianMixturePrior(size=(2, 3), weights=[], variances=<array (2,)>)
    """

    repr_parameters = ("size", "weights", "variances")
    _law, _native_parameters = "circular_gaussian_mixture", ("weights", "variances")

    def __init__(self, size: Any, weights: Any = None, variances: Any = (0.1, 1), isotropic: bool = True) -> None:
        self.weights = owned(array(() if weights is None else weights, "weights"))
        self.variances = owned(array(variances, "variances"))
        self._start(size, isotropic)


class QamPrior(ComplexPrior):
    r"""Complex symbols of a square constellation:
    :math:`x \in \{\pm\tfrac d2, \pm\tfrac{3d}2, \ldots\}^2,\quad E|x|^2 = 1`.

    Parameters
    ----------
    size : tuple or None
        Shape, the parts on its first axis: ``(2, ...)``; ``None`` for the limit of large sizes.
    order : int
        Number of points, a power of 4.
    isotropic : bool
        Kept for scripts that give it.

    Notes
    -----
    Both parts are independent: 4 is QPSK, 16 is 16-QAM.

    Examples
    --------
    >>> QamPrior(size=(2, 3))
    QamPrior(size=(2, 3), order=4)
    """

    repr_parameters = ("size", "order")
    _law, _native_parameters = "qam", ("order",)

    def __init__(self, size: Any, order: int = 4, isotropic: bool = True) -> None:
        self.order = count(order, "order", 0)
        self._start(size, isotropic)


class ComplexAlphabetPrior(ComplexPrior):
    r"""Complex components with finitely many values: :math:`p(x) = \sum_k w_k\,\delta(x - x'_k - i x''_k)`.

    Parameters
    ----------
    size : tuple or None
        Shape, the parts on its first axis: ``(2, ...)``; ``None`` for the limit of large sizes.
    real : array
        :math:`x'_k`: real parts of the values, which are all different.
    imaginary : array
        :math:`x''_k`: imaginary parts, one per real part.
    weights : array
        :math:`w_k`: one weight per value; none for equal ones; positive, of sum 1.
    isotropic : bool
        Kept for scripts that give it.

    Notes
    -----
    Any constellation; the default is quaternary phase-shift keying. A square one is `qam`, whose two parts are
    independent.

    Examples
    --------
    >>> ComplexAlphabetPrior(size=(2, 3))
    ComplexAlphabetPrior(size=(2, 3), real=<array (4,)>, imaginary=<array (4,)>, weights=[])
    """

    repr_parameters = ("size", "real", "imaginary", "weights")
    _law, _native_parameters = "complex_alphabet", ("real", "imaginary", "weights")

    def __init__(
        self, size: Any, real: Any = (1, 0, -1, 0), imaginary: Any = (0, 1, 0, -1), weights: Any = None, isotropic: bool = True
    ) -> None:
        self.real = owned(array(real, "real"))
        self.imaginary = owned(array(imaginary, "imaginary"))
        self.weights = owned(array(() if weights is None else weights, "weights"))
        self._start(size, isotropic)


#: The same by name.
CLASSES: dict[str, type[Prior]] = {
    "gaussian": GaussianPrior,
    "gauss_bernoulli": GaussBernoulliPrior,
    "binary": BinaryPrior,
    "mixture": GaussianMixturePrior,
    "gaussian_mixture": GaussianMixturePrior,
    "positive": PositivePrior,
    "interval": IntervalPrior,
    "exponential": ExponentialPrior,
    "laplace": LaplacePrior,
    "uniform": UniformPrior,
    "finite_alphabet": FiniteAlphabetPrior,
    "alphabet": FiniteAlphabetPrior,
    "spike_laplace": SpikeLaplacePrior,
    "nonnegative_gaussian_mixture": NonnegativeGaussianMixturePrior,
    "student_t": StudentTPrior,
    "regularised_horseshoe": RegularisedHorseshoePrior,
    "horseshoe": RegularisedHorseshoePrior,
    "logistic_prior": LogisticPrior,
    "gamma": GammaPrior,
    "spike_student_t": SpikeStudentTPrior,
    "circular_gaussian": CircularGaussianPrior,
    "circular_gauss_bernoulli": CircularGaussBernoulliPrior,
    "circular_gaussian_mixture": CircularGaussianMixturePrior,
    "qam": QamPrior,
    "complex_alphabet": ComplexAlphabetPrior,
}
