"""What the algorithms share: options, callbacks, and what is known of a run."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .. import _lib
from .._arrays import array, count, flag, number
from ..base import ReprMixin
from ..errors import NotKnown, RunError
from ..models import Model
from .callbacks import JoinCallback
from .initial_conditions import Initializer, edges_of
from .report import NO_EVIDENCE, Report

__all__ = ["AnyCallback", "MessagePassing", "calls_python", "warn_if_unseen"]

_logger = logging.getLogger("treeamp")

#: How factors are refused that an algorithm has no rule for, such as likelihoods without observations.
_NO_RULE = re.compile("has no (expectation propagation|maximum a posteriori)")

#: A callback takes the algorithm, the iteration from 0 on, and their largest number; it stops a run by being true.
AnyCallback = Callable[[Any, int, int], Any]


class MessagePassing(ReprMixin):
    """What all algorithms share.

    Parameters
    ----------
    model : Model
        What it runs on.
    """

    #: What its reports are.
    _kind = "posterior"
    #: Whether it needs the values of observations.
    _on_data = True
    #: Converged when the residual falls below this.
    default_tol = 1e-6

    def __init__(self, model: Model) -> None:
        if not isinstance(model, Model):
            raise TypeError(f"`model` must be a Model, got {type(model).__name__}; call .to_model() first")
        self._model = model
        self.report: Report | None = None
        self._snapshot: _lib.Snapshot | None = None
        #: The last sweep of a run that a module's own function ended.
        self._kept: _lib.Snapshot | None = None

    @property
    def model(self) -> Model:
        """The model that it was made for; what is known belongs to it, so that it cannot be replaced."""
        return self._model

    @model.setter
    def model(self, model: Any) -> None:
        raise RunError("`model` is read-only: make another algorithm for another model")

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__, _snapshot=None, _kept=None)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r})"

    def _run(self, options: dict[str, Any], warm: Any, callback: Any) -> Any:
        raise NotImplementedError

    def _moments(self) -> dict[str, float]:
        return self.model.init_second_moments()

    def iterate(
        self,
        max_iter: int = 200,
        callback: AnyCallback | Sequence[AnyCallback] | None = None,
        initializer: Initializer | None = None,
        damping: Any = None,
        warm_start: bool = False,
        update_dA: bool = False,
        *,
        tol: float | None = None,
        steps: Any = None,
        fallback: str = "automatic",
        acceleration: bool = True,
        positive: bool = False,
        perfect: float | None = None,
        gap: float | None = None,
        rollback: bool | None = None,
        memory_limit: int | None = None,
        exact: bool = False,
        threads: int | None = None,
    ) -> Report:
        """Runs at most ``max_iter`` sweeps.

        Parameters
        ----------
        max_iter : int
            Largest number of sweeps.
        callback : callable or list of them, optional
            Called as ``callback(algo, i, max_iter)`` after every sweep; a true answer stops the run. It reads the
            state through ``algo``, and cannot change it. With a callback the run has no other stopping rule, unless
            ``tol`` is given.
        initializer : Initializer, optional
            Messages before the first sweep; flat ones by default.
        damping : float, list of (id, direction, float) or "adaptive", optional
            How much of the previous message is kept, from 0 to below 1: everywhere, or on the messages to a
            variable in a direction (``"fwd"`` or ``"bwd"``). Adaptive by default: none while the run settles by itself, and
            more when it does not. A run that does not settle at a damping above 0, because it diverges or comes to ``max_iter``
            with a tolerance, starts again with an adaptive one (see ``fallback``); 0 is exactly those sweeps.
        warm_start : bool
            Starts from the messages of the last run.
        update_dA : bool
            Kept for scripts that give it; the objective is always computed at the end.
        tol : float, optional
            Converged when the moments change by less than this, relative to the signal.
        steps : list of float, optional
            Instead of ``damping``: how much of the new message is taken, from above 0 to 1, sweep by sweep; the last
            number stays. Exactly those sweeps.
        fallback : str
            When the certain but slower way takes over (a double loop on the Bethe objective, or a splitting of the
            energy): ``"automatic"``, where an adaptively damped run does not settle; ``"forced"``; ``"forbidden"``. With
            ``"automatic"`` a run that does not settle at a damping above 0 starts again with an adaptive one, calling its
            callbacks from 0 on, and ``report.adaptive`` is true. If neither converges the report is that of the run closer to a
            fixed point. With ``"forbidden"`` nothing follows.
        acceleration : bool
            Whether an adaptively damped run jumps ahead near its fixed point.
        positive : bool
            Whether precisions of messages that would be negative are set to zero, as tramp does.
        perfect : float, optional
            Variances below this fraction of the second moment, of every variable, are perfect recovery; 1e-14 by default.
            State evolution has its own.
        gap : float, optional
            Maximum a posteriori: any point whose energy is within this fraction of the least one will do (the relative
            primal-dual gap of its certificate). By default 1e-8, and places to 1e-6 of their scale; large images are faster with 1e-5.
        rollback : bool, optional
            Whether a run that diverges goes back to its last good state, at the memory of one message per edge. By default where
            no variable has more than 2**18 numbers.
        memory_limit : int, optional
            The most bytes that beliefs which are not isotropic may take, 2 GiB by default.
        exact : bool
            Whether linear channels have exact messages, whatever their ``route``.
        threads : int, optional
            How many threads large matrices use; all cores by default. Results do not depend on it.

        Returns
        -------
        Report
            Also kept as ``algo.report``. Ctrl-C and exceptions of a callback come through, and leave it there too. So do
            those inside a function of a module of one's own: there is no report then, but ``algo`` holds the state after
            the last whole sweep, and ``warm_start`` goes on from it.
        """
        del update_dA
        if self._snapshot is not None:
            raise RunError("a callback cannot start a run of the algorithm that calls it")
        if isinstance(callback, (list, tuple)):
            callback = JoinCallback(list(callback))
        if callback is not None and not callable(callback):
            raise TypeError(f"`callback` must be callable, got {type(callback).__name__}")
        if initializer is not None and not isinstance(initializer, Initializer):
            raise TypeError(f"`initializer` must be an Initializer, got {type(initializer).__name__}")
        limit = count(max_iter, "max_iter")
        if tol is None:
            tol = 0.0 if callback is not None else self.default_tol
        options = self._options(limit, tol, damping, steps, fallback)
        flags = {"acceleration": acceleration, "positive": positive, "exact": exact}
        options |= {name: flag(x, name) for name, x in flags.items()}
        options["perfect"] = None if perfect is None else number(perfect, "perfect")
        options["gap"] = None if gap is None else number(gap, "gap")
        options["rollback"] = None if rollback is None else flag(rollback, "rollback")
        options["memory_limit"] = None if memory_limit is None else count(memory_limit, "memory_limit", 0)
        options["threads"] = None if threads is None else count(threads, "threads")
        if initializer is not None:
            options["initial"] = initializer._messages(self.model, self._moments)
        warm = None
        if flag(warm_start, "warm_start"):
            if self.report is None and self._kept is None:
                raise RunError("`warm_start` needs an earlier run of this algorithm, there is none")
            warm = self._state().messages
        watch = None if callback is None else self._watched(callback, limit)
        if watch is None and any(map(calls_python, self.model.factors)):
            watch = self._keep
        self._log_cost()
        native = self._guarded(options, warm, watch)
        self.report = Report(native, self.model.variable_ids, bool(positive), self.model._tree.energies, self.model._tree.beliefs)
        if native.error is not None:
            raise native.error
        judged = tol > 0.0 or (callback is not None and self.residual > self.default_tol)
        self._log(self.report, judged)
        return self.report

    def _log_cost(self) -> None:
        """What the run will cost, where that is more than a few seconds."""
        if not self._on_data:
            return
        said, set_up, sweep, *_ = self.model._tree.cost
        if set_up + 10.0 * sweep > 5.0:
            _logger.info("estimated cost: %s", said)

    def _log(self, report: Report, judged: bool) -> None:
        """How a run ended; a warning where that may not be what is wanted. One that has neither a tolerance nor a callback is to make its
        sweeps, wherever they lead."""
        self._warn_if_unseen()
        reverted = bool(report.fallback and report.fallback["reverted"])
        failed = report.termination not in ("converged", "stopped") and (judged or report.termination != "sweep_limit")
        level = logging.WARNING if failed or reverted or report.adaptive else logging.INFO
        _logger.log(level, "%s: %s", type(self).__name__, report.message)

    def _warn_if_unseen(self) -> None:
        warn_if_unseen(self.model)

    def _guarded(self, options: dict[str, Any], warm: Any, watch: Any) -> Any:
        """A run, whose refusal names the observations that are missing; one that breaks off leaves its last sweep."""
        before, self._kept = self._kept, None
        try:
            native = self._run(options, warm, watch)
            self._kept = None
            return native
        except BaseException as error:
            if self._kept is None:
                self._kept = before
            else:
                self.report = None  # it was that of an earlier run
            unseen = [type(f).__name__ for f in self.model.factors if hasattr(f, "y_name") and getattr(f, "y", 0) is None]
            if isinstance(error, RunError) and unseen and _NO_RULE.search(str(error)):
                raise RunError(f"`y` of {', '.join(unseen)} is missing, and needed here: {error}") from None
            raise

    def _watched(self, callback: AnyCallback, limit: int) -> Callable[[_lib.Snapshot], bool]:
        def after_sweep(snapshot: _lib.Snapshot) -> bool:
            self._snapshot = self._kept = snapshot
            try:
                return bool(callback(self, snapshot.sweep - 1, limit))
            finally:
                self._snapshot = None

        return after_sweep

    def _keep(self, snapshot: _lib.Snapshot) -> bool:
        self._kept = snapshot
        return False

    def _options(
        self,
        max_iter: int,
        tol: float,
        damping: Any = None,
        steps: Any = None,
        fallback: str = "automatic",
    ) -> dict[str, Any]:
        if not isinstance(fallback, str):
            raise TypeError(f"`fallback` must be a string, got {type(fallback).__name__}")
        return {
            "max_sweeps": max_iter,
            "tolerance": number(tol, "tol"),
            "damping": self._damping(damping, steps),
            "initial": None,
            "fallback": fallback,
            "acceleration": True,
            "positive": False,
            "exact": False,
            "perfect": None,
            "gap": None,
            "rollback": None,
            "memory_limit": None,
            "threads": None,
        }

    def _damping(self, damping: Any, steps: Any) -> Any:
        if steps is not None:
            if damping is not None:
                raise TypeError("expected `damping` or `steps`, got both")
            given_steps = np.atleast_1d(array(steps, "steps")).tolist()
            if not given_steps:
                raise ValueError("`steps` must have at least one step, got none")
            return given_steps
        if damping is None:
            return None
        if isinstance(damping, str):
            if damping != "adaptive":
                known = "a number in [0, 1) (0 for none), a list of (id, direction, number) or 'adaptive'"
                raise RunError(f"`damping` must be {known}, got {damping!r}")
            return damping
        if not isinstance(damping, Iterable):
            return number(damping, "damping")
        given = []
        for entry in damping:
            if not isinstance(entry, (tuple, list)) or len(entry) != 3:
                raise TypeError(f"`damping` must hold (id, direction, number), got {entry!r}")
            id, direction, value = entry
            given += [(f, v, number(value, "damping")) for f, v in edges_of(self.model, id, direction)]
        return given

    # --- what is known

    def _state(self) -> Report | _lib.Snapshot:
        if self._snapshot is not None:
            return self._snapshot
        if self._kept is not None:
            return self._kept
        if self.report is None:
            raise NotKnown("nothing is known before a run: call .iterate() first")
        return self.report

    @property
    def n_iter(self) -> int:
        """Sweeps of the run, so far or at the end."""
        state = self._state()
        return state.sweep if isinstance(state, _lib.Snapshot) else state.sweeps

    @property
    def improper(self) -> int:
        """Updates that the last sweep skipped because a law was improper; what has not changed then need not have settled."""
        state = self._state()
        return state.improper if isinstance(state, _lib.Snapshot) else int(state.trace["improper"][-1])

    @property
    def residual(self) -> float:
        """The largest relative change of a variable's moments in the last sweep, or the residual of what took over from sweeps."""
        state = self._state()
        return state.residual if isinstance(state, _lib.Snapshot) else float(state.trace["residual"][-1])

    @property
    def in_fallback(self) -> bool:
        """In a callback: whether a fallback has taken over from the sweeps. After a run: whether one did."""
        state = self._state()
        return state.fallback if isinstance(state, _lib.Snapshot) else state.fallback is not None

    @property
    def step(self) -> float:
        """The part of the new messages that the last sweep took: :math:`1 - d` at damping :math:`d`, adaptive or given."""
        state = self._state()
        return state.step if isinstance(state, _lib.Snapshot) else float(state.trace["step"][-1])

    def get_variable_data(self, id: str) -> dict[str, Any]:
        """What is known about one variable, as in :meth:`get_variables_data`."""
        state = self._state()
        if isinstance(state, _lib.Snapshot):
            if id not in state.variables:
                known = ", ".join(f"`{name}`" for name in self.model.variable_ids)
                raise ValueError(f"there is no variable `{id}`: the model has {known}")
            return dict(state.variables[id])
        return state.variable(id)

    def get_variables_data(self, ids: Any = "all") -> dict[str, dict[str, Any]]:
        """What is known about variables, by name: the mean ``r`` of every component, and the variance ``v``, one number: that which an
        isotropic belief has for all components, else the average over them. Beliefs that are not isotropic have ``variances`` besides,
        one per component, and ``covariance`` where they hold matrices. In state evolution ``v`` and overlaps.

        They are copies: writing to them does not change the state, from which the run, and a warm start, go on.
        """
        if isinstance(ids, str):
            ids = self.model.variable_ids if ids == "all" else [ids]
        return {id: self.get_variable_data(id) for id in ids}

    def get_edges_data(self, keys: Any = None) -> list[dict[str, Any]]:
        """The messages on every edge, both ways: from a factor to a variable, and from all others to that variable.

        Parameters
        ----------
        keys : list of str, optional
            Which of ``a``, ``b``, ``A`` (the objective's term of the edge), ``n_iter`` and ``direction`` to include, besides
            the names ``x_id`` and ``f_id`` of the variable and the factor; all but ``A`` by default. ``direction`` is
            ``"fwd"`` along the direction of generation and ``"bwd"`` against it. A key that an edge has not is ``None``.
        """
        directions = {(f, v): d for f, v, d in self.model.edges}
        on_edges: dict[tuple[str, str], dict[str, Any]] = {}
        for factor, variable, numbers, linear in self._state().messages:
            forward = directions[factor, variable] == "forward"
            on_edges[factor, variable] = self._edge(numbers, linear, variable, forward)
        # both are in the order of the model's edges
        terms = dict(zip(on_edges, (A for _, A in self.objective()["edges"]))) if keys is not None and "A" in keys else {}
        found = []
        for (factor, variable), data in on_edges.items():
            forward = directions[factor, variable] == "forward"
            others = [d for (f, v), d in on_edges.items() if v == variable and f != factor]
            shared = {"n_iter": self.n_iter, "A": terms.get((factor, variable))}
            ends = {"x_id": variable, "f_id": factor}
            for out, message in ((True, data), (False, _summed(others))):
                way = {"source": factor, "target": variable} if out else {"source": variable, "target": factor}
                direction = "fwd" if forward == out else "bwd"
                whole = {**message, **shared, "direction": direction}
                if keys is None:
                    whole.pop("A")
                    found.append({**ends, **way, **whole})
                else:
                    found.append({**ends, **{key: whole.get(key) for key in keys}})
        return found

    def get_nodes_data(self, keys: Any = ("A",)) -> list[dict[str, Any]]:
        """The term ``A`` of every node in the objective, its ``id``, ``type`` and ``n_iter``; ``v`` and ``r`` of variables."""
        objective = self.objective()
        found = []
        for kind, terms in (("factor", objective["factors"]), ("variable", objective["variables"])):
            for name, value in terms:
                data: dict[str, Any] = self.get_variable_data(name) if kind == "variable" else {}
                data["A"] = value
                shown = {key: data.get(key) for key in keys}
                found.append({"id": name, "type": kind, **shown, "n_iter": self.n_iter})
        return found

    @property
    def A_model(self) -> float:
        """The objective: log-evidence, minus the energy, or free entropy, now or at the end."""
        return float(self.objective()["total"])

    def objective(self) -> dict[str, Any]:
        """The Bethe objective with its terms, now or at the end."""
        raise NotImplementedError

    def log_evidence(self) -> float:
        r""":math:`\ln p(y)`, which expectation propagation alone approximates; refused by the others."""
        raise RunError(NO_EVIDENCE[self._kind])

    def surprisal(self) -> float:
        r""":math:`-\ln p(y)`, as :meth:`log_evidence`."""
        return -self.log_evidence()

    def _edge(self, numbers: list[float], linear: list[float], variable: str, forward: bool) -> dict[str, Any]:
        raise NotImplementedError


def warn_if_unseen(*models: Model) -> bool:
    """Warns where one of these models has no observations, of known or unknown values; whether it did."""
    unseen = any(not model.observations and all(f.n_next > 0 for f in model.factors) for model in models)
    if unseen:
        _logger.warning("nothing is observed: the result is the law of the model itself")
    return unseen


def calls_python(factor: Any) -> bool:
    """Whether a factor calls functions of somebody's own, which may raise."""
    return hasattr(factor, "_given") or bool(getattr(factor, "_is_written", False))


def _summed(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Messages to a variable, added up key by key; a pin, whose ``b`` is a place, absorbs the others."""
    for message in messages:
        if np.all(np.isinf(message.get("a", 0.0))):
            return dict(message)
        if np.any(message.get("pinned", False)):
            return {}
    keys = set.intersection(*(set(message) for message in messages)) if messages else set()
    return {key: sum(message[key] for message in messages) for key in sorted(keys - {"pinned"})}
