"""Experiments over a grid: a function of parameters, run on every combination of their values.

Finished cells go to a journal at once, the same as the command line's, and a call with ``resume=True`` does only what is
missing. A cell's random stream comes from its seed and its own parameters alone, so the table is the same for any
number of threads, any executor, and any interruption.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import logging
import os
from collections.abc import Callable, Mapping
from concurrent import futures
from typing import Any

import numpy as np

from .. import _lib
from .._arrays import check_seed, count
from ..errors import FileError
from ._cells import RESERVED, RESULT, ExecutorError, Progress, carry_out, lines_of, scalar
from ._identity import fixed, is_plain, name_of, origin
from ._pandas import pandas

__all__ = ["ExecutorError", "log_on_progress", "run_experiments", "save_experiments", "simple_run_experiments"]

_logger = logging.getLogger("treeamp.experiments")


def log_on_progress(i: int, total: int) -> None:
    """Logs how far a run is, for ``on_progress``."""
    _logger.info("experiment %d out of %d", i, total)


def _is_axis(x: Any) -> bool:
    """Lists, ranges, and what numpy and pandas have in their place; a tuple is one value, such as a shape."""
    return isinstance(x, (list, range)) or getattr(x, "ndim", 0) == 1


def _label(name: str, x: Any) -> Any:
    """A value on an axis as journals write it: itself, or a text of what is in it."""
    return x if is_plain(x) else f"{type(x).__name__} {json.dumps(fixed(name, x, whole=False), sort_keys=True)}"


def _shown(x: Any) -> Any:
    """A parameter in a table: containers and arrays as they are, others by a text that has no address in it."""
    x = scalar(x)
    if is_plain(x) or isinstance(x, (Mapping, tuple, list, set, frozenset, np.ndarray)):
        return x
    if inspect.isroutine(x) or inspect.isclass(x):
        return name_of(x)
    kind: Any = type(x)
    return kind.__name__ if kind.__repr__ is object.__repr__ else repr(x)


def _signature(run: Callable[..., Any]) -> inspect.Signature | None:
    """What a run takes, None where that is not known, as of some builtins."""
    try:
        return inspect.signature(run)
    except (TypeError, ValueError):
        return None


class _Plan:
    """The cells of a grid, and what each passes to the run."""

    def __init__(self, run: Callable[..., Any], seeds: Any, kwargs: dict[str, Any]) -> None:
        if not callable(run):
            raise TypeError(f"`run` must be callable, got {type(run).__name__}")
        self.run = run
        axes = {name: [scalar(x) for x in values] for name, values in kwargs.items() if _is_axis(values)}
        self.fixed = {name: value for name, value in kwargs.items() if name not in axes}
        self.literal = "seed" in kwargs
        if self.literal:
            if seeds is not None:
                raise TypeError("expected `seed` or `seeds`, got both")
            given = axes.pop("seed", None)
            chosen = [check_seed(s) for s in ([self.fixed.pop("seed")] if given is None else given)]
        elif seeds is None:
            chosen = [0]
        else:
            chosen = list(range(count(seeds, "seeds"))) if np.ndim(seeds) == 0 else [check_seed(scalar(s)) for s in seeds]
        self.seeded = self.literal or seeds is not None
        self.axes = axes
        self.signature = _signature(run)
        self.defaults = self._defaults()
        self.labels = {name: [_label(name, x) for x in values] for name, values in axes.items()}
        self.sweep = _lib.Sweep(list(self.labels.items()), chosen, self._fixed_labels())
        self._check()

    def _defaults(self) -> dict[str, Any]:
        """What the run has for parameters that are not given: a default is the same whether it is written or not."""
        if self.signature is None:
            return {}
        return {name: p.default for name, p in self.signature.parameters.items() if p.default is not p.empty and name != "seed"}

    def _fixed_labels(self) -> list[tuple[str, Any]]:
        """Fixed parameters as they would be labelled on an axis, so that a cell has one stream in every grid."""
        labels = []
        for name, value in {**self.defaults, **self.fixed}.items():
            if name in self.axes:
                continue
            try:
                labels.append((name, _label(name, scalar(value))))
            except TypeError:  # what has no label cannot be on an axis either
                continue
        return labels

    def _check(self) -> None:
        """The run takes what it will be given."""
        if self.signature is None:
            return
        given = dict.fromkeys([*self.fixed, *self.axes, *(["seed"] if self.seeded else [])])
        try:
            self.signature.bind(**given)
        except TypeError as error:
            raise TypeError(f"{name_of(self.run)}{self.signature} cannot be called with {', '.join(given)}: {error}") from None

    def cells(self) -> list[tuple[str, dict[str, Any]]]:
        """Key and keywords of every cell."""
        found = []
        for key, seed, stream, places in self.sweep.cells:
            kwargs = dict(self.fixed)
            kwargs.update({name: values[k] for (name, values), k in zip(self.axes.items(), places)})
            if self.seeded:
                kwargs["seed"] = seed if self.literal else stream
            found.append((key, kwargs))
        return found

    def configuration(self) -> str:
        values = {name: fixed(name, value) for name, value in sorted(self.fixed.items())}
        for name in values.keys() & self.defaults.keys():
            with contextlib.suppress(TypeError):  # a default that cannot be told apart from others
                if fixed(name, self.defaults[name]) == values[name]:
                    del values[name]
        seeds = "literal" if self.literal else "streams" if self.seeded else "none"
        axes = sorted(self.axes)
        return json.dumps({"run": origin(self.run), "fixed": values, "axes": axes, "seeds": seeds})


def _table(plan: _Plan, journal: _lib.Journal) -> Any:
    columns, rows = plan.sweep.table(journal)
    table = pandas().DataFrame(rows, columns=columns)
    if (table["status"] != "failed").all():
        table = table.drop(columns=["status", "reason"])
    if not plan.seeded:
        table = table.drop(columns="seed")
    for name, values in plan.axes.items():
        if not all(map(is_plain, values)):
            of = dict(zip(plan.labels[name], values))
            table[name] = _column(table, [_shown(of[label]) for label in table[name]])
    for name, value in reversed(plan.fixed.items()):
        if name not in table:
            shown = _shown(value)
            table.insert(0, name, shown if is_plain(shown) else _column(table, [shown] * len(table)))
    own = {RESULT + name: name for name in RESERVED if name not in table}
    return table.rename(columns=own)


def _column(table: Any, values: list[Any]) -> Any:
    """Objects, one in every row."""
    column = pandas().Series([None] * len(values), index=table.index, dtype=object)
    for k, value in enumerate(values):
        column.iat[k] = value
    return column


def run_experiments(
    run: Callable[..., Any],
    on_progress: Callable[[int, int], Any] | None = None,
    *,
    seeds: Any = None,
    journal: str | os.PathLike[str] | None = None,
    resume: bool | None = None,
    executor: futures.Executor | None = None,
    threads: int = 1,
    progress: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Runs a function on every combination of its parameters.

    Parameters
    ----------
    run : callable
        Called with keywords; returns a dict, a list of dicts, or a DataFrame.
    on_progress : callable, optional
        Called as ``on_progress(i, total)`` after every cell.
    seeds : int or iterable, optional
        That many seeds from 0 on, or these. The run gets as ``seed`` the stream of its cell, made from the seed and
        the cell's own parameters; the table has the seed itself. A parameter ``seed=...`` is passed on as it is
        instead.
    journal : path, optional
        Finished cells go there at once.
    resume : bool, optional
        What to do with a journal that has finished cells of an earlier call: ``True`` takes their results and runs what is
        missing or failed, ``False`` forgets them and runs everything. By default such a journal is refused: whether the
        function, what it calls and its globals are still those that gave the results cannot be known here. What is
        taken over is logged, and stands in ``table.attrs["reused"]``.
    executor : concurrent.futures.Executor, optional
        Where the cells run: processes, ``dask.distributed.Client.get_executor()``, ...
    threads : int
        Threads to run on, without an executor; the library works outside the interpreter's lock.
    progress : bool, optional
        A progress bar; by default on a terminal and in a notebook, where tqdm is there.
    **kwargs
        The parameters: lists, ranges and arrays of one axis are the axes of the grid, everything else is fixed. A tuple
        is one value, and so are a dict and an array of more axes; to vary those, give a list of them.
        A journal knows a fixed function by its code, defaults and closure, and refuses another one; on an axis lambdas and inner functions
        are known so, and others by their name.

    Returns
    -------
    pandas.DataFrame
        One row for every line of results, in the order of the grid. Where cells failed, there are two more columns: ``status``,
        ``"ok"`` or ``"failed"``, and its ``reason``. A call that resumes a journal tries them again. Where a run
        returns a name that is a parameter's, the parameter stands; its own ``status`` and ``reason`` are columns of
        these names, or ``result.status`` and ``result.reason`` where cells failed.

    Examples
    --------
    >>> table = run_experiments(lambda a, b: {"product": a * b}, a=[1, 2], b=10)
    >>> table[["a", "b", "product"]].values.tolist()
    [[1, 10, 10], [2, 10, 20]]
    >>> table = run_experiments(lambda a: {"inverse": 1 / a}, a=[0, 2])
    >>> table.status.tolist(), table.reason[0]
    (['failed', 'ok'], 'ZeroDivisionError: division by zero')
    """
    pandas()
    if executor is not None and not callable(getattr(executor, "submit", None)):
        got = type(executor).__name__
        raise TypeError(f"`executor` must have a method submit, as those of concurrent.futures, got {got}")
    if resume is not None and not isinstance(resume, bool):
        raise TypeError(f"`resume` must be True, False or None, got {resume!r}")
    if resume and journal is None:
        raise ValueError("`resume=True` needs a `journal` to take up, got none")
    plan = _Plan(run, seeds, kwargs)
    opened = _lib.Journal() if journal is None else _journal(os.fspath(journal), plan.configuration(), resume)
    reused = [key for key, _ in plan.cells() if opened.has(key)]
    if reused:
        shown = ", ".join(reused[:3]) + (", ..." if len(reused) > 3 else "")
        _logger.warning(
            "%s: results of %d of %d cells are those of an earlier call (%s); resume=False runs them again",
            journal, len(reused), len(plan.cells()), shown,
        )
    try:
        _fill(plan, opened, executor, threads, on_progress, progress)
        table = _table(plan, opened)
    finally:
        opened.close()
    if journal is not None:
        table.attrs["reused"] = reused
    return table


