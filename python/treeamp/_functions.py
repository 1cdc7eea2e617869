"""The functions that a module of one's own is made of, called and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ._arrays import Array, array, check_seed, flag, number
from ._quadrature import Index, tilted_moments
from ._written import LEAST, heard, told_precision
from .base import Factor
from .errors import FactorError, ModelError, NotAvailable

__all__ = ["Functions"]

#: The step of a Monte-Carlo divergence, relative to the spread of ``b``.
_STEP = 1e-4


class Functions(Factor):
    """What priors and likelihoods of one's own share: their functions, called and checked."""

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
        self.separable = flag(separable, "separable")
        self.probes = int(probes)
        if self.probes < 1:
            raise ValueError(f"`probes` must be at least 1, got {probes}")
        self.seed = check_seed(seed)
        self.custom_name = str(name)

    @contextmanager
    def _noted(self) -> Iterator[None]:
        """What a function raises before there is a node gets the module's name."""
        try:
            yield
        except Exception as error:
            notes = [*getattr(error, "__notes__", []), f"raised in factor `{self.custom_name}`"]
            setattr(error, "__notes__", notes)  # as add_note, which came with Python 3.11
            raise

    # --- the functions, checked

    def _called(self, key: str, a: float, b: Array, y: Any) -> Any:
        function, a = self._given[key], told_precision(a)
        return function(a, b) if y is None else function(a, b, y)

    def _checked(self, key: str, value: Any, shape: tuple[int, ...], scalar: bool) -> Array:
        found = array(value, f"{key} of {self.custom_name}")
        if found.shape != shape and not (scalar and found.ndim == 0):
            raise FactorError(f"`{key}` of {self.custom_name} must return shape {shape}, got {found.shape}")
        if np.isnan(found).any():
            raise FactorError(f"`{key}` of {self.custom_name} returned NaN")
        return found

    def _log_density_at(self, x: Array, *y: Array) -> Array:
        """The log-density, checked: numbers of the shape of ``x``, neither NaN nor infinite."""

        def wrong(text: str) -> FactorError:
            return FactorError(f"factor `{self.custom_name}`: `log_density` {text}")

        value = self._given["log_density"](*y, x)
        found = np.asarray(value)
        if found.dtype.kind not in "biuf":
            raise wrong(f"must return numbers, got {type(value).__name__}")
        found = found.astype(np.float64, copy=False)
        if found.shape != x.shape:
            if found.ndim != 0:
                raise wrong(f"must return shape {x.shape}, got {found.shape}")
            found = np.full(x.shape, float(found))
        if np.isnan(found).any():
            text = "give `support`, or return -inf where the density is zero"
            raise wrong(f"is NaN at {x[np.isnan(found)].ravel()[0]:g}: {text}")
        if (found == np.inf).any():
            raise wrong(f"is +inf at {x[found == np.inf].ravel()[0]:g}: a density is finite")
        return found

    def _given_density(self) -> Callable[..., Array]:
        """The log-density as a function of places, and of outputs beside them."""
        if self._given["log_density"] is None:
            raise NotAvailable(f"{self.custom_name}: `log_density` was not given")
        low, high = self.support

        def at(x: Array, *y: Array) -> Array:
            inside = (x >= low) & (x <= high)
            found = np.full(x.shape, -np.inf)
            found[inside] = self._log_density_at(x[inside], *(o[inside] for o in y))
            return found

        return at

    def _density(self, a: float, b: Array, y: Array | None) -> tuple[Array, Array, Array]:
        outputs = None if y is None else np.broadcast_to(y, b.shape).ravel()

        def log_density(x: Array, component: Index) -> Array:
            return self._log_density_at(x) if outputs is None else self._log_density_at(x, outputs[component])

        try:
            return tilted_moments(log_density, a, b.ravel(), self.support, self.landmarks)
        except FactorError as error:
            text = str(error)
            if text.startswith("factor `"):
                raise
            raise FactorError(f"factor `{self.custom_name}`: {text}") from None

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
            # a denoiser that shrinks all to zero must still hear of the data
            return r, np.asarray(max(self._divergence(a, b, r, y), LEAST))
        return r, heard(a, b, self._checked("variance", self._called("variance", a, b, y), b.shape, True))

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
