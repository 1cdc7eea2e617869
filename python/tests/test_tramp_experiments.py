"""Experiments the way users of tramp write them, their imports renamed: scenarios, grids, critical values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treeamp as ta
from treeamp.experiments import run_experiments


def sparse(N: int = 200, **kwargs: Any) -> ta.Model:
    from treeamp.models import glm_generative

    return glm_generative(
        N=N, alpha=0.8, ensemble_type="gaussian", prior_type="gauss_bernoulli", output_type="gaussian", prior_rho=0.3,
        output_var=0.01, **kwargs,
    )


def test_a_scenario_is_used_as_in_tramp() -> None:
    from treeamp.algos import EarlyStoppingEP, ExpectationPropagation
    from treeamp.experiments import BayesOptimalScenario

    pytest.importorskip("pandas")
    scenario = BayesOptimalScenario(sparse(seed=0), x_ids=["x"])
    with pytest.raises(ta.RunError, match="setup"):
        _ = scenario.student
    scenario.setup(seed=1)
    assert set(scenario.true_values) == {"x", "z", "y"} and scenario.generative_student.variable_ids == ["x", "z", "y"]
    assert scenario.student.variable_ids == ["x", "z"] and scenario.seed == 1
    x_data = scenario.run_ep(max_iter=200, callback=EarlyStoppingEP())
    ep = ExpectationPropagation(scenario.student)
    ep.iterate(max_iter=200, callback=EarlyStoppingEP())
    assert np.array_equal(x_data["x"]["r"], ep.get_variable_data("x")["r"]) and x_data["n_iter"] == ep.n_iter
    assert np.array_equal(scenario.x_pred["x"], x_data["x"]["r"])
    score = scenario.compute_score(scenario.x_pred, metrics=["mse", "overlap"])
    assert score["x"]["mse"] == ta.mean_squared_error(scenario.x_true["x"], scenario.x_pred["x"])
    se_data = scenario.run_se(max_iter=200)
    # N = 200: the error fluctuates about its prediction
    assert se_data["x"]["v"] == pytest.approx(x_data["x"]["v"], rel=0.3) and se_data["n_iter"] > 1
    table = scenario.ep_convergence(metrics=["mse"], max_iter=10)
    assert len(table) == 10 and {"id", "iter", "mse", "v"} <= set(table.columns)
    assert len(scenario.ep_convergence(["mse", "overlap"], max_iter=200, callback=[EarlyStoppingEP()])) < 200
    assert scenario.se_convergence(max_iter=5)["iter"].tolist() == list(range(5))


def test_records_of_a_scenario() -> None:
    from treeamp.experiments import BayesOptimalScenario, run_state_evolution
    from treeamp.models import glm_state_evolution

    scenario = BayesOptimalScenario(sparse(seed=0), x_ids=["x"])
    records = scenario.run_all(metrics=["mse"], max_iter=100)
    assert [r["source"] for r in records] == ["SE", "EP", "mse"] and {r["x_id"] for r in records} == {"x"}
    assert scenario.seed is not None and all(r["v"] > 0 for r in records)
    assert [r["source"] for r in scenario.run_all(source="SE", max_iter=100)] == ["SE"]
    model = glm_state_evolution(alpha=1.0, prior_type="gaussian", output_type="gaussian", output_var=0.1)
    (record,) = run_state_evolution(x_ids=["x"], model=model)
    assert set(record) == {"x_id", "v", "n_iter"} and record["v"] == pytest.approx(0.270156, abs=1e-6)


class FourierTeacher:
    """Any object with a method sample teaches."""

    def __init__(self, N: int, noise_var: float) -> None:
        self.t = np.linspace(-2 * np.pi, 2 * np.pi, N, endpoint=False)
        self.noise_var = noise_var

    def sample(self, seed: int | None = None) -> dict[str, Any]:
        if seed:
            np.random.seed(seed)
        x = np.cos(self.t) + np.sin(2 * self.t)
        z = ta.DFTChannel(real=True).sample(x)
        return {"x": x, "z": z, "y": x + np.sqrt(self.noise_var) * np.random.standard_normal(x.shape)}


def sparse_fourier(N: int) -> ta.Model:
    from treeamp.channels import DFTChannel, GaussianChannel
    from treeamp.priors import GaussBernoulliPrior, GaussianPrior
    from treeamp.variables import MILeafVariable, SIMOVariable
    from treeamp.variables import SILeafVariable as O  # noqa: E741

    return (
        GaussianPrior(size=(N,), var=1) @ SIMOVariable(id="x", n_next=2) @ (
            GaussianChannel(var=0.1) @ O("y")
            + (DFTChannel(real=True) + GaussBernoulliPrior(size=(2, N), var=18.75, rho=0.02))
            @ MILeafVariable(id="z", n_prev=2)
        )
    ).to_model()


def test_any_object_teaches() -> None:
    from treeamp.algos import EarlyStoppingEP
    from treeamp.experiments import TeacherStudentScenario

    N = 100
    student = sparse_fourier(N)
    scenario = TeacherStudentScenario(FourierTeacher(N, 0.1), student, x_ids=["x", "z"])
    scenario.setup(seed=1)
    data = scenario.run_ep(max_iter=1000, damping=0.1, callback=EarlyStoppingEP(tol=1e-2))
    assert data["z"]["r"].shape == (2, N)
    # a quarter of the noise: two of the hundred frequencies are there
    assert np.mean((scenario.x_pred["x"] - scenario.x_true["x"]) ** 2) < 0.025
    with pytest.raises(ta.RunError, match="take RealDFTChannel"):
        ep = ta.ExpectationPropagation(scenario.student)
        ep.iterate()
        ep.log_evidence()
    with pytest.raises(TypeError, match="method sample"):
        TeacherStudentScenario(3, student)
    with pytest.raises(ValueError, match="there is no variable `q`: the model has"):
        TeacherStudentScenario(FourierTeacher(N, 0.1), student, x_ids=["q"])


def test_seeds_of_scenarios() -> None:
    """tramp's ``setup()`` was not seeded; here a seed is made and told, and 0 is one as any other."""
    from treeamp.experiments import BayesOptimalScenario

    model = sparse(N=50, seed=0)
    draws = [BayesOptimalScenario(model).setup() for _ in range(2)]
    assert draws[0].seed != draws[1].seed
    assert not np.array_equal(draws[0].x_true["x"], draws[1].x_true["x"])
    again = BayesOptimalScenario(model).setup(draws[0].seed)
    assert np.array_equal(again.x_true["x"], draws[0].x_true["x"])
    zero = [BayesOptimalScenario(model).setup(seed=0).x_true["x"] for _ in range(2)]
    assert np.array_equal(*zero)