def _journal(path: str, configuration: str, resume: bool | None) -> _lib.Journal:
    """A journal to write to; what an earlier call left in it is taken up only where that is asked for."""
    try:
        if resume is False:
            return _lib.Journal(path, configuration, resume=False)
        try:
            journal = _lib.Journal(path, configuration)
        except ValueError as error:
            raise ValueError(f"{error}; resume=False starts afresh") from None
        if resume is None and journal.finished:
            n = len(journal.finished)
            journal.close()
            raise ValueError(
                f"journal {path}: it has {n} finished cell{'s' if n > 1 else ''} of an earlier call; "
                "resume=True takes over their results, resume=False starts afresh"
            )
        return journal
    except OSError as error:
        raise FileError(str(error)) from None


def _fill(
    plan: _Plan,
    journal: _lib.Journal,
    executor: futures.Executor | None,
    threads: int,
    on_progress: Callable[[int, int], Any] | None,
    bar: bool | None,
) -> None:
    if on_progress is not None and not callable(on_progress):
        raise TypeError(f"`on_progress` must be callable, got {type(on_progress).__name__}")
    cells = plan.cells()
    missing = [cell for cell in cells if not journal.has(cell[0])]
    progress = Progress(len(cells), len(cells) - len(missing), on_progress, bar)
    try:
        if executor is None and count(threads, "threads") > 1:
            with futures.ThreadPoolExecutor(threads) as pool:
                carry_out(plan.run, missing, journal, pool, progress)
        else:
            carry_out(plan.run, missing, journal, executor, progress)
    finally:
        progress.close()


