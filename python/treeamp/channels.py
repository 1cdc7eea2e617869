r"""Channels :math:`p(x|z)` between hidden variables.

Each is its log-partition :math:`A = \ln\int p(x|z)\,e^{-\frac12 a_z z^2 + b_z z - \frac12 a_x x^2 + b_x x}\,dz\,dx`,
with means :math:`r_z = \partial_{b_z} A`, :math:`r_x = \partial_{b_x} A`, and variances from second derivatives.
*Forward* is towards :math:`x`, *backward* towards :math:`z`. In state evolution :math:`a_z = \hat m_z + 1/\tau_z` and
:math:`a_x = \hat m_x`; potentials are per component of :math:`z`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _lib
from ._arrays import Array, array, check_seed, count, matrix, number, owned
from .base import Factor
from .errors import ModelError, NotAvailable

__all__ = [
    "AbsChannel",
    "AnalyticalLinearChannel",
    "AsymmetricAbsChannel",
    "BiasChannel",
    "Blur1DChannel",
    "Blur2DChannel",
    "Channel",
    "ComplexLinearChannel",
    "ConcatChannel",
    "ConvChannel",
    "DFTChannel",
    "DifferentialChannel",
    "DuplicateChannel",
    "GaussianChannel",
    "GradientChannel",
    "HardSigmoidChannel",
    "HardTanhChannel",
    "LaplacianChannel",
    "LeakyReluChannel",
    "LinearChannel",
    "LowRankFactorization",
    "LowRankGramChannel",
    "MarchenkoPasturChannel",
    "ModulusChannel",
    "PiecewiseLinearChannel",
    "ReluChannel",
    "ReshapeChannel",
    "RotationChannel",
    "SgnChannel",
    "SigmoidChannel",
    "SoftplusChannel",
    "SumChannel",
    "SymmetricDoorChannel",
    "TanhChannel",
    "UnitaryChannel",
    "get_channel",
]


class Channel(Factor):
    """A channel from ``z`` to ``x``."""

    n_prev = 1
    n_next = 1

    #: Catalogue name of the channel, and its parameters.
    _law: str = ""
    _native_parameters: tuple[str, ...] = ()

    def _start(self) -> None:
        self._native = self._make()

    def _make(self) -> _lib.Factor:
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
            return mean, (float(variance.mean()) if self.isotropic else variance)
        messages, linear = self._messages(az, bz, ax, bx)
        r, v = self._native.moments(messages, port)
        return r.reshape(linear[port].shape)[()], v

    def _message(self, port: int, az: Any, bz: Any, ax: Any, bx: Any) -> tuple[float, Any]:
        messages, linear = self._messages(az, bz, ax, bx)
        a, b = self._native.message(messages, port)
        return a, b.reshape(linear[port].shape)[()]

    def _scalar(self, az: Any, bz: Any, ax: Any, bx: Any) -> list[Array]:
        given = array(az, "az"), array(bz, "bz"), array(ax, "ax"), array(bx, "bx")
        full = np.broadcast_arrays(*given)
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

    def _average(self, az: Any, ax: Any, tau_z: Any) -> tuple[list[tuple[float, float, float]], list[float]]:
        taus = [number(t, "tau_z") for t in _repeated(self.n_prev, tau_z)]
        precisions = [number(a, "az") for a in _repeated(self.n_prev, az)]
        inputs = [(a - 1 / t, a - 1 / t, 1 / t) for a, t in zip(precisions, taus)]
        outputs = [(number(a, "ax"), number(a, "ax"), 0.0) for a in _repeated(self.n_next, ax)]
        return inputs + outputs, [1 / t for t in taus] + [0.0] * self.n_next

    def second_moment(self, tau_z: Any) -> float:
        r""":math:`\tau_x = E\,x^2` for :math:`z \sim N(0, \tau_z)`."""
        tau0_hat = [1 / number(t, "tau_z") for t in _repeated(self.n_prev, tau_z)] + [0.0] * self.n_next
        return self._native.second_moment(tau0_hat, self.n_prev)

    def compute_forward_error(self, az: Any, ax: Any, tau_z: Any) -> float:
        """Average variance of ``x``, Bayes-optimal."""
        return self._native.overlaps(*self._average(az, ax, tau_z), self.n_prev)[1]

    def compute_backward_error(self, az: Any, ax: Any, tau_z: Any) -> float:
        """Average variance of ``z``, Bayes-optimal."""
        return self._native.overlaps(*self._average(az, ax, tau_z), 0)[1]

    def compute_free_energy(self, az: Any, ax: Any, tau_z: Any) -> float:
        r""":math:`\bar A` per component of ``z``, Bayes-optimal."""
        return self._native.potential(*self._average(az, ax, tau_z))

    def compute_mutual_information(self, az: Any, ax: Any, tau_z: Any) -> float:
        r""":math:`I(z, x; b_z, b_x)` per component of ``z``, Bayes-optimal."""
        fields, tau0_hat = self._average(az, ax, tau_z)
        ports = [(1.0, 1 / t) for t in tau0_hat[: self.n_prev]]
        spectrum = self._native.spectrum
        ratio = spectrum[1] if spectrum else 1.0
        ports += [(ratio, self._native.second_moment(tau0_hat, self.n_prev + k)) for k in range(self.n_next)]
        return self._native.entropic_potential(fields, tau0_hat, ports)

    def compute_forward_state_evolution(self, az: Any, ax: Any, tau_z: Any) -> float:
        r"""The outgoing precision :math:`1/v_x - a_x`."""
        v = self.compute_forward_error(az, ax, tau_z)
        return 1 / v - number(ax, "ax") if v > 0 else float("inf")

    def compute_backward_state_evolution(self, az: Any, ax: Any, tau_z: Any) -> float:
        r"""The outgoing precision :math:`1/v_z - a_z`."""
        v = self.compute_backward_error(az, ax, tau_z)
        return 1 / v - number(az, "az") if v > 0 else float("inf")

    def _output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape

    def sample(self, Z: Any, seed: int | None = None) -> Array:
        """Outputs drawn given ``Z``."""
        inputs = [array(z, "Z") for z in (Z if self.n_prev > 1 else [Z])]
        shape = self._output_shape(inputs[0].shape)
        lengths = [int(np.prod(shape))] * self.n_next
        drawn = self._native.sample([np.ravel(z) for z in inputs], lengths, check_seed(seed))
        return drawn[0].reshape(shape)


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
    return [(number(x, f"a{side}"), array(y, f"b{side}")) for x, y in zip(a, b)]


# --- linear channels


class LinearChannel(Channel):
    r"""Linear map :math:`x = W z`.

    Parameters
    ----------
    W : array of shape (M, N)
        The matrix. It is decomposed once, when a run first needs it, and shared by all models that hold it.
    precompute_svd : bool
        Kept for scripts that give it; it changes nothing, and variances are right for any rank.
    name : str
        A name for drawings.

    Notes
    -----
    Under the tilt :math:`z` has precision :math:`a_z + a_x W^T W`: :math:`v_z` is the average of
    :math:`1/(a_z + a_x\lambda)` over the eigenvalues :math:`\lambda` of :math:`W^T W`.

    Examples
    --------
    >>> import numpy as np
    >>> channel = LinearChannel(np.diag([1.0, 2.0]))
    >>> round(channel.compute_backward_posterior(1.0, [0.0, 0.0], 1.0, [1.0, 1.0])[1], 12)
    0.35
    """

    repr_parameters = ("W", "name")

    def __init__(self, W: Any, precompute_svd: bool = True, name: str = "W") -> None:
        self.W = owned(matrix(W, "W"))
        self.precompute_svd = bool(precompute_svd)
        self.name = str(name)
        self.Nx, self.Nz = self.W.shape
        self.alpha = self.Nx / self.Nz if self.Nz else float("nan")
        self._start()

    def _make(self) -> _lib.Factor:
        return _lib.linear(self.W)

    def _output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if not shape or shape[0] != self.Nz:
            raise ModelError(f"LinearChannel: `Z` must have {self.Nz} rows, got shape {shape}")
        return (self.Nx, *shape[1:])


class RotationChannel(Channel):
    r"""Rotation :math:`x = R z`, :math:`R^T R = 1`: messages are rotated.

    Examples
    --------
    >>> import numpy as np
    >>> RotationChannel(np.array([[0.0, 1.0], [-1.0, 0.0]])).compute_forward_message(2.0, [1.0, 3.0], 0.0, [0.0, 0.0])
    (2.0, array([ 3., -1.]))
    """

    repr_parameters = ("R", "name")

    def __init__(self, R: Any, name: str = "R") -> None:
        self.R = owned(matrix(R, "R"))
        self.name = str(name)
        self._start()

    def _make(self) -> _lib.Factor:
        return _lib.rotation(self.R)


class AnalyticalLinearChannel(Channel):
    r"""A linear channel known by the spectrum of its ensemble only: state evolution in the limit.

    Parameters
    ----------
    ensemble : object
        With an ``alpha``, and either ``name`` ("gaussian" or "orthogonal") or ``eigenvalues`` of :math:`W^T W`.
    """

    repr_parameters = ("ensemble", "name")

    def __init__(self, ensemble: Any, name: str = "W") -> None:
        self.ensemble = ensemble
        self.alpha = number(ensemble.alpha, "alpha")
        self.name = str(name)
        self._start()

    def _make(self) -> _lib.Factor:
        values = getattr(self.ensemble, "eigenvalues", None)
        if values is not None:
            return _lib.linear_ensemble("eigenvalues", self.alpha, np.ravel(values).tolist())
        return _lib.linear_ensemble(getattr(self.ensemble, "limit", "gaussian"), self.alpha, [])


class MarchenkoPasturChannel(Channel):
    r"""A Gaussian matrix in the limit, :math:`M/N = \alpha`, entries of variance :math:`1/N`: state evolution only.

    Notes
    -----
    The spectrum of :math:`W^T W` is that of Marchenko and Pastur,
    :math:`(1 - \alpha)_+\delta(\lambda) + \frac{\sqrt{(\lambda - \lambda_-)(\lambda_+ - \lambda)}}{2\pi\lambda}`,
    :math:`\lambda_\pm = (1 \pm \sqrt\alpha)^2`.

    Examples
    --------
    >>> round(MarchenkoPasturChannel(alpha=0.2).compute_backward_error(1.0, 100.0, 1.0), 10)
    0.8024616546
    """

    repr_parameters = ("alpha", "name")

    def __init__(self, alpha: float, name: str = "W") -> None:
        self.alpha = number(alpha, "alpha")
        self.name = str(name)
        self._start()

    def _make(self) -> _lib.Factor:
        return _lib.linear_ensemble("gaussian", self.alpha, [])


class BiasChannel(Channel):
    r"""Shift :math:`x = z + c` by a known ``bias``."""

    repr_parameters = ("bias",)
    _law, _native_parameters = "bias", ("bias",)

    def __init__(self, bias: Any) -> None:
        self.bias = owned(array(bias, "bias"))
        self._start()


class SumChannel(Channel):
    r"""Sum :math:`x = z_1 + \dots + z_n`: means and variances add."""

    repr_parameters = ("n_prev",)
    _law, _native_parameters = "sum", ("n_prev",)

    def __init__(self, n_prev: int) -> None:
        self.n_prev = count(n_prev, "n_prev")
        self._start()


class DuplicateChannel(Channel):
    r"""Copies :math:`x_1 = \dots = x_n = z`: natural parameters add."""

    repr_parameters = ("n_next",)
    _law, _native_parameters = "duplicate", ("n_next",)

    def __init__(self, n_next: int) -> None:
        self.n_next = count(n_next, "n_next")
        self._start()


class GradientChannel(Channel):
    r"""Periodic forward difference along every axis; it can be declared and drawn, and has no inference rule yet."""

    repr_parameters = ("shape",)
    _law = "gradient"

    def __init__(self, shape: Any = None, real: bool = True) -> None:
        if not real:
            raise NotAvailable("GradientChannel(real=False) needs complex signals, which are not available yet")
        self.shape = shape
        self._start()


# --- noise and activations


class GaussianChannel(Channel):
    r"""Noise :math:`x = z + \sqrt\Delta\,\xi`.

    Examples
    --------
    >>> GaussianChannel(var=0.5).compute_forward_message(2.0, [2.0], 0.0, [0.0])
    (1.0, array([1.]))
    """

    repr_parameters = ("var",)
    _law, _native_parameters = "gaussian_noise", ("var",)

    def __init__(self, var: float = 1) -> None:
        self.var = number(var, "var")
        self._start()


class SgnChannel(Channel):
    r""":math:`x = \operatorname{sign}(z)`."""

    _law = "sign"

    def __init__(self) -> None:
        self._start()


class AbsChannel(Channel):
    r""":math:`x = |z|`."""

    _law = "abs"

    def __init__(self) -> None:
        self._start()


class AsymmetricAbsChannel(Channel):
    r""":math:`x = -z` below ``shift``, :math:`x = z` from there on."""

    repr_parameters = ("shift",)
    _law, _native_parameters = "asymmetric_abs", ("shift",)

    def __init__(self, shift: float = 1e-4) -> None:
        self.shift = number(shift, "shift")
        self._start()


class ReluChannel(Channel):
    r""":math:`x = \max(0, z)`."""

    _law = "relu"

    def __init__(self) -> None:
        self._start()


class LeakyReluChannel(Channel):
    r""":math:`x = z` for :math:`z \ge 0`, :math:`x = \gamma z` else, :math:`\gamma` being the ``slope``."""

    repr_parameters = ("slope",)
    _law, _native_parameters = "leaky_relu", ("slope",)

    def __init__(self, slope: float) -> None:
        self.slope = number(slope, "slope")
        self._start()


class HardTanhChannel(Channel):
    r""":math:`x = \max(-1, \min(1, z))`."""

    _law = "hard_tanh"

    def __init__(self) -> None:
        self._start()


class HardSigmoidChannel(Channel):
    r""":math:`x = \max(0, \min(1, \frac12 + \frac z{2L}))`, :math:`L` being the ``knee``."""

    repr_parameters = ("knee",)
    _law, _native_parameters = "hard_sigmoid", ("knee",)

    def __init__(self, knee: float = 2.5) -> None:
        self.knee = number(knee, "knee")
        self._start()


class SymmetricDoorChannel(Channel):
    r""":math:`x = \operatorname{sign}(|z| - K)`, :math:`K` being the ``width``."""

    repr_parameters = ("width",)
    _law, _native_parameters = "symmetric_door", ("width",)

    def __init__(self, width: float) -> None:
        self.width = number(width, "width")
        self._start()


class TanhChannel(Channel):
    r""":math:`x = \tanh z`, by quadrature."""

    _law = "tanh"

    def __init__(self) -> None:
        self._start()


class SigmoidChannel(Channel):
    r""":math:`x = 1/(1 + e^{-z})`, by quadrature."""

    _law = "sigmoid"

    def __init__(self) -> None:
        self._start()


class SoftplusChannel(Channel):
    r""":math:`x = \ln(1 + e^z)`, by quadrature."""

    _law = "softplus"

    def __init__(self) -> None:
        self._start()


class PiecewiseLinearChannel(Channel):
    r"""Any continuous or stepped :math:`x = x_i + \gamma_i z` on adjacent regions that cover the line.

    Parameters
    ----------
    name : str
        A name for messages and drawings.
    regions : list of dict
        Each with ``zmin``, ``zmax``, ``x0`` and ``slope``.

    Examples
    --------
    >>> inf = float("inf")
    >>> regions = [dict(zmin=-inf, zmax=0, x0=0, slope=0), dict(zmin=0, zmax=inf, x0=0, slope=1)]
    >>> round(PiecewiseLinearChannel("relu", regions).second_moment(1.0), 12)
    0.5
    """

    repr_parameters = ("name",)

    def __init__(self, name: str, regions: Any) -> None:
        self.name = str(name)
        keys = ("zmin", "zmax", "x0", "slope")
        try:
            self.regions = [{key: number(region[key], key) for key in keys} for region in regions]
        except KeyError as error:
            raise ValueError(f"every region must have {', '.join(keys)}, one lacks {error}") from None
        self._start()

    def _make(self) -> _lib.Factor:
        rows = [(r["zmin"], r["zmax"], r["x0"], r["slope"]) for r in self.regions]
        return _lib.piecewise(self.name, rows)


# --- known by name only


class _Absent(Channel):
    _why = "needs complex signals, which are"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotAvailable(f"{type(self).__name__} {self._why} not available yet")


class _AbsentOperator(_Absent):
    _why = "needs structured linear operators, which are"


class ComplexLinearChannel(_Absent):
    r"""Complex :math:`x = W z`. Not available yet."""


class UnitaryChannel(_Absent):
    r"""Complex :math:`x = U z`, :math:`U^\dagger U = 1`. Not available yet."""


class ModulusChannel(_Absent):
    r""":math:`x = |z|` of a complex :math:`z`. Not available yet."""


class DFTChannel(_AbsentOperator):
    r"""Orthonormal discrete Fourier transform. Not available yet."""


class ConvChannel(_AbsentOperator):
    r"""Periodic convolution with a filter. Not available yet."""


class Blur1DChannel(_AbsentOperator):
    r"""Gaussian blur along one axis. Not available yet."""


class Blur2DChannel(_AbsentOperator):
    r"""Gaussian blur of images. Not available yet."""


class DifferentialChannel(_AbsentOperator):
    r"""First and second derivatives. Not available yet."""


class LaplacianChannel(_AbsentOperator):
    r"""Periodic Laplacian. Not available yet."""


class ReshapeChannel(_AbsentOperator):
    r"""The same components in another shape. Not available yet."""


class ConcatChannel(_AbsentOperator):
    r"""Several signals end to end. Not available yet."""


class LowRankFactorization(_Absent):
    r""":math:`x = u v^T/\sqrt N`. Not available yet."""

    _why = "needs low-rank factors, which are"


class LowRankGramChannel(LowRankFactorization):
    r""":math:`x = z z^T/\sqrt N`. Not available yet."""


#: Channels by the names that ``get_channel`` takes.
CHANNELS: dict[str, Callable[..., Channel]] = {
    "linear": LinearChannel,
    "complex_linear": ComplexLinearChannel,
    "rotation": RotationChannel,
    "unitary": UnitaryChannel,
    "dft": DFTChannel,
    "conv": ConvChannel,
    "gradient": GradientChannel,
    "laplacian": LaplacianChannel,
    "bias": BiasChannel,
    "sum": SumChannel,
    "analytical": AnalyticalLinearChannel,
    "marchenko": MarchenkoPasturChannel,
    "duplicate": DuplicateChannel,
    "reshape": ReshapeChannel,
    "concat": ConcatChannel,
    "gaussian": GaussianChannel,
    "sgn": SgnChannel,
    "abs": AbsChannel,
    "a-abs": AsymmetricAbsChannel,
    "relu": ReluChannel,
    "l-relu": LeakyReluChannel,
    "h-tanh": HardTanhChannel,
    "h-sigm": HardSigmoidChannel,
    "door": SymmetricDoorChannel,
    "tanh": TanhChannel,
    "sigmoid": SigmoidChannel,
    "softplus": SoftplusChannel,
    "modulus": ModulusChannel,
    "low_rank_gram": LowRankGramChannel,
    "low_rank": LowRankFactorization,
}


def get_channel(channel_type: str, **kwargs: Any) -> Channel:
    """A channel by name.

    >>> get_channel("door", width=0.5)
    SymmetricDoorChannel(width=0.5)
    """
    if channel_type not in CHANNELS:
        raise ValueError(f"`channel_type` must be one of {', '.join(CHANNELS)}, got {channel_type!r}")
    return CHANNELS[channel_type](**kwargs)
