r"""What penalties share."""

from __future__ import annotations

from .. import _lib
from .._arrays import Array
from .._law import STUDENT_ONLY
from ..errors import ModelError
from .base_prior import Prior

__all__ = ["Penalty"]


class Penalty(Prior):
    r"""A penalty :math:`E(x)`, as the prior :math:`e^{-E(x)}`."""

    def _complex_native(self) -> _lib.Factor:
        raise ModelError(f"{type(self).__name__}: a penalty of a real signal, got a complex one")

    _teaches = False
    _without_moments = "the penalty has no curvature of its own"

    def _has_log_density(self) -> None:
        raise ModelError(f"{type(self).__name__}: a penalty is not a probability distribution and has no log-density")

    def sample(self, seed: int | None = None) -> Array:
        """Not known from a penalty."""
        raise ModelError(f"{type(self).__name__}: a penalty is not a probability distribution, signals cannot be drawn from it")

    def compute_forward_v_BO(self, ax: float, tx0_hat: float) -> float:
        """Not known from a penalty: it has no data of its own."""
        raise ModelError(f"{type(self).__name__}: {STUDENT_ONLY}")

    def compute_forward_overlap(self, ax: float) -> float:
        """Not known from a penalty: it has no data of its own."""
        return self.compute_forward_v_BO(ax, 0.0)
