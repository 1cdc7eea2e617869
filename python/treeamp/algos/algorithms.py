"""Expectation propagation, maximum a posteriori estimation and state evolution."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .. import _lib
from .._arrays import Array, check_seed, count, flag, number
from ..errors import RunError
from ..models import Model
from .initial_conditions import ConstantInit, Initializer
from .message_passing import MessagePassing, calls_python, warn_if_unseen
from .report import FixedPoint, Report

__all__ = ["MAP", "ExpectationPropagation", "StateEvolution"]

#: An error that differs by less than this from the second moment of the signal carries no information on it.
_NOTICEABLE = 1e-3
#: Slight knowledge, relative to the second moment; that of an uninformed start of ``phase_report``.
_PUSH = 1e-4

_logger = logging.getLogger("treeamp")


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

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        #: The runs of the last :meth:`restart` that did not settle, with their starts.
        self.unsettled: list[FixedPoint] = []

    def _run(self, options: dict[str, Any], warm: Any, callback: Any) -> _lib.Posterior:
        return _lib.expectation_propagation(self.model._tree, options, warm, callback)

    def _edge(self, numbers: list[float], linear: list[float], variable: str, forward: bool) -> dict[str, Any]:
        return _gaussian_edge(numbers, linear)

    def restart(
        self,
        seeds: int | Iterable[int] = 4,
        strength: float = 0.3,
        *,
        plain: bool = True,
        starts: Mapping[str, Initializer] | None = None,
        max_iter: int = 200,
        damping: Any = None,
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
        starts : dict, optional
            Also from these initial conditions, by name, such as :class:`NearInit` of an estimate.
        max_iter, damping, tol
            As of :meth:`iterate`.

        Returns
        -------
        list of FixedPoint
            The fixed points found, distinguished up to a global sign or phase, the one of the largest evidence first; it
            is also ``algo.report``. Empty when no run settled: the report is then one of them. ``algo.unsettled`` holds the
            runs that did not.
        """
        chosen = list(range(count(seeds, "seeds", 0))) if isinstance(seeds, int) else [check_seed(s) for s in seeds]
        named = {str(name): start for name, start in (starts or {}).items()}
        for start in named.values():
            if not isinstance(start, Initializer):
                raise TypeError(f"`starts` must hold Initializers by name, got {type(start).__name__}")
        plain = flag(plain, "plain")
        if not plain and not chosen and not named:
            raise ValueError("`seeds` must give at least one start, got none")
        options = self._options(count(max_iter, "max_iter"), self.default_tol if tol is None else tol, damping)
        tree, ids = self.model._tree, self.model.variable_ids
        given = [(name, start._messages(self.model, self._moments)) for name, start in named.items()]
        strength = number(strength, "strength")
        runs = _lib.restarts(tree, options, plain, chosen, strength, given)
        found, self.unsettled = (
            [FixedPoint(Report(native, ids, energies=tree.energies, beliefs=tree.beliefs), names) for native, names in part] for part in runs
        )
        self.report = (found or self.unsettled)[0].report
        self._log_restarts(found)
        return found

    def _log_restarts(self, found: list[FixedPoint]) -> None:
        """How many fixed points there are, and how the run that is kept ended; a warning where none settled."""
        self._warn_if_unseen()
        of_starts = sum(len(point.starts) for point in [*found, *self.unsettled])
        said = f"{len(found)} fixed point{'s' if len(found) != 1 else ''} from {of_starts} start{'s' if of_starts != 1 else ''}"
        if self.unsettled:
            said += f", {sum(len(point.starts) for point in self.unsettled)} did not settle"
        kept = (found or self.unsettled)[0]
        level = logging.INFO if found else logging.WARNING
        _logger.log(level, "ExpectationPropagation: %s; kept that of %s: %s", said, kept.starts[0], kept.report.message)

    def objective(self) -> dict[str, Any]:
        """The Bethe objective with its terms, now or at the end."""
        state = self._state()
        if isinstance(state, _lib.Snapshot):
            return _lib.objective_at(self.model._tree, state.messages)
        return state.objective()

    def log_evidence(self) -> float:
        r""":math:`\ln p(y)`, a sum over all components; exact on Gaussian trees. There is none beside a penalty or a loss."""
        if unnormalised := self.model._tree.energies:
            raise RunError(f"the log-evidence is not defined: factor `{unnormalised[0]}` is not a probability distribution")
        return float(self.objective()["total"])


