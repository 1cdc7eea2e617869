r"""Likelihoods: what an observation :math:`y` says of :math:`z`, component by component.

Each is its log-partition :math:`A(a, b; y) = \ln\int p(y|z)\,e^{-\frac12 a z^2 + b z}\,dz`, with the mean
:math:`r = \partial_b A` and the variance :math:`v = \partial_b^2 A`. With ``y=None`` the outputs are observed and not
told: a likelihood for state evolution only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _lib
from ._arrays import Array, array, check_seed, number, owned
from .base import Factor
from .errors import ModelError, NotAvailable

__all__ = [
    "AbsLikelihood",
    "AsymmetricAbsLikelihood",
    "GaussianLikelihood",
    "HardSigmoidLikelihood",
    "HardTanhLikelihood",
    "LeakyReluLikelihood",
    "Likelihood",
    "ModulusLikelihood",
    "ReluLikelihood",
    "SgnLikelihood",
    "SymmetricDoorLikelihood",
    "get_likelihood",
]


class Likelihood(Factor):
    """A likelihood :math:`p(y|z)`: the channel ``z -> y``, observed."""

    n_prev = 1
    repr_parameters: tuple[str, ...] = ("y_name",)

    #: Catalogue name of the channel, and its parameters.
    _law: str = ""
    _native_parameters: tuple[str, ...] = ()

    def _start(self, y: Any, y_name: str, isotropic: bool) -> None:
        self.y: Array | None = None if y is None else owned(array(y, "y"))
        self.y_name = str(y_name)
        self.size = None if self.y is None else self.y.shape
        self.isotropic = bool(isotropic)
        self._native = self._make()

    def _channel(self) -> _lib.Factor:
        values = [np.atleast_1d(getattr(self, name)).tolist() for name in self._native_parameters]
        return _lib.channel(self._law, values)

    def _make(self) -> _lib.Factor:
        if self.y is not None and self.y.size == 0:
            raise ModelError(f"{type(self).__name__}: `y` must have at least one component, got an empty array")
        observed = self._channel().observe(None if self.y is None else np.ravel(self.y))
        if observed is None:
            raise ModelError(f"{type(self).__name__}: its output cannot be observed")
        return observed

    # --- expectation propagation

    def _scalar(self, az: Any, bz: Any, y: Any) -> tuple[Array, Array, Array]:
        outputs = self.y if y is None else array(y, "y")
        if outputs is None:
            raise ModelError(f"{type(self).__name__}: an observation is needed here, and `y` is None")
        given = array(az, "az"), array(bz, "bz"), outputs
        try:
            a, b, o = np.broadcast_arrays(*given)
        except ValueError:
            shapes = ", ".join(str(x.shape) for x in given)
            raise ValueError(f"`az`, `bz` and `y` must have shapes that fit together, got {shapes}") from None
        law = self._native.likelihood_law(np.ravel(o), np.ravel(a), np.ravel(b))
        log_z, mean, variance = (x.reshape(b.shape) for x in law)
        return log_z, mean, variance

    def scalar_backward_mean(self, az: Any, bz: Any, y: Any = None) -> Any:
        r"""Mean :math:`r(a, b; y)` of every component."""
        return self._scalar(az, bz, y)[1][()]

    def scalar_backward_variance(self, az: Any, bz: Any, y: Any = None) -> Any:
        r"""Variance :math:`v(a, b; y)` of every component."""
        return self._scalar(az, bz, y)[2][()]

    def scalar_log_partition(self, az: Any, bz: Any, y: Any = None) -> Any:
        r"""Log-partition :math:`A(a, b; y)` of every component."""
        return self._scalar(az, bz, y)[0][()]

    def compute_backward_posterior(self, az: Any, bz: Any, y: Any = None) -> tuple[Any, Any]:
        """Mean of every component, and variance: averaged, or of every component when not isotropic."""
        _, rz, vz = self._scalar(az, bz, y)
        return rz[()], (float(vz.mean()) if self.isotropic else vz[()])

    def compute_backward_message(self, az: Any, bz: Any, y: Any = None) -> tuple[Any, Any]:
        r"""The outgoing message :math:`(1/v - a, r/v - b)`; an infinite precision pins :math:`z` at the second."""
        b = array(bz, "bz")
        if self.isotropic and np.ndim(az) == 0 and y is None and self.size == b.shape:
            a_new, b_new = self._native.message([(number(az, "az"), b)], 0)
            return a_new, b_new.reshape(b.shape)
        _, rz, vz = self._scalar(az, bz, y)
        if self.isotropic:
            vz = np.asarray(vz.mean())
        if np.all(vz == 0):
            return np.full(vz.shape, np.inf)[()], rz[()]
        return (1 / vz - az)[()], (rz / vz - b)[()]

    def compute_log_partition(self, az: Any, bz: Any, y: Any = None) -> float:
        """Log-partition of the signal: the sum over its components."""
        return float(np.sum(self._scalar(az, bz, y)[0]))

    # --- state evolution; a = m_hat + 1 / tau_z

    def _fields(self, az: float, tau_z: float) -> tuple[tuple[float, float, float], float]:
        t = 1 / number(tau_z, "tau_z")
        m_hat = number(az, "az") - t
        return (m_hat, m_hat, t), t

    def compute_backward_error(self, az: float, tau_z: float) -> float:
        r"""Average variance of :math:`z` at :math:`a = \hat m + 1/\tau_z`, Bayes-optimal."""
        fields, t = self._fields(az, tau_z)
        return self._native.overlaps([fields], [t], 0)[1]

    def compute_backward_overlap(self, az: float, tau_z: float) -> float:
        r""":math:`m = \tau_z - v`, Bayes-optimal."""
        fields, t = self._fields(az, tau_z)
        return self._native.overlaps([fields], [t], 0)[0]

    def compute_free_energy(self, az: float, tau_z: float) -> float:
        r""":math:`\bar A = E\,A(a, b; y)`, Bayes-optimal, per component."""
        fields, t = self._fields(az, tau_z)
        return self._native.potential([fields], [t])

    def compute_mutual_information(self, az: float, tau_z: float) -> float:
        r""":math:`H = I(z; b, y) + H[y|z]`, the entropy of the noise included."""
        fields, t = self._fields(az, tau_z)
        return self._native.entropic_potential([fields], [t], [(1.0, float(tau_z))])

    def compute_precision(self, vz: float, tau_z: float) -> float:
        """The precision at which the average variance is ``vz``."""
        t = 1 / number(tau_z, "tau_z")
        return self._native.gibbs(t, number(vz, "vz"))[0] + t

    def compute_dual_mutual_information(self, vz: float, tau_z: float) -> float:
        r""":math:`H - \frac12\hat m v - \frac12 v/\tau_z` at the precision where the average variance is :math:`v`."""
        t = 1 / number(tau_z, "tau_z")
        return self._native.gibbs(t, number(vz, "vz"))[1] - 0.5 * float(vz) * t

    def compute_dual_free_energy(self, mz: float, tau_z: float) -> float:
        r""":math:`\frac12 a m - \bar A` at the precision where the overlap is :math:`m`."""
        t = 1 / number(tau_z, "tau_z")
        return self._native.gibbs(t, tau_z - number(mz, "mz"))[2] + 0.5 * float(mz) * t

    def compute_backward_state_evolution(self, az: float, tau_z: float) -> float:
        r"""The outgoing precision :math:`1/v - a`."""
        v = self.compute_backward_error(az, tau_z)
        return 1 / v - az if v > 0 else float("inf")

    def compute_backward_v_BO(self, az: float, tz0_hat: float) -> float:
        r"""Average variance at :math:`a = \hat m + \hat\tau_0`, Bayes-optimal."""
        return self.compute_backward_error(az, 1 / number(tz0_hat, "tz0_hat"))

    def compute_potential_BO(self, az: float, tz0_hat: float) -> float:
        r""":math:`\bar A` at :math:`a = \hat m + \hat\tau_0`, Bayes-optimal."""
        return self.compute_free_energy(az, 1 / number(tz0_hat, "tz0_hat"))

    def compute_backward_vmq_RS(
        self, teacher: Likelihood, az: float, mz_hat: float, qz_hat: float, tz0_hat: float
    ) -> tuple[float, float, float]:
        r""":math:`(v, m, q)` of this student on outputs of ``teacher``; :math:`a = \hat q + \hat\tau`."""
        fields = (float(mz_hat), float(qz_hat), number(az, "az") - float(qz_hat))
        m, v, q, _ = self._native.overlaps([fields], [float(tz0_hat)], 0, teacher._native)
        return v, m, q

    def compute_potential_RS(
        self, teacher: Likelihood, az: float, mz_hat: float, qz_hat: float, tz0_hat: float
    ) -> float:
        r""":math:`\bar A` of this student on outputs of ``teacher``."""
        fields = (float(mz_hat), float(qz_hat), number(az, "az") - float(qz_hat))
        return self._native.potential([fields], [float(tz0_hat)], teacher._native)

    def sample(self, Z: Any, seed: int | None = None) -> Array:
        """Outputs drawn given ``Z``."""
        z = array(Z, "Z")
        return self._channel().sample([np.ravel(z)], [z.size], check_seed(seed))[0].reshape(z.shape)


class GaussianLikelihood(Likelihood):
    r"""Gaussian noise :math:`p(y|z) = N(y; z, \Delta)`; a variance of zero is a noiseless observation.

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

    Examples
    --------
    >>> SgnLikelihood(y=[1.0]).compute_backward_posterior(1.0, [-5e4])[1] > 0
    True
    """

    _law = "sign"

    def __init__(self, y: Any, y_name: str = "y", isotropic: bool = True) -> None:
        self._start(y, y_name, isotropic)


class AbsLikelihood(Likelihood):
    r"""Absolute value :math:`y = |z|`: :math:`z = \pm y`, :math:`r = y\tanh(b y)`, :math:`v = y^2 - r^2`."""

    _law = "abs"

    def __init__(self, y: Any, y_name: str = "y", isotropic: bool = True) -> None:
        self._start(y, y_name, isotropic)


class AsymmetricAbsLikelihood(Likelihood):
    r"""Absolute value with its symmetry broken: :math:`y = -z` below ``shift``, :math:`y = z` from there on."""

    repr_parameters = ("y_name", "shift")
    _law, _native_parameters = "asymmetric_abs", ("shift",)

    def __init__(self, y: Any, y_name: str = "y", isotropic: bool = True, shift: float = 1e-4) -> None:
        self.shift = number(shift, "shift")
        self._start(y, y_name, isotropic)


class ReluLikelihood(Likelihood):
    r"""Rectified :math:`y = \max(0, z)`: :math:`z = y` where :math:`y > 0`, else a normal truncated to :math:`z \le 0`."""

    _law = "relu"

    def __init__(self, y: Any, y_name: str = "y", isotropic: bool = True) -> None:
        self._start(y, y_name, isotropic)


class LeakyReluLikelihood(Likelihood):
    r"""Leaky rectified :math:`y = z` for :math:`z \ge 0`, :math:`y = \gamma z` else: :math:`z` is known exactly."""

    repr_parameters = ("y_name", "slope")
    _law, _native_parameters = "leaky_relu", ("slope",)

    def __init__(self, slope: float, y: Any, y_name: str = "y", isotropic: bool = True) -> None:
        self.slope = number(slope, "slope")
        self._start(y, y_name, isotropic)


class HardTanhLikelihood(Likelihood):
    r"""Clipped :math:`y = \max(-1, \min(1, z))`."""

    _law = "hard_tanh"

    def __init__(self, y: Any, y_name: str = "y", isotropic: bool = True) -> None:
        self._start(y, y_name, isotropic)


class HardSigmoidLikelihood(Likelihood):
    r"""Clipped line :math:`y = \max(0, \min(1, \frac12 + \frac z{2L}))` with knee :math:`L`, as the channel."""

    repr_parameters = ("y_name", "knee")
    _law, _native_parameters = "hard_sigmoid", ("knee",)

    def __init__(self, y: Any, y_name: str = "y", isotropic: bool = True, knee: float = 2.5) -> None:
        self.knee = number(knee, "knee")
        self._start(y, y_name, isotropic)


class SymmetricDoorLikelihood(Likelihood):
    r"""Symmetric door :math:`y = \operatorname{sign}(|z| - K)`, :math:`K` being the ``width``."""

    repr_parameters = ("y_name", "width")
    _law, _native_parameters = "symmetric_door", ("width",)

    def __init__(self, width: float, y: Any, y_name: str = "y", isotropic: bool = True) -> None:
        self.width = number(width, "width")
        self._start(y, y_name, isotropic)


class ModulusLikelihood(Likelihood):
    r"""Modulus :math:`y = |z|` of a complex :math:`z`, whose parts are on the first axis of its arrays.

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
        b = array(bz, "bz")
        r, v = self._at(y).moments([(number(az, "az"), b)], 0)
        return r.reshape(b.shape), v

    def compute_backward_message(self, az: Any, bz: Any, y: Any = None) -> tuple[Any, Any]:
        """The outgoing message."""
        b = array(bz, "bz")
        a_new, b_new = self._at(y).message([(number(az, "az"), b)], 0)
        return a_new, b_new.reshape(b.shape)

    def compute_log_partition(self, az: Any, bz: Any, y: Any = None) -> float:
        """Log-partition of the signal: the sum over its components."""
        return self._at(y).log_partition([(number(az, "az"), array(bz, "bz"))])

    def sample(self, Z: Any, seed: int | None = None) -> Array:
        """The moduli of ``Z``."""
        z = array(Z, "Z")
        drawn = self._channel().sample([np.ravel(z)], [z.size // 2], check_seed(seed))[0]
        return drawn.reshape(z.shape[1:])


#: Likelihoods by the names that ``get_likelihood`` takes.
LIKELIHOODS: dict[str, Callable[..., Likelihood]] = {
    "gaussian": GaussianLikelihood,
    "sgn": SgnLikelihood,
    "abs": AbsLikelihood,
    "a-abs": AsymmetricAbsLikelihood,
    "relu": ReluLikelihood,
    "l-relu": LeakyReluLikelihood,
    "h-tanh": HardTanhLikelihood,
    "h-sigm": HardSigmoidLikelihood,
    "door": SymmetricDoorLikelihood,
    "modulus": ModulusLikelihood,
}


def get_likelihood(y: Any, likelihood_type: str, **kwargs: Any) -> Likelihood:
    """A likelihood by name.

    >>> get_likelihood([1.0, -1.0], "door", width=0.5)
    SymmetricDoorLikelihood(y_name='y', width=0.5)
    """
    if likelihood_type not in LIKELIHOODS:
        raise ValueError(f"`likelihood_type` must be one of {', '.join(LIKELIHOODS)}, got {likelihood_type!r}")
    return LIKELIHOODS[likelihood_type](y=y, **kwargs)
