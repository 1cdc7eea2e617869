"""What a run leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .. import _html, _lib
from .._arrays import Array
from ..errors import NotKnown, RunError

__all__ = ["NO_EVIDENCE", "FixedPoint", "Report"]

#: What is computed when asked for first, and kept by a pickle.
_LAZY = (
    "termination",
    "message",
    "_end",
    "sweeps",
    "seconds",
    "trace",
    "variances",
    "messages",
    "_settling",
    "_objective",
    "_information",
    "_theory",
    "_energies",
)


#: Columns of the table that notebooks show, where a variable has them.
_COLUMNS = ("variable", "shape", "belief", "mean", "variance", "std", "not zero", "mse")


#: Why a run that is no expectation propagation has no log-evidence.
NO_EVIDENCE = {
    "evolution": "`log_evidence` belongs to expectation propagation, this run is state evolution: `objective()` has the average free "
    "entropy, and `entropy()` that of the measurements",
    "minimum": "`log_evidence` belongs to expectation propagation, this run is maximum a posteriori: `energy()` is the least energy",
}


class Report:
    """The result of a run: moments, trace, messages, objective, and how it ended.

    Attributes
    ----------
    termination : str
        ``"converged"``, ``"sweep_limit"``, ``"fallback_limit"``, ``"diverging"`` or ``"stopped"``; of a run that came to rest at a state
        that is no answer ``"contradicted"``, ``"collapsed"``, ``"not_stationary"``, ``"not_iid"``, ``"unbounded"``,
        ``"infimum_not_attained"`` or ``"infeasible"``.
    message : str
        How the run ended and after how much work, in one sentence, with the place and the reason of a divergence.
    sweeps : int
        Sweeps done.
    trace : dict
        ``sweep``, ``residual``, ``improper`` (skipped updates) and ``step`` (the part of the new messages that was taken, where
        damping is adaptive), one entry per sweep.
    variances : dict
        Average variance of every variable, one entry per sweep.
    positive : bool
        Whether negative precisions were set to zero, as asked for. A variable that still gets such a message is then not at a
        fixed point of expectation propagation.
    adaptive : bool
        Whether the run started again with adaptive damping, because it diverged or did not settle with the given one.
    fallback : dict or None
        What took over from sweeps that did not settle, or was forced: its ``method``, how it came to its ``end``, ``steps``,
        ``evaluations``, its own ``residual``, the ``sweep_residual`` of a sweep from there, whether the run ``reverted`` to the
        state of the sweeps, the width of ``smoothing`` (penalties were smoothed, and variances refer to the smoothed ones), the ``free_energy`` after every step of a double loop, and the ``descent`` along which that falls
        without bound, if it does.
    no_fallback : str or None
        Why nothing could take over, where something was to.
    routes : dict
        The route that every linear channel with a choice took, ``"exact"`` or ``"iid"``, and why, by factor.
    notes : dict
        What factors have to say of the run, by factor: such as a start of their own. In state evolution by variable: that the prediction
        rests at the symmetric point.
    attempts : list of dict
        Everything that was tried, in order: the ``attempt``, its ``smoothing``, ``evaluations``, ``residual`` and ``end``.
    messages : list
        Messages from factors to variables, ``(factor, variable, precision, linear)``.
    """

    def __init__(
        self,
        native: _lib.Posterior | _lib.Evolution | _lib.Minimum,
        ids: list[str],
        positive: bool = False,
        energies: Sequence[str] = (),
        beliefs: Sequence[str] = (),
    ) -> None:
        self._native: Any = native
        self._kind = type(native).__name__.lower()
        self.variable_ids = ids
        #: The structure of the belief on every variable, which says whether its variance is an average.
        self._beliefs = dict(zip(ids, beliefs))
        self.positive = positive
        #: Factors that are not probability distributions: there is no evidence beside them.
        self._unnormalised = list(energies)
        #: State evolution: a variable at the symmetric point.
        self._symmetric: str | None = None

    def __getstate__(self) -> dict[str, Any]:
        for name in _LAZY:
            getattr(self, name)
        state = dict(self.__dict__, _native=None)
        state["_variables"] = {id: self.variable(id) for id in self.variable_ids}
        return state

    def __repr__(self) -> str:
        return f"<Report: {self.message}>"

    def _repr_html_(self) -> str:
        rows = [self._row(id, self.variable(id)) for id in self.variable_ids]
        columns = [name for name in _COLUMNS if any(name in row for row in rows)]
        table = _html.table(columns, [[row.get(name, "") for name in columns] for row in rows])
        notes = "".join(_html.paragraph(f"{name}: {note}") for name, note in self.notes.items())
        return _html.paragraph(self.message) + table + notes + self._total()

    def _row(self, id: str, known: dict[str, Any]) -> dict[str, Any]:
        """One line of the table. The curvature at a minimiser is no uncertainty, and not in it."""
        row: dict[str, Any] = {"variable": id}
        if "r" in known:
            row |= {"shape": " x ".join(map(str, np.shape(known["r"]))), "mean": float(np.mean(known["r"]))}
        if "v" in known and self._kind != "minimum":
            if id in self._beliefs and self._kind == "posterior":
                row["belief"] = self._beliefs[id]
            row |= {"variance": float(known["v"]), "std": float(np.sqrt(max(known["v"], 0.0)))}
        if known.get("variances") is not None:
            spread = np.sqrt(np.maximum(known["variances"], 0.0))
            row["std"] = f"{spread.min():.4g} to {spread.max():.4g}"
        if known.get("inclusion") is not None:
            row["not zero"] = f"{known['inclusion'].sum():.4g} expected"
        return row | {name: float(known[name]) for name in ("mse",) if known.get(name) is not None}

    def _total(self) -> str:
        """The log-evidence or the energy, where there is one."""
        if self._energies:
            return _html.paragraph(f"energy {sum(self._energies.values()):.6g}")
        if self._kind == "posterior" and not self._unnormalised and not isinstance(self._objective, Exception):
            return _html.paragraph(f"log-evidence {self._objective['total']:.6g}")
        return ""

    def variable(self, id: str) -> dict[str, Any]:
        """What is known about a variable: ``r`` and ``v``, or the predictions of state evolution."""
        if self._native is not None:
            return self._native.variable(id)  # type: ignore[no-any-return]
        if id not in self.variable_ids:
            known = ", ".join(f"`{name}`" for name in self.variable_ids)
            raise ValueError(f"there is no variable `{id}`: the model has {known}")
        return dict(self.__dict__["_variables"][id])

    def mean(self, id: str) -> Array:
        """Posterior mean of a variable."""
        mean: Array = self.variable(id)["r"]
        return mean

    def variance(self, id: str) -> float:
        """Posterior variance of a variable, averaged over its components."""
        return float(self.variable(id)["v"])

    def std(self, id: str) -> Array | float:
        """Posterior standard deviation: of every component where the belief has one for each, else the root of their average variance."""
        known = self.variable(id)
        if known.get("variances") is None:
            return float(np.sqrt(max(known["v"], 0.0)))
        std: Array = np.sqrt(np.maximum(known["variances"], 0.0))
        return std

    def inclusion(self, id: str) -> Array | None:
        """Posterior probability that a component is not zero, for every component of a variable whose prior has a point mass at zero;
        None for all others, and of runs that are no expectation propagation."""
        found: Array | None = self.variable(id).get("inclusion")
        return found

    @property
    def converged(self) -> bool:
        """Whether a fixed point was reached."""
        return self.termination == "converged"

    @cached_property
    def termination(self) -> str:
        return str(self._native.termination[0])

    @cached_property
    def message(self) -> str:
        return self._how + self._on_the_way

    @cached_property
    def _end(self) -> str:
        return str(self._native.termination[1])

    @property
    def _how(self) -> str:
        """How the run ended, and after how much work."""
        reason, then = self._end.partition(": ")[2], self.fallback
        work = f"{self.sweeps:,} sweep{'s' if self.sweeps != 1 else ''}"
        if then and not then["reverted"]:
            work += f", then {then['evaluations']:,} evaluations of a {then['method']}"
        if self.termination == "converged":
            return f"converged after {work}{self._end.removeprefix('converged')}"
        if self.termination == "stopped":
            return f"stopped after {work}: {reason}"
        if self.termination == "sweep_limit":
            return f"did not converge: sweep limit after {work}"
        if self.termination == "fallback_limit":
            reached, _, bound = reason.partition(" ")
            return f"did not converge: fallback limit after {int(reached):,} {bound}"
        if self.termination == "diverging":
            return f"did not converge: {self._end}"
        return f"no answer after {work}: {self._end}"

    @property
    def _on_the_way(self) -> str:
        """What else there is to say of how a run came to its end."""
        said = ""
        if self.adaptive:
            before = "diverged" if self._settling["restarted"][0] == "diverging" else "did not converge"
            said = f"; restarted with adaptive damping, because the given one {before}"
        if self.fallback and self.fallback["reverted"]:
            said += "; the state is that of the sweeps, which was nearer to a fixed point"
        return said + "; precisions were kept positive" if self.positive else said

    @cached_property
    def _settling(self) -> dict[str, Any]:
        return dict(self._native.settling)

    @property
    def adaptive(self) -> bool:
        """Whether the run started again with adaptive damping."""
        return "restarted" in self._settling

    @property
    def fallback(self) -> dict[str, Any] | None:
        """What took over from sweeps that did not settle, None where nothing did."""
        return self._settling.get("fallback")

    @property
    def no_fallback(self) -> str | None:
        """Why nothing could take over, where something was to."""
        return self._settling.get("no_fallback")

    @property
    def divergence(self) -> dict[str, Any] | None:
        """Where and why a run diverged: ``sweep``, ``factor``, ``variable``, ``direction`` and ``reason``."""
        return self._settling.get("divergence")

    @property
    def verdict(self) -> dict[str, Any] | None:
        """What the state is at which the run came to rest, None where it did not: ``kind`` (``settled``, ``exact_recovery``, or why it is no
        answer: ``contradicted``, ``collapsed``, ``not_stationary``, ``not_iid``, ``unbounded``, ``infimum_not_attained``, ``infeasible``), the ``factor`` and the ``variable`` that
        it names, the ``reason`` as a sentence, and ``evidence_limit``: whether the log-evidence has a limit there (``finite``, ``infinite``, ``diverging``,
        ``depends_on_width``, ``not_computed``, or None where the verdict did not need it)."""
        return self._settling.get("verdict")

    @property
    def perfect_recovery(self) -> bool:
        """Whether the run converged with all variances gone: every variable is recovered exactly."""
        return bool(self._settling.get("perfect_recovery"))

    @property
    def attempts(self) -> list[dict[str, Any]]:
        """Everything that was tried, in order."""
        return list(self._settling.get("attempts", []))

    @property
    def routes(self) -> dict[str, tuple[str, str]]:
        """The route that every linear channel with a choice took, and why."""
        return {factor: (route, why) for factor, route, why in self._settling.get("routes", [])}

    @property
    def notes(self) -> dict[str, str]:
        """What factors have to say of the run, by factor: such as a start of their own. In state evolution by variable: that the prediction
        rests at the symmetric point, which the least knowledge leads away from."""
        notes = dict(self._settling.get("notes", []))
        if self._symmetric is not None:
            note = "the prediction rests at the symmetric point, a fixed point that the least knowledge leads away from; `phase_report` has the error that it leads to"
            notes[self._symmetric] = note
        return notes

    @property
    def symmetric_point(self) -> bool:
        """Bayes-optimal state evolution: whether the prediction rests where nothing is known of the first variable, while the slightest
        knowledge of it, which runs have, leads away from there."""
        return self._symmetric is not None

    @cached_property
    def sweeps(self) -> int:
        return int(self._native.sweeps)

    @cached_property
    def seconds(self) -> float:
        """Seconds spent in native code."""
        return float(self._native.seconds)

    @cached_property
    def trace(self) -> dict[str, Array]:
        rows = np.array(self._native.trace, dtype=float).reshape(-1, 4)
        return {name: rows[:, k] for k, name in enumerate(("sweep", "residual", "improper", "step"))}

    @cached_property
    def variances(self) -> dict[str, Array]:
        rows = np.array(self._native.variances, dtype=float).reshape(-1, len(self.variable_ids))
        return {id: rows[:, k] for k, id in enumerate(self.variable_ids)}

    @cached_property
    def messages(self) -> list[tuple[str, str, list[float], list[float]]]:
        return list(self._native.messages)

    @cached_property
    def _objective(self) -> dict[str, Any] | Exception:
        try:
            return dict(self._native.objective)
        except Exception as error:  # kept until somebody asks
            return error

    @cached_property
    def _information(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in ("entropy", "mutual_information", "information", "divergences"):
            if hasattr(type(self._native), name):
                try:
                    found[name] = getattr(self._native, name)
                except Exception as error:  # kept until somebody asks
                    found[name] = error
        return found

    @cached_property
    def _energies(self) -> dict[str, float]:
        return dict(getattr(self._native, "energies", ()))

    def energies(self) -> dict[str, float]:
        """Maximum a posteriori: the energy of every factor at the minimiser."""
        if not self._energies:
            raise RunError("energies are those of a maximum a posteriori estimation, this run was none")
        return dict(self._energies)

    def energy(self) -> float:
        """Maximum a posteriori: the least energy, their sum."""
        return float(sum(self.energies().values()))

    def objective(self) -> dict[str, Any]:
        """The Bethe objective: ``total``, its standard ``error``, and its terms by ``factors``, ``variables`` and ``edges``."""
        if isinstance(self._objective, Exception):
            raise self._objective
        return self._objective

    @cached_property
    def _theory(self) -> dict[str, Any]:
        if not isinstance(self._native, _lib.Evolution):
            return {}
        named = zip(self.variable_ids, self._native.teacher_moments)
        names = ("heuristics", "normalisation", "noiseless_output", "unnormalised")
        return {"teacher_moments": dict(named), **{name: getattr(self._native, name) for name in names}}

    @property
    def heuristics(self) -> list[str]:
        """State evolution: why the prediction is a heuristic; empty where it is exact in the limit."""
        return list(self._of_theory("heuristics"))

    @property
    def teacher_moments(self) -> dict[str, float]:
        """State evolution: second moments of the teacher's variables."""
        return dict(self._of_theory("teacher_moments"))

    @property
    def normalisation(self) -> float:
        """State evolution: log-normalisation of the student's law; 0 for a Bayesian network."""
        return float(self._of_theory("normalisation"))

    @property
    def noiseless_output(self) -> str | None:
        """State evolution: the first continuous output without noise; entropies diverge where the signal is recovered through it."""
        output: str | None = self._of_theory("noiseless_output")
        return output

    @property
    def unnormalised(self) -> str | None:
        """State evolution: why the law is not normalised by its factors; there are no entropies then."""
        reason: str | None = self._of_theory("unnormalised")
        return reason

    def _of_theory(self, name: str) -> Any:
        if not self._theory:
            raise NotKnown(f"`{name}` belongs to state evolution, this run was none")
        return self._theory[name]

    def _told(self, name: str) -> Any:
        if name not in self._information:
            raise RunError(f"`{name}` belongs to state evolution, this run was none")
        value = self._information[name]
        if isinstance(value, Exception):
            raise value
        return value

    def log_evidence(self) -> float:
        r""":math:`\ln p(y)`, as the Bethe approximation gives it. There is none beside a penalty or a loss."""
        if self._kind in NO_EVIDENCE:
            raise RunError(NO_EVIDENCE[self._kind])
        if self._unnormalised:
            raise RunError(f"the log-evidence is not defined: factor `{self._unnormalised[0]}` is not a probability distribution")
        return float(self.objective()["total"])

    def log_evidence_error(self) -> float:
        """Standard error of the log-evidence, where factors estimate their part at random; zero where all is computed."""
        return float(self.objective()["error"])

    def entropy(self) -> float:
        """State evolution: entropy of the measurements, in nats per component of the first variable."""
        return float(self._told("entropy"))

    def mutual_information(self) -> float:
        """State evolution: information of the measurements on the hidden variables, per component of the first."""
        return float(self._told("mutual_information"))

    def information(self) -> dict[str, Any]:
        """State evolution: ``entropy`` of the measurements and its terms, ``factors``, ``variables``, ``edges`` and ``noise``."""
        return dict(self._told("information"))

    def divergences(self) -> dict[str, float]:
        """Mismatched state evolution: how much the evidence of every factor of the student differs from the teacher's."""
        return dict(self._told("divergences"))


@dataclass
class FixedPoint:
    """A fixed point that some starts of :meth:`ExpectationPropagation.restart` led to.

    Attributes
    ----------
    report : Report
        The run that came closest to it.
    starts : list of str
        Where the runs that ended here had started.
    """

    report: Report
    starts: list[str]

    def _repr_html_(self) -> str:
        return _html.paragraph(f"reached from: {', '.join(self.starts)}") + self.report._repr_html_()
