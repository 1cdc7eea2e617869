"""Linear channels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import _lib
from ..._arrays import Array, array, count, is_operator, matrix, not_empty, number, owned, size_to_shape
from ..._device import DeviceMatrix, in_memory, is_foreign
from ..._spectrum import gauss_nodes
from ...errors import ModelError
from ..base_channel import Channel

__all__ = [
    "AnalyticalLinearChannel",
    "BiasChannel",
    "DuplicateChannel",
    "LinearChannel",
    "LinearOperatorChannel",
    "MarchenkoPasturChannel",
    "RotationChannel",
    "SumChannel",
]


class LinearChannel(Channel):
    r"""Linear map :math:`x = W z`.

    Parameters
    ----------
    W : array, sparse matrix or linear operator of shape (M, N)
        The matrix. An array of another library (torch, CuPy, JAX: whatever follows the array-API standard) stays on its device, in its
        precision, as in the notes. A sparse matrix of scipy, or a ``LinearOperator`` (of scipy, or pylops), is taken as it is: means are then
        solved for by conjugate gradients, as in :class:`LinearOperatorChannel`, and between diagonal beliefs a sparse matrix is
        factorised. An array is decomposed once, when a run first needs it, and shared by all models that hold it. The native
        library has its own copy of it on the exact route, and the channel another, unless ``W`` is read-only (``W.flags.writeable = False``).
    precompute_svd : bool
        Kept for scripts that give it; it changes nothing, and variances are right for any rank.
    name : str
        A name for drawings.
    route : str
        How expectation propagation goes through it. ``"exact"``: by a decomposition. ``"iid"``: by approximate message passing, which needs
        two products a sweep and no decomposition, for a matrix whose entries are independent; a matrix that is not of that kind, and a run
        that does not end where the exact route does, are run by the exact route. ``"iid_only"``: never by that one. ``"auto"``: as ``"iid"``
        where the matrix is large and tests of its entries and of its spectrum allow it. ``report.routes`` says which was taken, and why.
        The two differ by finite sizes (about one nat of evidence): compare models by one route.
    copy : bool
        Whether ``W`` is copied where it could be written to. Without a copy, a contiguous array of floats becomes read-only and is kept as
        it is; on other routes than the exact one the native library then works on the same memory.

    An array of 32-bit floats is kept as it is: on other routes than the exact one products read half the memory and are summed in 64 bits. The exact
    route has a copy in 64.

    Notes
    -----
    Under the tilt :math:`z` has precision :math:`a_z + a_x W^T W`: :math:`v_z` is the average of
    :math:`1/(a_z + a_x\lambda)` over the eigenvalues :math:`\lambda` of :math:`W^T W`.

    An array of another library, of float32 or float64, is not copied: it is multiplied by that library where it is, and must not be
    changed. Vectors travel there and back for every product, the norms of rows and columns once. On the route ``"iid"`` a sweep takes two
    products; the exact one solves for means by conjugate gradients, as in :class:`LinearOperatorChannel`, to a tolerance that
    follows the precision, and is slow beside it. An array in the memory of the processor is decomposed on the exact route, as one of numpy.

    Examples
    --------
    >>> import numpy as np
    >>> channel = LinearChannel(np.diag([1.0, 2.0]))
    >>> round(channel.compute_backward_posterior(1.0, [0.0, 0.0], 1.0, [1.0, 1.0])[1], 12)
    0.35
    """

    repr_parameters = ("W", "name")
    _law = "linear"

    def __init__(self, W: Any, precompute_svd: bool = True, name: str = "W", route: str = "exact", copy: bool = True) -> None:
        self.route = str(route)
        if is_foreign(W) and self.route == "exact":
            known = in_memory(W)
            W = W if known is None else known
        as_it_is = is_operator(W) or is_foreign(W)
        self.W = W if as_it_is else _kept(matrix(W, "W", narrow=True), bool(copy))
        self.precompute_svd = bool(precompute_svd)
        self.name = str(name)
        if is_operator(W) and self.route != "exact":
            raise ModelError(
                f"LinearChannel: `route` must be 'exact' for a sparse matrix or a linear operator, got {self.route!r}"
            )
        if len(self.W.shape) != 2:
            raise ValueError(f"`W` must be a matrix, got an array of shape {tuple(self.W.shape)}")
        self.Nx, self.Nz = (int(n) for n in self.W.shape)
        if self.Nx == 0 or self.Nz == 0:
            raise ModelError(f"LinearChannel: `W` must have at least one row and one column, got shape {tuple(self.W.shape)}")
        self.alpha = self.Nx / self.Nz
        self._start()

    def _make(self) -> _lib.Factor:
        if is_foreign(self.W):
            return DeviceMatrix(self.W, "W").factor(self.route)
        if not is_operator(self.W):
            return _lib.linear(self.W, self.route)
        if np.dtype(self.W.dtype).kind == "c":
            raise ModelError("LinearChannel: `W` must be real, got a complex operator: ComplexLinearChannel takes it")
        if hasattr(self.W, "tocsr"):
            return _sparse(self.W)
        adjoint = self.W.rmatvec if hasattr(self.W, "rmatvec") else self.W.T.dot
        apply = self.W.matvec if hasattr(self.W, "matvec") else self.W.dot
        try:
            return _matrix_free(self.name, (self.Nz,), (self.Nx,), apply, adjoint)
        except NotImplementedError as error:  # as scipy says it
            raise ModelError("LinearChannel: `W` must have an adjoint, got an operator without `rmatvec`") from error

    def _output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if not shape or shape[0] != self.Nz:
            raise ModelError(f"LinearChannel: `Z` must have {self.Nz} rows, got shape {shape}")
        return (self.Nx, *shape[1:])


def _kept(W: Array, copy: bool) -> Array:
    """A matrix that nobody can change."""
    if copy:
        return owned(W)
    owner: Any = W
    while isinstance(owner, np.ndarray):
        owner.flags.writeable = False
        owner = owner.base
    return W


def _sparse(W: Any) -> _lib.Factor:
    """The entries of a sparse matrix, from which messages of diagonal beliefs come by a sparse factorisation."""
    rows = W.tocsr().copy()
    rows.sum_duplicates()
    starts, columns = (np.asarray(x, dtype=np.int64) for x in (rows.indptr, rows.indices))
    return _lib.sparse_linear(int(W.shape[1]), starts, columns, array(rows.data, "W"))


def _matrix_free(
    name: str,
    prev_shape: tuple[int, ...],
    next_shape: tuple[int, ...],
    apply: Callable[[Array], Any],
    adjoint: Callable[[Array], Any],
    tolerance: float | None = None,
    max_iter: int = 50_000,
) -> _lib.Factor:
    """A map by two functions, whose results are checked to be arrays of numbers."""
    if tolerance is None:
        # conjugate gradients get no nearer than the products are
        kind = np.asarray(apply(np.zeros(prev_shape))).dtype
        tolerance = max(1e-12, 8 * float(np.finfo(kind).eps)) if kind.kind == "f" else 1e-12

    def answer(x: Any, way: str, shape: tuple[int, ...]) -> Array:
        found, size = array(x, f"{way} of {name}"), int(np.prod(shape))
        if found.size != size:
            raise ValueError(f"`{way} of {name}`: expected {size} components, got {found.size}")
        return found

    def applied(z: Array) -> Array:
        return answer(apply(z), "apply", next_shape)

    def turned(x: Array) -> Array:
        return answer(adjoint(x), "adjoint", prev_shape)

    return _lib.matrix_free(name, list(prev_shape), list(next_shape), applied, turned, tolerance, max_iter)


class LinearOperatorChannel(Channel):
    r"""Linear map :math:`x = W z` that is no matrix but two functions.

    Parameters
    ----------
    apply, adjoint : callable
        :math:`W z` and :math:`W^T x`, functions of arrays. The dot test :math:`\langle W z, x\rangle = \langle z, W^T x\rangle` is run on them.
    prev_shape, next_shape : int or tuple
        Shapes of :math:`z` and :math:`x`.
    tolerance, max_iter
        Conjugate gradients stop at this residual, relative to the right-hand side (by default 1e-12, or eight units of rounding where
        ``apply`` returns shorter floats), and fail beyond so many iterations.
    name : str
        In messages and drawings.

    Notes
    -----
    Means are solved for by conjugate gradients, and the spectrum that variances need is computed once, or estimated by
    Lanczos steps where the smaller side is larger than 2048.

    Examples
    --------
    >>> import numpy as np
    >>> flip = LinearOperatorChannel(lambda z: 2 * z[::-1], lambda x: 2 * x[::-1], 3, 3, name="flip")
    >>> flip.sample([1.0, 2.0, 3.0])
    array([6., 4., 2.])
    >>> round(flip.compute_backward_posterior(1.0, np.zeros(3), 1.0, np.ones(3))[1], 12)
    0.2
    """

    repr_parameters = ("prev_shape", "next_shape", "name")

    def __init__(
        self,
        apply: Callable[[Array], Any],
        adjoint: Callable[[Array], Any],
        prev_shape: Any,
        next_shape: Any,
        *,
        tolerance: float | None = None,
        max_iter: int = 50_000,
        name: str = "operator",
    ) -> None:
        self._given = {"apply": apply, "adjoint": adjoint}
        for key, function in self._given.items():
            if not callable(function):
                raise TypeError(f"`{key}` must be a function, got {type(function).__name__}")
        self.prev_shape = not_empty(tuple(size_to_shape(prev_shape, "prev_shape") or ()), "prev_shape")
        self.next_shape = not_empty(tuple(size_to_shape(next_shape, "next_shape") or ()), "next_shape")
        self.tolerance = None if tolerance is None else number(tolerance, "tolerance")
        self.max_iter = count(max_iter, "max_iter")
        self.name = str(name)
        self._start()

    def _make(self) -> _lib.Factor:
        maps = self._given["apply"], self._given["adjoint"]
        return _matrix_free(self.name, self.prev_shape, self.next_shape, *maps, self.tolerance, self.max_iter)

    def _output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if shape != self.prev_shape:
            raise ModelError(f"LinearOperatorChannel: `Z` must have shape {self.prev_shape}, got {shape}")
        return self.next_shape


class RotationChannel(Channel):
    r"""Rotation :math:`x = R z`, :math:`R^T R = 1`: messages are rotated.

    Parameters
    ----------
    R : array of shape (N, N)
        The matrix; one that is no rotation is refused.
    name : str
        A name for drawings.

    Examples
    --------
    >>> import numpy as np
    >>> RotationChannel(np.array([[0.0, 1.0], [-1.0, 0.0]])).compute_forward_message(2.0, [1.0, 3.0], 0.0, [0.0, 0.0])
    (2.0, array([ 3., -1.]))
    """

    repr_parameters = ("R", "name")
    _law = "rotation"

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
        With an ``alpha``; and one of the following, which determine the spectrum of :math:`W^T W`: a ``limit`` ("gaussian" or "orthogonal", as have the
        ensembles of this package), ``eigenvalues``, or ``measure(f)``, the average :math:`E f(\lambda)`, zeros included, of
        which Gauss nodes are made.

    Examples
    --------
    >>> class Even:
    ...     alpha = 2.0
    ...     def measure(self, f):
    ...         return 0.5 * f(1.0) + 0.5 * f(3.0)
    >>> round(AnalyticalLinearChannel(Even()).compute_backward_error(1.0, 1.0, 1.0), 12)
    0.375
    """

    repr_parameters = ("ensemble", "name")
    _complex = (None, None)

    def __init__(self, ensemble: Any, name: str = "W") -> None:
        if not hasattr(ensemble, "alpha"):
            raise TypeError(f"`ensemble` must be an ensemble, with an `alpha`, got {type(ensemble).__name__}")
        self.ensemble = ensemble
        self.alpha = number(ensemble.alpha, "alpha")
        self.name = str(name)
        self._start()

    def _make(self) -> _lib.Factor:
        law, values = getattr(self.ensemble, "limit", None), getattr(self.ensemble, "eigenvalues", None)
        if values is not None:
            return _lib.linear_ensemble("eigenvalues", self.alpha, np.ravel(array(values, "eigenvalues")).tolist())
        if law is not None:
            return _lib.linear_ensemble(law, self.alpha, [])
        if callable(getattr(self.ensemble, "measure", None)):
            return _lib.spectrum_ensemble(self.alpha, gauss_nodes(self.ensemble.measure))
        raise ModelError(
            f"AnalyticalLinearChannel: unknown spectrum of {type(self.ensemble).__name__}: expected `eigenvalues` of "
            "W^T W, or a method `measure(f)` that averages over them"
        )


