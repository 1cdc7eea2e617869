"""Experiments: grids, journals, executors, scenarios, critical values."""

from __future__ import annotations

import functools
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from concurrent import futures
from typing import Any

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

import treeamp as ta
from treeamp import _lib
from treeamp.experiments import (
    BayesOptimalScenario,
    ExecutorError,
    TeacherStudentScenario,
    binary_search,
    find_critical_alpha,
    run_experiments,
    run_state_evolution,
    save_experiments,
    simple_run_experiments,
)


def glm(alpha: float = 1.0, rho: float = 0.3, seed: int = 0, N: int = 100) -> dict[str, Any]:
    """A cell of a real sweep."""
    model = ta.glm_generative(
        N=N,
        alpha=alpha,
        ensemble_type="gaussian",
        prior_type="gauss_bernoulli",
        output_type="gaussian",
        prior_rho=rho,
        output_var=0.01,
        seed=seed,
    )
    row: dict[str, Any] = BayesOptimalScenario(model).setup(seed).table("EP", max_iter=100).iloc[0].to_dict()
    return row


def slow_glm(alpha: float, seed: int) -> dict[str, Any]:
    """The same, slow enough to be interrupted."""
    time.sleep(0.05)
    return glm(alpha=alpha, seed=seed)


def picky(a: int, b: str = "x") -> list[dict[str, Any]]:
    if a == 3:
        raise ValueError("three is too many")
    return [{"twice": 2 * a, "b_again": b}, {"twice": float("nan")}]


def dies(a: int) -> dict[str, int]:
    if a == 2:
        os._exit(1)
    return {"a_again": a}


# --- tables


def test_a_grid_is_a_tidy_table() -> None:
    table = run_experiments(picky, a=[1, 2, 3], b=["x", "y"])
    assert list(table.columns) == ["a", "b", "twice", "b_again", "status", "reason"]
    assert table.a.tolist() == [1, 1, 1, 1, 2, 2, 2, 2, 3, 3]
    failed = table[table.status == "failed"]
    assert failed.reason.tolist() == ["ValueError: three is too many"] * 2
    assert np.isnan(table.twice[1]) and table.twice[0] == 2


def test_fixed_parameters_are_columns_and_axes_may_be_arrays() -> None:
    table = run_experiments(picky, a=np.array([1, 2]), b="z")
    assert table.b.tolist() == ["z"] * 4 and table.a.tolist() == [1, 1, 2, 2]


def test_the_table_does_not_depend_on_how_it_is_run(tmp_path: pathlib.Path) -> None:
    grid: dict[str, Any] = {"alpha": [0.5, 1.0], "rho": [0.1, 0.3], "seeds": 3}
    serial = run_experiments(glm, **grid)
    assert serial.seed.tolist()[:3] == [0, 1, 2] and "status" not in serial
    # the draws of different cells are different
    assert serial.mse.nunique() == len(serial)
    pd.testing.assert_frame_equal(serial, run_experiments(glm, threads=3, **grid))
    with futures.ProcessPoolExecutor(2) as pool:
        pd.testing.assert_frame_equal(serial, run_experiments(glm, executor=pool, **grid))
    # a larger grid has the same rows where they are the same
    larger = run_experiments(glm, alpha=[1.0, 2.0, 0.5], rho=[0.3], seeds=[2, 0])
    both = larger.merge(serial, on=["alpha", "rho", "seed"], suffixes=("", "_before"))
    assert len(both) == 4 and (both.mse == both.mse_before).all()


def test_streams_are_those_of_the_command_line() -> None:
    cells = _lib.Sweep([("alpha", [0.5])], [0]).cells
    assert cells == [('"alpha"=0.5;seed=0', 0, 4087664463304823743, [0])]


def test_a_cell_has_one_stream_in_every_grid() -> None:
    """Whether a parameter is an axis or fixed, whatever its kind."""

    def run(a: Any, b: Any, seed: int) -> dict[str, str]:
        return {"stream": str(seed)}

    for value in (10, 0.5, "text", (3, 4), np.eye(2), {"u": 1}, abs, Setting(1)):
        alone = run_experiments(run, a=[1], b=value, seeds=2).stream.tolist()
        swept = run_experiments(run, a=[1, 2], b=[value, -1], seeds=2).stream.tolist()
        other = run_experiments(run, a=1, b=-1, seeds=2).stream.tolist()
        assert alone == swept[:2] and other == swept[2:4] and len(set(swept)) == 8
    # what cannot be told apart from others is no part of it
    run_experiments(run, a=[1], b=threading.Lock(), seeds=2)


