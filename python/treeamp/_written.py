"""Modules written as subclasses, the way tramp's users write them: a native twin made of the methods they override."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import _lib
from ._arrays import Array, array, size_to_shape
from .errors import ModelError

__all__ = ["LEAST", "drawn", "heard", "overrides", "told_precision", "written_likelihood", "written_prior"]

#: The least precision that functions of somebody's own hear of, and the least variance that a first answer has.
LEAST = 1e-11


def told_precision(a: float) -> float:
    """``a``, and 1e-11 for one of zero, as tramp has it: what is flat must not be divided by."""
    return LEAST if 0 <= a < LEAST else a


def heard(a: float, b: Array, v: Array) -> Array:
    """A variance of zero before anything was heard, as of a soft threshold, is a small one: nothing could move it else."""
    return np.full(v.shape, LEAST) if 0 <= a <= LEAST and not b.any() and not v.any() else v


def overrides(module: Any, base: type, *names: str) -> bool:
    """Whether the module's class has methods of its own by these names."""
    return all(getattr(type(module), name) is not getattr(base, name) for name in names)


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """numpy's global generator from a seed, and as it was afterwards."""
    state = np.random.get_state()
    np.random.seed(seed % 2**32)  # it takes no larger ones
    try:
        yield
    finally:
        np.random.set_state(state)


def drawn(sample: Callable[..., Any], seed: int, *given: Any) -> Any:
    """What a ``sample`` method draws from a seed, which it takes or leaves to numpy's global generator."""
    try:
        takes_seed = "seed" in inspect.signature(sample).parameters
    except (TypeError, ValueError):  # some builtins have none
        takes_seed = False
    if takes_seed:
        return sample(*given, seed=seed)
    with _seeded(seed):
        return sample(*given)


def _moments(module: Any, r: Any, v: Any, b: Array) -> tuple[Array, Array]:
    name = type(module).__name__
    mean, variance = array(r, f"mean of {name}"), array(v, f"variance of {name}")
    if mean.shape != b.shape:
        raise ValueError(f"the mean of {name} must have shape {b.shape}, got {mean.shape}")
    if np.isnan(mean).any() or np.isnan(variance).any():
        raise ValueError(f"{name} returned NaN")
    return mean, variance


def _from_message(a: float, b: Array, message: Any) -> tuple[Any, Any]:
    a_new, b_new = message
    v = 1 / (a + np.asarray(a_new))
    return v * (b + b_new), v


def _way(module: Any, base: type, direction: str) -> Callable[..., tuple[Any, Any]] | None:
    """Means and variances by the first of the ways that the class offers."""
    if overrides(module, base, f"compute_{direction}_posterior"):
        return getattr(module, f"compute_{direction}_posterior")  # type: ignore[no-any-return]
    scalar = f"scalar_{direction}_mean", f"scalar_{direction}_variance"
    if overrides(module, base, *scalar):
        mean, variance = (getattr(module, name) for name in scalar)
        return lambda a, b, *y: (mean(a, b, *y), variance(a, b, *y))
    if overrides(module, base, f"compute_{direction}_message"):
        message = getattr(module, f"compute_{direction}_message")
        return lambda a, b, *y: _from_message(a, b, message(a, b, *y))
    return None


def _native_calls(way: Any, module: Any, base: type, *y: Any) -> tuple[Any, Any]:
    def moments(a: float, b: Array) -> tuple[Array, float]:
        answer = way(told_precision(a), b, *y)
        r, v = _moments(module, answer[0], answer[1], b)
        v = heard(a, b, v)
        return np.ascontiguousarray(r).ravel(), float(np.mean(v))

    def log_partition(a: float, b: Array) -> float:
        return float(np.sum(np.broadcast_to(array(module.scalar_log_partition(told_precision(a), b, *y), "log-partition"), b.shape)))

    has_potential = overrides(module, base, "scalar_log_partition")
    return None if way is None else moments, log_partition if has_potential else None


def written_prior(module: Any, base: type) -> _lib.Factor:
    """The native twin of a prior written as a class."""
    name = type(module).__name__
    if not hasattr(module, "size"):
        raise ModelError(f"{name}: a prior needs an attribute `size`, the number of components or the shape")
    shape = size_to_shape(module.size)
    moments, log_partition = _native_calls(_way(module, base, "forward"), module, base)

    def sample(seed: int) -> Array:
        values = array(drawn(module.sample, seed % 2**32), f"sample of {name}")
        if list(values.shape) != shape:
            raise ValueError(f"`sample` of {name} must return shape {tuple(shape or ())}, got {values.shape}")
        return values.ravel()

    def law(a: float, b: float) -> tuple[float, float, float]:
        at, a = np.array([b]), told_precision(a)
        found = (f(a, at) for f in (module.scalar_log_partition, module.scalar_forward_mean, module.scalar_forward_variance))
        log_z, r, v = (float(np.mean(x)) for x in found)
        return log_z, r, v

    theory = None
    if overrides(module, base, "scalar_log_partition", "scalar_forward_mean", "scalar_forward_variance"):
        _, centre, spread = law(0.0, 0.0)
        known = np.isfinite([centre, spread]).all() and spread > 0
        marks = [(centre, float(np.sqrt(spread)))] if known else [(0.0, 1.0)]
        theory = {"law": law, "landmarks": marks, "outputs": None, "map": None, "noise_entropy": None}
    draws = sample if overrides(module, base, "sample") and shape is not None else None
    return _lib.custom(name, True, shape, moments, log_partition, draws, theory)


def written_likelihood(module: Any, base: type) -> _lib.Factor:
    """The native twin of a likelihood written as a class."""
    name = type(module).__name__
    if getattr(module, "y", None) is None:
        raise ModelError(f"{name}: a likelihood written as a class needs an attribute `y`, the observations")
    y = array(module.y, "y")
    moments, log_partition = _native_calls(_way(module, base, "backward"), module, base, y)
    return _lib.custom(name, False, list(y.shape), moments, log_partition, None, None)