def test_numpys_seed_repeats_a_script(monkeypatch: pytest.MonkeyPatch) -> None:
    from treeamp import _arrays

    def script() -> list[Any]:
        np.random.seed(42)
        model = sparse(N=20)
        x = ta.GaussianPrior(size=(3,)).sample()
        return [model.sample()["y"], x, ta.GaussianChannel(var=0.1).sample(x), ta.GaussianEnsemble(M=2, N=3).generate()]

    one, two = script(), script()
    assert all(np.array_equal(a, b) for a, b in zip(one, two))
    # a forked worker has its parent's generator: the system's is asked instead
    monkeypatch.setattr(_arrays, "_PROCESS", -1)
    three, four = script(), script()
    assert not any(np.array_equal(a, b) for a, b in zip(three, four))
    # a teacher of tramp's kind gets a seed that numpy takes
    drawn = ta.experiments.TeacherStudentScenario(FourierTeacher(20, 0.1), sparse_fourier(20), x_ids=["x"]).setup()
    assert drawn.seed is not None and drawn.seed < 2**32


def test_grids_of_experiments(tmp_path: Any) -> None:
    from treeamp.experiments import find_critical_alpha, log_on_progress, run_experiments, save_experiments, simple_run_experiments
    from treeamp.models import glm_state_evolution

    pytest.importorskip("pandas")

    def run(alpha: float, rho: float, seed: int) -> dict[str, Any]:
        return {"source": "EP", "v": alpha * rho + seed}

    table = run_experiments(run, alpha=np.linspace(0.3, 1.2, 3), rho=0.6, seed=np.arange(2))
    means = table.groupby(["alpha", "source", "rho"], as_index=False).mean()
    assert means["v"].tolist() == pytest.approx([0.68, 0.95, 1.22])

    def critical(rho: float) -> dict[str, float]:
        alpha = find_critical_alpha(
            id="x", a0=0, mse_criterion="perfect", alpha_min=0.2, alpha_max=0.9, alpha_tol=0.01,
            model_builder=glm_state_evolution, prior_type="gauss_bernoulli", output_type="gaussian", prior_rho=rho,
            output_var=1e-11,
        )
        return {"alpha": alpha}

    found = save_experiments(critical, tmp_path / "critical.csv", rho=[0.25, 0.5], on_progress=log_on_progress)
    # the published algorithmic thresholds of noiseless compressed sensing
    assert found["alpha"].tolist() == pytest.approx([0.418, 0.686], abs=0.01)
    assert simple_run_experiments(lambda a: {"b": a}, a=[1, 2])["b"].tolist() == [1, 2]


