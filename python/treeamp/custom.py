r"""Modules of your own, as numpy functions: peers of the native ones.

Three ways to give one, from the most to the least that is known:

* ``log_partition``, ``mean`` and ``variance``: :math:`A(a, b)`, :math:`r = \partial_b A`, :math:`v = \partial_b^2 A`, on arrays;
* ``mean`` alone, a denoiser :math:`r(a, b)`: the variance is its average divergence, by Monte-Carlo with probes drawn once;
* ``log_density``: :math:`\ln p(x)`, integrated numerically.

The belief that comes in is :math:`e^{-\frac12 a x^2 + b x}`, with one precision ``a`` and an array ``b`` of the signal's shape:
the module sees its signal through Gaussian noise, :math:`b/a = x + \xi/\sqrt a`. Functions get whole arrays, which they
cannot change. :func:`treeamp.testing.check_factor` checks them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _lib
from ._arrays import Array, array, belief, flag, number, size_to_shape
from ._functions import Functions
from ._quadrature import gaussian_average
from .errors import FactorError, ModelError
from .likelihoods import Likelihood
from .priors import Prior

__all__ = ["CustomLikelihood", "CustomPrior"]

#: How far the mass of a normalised density may be from one, and probabilities of outputs from adding up to it.
_MASS = 1e-6


class CustomPrior(Functions, Prior):
    r"""A prior of your own.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    log_partition, mean, variance : callable
        Functions of ``(a, b)``. ``mean`` returns an array like ``b``; ``variance`` and ``log_partition`` one number per
        component, or one for all (the average variance, the total log-partition).
    log_density : callable
        Instead of them: :math:`\ln p(x)` of an array, minus infinity where the density is zero.
    normalised : bool
        Whether ``log_density`` integrates to one. That is checked, since a mass that integrals miss shows there.
    support : pair of float
        Where ``log_density`` is finite.
    landmarks : list of (place, width), optional
        Where the law lives and changes its form; helps integrals find it. By default its mean and deviation.
    sample : callable, optional
        ``(rng, size) -> x`` with a ``numpy.random.Generator``.
    separable : bool
        Components do not mix; state evolution needs that, and all of A, r, v.
    probes, seed : int
        Of the Monte-Carlo divergence.
    name : str
        In messages and drawings.

    Examples
    --------
    >>> prior = CustomPrior(3, log_density=lambda x: -abs(x) - np.log(2.0), name="laplace")
    >>> round(prior.second_moment(), 8)
    2.0
    >>> softsign = CustomPrior(3, mean=lambda a, b: np.tanh(b), seed=0)
    >>> round(softsign.compute_forward_posterior(1.0, np.zeros(3))[1], 6)
    1.0
    """

    repr_parameters = ("size", "custom_name")
    y = None

    def __init__(
        self,
        size: Any,
        log_partition: Any = None,
        mean: Any = None,
        variance: Any = None,
        *,
        log_density: Any = None,
        normalised: bool = True,
        support: Any = (-np.inf, np.inf),
        landmarks: Any = None,
        sample: Any = None,
        separable: bool = True,
        probes: int = 1,
        seed: int | None = 0,
        name: str = "custom_prior",
        isotropic: bool = True,
    ) -> None:
        self._keep(log_partition, mean, variance, log_density, support, landmarks, separable, probes, seed, name)
        if sample is not None and not callable(sample):
            raise TypeError(f"`sample` must be a function, got {type(sample).__name__}")
        self._sample = sample
        self.normalised = flag(normalised, "normalised")
        self._start(size, isotropic)

    def _call_sample(self, seed: int) -> Array:
        shape = size_to_shape(self.size)
        drawn = array(self._sample(np.random.default_rng(seed), tuple(shape or ())), "sample")
        return np.ravel(np.broadcast_to(drawn, tuple(shape or ())))

    def _check_mass(self, log_mass: float) -> None:
        if self.normalised and not abs(log_mass) < _MASS:
            raise ModelError(
                f"{self.custom_name}: `log_density` integrates to exp({log_mass:.6g}), expected 1: add its normalisation, give "
                "`support` and `landmarks` where it is narrow, or say normalised=False"
            )

    def _make(self) -> _lib.Factor:
        theory = None
        if self._has_law:
            marks = self.landmarks
            with self._noted():
                log_mass, centre, spread = self._call_law(0.0, 0.0)
            if self._given["log_density"] is not None:
                self._check_mass(log_mass)
            if marks is None:
                # a variance that is none is refused by what first needs it, and reported by check_factor
                proper = np.isfinite(centre) and 0 <= spread < np.inf
                marks = [(centre, float(np.sqrt(spread)))] if proper else [(0.0, 1.0)]
            theory = {"law": self._call_law, "landmarks": marks, "outputs": None, "map": None, "noise_entropy": None}
        return _lib.custom(
            self.custom_name,
            True,
            size_to_shape(self.size),
            self._call_moments,
            self._call_log_partition if self._has_log_partition else None,
            None if self._sample is None else self._call_sample,
            theory,
        )

    def log_density(self, x: Any) -> Any:
        r"""The log-density that was given, :math:`-\infty` outside its support."""
        given = self._given_density()
        return given(array(x, "x"))[()]

    def _scalar(self, ax: Any, bx: Any) -> tuple[Array, Array, Array]:
        precision, b = belief(number(ax, "ax"), bx, "x")
        a = float(precision)
        r, v = self._moments_of(a, np.atleast_1d(b), None)
        nothing = np.full(b.shape, np.nan)
        log_z = self._log_partition_of(a, np.atleast_1d(b), None) if self._has_log_partition else nothing
        shaped = [x.reshape(b.shape) if x.size == b.size else x for x in (log_z, r, v)]
        return shaped[0], shaped[1], shaped[2]


class CustomLikelihood(Functions, Likelihood):
    r"""A likelihood of your own.

    Parameters
    ----------
    y : array or None
        The observations; ``None`` for state evolution only.
    log_partition, mean, variance : callable
        Functions of ``(a, b, y)``, as of :class:`CustomPrior`.
    log_density : callable
        Instead of them: :math:`\ln p(y|z)` as a function ``(y, z)`` of arrays.
    outputs : list of float, optional
        All values that ``y`` can take. State evolution needs them, or ``output_map``.
    output_step : float, optional
        Of an output with a density: ``outputs`` is then a regular grid of this step that holds all but nothing of it, and
        state evolution sees ``y`` rounded to it. Entropies are those of the rounded output.
    output_map : callable, optional
        Where :math:`y = \varphi(z)` without noise, and nowhere flat: the function of a number.
    noise_entropy : float, optional
        :math:`H[y|z]` per component, for mutual informations. Without it, it is computed from ``log_density`` and ``outputs``
        where both are given.
    support, landmarks, separable, probes, seed, name
        As of :class:`CustomPrior`, on the axis of :math:`z`.

    Examples
    --------
    >>> def log_density(y, z):
    ...     return -np.logaddexp(0.0, -y * z)
    >>> logistic = CustomLikelihood([1.0, -1.0], log_density=log_density, outputs=[-1.0, 1.0], name="logistic")
    >>> rz, vz = logistic.compute_backward_posterior(1.0, np.zeros(2))
    >>> bool(rz[0] > 0 > rz[1]), 0 < vz < 1
    (True, True)
    """

    repr_parameters = ("y_name", "custom_name")

    def __init__(
        self,
        y: Any,
        log_partition: Any = None,
        mean: Any = None,
        variance: Any = None,
        *,
        log_density: Any = None,
        outputs: Any = None,
        output_step: float | None = None,
        output_map: Any = None,
        noise_entropy: float | None = None,
        support: Any = (-np.inf, np.inf),
        landmarks: Any = None,
        separable: bool = True,
        probes: int = 1,
        seed: int | None = 0,
        y_name: str = "y",
        name: str = "custom_likelihood",
        isotropic: bool = True,
    ) -> None:
        self._keep(log_partition, mean, variance, log_density, support, landmarks, separable, probes, seed, name)
        self.outputs = None if outputs is None else array(outputs, "outputs")
        self.output_step = None if output_step is None else number(output_step, "output_step")
        if self.output_step is not None:
            gaps = np.diff(np.ravel([] if self.outputs is None else self.outputs))
            if not (self.output_step > 0 and gaps.size and np.allclose(gaps, self.output_step, rtol=1e-6)):
                raise ModelError(f"{name}: `outputs` must be a regular grid of step `output_step`, got {output_step}")
        if output_map is not None and not callable(output_map):
            raise TypeError(f"`output_map` must be a function, got {type(output_map).__name__}")
        self.output_map = output_map
        self.noise_entropy = None if noise_entropy is None else number(noise_entropy, "noise_entropy")
        self._start(y, y_name, isotropic)

    def _make(self) -> _lib.Factor:
        if self.y is not None and self.y.size == 0:
            raise ModelError(f"{self.custom_name}: `y` must have at least one component, got an empty array")
        if self.y is not None and not np.isfinite(self.y).all():
            raise ModelError(f"{self.custom_name}: `y` must be finite")
        theory = None
        if self._has_law and (self.outputs is not None or self.output_map is not None):
            theory = {
                "law": self._call_law if self.output_step is None else self._call_rounded,
                "landmarks": [],
                "outputs": None if self.outputs is None else self.outputs.tolist(),
                "map": self.output_map,
                "noise_entropy": self._noise_entropy_function(),
            }
        if self.y is None and theory is None:
            raise ModelError(
                f"{self.custom_name}: without `y` it is for state evolution, which needs A, r and v (or a log-density) and "
                "`outputs` or `output_map`"
            )
        observed = self.y is not None
        return _lib.custom(
            self.custom_name,
            False,
            None if self.y is None else list(self.y.shape),
            self._call_moments if observed else None,
            self._call_log_partition if observed and self._has_log_partition else None,
            None,
            theory,
        )

    def _call_rounded(self, a: float, b: float, y: float | None = None) -> tuple[float, float, float]:
        log_z, r, v = self._call_law(a, b, y)
        return log_z + float(np.log(self.output_step or 1.0)), r, v

    def _noise_entropy_function(self) -> Any:
        if self.noise_entropy is not None:
            constant = self.noise_entropy - float(np.log(self.output_step or 1.0))
            return lambda tau: constant
        known = self.outputs is not None and self._given["log_density"] is not None
        return self._average_noise_entropy if known else None

    def _average_noise_entropy(self, tau: float) -> float:
        r""":math:`E\,H[y|z]` for :math:`z \sim N(0, \tau)`, from the probabilities of all outputs."""
        step = self.output_step or 1.0
        outputs = np.ravel(np.array([]) if self.outputs is None else self.outputs)

        def entropy(z: Array) -> Array:
            logs = np.stack([self._log_density_at(z, np.full(z.shape, y)) for y in outputs]) + np.log(step)
            p = np.exp(logs)
            mass = p.sum(axis=0)
            # a grid of outputs has an end, which only matters where the signal is
            worst = np.abs(np.where(np.abs(z) < 4 * np.sqrt(tau), mass, 1.0) - 1).max()
            if worst > (_MASS if self.output_step is None else 1e-3):
                text = f"probabilities of `outputs` must add up to 1, they are off by {worst:g}"
                raise FactorError(f"factor `{self.custom_name}`: {text}")
            total: Array = -np.where(p > 0, p * np.where(p > 0, logs, 0.0), 0.0).sum(axis=0)
            return total

        return gaussian_average(entropy, tau)

    def log_density(self, z: Any, y: Any = None) -> Any:
        r"""The log-density that was given, at ``y`` or at the observations; :math:`-\infty` outside its support."""
        given = self._given_density()
        return given(*self._beside(array(z, "z"), y))[()]

    def _scalar(self, az: Any, bz: Any, y: Any) -> tuple[Array, Array, Array]:
        outputs = self.y if y is None else array(y, "y")
        if outputs is None:
            raise ModelError(f"{self.custom_name}: an observation is needed here, and `y` is None")
        precision, given = belief(number(az, "az"), bz, "z")
        b, outputs = np.broadcast_arrays(np.atleast_1d(given), np.atleast_1d(outputs))
        a = float(precision)
        r, v = self._moments_of(a, b, outputs)
        log_z = self._log_partition_of(a, b, outputs) if self._has_log_partition else np.full(b.shape, np.nan)
        return log_z, r, v

    def sample(self, Z: Any, seed: int | None = None) -> Array:
        """Not known from a likelihood alone."""
        raise ModelError(f"{self.custom_name}: outputs cannot be drawn from it")