def save_experiments(
    run: Callable[..., Any],
    csv_file: str | os.PathLike[str],
    on_progress: Callable[[int, int], Any] | None = None,
    **kwargs: Any,
) -> Any:
    """:func:`run_experiments`, with its table in a file.

    The journal stands next to it, with ``.journal`` behind the name, unless ``journal`` is given: with ``resume=True`` an
    interrupted call goes on where it was, and ends in the same bytes; with ``resume=False`` it starts afresh.

    Returns
    -------
    pandas.DataFrame
        The table.
    """
    path = os.fspath(csv_file)
    kwargs.setdefault("journal", path + ".journal")
    table = run_experiments(run, on_progress, **kwargs)
    try:
        _lib.write_whole(path, table.to_csv(index=False))
    except OSError as error:
        raise FileError(str(error)) from None
    return table


def simple_run_experiments(run: Callable[..., Any], **kwargs: Any) -> Any:
    """:func:`run_experiments` where the first error comes through instead of being a row.

    >>> simple_run_experiments(lambda a: {"square": a * a}, a=[1, 3])["square"].tolist()
    [1, 9]
    """
    plan = _Plan(run, kwargs.pop("seeds", None), kwargs)
    journal = _lib.Journal()
    for key, cell in plan.cells():
        journal.append(key, lines_of(run(**cell), cell), 0.0)
    return _table(plan, journal)
