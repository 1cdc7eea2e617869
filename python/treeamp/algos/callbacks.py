"""Callbacks: they are called after every sweep as ``callback(algo, i, max_iter)``, and stop the run by being true.

Any callable will do. Those that track keep ``records``, a list of dicts; ``get_dataframe()`` makes a pandas DataFrame of
them (``pip install treeamp[experiments]``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._arrays import array, count, known, number
from ..base import ReprMixin
from .metrics import METRICS

__all__ = [
    "Callback",
    "EarlyStopping",
    "EarlyStoppingEP",
    "JoinCallback",
    "LogProgress",
    "PassCallback",
    "TrackErrors",
    "TrackEstimate",
    "TrackEvolution",
    "TrackMessages",
    "TrackObjective",
    "TrackOverlaps",
]

logger = logging.getLogger("treeamp")


class Callback(ReprMixin):
    """A callback with a memory. Subclasses say what happens ``after`` a sweep."""

    def __call__(self, algo: Any, i: int, max_iter: int) -> bool:
        raise NotImplementedError


class PassCallback(Callback):
    """Does nothing: the run goes on until ``max_iter``."""

    def __call__(self, algo: Any, i: int, max_iter: int) -> bool:
        return False


class JoinCallback(Callback):
    """Several callbacks, all of them called; one is enough to stop the run.

    Parameters
    ----------
    callbacks : list of callable
        Called in this order.

    Examples
    --------
    >>> JoinCallback([PassCallback(), lambda algo, i, max_iter: i == 3])(None, 3, 10)
    True
    """

    def __init__(self, callbacks: list[Callable[[Any, int, int], Any]]) -> None:
        for callback in callbacks:
            if not callable(callback):
                raise TypeError(f"`callback` must be callable, got {type(callback).__name__}")
        self.callbacks = list(callbacks)

    def __call__(self, algo: Any, i: int, max_iter: int) -> bool:
        return any([bool(callback(algo, i, max_iter)) for callback in self.callbacks])


class LogProgress(Callback):
    """Logs the variances to the logger ``treeamp``, every so many sweeps.

    Parameters
    ----------
    ids : list of str
        Variables; ``"all"`` for all.
    every : int
        After every so many sweeps.
    """

    repr_parameters = ("ids", "every")

    def __init__(self, ids: Any = "all", every: int = 1) -> None:
        self.ids = ids
        self.every = count(every, "every")

    def __call__(self, algo: Any, i: int, max_iter: int) -> bool:
        if i % self.every == 0:
            variances = {id: data["v"] for id, data in algo.get_variables_data(self.ids).items()}
            text = " ".join(f"{id}={v:.3e}" for id, v in variances.items())
            logger.info("iteration %d/%d: v %s", i + 1, max_iter, text)
        return False


class _Tracker(Callback):
    """Keeps records of what it sees, every so many sweeps."""

    repr_parameters: tuple[str, ...] = ("ids", "every")

    def __init__(self, ids: Any = "all", every: int = 1, verbose: bool = False) -> None:
        self.ids = ids
        self.every = count(every, "every")
        self.verbose = bool(verbose)
        self.records: list[dict[str, Any]] = []

    def _seen(self, algo: Any, i: int) -> list[dict[str, Any]]:
        """The records of one sweep."""
        raise NotImplementedError

    def __call__(self, algo: Any, i: int, max_iter: int) -> bool:
        if i == 0:
            self.records = []
        if i % self.every == 0:
            for record in self._seen(algo, i):
                self.records.append({"iter": i, **record})
                if self.verbose:
                    logger.info("%s", self.records[-1])
        return False

    def get_dataframe(self) -> Any:
        """The records as a pandas DataFrame."""
        return _dataframe(self.records)


def _dataframe(records: list[dict[str, Any]]) -> Any:
    try:
        import pandas  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        raise ImportError("get_dataframe() needs pandas: pip install treeamp[experiments]") from error
    return pandas.DataFrame(records)


class TrackEvolution(_Tracker):
    """Variances ``v`` of variables.

    Parameters
    ----------
    ids : list of str
        Variables; ``"all"`` for all.
    every : int
        After every so many sweeps.
    verbose : bool
        Whether to log them too.
    """

    def _seen(self, algo: Any, i: int) -> list[dict[str, Any]]:
        return [{"id": id, "v": data["v"]} for id, data in algo.get_variables_data(self.ids).items()]


class TrackEstimate(_Tracker):
    """Means ``r`` of variables.

    Parameters
    ----------
    ids : list of str
        Variables; ``"all"`` for all.
    every : int
        After every so many sweeps.
    """

    def __init__(self, ids: Any = "all", every: int = 1) -> None:
        super().__init__(ids, every)

    def _seen(self, algo: Any, i: int) -> list[dict[str, Any]]:
        return [{"id": id, "r": data["r"]} for id, data in algo.get_variables_data(self.ids).items()]


def _signals(true_values: Any) -> dict[str, Any]:
    """The true signals by name."""
    if not isinstance(true_values, Mapping):
        raise TypeError(f"`true_values` must be a dict of signals by name, got {type(true_values).__name__}")
    return {id: array(x, id) for id, x in true_values.items()}


class TrackErrors(_Tracker):
    """Errors against true values: ``mse``, ``sign_mse``, ``phase_mse``, ``overlap``, or functions of truth and estimate.

    Parameters
    ----------
    true_values : dict
        The signals by name.
    metrics : list of str
        ``mse``, ``sign_mse``, ``phase_mse``, ``overlap``.
    every : int
        After every so many sweeps.
    verbose : bool
        Whether to log them too.
    """

    repr_parameters = ("metrics", "every")

    def __init__(
        self, true_values: Mapping[str, Any], metrics: Any = ("mse",), every: int = 1, verbose: bool = False
    ) -> None:
        self.true_values = _signals(true_values)
        super().__init__(list(self.true_values), every, verbose)
        self.metrics = list(metrics)
        self._functions: dict[str, Callable[[Any, Any], float]] = {}
        for metric in self.metrics:
            if callable(metric):
                self._functions[getattr(metric, "__name__", str(metric))] = metric
            elif metric in METRICS:
                self._functions[metric] = METRICS[metric]
            else:
                raise ValueError(f"a metric must be one of {', '.join(METRICS)} or a function, got {metric!r}")

    def _seen(self, algo: Any, i: int) -> list[dict[str, Any]]:
        found = []
        for id, data in algo.get_variables_data(self.ids).items():
            truth = self.true_values[id]
            errors = {name: f(truth, data["r"]) for name, f in self._functions.items()}
            found.append({"id": id, "v": data["v"], **errors})
        return found


class TrackOverlaps(_Tracker):
    r"""Overlaps :math:`m = \frac1N x\cdot r`, :math:`q = \frac1N\|r\|^2`, :math:`\tau = q + v` against true values.

    Parameters
    ----------
    true_values : dict
        The signals by name.
    ids : list of str
        Variables; ``"all"`` for all.
    every : int
        After every so many sweeps.
    verbose : bool
        Whether to log them too.
    """

    def __init__(self, true_values: Mapping[str, Any], ids: Any = "all", every: int = 1, verbose: bool = False) -> None:
        self.true_values = _signals(true_values)
        super().__init__(list(self.true_values) if isinstance(ids, str) and ids == "all" else ids, every, verbose)

    def _seen(self, algo: Any, i: int) -> list[dict[str, Any]]:
        found = []
        for id, data in algo.get_variables_data(self.ids).items():
            r, v, x = data["r"], data["v"], self.true_values[id]
            q = float(np.mean(r * r))
            m = float(np.mean(x * r))
            mse = float(np.mean((x - r) ** 2))
            found.append({"id": id, "m": m, "q": q, "tau": q + v, "v": v, "mse": mse})
        return found


class TrackMessages(_Tracker):
    """Messages of every edge, both ways: ``x_id``, ``f_id``, and ``keys`` as of ``algo.get_edges_data``.

    Parameters
    ----------
    keys : list of str
        Which parts of a message are recorded.
    """

    repr_parameters = ("keys",)

    def __init__(self, keys: Any = ("a", "n_iter", "direction")) -> None:
        super().__init__()
        self.keys = list(keys)

    def _seen(self, algo: Any, i: int) -> list[dict[str, Any]]:
        return list(algo.get_edges_data(self.keys))


class TrackObjective(_Tracker):
    """The objective ``A`` and its terms: ``edge_records``, ``node_records`` and ``model_records``."""

    repr_parameters = ()

    def __init__(self) -> None:
        super().__init__()
        self.edge_records: list[dict[str, Any]] = []
        self.node_records: list[dict[str, Any]] = []
        self.model_records: list[dict[str, Any]] = []

    def _seen(self, algo: Any, i: int) -> list[dict[str, Any]]:
        if i == 0:
            self.edge_records, self.node_records, self.model_records = [], [], []
        edges = algo.get_edges_data(["A", "n_iter", "direction"])
        nodes = algo.get_nodes_data(["A"])
        model = {"A": algo.A_model, "n_iter": algo.n_iter}
        self.edge_records += edges
        self.node_records += nodes
        self.model_records.append(model)
        return [model]

    def get_dataframe(self) -> Any:
        """The terms of edges, those of nodes, and the whole: three DataFrames."""
        return tuple(map(_dataframe, (self.edge_records, self.node_records, self.model_records)))


def _tolerance(tol: Any) -> float:
    found = number(tol, "tol")
    if not found >= 0:
        raise ValueError(f"`tol` must not be negative, got {found}")
    return found


class EarlyStopping(Callback):
    """Stops when no variance changes by more than ``tol`` any more, or one of them is below ``min_variance``.

    Changes are those of a full step: where adaptive damping took a shorter one, they are larger by as much. A sweep in which
    laws were improper, and variables kept what they had, does not count as one without changes. Steps of a fallback are not judged:
    it ends by its own residual.
    ``wait_increase`` and ``max_increase`` are kept for scripts that give them, and do nothing: a run that diverges is
    ended by the engine, which goes back to the last good state.

    Parameters
    ----------
    ids : list of str
        The variables that are watched; ``"all"`` for all.
    tol : float
        The largest change that counts as none.
    min_variance : float
        Stops below it.
    wait_increase, max_increase
        Kept for scripts that give them.
    """

    repr_parameters = ("ids", "tol", "min_variance")

    def __init__(
        self,
        ids: Any = "all",
        tol: float = 1e-6,
        min_variance: float = -1,
        wait_increase: float = 5,
        max_increase: float = 0.2,
    ) -> None:
        self.ids = ids
        self.tol = _tolerance(tol)
        self.min_variance = known(min_variance, "min_variance")
        self.wait_increase, self.max_increase = wait_increase, max_increase
        self._old: dict[str, float] = {}

    def __call__(self, algo: Any, i: int, max_iter: int) -> bool:
        if i == 0:
            self._old = {}
        new = {id: data["v"] for id, data in algo.get_variables_data(self.ids).items()}
        old, self._old = self._old, new
        if any(v < self.min_variance for v in new.values()):
            return True
        if algo.in_fallback or algo.improper:
            return False
        return bool(old) and all(abs(new[id] - old[id]) < self.tol * algo.step for id in new)


class EarlyStoppingEP(Callback):
    """Stops when no mean changes by more than ``tol``, relative and root mean square, any more; in state evolution, which has
    no means, no variance.

    Changes are those of a full step, and ``wait_increase`` and ``max_increase`` do nothing, as in :class:`EarlyStopping`.

    Parameters
    ----------
    ids : list of str
        The variables that are watched; ``"all"`` for all.
    tol : float
        The largest change that counts as none.
    wait_increase, max_increase
        Kept for scripts that give them.
    """

    repr_parameters = ("ids", "tol")

    def __init__(self, ids: Any = "all", tol: float = 1e-6, wait_increase: float = 5, max_increase: float = 0.2) -> None:
        self.ids = ids
        self.tol = _tolerance(tol)
        self.wait_increase, self.max_increase = wait_increase, max_increase
        self._old: dict[str, Any] = {}

    def __call__(self, algo: Any, i: int, max_iter: int) -> bool:
        if i == 0:
            self._old = {}
        new = {id: data.get("r", data["v"]) for id, data in algo.get_variables_data(self.ids).items()}
        old, self._old = self._old, new
        if algo.in_fallback or algo.improper:
            return False
        return bool(old) and all(self._change(new[id], old[id]) < self.tol * algo.step for id in new)

    @staticmethod
    def _change(new: Any, old: Any) -> float:
        gap = float(np.sqrt(np.mean((new - old) ** 2)))
        scale = float(np.sqrt(np.mean(new**2)))
        # a mean that stays at zero has settled
        return gap / scale if scale > 0 else gap
