"""The model algebra, observations, samples, drawings, pickles."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import treeamp as ta
from treeamp.base import Variable


def test_listing_of_the_paper() -> None:
    """The listing as printed, with its imports renamed."""
    from treeamp.algos import ExpectationPropagation
    from treeamp.base import Variable as V
    from treeamp.channels import LinearChannel
    from treeamp.likelihoods import GaussianLikelihood
    from treeamp.priors import GaussBernoulliPrior

    N, rho, Delta = 100, 0.05, 0.01
    A = ta.GaussianEnsemble(M=60, N=N).generate(seed=0)
    y = A @ ta.GaussBernoulliPrior(rho=rho, size=N).sample(seed=3)
    # declare sparse linear regression model
    model = (
        GaussBernoulliPrior(rho=rho, size=N) @ V('x') @
        LinearChannel(A) @ V('z') @
        GaussianLikelihood(var=Delta, y=y)
    ).to_model()  # fmt: skip
    # run EP
    ep = ExpectationPropagation(model)
    ep.iterate(max_iter=200)
    data = ep.get_variables_data(["x"])
    assert data["x"]["r"].shape == (N,) and data["x"]["v"] > 0


def test_sparse_gradient_listing() -> None:
    from treeamp.base import Variable as V

    N, y = 20, np.zeros(20)
    model = (
        ta.GaussianPrior(size=N) @ V("x", n_prev=1, n_next=2) @ (
            ta.GaussianLikelihood(var=0.01, y=y) + (
                ta.GradientChannel() + ta.GaussBernoulliPrior(rho=0.04, size=(1, N))
            ) @ V("z", n_prev=2, n_next=0)
        )
    ).to_model()
    assert model.shapes == {"x": (20,), "z": (1, 20)}
    assert len(model.edges) == 5


def branches(x: Any, leaf: Any) -> Any:
    noisy = ta.GaussianLikelihood(np.zeros(3), 0.5)
    return ta.GaussianPrior(3) @ x @ (noisy + (ta.BiasChannel(np.ones(3)) + ta.GaussianPrior(3)) @ leaf)


def test_all_variable_classes() -> None:
    plain = branches(ta.Variable("x"), ta.Variable("z")).to_model()
    typed = branches(ta.SIMOVariable("x", n_next=2), ta.MILeafVariable("z", n_prev=2)).to_model()
    assert plain.edges == typed.edges
    pair = ta.GaussianPrior(3) @ ta.SISOVariable("a") + ta.GaussianPrior(3) @ ta.SISOVariable("b")
    summed = (pair @ ta.SumChannel(2) @ ta.SILeafVariable("y")).to_model()
    assert summed.variable_ids == ["a", "b", "y"]
    both = ta.BiasChannel(np.zeros(3)) + ta.BiasChannel(np.ones(3))
    joined = (pair @ both @ ta.MISOVariable("c", n_prev=2) @ ta.GaussianLikelihood(np.zeros(3))).to_model()
    assert joined.variable_ids == ["a", "b", "c"]
    for root in (ta.SORootVariable("r"), ta.MORootVariable("r", n_next=1)):
        with pytest.raises(ta.ModelError, match="dangles"):
            (root @ ta.SgnLikelihood([1.0])).to_model()


@pytest.mark.parametrize(
    "variable", [ta.SISOVariable("x"), ta.SIMOVariable("x", 3), ta.MISOVariable("x", 2), ta.SILeafVariable("x")]
)
def test_degrees_are_checked(variable: Any) -> None:
    with pytest.raises(ta.ModelError, match="`x`"):
        branches(variable, ta.V("z")).to_model()


def test_pieces_can_be_composed_in_any_order() -> None:
    left = ta.GaussianPrior(2) @ ta.V("x")
    right = ta.SgnChannel() @ ta.O("y")
    one, other = (left @ right).to_model(), (ta.GaussianPrior(2) @ (ta.V("x") @ right)).to_model()
    assert one.edges == other.edges == [
        ("gaussian", "x", "forward"), ("sign", "x", "backward"), ("sign", "y", "forward"),
    ]  # fmt: skip
    # a piece is not changed by what is made of it
    assert len(left.factors) == 1 and (left @ ta.SgnLikelihood([1, -1])).to_model().variable_ids == ["x"]


def test_one_channel_can_stand_in_several_places() -> None:
    W = ta.LinearChannel(ta.GaussianEnsemble(4, 5).generate(seed=0))
    expert = [ta.BinaryPrior(5) @ ta.V(f"x_{k}") @ W @ ta.V(f"z_{k}") for k in range(2)]
    model = ((expert[0] + expert[1]) @ ta.SumChannel(2) @ ta.O("y")).to_model()
    assert model.factor_names == ["binary", "linear", "binary#2", "linear#2", "sum"]


def test_factors_can_have_names() -> None:
    model = (ta.GaussianPrior(2).named("signal") @ ta.V("x") @ ta.SgnLikelihood([1, 1])).to_model()
    assert model.factor_names == ["signal", "sign"]


def test_models_of_factors_only() -> None:
    chain = ta.GaussianPrior(2) @ ta.ReluChannel() @ ta.GaussianChannel(0.1)
    model = ta.FactorModel(chain)
    assert model.variable_ids == ["x_0", "x_1", "x_2"]
    assert sorted(model.sample(seed=0)) == ["x_0", "x_1", "x_2"]


def test_multi_layer_with_a_likelihood_at_the_end() -> None:
    layers = [ta.GaussianPrior(2), ta.ReluChannel(), ta.GaussianLikelihood([1.0, 2.0], 0.1)]
    model = ta.MultiLayerModel(layers, ids=["z", "x"])
    assert ta.ExpectationPropagation(model).iterate(max_iter=50).converged
    assert ta.MultiLayerModel(layers).variable_ids == ["x_0", "x_1"]


def glm(**kwargs: Any) -> ta.Model:
    options: dict[str, Any] = dict(N=40, alpha=1.5, ensemble_type="gaussian", prior_type="gauss_bernoulli",
                                   output_type="gaussian", prior_rho=0.2, output_var=0.1, seed=0)  # fmt: skip
    return ta.glm_generative(**{**options, **kwargs})


def test_to_observed() -> None:
    model = glm()
    sample = model.sample(seed=1)
    student = model.to_observed({"y": sample["y"]})
    assert model.variable_ids == ["x", "z", "y"] and student.variable_ids == ["x", "z"]
    # any channel can be observed: those without a likelihood pin their output
    for output in ({"output_type": "l-relu", "output_slope": 0.1}, {"output_type": "tanh"}, {"output_type": "abs"}):
        kwargs = {"output_var": None, **output}
        clean = {k: v for k, v in kwargs.items() if v is not None}
        teacher = ta.glm_generative(
            N=40, alpha=1.5, ensemble_type="gaussian", prior_type="gaussian", seed=0, **clean  # type: ignore[arg-type]
        )
        y = teacher.sample(seed=2)["y"]
        assert ta.ExpectationPropagation(teacher.to_observed({"y": y})).iterate(max_iter=5).sweeps > 0
    linear = (ta.GaussianPrior(3) @ ta.V("x") @ ta.LinearChannel(np.eye(3)[:2]) @ ta.O("y")).to_model()
    report = ta.ExpectationPropagation(linear.to_observed({"y": [1.0, 2.0]})).iterate()
    assert report.mean("x") == pytest.approx([1.0, 2.0, 0.0])


def test_seeds() -> None:
    model = glm()
    assert np.array_equal(model.sample(seed=0)["x"], model.sample(seed=0)["x"])
    assert not np.array_equal(model.sample(seed=0)["x"], model.sample(seed=1)["x"])
    free = model.sample()
    assert np.array_equal(free["y"], model.sample(seed=free.seed)["y"])
    assert not np.array_equal(free["y"], model.sample()["y"])
    ensemble = ta.GaussianEnsemble(3, 4)
    W = ensemble.generate()
    assert np.array_equal(W, ta.GaussianEnsemble(3, 4).generate(seed=ensemble.seed))
    assert np.array_equal(model.sample(np.int64(5))["x"], model.sample(5)["x"])


def test_drawings() -> None:
    import matplotlib

    matplotlib.use("Agg")
    model = glm()
    svg = model._repr_svg_()
    assert svg.startswith("<svg") and ">linear<" in svg and ">x<" in svg
    assert model.to_dot().startswith("graph") or model.to_dot().startswith("digraph")
    ax = model.plot()
    assert {text.get_text() for text in ax.texts} >= {"x", "z", "y", "linear"}
    assert "x (40)" in model.describe()
    assert repr(model) == "<Model: 3 variables, 3 factors>"


def test_second_moments() -> None:
    moments = glm().init_second_moments()
    W = glm().factors[1].W  # type: ignore[attr-defined]
    tau_z = 0.2 * np.sum(W**2) / W.shape[0]
    assert moments == pytest.approx({"x": 0.2, "z": tau_z, "y": tau_z + 0.1})


def test_pickles() -> None:
    model = glm()
    sample = model.sample(seed=1)
    student = model.to_observed({"y": sample["y"]})
    again = pickle.loads(pickle.dumps(student))
    one, other = ta.ExpectationPropagation(student), ta.ExpectationPropagation(again)
    one.iterate(), other.iterate()
    assert np.array_equal(one.report.mean("x"), other.report.mean("x"))
    copy = pickle.loads(pickle.dumps(one))
    assert np.array_equal(copy.get_variables_data(["x"])["x"]["r"], one.report.mean("x"))
    assert copy.log_evidence() == one.log_evidence() and copy.report.message == one.report.message
    assert copy.iterate(warm_start=True).sweeps <= 2
    drawn = pickle.loads(pickle.dumps(sample))
    assert drawn.seed == 1 and np.array_equal(drawn["x"], sample["x"])
    se = ta.StateEvolution(student)
    se.iterate()
    assert pickle.loads(pickle.dumps(se)).mutual_information() == se.mutual_information()
    for module in (ta.GaussianMixturePrior(3), ta.LinearChannel(np.eye(2)), ta.SymmetricDoorLikelihood(0.5, [1.0])):
        assert repr(pickle.loads(pickle.dumps(module))) == repr(module)


def test_committees() -> None:
    model = ta.sgn_committee(K=3, N=20, alpha=2.0, ensemble_type="gaussian", p_pos=0.6, noise_var=0.1, seed=0)
    y = model.sample(seed=0)["y"]
    assert set(np.unique(y)) == {-1.0, 1.0}
    assert ta.ExpectationPropagation(model.to_observed({"y": y})).iterate(max_iter=10, damping=0.3).sweeps > 0
    soft = ta.soft_committee(2, 20, 2.0, "gaussian", prior_mean=0.1, prior_var=1.0, noise_var=0.1, seed=0)
    assert soft.variable_ids == ["x_0", "z_0", "a_0", "x_1", "z_1", "a_1", "a", "y"]


def test_sparse_gradient_models() -> None:
    A, y = np.eye(6)[:4], np.ones(4)
    for make in (ta.sparse_gradient_regression, ta.sparse_gradient_classification):
        model = make(A, y, x_shape=(6,), grad_rho=0.1, noise_var=0.1, prior_var=1.0)
        assert model.shapes["x'"] == (1, 6)
        assert ta.ExpectationPropagation(model).iterate(max_iter=20, damping=0.3).sweeps > 0
    for make in (ta.tv_regression, ta.tv_classification):
        model = make(A, y, x_shape=(2, 3), grad_scale=1.0, noise_var=0.1, prior_var=1.0)
        assert model.shapes["x'"] == (2, 2, 3)


def test_shapes_and_pieces() -> None:
    """Concatenation and reshaping, which tramp could not run: the exact posterior of a Gaussian tree."""
    pair = ta.GaussianPrior(2) @ ta.V("a") + ta.GaussianPrior(4, var=2.0) @ ta.V("b")
    y = np.arange(6.0).reshape(2, 3)
    model = (pair @ ta.ConcatChannel([2, 4]) @ ta.V("ab") @ ta.ReshapeChannel(6, (2, 3)) @ ta.V("x")
             @ ta.GaussianLikelihood(y, var=1.0)).to_model()  # fmt: skip
    ep = ta.ExpectationPropagation(model)
    assert ep.iterate().converged
    # one variance for both pieces of the joined signal: means are right where beliefs are exact
    assert model.shapes == {"a": (2,), "b": (4,), "ab": (6,), "x": (2, 3)}
    image = (ta.GaussianPrior((4, 4)) @ ta.V("x") @ ta.MaskChannel(np.eye(4) > 0) @ ta.V("z")
             @ ta.GaussianLikelihood(np.ones(4), var=1.0)).to_model()  # fmt: skip
    report = ta.ExpectationPropagation(image).iterate()
    assert report.mean("x") == pytest.approx(0.5 * np.eye(4), abs=1e-9)


def test_decompositions_are_shared() -> None:
    """Observing other values must not decompose the matrix again: the second run has no set-up to pay."""
    model = glm(N=600, alpha=0.5)
    y = model.sample(seed=1)["y"]
    first = ta.ExpectationPropagation(model.to_observed({"y": y})).iterate(max_iter=1)
    second = ta.ExpectationPropagation(model.to_observed({"y": 2 * y})).iterate(max_iter=1)
    assert second.seconds < 0.5 * first.seconds


def test_version() -> None:
    assert ta.__version__ == "0.1.0"


def test_variables_know_their_limits() -> None:
    assert Variable("x").compute_log_partition(0.0, [1.0]) == float("inf")