def test_a_given_seed_is_passed_on_as_it_is() -> None:
    table = run_experiments(lambda seed: {"got": seed}, seed=[5, 7])
    assert table.got.tolist() == [5, 7] and table.seed.tolist() == [5, 7]
    streams = run_experiments(lambda seed: {"got": str(seed)}, seeds=[5, 7])
    assert streams.seed.tolist() == [5, 7] and streams.got[0] != "5"


def test_simple_runs_raise() -> None:
    with pytest.raises(ValueError, match="three is too many"):
        simple_run_experiments(picky, a=[1, 3])
    assert len(simple_run_experiments(picky, a=[1, 2])) == 4


# --- journals


def test_a_run_started_again_does_only_what_is_missing(tmp_path: pathlib.Path) -> None:
    calls: list[int] = []

    def run(a: int) -> dict[str, float]:
        calls.append(a)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return {"half": a / 2}

    path = tmp_path / "table.csv"
    with pytest.raises(KeyboardInterrupt):
        save_experiments(run, path, a=[1, 2, 3, 4])
    assert not path.exists() and calls == [1, 2, 3]
    first = save_experiments(run, path, a=[1, 2, 3, 4], resume=True)
    assert calls == [1, 2, 3, 3, 4]
    text = path.read_text()
    save_experiments(run, path, a=[1, 2, 3, 4], resume=True)
    assert calls == [1, 2, 3, 3, 4] and path.read_text() == text
    whole = save_experiments(run, tmp_path / "other.csv", a=[1, 2, 3, 4])
    assert (tmp_path / "other.csv").read_text() == text
    pd.testing.assert_frame_equal(first, whole)
    # new cells are added to what there is
    more = save_experiments(run, path, a=[4, 5], resume=True)
    assert calls[-1] == 5 and more.half.tolist() == [2.0, 2.5]


