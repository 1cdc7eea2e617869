"""What users of tramp met: a scalar bias, names that cannot be imported, figures, operators of other packages."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import treeamp as ta
from treeamp.experiments import plot_compare, plot_compare_complex, qplot

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.mark.parametrize("bias", [0.1, np.float64(0.1), [0.1], [0.1] * 5])
def test_a_bias_may_be_one_number(bias: Any) -> None:
    """The first model of tramp's tutorial."""
    model = (ta.GaussianPrior(5) @ ta.V("x") @ ta.BiasChannel(bias) @ ta.V("z") @ ta.GaussianChannel(var=0.1) @ ta.O("y")).to_model()
    sample = model.sample(seed=0)
    assert np.allclose(sample["z"], sample["x"] + 0.1)
    ep = ta.ExpectationPropagation(model.to_observed({"y": sample["y"]}))
    assert ep.iterate().converged
    assert np.allclose(ep.get_variable_data("x")["r"], (sample["y"] - 0.1) / 1.1)
    exact = -0.5 * np.sum((sample["y"] - 0.1) ** 2) / 1.1 - 2.5 * np.log(2 * np.pi * 1.1)
    assert ep.log_evidence() == pytest.approx(exact, rel=1e-12)
    alone = ta.BiasChannel(bias)
    r, v = alone.compute_forward_posterior(1.0, np.zeros(5), 2.0, np.ones(5))
    assert np.allclose(r, (1.0 + 0.1) / 3.0) and v == pytest.approx(1 / 3)
    assert np.allclose(alone.sample(np.zeros(5)), 0.1)


def test_a_bias_of_another_length_is_refused() -> None:
    with pytest.raises(ta.ModelError, match="3 components, as the bias has"):
        (ta.GaussianPrior(5) @ ta.V("x") @ ta.BiasChannel([0.1] * 3) @ ta.V("z")).to_model()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("checks", "check_prior_grad_EP_scalar"),
        ("checks.check_gradients", "check_prior_grad_EP_scalar"),
        ("utils.misc", "hard_sigm"),
        ("utils.misc", "symm_door"),
        ("utils.misc", "gather"),
        ("utils.truncated_normal", "log_proba"),
    ],
)
def test_what_cannot_be_imported_is_an_import_error(module: str, name: str) -> None:
    found = importlib.import_module(f"treeamp.{module}")
    with pytest.raises(ImportError, match="treeamp|check_factor") as told:
        exec(f"from treeamp.{module} import {name}")
    assert isinstance(told.value, ta.NotAvailable) and name in str(told.value)
    with pytest.raises(ta.NotAvailable):
        getattr(found, name)


def test_likelihoods_have_the_moments_of_their_input() -> None:
    likelihood = ta.AbsLikelihood(np.ones(3))
    assert likelihood.backward_second_moment_FG(4.0) == 0.25
    assert likelihood.prior_log_partition_FG(4.0) == pytest.approx(0.5 * np.log(2 * np.pi / 4))
    with pytest.raises(ValueError, match="tz_hat"):
        likelihood.backward_second_moment_FG(-1.0)


# --- figures


def test_figures_of_many_components_are_a_scatter() -> None:
    few, many = np.arange(10.0), np.arange(100_000.0)
    assert len(plot_compare(few, few).axes) == 2
    (panel,) = plot_compare(many, many).axes
    assert panel.get_lines()[1].get_xdata().size == 5000 and "5000 of 100000" in panel.get_title()


@pytest.mark.parametrize("parts", [False, True])
def test_complex_signals_are_turned(parts: bool) -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=20) + 1j * rng.normal(size=20)
    turned = z * np.exp(0.7j)
    given = [np.stack([x.real, x.imag]) if parts else x for x in (z, turned)]
    figure = plot_compare_complex(*given)
    for panel, part in zip(figure.axes, (np.real, np.imag)):
        true, estimated = (line.get_ydata() for line in panel.get_lines())
        assert np.allclose(true, part(z)) and np.allclose(estimated, part(z))
    with pytest.raises(ValueError, match=r"shape \(2, ...\), got shape \(20,\)"):
        plot_compare_complex(z.real, z.real)


def test_qplot_renames_parts_of_labels_and_has_a_size() -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"alpha": [1.0, 2.0, 1.0, 2.0], "mse_x": [1.0, 2.0, 3.0, 4.0], "rho": [0.1, 0.1, 0.2, 0.2]})
    figure = qplot(table, "alpha", "mse_x", column="rho", rename={"mse_": "error of ", "alpha": "α", "rho": "ρ"}, figsize=(3, 2))
    assert figure.axes[0].get_ylabel() == "error of x" and figure.axes[0].get_xlabel() == "α"
    assert figure.axes[1].get_title() == "ρ = 0.2" and tuple(figure.get_size_inches()) == (6.0, 2.0)
    assert tuple(qplot(table, "alpha", "mse_x", figsize=2).get_size_inches()) == (2.6, 2.0)


# --- operators of scipy, and of packages that have such


def regression(W: Any) -> Any:
    dense = np.asarray(W.toarray() if hasattr(W, "toarray") else W @ np.eye(W.shape[1]), dtype=float)
    y = dense @ np.sin(np.arange(dense.shape[1]))
    return (ta.GaussBernoulliPrior(dense.shape[1], rho=0.5) @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z") @ ta.GaussianLikelihood(y, var=0.1)).to_model()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["csr_matrix", "coo_array", "LinearOperator"])
def test_operators_of_scipy_are_taken_as_they_are(kind: str, dtype: Any) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    linalg = pytest.importorskip("scipy.sparse.linalg")
    dense = np.where(np.random.default_rng(0).random((12, 20)) < 0.4, np.random.default_rng(1).normal(size=(12, 20)), 0.0)
    dense = dense.astype(dtype)
    W = linalg.aslinearoperator(dense) if kind == "LinearOperator" else getattr(sparse, kind)(dense)
    expected, found = (ta.ExpectationPropagation(regression(w)) for w in (dense.astype(float), W))
    assert expected.iterate(tol=1e-5).converged and found.iterate(tol=1e-5).converged
    a, b = (ep.get_variable_data("x") for ep in (expected, found))
    accuracy = 1e-6 if dtype is np.float64 else 1e-3
    assert np.allclose(a["r"], b["r"], atol=accuracy) and b["v"] == pytest.approx(a["v"], rel=100 * accuracy)


def test_operators_that_are_wrong_are_refused() -> None:
    linalg = pytest.importorskip("scipy.sparse.linalg")
    w = np.random.default_rng(0).normal(size=(3, 4))
    for dtype in (np.float64, np.float32):
        wrong = linalg.LinearOperator((3, 4), matvec=lambda z: (w @ z).astype(dtype), rmatvec=lambda x: (1.01 * w.T @ x).astype(dtype), dtype=dtype)
        with pytest.raises(ta.ModelError, match="fails the dot test"):
            ta.LinearChannel(wrong)
    with pytest.raises(ta.ModelError, match="must be real"):
        ta.LinearChannel(linalg.aslinearoperator(w + 1j))
