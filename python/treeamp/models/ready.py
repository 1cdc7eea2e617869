"""Ready-made models."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import check_seed, count, number, size_to_shape
from ..base import Factor, Piece, Variable
from ..channels import (
    ComplexLinearChannel,
    GaussianChannel,
    GradientChannel,
    LinearChannel,
    MarchenkoPasturChannel,
    ReluChannel,
    ReshapeChannel,
    SgnChannel,
    SumChannel,
    get_channel,
)
from ..ensembles import get_ensemble
from ..errors import ModelError
from ..likelihoods import GaussianLikelihood, Likelihood, SgnLikelihood, get_likelihood
from ..priors import BinaryPrior, GaussBernoulliPrior, GaussianPrior, MAP_L21NormPrior, Prior, get_prior
from .model import Model

__all__ = [
    "glm_generative",
    "glm_state_evolution",
    "committee",
    "sgn_committee",
    "soft_committee",
    "sparse_gradient_regression",
    "sparse_gradient_classification",
    "tv_regression",
    "tv_classification",
]


def _families(kwargs: dict[str, Any], *families: str) -> list[dict[str, Any]]:
    """Splits ``prior_rho=...`` and the like by their prefix."""
    split: list[dict[str, Any]] = [{} for _ in families]
    for key, value in kwargs.items():
        for family, found in zip(families, split):
            if key.startswith(family + "_"):
                found[key[len(family) + 1 :]] = value
                break
        else:
            known = ", ".join(f"{family}_..." for family in families)
            raise TypeError(f"unexpected keyword {key!r}: expected one of {known}")
    return split


def _observations(alpha: Any, N: int) -> int:
    """The number of observations, `alpha` per component."""
    ratio = number(alpha, "alpha")
    M = int(round(ratio * N)) if np.isfinite(ratio * N) else 0
    if M < 1:
        raise ModelError(f"`alpha` must give at least one observation, and finitely many, got {ratio} times {N}")
    return M


def glm_generative(
    N: int, alpha: float, ensemble_type: str, prior_type: str, output_type: str, seed: int | None = None, **kwargs: Any
) -> Model:
    """A generalised linear model with a random matrix: ``prior @ x @ linear @ z @ output @ y``.

    Parameters
    ----------
    N : int
        Components of the signal.
    alpha : float
        Observations per component.
    ensemble_type, prior_type, output_type : str
        As of ``get_ensemble``, ``get_prior`` and ``get_channel``.
    seed : int, optional
        Of the matrix; without one a new seed is drawn, and ``model.matrix_seed`` holds it.
    **kwargs
        ``prior_...``, ``output_...`` and ``ensemble_...`` parameters of the three.

    Examples
    --------
    >>> model = glm_generative(N=10, alpha=0.5, ensemble_type="gaussian", prior_type="gauss_bernoulli",
    ...                        output_type="gaussian", prior_rho=0.1, output_var=0.01, seed=0)
    >>> model.shapes
    {'x': (10,), 'z': (5,), 'y': (5,)}
    """
    prior, output, ensemble = _families(kwargs, "prior", "output", "ensemble")
    N = count(N, "N")
    M = _observations(alpha, N)
    size = {"N": N} if ensemble_type in ("rotation", "unitary") else {"M": M, "N": N}
    law = get_ensemble(ensemble_type, **size, **ensemble)
    F = law.generate(seed=check_seed(seed))
    # a complex signal has its parts on the first axis
    complex_matrix = np.iscomplexobj(F)
    channel = ComplexLinearChannel(F, name="F") if complex_matrix else LinearChannel(F, name="F")
    signal = get_prior((2, N) if complex_matrix else N, prior_type, **prior)
    model = (
        signal @ Variable("x") @ channel @ Variable("z")
        @ get_channel(output_type, **output) @ Variable("y")
    ).to_model()
    model.matrix_seed = law.seed  # type: ignore[attr-defined]
    return model


def glm_state_evolution(alpha: float, prior_type: str, output_type: str, **kwargs: Any) -> Model:
    """A generalised linear model with a Gaussian matrix in the limit of large sizes, ``y`` being observed.

    An output of complex signals, ``"modulus"``, makes them all complex: a matrix with entries of variance :math:`1/N`.

    Examples
    --------
    >>> from treeamp.algos import StateEvolution
    >>> model = glm_state_evolution(alpha=0.8, prior_type="gauss_bernoulli", output_type="gaussian",
    ...                             prior_rho=0.5, output_var=0.01)
    >>> se = StateEvolution(model)
    >>> se.iterate(max_iter=200).converged
    True
    """
    prior, output = _families(kwargs, "prior", "output")
    return (
        get_prior(None, prior_type, **prior) @ Variable("x") @ MarchenkoPasturChannel(alpha=alpha) @ Variable("z")
        @ get_likelihood(None, output_type, **output)
    ).to_model()


# --- committees


def committee(
    K: int,
    N: int,
    alpha: float,
    ensemble_type: str,
    priors: list[Prior],
    activation1: type | Any,
    activation2: type | Any,
    noise_var: float,
    seed: int | None = None,
) -> Model:
    """A committee of ``K`` experts that see the same matrix: their activations add up, and pass another one.

    ``priors`` gives the prior of each expert; ``activation1`` and ``activation2`` are channels, or make one when
    called; without the second the noisy sum is the output. Variables: ``x_k``, ``z_k``, ``a_k`` of each expert, ``a``
    their sum, ``a_noisy`` with noise, and the output ``y``.
    """
    K, N = count(K, "K"), count(N, "N")
    if len(priors) != K:
        raise ModelError(f"expected {K} priors, one per expert, got {len(priors)}")
    M = _observations(alpha, N)
    channel = LinearChannel(get_ensemble(ensemble_type, M=M, N=N).generate(seed=check_seed(seed)), name="F")

    def made(activation: Any) -> Factor:
        return activation if isinstance(activation, Factor) else activation()

    experts: Piece | None = None
    for k in range(K):
        expert = priors[k] @ Variable(f"x_{k}") @ channel @ Variable(f"z_{k}") @ made(activation1) @ Variable(f"a_{k}")
        experts = expert if experts is None else experts + expert
    assert experts is not None
    total = experts @ SumChannel(n_prev=K) @ Variable("a")
    if activation2 is None:
        return (total @ GaussianChannel(var=noise_var) @ Variable("y")).to_model()
    if noise_var > 0:
        total = total @ GaussianChannel(var=noise_var) @ Variable("a_noisy")
    return (total @ made(activation2) @ Variable("y")).to_model()


def sgn_committee(
    K: int, N: int, alpha: float, ensemble_type: str, p_pos: float, noise_var: float, seed: int | None = None
) -> Model:
    """Binary experts, with signs inside and outside."""
    priors: list[Prior] = [BinaryPrior(size=N, p_pos=p_pos) for _ in range(count(K, "K"))]
    return committee(K, N, alpha, ensemble_type, priors, SgnChannel, SgnChannel, noise_var, seed)


def soft_committee(
    K: int,
    N: int,
    alpha: float,
    ensemble_type: str,
    prior_mean: float,
    prior_var: float,
    noise_var: float,
    seed: int | None = None,
) -> Model:
    """Gaussian experts with rectified outputs that add up, seen through noise."""
    priors: list[Prior] = [GaussianPrior(size=N, mean=prior_mean, var=prior_var) for _ in range(count(K, "K"))]
    return committee(K, N, alpha, ensemble_type, priors, ReluChannel, None, noise_var, seed)


# --- sparse gradients and total variation


def _with_gradient(A: Any, x_shape: Any, prior_var: float, output: Likelihood, gradient_prior: Prior) -> Model:
    shape = _signal_shape(x_shape)
    channel: Piece = LinearChannel(A, name="A")
    if len(shape) > 1:
        # the matrix acts on the image row by row
        channel = ReshapeChannel(shape, int(np.prod(shape))) @ Variable("x_flat") @ channel
    return (
        GaussianPrior(size=shape, var=prior_var) @ Variable("x", n_prev=1, n_next=2) @ (
            channel @ Variable("z") @ output
            + (GradientChannel(shape=shape) + gradient_prior) @ Variable("x'", n_prev=2, n_next=0)
        )
    ).to_model()


def _signal_shape(x_shape: Any) -> tuple[int, ...]:
    shape = size_to_shape(x_shape, "x_shape")
    if not shape:
        raise ValueError(f"`x_shape` must be a number of components or a shape, got {x_shape}")
    return tuple(shape)


def _gradient_shape(x_shape: Any) -> tuple[int, ...]:
    shape = _signal_shape(x_shape)
    return (len(shape), *shape)


def _total_variation(x_shape: Any, grad_scale: Any) -> Prior:
    scale = number(grad_scale, "grad_scale")
    if not 0 < scale < np.inf:
        raise ModelError(f"`grad_scale` must be positive and finite, got {scale}")
    return MAP_L21NormPrior(size=_gradient_shape(x_shape), gamma=1 / scale, axis=0)


def sparse_gradient_regression(
    A: Any, y: Any, x_shape: Any, grad_rho: float, noise_var: float, prior_var: float
) -> Model:
    r"""Regression :math:`y = A x + \xi` on a signal whose gradient is sparse."""
    prior = GaussBernoulliPrior(size=_gradient_shape(x_shape), rho=grad_rho)
    return _with_gradient(A, x_shape, prior_var, GaussianLikelihood(y=y, var=noise_var), prior)


def sparse_gradient_classification(
    A: Any, y: Any, x_shape: Any, grad_rho: float, noise_var: float, prior_var: float
) -> Model:
    r"""Classification :math:`y = \operatorname{sign}(A x)` on a signal whose gradient is sparse."""
    del noise_var
    prior = GaussBernoulliPrior(size=_gradient_shape(x_shape), rho=grad_rho)
    return _with_gradient(A, x_shape, prior_var, SgnLikelihood(y=y), prior)


def tv_regression(A: Any, y: Any, x_shape: Any, grad_scale: float, noise_var: float, prior_var: float) -> Model:
    r"""Regression with the total variation :math:`\frac1s\sum_n\|(\nabla x)_n\|` as a penalty, ``s`` being ``grad_scale``.

    Examples
    --------
    >>> from treeamp.algos import MAP
    >>> y = np.repeat([0.0, 1.0], 8) + 0.1 * np.cos(np.arange(16) ** 2)
    >>> denoise = MAP(tv_regression(np.eye(16), y, x_shape=16, grad_scale=1.0, noise_var=0.5, prior_var=1e6))
    >>> denoise.iterate().converged
    True
    >>> len(np.unique(denoise.minimiser("x").round(6)))
    2
    """
    prior = _total_variation(x_shape, grad_scale)
    return _with_gradient(A, x_shape, prior_var, GaussianLikelihood(y=y, var=noise_var), prior)


def tv_classification(A: Any, y: Any, x_shape: Any, grad_scale: float, noise_var: float, prior_var: float) -> Model:
    r"""Classification with the total variation as a penalty. By expectation propagation: a sign has no mode."""
    del noise_var
    prior = _total_variation(x_shape, grad_scale)
    return _with_gradient(A, x_shape, prior_var, SgnLikelihood(y=y), prior)
