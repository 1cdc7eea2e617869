r"""Modules of your own, as numpy functions: peers of the native ones.

Three ways to give one, from the most to the least that is known:

* ``log_partition``, ``mean`` and ``variance``: :math:`A(a, b)`, :math:`r = \partial_b A`, :math:`v = \partial_b^2 A`, on arrays;
* ``mean`` alone, a denoiser :math:`r(a, b)`: the variance is its average divergence, by Monte-Carlo with probes drawn once;
* ``log_density``: :math:`\ln p(x)`, integrated numerically.

The belief that comes in is :math:`e^{-\frac12 a x^2 + b x}`, with one precision ``a`` and an array ``b`` of the signal's shape:
the module sees its signal through Gaussian noise, :math:`b/a = x + \xi/\sqrt a`. Functions get whole arrays, which they
cannot change. :func:`treeamp.testing.check_factor` tells what is wrong with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _lib
from ._arrays import Array, array, check_seed, number, size_to_shape
from ._quadrature import Index, tilted_moments
from .base import Factor
from .errors import ModelError
from .likelihoods import Likelihood
from .priors import Prior

__all__ = ["CustomLikelihood", "CustomPrior"]

#: The step of a Monte-Carlo divergence, relative to the spread of ``b``.
_STEP = 1e-4


class _Custom(Factor):
    """What priors and likelihoods of one's own share."""

    _functions = ("log_partition", "mean", "variance", "log_density")
    y: Array | None

    def _keep(
        self,
        log_partition: Any,
        mean: Any,
        variance: Any,
        log_density: Any,
        support: Any,
        landmarks: Any,
        separable: bool,
        probes: int,
        seed: int | None,
        name: str,
    ) -> None:
        given = dict(zip(self._functions, (log_partition, mean, variance, log_density)))
        for key, function in given.items():
            if function is not None and not callable(function):
                raise TypeError(f"`{key}` must be a function, got {type(function).__name__}")
        if (mean is None) == (log_density is None):
            raise ModelError(f"{name}: give either `mean` (with `variance` and `log_partition` if known) or `log_density`")
        self._given = given
        low, high = support
        self.support = (number(low, "support"), number(high, "support"))
        if not self.support[0] < self.support[1]:
            raise ModelError(f"{name}: `support` must be an interval, got {self.support}")
        self.landmarks = None if landmarks is None else [(float(p), float(w)) for p, w in landmarks]
        self.separable = bool(separable)
        self.probes = int(probes)
        if self.probes < 1:
            raise ValueError(f"`probes` must be at least 1, got {probes}")
        self.seed = check_seed(seed)
        self.custom_name = str(name)

    # --- the functions, checked

    def _called(self, key: str, a: float, b: Array, y: Any) -> Any:
        function = self._given[key]
        return function(a, b) if y is None else function(a, b, y)

    def _checked(self, key: str, value: Any, shape: tuple[int, ...], scalar: bool) -> Array:
        found = array(value, f"{key} of {self.custom_name}")
        if found.shape != shape and not (scalar and found.ndim == 0):
            raise ValueError(f"`{key}` of {self.custom_name} must return shape {shape}, got {found.shape}")
        if np.isnan(found).any():
            raise ValueError(f"`{key}` of {self.custom_name} returned NaN")
        return found

    def _density(self, a: float, b: Array, y: Array | None) -> tuple[Array, Array, Array]:
        function: Callable[..., Any] = self._given["log_density"]
        outputs = None if y is None else np.broadcast_to(y, b.shape).ravel()

        def log_density(x: Array, component: Index) -> Array:
            value = function(x) if outputs is None else function(outputs[component], x)
            return np.asarray(value, dtype=np.float64)

        return tilted_moments(log_density, a, b.ravel(), self.support, self.landmarks)

    def _divergence(self, a: float, b: Array, r: Array, y: Any) -> float:
        rng = np.random.default_rng(self.seed)
        step = _STEP * max(float(np.std(b)), float(np.abs(b).max()) * 1e-3, np.sqrt(abs(a)), 1e-8)
        total = 0.0
        for _ in range(self.probes):
            probe = rng.choice([-1.0, 1.0], size=b.shape)
            up = self._checked("mean", self._called("mean", a, b + step * probe, y), b.shape, False)
            down = self._checked("mean", self._called("mean", a, b - step * probe, y), b.shape, False)
            total += float(np.mean(probe * (up - down))) / (2 * step)
        return total / self.probes

    def _moments_of(self, a: float, b: Array, y: Array | None) -> tuple[Array, Array]:
        """Means and variances; a variance that is one number stands for all."""
        if self._given["mean"] is None:
            _, r, v = self._density(a, b, y)
            return r.reshape(b.shape), v.reshape(b.shape)
        r = self._checked("mean", self._called("mean", a, b, y), b.shape, False)
        if self._given["variance"] is None:
            return r, np.asarray(self._divergence(a, b, r, y))
        return r, self._checked("variance", self._called("variance", a, b, y), b.shape, True)

    def _log_partition_of(self, a: float, b: Array, y: Array | None) -> Array:
        if self._given["mean"] is None:
            return self._density(a, b, y)[0].reshape(b.shape)
        if self._given["log_partition"] is None:
            raise ModelError(f"{self.custom_name}: `log_partition` was not given")
        return self._checked("log_partition", self._called("log_partition", a, b, y), b.shape, True)

    # --- what the native side calls

    def _call_moments(self, a: float, b: Array) -> tuple[Array, float]:
        r, v = self._moments_of(a, b, self.y)
        return np.ascontiguousarray(r).ravel(), float(np.mean(v))

    def _call_log_partition(self, a: float, b: Array) -> float:
        return float(np.sum(self._log_partition_of(a, b, self.y)))

    def _call_law(self, a: float, b: float, y: float | None = None) -> tuple[float, float, float]:
        one = np.array([b])
        outputs = None if y is None else np.array([y])
        if self._given["mean"] is None:
            log_z, r, v = self._density(a, one, outputs)
            return float(log_z[0]), float(r[0]), float(v[0])
        r, v = self._moments_of(a, one, outputs)
        return float(np.sum(self._log_partition_of(a, one, outputs))), float(r[0]), float(np.mean(v))

    @property
    def _has_law(self) -> bool:
        complete = all(self._given[key] is not None for key in ("log_partition", "mean", "variance"))
        return self.separable and (complete or self._given["log_density"] is not None)

    @property
    def _has_log_partition(self) -> bool:
        return self._given["log_partition"] is not None or self._given["log_density"] is not None