class StateEvolution(MessagePassing):
    r"""State evolution: what expectation propagation will do in the limit of large sizes.

    Parameters
    ----------
    model : Model
        A model with observations, whose values do not matter (``y=None`` in a likelihood, ``to_observed({"y": None})``), or
        in the limit. Teacher and student are the same: Bayes-optimal. A model without observations is its own prior: the
        logger ``treeamp`` warns.
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

    _kind = "evolution"
    _on_data = False

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
        self._tau: dict[str, float] | None = None
        if not self._has_rows() and not any(map(calls_python, (teacher or model).factors)):
            self._teacher_moments()  # a law without a second moment is refused here, and not when it runs

    def _run(self, options: dict[str, Any], warm: Any, callback: Any) -> _lib.Evolution:
        teacher = None if self.teacher is None else self.teacher._tree
        return _lib.state_evolution(self.model._tree, options, teacher, warm, callback)

    def _moments(self) -> dict[str, float]:
        return (self.teacher or self.model).init_second_moments()

    def _edge(self, numbers: list[float], linear: list[float], variable: str, forward: bool) -> dict[str, Any]:
        if self._has_rows():
            size = math.isqrt(len(numbers))
            return {"q_hat": np.reshape(numbers, (size, size))}
        if len(numbers) == 1:
            sources = sum(v == variable and d == "forward" for _, v, d in self.model.edges)
            if forward and sources > 1:
                return {"m_hat": numbers[0]}
            # the teacher's law of a variable, seen from below, is Gaussian with its second moment
            prior = 1 / self._teacher_moments()[variable] if forward else 0.0
            return {"a": numbers[0] + prior, "m_hat": numbers[0]}
        m_hat, q_hat, tau_hat = numbers
        return {"a": q_hat + tau_hat, "m_hat": m_hat, "q_hat": q_hat, "tau_hat": tau_hat}

    def _has_rows(self) -> bool:
        """Beliefs are one matrix per row, and so are overlaps."""
        return any(belief.startswith("block") for belief in self.model._tree.beliefs)

    def _warn_if_unseen(self) -> None:
        warn_if_unseen(self.model, self.teacher or self.model)

    def _log(self, report: Report, judged: bool) -> None:
        report._symmetric = self._symmetric(report)
        super()._log(report, judged)
        if report._symmetric is not None:
            _logger.warning("StateEvolution: `%s`: %s", report._symmetric, report.notes[report._symmetric])

    def _symmetric(self, report: Report) -> str | None:
        """The first variable, where the prediction rests where nothing is known of it, and slight knowledge leads away from there, as
        even outputs have it."""
        if self.teacher is not None or self._has_rows():
            return None
        id = self.model.variable_ids[0]
        second_moment, mse = self._teacher_moments()[id], report.variable(id)["v"]
        nothing = (1 - _NOTICEABLE) * second_moment
        if not mse >= nothing:
            return None
        left = False

        def watch(snapshot: _lib.Snapshot) -> bool:
            nonlocal left
            left = bool(snapshot.variables[id]["v"] < nothing)
            return left

        options = self._options(200, self.default_tol)
        options["initial"] = ConstantInit(a=_PUSH / second_moment)._messages(self.model, self._moments)
        self._run(options, None, watch)
        return id if left else None

    def _teacher_moments(self) -> dict[str, float]:
        if self._tau is None:
            self._tau = self._moments()
        return self._tau

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
        return state.objective()

    def free_entropy(self) -> float:
        r""":math:`\bar A` per component of the first variable, now or at the end."""
        return float(self.objective()["total"])

    def entropy(self) -> float:
        """Entropy of the measurements (cross-entropy when mismatched), in nats per component of the first variable."""
        return self._reported().entropy()

    def mutual_information(self) -> float:
        """Information of the measurements on the hidden variables, in nats per component of the first variable."""
        return self._reported().mutual_information()

    def information(self) -> dict[str, Any]:
        """The entropy of the measurements and its terms, of ``factors``, ``variables``, ``edges`` (to be subtracted) and ``noise``."""
        return self._reported().information()

    def divergences(self) -> dict[str, float]:
        r"""How much the evidence of every factor of the student differs from the teacher's, :math:`K_k`, by name.

        Zero where they are the same; per component of the factor's first variable.
        """
        return self._reported().divergences()


class MAP(MessagePassing):
    r"""Maximum a posteriori estimation: the minimiser of :math:`E(x) = -\ln p(x, y)`, or of a sum of penalties.

    Expectation propagation at zero temperature. Where its sweeps do not settle, and every energy is convex, a splitting
    takes over that is certain to reach a minimiser. ``get_variables_data`` returns the minimiser ``r``, in which zeros of
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

    default_tol = 1e-12
    _kind = "minimum"

    def _run(self, options: dict[str, Any], warm: Any, callback: Any) -> _lib.Minimum:
        return _lib.maximum_a_posteriori(self.model._tree, options, warm, callback)

    def _edge(self, numbers: list[float], linear: list[float], variable: str, forward: bool) -> dict[str, Any]:
        return _gaussian_edge(numbers, linear)

    def objective(self) -> dict[str, Any]:
        """The Bethe objective with its terms, now or at the end: minus the least energy at a fixed point."""
        state = self._state()
        if isinstance(state, _lib.Snapshot):
            return _lib.energy_objective_at(self.model._tree, state.messages)
        return state.objective()

    def minimiser(self, id: str) -> Array:
        """The minimiser at a variable."""
        place: Array = self.get_variable_data(id)["r"]
        return place

    def energies(self) -> dict[str, float]:
        """The energy of every factor at the minimiser, by name."""
        state = self._state()
        if isinstance(state, _lib.Snapshot):
            raise RunError("energies are known at the end of a run; use objective() in a callback")
        return state.energies()

    def energy(self) -> float:
        r"""The least energy :math:`E(x) = \sum_k E_k(x_k)`.

        Of a prior it is :math:`\ln p(x^*) - \ln p(x)` with its mode :math:`x^*`, of Gaussian noise :math:`|y - z|^2/2\Delta`, of other likelihoods
        :math:`-\ln p(y \mid z)`; losses and penalties are as they are written. It differs from :math:`-\ln p(x, y)` by constants of the model:
        compare energies of one model only.
        """
        return float(sum(self.energies().values()))


def _gaussian_edge(numbers: list[float], linear: list[float]) -> dict[str, Any]:
    """A Gaussian message: precisions by their structure; ``pinned`` blocks hold a covariance and a place instead."""
    n = len(linear)
    if len(numbers) == 1:
        return {"a": numbers[0], "b": np.array(linear)}
    if len(numbers) == n:
        return {"a": np.array(numbers), "b": np.array(linear)}
    d = next(d for d in range(1, n + 1) if n % d == 0 and n * d + n // d == len(numbers))
    blocks = np.array(numbers[: n * d]).reshape(n // d, d, d)
    return {"a": blocks, "b": np.array(linear), "pinned": np.array(numbers[n * d :]) > 0}
