"""Products of hidden matrices of few columns."""

from __future__ import annotations

from typing import Any

from .._arrays import count
from ..errors import ModelError
from .base_channel import Channel

__all__ = ["LowRankFactorization", "LowRankGramChannel"]


class _LowRank(Channel):
    _complex = (False, False)

    def _checked(self, **sizes: int) -> None:
        for name, n in sizes.items():
            if self.K > n:
                raise ModelError(f"{type(self).__name__}: `K` must be at most `{name}`, got {self.K} for {n} rows")
        self._start()

    K: int

    def _sides(self) -> list[tuple[int, ...]]:
        """The shapes of its inputs; a vector is a matrix of one column."""
        raise NotImplementedError

    def _values(self) -> Any:
        return [("rank", [float(self.K)])]


class LowRankFactorization(_LowRank):
    r"""The product of two hidden matrices of few columns, :math:`x = u v^T/\sqrt N`.

    Parameters
    ----------
    M, N : int
        Rows of ``u`` and of ``v``: the shape of ``x``.
    K : int
        Columns of both, the rank. Of rank one, ``u`` and ``v`` may be vectors.

    Notes
    -----
    Its messages are the approximate message passing of Lesieur, Krzakala and Zdeborova. Entries of ``x`` are small, of order
    :math:`1/\sqrt N`, so that an output enters by the score and the curvature of its log-likelihood at zero; one that has none there,
    such as a sign without noise, is refused. Where all means are zero, a fixed point, a run begins at the leading directions of the
    scores, and ``report.notes`` says so.

    Examples
    --------
    >>> import treeamp as ta
    >>> u, v = ta.GaussianPrior(size=(60, 1)), ta.BinaryPrior(size=(80, 1))
    >>> x = (u @ ta.V("u") + v @ ta.V("v")) @ ta.LowRankFactorization(60, 80, 1) @ ta.V("x")
    >>> model = (x @ ta.GaussianChannel(var=0.1) @ ta.O("y")).to_model()
    >>> y = model.sample(0)["y"]
    >>> ta.ExpectationPropagation(model.to_observed({"y": y})).iterate().converged
    True
    """

    n_prev = 2
    repr_parameters = ("M", "N", "K")
    _law = "low_rank"

    def __init__(self, M: int, N: int, K: int) -> None:
        self.M, self.N, self.K = count(M, "M"), count(N, "N"), count(K, "K")
        self._checked(M=self.M, N=self.N)

    def _sides(self) -> list[tuple[int, ...]]:
        return [(self.M, self.K), (self.N, self.K)]


class LowRankGramChannel(_LowRank):
    r"""The product of a hidden matrix of few columns with itself, :math:`x = z z^T/\sqrt N`.

    Parameters
    ----------
    N : int
        Rows of ``z``: ``x`` is symmetric, of shape ``(N, N)``.
    K : int
        Columns of ``z``, the rank. Of rank one, ``z`` may be a vector.

    Notes
    -----
    Each pair of rows counts once, and none with itself: noise behind it is the same on both sides of the diagonal, the diagonal of
    observations is not used, and that of ``x`` is given as zero. The rest is as in :class:`LowRankFactorization`.

    Examples
    --------
    >>> import treeamp as ta
    >>> x = ta.BinaryPrior(size=100) @ ta.V("z") @ ta.LowRankGramChannel(100, 1) @ ta.V("x")
    >>> model = (x @ ta.GaussianChannel(var=0.1) @ ta.O("y")).to_model()
    >>> sample = model.sample(0)
    >>> report = ta.ExpectationPropagation(model.to_observed({"y": sample["y"]})).iterate()
    >>> bool(ta.algos.metrics.sign_symmetric_mse(sample["z"], report.mean("z")) < 0.05)
    True
    """

    repr_parameters = ("N", "K")
    _law = "low_rank_gram"
    _makes_pairs = True

    def __init__(self, N: int, K: int) -> None:
        self.N, self.K = count(N, "N"), count(K, "K")
        self._checked(N=self.N)

    def _sides(self) -> list[tuple[int, ...]]:
        return [(self.N, self.K)]
