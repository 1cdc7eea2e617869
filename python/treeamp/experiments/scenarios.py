"""Teacher-student scenarios: a teacher draws the data, a student infers, theory predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._arrays import Array
from ..algos import EarlyStopping, ExpectationPropagation, JoinCallback, StateEvolution, TrackErrors, TrackEvolution
from ..algos.initial_conditions import ConstantInit, Initializer
from ..algos.metrics import METRICS
from ..errors import RunError
from ..models import Model, Sample
from ._pandas import pandas

__all__ = ["BayesOptimalScenario", "TeacherStudentScenario", "run_state_evolution"]


def _names(ids: Any, what: str) -> list[str]:
    names = [ids] if isinstance(ids, str) else list(ids)
    if not names or not all(isinstance(name, str) for name in names):
        raise TypeError(f"`{what}` must be names of variables, got {ids!r}")
    return names


def run_state_evolution(x_ids: Any, model: Model, **algo_kwargs: Any) -> dict[str, Any]:
    """State evolution of a model: ``n_iter``, ``converged`` and the predicted variance of every variable asked for.

    >>> from treeamp.models import glm_state_evolution
    >>> model = glm_state_evolution(alpha=1.0, prior_type="gaussian", output_type="gaussian", output_var=0.1)
    >>> round(run_state_evolution(["x"], model)["v"]["x"], 6)
    0.270156
    """
    se = StateEvolution(model)
    report = se.iterate(**algo_kwargs)
    data = se.get_variables_data(_names(x_ids, "x_ids"))
    return {
        "n_iter": report.sweeps,
        "converged": report.converged,
        "v": {id: float(values["v"]) for id, values in data.items()},
    }


class TeacherStudentScenario:
    """A teacher's model draws signals and observations; a student's model, given the observations, infers the signals.

    Parameters
    ----------
    teacher, student : Model
        Generative models on the same tree; they may differ in any factor.
    x_ids, y_ids : list of str
        The signals, and what is observed.

    Examples
    --------
    >>> from treeamp.models import glm_generative
    >>> kwargs = dict(N=200, alpha=1.0, ensemble_type="gaussian", prior_type="gaussian", output_type="gaussian", seed=1)
    >>> teacher = glm_generative(**kwargs, output_var=0.1)
    >>> student = glm_generative(**kwargs, output_var=0.2)
    >>> scenario = TeacherStudentScenario(teacher, student).setup(seed=0)
    >>> table = scenario.run_all()
    >>> table[["source", "id"]].values.tolist()
    [['EP', 'x'], ['SE', 'x']]
    """

    def __init__(
        self, teacher: Model, student: Model, x_ids: Sequence[str] = ("x",), y_ids: Sequence[str] = ("y",)
    ) -> None:
        for name, model in (("teacher", teacher), ("student", student)):
            if not isinstance(model, Model):
                raise TypeError(f"`{name}` must be a Model, got {type(model).__name__}")
        self.teacher, self.student = teacher, student
        self.x_ids, self.y_ids = _names(x_ids, "x_ids"), _names(y_ids, "y_ids")
        for name, ids in (("x_ids", self.x_ids), ("y_ids", self.y_ids)):
            for model in (teacher, student):
                missing = [id for id in ids if id not in model.variable_ids]
                if missing:
                    known = ", ".join(f"`{id}`" for id in model.variable_ids)
                    raise ValueError(f"`{name}`: there is no variable `{missing[0]}`: the model has {known}")
        self.sample: Sample | None = None
        self.seed: int | None = None
        self.observed: Model | None = None

    def _is_optimal(self) -> bool:
        return self.teacher is self.student

    def setup(self, seed: int | None = None) -> TeacherStudentScenario:
        """Draws an instance; without a seed a new one, which ``scenario.seed`` tells."""
        self.sample = self.teacher.sample(seed)
        self.seed = self.sample.seed
        self.observed = self.student.to_observed({id: self.sample[id] for id in self.y_ids})
        return self

    @property
    def observations(self) -> dict[str, Array]:
        """The observations of the instance."""
        return {id: self._drawn()[id] for id in self.y_ids}

    @property
    def x_true(self) -> dict[str, Array]:
        """The signals of the instance."""
        return {id: self._drawn()[id] for id in self.x_ids}

    def _drawn(self) -> Sample:
        if self.sample is None:
            raise RunError("there is no instance yet: call .setup(seed) first")
        return self.sample

    def _theory(self) -> StateEvolution:
        def expected(model: Model) -> Model:
            return model.to_observed(dict.fromkeys(self.y_ids))

        if self._is_optimal():
            return StateEvolution(expected(self.student))
        return StateEvolution(teacher=expected(self.teacher), student=expected(self.student))

    def _posterior(self) -> ExpectationPropagation:
        self._drawn()
        assert self.observed is not None
        return ExpectationPropagation(self.observed)

    def run_ep(self, metrics: Sequence[str] = ("mse",), **algo_kwargs: Any) -> Any:
        """Expectation propagation on the instance: a table with one row for every signal."""
        errors = _metrics(metrics)
        ep = self._posterior()
        report = ep.iterate(**algo_kwargs)
        rows = []
        for id, data in ep.get_variables_data(self.x_ids).items():
            row: dict[str, Any] = {"source": "EP", "id": id, "v": float(data["v"])}
            row.update({name: error(self.x_true[id], data["r"]) for name, error in errors.items()})
            rows.append({**row, "n_iter": report.sweeps, "converged": report.converged, "ended": report.message})
        return pandas().DataFrame(rows)

    def run_se(self, **algo_kwargs: Any) -> Any:
        """State evolution, mismatched when teacher and student differ: a table with one row for every signal."""
        se = self._theory()
        report = se.iterate(**algo_kwargs)
        rows = []
        for id, data in se.get_variables_data(self.x_ids).items():
            mse = float(data.get("mse", data["v"]))
            row = {"source": "SE", "id": id, "v": float(data["v"]), "mse": mse}
            rows.append({**row, "n_iter": report.sweeps, "converged": report.converged, "ended": report.message})
        return pandas().DataFrame(rows)

    def run_all(self, source: str = "EP,SE", metrics: Sequence[str] = ("mse",), **algo_kwargs: Any) -> Any:
        """Expectation propagation and state evolution in one table.

        Parameters
        ----------
        source : str
            ``"EP"``, ``"SE"`` or ``"EP,SE"``.
        metrics : list of str
            Errors of expectation propagation: ``mse``, ``sign_mse``, ``phase_mse``, ``overlap``.
        **algo_kwargs
            For ``iterate``.
        """
        wanted = [name.strip() for name in source.split(",")]
        unknown = [name for name in wanted if name not in ("EP", "SE")]
        if unknown or not wanted:
            raise ValueError(f"`source` must be EP, SE or EP,SE, got {source!r}")
        tables = []
        if "EP" in wanted:
            tables.append(self.run_ep(metrics, **algo_kwargs))
        if "SE" in wanted:
            # what is random in a run has no place in theory
            kwargs = {k: v for k, v in algo_kwargs.items() if not (k == "initializer" and _is_random(v))}
            tables.append(self.run_se(**kwargs))
        return pandas().concat(tables, ignore_index=True)

    def ep_convergence(self, metrics: Sequence[str] = ("mse",), max_iter: int = 30, **algo_kwargs: Any) -> Any:
        """Errors and variances of expectation propagation after every sweep."""
        _metrics(metrics)
        errors = TrackErrors(self.x_true, metrics=list(metrics))
        tracked = JoinCallback([errors, *_stop(algo_kwargs)])
        self._posterior().iterate(max_iter=max_iter, callback=tracked, **algo_kwargs)
        return pandas().DataFrame(errors.records)

    def se_convergence(self, max_iter: int = 30, **algo_kwargs: Any) -> Any:
        """Predicted variances after every sweep."""
        evolution = TrackEvolution(ids=self.x_ids)
        tracked = JoinCallback([evolution, *_stop(algo_kwargs)])
        self._theory().iterate(max_iter=max_iter, callback=tracked, **algo_kwargs)
        return pandas().DataFrame(evolution.records)

    def run_convergence(self, max_iter: int = 30, metrics: Sequence[str] = ("mse",), **algo_kwargs: Any) -> Any:
        """:meth:`ep_convergence` and :meth:`se_convergence` in one table, by ``source``."""
        frame = pandas()
        ep = self.ep_convergence(metrics, max_iter, **algo_kwargs).assign(source="EP")
        se = self.se_convergence(max_iter, **algo_kwargs).assign(source="SE")
        return frame.concat([ep, se], ignore_index=True)


class BayesOptimalScenario(TeacherStudentScenario):
    """The student knows the teacher's model.

    Examples
    --------
    >>> from treeamp.models import glm_generative
    >>> model = glm_generative(N=300, alpha=1.0, ensemble_type="gaussian", prior_type="gaussian",
    ...                        output_type="gaussian", output_var=0.1, seed=1)
    >>> table = BayesOptimalScenario(model).setup(seed=0).run_all()
    >>> bool(abs(table.mse[0] / table.mse[1] - 1) < 0.3)
    True
    """

    def __init__(self, model: Model, x_ids: Sequence[str] = ("x",), y_ids: Sequence[str] = ("y",)) -> None:
        super().__init__(model, model, x_ids, y_ids)
        self.model = model


def _metrics(names: Sequence[str]) -> Mapping[str, Any]:
    if isinstance(names, str):
        names = [names]
    unknown = [name for name in names if name not in METRICS]
    if unknown:
        raise ValueError(f"`metrics`: there is no metric {unknown[0]!r}: expected one of {', '.join(METRICS)}")
    return {name: METRICS[name] for name in names}


def _is_random(initializer: Any) -> bool:
    return isinstance(initializer, Initializer) and not isinstance(initializer, ConstantInit)


def _stop(algo_kwargs: dict[str, Any]) -> list[Any]:
    """A run with trackers still stops when it has converged."""
    given = algo_kwargs.pop("callback", None)
    return [EarlyStopping(wait_increase=np.inf) if given is None else given]
