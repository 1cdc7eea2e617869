"""What tells one value of a parameter from another in a journal: itself, a name, or a digest of what is in it."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import pickle
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

import numpy as np

from ._cells import reason_of, scalar

__all__ = ["fixed", "is_plain", "name_of", "origin"]


def is_plain(x: Any) -> bool:
    """Whether a journal has it as it is."""
    return x is None or isinstance(x, (bool, int, float, str))


def fixed(name: str, x: Any, whole: bool = True, around: tuple[int, ...] = ()) -> Any:
    """A parameter in the configuration of a journal: its value, or a digest of it.

    Functions are told by their code, defaults and closures; those that have a name by it alone, if not ``whole``. ``around`` are those
    whose closures this is in.
    """
    x = scalar(x)
    if is_plain(x):
        return x
    if isinstance(x, np.ndarray) and x.dtype != object:
        return f"array {x.dtype} {x.shape} {_digest(np.ascontiguousarray(x).tobytes())}"
    if isinstance(x, functools.partial):
        bound = [fixed(name, part, whole, around) for part in (x.func, x.args, dict(sorted(x.keywords.items())))]
        return {"partial": bound}
    if inspect.isroutine(x):
        return _function(name, x, whole, around)
    if inspect.isclass(x):
        return name_of(x)
    if isinstance(x, Mapping):
        return {str(key): fixed(name, value, whole, around) for key, value in x.items()}
    if type(x) in (tuple, list):
        return [fixed(name, value, whole, around) for value in x]
    if isinstance(x, (set, frozenset)):
        return sorted(map(repr, x))
    try:
        # by value: a default repr is an address, which is never the same again
        return f"{type(x).__module__}.{type(x).__qualname__} {_digest(pickle.dumps(x, protocol=4))}"
    except Exception as error:
        raise TypeError(
            f"`{name}` cannot be distinguished from other values of {type(x).__name__} in a journal, "
            f"since it cannot be pickled: {reason_of(error)}"
        ) from error


def _function(name: str, f: Any, whole: bool, around: tuple[int, ...]) -> Any:
    """A function, with the object that it is a method of."""
    if inspect.ismethod(f):
        owner = name_of(f.__self__) if inspect.isclass(f.__self__) else fixed(name, f.__self__, whole, around)
        return {"method": _function(name, f.__func__, whole, around), "of": owner}
    where = name_of(f)
    if id(f) in around or not inspect.isfunction(f) or not (whole or "<" in where):
        return where
    inner = (*around, id(f))
    cells = [fixed(name, _content(cell), whole, inner) for cell in f.__closure__ or ()]
    given = [fixed(name, part, whole, inner) for part in (f.__defaults__, f.__kwdefaults__)]
    return f"{where} {_digest(json.dumps([_code(f.__code__), cells, given], sort_keys=True).encode())}"


def _content(cell: Any) -> Any:
    """What a closure holds; nothing yet where a function is defined before a name that it uses."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _code(code: CodeType) -> list[Any]:
    """What a function does, wherever it is written."""
    constants = [_code(x) if isinstance(x, CodeType) else sorted(map(repr, x)) if isinstance(x, frozenset) else repr(x) for x in code.co_consts]
    return [code.co_code.hex(), code.co_names, code.co_varnames, code.co_freevars, constants]


def _digest(bytes_of_it: bytes) -> str:
    return hashlib.sha256(bytes_of_it).hexdigest()


def name_of(run: Any) -> str:
    """Where a function is defined."""
    wrapped = getattr(run, "func", run)
    module = getattr(wrapped, "__module__", "?")
    return f"{module}.{getattr(wrapped, '__qualname__', type(wrapped).__name__)}"


def origin(run: Callable[..., Any]) -> Any:
    """What a journal says of the function that is run: where it is defined, and what is bound to it."""
    if isinstance(run, functools.partial):
        bound = {"args": fixed("run", run.args), "keywords": fixed("run", dict(sorted(run.keywords.items())))}
        return {"partial": origin(run.func), **bound}
    if inspect.ismethod(run) and not inspect.isclass(run.__self__):
        return {"method": name_of(run), "of": fixed("run", run.__self__)}
    if inspect.isroutine(run) or inspect.isclass(run) or not hasattr(type(run), "__qualname__"):
        return name_of(run)
    return {"callable": name_of(run), "value": fixed("run", run)}
