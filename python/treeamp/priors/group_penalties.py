r"""Penalties of groups and of your own: energies :math:`E(x)` of maximum a posteriori estimation, as priors :math:`e^{-E(x)}`.

Each is its proximal map: at a belief :math:`(a, b)` the mode :math:`r = \operatorname{argmin}_x\{E(x) + \frac12 a\|x\|^2 - b^T x\}`, its
curvature :math:`v = \langle\partial_b r\rangle` and :math:`A = \max_x\{-E(x) - \frac12 a\|x\|^2 + b^T x\}`. In expectation propagation it is its own
Laplace approximation, and it can be the student of a mismatched state evolution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _lib
from .._arrays import Array, array, belief, count, number, size_to_shape
from ..errors import ModelError
from .base_penalty import Penalty

__all__ = ["MAP_CustomPrior", "MAP_L21NormPrior"]


class _OnWholeArrays(Penalty):
    """A penalty that mixes components: asked with arrays of its shape."""

    def _scalar(self, ax: Any, bx: Any) -> tuple[Array, Array, Array]:
        raise ModelError(f"{type(self).__name__} does not act on components alone: ask for posteriors of whole arrays")

    def compute_forward_posterior(self, ax: Any, bx: Any) -> tuple[Any, Any]:
        """The mode, and its curvature averaged over the components."""
        a, b = belief(number(ax, "ax"), bx, "x")
        r, v = self._native.moments([(float(a), b)], 0)
        return r.reshape(b.shape), v

    def compute_log_partition(self, ax: Any, bx: Any) -> float:
        """:math:`A` of the signal."""
        a, b = belief(number(ax, "ax"), bx, "x")
        return self._native.log_partition([(float(a), b)])


class MAP_L21NormPrior(_OnWholeArrays):
    r"""The penalty :math:`\gamma\sum_n\|x_n\|_2` of an array whose groups :math:`x_n` run along one axis, the first unless
    ``axis`` says otherwise: total variation, on a gradient.

    Parameters
    ----------
    size : tuple
        Shape of the array.
    gamma : float
        The strength :math:`\gamma`, not negative.
    axis : int
        The axis along which the members of a group lie; negative ones count from the last.
    isotropic : bool
        Kept for scripts that give it.

    Notes
    -----
    Group soft thresholding, :math:`r_n = \frac{b_n}{a}(1 - \gamma/\|b_n\|)_+`.

    Examples
    --------
    >>> MAP_L21NormPrior(size=(2, 2), gamma=1.0).compute_forward_posterior(1.0, [[3.0, 0.1], [4.0, 0.2]])[0]
    array([[2.4, 0. ],
           [3.2, 0. ]])
    >>> MAP_L21NormPrior(size=(2, 2), gamma=1.0, axis=-1).compute_forward_posterior(1.0, [[3.0, 4.0], [0.1, 0.2]])[0]
    array([[2.4, 3.2],
           [0. , 0. ]])
    """

    repr_parameters = ("size", "gamma", "axis")
    _law, _native_parameters = "l21", ("gamma", "axis")

    def __init__(self, size: Any, gamma: float = 1, axis: int = 0, isotropic: bool = True) -> None:
        self.gamma = number(gamma, "gamma")
        axes = len(size_to_shape(size) or [0])
        self.axis = count(axis, "axis", -axes) % axes if axes else 0
        if axes and axis >= axes:
            raise ModelError(f"MAP_L21NormPrior: `axis` must be one of the {axes} axes of size={size}, got {axis}")
        self._start(size, isotropic)


class MAP_CustomPrior(Penalty):
    r"""A penalty of your own, by its proximal map :math:`p(t, u) = \operatorname{argmin}_x\{t E(x) + \frac12(x - u)^2\}`.

    Parameters
    ----------
    size : int, tuple or None
        Number of components or shape; ``None`` for the limit of large sizes.
    proximal, derivative : callable
        :math:`p(t, u)` and :math:`\partial_u p`, functions of a number and an array, component by component.
    energy : callable
        :math:`E` of every component of an array.
    convex : bool
        Whether :math:`E` is: without it there is no certain way to its minimiser.
    name : str
        In messages and drawings.

    Examples
    --------
    >>> ridge = MAP_CustomPrior(2, proximal=lambda t, u: u / (1 + t), derivative=lambda t, u: np.ones_like(u) / (1 + t),
    ...                         energy=lambda x: 0.5 * x**2, name="ridge")
    >>> ridge.check()
    >>> ridge.compute_forward_posterior(1.0, [1.0, 2.0])
    (array([0.5, 1. ]), 0.5)
    """

    repr_parameters = ("size", "custom_name")

    def __init__(
        self,
        size: Any,
        proximal: Callable[..., Any],
        derivative: Callable[..., Any],
        energy: Callable[..., Any],
        *,
        convex: bool = True,
        name: str = "custom_penalty",
    ) -> None:
        self._given = {"proximal": proximal, "derivative": derivative, "energy": energy}
        for key, function in self._given.items():
            if not callable(function):
                raise TypeError(f"`{key}` must be a function, got {type(function).__name__}")
        self.convex = bool(convex)
        self.custom_name = str(name)
        self._start(size, True)

    def _called(self, key: str, *at: Any) -> Array:
        found = array(self._given[key](*at), f"{key} of {self.custom_name}")
        x = at[-1]
        if found.shape != np.shape(x):
            if found.ndim == 0:
                return np.full(np.shape(x), float(found))
            raise ValueError(f"`{key}` of {self.custom_name} must return shape {np.shape(x)}, got {found.shape}")
        if np.isnan(found).any():
            raise ValueError(f"`{key}` of {self.custom_name} returned NaN")
        return found

    def _call_proximal(self, t: float, u: Array) -> Array:
        return self._called("proximal", t, u)

    def _call_derivative(self, t: float, u: Array) -> Array:
        return self._called("derivative", t, u)

    def _call_energy(self, x: Array) -> float:
        return float(np.sum(self._called("energy", x)))

    def _make(self) -> _lib.Factor:
        functions = self._call_proximal, self._call_derivative, self._call_energy
        return _lib.custom_penalty(self.custom_name, size_to_shape(self.size), *functions, self.convex)

    def check(self) -> None:
        """Compares the derivative with differences of the proximal map, and that with the energy around it.

        Raises
        ------
        ModelError
            At the first place of disagreement.
        """

        def alone(key: str) -> Callable[[float, float], float]:
            if key == "energy":
                return lambda _, x: float(self._called(key, np.array([x]))[0])
            return lambda t, u: float(self._called(key, t, np.array([u]))[0])

        _lib.check_penalty(self.custom_name, alone("proximal"), alone("derivative"), alone("energy"))
