r"""What channels share."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _lib
from .._arrays import Array, array, belief, check_seed, inverse, known
from ..base import Factor, inv
from ..errors import FactorError, NotAvailable

__all__ = [
    "Channel",
]


class Channel(Factor):
    """A channel from ``z`` to ``x``."""

    n_prev = 1
    n_next = 1
    _complex: tuple[bool | None, bool | None] = (False, False)

    #: The only shape that its input may have, where it knows one.
    _input_shape: tuple[int, ...] | None = None
    #: Catalogue name of the channel, and its parameters.
    _law: str = ""
    _native_parameters: tuple[str, ...] = ()

    def _start(self) -> None:
        self._native = self._make()

    def _make(self) -> _lib.Factor:
        if not self._law:
            raise NotAvailable(
                f"{type(self).__name__}: channels written in Python are not available; LinearOperatorChannel makes one of a "
                "linear map, PiecewiseLinearChannel of an activation, and a teacher may be any object with a method sample"
            )
        values = [np.ravel(getattr(self, name)).tolist() for name in self._native_parameters]
        return _lib.channel(self._law, values)

    # --- expectation propagation

    def _messages(self, az: Any, bz: Any, ax: Any, bx: Any) -> tuple[list[tuple[float, Array]], list[Array]]:
        many = _listed(self.n_prev, az, bz, "z") + _listed(self.n_next, ax, bx, "x")
        linear = [b for _, b in many]
        return many, linear

    def _posterior(self, port: int, az: Any, bz: Any, ax: Any, bx: Any) -> tuple[Any, Any]:
        if "scalar" in self._native.rules and (not self.isotropic or np.ndim(az) or np.ndim(ax)):
            _, *moments = self._scalar(az, bz, ax, bx)
            mean, variance = moments[2 * port : 2 * port + 2]
            self._proper(variance)
            return mean, (float(variance.mean()) if self.isotropic else variance)
        messages, linear = self._messages(az, bz, ax, bx)
        r, v = self._native.moments(messages, port)
        return r.reshape(linear[port].shape)[()], self._proper(v)

    def _message(self, port: int, az: Any, bz: Any, ax: Any, bx: Any) -> tuple[float, Any]:
        messages, linear = self._messages(az, bz, ax, bx)
        a, b = self._native.message(messages, port)
        return a, b.reshape(linear[port].shape)[()]

    def _scalar(self, az: Any, bz: Any, ax: Any, bx: Any) -> list[Array]:
        full = np.broadcast_arrays(*belief(az, bz, "z"), *belief(ax, bx, "x"))
        return [x.reshape(full[0].shape) for x in self._native.channel_law(*map(np.ravel, full))]

    def scalar_log_partition(self, az: Any, bz: Any, ax: Any, bx: Any) -> Any:
        r"""Log-partition of every component, of a channel that acts on components."""
        return self._scalar(az, bz, ax, bx)[0][()]

    def compute_forward_posterior(self, az: Any, bz: Any, ax: Any, bx: Any) -> tuple[Any, Any]:
        """Mean of every component of ``x``, and variance, averaged."""
        return self._posterior(self.n_prev, az, bz, ax, bx)

    def compute_backward_posterior(self, az: Any, bz: Any, ax: Any, bx: Any) -> tuple[Any, Any]:
        """Mean of every component of ``z``, and variance, averaged."""
        return self._posterior(0, az, bz, ax, bx)

    def compute_forward_message(self, az: Any, bz: Any, ax: Any, bx: Any) -> tuple[float, Any]:
        """The message to ``x``; an infinite precision pins it at the second."""
        return self._message(self.n_prev, az, bz, ax, bx)

    def compute_backward_message(self, az: Any, bz: Any, ax: Any, bx: Any) -> tuple[float, Any]:
        """The message to ``z``; an infinite precision pins it at the second."""
        return self._message(0, az, bz, ax, bx)

    def compute_log_partition(self, az: Any, bz: Any, ax: Any, bx: Any) -> float:
        """Log-partition: the sum over components."""
        return self._native.log_partition(self._messages(az, bz, ax, bx)[0])

    # --- state evolution

    def _averaging(self) -> _lib.Factor:
        """The native twin that averages: where shapes decide on the twin, one of any shape with the same averages."""
        return self._native

    def _average(self, az: Any, ax: Any, tau_z: Any) -> tuple[list[tuple[float, float, float]], list[float]]:
        tau0_hat = [inverse(t, "tau_z") for t in _repeated(self.n_prev, tau_z)]
        precisions = [known(a, "az") for a in _repeated(self.n_prev, az)]
        inputs = [(a - t, a - t, t) for a, t in zip(precisions, tau0_hat)]
        outputs = [(known(a, "ax"), known(a, "ax"), 0.0) for a in _repeated(self.n_next, ax)]
        return inputs + outputs, tau0_hat + [0.0] * self.n_next

    def second_moment(self, tau_z: Any, *more: Any) -> float:
        r""":math:`\tau_x = E\,x^2` for :math:`z \sim N(0, \tau_z)`; several inputs have one each, or a list of them.

        >>> from treeamp.channels import SumChannel
        >>> round(SumChannel(2).second_moment(1.0, 2.0), 12)
        3.0
        """
        if more:
            tau_z = [tau_z, *more]
        tau0_hat = [inverse(t, "tau_z") for t in _repeated(self.n_prev, tau_z)] + [0.0] * self.n_next
        return self._averaging().second_moment(tau0_hat, self.n_prev)

    def compute_forward_error(self, az: Any, ax: Any, tau_z: Any) -> float:
        """Average variance of ``x``, Bayes-optimal."""
        return self._averaging().overlaps(*self._average(az, ax, tau_z), self.n_prev)[1]

    def compute_backward_error(self, az: Any, ax: Any, tau_z: Any) -> float:
        """Average variance of ``z``, Bayes-optimal."""
        return self._averaging().overlaps(*self._average(az, ax, tau_z), 0)[1]

    def compute_free_energy(self, az: Any, ax: Any, tau_z: Any) -> float:
        r""":math:`\bar A` per component of ``z``, Bayes-optimal."""
        return self._defined(self._averaging().potential(*self._average(az, ax, tau_z)))

    def compute_mutual_information(self, az: Any, ax: Any, tau_z: Any) -> float:
        r""":math:`I(z, x; b_z, b_x)` per component of ``z``, Bayes-optimal."""
        fields, tau0_hat = self._average(az, ax, tau_z)
        ports = [(1.0, inv(t)) for t in tau0_hat[: self.n_prev]]
        spectrum = self._averaging().spectrum
        ratio = spectrum[1] if spectrum else 1.0
        ports += [(ratio, self._averaging().second_moment(tau0_hat, self.n_prev + k)) for k in range(self.n_next)]
        return self._defined(self._averaging().entropic_potential(fields, tau0_hat, ports))

    def _defined(self, value: float) -> float:
        if np.isnan(value):
            raise FactorError(f"{type(self).__name__}: not defined at these precisions, infinities cancel")
        return value

    def compute_forward_state_evolution(self, az: Any, ax: Any, tau_z: Any) -> float:
        r"""The outgoing precision :math:`1/v_x - a_x`."""
        v = self.compute_forward_error(az, ax, tau_z)
        return 1 / v - known(ax, "ax") if v > 0 else float("inf")

    def compute_backward_state_evolution(self, az: Any, ax: Any, tau_z: Any) -> float:
        r"""The outgoing precision :math:`1/v_z - a_z`."""
        v = self.compute_backward_error(az, ax, tau_z)
        return 1 / v - known(az, "az") if v > 0 else float("inf")

    def _output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape

    def sample(self, Z: Any, *more: Any, seed: Any = None) -> Array:
        """Outputs drawn given ``Z``; several inputs are given one by one, or as a list.

        >>> from treeamp.channels import SumChannel
        >>> SumChannel(2).sample([1.0, 2.0], [3.0, 4.0])
        array([4., 6.])
        """
        inputs, seed = self._inputs(Z, more, seed)
        if self._input_shape is not None and inputs[0].shape != self._input_shape:
            raise ValueError(f"`Z` must have shape {self._input_shape}, got {inputs[0].shape}")
        if any(z.shape != inputs[0].shape for z in inputs):
            raise ValueError(f"inputs must have the same shape, got {', '.join(str(z.shape) for z in inputs)}")
        shape = self._output_shape(inputs[0].shape)
        return self._draw(self._native, inputs, shape, seed)

    def _draw(self, native: _lib.Factor, inputs: list[Array], shape: tuple[int, ...], seed: Any) -> Array:
        lengths = [int(np.prod(shape))] * self.n_next
        return native.sample([np.ravel(z) for z in inputs], lengths, check_seed(seed))[0].reshape(shape)

    def _inputs(self, Z: Any, more: tuple[Any, ...], seed: Any) -> tuple[list[Array], Any]:
        """The inputs of a draw, and its seed, which may stand behind them."""
        given = [Z, *more] if self.n_prev == 1 or more else list(Z)
        if len(more) == 1 and self.n_prev > 1 and np.ndim(more[0]) == 0 and len(Z) == self.n_prev:
            given = [*Z, *more]
        if len(given) == self.n_prev + 1 and seed is None:
            seed = given.pop()
        if len(given) != self.n_prev:
            raise ValueError(f"expected {self.n_prev} inputs, got {len(given)}")
        return [array(z, "Z") for z in given], seed


def _repeated(n: int, value: Any) -> list[Any]:
    """One value for each of ``n`` variables: a list of them, or one for all."""
    if isinstance(value, (list, tuple)):
        if len(value) != n:
            raise ValueError(f"expected {n} values, one per variable, got {len(value)}")
        return list(value)
    return [value] * n


def _listed(n: int, a: Any, b: Any, side: str) -> list[tuple[float, Array]]:
    """Messages at ``n`` ports; a single one is not a list."""
    if n == 1:
        a, b = [a], [b]
    if len(a) != n or len(b) != n:
        raise ValueError(f"expected {n} precisions and linear parts for `{side}`, got {len(a)} and {len(b)}")
    beliefs = [belief(known(x, f"a{side}"), y, side) for x, y in zip(a, b)]
    return [(float(x), y) for x, y in beliefs]
