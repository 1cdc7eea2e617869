"""Message passing step by step, and its equations."""

from __future__ import annotations

from typing import Any

from ..base import ReprMixin
from ..models import Model
from .algorithms import ExpectationPropagation, StateEvolution
from .message_passing import MessagePassing

__all__ = ["DisplayLatexMessagePassing", "ExplainMessagePassing", "ExplainStateEvolution"]


class _Explain(ReprMixin):
    """Runs an algorithm and prints the messages of every sweep."""

    _algorithm: type[MessagePassing]

    def __init__(
        self, model: Model, keys: Any = (), print_incoming: bool = True, print_outcoming: bool = True
    ) -> None:
        self.model = model
        self.keys = list(keys)
        self.print_incoming, self.print_outcoming = bool(print_incoming), bool(print_outcoming)

    def run(self, max_iter: int = 1, **kwargs: Any) -> str:
        """Runs ``max_iter`` sweeps, prints the story and returns it."""
        lines: list[str] = []

        def show(algo: Any, i: int, limit: int) -> bool:
            lines.append(f"iteration {i + 1} of {limit}")
            for data in algo.get_edges_data():
                forward = data["direction"] == "fwd"
                if data["source"] != data["f_id"] or not (self.print_outcoming if forward else self.print_incoming):
                    continue
                arrow = "->" if forward else "<-"
                shown = {key: data[key] for key in (self.keys or ["a"]) if key in data}
                text = ", ".join(f"{key}={value}" for key, value in shown.items())
                lines.append(f"  {data['f_id']} {arrow} {data['x_id']}: {text}")
            return False

        self._algorithm(self.model).iterate(max_iter=max_iter, callback=show, **kwargs)
        story = "\n".join(lines)
        print(story)
        return story


class ExplainMessagePassing(_Explain):
    """Expectation propagation, message by message.

    Parameters
    ----------
    model : Model
        What it runs on.
    keys : list of str
        Which parts of a message are shown; ``a`` by default.
    print_incoming, print_outcoming : bool
        Whether to show backward and forward messages.

    Examples
    --------
    >>> from treeamp.priors import GaussianPrior
    >>> from treeamp.likelihoods import GaussianLikelihood
    >>> from treeamp.variables import V
    >>> model = (GaussianPrior(size=1) @ V("x") @ GaussianLikelihood(y=[1.0], var=0.5)).to_model()
    >>> _ = ExplainMessagePassing(model).run()
    iteration 1 of 1
      gaussian -> x: a=1.0
      gaussian_likelihood <- x: a=2.0
    """

    _algorithm = ExpectationPropagation


class ExplainStateEvolution(_Explain):
    """State evolution, message by message.

    Parameters
    ----------
    model : Model
        What it runs on.
    keys : list of str
        Which parts of a message are shown; ``a`` by default.
    print_incoming, print_outcoming : bool
        Whether to show backward and forward messages.
    """

    _algorithm = StateEvolution


class DisplayLatexMessagePassing(ReprMixin):
    r"""The messages of a sweep as LaTeX, in their order: forwards, then backwards.

    Parameters
    ----------
    model : Model
        Whose messages they are.

    Examples
    --------
    >>> from treeamp.priors import GaussianPrior
    >>> from treeamp.likelihoods import SgnLikelihood
    >>> from treeamp.variables import V
    >>> model = (GaussianPrior(size=1) @ V("x") @ SgnLikelihood(y=[1.0])).to_model()
    >>> print(DisplayLatexMessagePassing(model).latex())
    m_{\text{gaussian} \to x}^{+}, \quad m_{\text{sign} \to x}^{-}
    """

    def __init__(self, model: Model) -> None:
        self.model = model

    def latex(self) -> str:
        """The formula."""
        edges = self.model.edges
        order = [e for e in edges if e[2] == "forward"] + [e for e in reversed(edges) if e[2] == "backward"]
        signs = {"forward": "+", "backward": "-"}
        messages = [
            rf"m_{{\text{{{factor.replace('_', ' ')}}} \to {variable}}}^{{{signs[direction]}}}"
            for factor, variable, direction in order
        ]
        return r", \quad ".join(messages)

    run = latex

    def _repr_latex_(self) -> str:
        return f"$${self.latex()}$$"
