"""What users pass as numbers and arrays, checked and converted in one place."""

from __future__ import annotations

import operator
import os
import secrets
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import ModelError, TooLarge

__all__ = [
    "Array",
    "array",
    "belief",
    "check_memory",
    "check_seed",
    "choice",
    "complex_array",
    "complex_matrix",
    "count",
    "countable",
    "counts",
    "dense",
    "finite",
    "flag",
    "inverse",
    "is_operator",
    "known",
    "matrix",
    "moduli",
    "new_seed",
    "not_empty",
    "number",
    "one_of",
    "owned",
    "positive",
    "size_to_shape",
]

#: An array of 64-bit floats.
Array = npt.NDArray[np.float64]

_NUMERIC = "biuf"

#: The process that imported the package.
_PROCESS = os.getpid()


def array(x: Any, name: str) -> Array:
    """``x`` as a contiguous array of 64-bit floats; integers, 32-bit floats and lists are converted.

    >>> array([1, 2], "b")
    array([1., 2.])
    """
    try:
        found = np.asarray(x)
    except ValueError as error:
        raise ValueError(f"`{name}` must be an array of numbers, got rows of different lengths") from error
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise ValueError(f"`{name}` must be known everywhere, got an array with masked entries")
    if found.dtype.kind == "c":
        raise TypeError(f"`{name}` must be real, got {found.dtype}: complex signals have their parts on the first axis")
    if found.dtype.kind not in _NUMERIC:
        raise TypeError(f"`{name}` must be an array of numbers, got {_kind(x, found)}")
    converted: Array = np.ascontiguousarray(found, dtype=np.float64).reshape(found.shape)
    return converted


def _kind(x: Any, found: Any) -> str:
    """What came in place of numbers: a type of somebody's own, or an array of something else."""
    if found.ndim == 0 and found.dtype == object:
        ways = {"toarray": "toarray()", "todense": "todense()", "matmat": "matmat(numpy.eye(n))"}
        return type(x).__name__ + next((f"; its {call} is one" for name, call in ways.items() if hasattr(x, name)), "")
    return f"dtype {found.dtype}"


def owned(x: Array) -> Array:
    """An array that nobody can change: what a module keeps, so that a pickle is what was declared.

    An array of read-only numbers is kept as it is, any other is copied.
    """
    owner = x if x.flags.owndata else x.base
    if isinstance(owner, np.ndarray) and owner.flags.owndata and not owner.flags.writeable:
        return x
    kept: Array = np.array(x, dtype=x.dtype if x.dtype == np.float32 else np.float64)
    kept.flags.writeable = False
    return kept


def number(x: Any, name: str) -> float:
    """``x`` as a float; anything but one real number is refused.

    >>> number(np.float32(0.5), "rho")
    0.5
    """
    if isinstance(x, float):
        return x
    if x is None or isinstance(x, (str, bytes)):
        raise TypeError(f"`{name}` must be a number, got {x!r}")
    found = array(x, name)
    if found.ndim != 0:
        raise TypeError(f"`{name}` must be a number, got an array of shape {found.shape}")
    return float(found)


def one_of(default: float, **given: Any) -> tuple[float, dict[str, str]]:
    """The number given under one of several names, and that name where it is not the first.

    >>> one_of(2.5, knee=None, l=3)
    (3.0, {'knee': 'l'})
    """
    named = [name for name, x in given.items() if x is not None]
    if len(named) > 1:
        raise TypeError(f"expected {' or '.join(f'`{name}`' for name in given)}, got both")
    if not named:
        return default, {}
    first = next(iter(given))
    return number(given[named[0]], named[0]), {} if named[0] == first else {first: named[0]}


def known(x: Any, name: str) -> float:
    """``x`` as a float that is not NaN; what averages and beliefs take."""
    found = number(x, name)
    if np.isnan(found):
        raise ValueError(f"`{name}` must be a number, got NaN")
    return found


def positive(x: Any, name: str) -> float:
    """``x`` as a float that is positive and finite."""
    found = number(x, name)
    if not 0 < found < np.inf:
        raise ValueError(f"`{name}` must be positive and finite, got {found}")
    return found


