r"""Random matrices. ``generate(seed)`` draws one; without a seed one is made and kept in ``seed``.

Entries have variance :math:`1/N` unless said otherwise, so that :math:`W z` has the scale of :math:`z`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _lib
from .._arrays import Array, array, check_memory, check_seed, choice, count, number, positive
from ..base import ReprMixin
from ..errors import ModelError

__all__ = [
    "BinaryEnsemble",
    "ComplexGaussianEnsemble",
    "ComplexUnitaryEnsemble",
    "Ensemble",
    "GaussianEnsemble",
    "MarchenkoPasturEnsemble",
    "OrthogonalEnsemble",
    "RandomFeatureEnsemble",
    "RotationEnsemble",
    "TernaryEnsemble",
    "UnitaryEnsemble",
    "get_ensemble",
]


class Ensemble(ReprMixin):
    r"""A law of matrices :math:`W` of ``M`` rows and ``N`` columns."""

    M: int
    N: int
    #: The seed of the last draw.
    seed: int | None = None
    _law = ""
    _probabilities: tuple[float, ...] = ()

    def _sized(self, M: Any, N: Any, rows: str = "M") -> None:
        self.M, self.N = count(M, rows), count(N, "N")
        check_memory((self.M, self.N), "a matrix")
        self.alpha = self.M / self.N

    def generate(self, seed: int | None = None) -> Array:
        """Draws a matrix."""
        self.seed = check_seed(seed)
        return _lib.random_matrix(self._law, self.M, self.N, list(self._probabilities), self.seed)


class GaussianEnsemble(Ensemble):
    r"""Independent entries :math:`N(0, 1/N)`.

    Parameters
    ----------
    M, N : int
        Rows and columns.

    Examples
    --------
    >>> GaussianEnsemble(M=2, N=3).generate(seed=0).shape
    (2, 3)
    """

    repr_parameters = ("M", "N")
    _law = "gaussian"
    #: What its spectrum becomes in the limit.
    limit = "gaussian"

    def __init__(self, M: int, N: int) -> None:
        self._sized(M, N)


class BinaryEnsemble(Ensemble):
    r"""Independent signs, :math:`+` with probability ``p_pos``, of variance :math:`1/N` (:math:`\pm1/\sqrt N` by default).

    Parameters
    ----------
    M, N : int
        Rows and columns.
    p_pos : float
        Probability of the positive value.
    """

    repr_parameters = ("M", "N", "p_pos")
    _law = "ternary"

    def __init__(self, M: int, N: int, p_pos: float = 0.5) -> None:
        self.p_pos = number(p_pos, "p_pos")
        if not 0 < self.p_pos < 1:
            raise ModelError(f"`p_pos` must be between 0 and 1, so that entries vary, got {self.p_pos}")
        self._sized(M, N)
        self._probabilities = (1 - self.p_pos, 0.0, self.p_pos)


def _probabilities(**given: float) -> float:
    """The sum of two probabilities of which neither is that of all entries; rounding may take it past one."""
    for name, p in given.items():
        if not 0 <= p < 1:
            raise ModelError(f"`{name}` must be a probability below 1, so that entries vary, got {p}")
    total = sum(given.values())
    if not 0 < total <= 1 + np.finfo(float).eps:
        names = " + ".join(f"`{name}`" for name in given)
        raise ModelError(f"{names} must be above 0 and at most 1, so that entries vary, got {total}")
    return total


class TernaryEnsemble(Ensemble):
    r"""Entries :math:`-, 0, +` with probabilities ``p_neg``, the rest, ``p_pos``, of variance :math:`1/N`.

    Parameters
    ----------
    M, N : int
        Rows and columns.
    p_pos, p_neg : float
        Probabilities of the positive and of the negative value.
    """

    repr_parameters = ("M", "N", "p_pos", "p_neg")
    _law = "ternary"

    def __init__(self, M: int, N: int, p_pos: float = 0.33, p_neg: float = 0.33) -> None:
        self.p_pos, self.p_neg = number(p_pos, "p_pos"), number(p_neg, "p_neg")
        both = _probabilities(p_pos=self.p_pos, p_neg=self.p_neg)
        self._sized(M, N)
        self._probabilities = (self.p_neg, max(0.0, 1 - both), self.p_pos)


class OrthogonalEnsemble(Ensemble):
    r"""Uniform matrices with orthonormal rows (:math:`M \le N`) or columns.

    Parameters
    ----------
    M, N : int
        Rows and columns.
    """

    repr_parameters = ("M", "N")
    _law = "orthogonal"
    limit = "orthogonal"

    def __init__(self, M: int, N: int) -> None:
        self._sized(M, N)


class RotationEnsemble(Ensemble):
    r"""Uniform rotations :math:`R^T R = 1`, :math:`\det R = 1`.

    Parameters
    ----------
    N : int
        Rows and columns.

    Examples
    --------
    >>> R = RotationEnsemble(N=3).generate(seed=1)
    >>> bool(abs(np.linalg.det(R) - 1) < 1e-12)
    True
    """

    repr_parameters = ("N",)
    _law = "orthogonal"

    def __init__(self, N: int) -> None:
        self._sized(N, N, "N")

    def generate(self, seed: int | None = None) -> Array:
        """Draws a rotation."""
        R = super().generate(seed)
        if np.linalg.det(R) < 0:
            # swapping the sign of a row of a uniform reflection gives a uniform rotation
            R[0] = -R[0]
        return R


#: The functions of ``RandomFeatureEnsemble`` by name.
FEATURES: dict[str, Callable[[float], float]] = {
    "relu": lambda u: max(u, 0.0),
    "abs": abs,
    "tanh": lambda u: float(np.tanh(u)),
    "sgn": lambda u: 1.0 if u >= 0 else -1.0,
    "relu_zero_mean": lambda u: max(u, 0.0),
    "abs_zero_mean": abs,
}


class RandomFeatureEnsemble(Ensemble):
    r"""Random features :math:`W = (f(G H/\sqrt N) - \mu)/(\sigma\sqrt N)`: mean zero and variance :math:`1/N`.

    ``f`` is one of ``relu``, ``abs``, ``tanh``, ``sgn`` (``relu_zero_mean`` and ``abs_zero_mean`` are the same as
    the first two, which are centred here), or a function of a number.

    Parameters
    ----------
    M, N : int
        Rows and columns.
    f : str or callable
        The function :math:`f`.
    """

    repr_parameters = ("M", "N", "f")

    def __init__(self, M: int, N: int, f: Any) -> None:
        self._sized(M, N)
        if isinstance(f, str) and f not in FEATURES:
            raise ValueError(f"`f` must be one of {', '.join(FEATURES)} or a function, got {f!r}")
        if not isinstance(f, str) and not callable(f):
            raise TypeError(f"`f` must be a name or a function, got {type(f).__name__}")
        self.f = f

    def generate(self, seed: int | None = None) -> Array:
        """Draws a matrix."""
        self.seed = check_seed(seed)
        return _lib.random_features(self.M, self.N, FEATURES.get(self.f, self.f), self.seed)


class MarchenkoPasturEnsemble(Ensemble):
    r"""The limit of Gaussian matrices at :math:`\alpha = M/N`: its spectrum, and draws of any size.

    Parameters
    ----------
    alpha : float
        Rows per column, :math:`\alpha`.

    Examples
    --------
    >>> mp = MarchenkoPasturEnsemble(alpha=0.5)
    >>> round(mp.eta_transform(0.0), 12), round(mp.shannon_transform(0.0), 12)
    (1.0, 0.0)
    """

    repr_parameters = ("alpha",)
    limit = "gaussian"

    def __init__(self, alpha: float) -> None:
        self.alpha = positive(alpha, "alpha")
        native = _lib.linear_ensemble("gaussian", self.alpha, [])
        spectrum = native.spectrum
        assert spectrum is not None
        self._nodes = np.array(spectrum[0])
        self.z_min, self.z_max = (1 - np.sqrt(self.alpha)) ** 2, (1 + np.sqrt(self.alpha)) ** 2

    def generate(self, N: int = 1000, seed: int | None = None) -> Array:  # type: ignore[override]
        """Draws a Gaussian matrix with ``N`` columns."""
        drawn = GaussianEnsemble(max(1, round(self.alpha * count(N, "N"))), N)
        W = drawn.generate(seed)
        self.seed = drawn.seed
        return W

    def measure(self, f: Callable[[float], Any]) -> float:
        r""":math:`E f(\lambda)` over the eigenvalues of :math:`W^T W`, zeros included.

        >>> round(MarchenkoPasturEnsemble(alpha=0.5).measure(lambda z: z**2), 9)
        0.75
        """
        return float(sum(weight * f(value) for value, weight in self._nodes.tolist()))

    @property
    def mean_spectrum(self) -> float:
        r""":math:`E\,\lambda`, which is :math:`\alpha`."""
        return self.alpha

    def bulk_density(self, z: Any) -> Any:
        """Density of the eigenvalues that are not zero by rank."""
        x = array(z, "z")
        inside = (x > self.z_min) & (x < self.z_max)
        safe = np.where(inside, x, 1.0)
        root = np.sqrt(np.where(inside, (safe - self.z_min) * (self.z_max - safe), 0.0))
        return (root / (2 * np.pi * safe))[()]

    def eta_transform(self, gamma: float) -> float:
        r""":math:`\eta(\gamma) = E\,\frac1{1 + \gamma\lambda}`."""
        g = number(gamma, "gamma")
        return self.measure(lambda z: 1 / (1 + g * z))

    def shannon_transform(self, gamma: float) -> float:
        r""":math:`E\,\ln(1 + \gamma\lambda)`."""
        g = number(gamma, "gamma")
        return self.measure(lambda z: np.log1p(g * z))


class ComplexGaussianEnsemble(Ensemble):
    r"""Independent complex entries, both parts :math:`N(0, 1/N)`.

    Parameters
    ----------
    M, N : int
        Rows and columns.

    Examples
    --------
    >>> ComplexGaussianEnsemble(M=2, N=3).generate(seed=0).dtype
    dtype('complex128')
    """

    repr_parameters = ("M", "N")

    def __init__(self, M: int, N: int) -> None:
        self._sized(M, N)

    def generate(self, seed: int | None = None) -> Any:
        """Draws a complex matrix."""
        self.seed = check_seed(seed)
        parts = _lib.random_matrix("gaussian", 2 * self.M, self.N, [], self.seed)
        return parts[: self.M] + 1j * parts[self.M :]


class UnitaryEnsemble(Ensemble):
    r"""Uniform unitary matrices :math:`U^\dagger U = 1`.

    Parameters
    ----------
    N : int
        Rows and columns.
    """

    repr_parameters = ("N",)

    def __init__(self, N: int) -> None:
        self._sized(N, N, "N")

    def generate(self, seed: int | None = None) -> Any:
        """Draws a unitary matrix."""
        gaussian = ComplexGaussianEnsemble(self.N, self.N)
        Q, R = np.linalg.qr(gaussian.generate(seed))
        self.seed = gaussian.seed
        # without these phases the law is not uniform
        phases = np.diag(R) / np.abs(np.diag(R))
        return Q * phases


class ComplexUnitaryEnsemble(Ensemble):
    r"""Rows of uniform unitary matrices, :math:`M \le N`, times ``scale``.

    Parameters
    ----------
    M, N : int
        Rows and columns.
    scale : float
        A factor of the matrix.
    """

    repr_parameters = ("M", "N", "scale")

    def __init__(self, M: int, N: int, scale: float = 1) -> None:
        self.scale = number(scale, "scale")
        self._sized(M, N)
        if self.M > self.N:
            raise ValueError(f"`M` must be at most `N`, got {M} and {N}")

    def generate(self, seed: int | None = None) -> Any:
        """Draws a complex matrix with orthogonal rows."""
        whole = UnitaryEnsemble(self.N)
        W = self.scale * whole.generate(seed)[: self.M]
        self.seed = whole.seed
        return W


#: Ensembles by the names that ``get_ensemble`` takes.
ENSEMBLE_CLASSES: dict[str, type[Ensemble]] = {
    "gaussian": GaussianEnsemble,
    "binary": BinaryEnsemble,
    "ternary": TernaryEnsemble,
    "rotation": RotationEnsemble,
    "orthogonal": OrthogonalEnsemble,
    "random_feature": RandomFeatureEnsemble,
    "marchenko_pastur": MarchenkoPasturEnsemble,
    "complex_gaussian": ComplexGaussianEnsemble,
    "unitary": UnitaryEnsemble,
    "complex_unitary": ComplexUnitaryEnsemble,
}


def get_ensemble(ensemble_type: str, **kwargs: Any) -> Ensemble:
    """An ensemble by name.

    >>> get_ensemble("gaussian", M=2, N=4)
    GaussianEnsemble(M=2, N=4)
    """
    return ENSEMBLE_CLASSES[choice(ensemble_type, ENSEMBLE_CLASSES, "ensemble_type")](**kwargs)
