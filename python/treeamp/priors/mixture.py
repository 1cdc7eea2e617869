r"""A mixture of Gaussians, which takes arrays."""

from __future__ import annotations

from typing import Any

from .._arrays import array, owned
from .base_prior import Prior

__all__ = ["GaussianMixturePrior"]


class GaussianMixturePrior(Prior):
    r"""Mixture :math:`p(x) = \sum_k p_k\,N(x; m_k, \sigma_k^2)`; a variance of zero is a point mass.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    probs, means, vars : array
        Weights :math:`p_k` that add up to 1, means :math:`m_k` and variances :math:`\sigma_k^2`.
    isotropic : bool
        One variance for all components; each its own otherwise, in modules asked alone and in models.

    Examples
    --------
    >>> GaussianMixturePrior(size=3, probs=[0.5, 0.5], means=[-1, 1], vars=[0.1, 0.1]).second_moment()
    1.1
    """

    repr_parameters = ("size", "probs", "means", "vars")
    _law, _native_parameters = "gaussian_mixture", ("probs", "means", "vars")

    def __init__(
        self,
        size: Any,
        probs: Any = (0.5, 0.5),
        means: Any = (-1, 1),
        vars: Any = (1, 1),
        isotropic: bool = True,
    ) -> None:
        self.probs, self.means, self.vars = (owned(array(*x)) for x in ((probs, "probs"), (means, "means"), (vars, "vars")))
        self.K = self.probs.size
        self._start(size, isotropic)
