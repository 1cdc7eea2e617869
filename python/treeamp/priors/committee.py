r"""Binary weights of a committee: rows of :math:`\pm1` with beliefs that know how units covary."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from .. import _lib
from .._arrays import Array, array, belief, count, known, number
from ..errors import FactorError, ModelError, NotAvailable
from .base_prior import Prior
from .laws import BinaryPrior

__all__ = ["CommitteeBinaryPrior"]

#: A row has two to the power of its length values, all of which are summed over.
_MOST = 12


class CommitteeBinaryPrior(Prior):
    r"""Weights :math:`\pm1` of ``K`` units with ``N`` inputs each, :math:`+1` with probability ``p_pos``; the ``N`` rows
    :math:`x_n \in \{-1, 1\}^K` have beliefs :math:`e^{-\frac12 x_n^T a x_n + b_n^T x_n}` with a matrix :math:`a`.

    Parameters
    ----------
    N, K : int
        Rows, and units: the signal has shape ``(N, K)``. At most 12 units.
    p_pos : float
        Probability of :math:`+1`.

    Notes
    -----
    :math:`A(a, b_n) = \ln\sum_x p(x)\,e^{-\frac12 x^T a x + b_n^T x}`, the mean :math:`r_n = \partial_b A` and the covariance
    :math:`V_n = \partial_b\partial_b^T A` are sums over the :math:`2^K` values of a row. In a model its variable has beliefs
    ``block(K)``, as have those that channels tie to it.

    Examples
    --------
    >>> prior = CommitteeBinaryPrior(N=2, K=2)
    >>> r, V = prior.compute_forward_posterior([[0.0, -1.0], [-1.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]])
    >>> r
    array([[0., 0.],
           [0., 0.]])
    >>> V.round(6)  # off the diagonal tanh(1)
    array([[1.      , 0.761594],
           [0.761594, 1.      ]])
    """

    repr_parameters = ("N", "K", "p_pos")

    def __init__(self, N: int, K: int, p_pos: float = 0.5) -> None:
        self.N, self.K, self.p_pos = count(N, "N"), count(K, "K"), number(p_pos, "p_pos")
        if self.K > _MOST:
            raise ModelError(f"CommitteeBinaryPrior: `K` must be at most {_MOST}, a row has 2**K values, got {K}")
        if not 0 <= self.p_pos <= 1:
            raise ModelError(f"`p_pos` must be in [0, 1], got {self.p_pos:g}")
        self._unit = BinaryPrior(size=None, p_pos=self.p_pos)
        self._belief = f"block({self.K})"
        self._start((self.N, self.K), True)

    def _components(self) -> list[tuple[float, list[float], list[float]]]:
        """Weight, place and (no) covariance of every value of a row."""
        weight = {1.0: self.p_pos, -1.0: 1 - self.p_pos}
        rows = product((1.0, -1.0), repeat=self.K)
        return [(float(np.prod([weight[x] for x in row])), list(row), [0.0] * self.K**2) for row in rows]

    def _make(self) -> _lib.Factor:
        return _lib.mixture_rows(self.N, self._components())

    # --- expectation propagation

    def _rows(self, ax: Any, bx: Any) -> tuple[Array, Array, Array]:
        """Log-partition, mean and covariance of every row."""
        a, b = belief(ax, bx, "x")
        if a.ndim == 0:
            a = a * np.eye(self.K)
        if a.shape != (self.K, self.K) or not np.allclose(a, a.T, rtol=1e-12, atol=0):
            raise ValueError(f"`ax` must be a number or a symmetric {self.K} x {self.K} matrix, got shape {a.shape}")
        if b.shape != (self.N, self.K):
            raise ValueError(f"`bx` must have shape {(self.N, self.K)}, as the prior has, got {b.shape}")
        log_z, mean, covariance = _lib.row_law(self._components(), np.ascontiguousarray(a), np.ascontiguousarray(b))
        return log_z, mean.reshape(b.shape), covariance.reshape(self.N, self.K, self.K)

    def _has_log_density(self) -> None:
        raise NotAvailable("CommitteeBinaryPrior: rows are points, and have no log-density")

    def _scalar(self, ax: Any, bx: Any) -> tuple[Array, Array, Array]:
        raise ModelError("CommitteeBinaryPrior does not act on components alone: ask for posteriors of whole rows")

    def compute_forward_posterior(self, ax: Any, bx: Any) -> tuple[Any, Any]:
        """Means, of shape ``(N, K)``, and the covariance of a row averaged over rows, of shape ``(K, K)``."""
        _, mean, covariance = self._rows(ax, bx)
        return mean, covariance.mean(axis=0)

    def compute_forward_message(self, ax: Any, bx: Any) -> tuple[Any, Any]:
        r"""The outgoing message :math:`(V^{-1} - a,\; r V^{-1} - b)` with the averaged covariance :math:`V`."""
        r, V = self.compute_forward_posterior(ax, bx)
        try:
            inverse = np.linalg.inv(V)
        except np.linalg.LinAlgError:
            raise FactorError("CommitteeBinaryPrior: the averaged covariance has no inverse at these beliefs") from None
        return inverse - array(ax, "ax") * (np.eye(self.K) if np.ndim(ax) == 0 else 1), r @ inverse - array(bx, "bx")

    def compute_log_partition(self, ax: Any, bx: Any) -> float:
        """:math:`A` of the signal: the sum over its rows."""
        return float(self._rows(ax, bx)[0].sum())

    # --- averages: units whose precision matrix is diagonal are independent

    def _each(self, ax: Any, of: Any) -> Array:
        a = array(ax, "ax")
        if a.ndim == 2 and a.shape == (self.K, self.K) and np.count_nonzero(a - np.diag(np.diag(a))) == 0:
            a = np.diag(a)
        if a.ndim == 0:
            a = np.full(self.K, float(a))
        if a.shape != (self.K,):
            raise NotAvailable(
                "CommitteeBinaryPrior: averages at a precision matrix that is not diagonal are not available; give a number "
                "or a diagonal matrix, or ask expectation propagation of a large instance"
            )
        return np.array([of(known(x, "ax")) for x in a])

    def second_moment(self) -> Any:
        r""":math:`E\,x_n x_n^T`, a matrix: ones on its diagonal, :math:`(2p - 1)^2` elsewhere.

        >>> CommitteeBinaryPrior(N=1, K=2, p_pos=1.0).second_moment()
        array([[1., 1.],
               [1., 1.]])
        """
        mean = 2 * self.p_pos - 1
        return np.eye(self.K) * (1 - mean**2) + mean**2

    def compute_forward_error(self, ax: Any) -> Any:
        """Average covariance of a row, Bayes-optimal, at a diagonal precision."""
        return np.diag(self._each(ax, self._unit.compute_forward_error))

    def compute_forward_overlap(self, ax: Any) -> Any:
        r""":math:`E\,x_n x_n^T` less the error."""
        return self.second_moment() - self.compute_forward_error(ax)

    def compute_free_energy(self, ax: Any) -> float:
        r""":math:`\bar A = E\,A(a, b_n)` of a row, Bayes-optimal, at a diagonal precision."""
        return float(self._each(ax, self._unit.compute_free_energy).sum())

    def compute_mutual_information(self, ax: Any) -> float:
        """Between a row and its noisy view, in nats, at a diagonal precision."""
        return float(self._each(ax, self._unit.compute_mutual_information).sum())

    def compute_forward_state_evolution(self, ax: Any) -> Any:
        r"""The outgoing precision :math:`V^{-1} - a`, a diagonal matrix; infinite where nothing is unknown."""
        with np.errstate(divide="ignore"):
            return np.diag(self._each(ax, lambda a: np.divide(1.0, self._unit.compute_forward_error(a)) - a))

    def _matrix_only(self, *args: Any, **kwargs: Any) -> Any:
        """Not available: it is defined by a matrix of overlaps; ``BinaryPrior`` has it for one unit."""
        raise NotAvailable("CommitteeBinaryPrior: not available for matrices of overlaps; BinaryPrior has it for one unit")

    compute_precision = compute_dual_mutual_information = compute_dual_free_energy = _matrix_only
    compute_forward_v_BO = compute_potential_BO = compute_forward_state_evolution_BO = _matrix_only
    compute_forward_vmq_RS = compute_potential_RS = compute_forward_state_evolution_RS = _matrix_only
    forward_second_moment_FG = prior_log_partition_FG = _matrix_only
