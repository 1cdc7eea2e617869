r"""What priors share."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _lib
from .._arrays import Array, array, belief, check_memory, check_seed, flag, known, moduli, size_to_shape
from .._law import Law
from .._written import written_prior
from ..errors import ModelError, NotAvailable

__all__ = ["ComplexPrior", "Prior"]


class Prior(Law):
    """A prior :math:`p(x)`, the same for every component.

    ``size`` is a number of components, a shape, or ``None`` for the limit of large sizes (state evolution only).

    A subclass of your own sets ``size`` and has some of these methods: ``sample()`` to be drawn from;
    ``scalar_forward_mean(ax, bx)`` and ``scalar_forward_variance(ax, bx)``, or ``compute_forward_posterior(ax, bx)``, or
    ``compute_forward_message(ax, bx)``, for expectation propagation; ``scalar_log_partition(ax, bx)`` besides the first
    two for evidences and state evolution. A ``sample`` without a ``seed`` draws from numpy's global generator, seeded for it.
    :class:`treeamp.CustomPrior` makes one from functions, or from a log-density.

    >>> class Constant(Prior):
    ...     def __init__(self, x):
    ...         self.size, self.x = len(x), x
    ...     def sample(self):
    ...         return self.x
    >>> from treeamp import GaussianChannel, V
    >>> (Constant([1.0, 2.0]) @ V("x") @ GaussianChannel(var=0.1) @ V("y")).to_model().sample(seed=0)["x"]
    array([1., 2.])
    """

    n_next = 1
    size: Any
    _direction = "forward"

    @property
    def _base(self) -> type:
        return Prior

    def _start(self, size: Any, isotropic: bool) -> None:
        self.size = size
        self.isotropic = flag(isotropic, "isotropic")
        self._native = self._twin()

    def _make(self) -> _lib.Factor:
        if self._is_written:
            return written_prior(self, Prior)
        return _lib.prior(self._law, size_to_shape(self.size), self._values())

    def _complex_native(self) -> _lib.Factor:
        if not self._law:
            raise ModelError(f"{type(self).__name__}: a prior of one's own is on a real signal, got a complex one")
        shape = size_to_shape(self.size)
        if shape is not None and (not shape or shape[0] != 2):
            raise ModelError(
                f"{type(self).__name__}: a complex signal has its real and imaginary parts on the first axis, "
                f"expected size=(2, ...), got {self.size}"
            )
        return _lib.prior(self._law, None if shape is None else shape[1:], self._values(), True)

    # --- expectation propagation

    def _scalar(self, ax: Any, bx: Any) -> tuple[Array, Array, Array]:
        a, b = np.broadcast_arrays(*belief(ax, bx, "x"))
        if self._is_written:
            return self._written_scalar(a, b)
        law = self._native.prior_law(np.ravel(a), np.ravel(b))
        log_z, mean, variance = (x.reshape(b.shape) for x in law)
        return log_z, mean, variance

    def _sized(self, bx: Any) -> Any:
        """``bx`` of the prior's own shape, where it has a size, or one number."""
        shape, b = size_to_shape(self.size), array(bx, "bx")
        if shape is not None and b.ndim and b.size and list(b.shape) != shape:
            raise ValueError(f"`bx` must have shape {tuple(shape)}, as the prior has, got {b.shape}")
        return b

    def _moments(self, ax: Any, bx: Any) -> tuple[Array, Array, Array]:
        return self._answered(self._scalar(ax, bx), ax, lambda: self._scalar(0.0, np.zeros(1)))

    def scalar_forward_mean(self, ax: Any, bx: Any) -> Any:
        r"""Mean :math:`r(a, b)` of every component; not a number where the variance is infinite. A law without a second moment
        refuses :math:`a = 0`."""
        return self._moments(ax, bx)[1][()]

    def scalar_forward_variance(self, ax: Any, bx: Any) -> Any:
        r"""Variance :math:`v(a, b)` of every component; infinite where the integral of the law beside the belief diverges. A law without
        a second moment refuses :math:`a = 0`."""
        return self._moments(ax, bx)[2][()]

    def scalar_log_partition(self, ax: Any, bx: Any) -> Any:
        r"""Log-partition :math:`A(a, b)` of every component; infinite where the variance is. A law without a second moment
        refuses :math:`a = 0`."""
        return self._moments(ax, bx)[0][()]

    def log_density(self, x: Any) -> Any:
        r"""Log-density :math:`\ln p(x)` of every component; of a prior with point masses, that of its continuous part, which a point mass is
        not. Real priors.

        >>> import treeamp as ta
        >>> float(ta.LaplacePrior(1, scale=2.0).log_density(0.0).round(6))
        -1.386294
        """
        self._has_log_density()
        places = array(x, "x")
        return self._native.prior_log_density(np.ravel(places)).reshape(places.shape)[()]

    def compute_forward_posterior(self, ax: Any, bx: Any) -> tuple[Any, Any]:
        """Mean of every component, and variance: averaged, or of every component when not isotropic."""
        return self._posterior(self._moments(ax, self._sized(bx)))

    def compute_forward_message(self, ax: Any, bx: Any) -> tuple[Any, Any]:
        r"""The outgoing message :math:`(1/v - a, r/v - b)`; an infinite precision pins :math:`x` at the second."""
        _, b = belief(ax, self._sized(bx), "x")
        if self.isotropic and np.ndim(ax) == 0 and size_to_shape(self.size) == list(b.shape):
            a_new, b_new = self._native.message([(known(ax, "ax"), b)], 0)
            return a_new, b_new.reshape(b.shape)
        return self._outgoing(ax, b, self._scalar(ax, bx))

    def compute_log_partition(self, ax: Any, bx: Any) -> float:
        """Log-partition of the signal: the sum over its components; infinite where a variance is. A law without a second
        moment refuses :math:`a = 0`."""
        return float(np.sum(self._moments(ax, self._sized(bx))[0]))

    # --- state evolution

    def second_moment(self) -> float:
        r""":math:`\tau = E\,x^2`."""
        return self._averages.second_moment([0.0], 0)

    def forward_second_moment_FG(self, tx_hat: float) -> float:
        r""":math:`E\,x^2` under :math:`p(x)\,e^{-\frac12\hat\tau x^2}`."""
        return self._averages.second_moment([known(tx_hat, "tx_hat")], 0)

    def prior_log_partition_FG(self, tx_hat: float) -> float:
        r""":math:`\ln\int p(x)\,e^{-\frac12\hat\tau x^2}\,dx`."""
        return self._averages.prior_potential([known(tx_hat, "tx_hat")])

    def compute_forward_error(self, ax: float) -> float:
        r"""Average variance :math:`v` when :math:`b \sim N(a x, a)`, Bayes-optimal."""
        return self.compute_forward_v_BO(ax, 0.0)

    def compute_forward_overlap(self, ax: float) -> float:
        r""":math:`m = E\,x r = \tau - v`, Bayes-optimal."""
        a = known(ax, "ax")
        return self._averages.overlaps([(a, a, 0.0)], [0.0], 0)[0]

    def compute_free_energy(self, ax: float) -> float:
        r""":math:`\bar A = E\,A(a, b)`, Bayes-optimal, per component."""
        return self.compute_potential_BO(ax, 0.0)

    def compute_mutual_information(self, ax: float) -> float:
        r""":math:`I = \frac12 a\tau - \bar A` between :math:`x` and :math:`x + \xi/\sqrt a`, in nats."""
        a = known(ax, "ax")
        return self._averages.entropic_potential([(a, a, 0.0)], [0.0], [(1.0, self.second_moment())])

    def compute_precision(self, vx: float) -> float:
        """The precision at which the average variance is ``vx``."""
        return self._gibbs(0.0, vx, "vx")[0]

    def compute_dual_mutual_information(self, vx: float) -> float:
        r""":math:`I - \frac12 a v` at the precision where the average variance is :math:`v`."""
        return self._gibbs(0.0, vx, "vx")[1]

    def compute_dual_free_energy(self, mx: float) -> float:
        r""":math:`\frac12 a m - \bar A` at the precision where the overlap is :math:`m`."""
        return self._gibbs(0.0, self.second_moment() - known(mx, "mx"), "tau_x - mx")[2]

    def compute_forward_state_evolution(self, ax: float) -> float:
        r"""The outgoing precision :math:`1/v - a`."""
        return self._extrinsic(self.compute_forward_error(ax), ax)

    def compute_forward_v_BO(self, ax: float, tx0_hat: float) -> float:
        r"""Average variance at :math:`a = \hat m + \hat\tau_0`, Bayes-optimal."""
        m_hat, t = known(ax, "ax") - known(tx0_hat, "tx0_hat"), float(tx0_hat)
        return self._averages.overlaps([(m_hat, m_hat, t)], [t], 0)[1]

    def compute_potential_BO(self, ax: float, tx0_hat: float) -> float:
        r""":math:`\bar A` at :math:`a = \hat m + \hat\tau_0`, Bayes-optimal."""
        m_hat, t = known(ax, "ax") - known(tx0_hat, "tx0_hat"), float(tx0_hat)
        return self._averages.potential([(m_hat, m_hat, t)], [t])

    def compute_forward_state_evolution_BO(self, ax: float, tx0_hat: float) -> float:
        r"""The outgoing precision :math:`1/v - a`, Bayes-optimal."""
        return self._extrinsic(self.compute_forward_v_BO(ax, tx0_hat), ax)

    def compute_forward_state_evolution_RS(
        self, ax: float, mx_hat: float, qx_hat: float, teacher: Prior, tx0_hat: float, tx0: float
    ) -> tuple[float, float, float]:
        r"""The outgoing fields :math:`(a, \hat m, \hat q)` of this student on signals of ``teacher``."""
        v, m, q = self.compute_forward_vmq_RS(ax, mx_hat, qx_hat, teacher, tx0_hat)
        return self.compute_a_mhat_qhat_new(v, m, q, ax, mx_hat, qx_hat, tx0)

    def compute_forward_vmq_RS(
        self, ax: float, mx_hat: float, qx_hat: float, teacher: Prior, tx0_hat: float
    ) -> tuple[float, float, float]:
        r""":math:`(v, m, q)` of this student on signals of ``teacher``; :math:`a = \hat q + \hat\tau`."""
        return self._vmq(ax, mx_hat, qx_hat, teacher, tx0_hat)

    def compute_potential_RS(
        self, ax: float, mx_hat: float, qx_hat: float, teacher: Prior, tx0_hat: float
    ) -> float:
        r""":math:`\bar A` of this student on signals of ``teacher``."""
        return self._potential_of(ax, mx_hat, qx_hat, teacher, tx0_hat)

    def sample(self, seed: int | None = None) -> Array:
        """A signal drawn from the prior."""
        shape = size_to_shape(self.size)
        if shape is None:
            raise ModelError(f"{type(self).__name__}: a signal in the limit cannot be drawn, give it a size")
        check_memory(shape, "a signal")
        drawn = self._native.sample([], [int(np.prod(shape))], check_seed(seed))
        return drawn[0].reshape(shape)


