"""Scripts the way users of tramp write them, their imports renamed, one for every part of its interface.

They are checked for what they rely on: names, arguments, and what comes back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treeamp as ta


def sparse(N: int = 200, **kwargs: Any) -> ta.Model:
    from treeamp.models import glm_generative

    return glm_generative(
        N=N, alpha=0.8, ensemble_type="gaussian", prior_type="gauss_bernoulli", output_type="gaussian", prior_rho=0.3,
        output_var=0.01, **kwargs,
    )


# --- base, variables, models


def test_a_model_is_taken_apart() -> None:
    from treeamp.channels import GaussianChannel, GradientChannel
    from treeamp.likelihoods import GaussianLikelihood
    from treeamp.models import FactorModel, Model, MultiLayerModel
    from treeamp.priors import GaussBernoulliPrior, GaussianPrior
    from treeamp.variables import MILeafVariable, SIMOVariable
    from treeamp.variables import SILeafVariable as O  # noqa: E741
    from treeamp.variables import SISOVariable as V

    dag = GaussianPrior(size=(8,)) @ SIMOVariable(id="x", n_next=2) @ (
        GaussianChannel(var=0.1) @ O(id="y")
        + (GradientChannel(shape=(8,)) + GaussBernoulliPrior(size=(1, 8))) @ MILeafVariable(id="x'", n_prev=2)
    )
    model = Model(dag.to_model_dag())
    assert dag.to_model().to_model().variable_ids == model.variable_ids == ["x", "y", "x'"]
    assert (model.n_variables, model.n_factors) == (3, 4) and len(set(model.factor_ids)) == 4
    assert [f.id for f in model.factors] == model.factor_ids
    model.init_shapes()
    assert model.get_shapes()["x'"] == (1, 8)
    chain = MultiLayerModel([GaussianPrior(size=4), GaussianChannel(var=2.0)], ids=["x", "y"])
    chain.init_second_moments()
    assert chain.get_second_moments() == pytest.approx({"x": 1.0, "y": 3.0})
    layers = MultiLayerModel([GaussianPrior(size=3), GaussianLikelihood(y=np.ones(3))], ids=["x"])
    assert FactorModel(GaussianPrior(size=3) @ GaussianLikelihood(y=np.ones(3))).n_factors == layers.n_factors == 2
    assert (GaussianPrior(size=3) @ V(id="x") @ GaussianLikelihood(y=np.ones(3))).to_model_dag().to_model().n_variables == 1


def test_base_classes_are_where_they_were() -> None:
    from treeamp.base import Factor, ReprMixin, Variable, filter_message, inv
    from treeamp.channels.base_channel import Channel
    from treeamp.likelihoods.base_likelihood import Likelihood
    from treeamp.priors.base_prior import Prior

    assert all(issubclass(base, Factor) and issubclass(base, ReprMixin) for base in (Channel, Likelihood, Prior))
    assert inv(0.5) == 2 and Variable("x", 1, 1).n_next == 1
    assert filter_message([("f", "x", {"direction": "fwd"}), ("x", "f", {"direction": "bwd"})], "fwd")[0][0] == "f"
    a, b = ta.GaussianPrior(2).compute_ab_new(np.array([0.5, 1.0]), 0.5, 1.0, np.zeros(2))
    assert a == 1.0 and b.tolist() == [1.0, 2.0]


# --- priors and likelihoods as classes


class ShiftedPrior(ta.priors.Prior):
    """The Gaussian prior of mean one, as a class of tramp's kind."""

    def __init__(self, size: Any) -> None:
        self.size = size
        self.repr_init()

    def sample(self) -> Any:
        return 1 + np.random.standard_normal(self.size)

    def second_moment(self) -> float:
        return 2.0

    def scalar_forward_mean(self, ax: Any, bx: Any) -> Any:
        return (bx + 1) / (ax + 1)

    def scalar_forward_variance(self, ax: Any, bx: Any) -> Any:
        return 1 / (ax + 1)

    def scalar_log_partition(self, ax: Any, bx: Any) -> Any:
        return 0.5 * ((bx + 1) ** 2 / (ax + 1) - 1 - np.log(ax + 1))


