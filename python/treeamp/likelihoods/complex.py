r"""Likelihoods of complex signals, whose real and imaginary parts are on the first axis of their arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _lib
from .._arrays import Array, belief, check_seed, finite, moduli, number
from ..errors import ModelError, NotAvailable
from .base_likelihood import Likelihood

__all__ = ["ModulusLikelihood", "PhaseLikelihood", "RicianModulusLikelihood"]


class _OfComplex(Likelihood):
    """A law of outputs of a complex signal: asked with whole arrays."""

    _complex = (True, None)

    def __init__(self, y: Any, y_name: str = "y", isotropic: bool = True) -> None:
        if not isotropic:
            raise NotAvailable(f"{type(self).__name__} has one precision for all components")
        self._start(y, y_name, isotropic)

    def _at(self, y: Any) -> _lib.Factor:
        if self.y is None and y is None:
            raise ModelError(f"{type(self).__name__}: an observation is needed here, and `y` is None")
        return self._native if y is None else type(self)(y)._native

    def _scalar(self, az: Any, bz: Any, y: Any) -> tuple[Array, Array, Array]:
        raise NotAvailable(f"{type(self).__name__} has no real scalar law: ask for posteriors of whole arrays")

    def log_density(self, z: Any, y: Any = None) -> Any:
        r"""Log-density :math:`\ln p(y|z)` of every output; infinite or minus infinity where outputs have no noise. Parts of ``z`` are on
        its first axis.

        >>> RicianModulusLikelihood([1.0]).log_density([[1.0], [0.0]]).round(6)
        array([-0.764086])
        """
        # the law of a modulus depends on the modulus of its input alone
        return self._log_density_of(moduli(z, "z"), y)

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


class ModulusLikelihood(_OfComplex):
    r"""Modulus :math:`y = |z|` of a complex :math:`z`, whose parts are on the first axis of its arrays.

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
    :math:`z = y e^{i\theta}` with a von Mises law of the phase: :math:`r = y\,\frac{I_1(|b| y)}{I_0(|b| y)}\,\frac b{|b|}`,
    :math:`v = \frac12(y^2 - |r|^2)` per real component.

    Examples
    --------
    >>> r, v = ModulusLikelihood([1.0]).compute_backward_posterior(1.0, [[0.0], [0.0]])
    >>> r.shape, v
    ((2, 1), 0.5)
    """

    _law = "modulus"
    _reduces = True

    def sample(self, Z: Any, seed: int | None = None) -> Array:
        """The moduli of ``Z``."""
        z = finite(Z, "Z")
        drawn = self._channel().sample([np.ravel(z)], [z.size // 2], check_seed(seed))[0]
        return drawn.reshape(z.shape[1:])


class RicianModulusLikelihood(ModulusLikelihood):
    r"""Modulus :math:`y = |z + n|` of a complex :math:`z` behind circular noise: parts of :math:`z` on the first axis.

    Parameters
    ----------
    y : array or None
        The observations, positive; ``None`` for outputs without values, in theory.
    noise_variance : float
        :math:`\Delta`: variance of the noise per real component; positive.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; there is no other way here.

    Notes
    -----
    :math:`p(y|z) = \frac y\Delta e^{-(y^2 + |z|^2)/2\Delta} I_0(y|z|/\Delta)`.

    Examples
    --------
    >>> r, v = RicianModulusLikelihood([1.0]).compute_backward_posterior(1.0, [[0.0], [0.0]])
    >>> r.shape, v
    ((2, 1), 0.625)
    """

    repr_parameters = ("y_name", "noise_variance")
    _law, _native_parameters = "rician_modulus", ("noise_variance",)

    def __init__(self, y: Any, noise_variance: float = 1, y_name: str = "y", isotropic: bool = True) -> None:
        self.noise_variance = number(noise_variance, "noise_variance")
        super().__init__(y, y_name, isotropic)

    def _at(self, y: Any) -> _lib.Factor:
        return self._native if y is None else type(self)(y, self.noise_variance)._native

    def sample(self, Z: Any, seed: int | None = None) -> Array:
        """Draws of the moduli of ``Z`` behind noise."""
        return super().sample(Z, seed)


class PhaseLikelihood(_OfComplex):
    r"""Phase :math:`y = z/|z|` of a complex :math:`z`. Parts of both are on the first axis of their arrays.

    Parameters
    ----------
    y : array or None
        The observations, of modulus 1; ``None`` for outputs without values, in theory.
    y_name : str
        A name for them.
    isotropic : bool
        One variance for all components; there is no other way here.

    Notes
    -----
    :math:`z = \rho y` with the weight :math:`\rho\,e^{-\frac12 a\rho^2 + \beta\rho}` of the radius, :math:`\beta = \mathrm{Re}(\bar y b)`:
    :math:`r = y\,E\rho`, :math:`v = \frac12\mathrm{Var}\rho` per real component.

    Examples
    --------
    >>> r, v = PhaseLikelihood([[1.0], [0.0]]).compute_backward_posterior(1.0, [[0.0], [0.0]])
    >>> r.round(6)
    array([[1.253314],
           [0.      ]])
    """

    _law = "phase"

    def log_density(self, z: Any, y: Any = None) -> Any:
        """Not available: the phase of an input is certain."""
        raise NotAvailable("PhaseLikelihood has no log-density: an output has one possible value, the phase of its input")

    def sample(self, Z: Any, seed: int | None = None) -> Array:
        """The phases of ``Z``."""
        z = finite(Z, "Z")
        return self._channel().sample([np.ravel(z)], [z.size], check_seed(seed))[0].reshape(z.shape)
