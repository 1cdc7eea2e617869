r"""What channels share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _lib
from .._arrays import Array, array, belief, check_seed, countable, finite, inverse, known, positive
from ..base import Factor, inv
from ..errors import FactorError, NotAvailable
from ._dual import linear_precisions, precisions

__all__ = [
    "Channel",
]


class Channel(Factor):
    r"""A channel :math:`p(x|z)` from ``z`` to ``x``."""

    n_prev = 1
    n_next = 1
    _complex: tuple[bool | None, bool | None] = (False, False)

    #: The shape that its input must have, if there is one.
    _input_shape: tuple[int, ...] | None = None

    def _start(self) -> None:
        self._native = self._twin()

    def _make(self) -> _lib.Factor:
        if not self._law:
            raise NotAvailable(
                f"{type(self).__name__}: channels written in Python are not available; LinearOperatorChannel makes one of a "
                "linear map, PiecewiseLinearChannel of an activation, and a teacher may be any object with a method sample"
            )
        return _lib.channel(self._law, self._values())

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

    def _forward(self, ask: Callable[[int], Any]) -> list[Any]:
        return [ask(self.n_prev + port) for port in range(self.n_next)]

    def _backward(self, ask: Callable[[int], Any]) -> list[Any]:
        return [ask(port) for port in range(self.n_prev)]

    def compute_forward_posterior(self, az: Any, bz: Any, ax: Any, bx: Any) -> tuple[Any, Any]:
        """Mean of every component of ``x``, and variance, averaged; lists of both where there are several outputs."""
        return _paired(self._forward(lambda port: self._posterior(port, az, bz, ax, bx)))

    def compute_backward_posterior(self, az: Any, bz: Any, ax: Any, bx: Any) -> tuple[Any, Any]:
        """Mean of every component of ``z``, and variance, averaged; lists of both where there are several inputs."""
        return _paired(self._backward(lambda port: self._posterior(port, az, bz, ax, bx)))

    def compute_forward_message(self, az: Any, bz: Any, ax: Any, bx: Any) -> tuple[Any, Any]:
        """The message to ``x``, lists for several outputs; an infinite precision pins it at the second."""
        return _paired(self._forward(lambda port: self._message(port, az, bz, ax, bx)))

    def compute_backward_message(self, az: Any, bz: Any, ax: Any, bx: Any) -> tuple[Any, Any]:
        """The message to ``z``, lists for several inputs; an infinite precision pins it at the second.

        >>> from treeamp.channels import SumChannel
        >>> SumChannel(2).compute_backward_message([1.0, 1.0], [[0.0], [1.0]], 1.0, [0.0])[0]
        [0.5, 0.5]
        """
        return _paired(self._backward(lambda port: self._message(port, az, bz, ax, bx)))

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

    def second_moment(self, tau_z: Any, *more: Any) -> Any:
        r""":math:`\tau_x = E\,x^2` for :math:`z \sim N(0, \tau_z)`; several inputs have one each, or a list of them, and several
        outputs are a list.

        >>> from treeamp.channels import SumChannel
        >>> round(SumChannel(2).second_moment(1.0, 2.0), 12)
        3.0
        """
        if more:
            tau_z = [tau_z, *more]
        tau0_hat = [inverse(t, "tau_z") for t in _repeated(self.n_prev, tau_z)] + [0.0] * self.n_next
        return _single(self._forward(lambda port: self._averaging().second_moment(tau0_hat, port)))

    def compute_forward_error(self, az: Any, ax: Any, tau_z: Any) -> Any:
        """Average variance of ``x``, Bayes-optimal; a list where there are several outputs."""
        fields = self._average(az, ax, tau_z)
        return _single(self._forward(lambda port: self._averaging().overlaps(*fields, port)[1]))

    def compute_backward_error(self, az: Any, ax: Any, tau_z: Any) -> Any:
        """Average variance of ``z``, Bayes-optimal; a list where there are several inputs."""
        fields = self._average(az, ax, tau_z)
        return _single(self._backward(lambda port: self._averaging().overlaps(*fields, port)[1]))

    def compute_forward_overlap(self, az: Any, ax: Any, tau_z: Any) -> Any:
        r""":math:`m_x = \tau_x - v_x`, Bayes-optimal; a list where there are several outputs."""
        fields = self._average(az, ax, tau_z)
        return _single(self._forward(lambda port: self._averaging().overlaps(*fields, port)[0]))

    def compute_backward_overlap(self, az: Any, ax: Any, tau_z: Any) -> Any:
        r""":math:`m_z = \tau_z - v_z`, Bayes-optimal; a list where there are several inputs."""
        fields = self._average(az, ax, tau_z)
        return _single(self._backward(lambda port: self._averaging().overlaps(*fields, port)[0]))

    def get_alpha(self) -> float:
        """Components of ``x`` per component of ``z``."""
        spectrum = self._averaging().spectrum
        return spectrum[1] if spectrum else 1.0

    def compute_n_eff(self, az: float, ax: float) -> float:
        r"""The fraction :math:`E\frac{a_x\lambda}{a_z + a_x\lambda}` of directions that a linear channel tells, :math:`\lambda` being
        the eigenvalues of :math:`W^T W`.

        >>> from treeamp.channels import LinearChannel
        >>> round(LinearChannel([[1.0]]).compute_n_eff(1.0, 3.0), 12)
        0.75
        """
        spectrum = self._averaging().spectrum
        if spectrum is None:
            raise NotAvailable(f"{type(self).__name__}: only linear channels with a spectrum have a number of directions")
        nodes, z, x = spectrum[0], known(az, "az"), known(ax, "ax")
        return float(sum(w * x * value / (z + x * value) for value, w in nodes if x * value > 0))

    def compute_free_energy(self, az: Any, ax: Any, tau_z: Any) -> float:
        r""":math:`\bar A` per component of ``z``, Bayes-optimal."""
        return self._defined(self._averaging().potential(*self._average(az, ax, tau_z)))

    def compute_mutual_information(self, az: Any, ax: Any, tau_z: Any) -> float:
        r""":math:`I(z, x; b_z, b_x)` per component of ``z``, Bayes-optimal."""
        fields, tau0_hat = self._average(az, ax, tau_z)
        ports = [(1.0, inv(t)) for t in tau0_hat[: self.n_prev]]
        ratio = self.get_alpha()
        ports += self._forward(lambda port: (ratio, self._averaging().second_moment(tau0_hat, port)))
        return self._defined(self._averaging().entropic_potential(fields, tau0_hat, ports))

    def compute_precision(self, vz: float, vx: float, tau_z: float) -> tuple[float, float]:
        """The precisions ``(az, ax)`` at which the average variances are ``vz`` and ``vx``."""
        if self.n_prev != 1 or self.n_next != 1:
            raise NotAvailable(f"{type(self).__name__}: precisions are those of a channel with one input and one output")
        z, x, tau = positive(vz, "vz"), positive(vx, "vx"), positive(tau_z, "tau_z")
        spectrum = self._averaging().spectrum
        if spectrum is not None:
            return linear_precisions(spectrum[0], spectrum[1], z, x)

        def errors(az: float, ax: float) -> tuple[float, float]:
            return self.compute_backward_error(az, ax, tau), self.compute_forward_error(az, ax, tau)

        return precisions(errors, z, x, tau)

    def compute_dual_mutual_information(self, vz: float, vx: float, tau_z: float) -> float:
        r""":math:`I - \frac12(a_z v_z + \alpha a_x v_x)` at the precisions where the average variances are these.

        >>> from treeamp.channels import MarchenkoPasturChannel
        >>> round(MarchenkoPasturChannel(alpha=0.5).compute_dual_mutual_information(0.5, 0.25, 1.0), 9)
        -0.105139615
        """
        az, ax = self.compute_precision(vz, vx, tau_z)
        return self.compute_mutual_information(az, ax, tau_z) - 0.5 * (az * vz + self.get_alpha() * ax * vx)

    def compute_dual_free_energy(self, mz: float, mx: float, tau_z: float) -> float:
        r""":math:`\frac12(a_z m_z + \alpha a_x m_x) - \bar A` at the precisions where the overlaps are these."""
        az, ax = self.compute_precision(known(tau_z, "tau_z") - mz, self.second_moment(tau_z) - mx, tau_z)
        return 0.5 * (az * mz + self.get_alpha() * ax * mx) - self.compute_free_energy(az, ax, tau_z)

    def measure(self, f: Callable[[float, float], float], zmin: float, zmax: float) -> float:
        r""":math:`\int_{z_{min}}^{z_{max}} f(z, x(z))\,dz` of a piecewise linear channel, by quadrature.

        >>> from treeamp.channels import AbsChannel
        >>> round(AbsChannel().measure(lambda z, x: x, -1.0, 1.0), 12)
        1.0
        """
        from ._measures import area

        low, high = known(zmin, "zmin"), known(zmax, "zmax")
        if not -np.inf < low < high < np.inf:
            raise ValueError(f"expected finite `zmin` below `zmax`, got {low} and {high}")
        return area(self._pieces("measure"), f, low, high)

    def beliefs_measure(self, az: float, ax: float, tau_z: float, f: Callable[[float, float], float]) -> float:
        r""":math:`E f(b_z, b_x)`, Bayes-optimal, of a piecewise linear channel: the average of a function of the linear parts of its
        messages, by quadrature, some ten thousand calls of ``f``.

        >>> from treeamp.channels import AbsChannel
        >>> round(AbsChannel().beliefs_measure(2.0, 1.0, 1.0, lambda bz, bx: bz * bz), 9)
        2.0
        """
        from ._measures import average_over_beliefs

        tau, x = positive(tau_z, "tau_z"), known(ax, "ax")
        m = known(az, "az") - 1 / tau
        if not (0 <= m < np.inf and 0 <= x < np.inf):
            raise ValueError(f"expected finite `az` of at least 1/tau_z = {1 / tau:g} and `ax` of at least 0, got {az} and {x}")
        return average_over_beliefs(self._pieces("beliefs_measure"), m, x, tau, f)

    def _pieces(self, method: str) -> list[tuple[float, float, float, float]]:
        if not self._native.pieces:
            raise NotAvailable(f"{type(self).__name__}.{method}: only channels that are piecewise linear have it")
        return self._native.pieces

    _compute_dual_mutual_information = compute_dual_mutual_information
    _compute_dual_free_energy = compute_dual_free_energy

    def _defined(self, value: float) -> float:
        if np.isnan(value):
            raise FactorError(f"{type(self).__name__}: not defined at these precisions, infinities cancel")
        return value

    def compute_forward_state_evolution(self, az: Any, ax: Any, tau_z: Any) -> Any:
        r"""The outgoing precision :math:`1/v_x - a_x`; a list where there are several outputs."""
        fields = self._average(az, ax, tau_z)
        return _single(self._forward(lambda port: self._extrinsic(fields, port)))

    def compute_backward_state_evolution(self, az: Any, ax: Any, tau_z: Any) -> Any:
        r"""The outgoing precision :math:`1/v_z - a_z`; a list where there are several inputs."""
        fields = self._average(az, ax, tau_z)
        return _single(self._backward(lambda port: self._extrinsic(fields, port)))

    def _extrinsic(self, at: tuple[list[tuple[float, float, float]], list[float]], port: int) -> float:
        v = self._averaging().overlaps(*at, port)[1]
        _, q_hat, tau_hat = at[0][port]
        return 1 / v - (q_hat + tau_hat) if v > 0 else float("inf")

    def _output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape

    def sample(self, Z: Any, *more: Any, seed: Any = None) -> Any:
        """Outputs drawn given ``Z``, a list where there are several; several inputs are given one by one, or as a list.

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

    def _draw(self, native: _lib.Factor, inputs: list[Array], shape: tuple[int, ...], seed: Any) -> Any:
        lengths = [int(np.prod(shape))] * self.n_next
        drawn = native.sample([np.ravel(z) for z in inputs], lengths, check_seed(seed))
        if self.n_prev == self.n_next == 1 and drawn[0].size == inputs[0].size:
            countable(type(self).__name__, np.ravel(inputs[0]), drawn[0])
        return _single([x.reshape(shape) for x in drawn])

    def _inputs(self, Z: Any, more: tuple[Any, ...], seed: Any) -> tuple[list[Array], Any]:
        """The inputs of a draw, and its seed, which may stand behind them."""
        given = [Z, *more] if self.n_prev == 1 or more else list(Z)
        if len(more) == 1 and self.n_prev > 1 and np.ndim(more[0]) == 0 and len(Z) == self.n_prev:
            given = [*Z, *more]
        if len(given) == self.n_prev + 1 and seed is None:
            seed = given.pop()
        if len(given) != self.n_prev:
            raise ValueError(f"expected {self.n_prev} inputs, got {len(given)}")
        return [finite(z, "Z") for z in given], seed


def _single(answers: list[Any]) -> Any:
    """One answer as itself, several as a list."""
    return answers[0] if len(answers) == 1 else answers


def _paired(answers: list[Any]) -> tuple[Any, Any]:
    """One pair as itself, several as a pair of lists."""
    return answers[0] if len(answers) == 1 else tuple(map(list, zip(*answers)))  # type: ignore[return-value]


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
