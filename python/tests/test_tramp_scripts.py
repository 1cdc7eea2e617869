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


# --- the gallery


def test_a_generative_network_is_a_prior() -> None:
    from treeamp.algos import ExpectationPropagation, NoisyInit, TrackEstimate
    from treeamp.algos.metrics import mean_squared_error
    from treeamp.channels import BiasChannel, HardTanhChannel, LeakyReluChannel, LinearChannel, ReshapeChannel
    from treeamp.likelihoods import GaussianLikelihood
    from treeamp.priors import GaussianPrior
    from treeamp.variables import SILeafVariable as O  # noqa: E741
    from treeamp.variables import SISOVariable as V

    pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    D, N1, N = 10, 40, 80
    W1 = rng.normal(size=(N1, D)).astype(np.float32) / np.sqrt(D)
    W2 = (rng.normal(size=(N, N1)) / np.sqrt(N1)).astype(np.float32)
    b1, b2 = 0.1 * rng.normal(size=N1).astype(np.float32), 0.1 * rng.normal(size=N).astype(np.float32)
    prior_x = (
        GaussianPrior(size=D) @ V(id="z_0") @ LinearChannel(W1, name="W_1") @ V(id="Wz_1") @ BiasChannel(b1) @ V(id="b_1")
        @ LeakyReluChannel(0) @ V(id="z_1") @ LinearChannel(W2, name="W_2") @ V(id="Wz_2") @ BiasChannel(b2) @ V(id="b_2")
        @ HardTanhChannel() @ V(id="z_2") @ ReshapeChannel(prev_shape=N, next_shape=(N))
    )
    x = (prior_x @ O(id="y")).to_model().sample(seed=1)["y"]
    F = np.delete(np.identity(N), np.arange(20), axis=0)
    y = F @ x + 0.1 * rng.normal(size=len(F))
    model = prior_x @ V(id="x") @ LinearChannel(F, name="F") @ V(id="z") @ GaussianLikelihood(y=y, var=1e-2)
    track = TrackEstimate(ids="x", every=50)
    ep = ExpectationPropagation(model.to_model_dag().to_model())
    ep.iterate(max_iter=100, callback=track, initializer=NoisyInit(seed=0), damping=0.5)
    assert track.get_dataframe()["iter"].tolist() == [0, 50]
    # what is hidden is filled in: ten unknowns, sixty observations
    error = mean_squared_error(x[:20], ep.get_variables_data(["x"])["x"]["r"][:20])
    assert error < 0.2 * np.mean(x[:20] ** 2)


def test_complex_phase_retrieval() -> None:
    from treeamp.experiments import BayesOptimalScenario, plot_compare_complex, qplot
    from treeamp.models import glm_generative

    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    model = glm_generative(
        N=200, alpha=3, ensemble_type="complex_gaussian", prior_type="gauss_bernoulli", output_type="modulus",
        prior_mean=0.1, prior_rho=0.5, seed=0,
    )
    scenario = BayesOptimalScenario(model, x_ids=["x"])
    scenario.setup(seed=42)
    scenario.student.plot()
    table = scenario.ep_convergence(metrics=["mse", "phase_mse"], max_iter=60, damping=0.3)
    assert scenario.report is not None and len(table) > 20
    assert table["phase_mse"].iloc[-1] < 0.1 * table["phase_mse"].iloc[0]
    qplot(table, x="iter", y=["mse", "phase_mse", "v"], y_markers=[".", "x", "-"], y_legend=True)
    plot_compare_complex(scenario.x_true["x"], scenario.x_pred["x"])
    matplotlib.pyplot.close("all")


def test_committees_and_images() -> None:
    from treeamp.algos import ConstantInit, ExpectationPropagation
    from treeamp.experiments import BayesOptimalScenario
    from treeamp.models import sgn_committee, soft_committee, sparse_gradient_regression, tv_regression

    scenario = BayesOptimalScenario(soft_committee(2, 60, 3.0, "gaussian", 0.5, 1.0, 0.01, seed=0), x_ids=["x_0", "x_1"])
    data = scenario.setup(seed=0).run_ep(max_iter=50, damping=0.3)
    assert list(data) == ["x_0", "x_1"] and data["n_iter"] <= 50
    assert sgn_committee(2, 50, 3.0, "gaussian", 0.6, 0.01, seed=0).variable_ids[-1] == "y"
    steps = np.repeat([0.0, 2.0, -1.0], 20)
    y = steps + 0.3 * np.random.default_rng(0).normal(size=60)
    for model, kwargs in (
        (sparse_gradient_regression(np.eye(60), y, 60, grad_rho=0.04, noise_var=0.09, prior_var=4.0), {"damping": 0.1}),
        (tv_regression(np.eye(60), y, 60, grad_scale=0.5, noise_var=0.09, prior_var=4.0), {"initializer": ConstantInit(a=1, b=1)}),
    ):
        ep = ExpectationPropagation(model)
        ep.iterate(max_iter=100, **kwargs)
        assert np.mean((ep.get_variable_data("x")["r"] - steps) ** 2) < 0.5 * np.mean((y - steps) ** 2)


def test_matrices_of_every_ensemble() -> None:
    from treeamp.ensembles import MarchenkoPasturEnsemble, RandomFeatureEnsemble, get_ensemble

    for name, size in (("gaussian", {"M": 4, "N": 6}), ("binary", {"M": 4, "N": 6}), ("ternary", {"M": 4, "N": 6}),
                       ("complex_gaussian", {"M": 4, "N": 6}), ("rotation", {"N": 5}), ("unitary", {"N": 5})):  # fmt: skip
        assert np.isfinite(get_ensemble(name, **size).generate()).all()
    assert RandomFeatureEnsemble(M=4, N=6, f="relu").generate().shape == (4, 6)
    law = MarchenkoPasturEnsemble(alpha=0.5)
    assert law.generate(N=20).shape[1] == 20 and 0 < law.eta_transform(1.0) < 1 and law.shannon_transform(1.0) > 0
