"""Matrices of other array libraries, multiplied by these libraries, on the devices where they are."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import _lib
from ._arrays import Array
from .errors import FactorError, ModelError

__all__ = ["DeviceMatrix", "in_memory", "is_foreign"]

#: Entries whose squares are held at once.
_BLOCK = 1 << 24
#: A device of DLPack: the memory of the processor.
_CPU = 1


def _namespace(x: Any) -> Any:
    """The array library of an array: as the standard says it, and of libraries that do not, by their name."""
    given = getattr(x, "__array_namespace__", None)
    if given is not None:
        return given()
    module = type(x).__module__.partition(".")[0]
    return sys.modules[module] if module in ("torch", "cupy") else None


def is_foreign(x: Any) -> bool:
    """Whether this is an array of a library that is not numpy.

    >>> is_foreign(np.zeros(3)), is_foreign([0.0])
    (False, False)
    """
    return not isinstance(x, (np.ndarray, np.generic)) and _namespace(x) is not None


def in_memory(x: Any) -> Array | None:
    """An array of another library as one of numpy, if the processor's memory holds it."""
    try:
        if x.__dlpack_device__()[0] != _CPU:
            return None
        found: Array = _host(x)(x)
        return found
    except (AttributeError, BufferError, RuntimeError):
        return None


def _host(x: Any) -> Callable[[Any], Any]:
    """The way in which arrays like this one come to the processor's memory."""
    ways: list[Callable[[Any], Any]] = []
    if hasattr(x, "detach"):  # torch
        ways.append(lambda x: x.detach().cpu().numpy())
    if hasattr(x, "get"):  # cupy
        ways.append(lambda x: x.get())
    ways += [lambda x: np.from_dlpack(x, device="cpu"), np.from_dlpack]
    if hasattr(x, "__array__"):
        ways.append(np.asarray)
    for way in ways:
        with contextlib.suppress(TypeError, ValueError, BufferError, RuntimeError, AttributeError):
            if isinstance(way(x), np.ndarray):
                return way
    raise TypeError(f"arrays of {type(x).__module__}.{type(x).__name__} cannot be brought to numpy")


class DeviceMatrix:
    """A matrix that stays in its library, on its device, in its precision. Vectors go there and come back; squared norms of rows and
    columns come once."""

    def __init__(self, W: Any, name: str) -> None:
        self._name, self._xp = name, _namespace(W)
        self._W = W.detach() if hasattr(W, "detach") else W
        kinds = {np.dtype(kind): getattr(self._xp, kind) for kind in ("float32", "float64")}
        found = [kind for kind, own in kinds.items() if W.dtype == own]
        if not found:
            raise TypeError(f"`{name}` must be an array of float32 or float64 to be multiplied where it is, got {W.dtype}")
        self._kind = found[0]
        self._library = self._xp.__name__.partition(".")[0]
        with self._there():
            self._to_host = _host(self._W[:1, 0])

    @contextlib.contextmanager
    def _there(self) -> Iterator[None]:
        """Where products are made: on the matrix's device, in no less than its precision. Infinities are found in what comes back."""
        scope: Any = contextlib.nullcontext()
        if self._library == "cupy":
            scope = self._W.device
        elif self._library == "jax":
            scope = sys.modules["jax"].default_matmul_precision("highest")
        with scope, np.errstate(over="ignore", under="ignore", invalid="ignore"):
            yield

    def _sent(self, x: Any) -> Any:
        """Vectors as an array of the library; what is too large for its precision becomes infinite, and is found in the product."""
        x = np.ascontiguousarray(x, dtype=self._kind)
        if self._library in ("cupy", "jax"):
            return self._xp.asarray(x)
        return self._xp.asarray(x, device=self._W.device)

    def _back(self, product: Any) -> Any:
        """A product in the processor's memory."""
        found = self._to_host(product)
        if not np.isfinite(found).all():
            raise FactorError(
                f"LinearChannel: products with `{self._name}` overflow {self._kind}: its entries, or what it is multiplied by, are too large"
            )
        return found

    def apply(self, z: Array) -> Any:
        """The products with the rows of ``z``."""
        with self._there():
            if len(z) == 1:
                return self._back(self._xp.matmul(self._W, self._sent(z[0])))[None]
            return self._back(self._xp.matmul(self._W, self._sent(z.T))).T

    def adjoint(self, x: Array) -> Any:
        """The products of the transpose with the rows of ``x``."""
        with self._there():
            if len(x) == 1:
                return self._back(self._xp.matmul(self._sent(x[0]), self._W))[None]
            return self._back(self._xp.matmul(self._sent(x), self._W))

    def _blocks(self) -> Any:
        rows = max(1, _BLOCK // self._W.shape[1])
        for start in range(0, self._W.shape[0], rows):
            yield self._W[start : min(start + rows, self._W.shape[0]), :]

    def _squares(self, unit: float) -> tuple[Array, Array]:
        """Squared norms of rows and columns, in this unit."""
        xp, rows, columns = self._xp, [], None
        for block in self._blocks():
            scaled = block if unit == 1 else block / unit
            squares = scaled * scaled
            rows.append(xp.sum(squares, axis=1))
            sums = xp.sum(squares, axis=0)
            columns = sums if columns is None else columns + sums
        rows_here = [self._to_host(x).astype(np.float64) for x in rows]
        return np.concatenate(rows_here), self._to_host(columns).astype(np.float64)

    def norms(self) -> tuple[Array, Array]:
        """Squared norms of rows and columns.

        Raises
        ------
        ModelError
            Entries that are not finite.
        """
        limits = np.finfo(self._kind)
        with self._there():
            rows, columns = self._squares(1.0)
            if limits.tiny / limits.eps < rows.sum() < np.inf:
                return rows, columns
            # entries whose squares have no place in this precision, or that are not finite
            peak = max(float(self._xp.max(self._xp.abs(block))) for block in self._blocks())
            if peak == 0:
                return rows, columns
            if np.isfinite(peak):
                rows, columns = self._squares(peak)
                return rows * peak**2, columns * peak**2
        row = int(np.argmax(~np.isfinite(rows)))
        raise ModelError(f"LinearChannel: `{self._name}` must be finite, got {peak} in row {row} or below")

    def factor(self, route: str) -> _lib.Factor:
        """The channel of this matrix. Conjugate gradients of the exact route get no nearer than the products are."""
        tolerance = max(1e-12, 8 * float(np.finfo(self._kind).eps))
        rows, columns = self.norms()
        return _lib.array_matrix("linear", rows, columns, self.apply, self.adjoint, route, tolerance)
