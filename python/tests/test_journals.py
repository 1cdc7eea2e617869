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


def with_default(a: int, rho: float = 0.05, seed: int = 0) -> dict[str, float]:
    return {"rho_was": rho, "stream": float(seed % 2**20)}


def test_a_default_is_the_same_whether_it_is_written_or_not(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "journal"
    first = run_experiments(with_default, a=[1, 2], seeds=2, journal=path)
    again = run_experiments(with_default, a=[1, 2], rho=0.05, seeds=2, journal=path, resume=True)
    assert len(again.attrs["reused"]) == 4 and again.stream.tolist() == first.stream.tolist()
    axis = run_experiments(with_default, a=[1, 2], rho=[0.05], seeds=2)
    assert axis.stream.tolist() == first.stream.tolist()
    with pytest.raises(ValueError, match="`fixed.rho` is 0.1 now and nothing there"):
        run_experiments(with_default, a=[1, 2], rho=0.1, seeds=2, journal=path, resume=True)


def test_seeds_that_come_later_stand_where_they_belong(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "journal"
    run_experiments(with_default, a=[1, 2], seeds=[2], journal=path)
    grown = run_experiments(with_default, a=[1, 2], seeds=[0, 1, 2], journal=path, resume=True)
    whole = run_experiments(with_default, a=[1, 2], seeds=[0, 1, 2])
    assert grown.to_csv() == whole.to_csv()


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
