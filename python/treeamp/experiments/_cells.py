"""Cells of a grid, carried out here or in an executor."""

from __future__ import annotations

import logging
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping
from concurrent import futures
from typing import Any

import numpy as np

from .. import _lib
from ..errors import TreeampError

__all__ = ["RESERVED", "RESULT", "ExecutorError", "Progress", "carry_out", "lines_of", "reason_of", "scalar"]

_logger = logging.getLogger("treeamp.experiments")

#: Columns that a table has by itself, and what stands before such a name in the lines of a run.
RESERVED, RESULT = ("seed", "status", "reason"), "result."

#: How many cells wait in an executor at once.
_WINDOW = 1000


class ExecutorError(TreeampError, RuntimeError):
    """The executor died. What was finished is in the journal, and the same call with ``resume=True`` goes on from there."""


#: What a future raises when its executor is gone, whatever the cell.
_DEATHS = (futures.BrokenExecutor, futures.CancelledError, EOFError, OSError)


def scalar(x: Any) -> Any:
    """A scalar of numpy as Python's own."""
    return x.item() if isinstance(x, np.generic) else x


def lines_of(result: Any, kwargs: Mapping[str, Any]) -> list[list[tuple[str, Any]]]:
    """What a run returned, as lines of names and values; a parameter's own value stands where it returned that too."""
    if result is None:
        return [[]]
    if isinstance(result, Mapping):
        result = [result]
    elif hasattr(result, "to_dict") and hasattr(result, "columns"):
        result = result.to_dict("records")
    if not isinstance(result, Iterable) or isinstance(result, (str, bytes)):
        raise TypeError(f"a run must return a dict, a list of dicts or a DataFrame, got {type(result).__name__}")
    lines = []
    for line in result:
        if not isinstance(line, Mapping):
            raise TypeError(f"a run must return a dict, a list of dicts or a DataFrame, got a list of {type(line).__name__}")
        named = ((str(name), scalar(value)) for name, value in line.items() if name not in kwargs)
        lines.append([(RESULT + name if name in RESERVED else name, value) for name, value in named])
    return lines


def reason_of(error: BaseException) -> str:
    """An exception in one line, or as many as it has."""
    return "".join(traceback.format_exception_only(type(error), error)).strip()


#: A cell's lines, or why it failed; its time; and the traceback of its failure.
_Outcome = tuple[Any, str | None, float, str]


def _timed(run: Callable[..., Any], kwargs: dict[str, Any]) -> _Outcome:
    """One cell: its result or why it failed, and its time. Errors of the run do not leave it."""
    clock = time.perf_counter()
    where = ""
    try:
        result, reason = lines_of(run(**kwargs), kwargs), None
    except Exception as error:  # a failed cell is a row with its reason
        result, reason, where = None, reason_of(error), traceback.format_exc()
    return result, reason, time.perf_counter() - clock, where


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def _tqdm() -> Any:
    """The bar that suits the place. In a notebook without its widgets it is the one of terminals, without a warning of that."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="IProgress not found")
        from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]
    return tqdm


class Progress:
    """Reports progress: by a bar on a terminal or in a notebook if tqdm is installed, and to a callback."""

    def __init__(self, total: int, done: int, on_progress: Callable[[int, int], Any] | None, bar: bool | None) -> None:
        self.total, self.done, self.on_progress = total, done, on_progress
        self.bar: Any = None
        if bar is not False:
            try:
                tqdm = _tqdm()
            except ImportError:
                if bar:
                    raise ImportError("progress=True needs tqdm: pip install treeamp[experiments]") from None
                return
            # `None` hides the bar unless the output is a terminal, and that of a notebook is none
            self.bar = tqdm(total=total, initial=done, disable=None if bar is None and not in_notebook() else False)

    def one(self) -> None:
        self.done += 1
        if self.bar is not None:
            self.bar.update()
        if self.on_progress is not None:
            self.on_progress(self.done, self.total)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def carry_out(
    run: Callable[..., Any],
    missing: list[tuple[str, dict[str, Any]]],
    journal: _lib.Journal,
    executor: futures.Executor | None,
    progress: Progress,
) -> None:
    """Runs the missing cells, here or in an executor, each noted in the journal as it ends."""

    def note(key: str, outcome: _Outcome) -> None:
        lines, reason, seconds, where = outcome
        if reason is None:
            try:
                journal.append(key, lines, seconds)
            except TypeError as error:  # a value that no table holds
                reason = where = reason_of(error)
        if reason is not None:
            journal.fail(key, reason, seconds)
        progress.one()
        if reason is not None:
            _logger.error("cell %d of %d failed: %s, %.1f s: %s", progress.done, progress.total, key, seconds, where.strip() or reason)
        else:
            _logger.info("cell %d of %d finished: %s, %.1f s", progress.done, progress.total, key, seconds)

    if executor is None:
        for key, kwargs in missing:
            note(key, _timed(run, kwargs))
        return
    waiting: dict[Any, str] = {}
    left = iter(missing)
    try:
        while True:
            for key, kwargs in left:
                waiting[_submitted(executor, run, kwargs, progress)] = key
                if len(waiting) >= _WINDOW:
                    break
            if not waiting:
                return
            done, _ = futures.wait(waiting, return_when=futures.FIRST_COMPLETED)
            for future in done:
                key = waiting.pop(future)
                note(key, _returned(future, progress))
    finally:
        for future in waiting:
            future.cancel()


def _died(error: BaseException, progress: Progress) -> ExecutorError:
    return ExecutorError(f"the executor died: {reason_of(error)}; {progress.done} of {progress.total} cells are finished")


def _submitted(executor: Any, run: Callable[..., Any], kwargs: dict[str, Any], progress: Progress) -> Any:
    """The future of a cell."""
    try:
        return executor.submit(_timed, run, kwargs)
    except Exception as error:  # one that was shut down says so in words of its own
        raise _died(error, progress) from error


def _returned(future: Any, progress: Progress) -> _Outcome:
    """What a cell returned. Errors of the run are in it; others are those of the way to the worker and back."""
    try:
        return future.result()  # type: ignore[no-any-return]
    except _DEATHS as error:
        raise _died(error, progress) from error
    except Exception as error:  # its worker was lost too often, or something cannot be pickled
        return None, f"the executor lost the cell: {reason_of(error)}", 0.0, ""
