r"""What likelihoods share."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _lib
from .._arrays import Array, array, belief, check_seed, countable, finite, flag, inverse, known, owned, positive
from .._law import Law
from .._written import written_likelihood
from ..errors import ModelError

__all__ = ["Likelihood"]


class Likelihood(Law):
    """A likelihood :math:`p(y|z)`: the channel ``z -> y``, observed.

    A subclass of your own sets ``y`` and has ``scalar_backward_mean(az, bz, y)`` and ``scalar_backward_variance(az, bz, y)``,
    or ``compute_backward_posterior(az, bz, y)``, for expectation propagation, and ``scalar_log_partition(az, bz, y)`` for
    evidences. :class:`treeamp.CustomLikelihood` makes one from functions, or from a log-density, and for state evolution.
    """

    n_prev = 1
    repr_parameters: tuple[str, ...] = ("y_name",)
    _direction = "backward"
    _without_moments = "beside no precision there is no second moment of `z`, whose integral diverges at this field"
    #: Whether it treats the two parts of a complex component as two components.
    _on_parts = False

    @property
    def _base(self) -> type:
        return Likelihood

    def _start(self, y: Any, y_name: str, isotropic: bool) -> None:
        self.y: Array | None = None if y is None else owned(array(y, "y"))
        self.y_name = str(y_name)
        self.size = None if self.y is None else self.y.shape
        self.isotropic = flag(isotropic, "isotropic")
        self._native = self._twin()

    def _channel(self) -> _lib.Factor:
        return _lib.channel(self._law, self._values())

    def _complex_native(self) -> _lib.Factor:
        if not self._on_parts:
            return self._native
        variance = float(getattr(self, self._native_parameters[0]))
        return _lib.complex_gaussian_likelihood(variance, None if self.y is None else np.ravel(self.y))

    @staticmethod
    def get_size(y: Any) -> Any:
        """The shape of observations, a number for a vector."""
        shape = np.shape(y)
        return shape[0] if len(shape) == 1 else shape

    def _make(self) -> _lib.Factor:
        if self._is_written:
            return written_likelihood(self, Likelihood)
        if self.y is not None and self.y.size == 0:
            raise ModelError(f"{type(self).__name__}: `y` must have at least one component, got an empty array")
        for name in self._native_parameters:
            shape = np.shape(getattr(self, name))
            if self.y is not None and self.y.ndim > 1 and len(shape) > 1 and shape != self.y.shape:
                raise ModelError(f"{type(self).__name__}: `{name}` must have the shape of `y`, {self.y.shape}, got {shape}")
        observed = self._channel().observe(None if self.y is None else np.ravel(self.y))
        if observed is None:
            raise ModelError(f"{type(self).__name__}: its output cannot be observed")
        return observed

    # --- expectation propagation

    @property
    def _is_law(self) -> bool:
        """Whether it is the law of its outputs; a loss is none."""
        return self._is_written or "scalar" in self._native.rules

    def _scalar(self, az: Any, bz: Any, y: Any) -> tuple[Array, Array, Array]:
        outputs = self.y if y is None else array(y, "y")
        if outputs is None:
            raise ModelError(f"{type(self).__name__}: an observation is needed here, and `y` is None")
        given = *belief(az, bz, "z"), outputs
        try:
            a, b, o = np.broadcast_arrays(*given)
        except ValueError:
            shapes = ", ".join(str(x.shape) for x in given)
            raise ValueError(f"`az`, `bz` and `y` must have shapes that fit together, got {shapes}") from None
        if self._is_written:
            return self._written_scalar(a, b, o)
        answer = self._native.likelihood_law if self._is_law else self._channel().loss_law
        law = self._asked(answer, np.ravel(o), np.ravel(a), np.ravel(b))
        log_z, mean, variance = (x.reshape(b.shape) for x in law)
        return log_z, mean, variance

    def log_density(self, z: Any, y: Any = None) -> Any:
        r"""Log-density :math:`\ln p(y|z)` of every output, or log-probability of a discrete one. Real inputs.

        >>> import numpy as np, treeamp as ta
        >>> float(ta.LogisticLikelihood(np.array([1.0])).log_density(0.0)[0].round(6))
        -0.693147
        """
        self._has_log_density()
        if not self._is_law:
            raise ModelError(f"{type(self).__name__}: a loss is not a probability distribution and has no log-density")
        return self._log_density_of(array(z, "z"), y)

    def _log_density_of(self, inputs: Array, y: Any) -> Any:
        i, o = self._beside(inputs, y)
        return self._asked(self._native.output_log_density, np.ravel(o), np.ravel(i)).reshape(i.shape)[()]

    def _beside(self, inputs: Array, y: Any) -> tuple[Array, Array]:
        """Inputs and the observations that stand beside them."""
        outputs = self.y if y is None else array(y, "y")
        if outputs is None:
            raise ModelError(f"{type(self).__name__}: an observation is needed here, and `y` is None")
        try:
            i, o = np.broadcast_arrays(inputs, outputs)
        except ValueError:
            raise ValueError(f"`z` and `y` must have shapes that fit together, got {inputs.shape} and {outputs.shape}") from None
        return i, o

    def _moments(self, az: Any, bz: Any, y: Any) -> tuple[Array, Array, Array]:
        return self._answered(self._scalar(az, bz, y), az, lambda: self._scalar(0.0, 0.0, y))

    def scalar_backward_mean(self, az: Any, bz: Any, y: Any = None) -> Any:
        r"""Mean :math:`r(a, b; y)` of every component; not a number where the variance is infinite. A likelihood without a second
        moment in :math:`z` refuses :math:`a = 0`, at fields beside which its integral diverges."""
        return self._moments(az, bz, y)[1][()]

    def scalar_backward_variance(self, az: Any, bz: Any, y: Any = None) -> Any:
        r"""Variance :math:`v(a, b; y)` of every component; infinite where the integral of the likelihood beside the belief diverges, and
        refused as the mean is."""
        return self._moments(az, bz, y)[2][()]

    def scalar_log_partition(self, az: Any, bz: Any, y: Any = None) -> Any:
        r"""Log-partition :math:`A(a, b; y)` of every component; infinite where the variance is, and refused as the mean is."""
        return self._moments(az, bz, y)[0][()]

    def compute_backward_posterior(self, az: Any, bz: Any, y: Any = None) -> tuple[Any, Any]:
        """Mean of every component, and variance: averaged, or of every component when not isotropic."""
        return self._posterior(self._moments(az, bz, y))

    def compute_backward_message(self, az: Any, bz: Any, y: Any = None) -> tuple[Any, Any]:
        r"""The outgoing message :math:`(1/v - a, r/v - b)`; an infinite precision pins :math:`z` at the second."""
        _, b = belief(az, bz, "z")
        if self.isotropic and np.ndim(az) == 0 and y is None and self.size == b.shape:
            a_new, b_new = self._native.message([(known(az, "az"), b)], 0)
            return a_new, b_new.reshape(b.shape)
        return self._outgoing(az, b, self._scalar(az, bz, y))

    def compute_log_partition(self, az: Any, bz: Any, y: Any = None) -> float:
        """Log-partition of the signal: the sum over its components."""
        return float(np.sum(self._moments(az, bz, y)[0]))

    # --- state evolution; a = m_hat + 1 / tau_z

    def backward_second_moment_FG(self, tz_hat: float) -> float:
        r""":math:`E\,z^2` under :math:`p(y|z)\,e^{-\frac12\hat\tau z^2}`, integrated over :math:`y`: :math:`1/\hat\tau`."""
        return 1 / positive(tz_hat, "tz_hat")

    def prior_log_partition_FG(self, tz_hat: float) -> float:
        r""":math:`\ln\int p(y|z)\,e^{-\frac12\hat\tau z^2}\,dy\,dz = \frac12\ln(2\pi/\hat\tau)`."""
        return 0.5 * float(np.log(2 * np.pi / positive(tz_hat, "tz_hat")))

    def _fields(self, az: float, tau_z: float) -> tuple[tuple[float, float, float], float]:
        t = inverse(tau_z, "tau_z")
        m_hat = known(az, "az") - t
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
        t = inverse(tau_z, "tau_z")
        return self._gibbs(t, vz, "vz")[0] + t

    def compute_dual_mutual_information(self, vz: float, tau_z: float) -> float:
        r""":math:`H - \frac12\hat m v - \frac12 v/\tau_z` at the precision where the average variance is :math:`v`."""
        t = inverse(tau_z, "tau_z")
        return self._gibbs(t, vz, "vz")[1] - 0.5 * float(vz) * t

    def compute_dual_free_energy(self, mz: float, tau_z: float) -> float:
        r""":math:`\frac12 a m - \bar A` at the precision where the overlap is :math:`m`."""
        t = inverse(tau_z, "tau_z")
        return self._gibbs(t, tau_z - known(mz, "mz"), "tau_z - mz")[2] + 0.5 * float(mz) * t

    def compute_backward_state_evolution(self, az: float, tau_z: float) -> float:
        r"""The outgoing precision :math:`1/v - a`."""
        return self._extrinsic(self.compute_backward_error(az, tau_z), az)

    def compute_backward_v_BO(self, az: float, tz0_hat: float) -> float:
        r"""Average variance at :math:`a = \hat m + \hat\tau_0`, Bayes-optimal."""
        return self.compute_backward_error(az, 1 / positive(tz0_hat, "tz0_hat"))

    def compute_potential_BO(self, az: float, tz0_hat: float) -> float:
        r""":math:`\bar A` at :math:`a = \hat m + \hat\tau_0`, Bayes-optimal."""
        return self.compute_free_energy(az, 1 / positive(tz0_hat, "tz0_hat"))

    def compute_backward_state_evolution_BO(self, az: float, tz0_hat: float) -> float:
        r"""The outgoing precision :math:`1/v - a`, Bayes-optimal."""
        return self._extrinsic(self.compute_backward_v_BO(az, tz0_hat), az)

    def compute_backward_state_evolution_RS(
        self, az: float, mz_hat: float, qz_hat: float, teacher: Likelihood, tz0_hat: float, tz0: float
    ) -> tuple[float, float, float]:
        r"""The outgoing fields :math:`(a, \hat m, \hat q)` of this student on outputs of ``teacher``."""
        v, m, q = self.compute_backward_vmq_RS(az, mz_hat, qz_hat, teacher, tz0_hat)
        return self.compute_a_mhat_qhat_new(v, m, q, az, mz_hat, qz_hat, tz0)

    def compute_backward_vmq_RS(
        self, az: float, mz_hat: float, qz_hat: float, teacher: Likelihood, tz0_hat: float
    ) -> tuple[float, float, float]:
        r""":math:`(v, m, q)` of this student on outputs of ``teacher``; :math:`a = \hat q + \hat\tau`."""
        return self._vmq(az, mz_hat, qz_hat, teacher, tz0_hat)

    def compute_potential_RS(
        self, az: float, mz_hat: float, qz_hat: float, teacher: Likelihood, tz0_hat: float
    ) -> float:
        r""":math:`\bar A` of this student on outputs of ``teacher``."""
        return self._potential_of(az, mz_hat, qz_hat, teacher, tz0_hat)

    def sample(self, Z: Any, seed: int | None = None) -> Array:
        """Outputs drawn given ``Z``, which is finite. Counts whose rate no number holds, as of :math:`z = 1000` in ``PoissonLikelihood``, are
        refused."""
        z = finite(Z, "Z")
        drawn = self._channel().sample([np.ravel(z)], [z.size], check_seed(seed))[0]
        return countable(type(self).__name__, np.ravel(z), drawn).reshape(z.shape)