def inverse(x: Any, name: str) -> float:
    """``1 / x`` of a positive number, 0 of an infinite one: the precision that belongs to a second moment, or back.

    >>> inverse(0.5, "tau_z")
    2.0
    """
    found = known(x, name)
    if not found > 0:
        raise ValueError(f"`{name}` must be positive, got {found}")
    return 1 / found


def belief(a: Any, b: Any, port: str) -> tuple[Array, Array]:
    """A belief ``(a, b)`` on ``port``: numbers without NaN, finite ones.

    >>> belief(1.0, [0.0, 1.0], "x")[1]
    array([0., 1.])
    """
    given = array(a, f"a{port}"), array(b, f"b{port}")
    for name, values in zip((f"a{port}", f"b{port}"), given):
        if values.size == 0:
            raise ValueError(f"`{name}` must have at least one component, got an empty array")
        if not np.isfinite(values).all():
            wrong = values[~np.isfinite(values)].ravel()[0]
            raise ValueError(f"`{name}` must be finite, got {wrong}")
    return given


def matrix(x: Any, name: str, narrow: bool = False) -> Array:
    """``x`` as a two-dimensional array; ``narrow`` lets one of 32-bit floats be what it is."""
    found = x if narrow and type(x) is np.ndarray and x.dtype == np.float32 else array(x, name)
    if found.ndim != 2:
        raise ValueError(f"`{name}` must be a matrix, got an array of shape {found.shape}")
    return found


def is_operator(W: Any) -> bool:
    """A sparse matrix or a linear operator: it has a shape and maps vectors, and is no array."""
    maps = hasattr(W, "matvec") or (hasattr(W, "tocsr") and hasattr(W, "dot"))
    return maps and not isinstance(W, np.ndarray) and len(getattr(W, "shape", ())) == 2


def dense(W: Any, name: str) -> Any:
    """A sparse matrix or a linear operator as an array; anything else as it is."""
    if not is_operator(W):
        return W
    check_memory(W.shape, f"`{name}`")
    if hasattr(W, "toarray"):
        return W.toarray()
    map_of = W.matmat if hasattr(W, "matmat") else W.dot
    return np.asarray(map_of(np.eye(int(W.shape[1]))))


def complex_array(x: Any, name: str) -> Any:
    """``x`` as an array of complex numbers that nobody can change."""
    found = np.asarray(x)
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise ValueError(f"`{name}` must be known everywhere, got an array with masked entries")
    if found.dtype.kind not in _NUMERIC + "c":
        raise TypeError(f"`{name}` must be an array of numbers, got {_kind(x, found)}")
    kept = np.array(found, dtype=np.complex128)
    kept.flags.writeable = False
    return kept


def complex_matrix(x: Any, name: str) -> Any:
    """``x`` as a complex matrix that nobody can change."""
    found = complex_array(x, name)
    if found.ndim != 2:
        raise ValueError(f"`{name}` must be a matrix, got an array of shape {found.shape}")
    return found


def finite(x: Any, name: str) -> Array:
    """``x`` as an array of finite numbers: what outputs are drawn from.

    >>> finite([0, 1], "Z")
    array([0., 1.])
    """
    found = array(x, name)
    wrong = ~np.isfinite(np.ravel(found))
    if wrong.any():
        index = int(np.argmax(wrong))
        raise ValueError(f"`{name}` must be finite, got {np.ravel(found)[index]} at index {index}")
    return found


def countable(law: str, z: Array, drawn: Array) -> Array:
    """Outputs that were drawn given ``z``, none of them beyond the largest number, at which native counts end."""
    beyond = np.abs(drawn) >= sys.float_info.max
    if beyond.any():
        index = int(np.argmax(beyond))
        raise ValueError(f"{law}: the output of {z[index]:g} at index {index} is beyond the largest number")
    return drawn