class MarchenkoPasturChannel(Channel):
    r"""A Gaussian matrix in the limit, :math:`M/N = \alpha`, entries of variance :math:`1/N`: state evolution only.

    Parameters
    ----------
    alpha : float
        Rows per column, :math:`\alpha`.
    name : str
        A name for drawings.

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
    _complex = (None, None)

    def __init__(self, alpha: float, name: str = "W") -> None:
        self.alpha = number(alpha, "alpha")
        self.name = str(name)
        self._start()

    def _make(self) -> _lib.Factor:
        return _lib.linear_ensemble("gaussian", self.alpha, [])


class BiasChannel(Channel):
    r"""Shift :math:`x = z + c` by a known ``bias``.

    Parameters
    ----------
    bias : array or float
        :math:`c`, of the shape of the signal, or flat with as many numbers as it has, or one number for all components.

    Examples
    --------
    >>> BiasChannel(0.5).sample([1.0, 2.0])
    array([1.5, 2.5])
    """

    repr_parameters = ("bias",)
    _law, _native_parameters = "bias", ("bias",)

    def __init__(self, bias: Any) -> None:
        self.bias = owned(array(bias, "bias"))
        if self.bias.ndim > 1:
            self._input_shape = self.bias.shape
        self._start()

    def _complex_native(self) -> _lib.Factor:
        """Parts are on the first axis here, and side by side there."""
        whole = self.bias.ndim > 1
        if self.bias.size < 2 or (len(self.bias) != 2 if whole else len(self.bias) % 2):
            return self._native
        pairs = np.moveaxis(self.bias if whole else self.bias.reshape(2, -1), 0, -1)
        return _lib.channel(self._law, [("bias", (list(pairs.shape[:-1]), np.ravel(pairs).tolist()))])


class SumChannel(Channel):
    r"""Sum :math:`x = z_1 + \dots + z_n`: means and variances add.

    Parameters
    ----------
    n_prev : int
        How many signals add up.
    """

    _complex = (None, None)
    repr_parameters = ("n_prev",)
    _law, _native_parameters = "sum", ("n_prev",)

    def __init__(self, n_prev: int) -> None:
        self.n_prev = count(n_prev, "n_prev")
        self._start()


class DuplicateChannel(Channel):
    r"""Copies :math:`x_1 = \dots = x_n = z`: natural parameters add.

    Parameters
    ----------
    n_next : int
        How many copies.
    """

    _complex = (None, None)
    repr_parameters = ("n_next",)
    _law, _native_parameters = "duplicate", ("n_next",)

    def __init__(self, n_next: int) -> None:
        self.n_next = count(n_next, "n_next")
        self._start()
