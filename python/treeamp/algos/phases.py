"""Phases: which errors are possible and which are reached, and where that changes along a family of models.

Bayes-optimal state evolution has two extreme fixed points, from no knowledge of the solution and from all of it. Where they
differ, the one with the smallest entropy of the measurements is what the data allow, and the uninformed one what expectation
propagation attains. Models are those of :class:`~treeamp.algos.StateEvolution`: with observations, whose values do not matter, or
in the limit. One without observations is its own prior, of which the logger ``treeamp`` warns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .. import _html, _lib
from .._arrays import Array, count, number
from ..base import Factor
from ..models import Model
from .message_passing import warn_if_unseen
from .report import Report

__all__ = [
    "FixedPoints",
    "Landscape",
    "MutualInformation",
    "PhasePoint",
    "PhaseReport",
    "heuristics",
    "l1_threshold",
    "l1_transition",
    "landscape",
    "mutual_information",
    "noiseless_linear_threshold",
    "phase_report",
    "threshold",
]


@dataclass(frozen=True)
class FixedPoints:
    r"""How the uninformed and the informed fixed point are reached, and distinguished; ``None`` is the default in brackets.

    Attributes
    ----------
    push : float, optional
        The knowledge :math:`\hat m\tau_0` that an uninformed start is given, so that it leaves a symmetric point that it would
        otherwise keep for ever (1e-4).
    informed : float, optional
        The knowledge that an informed start is given (1e8).
    same : float, optional
        Two fixed points are one when their errors differ by less than this, relative (1e-4).
    recovered : float, optional
        An error below this fraction of :math:`\tau_0` is perfect recovery (1e-7).
    tolerance : float, optional
        A fixed point is reached when variances change by less than this in a sweep, relative (1e-9).
    max_sweeps : int, optional
        Sweeps after which it counts as not reached (20,000).
    """

    push: float | None = None
    informed: float | None = None
    same: float | None = None
    recovered: float | None = None
    tolerance: float | None = None
    max_sweeps: int | None = None


@dataclass(frozen=True)
class PhasePoint:
    """One fixed point.

    Attributes
    ----------
    mse : float
        The predicted error of the signal.
    entropy : float or None
        The entropy of the measurements; ``None`` where it diverges: perfect recovery of a continuous signal through a noiseless
        output. For a model that is not a Bayesian network it is known up to a constant.
    report : Report
        The run that ended there.
    """

    mse: float
    entropy: float | None
    report: Report


@dataclass(frozen=True)
class PhaseReport:
    """The fixed points at one point of a phase diagram.

    Attributes
    ----------
    phase : str
        ``"easy"``, ``"hard"`` or ``"impossible"``.
    mmse : float
        The error that the data allow.
    uninformed : PhasePoint
        What expectation propagation attains.
    between : list of PhasePoint
        Stable ones between the two, those with the largest errors first.
    informed : PhasePoint
        What is reached from the solution.
    allowed : PhasePoint
        The fixed point that the data allow.
    heuristics : list of str
        Why all this is a heuristic; empty where it is exact in the limit.
    """

    phase: str
    mmse: float
    uninformed: PhasePoint
    between: list[PhasePoint]
    informed: PhasePoint
    allowed: PhasePoint
    heuristics: list[str]

    def _repr_html_(self) -> str:
        named = [("uninformed", self.uninformed), *(("between", p) for p in self.between), ("informed", self.informed)]
        rows = [(name, p.mse, "diverges" if p.entropy is None else p.entropy, p.report.message) for name, p in named]
        head = _html.paragraph(f"{self.phase} phase: the data allow an error of {_html.figure(self.mmse)}")
        notes = "".join(_html.paragraph(f"a heuristic: {why}") for why in self.heuristics)
        return head + _html.table(("fixed point", "mse", "entropy", "end"), rows) + notes


@dataclass(frozen=True)
class Landscape:
    r"""The free entropy as a function of the error of one signal, largest error first.

    Attributes
    ----------
    mse : array
        Errors of the signal, per component.
    free_entropy : array
        The free entropy with the error held there, and the rest of the tree in the state that it reaches from nothing; at a fixed
        point it is less the entropy of the measurements. Stable fixed points are its maxima.
    knowledge : array
        What the prior of the signal receives, :math:`\hat s`.
    answer : array
        What the rest of the tree sends to it: :math:`\hat s` at a fixed point.
    informed : array
        The free entropy in the state that the rest reaches from near-perfect knowledge of its own signals, where this is another
        one; not a number where it is the same, as everywhere in a model of one signal.
    """

    mse: Array
    free_entropy: Array
    knowledge: Array
    answer: Array
    informed: Array

    def _repr_html_(self) -> str:
        rows = [(float(self.mse[k]), float(self.free_entropy[k]), float(self.knowledge[k])) for k in self._maxima()]
        head = f"free entropy at {self.mse.size} errors from {_html.figure(float(self.mse[0]))} to {_html.figure(float(self.mse[-1]))}"
        return _html.paragraph(f"{head}; its maxima, which are near stable fixed points:") + _html.table(
            ("mse", "free entropy", "knowledge"), rows
        )

    def _maxima(self) -> list[int]:
        """The places that are above both their neighbours; ends have one."""
        padded = np.concatenate(([-np.inf], self.free_entropy, [-np.inf]))
        return [int(k) for k in np.flatnonzero((padded[1:-1] > padded[:-2]) & (padded[1:-1] >= padded[2:]))]


@dataclass(frozen=True)
class MutualInformation:
    """The mutual information between a variable and the measurements, in nats per component of the first variable.

    Attributes
    ----------
    value : float
        That of the fixed point with the smallest entropy of the measurements.
    start : str
        The start that leads to this fixed point: ``"either"``, ``"uninformed"``, ``"between"`` or ``"informed"``.
    attained : float
        The same formula at the fixed point that expectation propagation attains; larger than ``value`` in a hard phase, and then
        not an information.
    """

    value: float
    start: str
    attained: float

    def _repr_html_(self) -> str:
        rows = [("of the data", self.value, self.start), ("attained", self.attained, "uninformed")]
        return _html.table(("mutual information", "nats per component", "start"), rows)


def phase_report(model: Model, id: str, *, points: FixedPoints | None = None) -> PhaseReport:
    """The fixed points of state evolution at one point of a phase diagram, and the phase.

    Parameters
    ----------
    model : Model
        With observations, or in the limit.
    id : str
        The signal.
    points : FixedPoints, optional
        How fixed points are reached.

    Examples
    --------
    Compressed sensing between its thresholds: the data determine the signal, and expectation propagation does not find it.

    >>> from treeamp.models import glm_state_evolution
    >>> model = glm_state_evolution(alpha=0.35, prior_type="gauss_bernoulli", output_type="gaussian",
    ...                             prior_rho=0.25, output_var=1e-8)
    >>> report = phase_report(model, "x")
    >>> report.phase
    'hard'
    >>> report.uninformed.mse > 1e-2 > 1e-6 > report.mmse
    True
    """
    data = _lib.phase_report(_tree(model), id, _points(points))
    warn_if_unseen(model)
    ids = model.variable_ids
    read = {name: _point(data[name], ids) for name in ("uninformed", "informed", "allowed")}
    between = [_point(point, ids) for point in data["between"]]
    return PhaseReport(data["phase"], data["mmse"], between=between, heuristics=list(data["heuristics"]), **read)


def threshold(
    family: Callable[[float], Model],
    id: str,
    low: float,
    high: float,
    kind: str = "algorithmic",
    *,
    tol: float | None = None,
    points: FixedPoints | None = None,
) -> float:
    """The critical value of a parameter between ``low`` and ``high``.

    Parameters
    ----------
    family : callable
        ``family(alpha)`` makes the model. The parameter may make it easier (a ratio) or harder (a density, a noise).
    id : str
        The signal.
    low, high : float
        The range, above zero.
    kind : str
        ``"algorithmic"``: above it an uninformed run reaches the informed fixed point. ``"information"``: above it the data
        determine the better fixed point. ``"informed"``: there a second, informed fixed point appears. ``"weak"``: above it a
        slight overlap with the signal grows, where symmetric outputs leave none at the start.
    tol : float, optional
        Accuracy of the answer, 1e-4 by default.
    points : FixedPoints, optional
        How fixed points are reached, where that is needed.

    Raises
    ------
    RunError
        Where there is no such transition in the range, or none that is defined. What ``family`` raises comes through.

    Examples
    --------
    >>> from treeamp.models import glm_state_evolution
    >>> def sensing(alpha):
    ...     return glm_state_evolution(alpha=alpha, prior_type="gauss_bernoulli", output_type="gaussian",
    ...                                prior_rho=0.25, output_var=1e-11)
    >>> round(threshold(sensing, "x", 0.3, 0.6, tol=1e-3), 2)
    0.42
    """

    warned = False

    def tree(alpha: float) -> _lib.Tree:
        nonlocal warned
        model = family(alpha)
        found = _tree(model, "`family` must make a Model")
        warned = warned or warn_if_unseen(model)
        return found

    if not callable(family):
        raise TypeError(f"`family` must be a function that makes a Model, got {type(family).__name__}")
    accuracy = None if tol is None else number(tol, "tol")
    return _lib.threshold(tree, id, kind, number(low, "low"), number(high, "high"), accuracy, _points(points))


def landscape(model: Model, id: str, places: int = 100) -> Landscape:
    """The free entropy as a function of the error of a signal, at so many places.

    Parameters
    ----------
    model : Model
        With observations, or in the limit.
    id : str
        The signal, with a prior of its own that is not Gaussian.
    places : int
        How many errors, from that of the prior to a millionth of the signal's second moment, or to where a discrete signal is
        known.

    Examples
    --------
    >>> from treeamp.models import glm_state_evolution
    >>> model = glm_state_evolution(alpha=0.8, prior_type="gauss_bernoulli", output_type="gaussian",
    ...                             prior_rho=0.3, output_var=0.01)
    >>> curve = landscape(model, "x", places=40)
    >>> best = curve.mse[curve.free_entropy.argmax()]
    >>> predicted = phase_report(model, "x").mmse
    >>> bool(0.6 < best / predicted < 1.7)  # the nearest of forty places
    True
    """
    curves = _lib.landscape(_tree(model), id, count(places, "places"))
    warn_if_unseen(model)
    return Landscape(*curves)


def mutual_information(model: Model, id: str, *, points: FixedPoints | None = None) -> MutualInformation:
    """The mutual information :math:`I(x_i; y)` between one variable and the measurements.

    Parameters
    ----------
    model : Model
        With observations, or in the limit; their outputs need some noise.
    id : str
        The variable.
    points : FixedPoints, optional
        How fixed points are reached.

    Examples
    --------
    >>> from treeamp.models import glm_state_evolution
    >>> model = glm_state_evolution(alpha=1.0, prior_type="gaussian", output_type="gaussian", output_var=0.1)
    >>> found = mutual_information(model, "x")
    >>> found.start, round(found.value, 4)
    ('either', 0.9438)
    """
    found = _lib.mutual_information(_tree(model), id, _points(points))
    warn_if_unseen(model)
    return MutualInformation(*found)


def heuristics(model: Model) -> list[str]:
    """Why the state evolution of a model is a heuristic, factor by factor; empty where it is exact in the limit.

    >>> from treeamp.models import glm_state_evolution
    >>> heuristics(glm_state_evolution(alpha=1.0, prior_type="gaussian", output_type="gaussian", output_var=0.1))
    []
    """
    return list(_lib.heuristics(_tree(model)))


def noiseless_linear_threshold(prior: Factor) -> float:
    r"""The algorithmic threshold of noiseless linear measurements, :math:`\sup_s s\,\mathrm{mmse}(s)` of the prior.

    >>> from treeamp.priors import GaussBernoulliPrior
    >>> round(noiseless_linear_threshold(GaussBernoulliPrior(size=None, rho=0.25)), 3)
    0.42
    """
    native = getattr(prior, "_native", None)
    if not isinstance(native, _lib.Factor):
        raise TypeError(f"`prior` must be a prior, got {type(prior).__name__}")
    return _lib.noiseless_linear_threshold(native)


def l1_threshold(rho: float) -> float:
    r"""The least ratio of noiseless measurements at which the :math:`\ell_1` minimiser recovers a fraction ``rho`` of non-zeros.

    >>> round(l1_threshold(0.25), 4)
    0.5829
    """
    return _lib.l1_threshold(number(rho, "rho"))


def l1_transition(delta: float) -> float:
    r"""The most non-zero components per measurement that the :math:`\ell_1` minimiser recovers from a ratio ``delta``.

    >>> round(l1_transition(0.5), 5)
    0.38569
    """
    return _lib.l1_transition(number(delta, "delta"))


def _tree(model: Any, expected: str = "`model` must be a Model") -> _lib.Tree:
    if not isinstance(model, Model):
        raise TypeError(f"{expected}, got {type(model).__name__}")
    return model._tree


def _points(points: FixedPoints | None) -> dict[str, Any]:
    if points is None:
        points = FixedPoints()
    if not isinstance(points, FixedPoints):
        raise TypeError(f"`points` must be FixedPoints, got {type(points).__name__}")
    given = {name: None if x is None else number(x, name) for name, x in asdict(points).items()}
    if points.max_sweeps is not None:
        given["max_sweeps"] = count(points.max_sweeps, "max_sweeps")
    return given


def _point(data: tuple[float, float | None, _lib.Evolution], ids: list[str]) -> PhasePoint:
    mse, entropy, native = data
    return PhasePoint(mse, entropy, Report(native, ids))