class NoiseLikelihood(ta.likelihoods.Likelihood):
    """Gaussian noise of variance one half, as a class of tramp's kind."""

    def __init__(self, y: Any, y_name: str = "y") -> None:
        self.y, self.y_name, self.size = y, y_name, self.get_size(y)
        self.repr_init(pad="  ")

    def compute_backward_posterior(self, az: Any, bz: Any, y: Any = None) -> Any:
        y = self.y if y is None else y
        return (bz + 2 * y) / (az + 2), 1 / (az + 2)


def test_classes_of_ones_own() -> None:
    W = ta.GaussianEnsemble(M=20, N=30).generate(seed=0)
    y = np.random.default_rng(0).normal(size=20)

    def run(prior: Any, likelihood: Any) -> Any:
        ep = ta.ExpectationPropagation((prior @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z") @ likelihood).to_model())
        assert ep.iterate(max_iter=100).converged
        return ep

    native = run(ta.GaussianPrior(30, mean=1.0), ta.GaussianLikelihood(y, var=0.5))
    mine = run(ShiftedPrior(30), NoiseLikelihood(y))
    # the same formulas, with the message by way of moments: 1e-6 is the tolerance of the run
    assert mine.get_variable_data("x")["r"] == pytest.approx(native.get_variable_data("x")["r"], abs=1e-6)
    half = run(ShiftedPrior(30), ta.GaussianLikelihood(y, var=0.5))
    assert half.log_evidence() == pytest.approx(native.log_evidence(), rel=1e-6)
    with pytest.raises(ta.RunError, match="it has no log-partition"):
        mine.log_evidence()
    assert repr(ShiftedPrior(30)) == "ShiftedPrior(size=30)"
    r, v = ShiftedPrior(30).compute_forward_posterior(1.0, np.zeros(30))
    assert v == 0.5 and r.tolist() == [0.5] * 30


def test_a_class_is_drawn_from_a_seed_and_leaves_numpys_generator_alone() -> None:
    model = (ShiftedPrior(50) @ ta.V("x") @ ta.GaussianChannel(var=0.1) @ ta.V("y")).to_model()
    np.random.seed(3)
    expected = np.random.random(2)
    np.random.seed(3)
    one, two, three = model.sample(seed=1)["x"], model.sample(seed=1)["x"], model.sample(seed=2)["x"]
    assert np.array_equal(np.random.random(2), expected)
    assert np.array_equal(one, two) and not np.array_equal(one, three)


def test_a_class_has_a_theory() -> None:
    prior = ShiftedPrior(None)
    model = (prior @ ta.V("x") @ ta.MarchenkoPasturChannel(alpha=0.7) @ ta.V("z") @ ta.GaussianLikelihood(None, var=0.2)).to_model()
    native = (
        ta.GaussianPrior(None, mean=1.0) @ ta.V("x") @ ta.MarchenkoPasturChannel(alpha=0.7) @ ta.V("z")
        @ ta.GaussianLikelihood(None, var=0.2)
    ).to_model()
    found = []
    for given in (model, native):
        se = ta.StateEvolution(given)
        assert se.iterate().converged
        found.append(se.get_variable_data("x")["v"])
    assert found[0] == pytest.approx(found[1], rel=1e-8)


def test_a_signal_from_a_file_is_a_prior_of_a_teacher() -> None:
    from treeamp.channels import Blur2DChannel, GaussianChannel
    from treeamp.experiments import TeacherStudentScenario
    from treeamp.models import MultiLayerModel
    from treeamp.priors import GaussianPrior
    from treeamp.priors.base_prior import Prior

    image = np.zeros((12, 16), dtype=np.float32)
    image[4:8, 5:12] = 1

    class ImagePrior(Prior):
        def __init__(self) -> None:
            self.size = image.shape

        def sample(self) -> Any:
            return image

    blur, noise = Blur2DChannel(shape=image.shape, sigma=[1, 1]), GaussianChannel(var=0.01)
    teacher = MultiLayerModel([ImagePrior(), blur, noise], ids=["x", "z", "y"])
    student = MultiLayerModel([GaussianPrior(size=image.shape), blur, noise], ids=["x", "z", "y"])
    scenario = TeacherStudentScenario(teacher, student, x_ids=["x", "z"])
    scenario.setup(seed=1)
    assert np.array_equal(scenario.x_true["x"], image)
    scenario.run_ep(max_iter=100, damping=0)
    # what was blurred is known better than it was seen
    assert np.mean((scenario.x_pred["z"] - scenario.x_true["z"]) ** 2) < 0.01
    with pytest.raises(ta.RunError, match="ImagePrior"):
        ta.ExpectationPropagation(teacher.to_observed({"y": scenario.observations["y"]})).iterate()


def test_a_class_is_on_real_signals() -> None:
    W = ta.ComplexGaussianEnsemble(M=4, N=3).generate(seed=0)
    for prior in (ShiftedPrior((2, 3)), ta.CustomPrior((2, 3), mean=lambda a, b: b / (1 + a))):
        with pytest.raises(ta.ModelError, match="on a real signal"):
            (prior @ ta.V("x") @ ta.ComplexLinearChannel(W) @ ta.V("z")).to_model()


def test_a_channel_of_ones_own_says_what_there_is_instead() -> None:
    class Cube(ta.channels.Channel):
        def sample(self, Z: Any, seed: int | None = None) -> Any:
            return Z**3

    with pytest.raises(ta.NotAvailable, match="LinearOperatorChannel"):
        (ta.GaussianPrior(3) @ ta.V("x") @ Cube() @ ta.V("y")).to_model()


# --- algorithms, callbacks, initial conditions


def test_a_run_with_all_callbacks() -> None:
    from treeamp.algos import (
        EarlyStopping,
        EarlyStoppingEP,
        ExpectationPropagation,
        JoinCallback,
        LogProgress,
        NoisyInit,
        TrackErrors,
        TrackEstimate,
        TrackEvolution,
        TrackMessages,
        TrackObjective,
        TrackOverlaps,
    )

    pytest.importorskip("pandas")
    model = sparse(seed=0)
    sample = model.sample(seed=1)
    student = model.to_observed({"y": sample["y"]})
    ep = ExpectationPropagation(student)
    messages, objective, overlaps = TrackMessages(), TrackObjective(), TrackOverlaps({"x": sample["x"]})
    errors, evolution = TrackErrors({"x": sample["x"]}), TrackEvolution(ids=["x"])
    callback = [messages, objective, overlaps, errors, evolution, LogProgress(ids=["x"]), EarlyStoppingEP(tol=1e-4)]
    ep.iterate(max_iter=100, callback=callback, initializer=NoisyInit(seed=0), damping=0.1)
    assert ep.n_iter < 100
    assert errors.get_dataframe()["mse"].iloc[-1] == overlaps.get_dataframe()["mse"].iloc[-1]
    records = messages.get_dataframe()
    # two messages on each of four edges, every sweep
    assert len(records) == 8 * ep.n_iter and {"x_id", "f_id", "a", "n_iter", "direction"} <= set(records.columns)
    edge_df, node_df, model_df = objective.get_dataframe()
    assert set(edge_df["x_id"]) == {"x", "z"} and set(node_df["type"]) == {"factor", "variable"}
    assert model_df["A"].iloc[-1] == pytest.approx(ep.A_model)
    tail = TrackEstimate(ids="x", every=10)
    ep.iterate(max_iter=20, callback=JoinCallback([tail]), warm_start=True)
    assert tail.get_dataframe()["iter"].tolist() == [0, 10]
    # one variance below is enough, as there
    z = ep.get_variable_data(id="z")["v"]
    x = ep.get_variable_data(id="x")["v"]
    stopped = ep.iterate(max_iter=50, callback=EarlyStopping(min_variance=0.5 * (min(x, z) + max(x, z)), tol=0))
    assert stopped.termination == "stopped"


def test_messages_add_up_to_beliefs() -> None:
    from treeamp.algos import ExpectationPropagation, StateEvolution

    model = sparse(seed=0)
    student = model.to_observed({"y": model.sample(seed=1)["y"]})
    ep = ExpectationPropagation(student)
    ep.iterate(max_iter=7)
    edges = ep.get_edges_data(["a", "b", "direction"])
    for variable in ("x", "z"):
        data = ep.get_variable_data(id=variable)
        for factor in {e["f_id"] for e in edges if e["x_id"] == variable}:
            ends = [e for e in edges if e["x_id"] == variable and e["f_id"] == factor]
            assert sorted(e["direction"] for e in ends) == ["bwd", "fwd"]
            assert 1 / sum(e["a"] for e in ends) == pytest.approx(data["v"], rel=1e-12)
            assert data["v"] * sum(e["b"] for e in ends) == pytest.approx(data["r"], rel=1e-9, abs=1e-12)
    assert ep.get_edges_data(["n_iter"])[0]["n_iter"] == ep.n_iter == 7
    # state evolution: the precision holds the teacher's own on the way forwards
    se = StateEvolution(student)
    se.iterate(max_iter=200)
    for variable in ("x", "z"):
        total = sum(e["a"] for e in se.get_edges_data(["a"]) if e["x_id"] == variable) / 2
        assert 1 / total == pytest.approx(se.get_variable_data(variable)["v"], rel=1e-6)
    assert {n["id"] for n in se.get_nodes_data(["A", "v"])} == set(student.factor_ids) | {"x", "z"}


def test_state_evolution_from_informed_messages() -> None:
    from treeamp.algos import ConstantInit, CustomInit, EarlyStopping, StateEvolution
    from treeamp.models import glm_state_evolution

    model = glm_state_evolution(alpha=0.6, prior_type="gauss_bernoulli", output_type="abs", prior_rho=0.6, prior_mean=0.01)
    found = {}
    for a0 in (0.1, 1e3):
        se = StateEvolution(model)
        se.iterate(max_iter=200, initializer=CustomInit(a_init=[("x", "bwd", a0)]), callback=EarlyStopping(wait_increase=10))
        found[a0] = se.get_variable_data(id="x")["v"]
    assert found[1e3] <= found[0.1]
    se = StateEvolution(model)
    se.iterate(initializer=ConstantInit(a=0.1))
    assert se.get_variables_data("all")["x"]["v"] == pytest.approx(found[0.1], rel=1e-2)


def test_explanations_print(capsys: pytest.CaptureFixture[str]) -> None:
    from treeamp.algos import DisplayLatexMessagePassing, ExplainMessagePassing, ExplainStateEvolution

    model = (ta.GaussianPrior(3) @ ta.V("x") @ ta.GaussianLikelihood(np.ones(3))).to_model()
    ExplainMessagePassing(model, keys=["a"]).run()
    ExplainStateEvolution(model, keys=["a", "n_iter"]).run()
    assert capsys.readouterr().out.count("gaussian -> x: a=1.0") == 2
    assert "gaussian" in DisplayLatexMessagePassing(model).latex()


# --- experiments


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


# --- modules alone


def test_modules_are_asked_alone() -> None:
    from treeamp.channels import LinearChannel, ReluChannel
    from treeamp.likelihoods import SgnLikelihood
    from treeamp.priors import GaussBernoulliPrior

    prior = GaussBernoulliPrior(size=3, rho=0.5)
    ax, bx = 2.0, np.array([0.0, 1.0, 4.0])
    rx, vx = prior.compute_forward_posterior(ax, bx)
    a_new, b_new = prior.compute_forward_message(ax, bx)
    assert (a_new + ax) * vx == pytest.approx(1) and vx * (b_new + bx) == pytest.approx(rx)
    assert prior.compute_mutual_information(ax) == pytest.approx(0.5 * ax * 0.5 - prior.compute_free_energy(ax))
    assert prior.compute_forward_error(prior.compute_precision(0.1)) == pytest.approx(0.1)
    likelihood = SgnLikelihood(y=np.array([1.0, -1.0]))
    r, v = likelihood.compute_backward_posterior(1.0, np.zeros(2), np.array([1.0, -1.0]))
    assert r[0] == -r[1] > 0 and v == pytest.approx(1 - 2 / np.pi)
    W = np.random.default_rng(0).normal(size=(2, 3))
    channel = LinearChannel(W, precompute_svd=False, name="W")
    rz, vz = channel.compute_backward_posterior(1.0, np.ones(3), 2.0, np.ones(2))
    assert rz == pytest.approx(np.linalg.solve(np.eye(3) + 2 * W.T @ W, np.ones(3) + W.T @ np.ones(2)))
    assert vz == pytest.approx(np.trace(np.linalg.inv(np.eye(3) + 2 * W.T @ W)) / 3)
    relu = ReluChannel()
    assert relu.compute_forward_error(2.0, 1.0, 1.0) > 0 and relu.compute_mutual_information(2.0, 1.0, 1.0) > 0
    assert relu.second_moment(2.0) == pytest.approx(1.0)


def test_mismatched_averages_take_a_teacher() -> None:
    teacher, student = ta.GaussianPrior(None, var=1.0), ta.GaussianPrior(None, var=2.0)
    # a = q_hat + tau_hat; the student is linear: r = b / (a + 1/2)
    ax, m_hat, q_hat = 1.5, 1.2, 1.3
    v, m, q = student.compute_forward_vmq_RS(ax, m_hat, q_hat, teacher, 0.0)
    assert (v, m, q) == pytest.approx((0.5, 0.5 * m_hat, 0.25 * (m_hat**2 + q_hat)))
    a_new, m_hat_new, q_hat_new = student.compute_forward_state_evolution_RS(ax, m_hat, q_hat, teacher, 0.0, 1.0)
    # the prior says nothing that depends on the data
    assert a_new == pytest.approx(0.5) and m_hat_new == pytest.approx(0.0) and q_hat_new == pytest.approx(0.0)
    assert student.compute_forward_state_evolution_BO(ax, 0.0) == pytest.approx(0.5)
    for module in (teacher, ta.SgnLikelihood(None)):
        with pytest.raises(ta.NotAvailable, match="call compute_"):
            module.b_measure(1.0, 1.0, 0.0, abs)
    with pytest.raises(ta.NotAvailable, match="check_factor"):
        _ = ta.checks.check_prior_grad_BO
    message = [("f", "x", {"a": 1.0, "b": 2.0}), ("g", "x", {"a": 3.0, "b": 0.0})]
    x = ta.Variable("x", 1, 1)
    assert (x.posterior_ab(message), x.posterior_a(message), x.posterior_v(message)) == ((4.0, 2.0), 4.0, 0.25)


def test_beliefs_and_measures() -> None:
    from treeamp.beliefs import binary, normal, truncated
    from treeamp.utils.integration import gaussian_measure, is_pos_def, norm_pdf

    assert normal.r(2.0, 1.0) == 0.5 and binary.r(0.0) == 0.0
    assert truncated.r(1.0, 0.0, 0.0, np.inf) == pytest.approx(np.sqrt(2 / np.pi))
    assert gaussian_measure(1.0, 2.0, lambda x: x**2) == pytest.approx(5.0)
    assert is_pos_def(np.eye(2)) and norm_pdf(0.0) == pytest.approx(1 / np.sqrt(2 * np.pi))
