"""Critical values of a ratio: where the error predicted by state evolution changes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from .._arrays import number
from ..algos import CustomInit, StateEvolution
from ..errors import RunError
from ..models import Model

logger = logging.getLogger("treeamp.experiments")

__all__ = ["binary_search", "find_critical_alpha", "find_state_evolution_mse"]


def binary_search(f: Callable[[float], Any], xmin: float, xmax: float, xtol: float) -> dict[str, Any]:
    """Where a condition starts to hold, false at ``xmin`` and true at ``xmax``, to ``xtol``.

    Returns
    -------
    dict
        ``xmid``, the middle of the last interval, ``xmin`` and ``xmax``, its ends, ``xerr``, its length, and ``n_iter``, how
        often it was halved.

    Examples
    --------
    >>> round(binary_search(lambda x: x > 0.3, 0.0, 1.0, 1e-6)["xmid"], 5)
    0.3
    """
    low, high, tol = number(xmin, "xmin"), number(xmax, "xmax"), number(xtol, "xtol")
    if not low < high:
        raise ValueError(f"`xmin` must be below `xmax`, got {low} and {high}")
    if not tol > 0:
        raise ValueError(f"`xtol` must be positive, got {tol}")
    if f(low):
        raise ValueError(f"the condition holds at `xmin` = {low} already: the critical value lies below")
    if not f(high):
        raise ValueError(f"the condition does not hold at `xmax` = {high}: the critical value lies above")
    halvings = 0
    while high - low > tol:
        middle = 0.5 * (low + high)
        if middle in (low, high):  # no number lies between
            break
        halvings += 1
        if f(middle):
            high = middle
        else:
            low = middle
    return {"xmid": 0.5 * (low + high), "xmin": low, "xmax": high, "xerr": high - low, "n_iter": halvings}


def find_state_evolution_mse(
    id: str, a0: float, alpha: float, model_builder: Callable[..., Model], max_iter: int = 2000, **model_kwargs: Any
) -> float:
    """The error of a variable that state evolution predicts, its backward message starting from precision ``a0``.

    Right at a transition state evolution needs any number of sweeps: the error is then the one after ``max_iter`` of
    them, and a warning goes to the logger ``treeamp.experiments``.

    >>> from treeamp.models import glm_state_evolution
    >>> mse = find_state_evolution_mse("x", 0.0, 1.0, glm_state_evolution, prior_type="gaussian",
    ...                                output_type="gaussian", output_var=0.1)
    >>> round(mse, 6)
    0.270156
    """
    se = StateEvolution(model_builder(alpha=alpha, **model_kwargs))
    report = se.iterate(max_iter=max_iter, initializer=CustomInit(a_init=[(id, "bwd", number(a0, "a0"))]))
    if report.termination == "diverging":
        raise RunError(f"no fixed point at alpha = {alpha}: {report.message}")
    if not report.converged:
        logger.warning("alpha = %s: the error of `%s` after %d sweeps, not at a fixed point", alpha, id, report.sweeps)
    return float(se.get_variables_data([id])[id]["v"])


def find_critical_alpha(
    id: str,
    a0: float,
    mse_criterion: str | Callable[[float], bool],
    alpha_min: float,
    alpha_max: float,
    model_builder: Callable[..., Model],
    alpha_tol: float = 1e-6,
    vtol: float = 1e-3,
    **model_kwargs: Any,
) -> float:
    """The ratio at which the predicted error of a variable meets a criterion.

    Parameters
    ----------
    id : str
        The variable.
    a0 : float
        Precision of the first message that the variable gets from its data: 0 for an uninformed run, something large for
        an informed one.
    mse_criterion : {"perfect", "random"} or callable
        ``"perfect"``: the error falls below ``vtol`` times the second moment; ``"random"``: it is no longer within
        ``vtol`` of the second moment; or a condition on the error.
    alpha_min, alpha_max : float
        The range.
    model_builder : callable
        ``model_builder(alpha=..., **model_kwargs)`` makes the model, such as ``glm_state_evolution``.
    alpha_tol, vtol : float
        Tolerances.

    Examples
    --------
    >>> from treeamp.models import glm_state_evolution
    >>> alpha = find_critical_alpha("x", 0.0, "perfect", 0.3, 0.6, glm_state_evolution, alpha_tol=1e-3,
    ...                             prior_type="gauss_bernoulli", output_type="gaussian",
    ...                             prior_rho=0.25, output_var=1e-11)
    >>> round(alpha, 2)
    0.42
    """
    model = model_builder(alpha=alpha_max, **model_kwargs)
    if id not in model.variable_ids:
        known = ", ".join(f"`{name}`" for name in model.variable_ids)
        raise ValueError(f"there is no variable `{id}`: the model has {known}")
    tau = model.init_second_moments()[id]
    tol = number(vtol, "vtol")

    def met(alpha: float) -> bool:
        mse = find_state_evolution_mse(id, a0, alpha, model_builder, **model_kwargs)
        if callable(mse_criterion):
            return bool(mse_criterion(mse))
        if mse_criterion == "perfect":
            return mse < tol * tau
        if mse_criterion == "random":
            return mse < (1 - tol) * tau
        raise ValueError(f"`mse_criterion` must be 'perfect', 'random' or a function, got {mse_criterion!r}")

    return float(binary_search(met, alpha_min, alpha_max, alpha_tol)["xmid"])
