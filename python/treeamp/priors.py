r"""Priors: one law on every component of a signal.

Each is its log-partition :math:`A(a, b) = \ln\int p(x)\,e^{-\frac12 a x^2 + b x}\,dx`, with the mean
:math:`r = \partial_b A` and the variance :math:`v = \partial_b^2 A`. Arrays are taken everywhere; what is said of a
whole signal is a sum over its components (log-partitions) or their average (isotropic variances, averages of
state evolution).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _lib
from ._arrays import Array, array, check_memory, check_seed, number, owned, size_to_shape
from .base import Factor
from .errors import ModelError, NotAvailable

__all__ = [
    "BinaryPrior",
    "CommitteeBinaryPrior",
    "ExponentialPrior",
    "GaussBernoulliPrior",
    "GaussianMixturePrior",
    "GaussianPrior",
    "IntervalPrior",
    "MAP_L1NormPrior",
    "MAP_L21NormPrior",
    "PositivePrior",
    "Prior",
    "get_prior",
]


class Prior(Factor):
    """A prior :math:`p(x)`, the same for every component.

    ``size`` is a number of components, a shape, or ``None`` for the limit of large sizes (state evolution only).
    """

    n_next = 1
    size: Any

    #: Catalogue name of the law, and the names of its parameters in the order of the native constructor.
    _law: str = ""
    _native_parameters: tuple[str, ...] = ()

    def _start(self, size: Any, isotropic: bool) -> None:
        self.size = size
        self.isotropic = bool(isotropic)
        self._native = self._make()

    def _make(self) -> _lib.Factor:
        values = [np.atleast_1d(getattr(self, name)).tolist() for name in self._native_parameters]
        return _lib.prior(self._law, size_to_shape(self.size), values)

    def _complex_native(self) -> _lib.Factor:
        shape = size_to_shape(self.size)
        if shape is not None and (not shape or shape[0] != 2):
            raise ModelError(
                f"{type(self).__name__}: a complex signal has its real and imaginary parts on the first axis, "
                f"expected size=(2, ...), got {self.size}"
            )
        values = [np.atleast_1d(getattr(self, name)).tolist() for name in self._native_parameters]
        return _lib.prior(self._law, None if shape is None else shape[1:], values, True)

    # --- expectation propagation

    def _scalar(self, ax: Any, bx: Any) -> tuple[Array, Array, Array]:
        a, b = np.broadcast_arrays(array(ax, "ax"), array(bx, "bx"))
        law = self._native.prior_law(np.ravel(a), np.ravel(b))
        log_z, mean, variance = (x.reshape(b.shape) for x in law)
        return log_z, mean, variance

    def scalar_forward_mean(self, ax: Any, bx: Any) -> Any:
        r"""Mean :math:`r(a, b)` of every component."""
        return self._scalar(ax, bx)[1][()]

    def scalar_forward_variance(self, ax: Any, bx: Any) -> Any:
        r"""Variance :math:`v(a, b)` of every component."""
        return self._scalar(ax, bx)[2][()]

    def scalar_log_partition(self, ax: Any, bx: Any) -> Any:
        r"""Log-partition :math:`A(a, b)` of every component."""
        return self._scalar(ax, bx)[0][()]

    def compute_forward_posterior(self, ax: Any, bx: Any) -> tuple[Any, Any]:
        """Mean of every component, and variance: averaged, or of every component when not isotropic."""
        _, rx, vx = self._scalar(ax, bx)
        return rx[()], (float(vx.mean()) if self.isotropic else vx[()])

    def compute_forward_message(self, ax: Any, bx: Any) -> tuple[Any, Any]:
        r"""The outgoing message :math:`(1/v - a, r/v - b)`; an infinite precision pins :math:`x` at the second."""
        b = array(bx, "bx")
        if self.isotropic and np.ndim(ax) == 0 and size_to_shape(self.size) == list(b.shape):
            a_new, b_new = self._native.message([(number(ax, "ax"), b)], 0)
            return a_new, b_new.reshape(b.shape)
        _, rx, vx = self._scalar(ax, bx)
        if self.isotropic:
            vx = np.asarray(vx.mean())
        if np.all(vx == 0):
            return np.full(vx.shape, np.inf)[()], rx[()]
        return (1 / vx - ax)[()], (rx / vx - b)[()]

    def compute_log_partition(self, ax: Any, bx: Any) -> float:
        """Log-partition of the signal: the sum over its components."""
        return float(np.sum(self._scalar(ax, bx)[0]))

    # --- state evolution

    def second_moment(self) -> float:
        r""":math:`\tau = E\,x^2`."""
        return self._native.second_moment([0.0], 0)

    def forward_second_moment_FG(self, tx_hat: float) -> float:
        r""":math:`E\,x^2` under :math:`p(x)\,e^{-\frac12\hat\tau x^2}`."""
        return self._native.second_moment([number(tx_hat, "tx_hat")], 0)

    def prior_log_partition_FG(self, tx_hat: float) -> float:
        r""":math:`\ln\int p(x)\,e^{-\frac12\hat\tau x^2}\,dx`."""
        return self._native.prior_potential([number(tx_hat, "tx_hat")])

    def compute_forward_error(self, ax: float) -> float:
        r"""Average variance :math:`v` when :math:`b \sim N(a x, a)`, Bayes-optimal."""
        return self.compute_forward_v_BO(ax, 0.0)

    def compute_forward_overlap(self, ax: float) -> float:
        r""":math:`m = E\,x r = \tau - v`, Bayes-optimal."""
        a = number(ax, "ax")
        return self._native.overlaps([(a, a, 0.0)], [0.0], 0)[0]

    def compute_free_energy(self, ax: float) -> float:
        r""":math:`\bar A = E\,A(a, b)`, Bayes-optimal, per component."""
        return self.compute_potential_BO(ax, 0.0)

    def compute_mutual_information(self, ax: float) -> float:
        r""":math:`I = \frac12 a\tau - \bar A` between :math:`x` and :math:`x + \xi/\sqrt a`, in nats."""
        a = number(ax, "ax")
        return self._native.entropic_potential([(a, a, 0.0)], [0.0], [(1.0, self.second_moment())])

    def compute_precision(self, vx: float) -> float:
        """The precision at which the average variance is ``vx``."""
        return self._native.gibbs(0.0, number(vx, "vx"))[0]

    def compute_dual_mutual_information(self, vx: float) -> float:
        r""":math:`I - \frac12 a v` at the precision where the average variance is :math:`v`."""
        return self._native.gibbs(0.0, number(vx, "vx"))[1]

    def compute_dual_free_energy(self, mx: float) -> float:
        r""":math:`\frac12 a m - \bar A` at the precision where the overlap is :math:`m`."""
        return self._native.gibbs(0.0, self.second_moment() - number(mx, "mx"))[2]

    def compute_forward_state_evolution(self, ax: float) -> float:
        r"""The outgoing precision :math:`1/v - a`."""
        v = self.compute_forward_error(ax)
        return 1 / v - ax if v > 0 else float("inf")

    def compute_forward_v_BO(self, ax: float, tx0_hat: float) -> float:
        r"""Average variance at :math:`a = \hat m + \hat\tau_0`, Bayes-optimal."""
        m_hat, t = number(ax, "ax") - number(tx0_hat, "tx0_hat"), float(tx0_hat)
        return self._native.overlaps([(m_hat, m_hat, t)], [t], 0)[1]

    def compute_potential_BO(self, ax: float, tx0_hat: float) -> float:
        r""":math:`\bar A` at :math:`a = \hat m + \hat\tau_0`, Bayes-optimal."""
        m_hat, t = number(ax, "ax") - number(tx0_hat, "tx0_hat"), float(tx0_hat)
        return self._native.potential([(m_hat, m_hat, t)], [t])

    def compute_forward_vmq_RS(
        self, teacher: Prior, ax: float, mx_hat: float, qx_hat: float, tx0_hat: float
    ) -> tuple[float, float, float]:
        r""":math:`(v, m, q)` of this student on signals of ``teacher``; :math:`a = \hat q + \hat\tau`."""
        fields = (float(mx_hat), float(qx_hat), number(ax, "ax") - float(qx_hat))
        m, v, q, _ = self._native.overlaps([fields], [float(tx0_hat)], 0, teacher._native)
        return v, m, q

    def compute_potential_RS(
        self, teacher: Prior, ax: float, mx_hat: float, qx_hat: float, tx0_hat: float
    ) -> float:
        r""":math:`\bar A` of this student on signals of ``teacher``."""
        fields = (float(mx_hat), float(qx_hat), number(ax, "ax") - float(qx_hat))
        return self._native.potential([fields], [float(tx0_hat)], teacher._native)

    def sample(self, seed: int | None = None) -> Array:
        """A signal drawn from the prior."""
        shape = size_to_shape(self.size)
        if shape is None:
            raise ModelError(f"{type(self).__name__}: a signal in the limit cannot be drawn, give it a size")
        check_memory(shape, "a signal")
        drawn = self._native.sample([], [int(np.prod(shape))], check_seed(seed))
        return drawn[0].reshape(shape)


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


class _Absent(Prior):
    """A prior known by name only."""

    _why = "needs maximum a posteriori inference, which is"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotAvailable(f"{type(self).__name__} {self._why} not available yet")


class MAP_L1NormPrior(_Absent):
    r"""Maximum a posteriori penalty :math:`\gamma\|x\|_1`. Not available yet."""


class MAP_L21NormPrior(_Absent):
    r"""Maximum a posteriori penalty :math:`\gamma\sum_g\|x_g\|_2`. Not available yet."""


class CommitteeBinaryPrior(_Absent):
    r"""Binary weights of a committee, with beliefs of full covariance between its units. Not available yet."""

    _why = "needs beliefs of full covariance, which are"


#: Priors by the names that ``get_prior`` takes.
PRIORS: dict[str, Callable[..., Prior]] = {
    "gaussian": GaussianPrior,
    "gauss_bernoulli": GaussBernoulliPrior,
    "binary": BinaryPrior,
    "mixture": GaussianMixturePrior,
    "exponential": ExponentialPrior,
    "positive": PositivePrior,
    "interval": IntervalPrior,
    "L1_norm": MAP_L1NormPrior,
    "L21_norm": MAP_L21NormPrior,
    "committee_binary": CommitteeBinaryPrior,
}


def get_prior(size: Any, prior_type: str, **kwargs: Any) -> Prior:
    """A prior by name.

    >>> get_prior(10, "gauss_bernoulli", rho=0.1)
    GaussBernoulliPrior(size=10, rho=0.1, mean=0.0, var=1.0)
    """
    if prior_type not in PRIORS:
        raise ValueError(f"`prior_type` must be one of {', '.join(PRIORS)}, got {prior_type!r}")
    return PRIORS[prior_type](size, **kwargs)