class ComplexPrior(Prior):
    """A prior of complex components, whose real and imaginary parts are on the first axis of arrays: ``size=(2, ...)``.
    Variances and precisions are per real component."""

    _complex = (None, True)

    def log_density(self, x: Any) -> Any:
        r"""Log-density :math:`\ln p(x)` on the plane, one number for every complex component, whose parts are on the first axis of
        ``x``; of a prior with point masses, that of its continuous part: minus infinity for a constellation, which has none.

        >>> import treeamp as ta
        >>> ta.CircularGaussianPrior((2, 1), var=2.0).log_density([[1.0], [1.0]]).round(6)
        array([-3.031024])
        """
        # these laws are radial or constellations: the density is that at a real place of the same modulus
        return self._native.prior_log_density(np.ravel(r := moduli(x, "x"))).reshape(r.shape)[()]

    def _make(self) -> _lib.Factor:
        name = type(self).__name__
        if not self.isotropic:
            raise NotAvailable(f"{name} has one precision for all components")
        shape = size_to_shape(self.size)
        if shape is not None and (not shape or shape[0] != 2):
            raise ModelError(f"{name}: parts are on the first axis, expected size=(2, ...), got {self.size}")
        return _lib.prior(self._law, None if shape is None else shape[1:], self._values())

    def _complex_native(self) -> _lib.Factor:
        return self._native

    def _scalar(self, ax: Any, bx: Any) -> tuple[Array, Array, Array]:
        raise NotAvailable(f"{type(self).__name__} has no real scalar law: ask for posteriors of whole arrays")

    def compute_forward_posterior(self, ax: Any, bx: Any) -> tuple[Any, Any]:
        """Mean of both parts of every component, and variance per real component, averaged."""
        a, b = belief(known(ax, "ax"), self._sized(bx), "x")
        r, v = self._native.moments([(float(a), b)], 0)
        return r.reshape(b.shape), self._proper(v)

    def compute_forward_message(self, ax: Any, bx: Any) -> tuple[Any, Any]:
        """The outgoing message."""
        a, b = belief(known(ax, "ax"), self._sized(bx), "x")
        a_new, b_new = self._native.message([(float(a), b)], 0)
        return a_new, b_new.reshape(b.shape)

    def compute_log_partition(self, ax: Any, bx: Any) -> float:
        """Log-partition of the signal: the sum over its components."""
        a, b = belief(known(ax, "ax"), self._sized(bx), "x")
        return self._native.log_partition([(float(a), b)])
