"""Variables by the number of factors around them. A plain :class:`Variable` works its number out by itself.

Examples
--------
>>> from treeamp.variables import V, O, SIMOVariable
>>> SIMOVariable(id="x", n_next=2)
SIMOVariable(id='x', n_prev=1, n_next=2)
"""

from __future__ import annotations

from ..base import Variable

__all__ = [
    "MILeafVariable",
    "MISOVariable",
    "MORootVariable",
    "O",
    "SILeafVariable",
    "SIMOVariable",
    "SISOVariable",
    "SORootVariable",
    "V",
    "Variable",
]


class _Counted(Variable):
    repr_parameters = ("id", "n_prev", "n_next")


class SISOVariable(_Counted):
    """One factor before, one after.

    Parameters
    ----------
    id : str
        Its name, unique in a model.
    """

    def __init__(self, id: str) -> None:
        super().__init__(id, 1, 1)


class SIMOVariable(_Counted):
    """One factor before, ``n_next`` after.

    Parameters
    ----------
    id : str
        Its name, unique in a model.
    n_next : int
        How many factors consume it.
    """

    def __init__(self, id: str, n_next: int) -> None:
        super().__init__(id, 1, n_next)


class MISOVariable(_Counted):
    """``n_prev`` factors before, one after.

    Parameters
    ----------
    id : str
        Its name, unique in a model.
    n_prev : int
        How many factors produce it.
    """

    def __init__(self, id: str, n_prev: int) -> None:
        super().__init__(id, n_prev, 1)


class MILeafVariable(_Counted):
    """``n_prev`` factors before, none after.

    Parameters
    ----------
    id : str
        Its name, unique in a model.
    n_prev : int
        How many factors produce it.
    """

    def __init__(self, id: str, n_prev: int) -> None:
        super().__init__(id, n_prev, 0)


class SILeafVariable(_Counted):
    """One factor before, none after.

    Parameters
    ----------
    id : str
        Its name, unique in a model.
    """

    def __init__(self, id: str) -> None:
        super().__init__(id, 1, 0)


class SORootVariable(_Counted):
    """None before, one factor after; no prior produces it, so a model of it alone is refused.

    Parameters
    ----------
    id : str
        Its name, unique in a model.
    """

    def __init__(self, id: str) -> None:
        super().__init__(id, 0, 1)


class MORootVariable(_Counted):
    """None before, ``n_next`` factors after; no prior produces it, so a model of it alone is refused.

    Parameters
    ----------
    id : str
        Its name, unique in a model.
    n_next : int
        How many factors consume it.
    """

    def __init__(self, id: str, n_next: int) -> None:
        super().__init__(id, 0, n_next)


#: A variable that works out its own degree.
V = Variable
#: An output: a variable with nothing after it.
O = SILeafVariable  # noqa: E741