class CustomPrior(_Custom, Prior):
    r"""A prior of your own.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    log_partition, mean, variance : callable
        Functions of ``(a, b)``. ``mean`` returns an array like ``b``; ``variance`` and ``log_partition`` one number per
        component, or one for all (the average variance, the total log-partition).
    log_density : callable
        Instead of them: :math:`\ln p(x)` of an array.
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
        self._start(size, isotropic)

    def _call_sample(self, seed: int) -> Array:
        shape = size_to_shape(self.size)
        drawn = array(self._sample(np.random.default_rng(seed), tuple(shape or ())), "sample")
        return np.ravel(np.broadcast_to(drawn, tuple(shape or ())))

    def _make(self) -> _lib.Factor:
        theory = None
        if self._has_law:
            marks = self.landmarks
            if marks is None:
                _, centre, spread = self._call_law(0.0, 0.0)
                marks = [(centre, float(np.sqrt(spread)))]
                if not np.isfinite(marks).all():
                    marks = [(0.0, 1.0)]
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

    def _scalar(self, ax: Any, bx: Any) -> tuple[Array, Array, Array]:
        b = array(bx, "bx")
        a = number(ax, "ax")
        r, v = self._moments_of(a, np.atleast_1d(b), None)
        nothing = np.full(b.shape, np.nan)
        log_z = self._log_partition_of(a, np.atleast_1d(b), None) if self._has_log_partition else nothing
        shaped = [x.reshape(b.shape) if x.size == b.size else x for x in (log_z, r, v)]
        return shaped[0], shaped[1], shaped[2]


class CustomLikelihood(_Custom, Likelihood):
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
        :math:`H[y|z]` per component, for mutual informations.
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
                "noise_entropy": self._rounded_noise_entropy(),
            }
        if self.y is None and theory is None:
            raise ModelError(
                f"{self.custom_name}: without `y` it is for state evolution, which needs A, r and v (or a log-density) and "
                "`outputs` or `output_map`"
            )
        told = self.y is not None
        return _lib.custom(
            self.custom_name,
            False,
            None if self.y is None else list(self.y.shape),
            self._call_moments if told else None,
            self._call_log_partition if told and self._has_log_partition else None,
            None,
            theory,
        )

    def _call_rounded(self, a: float, b: float, y: float | None = None) -> tuple[float, float, float]:
        log_z, r, v = self._call_law(a, b, y)
        return log_z + float(np.log(self.output_step or 1.0)), r, v

    def _rounded_noise_entropy(self) -> float | None:
        if self.noise_entropy is None or self.output_step is None:
            return self.noise_entropy
        return self.noise_entropy - float(np.log(self.output_step))

    def _scalar(self, az: Any, bz: Any, y: Any) -> tuple[Array, Array, Array]:
        outputs = self.y if y is None else array(y, "y")
        if outputs is None:
            raise ModelError(f"{self.custom_name}: an observation is needed here, and `y` is None")
        b, outputs = np.broadcast_arrays(np.atleast_1d(array(bz, "bz")), np.atleast_1d(outputs))
        a = number(az, "az")
        r, v = self._moments_of(a, b, outputs)
        log_z = self._log_partition_of(a, b, outputs) if self._has_log_partition else np.full(b.shape, np.nan)
        return log_z, r, v

    def sample(self, Z: Any, seed: int | None = None) -> Array:
        """Not known from a likelihood alone."""
        raise ModelError(f"{self.custom_name}: outputs cannot be drawn from it")
