"""Validated trees of factors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .. import _html, _lib
from .._arrays import Array, array, check_seed, owned
from ..base import Factor, Piece, Variable
from ..errors import ModelError
from .._fragment import Fragment

__all__ = ["FactorModel", "Model", "MultiLayerModel", "Sample"]


class Sample(dict[str, Array]):
    """One draw of every variable, by name, and the ``seed`` it came from.

    Parameters
    ----------
    values : dict
        Arrays by the names of variables.
    seed : int
        Of the draw.
    """

    def __init__(self, values: Mapping[str, Array], seed: int) -> None:
        super().__init__(values)
        self.seed = seed

    def __reduce__(self) -> Any:
        return Sample, (dict(self), self.seed)

    def _repr_html_(self) -> str:
        rows = []
        for name, x in self.items():
            numbers = (float(f(x)) for f in (np.mean, np.std, np.min, np.max)) if np.size(x) else ("",) * 4
            rows.append((name, " x ".join(map(str, np.shape(x))), *numbers))
        head = _html.paragraph(f"Sample, seed {self.seed}")
        return head + _html.table(("variable", "shape", "mean", "std", "least", "largest"), rows)


class Cost(dict[str, Any]):
    """What a run costs, by name; a notebook shows it as a table.

    Parameters
    ----------
    values : dict
        As :meth:`Model.cost` describes them.
    """

    def _repr_html_(self) -> str:
        of_all = f"{self['summary']}; {_html.figure(self['set_up_seconds'])} s to set up, {_html.figure(self['bytes'])} bytes"
        rows = [(name, float(part["set_up"]), float(part["sweep"])) for name, part in self["parts"].items()]
        return _html.paragraph(of_all) + _html.table(("part", "operations to set up", "operations a sweep"), rows)


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
        self.model_dag: Fragment = model_dag._to_fragment()
        self.observations: dict[str, Array | None] = {}
        self._belief: str | None = None
        self._tree = self._build()

    def _build(self) -> _lib.Tree:
        tree = self.model_dag._build()
        self.model_dag._name_factors(tree)
        tree = self._conditioned(tree, self.observations)
        return tree if self._belief is None else tree.with_beliefs(self._belief)

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
    def factor_ids(self) -> list[str]:
        """The same, as tramp calls them."""
        return self.factor_names

    @property
    def n_variables(self) -> int:
        """Number of hidden variables."""
        return len(self.variable_ids)

    @property
    def n_factors(self) -> int:
        """Number of factors."""
        return len(self.factor_names)

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

    def get_shapes(self) -> dict[str, tuple[int, ...] | None]:
        """The shapes."""
        return self.shapes

    def get_second_moments(self) -> dict[str, float]:
        """The second moments, as :meth:`init_second_moments` gives them."""
        return self.init_second_moments()

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

    def to_model_dag(self) -> Fragment:
        """The piece it was declared with, without observations."""
        return self.model_dag

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

    def with_beliefs(self, belief: str) -> Model:
        """The same model with beliefs of this structure at every variable: ``isotropic``, ``diagonal``, ``full`` or ``block(n)``.

        A precision for each component (``diagonal``) is what a model with sparse differences of an image needs, where one for all of them
        collapses. Decompositions are shared with the original.

        Examples
        --------
        >>> from treeamp import ExpectationPropagation, GaussianPrior, GaussianLikelihood, V
        >>> model = (GaussianPrior(size=2) @ V(id="x") @ GaussianLikelihood(y=[1.0, 2.0])).to_model()
        >>> report = ExpectationPropagation(model.with_beliefs("diagonal")).iterate()
        >>> report.std("x").shape
        (2,)
        """
        if not isinstance(belief, str):
            raise TypeError(f"`belief` must be a string, got {type(belief).__name__}")
        changed = object.__new__(type(self))
        changed.__dict__.update(self.__dict__)
        changed._belief = belief
        changed._tree = self._tree.with_beliefs(belief)
        return changed

    def sample(self, seed: int | None = None) -> Sample:
        """Draws all variables forwards.

        Parameters
        ----------
        seed : int, optional
            Any number from 0 on, 0 included. Without one a new seed is drawn; ``sample.seed`` holds it.
        """
        chosen = check_seed(seed)
        drawn = self._tree.sample(chosen)
        for name, x in drawn.items():
            beyond = np.abs(np.ravel(x)) >= np.finfo(float).max  # where native counts end
            if beyond.any():
                raise ModelError(f"variable `{name}`: what was drawn at index {int(np.argmax(beyond))} is beyond the largest number")
        return Sample(drawn, chosen)

    def cost(self) -> Cost:
        """What expectation propagation on it costs, to an order of magnitude: estimated from sizes, nothing is computed for it.

        Returns
        -------
        Cost
            A dict: ``summary`` (a phrase), ``set_up_seconds``, ``sweep_seconds``, ``bytes``, and ``parts``: operations of ``set_up`` and of a
            ``sweep`` by factor, and by variable with a dense belief. An operation is one of a product of matrices, of which a core makes about 1e10 a second.

        Examples
        --------
        >>> from treeamp import GaussianPrior, GaussianLikelihood, V
        >>> model = (GaussianPrior(size=2) @ V(id="x") @ GaussianLikelihood(y=[1.0, 2.0])).to_model()
        >>> model.cost()["summary"]
        'less than a millisecond a sweep, less than a megabyte'
        """
        summary, set_up, sweep, size, parts = self._tree.cost
        return Cost(
            summary=summary,
            set_up_seconds=set_up,
            sweep_seconds=sweep,
            bytes=size,
            parts={name: {"set_up": first, "sweep": each} for name, first, each in parts},
        )

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
        from .._plot import draw_graph

        return draw_graph(self, ax)


class FactorModel(Model):
    """A model declared by its factors only: variables ``x_0``, ``x_1``, ... are put between them.

    Parameters
    ----------
    factor_dag : piece of a model
        Factors, chained by ``@``.

    Examples
    --------
    >>> from treeamp.priors import GaussianPrior
    >>> from treeamp.likelihoods import SgnLikelihood
    >>> FactorModel(GaussianPrior(size=2) @ SgnLikelihood(y=[1, -1])).variable_ids
    ['x_0']
    """

    def __init__(self, factor_dag: Piece) -> None:
        if not isinstance(factor_dag, Piece):
            raise TypeError(f"`factor_dag` must be a piece of a model, got {type(factor_dag).__name__}")
        piece = factor_dag._to_fragment()
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
