r"""Laws on every component of a signal."""

from __future__ import annotations

from typing import Any

from .._arrays import array, number, owned
from .base_prior import Prior

__all__ = [
    "BinaryPrior",
    "ExponentialPrior",
    "GaussBernoulliPrior",
    "GaussianMixturePrior",
    "GaussianPrior",
    "IntervalPrior",
    "PositivePrior",
]


class GaussianPrior(Prior):
    r"""Gaussian prior :math:`p(x) = N(x; m, \sigma^2)`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    mean, var : float
        :math:`m` and :math:`\sigma^2`.

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
        self.mean, self.var = number(mean, "mean"), number(var, "var")
        self._start(size, isotropic)


class GaussBernoulliPrior(Prior):
    r"""Sparse Gaussian prior :math:`p(x) = (1 - \rho)\,\delta(x) + \rho\,N(x; m, \sigma^2)`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    rho : float
        Fraction of components that are not zero.
    mean, var : float
        :math:`m` and :math:`\sigma^2` of those.

    Notes
    -----
    With :math:`u = 1/(1 + a\sigma^2)` the slab has mean :math:`r_1 = u(m + b\sigma^2)` and variance
    :math:`u\sigma^2`; it has probability :math:`p = 1/(1 + e^{-\xi})`,
    :math:`\xi = \ln\frac\rho{1-\rho} + \frac u2[\sigma^2 b^2 + m(2b - am)] + \frac12\ln u`. Then
    :math:`r = p r_1`, :math:`v = p u\sigma^2 + p(1 - p) r_1^2`.

    Examples
    --------
    >>> round(GaussBernoulliPrior(size=1, rho=0.1).second_moment(), 12)
    0.1
    """

    repr_parameters = ("size", "rho", "mean", "var")
    _law, _native_parameters = "gauss_bernoulli", ("rho", "mean", "var")

    def __init__(self, size: Any, rho: float = 0.5, mean: float = 0, var: float = 1, isotropic: bool = True) -> None:
        self.rho, self.mean, self.var = number(rho, "rho"), number(mean, "mean"), number(var, "var")
        self._start(size, isotropic)


class BinaryPrior(Prior):
    r"""Binary prior: :math:`x = +1` with probability ``p_pos``, else :math:`-1`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    p_pos : float
        Probability of :math:`+1`.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Notes
    -----
    :math:`r = \tanh(b + \frac12\ln\frac{p}{1-p})`, :math:`v = 1 - r^2`, without the cancellation.

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
    r"""Mixture :math:`p(x) = \sum_k p_k\,N(x; m_k, \sigma_k^2)`; a variance of zero is a point mass.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    probs, means, vars : array
        Weights :math:`p_k` that add up to 1, means :math:`m_k` and variances :math:`\sigma_k^2`.
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
        self,
        size: Any,
        probs: Any = (0.5, 0.5),
        means: Any = (-1, 1),
        vars: Any = (1, 1),
        isotropic: bool = True,
    ) -> None:
        self.probs, self.means, self.vars = (owned(array(*x)) for x in ((probs, "probs"), (means, "means"), (vars, "vars")))
        self.K = self.probs.size
        self._start(size, isotropic)


class ExponentialPrior(Prior):
    r"""Exponential prior :math:`p(x) = \frac1m e^{-x/m}` on :math:`x \ge 0`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    mean : float
        :math:`m`, positive.
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


class PositivePrior(Prior):
    r"""Positive prior :math:`p(x) \propto 1_{x \ge 0}\,N(x; m, \sigma^2)`; by default :math:`2\,1_{x\ge0} N(x; 0, 1)`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.
    mean, var : float
        :math:`m` and :math:`\sigma^2` of the normal law that is cut.

    Examples
    --------
    >>> round(PositivePrior(size=1).second_moment(), 12)
    1.0
    """

    repr_parameters = ("size", "mean", "var")
    _law, _native_parameters = "positive", ("mean", "var")

    def __init__(self, size: Any, isotropic: bool = True, *, mean: float = 0, var: float = 1) -> None:
        self.mean, self.var = number(mean, "mean"), number(var, "var")
        self._start(size, isotropic)


class IntervalPrior(Prior):
    r"""Truncated normal :math:`p(x) \propto 1_{l \le x \le h}\,N(x; m, \sigma^2)`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    low, high : float
        The ends, which may be infinite.
    mean, var : float
        :math:`m` and :math:`\sigma^2` of the normal law that is cut.
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
        self.low, self.high = number(low, "low"), number(high, "high")
        self.mean, self.var = number(mean, "mean"), number(var, "var")
        self._start(size, isotropic)
