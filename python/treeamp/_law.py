r"""What priors and likelihoods share: the law of one variable, component by component.

Each is its log-partition :math:`A`, with :math:`r = \partial_b A` and :math:`v = \partial_b^2 A`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _lib
from ._arrays import Array, known
from ._written import overrides
from .base import Factor
from .errors import FactorError, ModelError, NotAvailable, RunError

__all__ = ["Law"]


#: Why a penalty has no averages of its own.
STUDENT_ONLY = "a penalty is not a probability distribution and has no data of its own: use it as the student of compute_forward_vmq_RS"


class _Named:
    """A native twin whose refusals name the module that it belongs to, with its parameters."""

    def __init__(self, module: Factor) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        asked = getattr(self._module._native, name)

        def ask(*args: Any, **kwargs: Any) -> Any:
            try:
                return asked(*args, **kwargs)
            except (FactorError, RunError) as error:
                said = f"factor `{self._module._native.name}`: its tilted law is improper: "
                if str(error).startswith(said):
                    error.args = (f"{self._module!r}: {str(error).removeprefix(said)}",)
                raise

        return ask


class Law(Factor):
    """The law of one variable. A subclass says which way its messages go, and how its moments are had."""

    #: Which way its messages go, as in the names of its methods.
    _direction: str = ""
    #: Why it has no moments beside nothing, where it has none.
    _without_moments = "the law has no second moment"
    #: Whether data can be drawn from it.
    _teaches: bool = True

    @property
    def _base(self) -> type:
        """The class whose methods one of somebody's own overrides."""
        raise NotImplementedError

    @property
    def _is_written(self) -> bool:
        """Whether this is a class of somebody's own, made of the methods it overrides."""
        return not self._law and getattr(type(self), "_make") is getattr(self._base, "_make")

    def _has_log_density(self) -> None:
        """Refuses where there is no log-density to be asked for."""
        if self._is_written:
            raise NotAvailable(f"{type(self).__name__}: no log-density is known of a law that is given by its moments")

    def _asked(self, law: Callable[..., Any], *at: Array) -> Any:
        """What the native twin answers; its refusals of an observation name this class, as those of the constructor do."""
        try:
            return law(*at)
        except ModelError as error:
            name, _, text = str(error).partition(": ")
            if name == self._native.name:
                what = "" if text.startswith("y: ") else "beliefs and observations: "
                error.args = (f"{type(self).__name__}: {what}{text}",)
            raise

    # --- expectation propagation

    def _written_scalar(self, a: Array, b: Array, *y: Array) -> tuple[Array, Array, Array]:
        """The scalar functions of a subclass; a log-partition that it does not give is NaN."""
        names = f"scalar_{self._direction}_mean", f"scalar_{self._direction}_variance"
        if not overrides(self, self._base, *names):
            raise ModelError(f"{type(self).__name__}: expected methods {names[0]} and {names[1]}")
        has_potential = overrides(self, self._base, "scalar_log_partition")
        found = [getattr(self, "scalar_log_partition")(a, b, *y) if has_potential else np.nan]
        found += [getattr(self, name)(a, b, *y) for name in names]
        log_z, mean, variance = (np.array(np.broadcast_to(x, b.shape), dtype=np.float64) for x in found)
        return log_z, mean, variance

    def _answered(
        self, moments: tuple[Array, Array, Array], a: Any, rest: Callable[[], tuple[Array, Array, Array]]
    ) -> tuple[Array, Array, Array]:
        """These moments at precisions ``a``, refused where the law has no second moment at ``rest`` and a precision is 0. Elsewhere a mean
        beside an infinite variance is not a number: the integral that it is a ratio of diverges."""
        log_z, mean, variance = moments
        precisions = np.broadcast_to(a, variance.shape)
        refused = np.ravel(np.isinf(variance) & (precisions == 0))
        if refused.any() and np.isinf(rest()[2]).all():
            index = int(np.argmax(refused))
            raise FactorError(
                f"{type(self).__name__}: {self._without_moments}, and its moments need a precision above 0, "
                f"got {np.ravel(precisions)[index]:g} at index {index}"
            )
        return log_z, np.where(np.isinf(variance), np.nan, mean), variance

    def _posterior(self, moments: tuple[Array, Array, Array]) -> tuple[Any, Any]:
        """Mean of every component, and variance: averaged, or of every component when not isotropic."""
        _, r, v = moments
        self._proper(v)
        return r[()], (float(v.mean()) if self.isotropic else v[()])

    def _outgoing(self, a: Any, b: Array, moments: tuple[Array, Array, Array]) -> tuple[Any, Any]:
        r"""The message :math:`(1/v - a, r/v - b)`; an infinite precision pins at the mean."""
        _, r, v = moments
        if self.isotropic:
            v = np.asarray(v.mean())
        pinned = v == 0
        spread = np.where(pinned, 1.0, v)
        return np.where(pinned, np.inf, 1 / spread - a)[()], np.where(pinned, r, r / spread - b)[()]

    # --- state evolution

    @property
    def _averages(self) -> _lib.Factor:
        """The native twin, for averages over data: its refusals name this module with its parameters."""
        return _Named(self)  # type: ignore[return-value]

    def _gibbs(self, tau0_hat: float, v: float, name: str) -> tuple[float, float, float]:
        """The field at which the average variance is ``v``, which was given by this name, and the potentials there."""
        try:
            return self._averages.gibbs(tau0_hat, known(v, name))
        except RunError as error:
            raise RunError(str(error).replace("`v`", f"`{name}`", 1)) from None

    @staticmethod
    def _extrinsic(v: float, a: float) -> float:
        return 1 / v - a if v > 0 else float("inf")

    def _student(
        self, a: float, m_hat: float, q_hat: float, teacher: Any, t0_hat: float
    ) -> tuple[list[tuple[float, float, float]], list[float], Any]:
        r"""The fields of this student on data of a teacher; :math:`a = \hat q + \hat\tau`."""
        if not isinstance(teacher, Law):
            raise TypeError(f"`teacher` must be a prior or a likelihood, got {type(teacher).__name__}")
        if not teacher._teaches:
            raise ModelError(f"{type(teacher).__name__}: {STUDENT_ONLY}")
        q = known(q_hat, "q_hat")
        return [(known(m_hat, "m_hat"), q, known(a, "a") - q)], [known(t0_hat, "t0_hat")], teacher._native

    def _vmq(self, *at: Any) -> tuple[float, float, float]:
        fields, tau0_hat, teacher = self._student(*at)
        m, v, q, _ = self._averages.overlaps(fields, tau0_hat, 0, teacher)
        return v, m, q

    def _potential_of(self, *at: Any) -> float:
        return self._averages.potential(*self._student(*at))

    def b_measure(self, *args: Any, **kwargs: Any) -> Any:
        """Not available: averages over a teacher's data are taken inside the methods that need them."""
        raise NotAvailable(
            f"{type(self).__name__} has no measures of its own to average with: call compute_{self._direction}_vmq_RS, "
            "compute_potential_RS or the like"
        )

    bx_measure = bz_measure = beliefs_measure = b_measure
