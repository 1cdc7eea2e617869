"""Outputs of rows of fields, one number each."""

from __future__ import annotations

from typing import Any

from .._arrays import count
from .base_channel import Channel

__all__ = ["SignCommitteeChannel", "SoftmaxChannel"]


class SignCommitteeChannel(Channel):
    r"""The majority of the signs of a row, :math:`x_m = \mathrm{sign}\big(\sum_k\mathrm{sign}(z_{mk})\big)`: a committee of units of one layer. Its
    output must be observed.

    Parameters
    ----------
    K : int
        Units, from 1 to 4: its input has shape ``(M, K)`` and beliefs ``block(K)``, which keep how the units covary.

    Notes
    -----
    Labels are :math:`\pm1`, and 0 where as many signs are positive as negative. Moments by the probabilities of orthants. One matrix ``W`` for
    all units is a :class:`LinearChannel` on weights of shape ``(N, K)`` with beliefs ``block(K)``. Units that are alike stay alike: start a
    run with :class:`~treeamp.algos.NoisyInit`, or use ``restart``. State evolution has matrices too, ``q_matrix`` and ``covariance`` of
    every variable, and starts with a push.

    Examples
    --------
    >>> import treeamp as ta
    >>> W = ta.ensembles.GaussianEnsemble(500, 100).generate(0)
    >>> weights = ta.GaussianPrior(size=(100, 2)) @ ta.V("w", belief="block(2)")
    >>> z = weights @ ta.LinearChannel(W) @ ta.V("z", belief="block(2)")
    >>> model = (z @ ta.SignCommitteeChannel(2) @ ta.O("y")).to_model()
    >>> sample = model.sample(1)
    >>> ep = ta.ExpectationPropagation(model.to_observed({"y": sample["y"]}))
    >>> report = ep.iterate(max_iter=1000, initializer=ta.algos.NoisyInit(b_var=0.1, seed=0))
    >>> report.converged, report.mean("w").shape
    (True, (100, 2))
    """

    repr_parameters = ("K",)
    _law = "sign_committee"

    def __init__(self, K: int = 2) -> None:
        self.K = count(K, "K")
        self._start()

    def _values(self) -> Any:
        return [("units", [float(self.K)])]


class SoftmaxChannel(Channel):
    r"""Multinomial labels of a row, :math:`p(x_m = k \mid z_m) = e^{z_{mk}}/\sum_j e^{z_{mj}}` with :math:`k = 0, \dots, K - 1`. Its output must be observed.

    Parameters
    ----------
    K : int
        Classes, from 2 to 64: its input has shape ``(M, K)`` and beliefs ``block(K)``.

    Notes
    -----
    Up to three classes blocks are whole. Of more they are diagonal: how the fields of a row covary is neglected, and state evolution says that it
    is a heuristic.

    Examples
    --------
    >>> import numpy as np
    >>> import treeamp as ta
    >>> W = np.random.default_rng(0).normal(size=(400, 40)) / np.sqrt(40)
    >>> weights = ta.GaussianPrior(size=(40, 3), var=4.0) @ ta.V("w", belief="block(3)")
    >>> z = weights @ ta.LinearChannel(W) @ ta.V("z", belief="block(3)")
    >>> model = (z @ ta.SoftmaxChannel(3) @ ta.O("y")).to_model()
    >>> sample = model.sample(0)
    >>> report = ta.ExpectationPropagation(model.to_observed({"y": sample["y"]})).iterate()
    >>> report.converged, report.mean("w").shape
    (True, (40, 3))
    """

    repr_parameters = ("K",)
    _law = "softmax"

    def __init__(self, K: int = 2) -> None:
        self.K = count(K, "K")
        self._start()

    def _values(self) -> Any:
        return [("classes", [float(self.K)])]
