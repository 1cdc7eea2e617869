"""Linear maps with a fast transform, on arrays of any number of axes, and those that move components about."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _lib
from .._arrays import Array, array, check_seed, choice, complex_array, count, counts, finite, flag, not_empty, number, owned, size_to_shape
from ..errors import ModelError
from .base_channel import Channel

__all__ = [
    "Blur1DChannel",
    "Blur2DChannel",
    "ConcatChannel",
    "ConvChannel",
    "DifferentialChannel",
    "GradientChannel",
    "LaplacianChannel",
    "MaskChannel",
    "RealDFTChannel",
    "ReshapeChannel",
    "SplitChannel",
]


class _Shaped(Channel):
    """A linear map that depends on the shape of its signal, real or complex; a complex one has its parts on the first axis
    of arrays, and ``shape`` is without that axis."""

    shape: tuple[int, ...] | None
    real: bool = True

    def _on(self, shape: Any, real: bool) -> None:
        self.real = flag(real, "real")
        if not self.real:
            self._complex = (True, True)
        given = size_to_shape(shape, "shape")
        self.shape = None if given is None else not_empty(tuple(given), "shape")
        self._start()

    def _unbound(self) -> _lib.Factor:
        return super()._make()

    def _make(self) -> _lib.Factor:
        native = self._unbound() if self.real else self._unbound().on_complex()
        return native if self.shape is None else native.bind([self._parts(self.shape)])

    def _parts(self, shape: tuple[int, ...]) -> list[int]:
        """The shape of an array of signals of this one."""
        return list(shape) if self.real else [2, *shape]


class GradientChannel(_Shaped):
    r"""Forward difference :math:`x_{k,n} = z_{n + e_k} - z_n` along every axis, of shape ``(d, *shape)``.

    Parameters
    ----------
    shape : int or tuple, optional
        Shape of the signal; what the model gives by default.
    real : bool
        Whether the signal is; a complex one has its parts on the first axis.
    boundary : str
        What follows the last entry: the first (``"periodic"``), the last again (``"neumann"``), or zero (``"zero"``).

    Examples
    --------
    >>> GradientChannel(shape=(3,)).sample([1.0, 2.0, 4.0])
    array([[ 1.,  2., -3.]])
    >>> GradientChannel(shape=(3,), boundary="neumann").sample([1.0, 2.0, 4.0])
    array([[1., 2., 0.]])
    """

    repr_parameters = ("shape", "boundary")
    _law, _native_parameters = "gradient", ("boundary",)

    def __init__(self, shape: Any = None, real: bool = True, boundary: str = "periodic") -> None:
        self.boundary = choice(boundary, ("periodic", "neumann", "zero"), "boundary")
        self._on(shape, real)

    def _output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (len(shape), *shape) if self.real else (2, len(shape) - 1, *shape[1:])


class LaplacianChannel(_Shaped):
    r"""Periodic Laplacian :math:`x_n = \sum_k (z_{n+e_k} - 2 z_n + z_{n-e_k})`.

    Parameters
    ----------
    shape : int or tuple
        Shape of the signal.
    real : bool
        Whether the signal is; a complex one has its parts on the first axis.

    Examples
    --------
    >>> LaplacianChannel(shape=(4,)).sample([0.0, 1.0, 0.0, 0.0]).round(12)
    array([ 1., -2.,  1.,  0.])
    """

    repr_parameters = ("shape",)
    _law = "laplacian"

    def __init__(self, shape: Any, real: bool = True) -> None:
        self._on(shape, real)


class Blur1DChannel(_Shaped):
    r"""Gaussian blur of a signal of length ``N``: :math:`\hat x_f = e^{-2\pi^2\sigma^2 f^2}\,\hat z_f`.

    Parameters
    ----------
    sigma : float
        Width :math:`\sigma` of the filter, in samples.
    N : int
        Length of the signal.
    real : bool
        Whether the signal is; a complex one has its parts on the first axis.
    """

    repr_parameters = ("sigma", "N")
    _law, _native_parameters = "gaussian_blur", ("sigma",)

    def __init__(self, sigma: float, N: int, real: bool = True) -> None:
        self.sigma, self.N = number(sigma, "sigma"), count(N, "N")
        self._on(self.N, real)


class Blur2DChannel(_Shaped):
    r"""Gaussian blur of an image, with one width per axis: :math:`\hat x_f = e^{-2\pi^2\sum_k\sigma_k^2 f_k^2}\,\hat z_f`.

    Parameters
    ----------
    sigma : array
        Width :math:`\sigma_k` on every axis, or one for all.
    shape : tuple
        Shape of the image.
    real : bool
        Whether the signal is; a complex one has its parts on the first axis.
    """

    repr_parameters = ("sigma", "shape")
    _law, _native_parameters = "gaussian_blur", ("sigma",)

    def __init__(self, sigma: Any, shape: Any, real: bool = True) -> None:
        self.sigma = owned(array(sigma, "sigma"))
        self._on(shape, real)


class ConvChannel(_Shaped):
    r"""Periodic convolution :math:`x_n = \sum_m \overline{w_m}\,z_{n+m}` with a filter of the signal's shape.

    The filter is applied as tramp applies it, :math:`\hat x = \overline{\hat w}\,\hat z`; flip it for the other convention.
    With ``real=False`` the signal is complex, its parts on the first axis, and the filter may be.

    Parameters
    ----------
    filter : array
        :math:`w`, of the shape of the signal.
    real : bool
        Whether the signal is; a complex one has its parts on the first axis.

    Examples
    --------
    >>> ConvChannel([0.0, 1.0, 0.0]).sample([1.0, 2.0, 3.0]).round(12)
    array([2., 3., 1.])
    >>> ConvChannel([0.0, 1j, 0.0], real=False).sample([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]).round(12) + 0.0
    array([[ 0.,  0.,  0.],
           [-2., -3., -1.]])
    """

    repr_parameters = ("filter",)
    _law = "convolution"

    def __init__(self, filter: Any, real: bool = True) -> None:
        self.filter = owned(finite(filter, "filter")) if real else complex_array(filter, "filter")
        if self.filter.ndim == 0:
            raise ValueError("`filter` must be an array of the signal's shape, got a number")
        if not np.isfinite(self.filter).all():
            raise ValueError("`filter` must be finite, got NaN or infinity")
        not_empty(self.filter.shape, "filter")
        self._on(self.filter.shape, real)

    def _unbound(self) -> _lib.Factor:
        # h_m = conj(w_{-m}), x_n = sum_m h_m z_{n-m}
        axes = tuple(range(self.filter.ndim))
        kernel = np.ascontiguousarray(np.roll(np.flip(self.filter), 1, axis=axes).conj())
        if self.real:
            return _lib.convolution(kernel)
        return _lib.complex_convolution(np.ascontiguousarray(kernel.real), np.ascontiguousarray(kernel.imag))


class DifferentialChannel(_Shaped):
    r"""Derivatives :math:`x_n = \sum_k D^1_k (z_{n+e_k} - z_n) + D^2_k (z_{n+e_k} - 2 z_n + z_{n-e_k})`, periodic.

    Parameters
    ----------
    D1, D2 : array
        Coefficients :math:`D^1_k` and :math:`D^2_k`, one per axis.
    shape : tuple
        Shape of the signal.
    real : bool
        Whether the signal is; a complex one has its parts on the first axis.
    """

    repr_parameters = ("D1", "D2", "shape")

    def __init__(self, D1: Any, D2: Any, shape: Any, real: bool = True) -> None:
        self.D1, self.D2 = owned(np.atleast_1d(finite(D1, "D1"))), owned(np.atleast_1d(finite(D2, "D2")))
        axes = len(size_to_shape(shape, "shape") or [])
        for name in ("D1", "D2"):
            if getattr(self, name).shape != (axes,):
                raise ModelError(f"DifferentialChannel: `{name}` must have one number per axis, {axes}")
        self._on(shape, real)

    def _unbound(self) -> _lib.Factor:
        assert self.shape is not None
        kernel = np.zeros(self.shape)
        origin = (0,) * len(self.shape)
        for axis, (first, second) in enumerate(zip(self.D1, self.D2)):
            # entry m of a kernel multiplies z at n - m
            before, after = list(origin), list(origin)
            before[axis] = -1 % self.shape[axis]
            after[axis] = 1 % self.shape[axis]
            kernel[origin] -= first + 2 * second
            kernel[tuple(before)] += first + second
            kernel[tuple(after)] += second
        return _lib.convolution(kernel)


class RealDFTChannel(_Shaped):
    r"""Orthogonal Fourier transform of a real array into as many real numbers, :math:`\sqrt2` times real and imaginary
    parts of every pair of frequencies: where to put a law on the coefficients of a real signal.

    Parameters
    ----------
    shape : int or tuple, optional
        Shape of the signal; what the model gives by default.
    """

    repr_parameters = ("shape",)
    _law = "real_dft"

    def __init__(self, shape: Any = None) -> None:
        self._on(shape, True)

    def _averaging(self) -> _lib.Factor:
        return self._native if self.shape is not None else self._unbound().bind([[4]])


class MaskChannel(_Shaped):
    r"""The entries :math:`x_i = z_{n_i}` where ``mask`` is true, in their order, as a vector.

    Parameters
    ----------
    mask : array
        Of booleans, or zeros and ones, in the shape of the signal.

    Examples
    --------
    >>> MaskChannel([True, False, True]).sample([1.0, 2.0, 3.0])
    array([1., 3.])
    """

    repr_parameters = ("mask",)
    _law, _native_parameters = "mask", ("mask",)

    def __init__(self, mask: Any) -> None:
        self.mask = owned(array(mask, "mask"))
        not_empty(self.mask.shape, "mask")
        self._input_shape = self.mask.shape
        self._on(self.mask.shape, True)

    def _output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (int(np.count_nonzero(self.mask)),)


class ReshapeChannel(_Shaped):
    r"""The same components :math:`x = z` in another shape.

    Parameters
    ----------
    prev_shape, next_shape : int or tuple
        Shapes of :math:`z` and :math:`x`.
    """

    repr_parameters = ("prev_shape", "next_shape")
    _law = "reshape"

    def __init__(self, prev_shape: Any, next_shape: Any) -> None:
        self.prev_shape = tuple(size_to_shape(prev_shape, "prev_shape") or ())
        self.next_shape = tuple(size_to_shape(next_shape, "next_shape") or ())
        if np.prod(self.prev_shape) != np.prod(self.next_shape):
            raise ModelError(f"ReshapeChannel: `next_shape` must have as many components as {self.prev_shape}, got {self.next_shape}")
        self._on(self.prev_shape, True)

    def _unbound(self) -> _lib.Factor:
        return _lib.reshape(list(self.next_shape))

    def _output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self.next_shape


class ConcatChannel(Channel):
    r"""Several signals end to end, :math:`x = (z_1; \dots; z_n)`, along an axis; ``Ns`` gives their lengths there.

    Parameters
    ----------
    Ns : list of int
        Lengths of the signals along the axis.
    axis : int
        Along which they are put end to end.

    Examples
    --------
    >>> ConcatChannel(Ns=[1, 2]).compute_forward_message([1.0, 1.0], [[3.0], [4.0, 5.0]], 0.0, [0.0] * 3)[1]
    array([3., 4., 5.])
    """

    repr_parameters = ("Ns", "axis")
    _law, _native_parameters = "concatenate", ("n_prev", "axis")

    def __init__(self, Ns: Any, axis: int = 0) -> None:
        self.Ns = counts(Ns, "Ns")
        self.n_prev = len(self.Ns)
        self.axis = count(axis, "axis", 0)
        self._start()

    def _averaging(self) -> _lib.Factor:
        return _lib.channel(self._law, [("n_prev", [float(self.n_prev)]), ("axis", [0.0])]).bind([[n] for n in self.Ns])

    def compute_free_energy(self, az: Any, ax: Any, tau_z: Any) -> float:
        r""":math:`\bar A` per component of ``x``, Bayes-optimal: the mean over its pieces, weighted by their lengths."""
        return super().compute_free_energy(az, ax, tau_z)

    def compute_mutual_information(self, az: Any, ax: Any, tau_z: Any) -> float:
        r""":math:`I(z; b_z, b_x)` per component of ``x``, Bayes-optimal.

        >>> pieces = ConcatChannel(Ns=[1, 3]).compute_mutual_information([2.0, 1.0], 1.0, 1.0)
        >>> round(pieces - (0.25 * 0.5 * float(np.log(3.0)) + 0.75 * 0.5 * float(np.log(2.0))), 12)
        0.0
        """
        return super().compute_mutual_information(az, ax, tau_z)

    def sample(self, Z: Any, *more: Any, seed: Any = None) -> Any:
        """The inputs, given one by one or as a list, end to end.

        >>> ConcatChannel(Ns=[1, 2]).sample([3.0], [4.0, 5.0])
        array([3., 4., 5.])
        """
        inputs, seed = self._inputs(Z, more, seed)
        for n, z in zip(self.Ns, inputs):
            if z.ndim <= self.axis or z.shape[self.axis] != n:
                raise ValueError(f"expected inputs of lengths {self.Ns} along axis {self.axis}, got one of shape {z.shape}")
        shape = list(inputs[0].shape)
        shape[self.axis] = sum(self.Ns)
        return self._draw(self._native.bind([list(z.shape) for z in inputs]), inputs, tuple(shape), seed)


class SplitChannel(Channel):
    r"""Pieces of a signal, :math:`(x_1; \dots; x_n) = z`, along an axis; ``Ns`` gives their lengths there.

    Parameters
    ----------
    Ns : list of int
        Lengths of the pieces along the axis.
    axis : int
        Along which the signal is cut.

    Examples
    --------
    >>> SplitChannel(Ns=[1, 2]).sample([3.0, 4.0, 5.0])
    [array([3.]), array([4., 5.])]
    """

    repr_parameters = ("Ns", "axis")
    _law, _native_parameters = "split", ("Ns", "axis")

    def __init__(self, Ns: Any, axis: int = 0) -> None:
        self.Ns = counts(Ns, "Ns")
        self.n_next = len(self.Ns)
        self.axis = count(axis, "axis", 0)
        self._start()

    def _averaging(self) -> _lib.Factor:
        return _lib.channel(self._law, [("Ns", [float(n) for n in self.Ns]), ("axis", [0.0])]).bind([[sum(self.Ns)]])

    def sample(self, Z: Any, *more: Any, seed: Any = None) -> Any:
        """The pieces of ``Z``, as a list."""
        inputs, seed = self._inputs(Z, more, seed)
        shape = inputs[0].shape
        if len(shape) <= self.axis or shape[self.axis] != sum(self.Ns):
            raise ValueError(f"expected {sum(self.Ns)} entries along axis {self.axis}, got shape {shape}")
        shapes = [(*shape[: self.axis], n, *shape[self.axis + 1 :]) for n in self.Ns]
        lengths = [int(np.prod(s)) for s in shapes]
        drawn = self._native.bind([list(shape)]).sample([np.ravel(inputs[0])], lengths, check_seed(seed))
        return [x.reshape(s) for x, s in zip(drawn, shapes)]
