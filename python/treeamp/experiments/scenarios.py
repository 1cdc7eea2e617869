"""Teacher-student scenarios: a teacher draws the data, a student infers, theory predicts."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from .._arrays import Array, check_seed
from .._written import drawn
from ..algos import ExpectationPropagation, JoinCallback, StateEvolution, TrackErrors, TrackEvolution
from ..algos.initial_conditions import ConstantInit, CustomInit, Initializer
from ..algos.metrics import METRICS
from ..algos.report import Report
from ..errors import MismatchError, RunError
from ..models import Model, Sample
from ._pandas import pandas

__all__ = ["BayesOptimalScenario", "TeacherStudentScenario", "run_state_evolution"]


def _names(ids: Any, what: str) -> list[str]:
    names = [ids] if isinstance(ids, str) else list(ids)
    if not names or not all(isinstance(name, str) for name in names):
        raise TypeError(f"`{what}` must be names of variables, got {ids!r}")
    return names


def run_state_evolution(x_ids: Any, model: Model, **algo_kwargs: Any) -> list[dict[str, Any]]:
    """State evolution of a model: ``x_id``, the predicted variance ``v`` and ``n_iter``, a record for every variable. Where the prediction
    rests at the symmetric point, which the least knowledge leads away from, there is a ``symmetric_point``, which is true.

    >>> from treeamp.models import glm_state_evolution
    >>> model = glm_state_evolution(alpha=1.0, prior_type="gaussian", output_type="gaussian", output_var=0.1)
    >>> [round(record["v"], 6) for record in run_state_evolution(["x"], model)]
    [0.270156]
    """
    se = StateEvolution(model)
    report = se.iterate(**algo_kwargs)
    data = se.get_variables_data(_names(x_ids, "x_ids"))
    more = _symmetric(report)
    return [{"x_id": id, "v": float(values["v"]), "n_iter": report.sweeps, **more} for id, values in data.items()]


def _symmetric(report: Report | None) -> dict[str, bool]:
    """What records of theory say of a prediction at the symmetric point."""
    return {"symmetric_point": True} if report is not None and report.symmetric_point else {}


class Signals(dict[str, dict[str, Any]]):
    """The estimate of every signal, by name. ``n_iter`` is there too, and not among the items, and ``more`` of its records."""

    def __init__(self, data: Mapping[str, dict[str, Any]], n_iter: int, more: Mapping[str, Any] | None = None) -> None:
        super().__init__(data)
        self.n_iter, self.more = n_iter, dict(more or {})

    def __missing__(self, key: str) -> Any:
        if key == "n_iter":
            return self.n_iter
        raise KeyError(key)

    def __reduce__(self) -> Any:
        return Signals, (dict(self), self.n_iter, self.more)


class TeacherStudentScenario:
    """A teacher draws signals and observations; a student's model, given the observations, infers the signals.

    Parameters
    ----------
    teacher : Model, or any object with a method ``sample``
        ``sample(seed)`` returns a dict of arrays with the signals and the observations. One without a ``seed`` draws
        from numpy's global generator, which is seeded for it.
    student : Model
        A generative model of them. Where the teacher is a model on the same tree, there is a theory of both.
    x_ids, y_ids : list of str
        The signals, and what is observed.

    Attributes
    ----------
    generative_student : Model
        The student without observations.
    student : Model
        The student given the observations, after :meth:`setup`.
    true_values : dict
        All that the teacher drew; ``x_true`` are the signals, ``observations`` the rest of it that the student sees.
    x_pred : dict
        The last estimates of the signals.
    seed : int
        Of the instance.
    report : Report
        Of the last run.

    Examples
    --------
    >>> from treeamp.models import glm_generative
    >>> kwargs = dict(N=200, alpha=1.0, ensemble_type="gaussian", prior_type="gaussian", output_type="gaussian", seed=1)
    >>> teacher = glm_generative(**kwargs, output_var=0.1)
    >>> student = glm_generative(**kwargs, output_var=0.2)
    >>> scenario = TeacherStudentScenario(teacher, student).setup(seed=0)
    >>> sorted(scenario.run_ep()["x"])
    ['r', 'v']
    >>> scenario.table()[["source", "id"]].values.tolist()
    [['EP', 'x'], ['SE', 'x']]
    """

    def __init__(
        self, teacher: Any, student: Model, x_ids: Sequence[str] = ("x",), y_ids: Sequence[str] = ("y",)
    ) -> None:
        if not callable(getattr(teacher, "sample", None)):
            raise TypeError(f"`teacher` must have a method sample, got {type(teacher).__name__}")
        if not isinstance(student, Model):
            raise TypeError(f"`student` must be a Model, got {type(student).__name__}")
        self.teacher, self.generative_student = teacher, student
        self.x_ids, self.y_ids = _names(x_ids, "x_ids"), _names(y_ids, "y_ids")
        for name, ids in (("x_ids", self.x_ids), ("y_ids", self.y_ids)):
            for model in (teacher, student):
                if isinstance(model, Model):
                    _known(name, ids, model.variable_ids, "the model")
        self.seed: int | None = None
        self.report: Report | None = None
        self._instance: tuple[dict[str, Array], Model] | None = None
        self._x_pred: dict[str, Array] | None = None

    # --- the instance

    def setup(self, seed: int | None = None) -> TeacherStudentScenario:
        """Draws an instance.

        Parameters
        ----------
        seed : int, optional
            Any number from 0 on. Without one a new seed is drawn, which ``scenario.seed`` holds: tramp's default, ``seed=0``,
            meant the same there, and is a seed as any other here.
        """
        chosen = check_seed(seed)
        if seed is None and not isinstance(self.teacher, Model):
            chosen %= 2**32  # it may be meant for numpy's global generator, which takes no larger ones
        values = drawn(self.teacher.sample, chosen)
        if not isinstance(values, Mapping):
            raise TypeError(f"`sample` of the teacher must return a dict of arrays, got {type(values).__name__}")
        for name, ids in (("x_ids", self.x_ids), ("y_ids", self.y_ids)):
            _known(name, ids, list(values), "the teacher")
        observed = {id: values[id] for id in self.y_ids}
        self._instance = dict(values), self.generative_student.to_observed(observed)
        self._x_pred = None
        self.seed = values.seed if isinstance(values, Sample) else chosen
        return self

    def _drawn(self) -> tuple[dict[str, Array], Model]:
        if self._instance is None:
            raise RunError("there is no instance yet: call .setup(seed) first")
        return self._instance

    @property
    def student(self) -> Model:
        """The student given the observations."""
        return self._drawn()[1]

    @property
    def true_values(self) -> dict[str, Array]:
        """All that the teacher drew."""
        return self._drawn()[0]

    @property
    def observations(self) -> dict[str, Array]:
        """The observations of the instance."""
        return {id: self.true_values[id] for id in self.y_ids}

    @property
    def x_true(self) -> dict[str, Array]:
        """The signals of the instance."""
        return {id: self.true_values[id] for id in self.x_ids}

    @property
    def x_pred(self) -> dict[str, Array]:
        """The signals as the last expectation propagation on the instance estimated them."""
        if self._x_pred is None:
            raise RunError("nothing is estimated yet: call .run_ep() first")
        return self._x_pred

    # --- runs, as tramp returns them

    def run_ep(self, **algo_kwargs: Any) -> Signals:
        """Expectation propagation on the instance: ``r`` and ``v`` of every signal by name, and ``n_iter``."""
        ep = ExpectationPropagation(self.student)
        try:
            ep.iterate(**algo_kwargs)
        finally:
            # the estimate of a stopped run is kept too
            if ep.report is not None:
                self.report = ep.report
                self._x_pred = {id: ep.report.mean(id) for id in self.x_ids}
        return Signals(ep.get_variables_data(self.x_ids), ep.n_iter)

    def _theory(self) -> StateEvolution:
        def expected(model: Model) -> Model:
            return model.to_observed(dict.fromkeys(self.y_ids))

        student = expected(self.generative_student)
        if self.teacher is self.generative_student or not isinstance(self.teacher, Model):
            return StateEvolution(student)
        return StateEvolution(teacher=expected(self.teacher), student=student)

    def run_se(self, **algo_kwargs: Any) -> Signals:
        """State evolution: predictions for every signal by name, and ``n_iter``.

        It is mismatched where teacher and student are different models. A teacher that is no model has no theory: the
        prediction is then that of data from the student's own model.

        Raises
        ------
        MismatchError
            Where teacher and student are models on different trees, which have no theory.
        """
        se = self._theory()
        self.report = se.iterate(**algo_kwargs)
        return Signals(se.get_variables_data(self.x_ids), se.n_iter, _symmetric(self.report))

    def compute_score(self, x_pred: Mapping[str, Any], metrics: Sequence[str] = ("mse",)) -> dict[str, dict[str, float]]:
        """Errors of estimates of the signals, by name and metric."""
        errors = _metrics(metrics)
        return {id: {name: f(self.x_true[id], x_pred[id]) for name, f in errors.items()} for id in self.x_ids}

    def run_all(
        self, source: str = "EP,SE", metrics: Sequence[str] = ("mse",), **algo_kwargs: Any
    ) -> list[dict[str, Any]]:
        """Expectation propagation and state evolution: records of ``source``, ``x_id``, ``v`` and ``n_iter``.

        Parameters
        ----------
        source : str
            ``"EP"``, ``"SE"`` or ``"EP,SE"``.
        metrics : list of str
            Errors of the estimates, each a record whose ``source`` is its name: ``mse``, ``sign_mse``, ``phase_mse``,
            ``overlap``.
        **algo_kwargs
            For ``iterate``.

        Notes
        -----
        An instance is drawn where there is none. :meth:`table` has the same as a tidy table. Where teacher and student are
        on different trees there is no theory: ``"EP,SE"`` then has no records of it, and warns.
        """
        records = []
        for name, data in self._runs(source, metrics, algo_kwargs):
            n_iter = data.n_iter
            own = {"n_iter": n_iter, **data.more}
            records += [{"source": name, "x_id": id, "v": float(data[id]["v"]), **own} for id in self.x_ids]
            if name == "EP":
                score = self.compute_score(self.x_pred, metrics)
                scored = [(metric, id) for metric in _metrics(metrics) for id in self.x_ids]
                records += [{"source": metric, "x_id": id, "v": score[id][metric]} for metric, id in scored]
        return records

    def _runs(self, source: str, metrics: Sequence[str], algo_kwargs: dict[str, Any]) -> list[tuple[str, Signals]]:
        wanted = [name.strip() for name in source.split(",")]
        unknown = [name for name in wanted if name not in ("EP", "SE")]
        if unknown or not wanted:
            raise ValueError(f"`source` must be EP, SE or EP,SE, got {source!r}")
        _metrics(metrics)
        if self._instance is None:
            self.setup()
        runs = []
        if "SE" in wanted:
            # what is random in a run has no place in theory
            kwargs = {k: v for k, v in algo_kwargs.items() if not (k == "initializer" and _is_random(v))}
            try:
                runs.append(("SE", self.run_se(**kwargs)))
            except MismatchError as error:
                if "EP" not in wanted:
                    raise
                warnings.warn(f"no state evolution: {error}", RuntimeWarning, stacklevel=3)
        if "EP" in wanted:
            runs.append(("EP", self.run_ep(**algo_kwargs)))
        return runs

    # --- tables

    def table(self, source: str = "EP,SE", metrics: Sequence[str] = ("mse",), **algo_kwargs: Any) -> Any:
        """:meth:`run_all` as a DataFrame: a row for every source and signal, with the errors as columns. A column ``symmetric_point`` is there
        where the prediction rests at that."""
        rows = []
        for name, data in reversed(self._runs(source, metrics, algo_kwargs)):
            score = self.compute_score(self.x_pred, metrics) if name == "EP" else {}
            for id in self.x_ids:
                row = {"source": name, "id": id, "v": float(data[id]["v"])}
                row.update(score.get(id, {"mse": float(data[id].get("mse", data[id]["v"]))}))
                rows.append({**row, "n_iter": data.n_iter, **data.more})
        return pandas().DataFrame(rows)

    def ep_convergence(self, metrics: Sequence[str] = ("mse",), **algo_kwargs: Any) -> Any:
        """Errors and variances of expectation propagation after every sweep: a DataFrame."""
        errors = TrackErrors(self.x_true, metrics=list(_metrics(metrics)))
        self.run_ep(**_tracked(errors, algo_kwargs))
        return pandas().DataFrame(errors.records)

    def se_convergence(self, **algo_kwargs: Any) -> Any:
        """Predicted variances after every sweep: a DataFrame."""
        evolution = TrackEvolution(ids=self.x_ids)
        self.run_se(**_tracked(evolution, algo_kwargs))
        return pandas().DataFrame(evolution.records)

    def run_convergence(self, metrics: Sequence[str] = ("mse",), **algo_kwargs: Any) -> Any:
        """:meth:`ep_convergence` and :meth:`se_convergence` in one table, by ``source``."""
        ep = self.ep_convergence(metrics, **algo_kwargs).assign(source="EP")
        se = self.se_convergence(**algo_kwargs).assign(source="SE")
        return pandas().concat([ep, se], ignore_index=True)


class BayesOptimalScenario(TeacherStudentScenario):
    """The student has the teacher's model.

    Parameters
    ----------
    model : Model
        What draws and what infers.
    x_ids, y_ids : list of str
        The signals, and what is observed.

    Examples
    --------
    >>> from treeamp.models import glm_generative
    >>> model = glm_generative(N=300, alpha=1.0, ensemble_type="gaussian", prior_type="gaussian",
    ...                        output_type="gaussian", output_var=0.1, seed=1)
    >>> table = BayesOptimalScenario(model).setup(seed=0).table()
    >>> bool(abs(table.mse[0] / table.mse[1] - 1) < 0.3)
    True
    """

    def __init__(self, model: Model, x_ids: Sequence[str] = ("x",), y_ids: Sequence[str] = ("y",)) -> None:
        super().__init__(model, model, x_ids, y_ids)
        self.model = model


def _known(name: str, ids: list[str], known: list[str], whose: str) -> None:
    missing = [id for id in ids if id not in known]
    if missing:
        known_ids = ", ".join(f"`{id}`" for id in known)
        raise ValueError(f"`{name}`: there is no variable `{missing[0]}`: {whose} has {known_ids}")


def _metrics(names: Sequence[str]) -> Mapping[str, Any]:
    if isinstance(names, str):
        names = [names]
    unknown = [name for name in names if name not in METRICS]
    if unknown:
        raise ValueError(f"`metrics`: there is no metric {unknown[0]!r}: expected one of {', '.join(METRICS)}")
    return {name: METRICS[name] for name in names}


def _is_random(initializer: Any) -> bool:
    fixed = isinstance(initializer, ConstantInit) or (isinstance(initializer, CustomInit) and not initializer.b_init)
    return isinstance(initializer, Initializer) and not fixed


def _tracked(tracker: Any, algo_kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a run with a tracker before its own callbacks."""
    given = algo_kwargs.get("callback")
    own = [] if given is None else list(given) if isinstance(given, (list, tuple)) else [given]
    return {**algo_kwargs, "callback": JoinCallback([tracker, *own])}