def moduli(x: Any, name: str) -> Array:
    """The moduli of complex components, whose parts are on the first axis.

    >>> moduli([[3.0], [4.0]], "x")
    array([5.])
    """
    parts = array(x, name)
    if parts.ndim == 0 or len(parts) != 2:
        raise ValueError(f"`{name}` must have real and imaginary parts on its first axis, got shape {parts.shape}")
    found: Array = np.hypot(parts[0], parts[1])
    return found


def count(x: Any, name: str, least: int = 1) -> int:
    """``x`` as an integer of at least ``least``."""
    try:
        if isinstance(x, bool):
            raise TypeError
        n = operator.index(x)
    except TypeError:
        raise TypeError(f"`{name}` must be an integer, got {type(x).__name__}") from None
    if n < least:
        raise ValueError(f"`{name}` must be at least {least}, got {n}")
    if n > sys.maxsize:
        raise ValueError(f"`{name}` must be at most {sys.maxsize}, got {n}")
    return n


def counts(x: Any, name: str) -> list[int]:
    """``x`` as a list of positive integers.

    >>> counts((2, 3), "Ns")
    [2, 3]
    """
    if not isinstance(x, Iterable) or isinstance(x, (str, bytes)):
        raise TypeError(f"`{name}` must be a list of integers, got {type(x).__name__}")
    found = [count(n, name) for n in x]
    if not found:
        raise ValueError(f"`{name}` must have at least one number, got none")
    return found


def flag(x: Any, name: str) -> bool:
    """``x`` as a bool: ``True`` or ``False``, or 1 or 0.

    >>> flag(np.True_, "positive"), flag(0, "positive")
    (True, False)
    """
    if not isinstance(x, (bool, np.bool_, int)) or x not in (0, 1):
        raise TypeError(f"`{name}` must be True or False, got {x!r}")
    return bool(x)


def choice(x: Any, known: Iterable[str], name: str) -> str:
    """``x`` as one of some names; the nearest is suggested for one that is not.

    >>> choice("relu", ["relu", "abs"], "channel_type")
    'relu'
    """
    names = list(known)
    if isinstance(x, str) and x in names:
        return x
    import difflib

    near = difflib.get_close_matches(x, names, 1) if isinstance(x, str) else []
    hint = f", did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"`{name}` must be one of {', '.join(names)}, got {x!r}{hint}")


def check_memory(shape: Any, name: str) -> None:
    """Refuses an array that no memory can hold, before native code asks for it."""
    try:
        np.empty(tuple(shape))
    except (MemoryError, ValueError, OverflowError):
        raise TooLarge(f"{name} of shape {tuple(shape)} does not fit in memory") from None


def size_to_shape(size: Any, name: str = "size") -> list[int] | None:
    """The shape that a ``size`` means: a number, a tuple, or ``None`` for the limit of large sizes.

    >>> size_to_shape(3), size_to_shape((2, 4)), size_to_shape(None)
    ([3], [2, 4], None)
    """
    if size is None:
        return None
    if isinstance(size, (tuple, list)) or (isinstance(size, np.ndarray) and size.ndim):
        return [count(n, name, 0) for n in size]
    return [count(size, name, 0)]


def not_empty(shape: tuple[int, ...], name: str) -> tuple[int, ...]:
    """A shape of at least one component.

    >>> not_empty((2, 4), "shape")
    (2, 4)
    """
    if 0 in shape:
        raise ModelError(f"`{name}` must have at least one component, got shape {shape}")
    return shape


def new_seed() -> int:
    """A seed nobody chose, from numpy's global generator: ``np.random.seed`` makes it the same again.

    A process that was forked has the generator of its parent, and draws from the system instead.
    """
    if os.getpid() != _PROCESS:
        return secrets.randbits(63)
    return int(np.random.randint(0, 2**63 - 1, dtype=np.int64))


def check_seed(seed: Any) -> int:
    """``seed`` as an integer, or a new one for ``None``; 0 is a seed as any other."""
    if seed is None:
        return new_seed()
    n = operator.index(seed) if isinstance(seed, (int, np.integer)) else count(seed, "seed", 0)
    if n < 0:
        raise ValueError(f"`seed` must be at least 0, got {n}")
    if n >= 2**64:
        raise ValueError(f"`seed` must be below 2**64, got {n}")
    return n
