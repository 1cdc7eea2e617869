"""Models: validated trees of factors, and ready-made ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from . import _lib
from ._arrays import Array, array, check_seed, count, number, owned
from .base import Factor, Fragment, Piece, Variable
from .channels import (
    GaussianChannel,
    GradientChannel,
    LinearChannel,
    MarchenkoPasturChannel,
    ReluChannel,
    SgnChannel,
    SumChannel,
    get_channel,
)
from .ensembles import get_ensemble
from .errors import ModelError
from .likelihoods import GaussianLikelihood, Likelihood, SgnLikelihood, get_likelihood
from .priors import BinaryPrior, GaussBernoulliPrior, GaussianPrior, MAP_L21NormPrior, Prior, get_prior

__all__ = [
    "FactorModel",
    "Model",
    "MultiLayerModel",
    "Sample",
    "committee",
    "glm_generative",
    "glm_state_evolution",
    "sgn_committee",
    "soft_committee",
    "sparse_gradient_classification",
    "sparse_gradient_regression",
    "tv_classification",
    "tv_regression",
]


class Sample(dict[str, Array]):
    """One draw of every variable, by name, and the ``seed`` it came from."""

    def __init__(self, values: Mapping[str, Array], seed: int) -> None:
        super().__init__(values)
        self.seed = seed

    def __reduce__(self) -> Any:
        return Sample, (dict(self), self.seed)


class Model:
    """A validated tree.

    Parameters
    ----------
    model_dag : piece of a model
        What ``@`` and ``+`` made. ``.to_model()`` does the same.

    Examples
    --------
    >>> from treeamp.priors import GaussianPrior
    >>> from treeamp.channels import GaussianChannel
    >>> from treeamp.variables import V, O
    >>> model = (GaussianPrior(size=2) @ V("x") @ GaussianChannel(var=0.1) @ O("y")).to_model()
    >>> sample = model.sample(seed=0)
    >>> sorted(sample), sample.seed
    (['x', 'y'], 0)
    >>> model.to_observed({"y": sample["y"]}).variable_ids
    ['x']
    """

    def __init__(self, model_dag: Piece) -> None:
        if not isinstance(model_dag, Piece):
            raise TypeError(f"`model_dag` must be a piece of a model, got {type(model_dag).__name__}")
        self.model_dag: Fragment = model_dag.to_fragment()
        self.observations: dict[str, Array | None] = {}
        self._tree = self._build()

    def _build(self) -> _lib.Tree:
        return self._conditioned(self.model_dag._build(), self.observations)

    @staticmethod
    def _conditioned(tree: _lib.Tree, observations: Mapping[str, Array | None]) -> _lib.Tree:
        for name, y in observations.items():
            if y is None:
                tree = tree.expect(name)
                continue
            shapes = {v: tuple(shape) for v, shape, ratio in tree.variables if ratio is None}
            expected = shapes.get(name)
            if expected is not None and y.ndim > 1 and y.shape != expected:
                raise ModelError(f"observation of `{name}`: expected shape {expected}, got {y.shape}")
            tree = tree.condition(name, np.ravel(y))
        return tree

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_tree"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._tree = self._build()

    # --- what it is made of

    @property
    def variable_ids(self) -> list[str]:
        """Names of the hidden variables."""
        return [name for name, _, _ in self._tree.variables]

    @property
    def variables(self) -> list[Variable]:
        """The hidden variables."""
        hidden = set(self.variable_ids)
        return [v for v in self.model_dag.variables if v.id in hidden]

    @property
    def factors(self) -> list[Factor]:
        """The modules it was declared with."""
        return [module for module, _, _ in self.model_dag.factors]

    @property
    def factor_names(self) -> list[str]:
        """Names of the factors, as messages and damping know them."""
        return [name for name, _, _ in self._tree.factors]

    @property
    def edges(self) -> list[tuple[str, str, str]]:
        """``(factor, variable, direction)`` of every edge."""
        return self._tree.edges

    @property
    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        """Shapes of the hidden variables; ``None`` in the limit of large sizes."""
        return {name: None if ratio is not None else tuple(shape) for name, shape, ratio in self._tree.variables}

    def init_shapes(self) -> dict[str, tuple[int, ...] | None]:
        """The shapes; they are known when a model is built."""
        return self.shapes

    def init_second_moments(self) -> dict[str, float]:
        r"""Second moments :math:`\tau = E\,x^2` of the hidden variables, which each variable keeps as ``tau``."""
        moments = dict(zip(self.variable_ids, self._tree.second_moments()))
        for variable in self.variables:
            variable.tau = moments[variable.id]  # type: ignore[attr-defined]
        return moments

    # --- what can be done with it

    def to_model(self) -> Model:
        """Itself."""
        return self

    def to_observed(self, observations: Mapping[str, Any]) -> Model:
        """The model given the values of some of its leaves; ``None`` observes a leaf without telling its value.

        The channel that produces the leaf becomes its likelihood, or the leaf is pinned. Decompositions are shared
        with the original, so observing other values costs nothing.
        """
        if not isinstance(observations, Mapping):
            raise TypeError(f"`observations` must be a dict of name and values, got {type(observations).__name__}")
        given = {name: None if y is None else owned(array(y, name)) for name, y in observations.items()}
        observed = object.__new__(type(self))
        observed.__dict__.update(self.__dict__)
        observed._tree = self._conditioned(self._tree, given)
        observed.observations = {**self.observations, **given}
        return observed

    def sample(self, seed: int | None = None) -> Sample:
        """Draws all variables forwards.

        Parameters
        ----------
        seed : int, optional
            Any number from 0 on, 0 included. Without one a new seed is made; ``sample.seed`` tells it.
        """
        chosen = check_seed(seed)
        return Sample(self._tree.sample(chosen), chosen)

    # --- how it looks

    def describe(self) -> str:
        """The factor graph as text, one line per factor."""
        return self._tree.describe()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.describe().splitlines()[0]}>"

    def _repr_svg_(self) -> str:
        return self._tree.to_svg()

    def to_dot(self) -> str:
        """The factor graph in the DOT language of graphviz."""
        return self._tree.to_dot()

    def plot(self, ax: Any = None) -> Any:
        """Draws the factor graph with matplotlib (``pip install treeamp[plot]``); returns the axes."""
        from ._plot import draw_graph

        return draw_graph(self, ax)


class FactorModel(Model):
    """A model declared by its factors only: variables ``x_0``, ``x_1``, ... are put between them.

    >>> from treeamp.priors import GaussianPrior
    >>> from treeamp.likelihoods import SgnLikelihood
    >>> FactorModel(GaussianPrior(size=2) @ SgnLikelihood(y=[1, -1])).variable_ids
    ['x_0']
    """

    def __init__(self, factor_dag: Piece) -> None:
        if not isinstance(factor_dag, Piece):
            raise TypeError(f"`factor_dag` must be a piece of a model, got {type(factor_dag).__name__}")
        piece = factor_dag.to_fragment()
        k = len(piece.variables)
        while any(port is not None for _, port in piece.tails):
            # outputs that lead nowhere are leaves
            leaves = [Variable(f"x_{k + i}") if port is not None else None for i, (_, port) in enumerate(piece.tails)]
            k += len(leaves)
            both = piece
            for end, leaf in zip(piece.tails, leaves):
                if leaf is not None:
                    both.variables.append(leaf)
                    both._join(end, (len(both.variables) - 1, None))
            both.tails = []
        super().__init__(piece)


class MultiLayerModel(Model):
    """A chain of layers: a prior, channels, and a channel or likelihood at the end.

    Parameters
    ----------
    layers : list
        The factors, in the order of generation.
    ids : list of str, optional
        Names of the variables between them, and of the last output; ``x_0``, ``x_1``, ... by default.

    Examples
    --------
    >>> from treeamp.priors import GaussianPrior
    >>> from treeamp.channels import ReluChannel
    >>> MultiLayerModel([GaussianPrior(size=2), ReluChannel()], ids=["z", "x"]).variable_ids
    ['z', 'x']
    """

    def __init__(self, layers: list[Factor], ids: list[str] | None = None) -> None:
        layers = list(layers)
        if not layers:
            raise ModelError("a multi-layer model needs at least one layer, got none")
        for k, layer in enumerate(layers):
            if not isinstance(layer, Factor):
                raise TypeError(f"layer {k} must be a factor, got {type(layer).__name__}")
        outputs = sum(layer.n_next > 0 for layer in layers)
        if ids is None:
            ids = [f"x_{k}" for k in range(outputs)]
        if len(ids) != outputs:
            raise ModelError(f"expected {outputs} ids, one for every output of a layer, got {len(ids)}")
        names: Iterator[str] = iter(ids)
        chain: Piece = layers[0]
        for k, layer in enumerate(layers):
            if k > 0:
                chain = chain @ layer
            if layer.n_next > 0:
                chain = chain @ Variable(next(names))
        self.layers = layers
        self.ids = list(ids)
        super().__init__(chain)


# --- generalised linear models


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
        Of the matrix; without one a new seed is made, and ``model.matrix_seed`` tells it.
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
    N, alpha = count(N, "N"), number(alpha, "alpha")
    M = int(round(alpha * N)) if np.isfinite(alpha) else 0
    if M < 1:
        raise ModelError(f"`alpha` must give at least one observation, got {alpha} times {N}")
    size = {"N": N} if ensemble_type in ("rotation", "unitary") else {"M": M, "N": N}
    law = get_ensemble(ensemble_type, **size, **ensemble)
    F = law.generate(seed=check_seed(seed))
    model = (
        get_prior(N, prior_type, **prior) @ Variable("x") @ LinearChannel(F, name="F") @ Variable("z")
        @ get_channel(output_type, **output) @ Variable("y")
    ).to_model()
    model.matrix_seed = law.seed  # type: ignore[attr-defined]
    return model


def glm_state_evolution(alpha: float, prior_type: str, output_type: str, **kwargs: Any) -> Model:
    """A generalised linear model with a Gaussian matrix in the limit of large sizes, ``y`` being observed.

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
    M = int(round(number(alpha, "alpha") * N))
    if M < 1:
        raise ModelError(f"`alpha` must give at least one observation, got {alpha} times {N}")
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
    shape = tuple(np.atleast_1d(x_shape).tolist())
    return (
        GaussianPrior(size=shape, var=prior_var) @ Variable("x", n_prev=1, n_next=2) @ (
            LinearChannel(A, name="A") @ Variable("z") @ output
            + (GradientChannel(shape=shape) + gradient_prior) @ Variable("x'", n_prev=2, n_next=0)
        )
    ).to_model()


def _gradient_shape(x_shape: Any) -> tuple[int, ...]:
    shape = tuple(int(n) for n in np.atleast_1d(x_shape))
    return (len(shape), *shape)


def sparse_gradient_regression(
    A: Any, y: Any, x_shape: Any, grad_rho: float, noise_var: float, prior_var: float
) -> Model:
    r"""Regression :math:`y = A x + \xi` on a signal whose gradient is sparse (inference needs a gradient rule)."""
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
    r"""Regression with a total variation penalty on the gradient."""
    prior = MAP_L21NormPrior(size=_gradient_shape(x_shape), gamma=1 / grad_scale, axis=0)
    return _with_gradient(A, x_shape, prior_var, GaussianLikelihood(y=y, var=noise_var), prior)


def tv_classification(A: Any, y: Any, x_shape: Any, grad_scale: float, noise_var: float, prior_var: float) -> Model:
    r"""Classification with a total variation penalty on the gradient."""
    del noise_var
    prior = MAP_L21NormPrior(size=_gradient_shape(x_shape), gamma=1 / grad_scale, axis=0)
    return _with_gradient(A, x_shape, prior_var, SgnLikelihood(y=y), prior)
