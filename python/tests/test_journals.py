"""Functions as parameters of a run: what journals know of them."""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Callable

import pytest

pytest.importorskip("pandas")

from treeamp.experiments import run_experiments


def applied(a: int, f: Callable[[int], int]) -> dict[str, int]:
    return {"b": f(a)}


def times(factor: int) -> Callable[[int], int]:
    return lambda x: factor * x


def _squared(x: int, power: int) -> int:
    return int(x**power)


class Times:
    """Something with a method."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def run(self, x: int) -> int:
        return self.factor * x


def recursive(step: int) -> Callable[[int], int]:
    def down(x: int) -> int:
        return 0 if x <= 0 else 1 + down(x - step)

    return down


def defaulted(power: int) -> Callable[[int], int]:
    def raised(x: int, power: int = power) -> int:
        return int(x**power)

    return raised


@pytest.mark.parametrize(
    "make",
    [
        lambda k: (lambda x: x) if k == 1 else (lambda x: 2 * x),
        times,
        lambda k: Times(k).run,
        recursive,
        defaulted,
        lambda k: functools.partial(_squared, power=k),
        lambda k: functools.partial(times(k)),
        lambda k: (lambda x: [y + 1 for y in [x]][0]) if k == 1 else (lambda x: [y + 2 for y in [x]][0]),
    ],
    ids=["lambdas", "closures", "methods", "recursive", "defaults", "partial", "partial of a closure", "inner code"],
)
def test_another_function_is_another_parameter(make: Callable[[int], Callable[[int], int]], tmp_path: pathlib.Path) -> None:
    path = tmp_path / "journal"
    first = run_experiments(applied, a=[2, 3], f=make(1), journal=path)
    # one that is made again in the same way is the same
    assert run_experiments(applied, a=[2, 3], f=make(1), journal=path, resume=True).attrs["reused"]
    with pytest.raises(ValueError, match="resume=False starts afresh"):
        run_experiments(applied, a=[2, 3], f=make(2), journal=path, resume=True)
    # and on an axis it has cells of its own
    path = tmp_path / "axis"
    run_experiments(applied, a=[2], f=[make(1)], journal=path)
    both = run_experiments(applied, a=[2], f=[make(1), make(2)], journal=path, resume=True)
    assert len(both.attrs["reused"]) == 1 and both.b.tolist() == [first.b[0], make(2)(2)]