def test_a_critical_value_at_a_continuous_transition() -> None:
    """State evolution needs any number of sweeps there: the search goes on with what they have reached."""
    from treeamp.experiments import find_critical_alpha
    from treeamp.models import glm_state_evolution

    alpha = find_critical_alpha(
        id="x", a0=0.1, mse_criterion="perfect", alpha_min=1.0, alpha_max=3.0, alpha_tol=0.01,
        model_builder=glm_state_evolution, prior_type="binary", output_type="door", output_width=0.5, prior_p_pos=0.51,
    )
    assert 1.5 < alpha < 2.5


def shaped(shape: Any, a: int = 0, **kwargs: Any) -> dict[str, Any]:
    return {"kind": type(shape).__name__, "first": next(iter(shape)), "given": len(kwargs)}


def test_a_tuple_is_one_value_and_lists_vary_anything() -> None:
    table = run_experiments(shaped, shape=(3, 4), a=[1, 2])
    assert table["shape"].tolist() == [(3, 4)] * 2 and table["kind"].tolist() == ["tuple"] * 2
    varied = run_experiments(shaped, shape=[(3, 4), (5,), {"u": 1}], a=[1, 2], seeds=2)
    assert varied["shape"].tolist()[::4] == [(3, 4), (5,), {"u": 1}]
    assert varied["first"].tolist()[::4] == [3, 5, "u"] and len(varied) == 12
    fixed = run_experiments(shaped, shape=(3,), W=np.eye(2), options={"k": 1}, f=np.tanh, a=[1])
    assert np.array_equal(fixed["W"][0], np.eye(2)) and fixed["options"][0] == {"k": 1} and fixed["given"][0] == 3


def test_varied_containers_go_on_from_a_journal(tmp_path: Any) -> None:
    def never(**kwargs: Any) -> None:
        raise AssertionError

    never.__module__, never.__qualname__ = shaped.__module__, shaped.__qualname__
    kwargs = {"shape": [(3, np.float64(4)), {"u": np.ones(2)}], "journal": tmp_path / "journal"}
    first = run_experiments(shaped, **kwargs)
    assert run_experiments(never, **kwargs, resume=True).drop(columns="shape").equals(first.drop(columns="shape"))


def named(a: int, seed: int | None = None, fails: bool = False) -> dict[str, Any]:
    if fails and a == 1:
        raise ValueError("no")
    return {"seed": 7, "status": "fine", "a": -1}


def test_a_run_may_return_names_of_the_table() -> None:
    assert run_experiments(named, a=[1, 2])[["a", "seed", "status"]].values.tolist() == [[1, 7, "fine"], [2, 7, "fine"]]
    assert run_experiments(named, a=[1], seed=[3, 4])["seed"].tolist() == [3, 4]
    assert run_experiments(named, a=[1], seeds=[5])["seed"].tolist() == [5]
    failed = run_experiments(named, a=[1, 2], fails=True)
    assert failed["status"].tolist() == ["failed", "ok"] and failed["result.status"].tolist()[1] == "fine"


def test_a_teacher_on_another_tree_has_estimates_and_no_theory() -> None:
    from treeamp.experiments import TeacherStudentScenario

    pytest.importorskip("pandas")
    noisy = ta.GaussianPrior(50) @ ta.V("x") @ ta.GaussianChannel(0.1) @ ta.V("z") @ ta.GaussianChannel(0.1) @ ta.O("y")
    teacher, student = noisy.to_model(), (ta.GaussianPrior(50) @ ta.V("x") @ ta.GaussianChannel(0.2) @ ta.O("y")).to_model()
    scenario = TeacherStudentScenario(teacher, student).setup(seed=0)
    with pytest.warns(RuntimeWarning, match="no state evolution: teacher and student differ"):
        records = scenario.run_all()
    assert [record["source"] for record in records] == ["EP", "mse"]
    with pytest.warns(RuntimeWarning, match="teacher and student differ"):
        assert scenario.table()["source"].tolist() == ["EP"]
    for call in (scenario.run_se, lambda: scenario.run_all(source="SE")):
        with pytest.raises(ta.RunError, match="teacher and student differ"):
            call()