def test_results_of_an_earlier_call_are_taken_only_when_asked_for(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The function may have changed since, or a helper of it, or a global."""
    factor = 1

    def run(a: int) -> dict[str, int]:
        return {"b": factor * a}

    path = tmp_path / "table.csv"
    assert save_experiments(run, path, a=[1, 2]).attrs["reused"] == []
    factor = 10
    with pytest.raises(ValueError, match="2 finished cells of an earlier call; resume=True .* resume=False starts afresh"):
        save_experiments(run, path, a=[1, 2])
    assert not caplog.records
    old = save_experiments(run, path, a=[1, 2, 3], resume=True)
    assert old.b.tolist() == [1, 2, 30] and old.attrs["reused"] == ['"a"=1.0;seed=0', '"a"=2.0;seed=0']
    assert [r.levelname for r in caplog.records] == ["WARNING"]
    said = caplog.records[0].getMessage()
    assert "table.csv.journal: results of 2 of 3 cells" in said and '"a"=1.0' in said and "resume=False" in said
    new = save_experiments(run, path, a=[1, 2], resume=False)
    assert new.b.tolist() == [10, 20] and new.attrs["reused"] == []
    assert save_experiments(run, path, a=[1, 2], resume=True).b.tolist() == [10, 20]
    # a journal in which nothing is finished asks nothing
    with pytest.raises(KeyboardInterrupt):
        run_experiments(stop, a=[1], journal=tmp_path / "empty")
    assert run_experiments(picky, a=[1], journal=tmp_path / "fresh").attrs["reused"] == []
    with pytest.raises(KeyboardInterrupt):
        run_experiments(stop, a=[1], journal=tmp_path / "empty")


def stop(a: int) -> None:
    raise KeyboardInterrupt


def test_a_killed_run_loses_only_what_was_in_flight(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        f"sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})\n"
        "from test_experiments import slow_glm\n"
        "from treeamp.experiments import save_experiments\n"
        "save_experiments(slow_glm, sys.argv[1], alpha=[0.5, 0.7, 0.9, 1.1], seeds=4, resume=True)\n"
    )
    path = tmp_path / "table.csv"
    journal = tmp_path / "table.csv.journal"
    process = subprocess.Popen([sys.executable, str(script), str(path)])
    deadline = time.monotonic() + 60
    while not (journal.exists() and journal.read_bytes().count(b"\n") > 4) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    kept = journal.read_bytes().count(b"\n") - 1
    assert 3 < kept < 16 and not path.exists()
    subprocess.run([sys.executable, str(script), str(path)], check=True, timeout=120)
    reference = tmp_path / "reference.csv"
    save_experiments(slow_glm, reference, alpha=[0.5, 0.7, 0.9, 1.1], seeds=4)
    assert path.read_bytes() == reference.read_bytes()


def test_a_journal_of_something_else_is_refused(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "table.csv"
    save_experiments(picky, path, a=[1])
    for resume in (None, True):
        with pytest.raises(ValueError, match="another configuration: `axes`"):
            save_experiments(picky, path, a=[1], b=["x", "y"], resume=resume)
        with pytest.raises(ValueError, match=r"`fixed.b` is \"z\" now and nothing there; resume=False starts afresh"):
            save_experiments(picky, path, a=[1], b="z", resume=resume)
        with pytest.raises(ValueError, match="another configuration: `run`.*; resume=False"):
            save_experiments(dies, path, a=[1], resume=resume)
    assert len(save_experiments(dies, path, a=[1], resume=False)) == 1
    (tmp_path / "text.journal").write_text("precious\n")
    with pytest.raises(ValueError, match="first line of a journal"):
        run_experiments(picky, a=[1], journal=tmp_path / "text.journal")
    with pytest.raises(OSError, match="No such file"):
        run_experiments(picky, a=[1], journal=tmp_path / "nowhere" / "journal")


# --- executors


def test_an_executor_that_dies_is_reported(tmp_path: pathlib.Path) -> None:
    journal = tmp_path / "journal"
    with futures.ProcessPoolExecutor(1) as pool, pytest.raises(ExecutorError, match="the executor died"):
        run_experiments(dies, a=[0, 1, 2, 3], executor=pool, journal=journal)
    table = run_experiments(dies, a=[0, 1], journal=journal, resume=True)
    assert table.a_again.tolist() == [0, 1]


def test_a_dask_cluster_that_loses_a_worker(tmp_path: pathlib.Path) -> None:
    distributed = pytest.importorskip("distributed")
    grid: dict[str, Any] = {"alpha": [0.5, 0.7, 0.9, 1.1, 1.3], "seeds": 6}
    serial = run_experiments(slow_glm, **grid)
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        client.run(lambda path: sys.path.insert(0, path), str(pathlib.Path(__file__).parent))
        pids = list(client.run(os.getpid).values())
        assert len(pids) == 2
        killed = threading.Event()

        def kill_one(done: int, total: int) -> None:
            if done == total // 3 and not killed.is_set():
                killed.set()
                os.kill(pids[0], signal.SIGKILL)

        with client.get_executor() as executor:
            table = run_experiments(
                slow_glm, kill_one, executor=executor, journal=tmp_path / "journal", progress=False, **grid
            )
        assert killed.is_set()
    pd.testing.assert_frame_equal(serial, table)


def lethal(a: int) -> dict[str, int]:
    """Kills its worker, every time."""
    if a == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"twice": 2 * a}


def secret(a: int) -> dict[str, Any]:
    return {"f": threading.Lock()} if a == 1 else {"f": a}


def test_a_cell_that_kills_every_worker_is_a_failed_row() -> None:
    distributed = pytest.importorskip("distributed")
    import dask

    cluster_options: dict[str, Any] = {"n_workers": 1, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        with distributed.LocalCluster(**cluster_options) as cluster, distributed.Client(cluster) as client:
            client.run(lambda path: sys.path.insert(0, path), str(pathlib.Path(__file__).parent))
            with client.get_executor() as executor:
                table = run_experiments(lethal, executor=executor, a=[1], progress=False)
    assert table.status.tolist() == ["failed"] and "KilledWorker" in table.reason[0]


def test_executors_that_cannot_work() -> None:
    with pytest.raises(TypeError, match="`executor` must have a method submit.*got int"):
        run_experiments(picky, a=[1], executor=3)  # type: ignore[arg-type]
    pool = futures.ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(ExecutorError, match="cannot schedule new futures after shutdown; 0 of 2 cells"):
        run_experiments(picky, a=[1, 2], executor=pool)
    assert issubclass(ExecutorError, ta.TreeampError)
    with futures.ProcessPoolExecutor(1) as workers:
        table = run_experiments(secret, a=[1, 2], executor=workers)
        assert table.status.tolist() == ["failed", "ok"] and "pickle" in table.reason[0]

    # what a progress function raises is not the executor's
    def broken(i: int, total: int) -> None:
        raise FileNotFoundError("my file")

    with futures.ThreadPoolExecutor(1) as threads, pytest.raises(FileNotFoundError, match="my file"):
        run_experiments(picky, broken, a=[1, 2], executor=threads)


def test_failed_cells_are_tried_again(tmp_path: pathlib.Path) -> None:
    calls: list[int] = []

    def flaky(a: int) -> dict[str, int]:
        calls.append(a)
        if len(calls) == 1:
            raise OSError("once")
        return {"twice": 2 * a}

    path = tmp_path / "table.csv"
    first = save_experiments(flaky, path, a=[1, 2])
    assert first.status.tolist() == ["failed", "ok"]
    second = save_experiments(flaky, path, a=[1, 2], resume=True)
    assert "status" not in second and second.twice.tolist() == [2, 4] and calls == [1, 2, 1]
    save_experiments(flaky, path, a=[1, 2], resume=True)
    assert calls == [1, 2, 1]


class Setting:
    """Told apart by its value, not by its address."""

    def __init__(self, x: int) -> None:
        self.x = x


def test_fixed_objects_are_compared_by_value(tmp_path: pathlib.Path) -> None:
    def run(a: int, setting: Any) -> dict[str, int]:
        return {"b": a}

    journal = tmp_path / "journal"
    run_experiments(run, a=[1], setting=Setting(1), journal=journal)
    assert len(run_experiments(run, a=[1, 2], setting=Setting(1), journal=journal, resume=True)) == 2
    with pytest.raises(ValueError, match="another configuration"):
        run_experiments(run, a=[1], setting=Setting(2), journal=journal, resume=True)
    with pytest.raises(TypeError, match="`setting` cannot be distinguished"):
        run_experiments(run, a=[1], setting=threading.Lock(), journal=tmp_path / "other")


# --- bad calls


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({"run": 3, "a": [1]}, TypeError, "`run` must be callable"),
        ({"run": picky, "c": [1]}, TypeError, "cannot be called with c"),
        ({"run": picky, "a": [1], "seeds": 2}, TypeError, "cannot be called with a, seed"),
        ({"run": glm, "seed": [0], "seeds": 2}, TypeError, "got both"),
        ({"run": glm, "seeds": 0}, ValueError, "`seeds` must be at least 1"),
        ({"run": glm, "seeds": [1, 1]}, ValueError, "different seeds, got 1 twice"),
        ({"run": glm, "seed": [-1]}, ValueError, "`seed` must be at least 0"),
        ({"run": picky, "a": []}, ValueError, "at least one value"),
        ({"run": picky, "a": [1, 1.0]}, ValueError, "different values"),
        ({"run": picky, "a": [threading.Lock()]}, TypeError, "`a` cannot be distinguished"),
        ({"run": picky, "a": [(1, 2), (1, 2)]}, ValueError, "different values"),
        ({"run": picky, "a": [1], "threads": 0}, ValueError, "`threads` must be at least 1"),
        ({"run": picky, "a": [1], "on_progress": 3}, TypeError, "`on_progress` must be callable"),
    ],
)
def test_bad_calls(kwargs: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        run_experiments(**kwargs)


def test_results_that_no_table_holds_are_failures() -> None:
    table = run_experiments(lambda a: {"x": object()} if a == 1 else 7, a=[1, 2])
    assert (table.status == "failed").all()
    assert "`x` must be a number" in table.reason[0] and "must return a dict" in table.reason[1]
    table = run_experiments(lambda a: 7 if a == 1 else {"a": 7, "b": 8}, a=[1, 2])
    # a parameter is what it was set to, as in tramp
    assert list(table.columns) == ["a", "b", "status", "reason"] and table.a.tolist() == [1, 2]


# --- scenarios


def test_a_scenario_needs_an_instance_and_says_its_seed() -> None:
    model = ta.glm_generative(
        N=50, alpha=1, ensemble_type="gaussian", prior_type="gaussian", output_type="gaussian", output_var=0.1, seed=0
    )
    scenario = BayesOptimalScenario(model)
    with pytest.raises(ta.RunError, match="setup"):
        scenario.run_ep()
    scenario.setup()
    again = BayesOptimalScenario(model).setup(scenario.seed)
    assert np.array_equal(scenario.x_true["x"], again.x_true["x"])
    with pytest.raises(ValueError, match="there is no variable `q`"):
        BayesOptimalScenario(model, x_ids=["q"])
    with pytest.raises(ValueError, match="there is no metric 'rmse'"):
        scenario.run_all(metrics=["rmse"])
    with pytest.raises(ValueError, match="EP, SE or EP,SE"):
        scenario.run_all(source="VB")


def test_a_mismatched_student_is_predicted() -> None:
    common: dict[str, Any] = {"ensemble_type": "gaussian", "prior_type": "gauss_bernoulli", "output_type": "gaussian"}
    kwargs = {"N": 1000, "alpha": 0.8, "seed": 3, **common}
    teacher = ta.glm_generative(**kwargs, prior_rho=0.1, output_var=0.01)
    student = ta.glm_generative(**kwargs, prior_rho=0.4, output_var=0.1)
    errors = []
    for seed in range(4):
        table = TeacherStudentScenario(teacher, student).setup(seed).table(metrics=["mse", "overlap"], max_iter=200)
        errors.append(table.mse[0])
        predicted, claimed = table.mse[1], table.v[1]
    # a wrong student does not know its own error
    assert abs(predicted / claimed - 1) > 0.1
    # four instances of 1000 components
    assert abs(np.mean(errors) / predicted - 1) < 0.15


def test_convergence_is_followed_sweep_by_sweep() -> None:
    model = ta.glm_generative(
        N=500, alpha=1, ensemble_type="gaussian", prior_type="binary", output_type="gaussian", output_var=0.5, seed=0
    )
    table = BayesOptimalScenario(model).setup(1).run_convergence(max_iter=8)
    ep, se = table[table.source == "EP"], table[table.source == "SE"]
    assert ep["iter"].tolist() == list(range(len(ep))) and len(se) > 3
    assert abs(ep.v.iloc[-1] / se.v.iloc[-1] - 1) < 0.2
    assert {"mse", "v"} <= set(ep.columns)


def test_state_evolution_of_a_model() -> None:
    model = ta.glm_state_evolution(alpha=1.0, prior_type="gaussian", output_type="gaussian", output_var=0.1)
    (found,) = run_state_evolution("x", model)
    assert found["x_id"] == "x" and found["n_iter"] > 0 and abs(found["v"] - 0.270156) < 1e-6


# --- critical values


def test_critical_values() -> None:
    search = binary_search(lambda x: x**2 > 2, 0, 2, 1e-9)
    assert search["xmin"] < 2**0.5 <= search["xmax"] and search["xerr"] <= 1e-9 and search["n_iter"] == 31
    for kwargs in ({"xmin": 1.5}, {"xmax": 1.0}, {"xmin": 3.0}, {"xtol": 0.0}):
        with pytest.raises(ValueError, match="critical value|below|positive"):
            binary_search(lambda x: x**2 > 2, **{"xmin": 0.0, "xmax": 2.0, "xtol": 1e-3, **kwargs})
    # the published algorithmic threshold of noiseless compressed sensing at rho = 1/2 is .6857
    alpha = find_critical_alpha(
        "x",
        0.0,
        "perfect",
        0.5,
        0.9,
        ta.glm_state_evolution,
        alpha_tol=1e-3,
        prior_type="gauss_bernoulli",
        output_type="gaussian",
        prior_rho=0.5,
        output_var=1e-11,
    )
    assert abs(alpha - 0.6857) < 3e-3
    with pytest.raises(ValueError, match="there is no variable `q`"):
        find_critical_alpha("q", 0, "perfect", 0.5, 0.9, ta.glm_state_evolution, prior_type="gaussian", output_type="sgn")


# --- figures


def test_figures() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from treeamp.experiments import plot_compare, plot_compare_complex, plot_function, qplot

    table = run_experiments(picky, a=[1, 2], b=["x", "y"])
    figure = qplot(table, x="a", y="twice", color="b", column="b_again", rename={"a": "α"}, ylog=True)
    assert figure.axes[0].get_xlabel() == "α" and figure.axes[0].get_yscale() == "log"
    with pytest.raises(ValueError, match="there is no column `c`"):
        qplot(table, x="a", y="twice", color="c")
    assert len(plot_compare([1.0, 2.0], [1.1, 1.9]).axes) == 2
    # a global phase is taken out
    turned = plot_compare_complex([1, 1j, -1], [1j, -1, -1j])
    lines = turned.axes[0].get_lines()
    assert np.allclose(lines[0].get_ydata(), lines[1].get_ydata())
    assert len(plot_function(np.tanh).axes[0].get_lines()[0].get_xdata()) == 201
    with pytest.raises(ValueError, match="same shape"):
        plot_compare([1.0], [1.0, 2.0])
    matplotlib.pyplot.close("all")


# --- what is logged


def test_failed_cells_are_logged_with_their_traceback(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    with caplog.at_level("INFO", logger="treeamp"):
        for executor in (None, futures.ProcessPoolExecutor(1)):
            caplog.clear()
            run_experiments(picky, a=[1, 3], executor=executor, progress=False)
            errors = [r.getMessage() for r in caplog.records if r.levelname == "ERROR"]
            assert len(errors) == 1 and "failed: " in errors[0] and "Traceback" in errors[0] and "in picky" in errors[0] and '"a"=3.0' in errors[0]
            told = [r.getMessage() for r in caplog.records if r.levelname == "INFO"]
            # an executor may end them in any order
            assert sorted(text[:12] for text in [*told, *errors]) == ["cell 1 of 2 ", "cell 2 of 2 "] and told[0][12:].startswith("finished: ")
            if executor is not None:
                executor.shutdown()
    assert capsys.readouterr().out == ""


class Scaled:
    """Something callable with a state."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def __call__(self, a: float) -> dict[str, float]:
        return {"b": self.scale * a}

    def run(self, a: float) -> dict[str, float]:
        return self(a)


def _scaled(scale: float, a: float, power: int = 1) -> dict[str, float]:
    return {"b": scale * a**power}


@pytest.mark.parametrize(
    "of",
    [
        lambda x: functools.partial(_scaled, x),
        lambda x: functools.partial(_scaled, 1.0, power=int(x)),
        lambda x: functools.partial(functools.partial(_scaled, x), power=2),
        lambda x: Scaled(x).run,
        Scaled,
    ],
)
def test_a_journal_knows_what_is_bound_to_its_function(tmp_path: pathlib.Path, of: Any) -> None:
    path = tmp_path / "table.csv"
    first = save_experiments(of(2.0), path, a=[2, 3])
    again = save_experiments(of(2.0), path, a=[2, 3], resume=True)
    assert again.b.tolist() == first.b.tolist() and len(again.attrs["reused"]) == 2
    with pytest.raises(ValueError, match="another configuration: `run.*; resume=False starts afresh"):
        save_experiments(of(3.0), path, a=[2, 3], resume=True)
    with pytest.raises(TypeError, match="`resume` must be True, False or None, got 'yes'"):
        save_experiments(of(2.0), path, a=[2, 3], resume="yes")


def test_theory_at_the_symmetric_point_is_named(caplog: pytest.LogCaptureFixture) -> None:
    """Even outputs tell nothing at first: state evolution stays where runs do not."""
    kwargs = {"alpha": 0.9, "prior_type": "gauss_bernoulli", "prior_rho": 0.5}
    even = ta.models.glm_state_evolution(output_type="abs", **kwargs)
    odd = ta.models.glm_state_evolution(output_type="gaussian", output_var=0.1, **kwargs)
    with caplog.at_level("WARNING", logger="treeamp"):
        (record,) = run_state_evolution(["x"], even)
        assert record["symmetric_point"] and "`x`: the prediction rests at the symmetric point" in caplog.text
        caplog.clear()
        (record,) = run_state_evolution(["x"], odd)
        assert "symmetric_point" not in record and not caplog.records
    se = ta.StateEvolution(even)
    report = se.iterate()
    assert report.symmetric_point and "phase_report" in report.notes["x"] and "symmetric point" in report._repr_html_()
    # where slight knowledge is lost again, the prediction is what runs do
    few = ta.models.glm_state_evolution(output_type="abs", **{**kwargs, "alpha": 0.2})
    assert ta.StateEvolution(few).iterate().notes == {}
    model = ta.models.glm_generative(N=100, ensemble_type="gaussian", output_type="abs", seed=1, **kwargs)
    scenario = BayesOptimalScenario(model).setup(seed=0)
    table = scenario.table(max_iter=20)
    assert table.symmetric_point[table.source == "SE"].tolist() == [True]
    assert [r.get("symmetric_point") for r in scenario.run_all("SE")] == [True]
