r"""Channels of complex signals, whose real and imaginary parts are on the first axis of their arrays: a complex vector of
length N is an array of shape (2, N). Variances and precisions are per real component."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _lib
from .._arrays import array, complex_matrix, dense, not_empty, number, owned
from ..errors import ModelError
from .base_channel import Channel
from .operators import _Shaped

__all__ = [
    "ComplexLinearChannel",
    "DFTChannel",
    "MaskedDFTChannel",
    "ModulusChannel",
    "PhaseChannel",
    "RicianModulusChannel",
    "UnitaryChannel",
]


class ComplexLinearChannel(Channel):
    r"""Linear map :math:`x = W z` with a complex matrix.

    Parameters
    ----------
    W : array of shape (M, N)
        The matrix; a sparse one of scipy, or a linear operator, complex or real, is made an array: its messages come from a decomposition.
    precompute_svd : bool
        Kept for scripts that give it; it changes nothing.
    name : str
        A name for drawings.
    route : str
        ``"exact"``, ``"iid"``, ``"iid_only"`` or ``"auto"``, as of :class:`LinearChannel`.

    Examples
    --------
    >>> channel = ComplexLinearChannel(np.array([[1j]]))
    >>> channel.sample([[1.0], [0.0]])
    array([[0.],
           [1.]])
    """

    repr_parameters = ("W", "name")
    _complex = (True, True)

    def __init__(self, W: Any, precompute_svd: bool = True, name: str = "W", route: str = "exact") -> None:
        self.W = complex_matrix(dense(W, "W"), "W")
        self.precompute_svd = bool(precompute_svd)
        self.name = str(name)
        self.route = str(route)
        self.Nx, self.Nz = self.W.shape
        self._start()

    def _make(self) -> _lib.Factor:
        return _lib.complex_linear(np.ascontiguousarray(self.W.real), np.ascontiguousarray(self.W.imag), False, self.route)

    def _output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if len(shape) < 2 or shape[:2] != (2, self.Nz):
            raise ModelError(f"ComplexLinearChannel: `Z` must have shape (2, {self.Nz}), got {shape}")
        return (2, self.Nx, *shape[2:])


class UnitaryChannel(Channel):
    r"""Unitary map :math:`x = U z`, :math:`U^\dagger U = 1`: messages are turned.

    Parameters
    ----------
    U : complex array of shape (N, N)
        The matrix; one that is not unitary is refused.
    name : str
        A name for drawings.
    """

    repr_parameters = ("U", "name")
    _complex = (True, True)

    def __init__(self, U: Any, name: str = "U") -> None:
        self.U = complex_matrix(U, "U")
        self.name = str(name)
        self._start()

    def _make(self) -> _lib.Factor:
        return _lib.complex_linear(np.ascontiguousarray(self.U.real), np.ascontiguousarray(self.U.imag), True, "exact")


class ModulusChannel(Channel):
    r"""Modulus :math:`x = |z|`: complex in, real out."""

    _law = "modulus"
    _complex = (True, False)

    def __init__(self) -> None:
        self._start()

    def _output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape[1:]


class RicianModulusChannel(ModulusChannel):
    r"""Modulus :math:`x = |z + n|` of a complex signal behind circular noise of variance :math:`\Delta` per real component. Its output must be
    observed.

    Parameters
    ----------
    noise_variance : float
        :math:`\Delta`: variance of the noise per real component; positive.
    """

    repr_parameters = ("noise_variance",)
    _law, _native_parameters = "rician_modulus", ("noise_variance",)

    def __init__(self, noise_variance: float = 1) -> None:
        self.noise_variance = number(noise_variance, "noise_variance")
        self._start()


class PhaseChannel(Channel):
    r"""Phase :math:`x = z/|z|` of a complex signal. Its output must be observed."""

    _law = "phase"
    _complex = (True, True)

    def __init__(self) -> None:
        self._start()


class DFTChannel(_Shaped):
    r"""Unitary discrete Fourier transform, of a real signal (``real=True``) or a complex one; the coefficients are complex.

    Those of a real signal come in conjugate pairs, every number twice. Where a prior stands on them too, messages are
    turned as by a rotation, :math:`(a_z, F b_z)` and :math:`(a_x, F^T b_x)`, as in tramp: each of a pair holds half of what
    is known. There is no evidence then; :class:`RealDFTChannel` has as many coefficients as the signal, and one.

    Parameters
    ----------
    real : bool
        Whether the signal is; a complex one has its parts on the first axis.

    Examples
    --------
    >>> DFTChannel(real=True).sample([1.0, 1.0]).round(6)
    array([[1.414214, 0.      ],
           [0.      , 0.      ]])
    """

    repr_parameters = ("real",)
    _law = "dft"

    def __init__(self, real: bool = True) -> None:
        self._on(None, real)
        self._complex = (not self.real, True)

    def _unbound(self) -> _lib.Factor:
        native = super()._unbound()
        return native if self.real else native.on_complex()

    def _native_below_a_prior(self) -> _lib.Factor:
        return _lib.paired_dft() if self.real else self._native

    def _averaging(self) -> _lib.Factor:
        return self._unbound().bind([[4] if self.real else [2, 4]])

    def sample(self, Z: Any, *more: Any, seed: Any = None) -> Any:
        """The transform of ``Z``."""
        inputs, seed = self._inputs(Z, more, seed)
        shape = inputs[0].shape
        return self._draw(self._unbound().bind([list(shape)]), inputs, self._output_shape(shape), seed)

    def _output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (2, *shape) if self.real else shape


class MaskedDFTChannel(_Shaped):
    r"""The coefficients :math:`x_i = c_{k_i}` of the unitary Fourier transform where ``mask`` is true, in their order, as a complex
    vector: an array of shape ``(2, M)``.

    Parameters
    ----------
    mask : array
        Of booleans, or zeros and ones, in the shape of the signal, one per frequency.
    real : bool
        Whether the signal is; a complex one has its parts on the first axis.

    Examples
    --------
    >>> MaskedDFTChannel([True, False]).sample([1.0, 1.0]).round(6)
    array([[1.414214],
           [0.      ]])
    """

    repr_parameters = ("mask", "real")
    _law, _native_parameters = "masked_dft", ("mask",)

    def __init__(self, mask: Any, real: bool = True) -> None:
        self.mask = owned(array(mask, "mask"))
        not_empty(self.mask.shape, "mask")
        self._input_shape = self.mask.shape if real else (2, *self.mask.shape)
        self._on(self.mask.shape, real)
        self._complex = (not self.real, True)

    def _output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return 2, int(np.count_nonzero(self.mask))
