"""Expectation propagation, maximum a posteriori estimation and state evolution."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .. import _lib
from .._arrays import Array, array, check_seed, count, number
from ..base import ReprMixin
from ..errors import RunError
from ..models import Model
from .initial_conditions import Initializer, edges_of
from .report import FixedPoint, Report

__all__ = ["MAP", "ExpectationPropagation", "MessagePassing", "StateEvolution"]

#: A callback takes the algorithm, the iteration from 0 on, and their largest number; it stops a run by being true.
AnyCallback = Callable[[Any, int, int], Any]


class MessagePassing(ReprMixin):
    """What expectation propagation and state evolution share."""

    #: Converged when the residual falls below this.
    default_tol = 1e-6
    #: What no ``damping`` means.
    default_damping: Any = None

    def __init__(self, model: Model) -> None:
        if not isinstance(model, Model):
            raise TypeError(f"`model` must be a Model, got {type(model).__name__}; call .to_model() first")
        self.model = model
        self.report: Report | None = None
        self._snapshot: _lib.Snapshot | None = None

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__, _snapshot=None)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r})"

    def _run(self, options: dict[str, Any], warm: Any, callback: Any) -> Any:
        raise NotImplementedError

    def _moments(self) -> dict[str, float]:
        return self.model.init_second_moments()

    def iterate(
        self,
        max_iter: int = 200,
        callback: AnyCallback | None = None,
        initializer: Initializer | None = None,
        damping: Any = None,
        warm_start: bool = False,
        update_dA: bool = False,
        *,
        tol: float | None = None,
        steps: Any = None,
        fallback: str = "automatic",
        acceleration: bool = True,
        memory_limit: int | None = None,
    ) -> Report:
        """Runs at most ``max_iter`` sweeps.

        Parameters
        ----------
        max_iter : int
            Largest number of sweeps.
        callback : callable, optional
            Called as ``callback(algo, i, max_iter)`` after every sweep; a true answer stops the run. It reads the
            state through ``algo``, and cannot change it. With a callback the run has no other stopping rule, unless
            ``tol`` is given.
        initializer : Initializer, optional
            Messages before the first sweep; flat ones by default.
        damping : float, list of (id, direction, float) or "adaptive", optional
            How much of the previous message is kept, from 0 to below 1: everywhere, or on the messages to a
            variable in a direction (``"fwd"`` or ``"bwd"``); or none while the run settles by itself and more when it
            does not. None by default; maximum a posteriori estimation is adaptive by default.
        warm_start : bool
            Starts from the messages of the last run.
        update_dA : bool
            Kept for scripts that give it; the objective is always computed at the end.
        tol : float, optional
            Converged when the moments change by less than this, relative to the signal.
        steps : list of float, optional
            Instead of ``damping``: how much of the new message is taken, from above 0 to 1, sweep by sweep; the last
            number stays.
        fallback : str
            When the certain but slower way takes over (a double loop on the Bethe objective, or a splitting of the
            energy): ``"automatic"``, where an adaptively damped run does not settle; ``"forced"``; ``"forbidden"``.
        acceleration : bool
            Whether an adaptively damped run jumps ahead near its fixed point.
        memory_limit : int, optional
            The most bytes that beliefs which are not isotropic may take, 2 GiB by default.

        Returns
        -------
        Report
            Also kept as ``algo.report``. Ctrl-C and exceptions of a callback come through, and leave it there too.
        """
        del update_dA
        if self._snapshot is not None:
            raise RunError("a callback cannot start a run of the algorithm that calls it")
        if callback is not None and not callable(callback):
            raise TypeError(f"`callback` must be callable, got {type(callback).__name__}")
        if initializer is not None and not isinstance(initializer, Initializer):
            raise TypeError(f"`initializer` must be an Initializer, got {type(initializer).__name__}")
        limit = count(max_iter, "max_iter")
        if tol is None:
            tol = 0.0 if callback is not None else self.default_tol
        options = self._options(limit, tol, damping, steps, fallback, acceleration, memory_limit)
        if initializer is not None:
            options["initial"] = initializer.native(self.model, self._moments)
        warm = None
        if warm_start:
            if self.report is None:
                raise RunError("`warm_start` needs an earlier run of this algorithm, there is none")
            warm = self.report.messages
        native = self._run(options, warm, None if callback is None else self._told(callback, limit))
        self.report = Report(native, self.model.variable_ids)
        if native.error is not None:
            raise native.error
        return self.report

    def _told(self, callback: AnyCallback, limit: int) -> Callable[[_lib.Snapshot], bool]:
        def after_sweep(snapshot: _lib.Snapshot) -> bool:
            self._snapshot = snapshot
            try:
                return bool(callback(self, snapshot.sweep - 1, limit))
            finally:
                self._snapshot = None

        return after_sweep

    def _options(
        self,
        max_iter: int,
        tol: float,
        damping: Any = None,
        steps: Any = None,
        fallback: str = "automatic",
        acceleration: bool = True,
        memory_limit: int | None = None,
    ) -> dict[str, Any]:
        if not isinstance(fallback, str):
            raise TypeError(f"`fallback` must be a string, got {type(fallback).__name__}")
        return {
            "max_sweeps": max_iter,
            "tolerance": number(tol, "tol"),
            "damping": self._damping(damping, steps),
            "initial": None,
            "fallback": fallback,
            "acceleration": bool(acceleration),
            "memory_limit": None if memory_limit is None else count(memory_limit, "memory_limit", 0),
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
            return self.default_damping
        if isinstance(damping, str):
            if damping != "adaptive":
                known = "a number, a list of (id, direction, number) or 'adaptive'"
                raise TypeError(f"`damping` must be {known}, got {damping!r}")
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
        if self.report is None:
            raise RunError("nothing is known before a run: call .iterate() first")
        return self.report

    @property
    def n_iter(self) -> int:
        """Sweeps of the run, so far or at the end."""
        state = self._state()
        return state.sweep if isinstance(state, _lib.Snapshot) else state.sweeps

    def get_variable_data(self, id: str) -> dict[str, Any]:
        """What is known about one variable."""
        state = self._state()
        if isinstance(state, _lib.Snapshot):
            if id not in state.variables:
                known = ", ".join(f"`{name}`" for name in self.model.variable_ids)
                raise ValueError(f"there is no variable `{id}`: the model has {known}")
            return dict(state.variables[id])
        return state.variable(id)

    def get_variables_data(self, ids: Any = "all") -> dict[str, dict[str, Any]]:
        """What is known about variables, by name: ``r`` and ``v``; in state evolution ``v`` and overlaps."""
        if isinstance(ids, str):
            ids = self.model.variable_ids if ids == "all" else [ids]
        return {id: self.get_variable_data(id) for id in ids}

    def get_edges_data(self) -> list[dict[str, Any]]:
        """The messages from factors to variables."""
        directions = {(f, v): d for f, v, d in self.model.edges}
        found = []
        for factor, variable, numbers, linear in self._state().messages:
            data: dict[str, Any] = {"factor": factor, "variable": variable, "direction": directions[factor, variable]}
            data.update(self._edge(numbers, linear))
            found.append(data)
        return found

    @staticmethod
    def _edge(numbers: list[float], linear: list[float]) -> dict[str, Any]:
        raise NotImplementedError


class ExpectationPropagation(MessagePassing):
    r"""Expectation propagation with Gaussian beliefs, isotropic ones unless a variable has another ``belief``.

    Its fixed points match means and variances on every edge; they are those of VAMP and its generalisations.

    Parameters
    ----------
    model : Model
        A model with observations.

    Examples
    --------
    >>> from treeamp.priors import GaussianPrior
    >>> from treeamp.likelihoods import GaussianLikelihood
    >>> from treeamp.variables import V
    >>> model = (GaussianPrior(size=2) @ V("x") @ GaussianLikelihood(y=[1.0, -2.0], var=1.0)).to_model()
    >>> ep = ExpectationPropagation(model)
    >>> ep.iterate(max_iter=10)
    <Report: converged after 2 sweeps>
    >>> ep.get_variables_data(["x"])
    {'x': {'r': array([ 0.5, -1. ]), 'v': 0.5}}
    >>> round(ep.log_evidence(), 6)
    -3.781024
    """

    def _run(self, options: dict[str, Any], warm: Any, callback: Any) -> _lib.Posterior:
        return _lib.expectation_propagation(self.model._tree, options, warm, callback)

    @staticmethod
    def _edge(numbers: list[float], linear: list[float]) -> dict[str, Any]:
        return _gaussian_edge(numbers, linear)

    def restart(
        self,
        seeds: int | Iterable[int] = 4,
        strength: float = 0.3,
        *,
        plain: bool = True,
        max_iter: int = 200,
        damping: Any = "adaptive",
        tol: float | None = None,
    ) -> list[FixedPoint]:
        """Runs from several starts, and keeps the report of the best.

        A model that does not change when all signs do has a fixed point at which every mean is zero, and a run from
        flat messages stays there: pushes leave it.

        Parameters
        ----------
        seeds : int or iterable of int
            That many pushes from seed 0 on, or from these seeds.
        strength : float
            Of the pushes, in standard deviations of every variable.
        plain : bool
            Also from flat messages.
        max_iter, damping, tol
            As of :meth:`iterate`.

        Returns
        -------
        list of FixedPoint
            The fixed points found, told apart up to a global sign or phase, the one of the largest evidence first; it
            is also ``algo.report``. Empty when no run settled: the report is then one of them.
        """
        chosen = list(range(count(seeds, "seeds", 0))) if isinstance(seeds, int) else [check_seed(s) for s in seeds]
        if not plain and not chosen:
            raise ValueError("`seeds` must give at least one start, got none")
        options = self._options(count(max_iter, "max_iter"), self.default_tol if tol is None else tol, damping)
        tree, ids = self.model._tree, self.model.variable_ids
        points, unsettled = _lib.restarts(tree, options, bool(plain), chosen, number(strength, "strength"))
        self.report = Report((points or unsettled)[0][0], ids)
        found = [FixedPoint(Report(native, ids), starts) for native, starts in points]
        if found:
            self.report = found[0].report
        return found

    def objective(self) -> dict[str, Any]:
        """The Bethe objective with its terms, now or at the end."""
        state = self._state()
        if isinstance(state, _lib.Snapshot):
            return _lib.objective_at(self.model._tree, state.messages)
        return state.objective

    def log_evidence(self) -> float:
        r""":math:`\ln p(y)`, a sum over all components; exact on Gaussian trees."""
        return float(self.objective()["total"])

    def surprisal(self) -> float:
        r""":math:`-\ln p(y)`."""
        return -self.log_evidence()


class StateEvolution(MessagePassing):
    r"""State evolution: what expectation propagation will do in the limit of large sizes.

    Parameters
    ----------
    model : Model
        A model with observations, whose values do not matter, or in the limit. Teacher and student are the same:
        Bayes-optimal.
    teacher, student : Model, optional
        Instead of ``model``: the error of ``student`` on data of ``teacher``, replica symmetric. They share the
        tree and may differ in any factor.

    Examples
    --------
    >>> from treeamp.models import glm_state_evolution
    >>> model = glm_state_evolution(alpha=1.0, prior_type="gaussian", output_type="gaussian", output_var=0.1)
    >>> se = StateEvolution(model)
    >>> se.iterate(max_iter=200).converged
    True
    >>> round(se.get_variables_data(["x"])["x"]["v"], 6)
    0.270156
    """

    default_tol = 1e-9

    def __init__(self, model: Model | None = None, *, teacher: Model | None = None, student: Model | None = None) -> None:
        if model is None:
            if teacher is None or student is None:
                raise TypeError("expected a model, or both a teacher and a student")
            model = student
        elif student is not None:
            raise TypeError("expected a model, or both a teacher and a student, got a model and a student")
        if teacher is not None and not isinstance(teacher, Model):
            raise TypeError(f"`teacher` must be a Model, got {type(teacher).__name__}")
        super().__init__(model)
        self.teacher = teacher

    def _run(self, options: dict[str, Any], warm: Any, callback: Any) -> _lib.Evolution:
        teacher = None if self.teacher is None else self.teacher._tree
        return _lib.state_evolution(self.model._tree, options, teacher, warm, callback)

    def _moments(self) -> dict[str, float]:
        return (self.teacher or self.model).init_second_moments()

    @staticmethod
    def _edge(numbers: list[float], linear: list[float]) -> dict[str, Any]:
        if len(numbers) == 1:
            return {"a": numbers[0], "m_hat": numbers[0]}
        m_hat, q_hat, tau_hat = numbers
        return {"a": q_hat + tau_hat, "m_hat": m_hat, "q_hat": q_hat, "tau_hat": tau_hat}

    def _reported(self) -> Report:
        state = self._state()
        if isinstance(state, _lib.Snapshot):
            raise RunError("entropies are known at the end of a run; use free_entropy() in a callback")
        return state

    def objective(self) -> dict[str, Any]:
        """The averaged Bethe objective per component of the first variable, with its terms."""
        state = self._state()
        if isinstance(state, _lib.Snapshot):
            teacher = None if self.teacher is None else self.teacher._tree
            return _lib.evolution_objective_at(self.model._tree, state.messages, teacher)
        return state.objective

    def free_entropy(self) -> float:
        r""":math:`\bar A` per component of the first variable, now or at the end."""
        return float(self.objective()["total"])

    def entropy(self) -> float:
        """Entropy of the measurements (cross-entropy when mismatched), in nats per component of the first variable."""
        return self._reported().entropy

    def mutual_information(self) -> float:
        """Information of the measurements on the hidden variables, in nats per component of the first variable."""
        return self._reported().mutual_information


class MAP(MessagePassing):
    r"""Maximum a posteriori estimation: the minimiser of :math:`E(x) = -\ln p(x, y)`, or of a sum of penalties.

    Expectation propagation at zero temperature. Where its sweeps do not settle, and every energy is convex, a splitting
    takes over that is certain to reach a minimiser. ``get_variables_data`` tells the minimiser ``r``, in which zeros of
    a sparse signal are zeros and channels give what they take, and the curvature ``v``, which is no uncertainty. While
    it runs, a callback sees the place where the messages are.

    Parameters
    ----------
    model : Model
        A model with observations, of penalties, Gaussian priors and likelihoods, and linear channels.

    Examples
    --------
    The lasso:

    >>> import numpy as np
    >>> from treeamp.channels import LinearChannel
    >>> from treeamp.likelihoods import GaussianLikelihood
    >>> from treeamp.priors import MAP_L1NormPrior
    >>> from treeamp.variables import V
    >>> W = np.array([[1.0, 0.5, -0.2], [0.0, 1.0, 0.3]])
    >>> model = (MAP_L1NormPrior(3, gamma=0.1) @ V("x") @ LinearChannel(W) @ V("z")
    ...          @ GaussianLikelihood(y=[1.0, 2.0], var=1.0)).to_model()
    >>> lasso = MAP(model)
    >>> lasso.iterate().converged
    True
    >>> lasso.minimiser("x").round(6)
    array([0.  , 1.92, 0.  ])
    """

    default_tol = 1e-9
    default_damping = "adaptive"

    def _run(self, options: dict[str, Any], warm: Any, callback: Any) -> _lib.Minimum:
        return _lib.maximum_a_posteriori(self.model._tree, options, warm, callback)

    @staticmethod
    def _edge(numbers: list[float], linear: list[float]) -> dict[str, Any]:
        return _gaussian_edge(numbers, linear)

    def objective(self) -> dict[str, Any]:
        """The Bethe objective with its terms, now or at the end: minus the least energy at a fixed point."""
        state = self._state()
        if isinstance(state, _lib.Snapshot):
            return _lib.energy_objective_at(self.model._tree, state.messages)
        return state.objective

    def minimiser(self, id: str) -> Array:
        """The minimiser at a variable."""
        place: Array = self.get_variable_data(id)["r"]
        return place

    def energies(self) -> dict[str, float]:
        """The energy of every factor at the minimiser, by name."""
        state = self._state()
        if isinstance(state, _lib.Snapshot):
            raise RunError("energies are known at the end of a run; use objective() in a callback")
        return state.energies

    def energy(self) -> float:
        r"""The least energy :math:`E(x) = \sum_k E_k(x_k)`, without the constants that normalise Gaussian densities."""
        return float(sum(self.energies().values()))


def _gaussian_edge(numbers: list[float], linear: list[float]) -> dict[str, Any]:
    """A Gaussian message: precisions by their structure; ``pinned`` blocks hold a covariance and a place instead."""
    n = len(linear)
    if len(numbers) == 1:
        return {"a": numbers[0], "b": linear}
    if len(numbers) == n:
        return {"a": np.array(numbers), "b": linear}
    d = next(d for d in range(1, n + 1) if n % d == 0 and n * d + n // d == len(numbers))
    blocks = np.array(numbers[: n * d]).reshape(n // d, d, d)
    return {"a": blocks, "b": linear, "pinned": np.array(numbers[n * d :]) > 0}
