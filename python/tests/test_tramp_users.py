"""What users of tramp met: a scalar bias, names that cannot be imported, figures, operators of other packages."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import treeamp as ta
from treeamp.experiments import plot_compare, plot_compare_complex, qplot

matplotlib = pytest.importorskip("matplotlib")
pd = pytest.importorskip("pandas")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    """Figures do not add up over the tests."""
    yield
    importlib.import_module("matplotlib.pyplot").close("all")


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
        ("checks", "plot_prior_BO_limit"),
        ("utils.misc", "phi_1"),
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
    assert not hasattr(found, name) and getattr(found, name, None) is None


def test_modules_with_refused_names_answer_hasattr() -> None:
    for module in (ta.checks, importlib.import_module("treeamp.checks.check_limits"), importlib.import_module("treeamp.utils.misc")):
        assert not hasattr(module, "x") and not hasattr(module, "check_x") and not hasattr(module, "__wrapped__")
    with pytest.raises(ImportError, match="cannot import name 'x'"):
        exec("from treeamp.checks import x")
    assert importlib.import_module("treeamp.utils.misc").relu(-1.0) == 0.0


def test_likelihoods_have_the_moments_of_their_input() -> None:
    likelihood = ta.AbsLikelihood(np.ones(3))
    assert likelihood.backward_second_moment_FG(4.0) == 0.25
    assert likelihood.prior_log_partition_FG(4.0) == pytest.approx(0.5 * np.log(2 * np.pi / 4))
    with pytest.raises(ValueError, match="tz_hat"):
        likelihood.backward_second_moment_FG(-1.0)


def test_helpers_of_arrays_and_tables() -> None:
    """The same functions as those of the modules."""
    z = np.linspace(-3, 3, 101)
    misc = importlib.import_module("treeamp.utils.misc")
    assert np.allclose(misc.hard_sigm(z), ta.HardSigmoidChannel().sample(z), atol=1e-15)
    assert np.allclose(misc.hard_sigm(z, knee=3), ta.HardSigmoidChannel(knee=3).sample(z), atol=1e-15)
    assert np.array_equal(misc.symm_door(z, 0.5), ta.SymmetricDoorChannel(0.5).sample(z))
    pd = pytest.importorskip("pandas")
    wide = pd.DataFrame({"alpha": [1.0, 2.0], "EP": [0.1, 0.2], "SE": [0.3, 0.4]})
    long = misc.gather(wide, ["EP", "SE"])
    assert list(long.columns) == ["alpha", "variable", "value"] and long["value"].tolist() == [0.1, 0.2, 0.3, 0.4]


# --- averages of channels

PIECEWISE = [
    ta.AbsChannel(), ta.SgnChannel(), ta.ReluChannel(), ta.LeakyReluChannel(0.1), ta.HardTanhChannel(), ta.HardSigmoidChannel(),
    ta.SymmetricDoorChannel(0.5), ta.AsymmetricAbsChannel(0.3),
]


@pytest.mark.parametrize("channel", PIECEWISE, ids=repr)
def test_measures_of_a_channel_are_its_moments(channel: ta.Channel) -> None:
    """By an integral over the input."""
    az, bz, ax, bx = 2.0, 1.6, 1.5, 1.3

    def average(f: Any) -> float:
        def weighed(z: float, x: float) -> float:
            return float(f(z, x) * np.exp(bz * z + bx * x - 0.5 * (az * z * z + ax * x * x)))

        return channel.measure(weighed, -8.0, 10.0)

    mass = average(lambda z, x: 1.0)
    assert np.log(mass) == pytest.approx(channel.compute_log_partition(az, [bz], ax, [bx]), abs=1e-9)
    for moments, pick in ((channel.compute_backward_posterior, 0), (channel.compute_forward_posterior, 1)):
        mean, square = (average(lambda *at, k=k: at[pick] ** k) / mass for k in (1, 2))
        r, v = moments(az, bz, ax, bx)
        assert (mean, square - mean**2) == (pytest.approx(r, abs=1e-9), pytest.approx(v, abs=1e-9))


@pytest.mark.parametrize("channel", PIECEWISE, ids=repr)
@pytest.mark.parametrize(("az", "ax"), [(2.0, 1.5), (1.0, 3.0), (4.0, 0.0), (1.0, 0.0)])
def test_averages_over_beliefs(channel: ta.Channel, az: float, ax: float) -> None:
    """Their mass, their second moments, and the error of the channel; where a message tells nothing, too."""
    tau = 1.0
    assert channel.beliefs_measure(az, ax, tau, lambda bz, bx: 1.0) == pytest.approx(1.0, abs=1e-12)
    m = az - 1 / tau
    assert channel.beliefs_measure(az, ax, tau, lambda bz, bx: bz * bz) == pytest.approx(m * m * tau + m, abs=1e-9)
    tau_x = channel.second_moment(tau)
    assert channel.beliefs_measure(az, ax, tau, lambda bz, bx: bx * bx) == pytest.approx(ax * ax * tau_x + ax, abs=1e-9)


def test_the_error_of_a_channel_is_an_average_over_beliefs() -> None:
    channel = ta.SgnChannel()
    found = channel.beliefs_measure(2.0, 1.5, 1.0, lambda bz, bx: channel.compute_backward_posterior(2.0, bz, 1.5, bx)[1])
    assert found == pytest.approx(channel.compute_backward_error(2.0, 1.5, 1.0), abs=1e-9)


def test_measures_of_other_channels_are_refused() -> None:
    for channel in (ta.TanhChannel(), ta.GaussianChannel(1.0), ta.LinearChannel(np.eye(2))):
        with pytest.raises(ta.NotAvailable, match="piecewise linear"):
            channel.measure(lambda z, x: 1.0, 0.0, 1.0)
        with pytest.raises(ta.NotAvailable, match="piecewise linear"):
            channel.beliefs_measure(1.0, 1.0, 1.0, lambda bz, bx: 1.0)
    with pytest.raises(ValueError, match="`zmin` below `zmax`"):
        ta.AbsChannel().measure(lambda z, x: 1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="1/tau_z = 0.5"):
        ta.AbsChannel().beliefs_measure(0.1, 1.0, 2.0, lambda bz, bx: 1.0)


# --- a group penalty with a precision per component


@pytest.mark.parametrize("axis", [0, 1])
def test_a_group_penalty_with_a_precision_per_component(axis: int) -> None:
    rng = np.random.default_rng(0)
    shape = (3, 40) if axis == 0 else (40, 3)
    a, b = np.exp(rng.normal(size=shape)), 2 * rng.normal(size=shape)
    penalty = ta.MAP_L21NormPrior(shape, gamma=1.5, axis=axis, isotropic=False)
    r, v = penalty.compute_forward_posterior(a, b)
    norms = np.linalg.norm(r, axis=axis)
    assert 0 < np.sum(norms == 0) < 40
    # the mode: b - a r is in the subdifferential
    slope = b - a * r
    sizes = np.linalg.norm(slope, axis=axis)
    assert np.all(sizes <= 1.5 + 1e-12) and np.allclose(sizes[norms > 0], 1.5, atol=1e-12)
    assert np.allclose((slope * r).sum(axis=axis), 1.5 * norms, atol=1e-12)
    # r and v are derivatives of A
    for place in list(np.ndindex(shape))[::7]:
        step = np.zeros(shape)
        step[place] = 1e-5
        up, down = (penalty.compute_log_partition(a, b + sign * step) for sign in (1, -1))
        assert (up - down) / 2e-5 == pytest.approx(r[place], abs=1e-7)
        up, down = (penalty.compute_forward_posterior(a, b + sign * step)[0][place] for sign in (1, -1))
        assert (up - down) / 2e-5 == pytest.approx(v[place], abs=1e-6)
    # one precision for all is the isotropic one
    for one in (2.0, np.full(shape, 2.0)):
        same = penalty.compute_forward_posterior(one, b)
        expected = ta.MAP_L21NormPrior(shape, gamma=1.5, axis=axis).compute_forward_posterior(2.0, b)
        assert np.allclose(same[0], expected[0], atol=1e-14) and same[1].mean() == pytest.approx(expected[1], rel=1e-13)
    new_a, new_b = penalty.compute_forward_message(a, b)
    kept = v > 0
    assert np.allclose(new_a[kept], 1 / v[kept] - a[kept]) and np.all(np.isinf(new_a[~kept])) and np.all(new_b[~kept] == r[~kept])
    with pytest.raises(ValueError, match="`ax` must be positive"):
        penalty.compute_forward_posterior(-a, b)


def test_messages_of_components_that_are_pinned() -> None:
    """Some without variance among others with: no warning, and the place of the pin."""
    new_a, new_b = ta.MAP_L1NormPrior(3, isotropic=False).compute_forward_message([2.0, 2.0, 2.0], [0.5, 3.0, -2.0])
    assert np.array_equal(new_a, [np.inf, 0.0, 0.0]) and np.array_equal(new_b, [0.0, -1.0, 1.0])


def test_a_group_penalty_in_a_model_has_one_precision() -> None:
    model = (ta.MAP_L21NormPrior((2, 5), isotropic=False) @ ta.V("x") @ ta.GaussianLikelihood(np.ones((2, 5)), var=1.0)).to_model()
    with pytest.raises(ta.RunError, match="diagonal"):
        ta.ExpectationPropagation(model).iterate()


def test_a_student_that_holds_the_data_impossible_is_refused() -> None:
    with pytest.raises(ta.FactorError, match="the teacher gives an output that the student holds impossible"):
        ta.AbsLikelihood(None).compute_potential_RS(2.0, 1.0, 1.0, ta.SgnLikelihood(None), 1.0)


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


@pytest.mark.parametrize("ends", [(0.5, 0.9), (0.02, 0.05), (0.1, 0.9), (1.0, 60.0), (1e-3, 10.0), (1e-8, 1e-2), (990.0, 1010.0)])
@pytest.mark.parametrize("figsize", [4, (3.0, 2.5)])
def test_labels_of_a_logarithmic_axis_do_not_meet(ends: tuple[float, float], figsize: Any) -> None:
    table = pd.DataFrame({"x": np.geomspace(*ends, 5), "y": np.arange(5.0)})
    figure = qplot(table, x="x", y="y", xlog=True, figsize=figsize)
    figure.canvas.draw()
    axis = figure.axes[0].xaxis
    low, high = axis.get_view_interval()
    shown = [t.label1 for t in [*axis.get_major_ticks(), *axis.get_minor_ticks()] if low <= t.get_loc() <= high and t.label1.get_text()]
    boxes = sorted(label.get_window_extent().intervalx.tolist() for label in shown)
    assert len(boxes) >= 2
    assert all(left[1] < right[0] for left, right in zip(boxes, boxes[1:])), [label.get_text() for label in shown]


def test_estimates_that_are_turned_say_so() -> None:
    x = np.random.default_rng(0).normal(size=30)
    left, right = plot_compare(x, -x + 0.1).axes
    assert np.allclose(left.get_lines()[1].get_ydata(), x - 0.1) and np.allclose(right.get_lines()[1].get_ydata(), x - 0.1)
    assert [t.get_text() for t in left.get_legend().get_texts()] == ["true", "estimated, sign turned"]
    assert right.get_ylabel() == "estimated, sign turned"
    assert plot_compare(x, x).axes[1].get_ylabel() == "estimated"
    many = np.linspace(-1.0, 1.0, 2000)
    assert plot_compare(many, -many).axes[0].get_ylabel() == "estimated, sign turned"
    z = x[:15] + 1j * x[15:]
    legends = [plot_compare_complex(z, z * np.exp(1j * angle)).axes[0].get_legend().get_texts()[1].get_text() for angle in (0.0, 0.7)]
    assert legends == ["estimated", "estimated, turned by -0.70 rad"]


def test_qplot_renames_parts_of_labels_and_has_a_size() -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"alpha": [1.0, 2.0, 1.0, 2.0], "mse_x": [1.0, 2.0, 3.0, 4.0], "rho": [0.1, 0.1, 0.2, 0.2]})
    figure = qplot(table, "alpha", "mse_x", column="rho", rename={"mse_": "error of ", "alpha": "α", "rho": "ρ"}, figsize=(3, 2))
    assert figure.axes[0].get_ylabel() == "error of x" and figure.axes[0].get_xlabel() == "α"
    # a pair is the size of the figure, as for matplotlib; values are told as "rho=0.2", which scripts rename
    assert figure.axes[1].get_title() == "ρ=0.2" and tuple(figure.get_size_inches()) == (3.0, 2.0)
    named = qplot(table, "alpha", "mse_x", color="rho", rename={"rho=0.1": "sparse", "rho=": "density "}).axes[0]
    assert [line.get_label() for line in named.get_lines()] == ["sparse", "density 0.2"]
    assert tuple(qplot(table, "alpha", "mse_x", figsize=2).get_size_inches()) == (2.6, 2.0)


def test_qplot_keeps_zeros_on_logarithmic_axes() -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"alpha": [1.0, 2.0, 3.0, 4.0], "mse": [1.0, 1e-3, 0.0, 1e-33]})
    (panel,) = qplot(table, "alpha", "mse", ylog=True).axes
    np.testing.assert_allclose(panel.get_lines()[0].get_ydata(), [1.0, 1e-3, 1e-4, 1e-4])
    assert [text.get_text() for text in panel.texts] == ["0"]
    (plain,) = qplot(table[:2], "alpha", "mse", ylog=True).axes
    assert len(plain.get_lines()) == 1 and not plain.texts


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"y": []}, "`y` must name at least one column"),
        ({"y": "name"}, "column `name` must hold numbers"),
        ({"figsize": -1}, "`figsize` must be a positive number"),
        ({"figsize": (1, 2, 3)}, "`figsize` must be"),
        ({"figsize": "large"}, "`figsize` must be"),
    ],
)
def test_qplot_refuses_what_it_cannot_draw(given: dict[str, Any], said: str) -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"alpha": [1.0, 2.0], "mse": [1.0, 2.0], "name": ["a", "b"]})
    with pytest.raises((TypeError, ValueError), match=said):
        qplot(table, **{"x": "alpha", "y": "mse", **given})


def test_qplot_tells_one_column_apart_twice() -> None:
    """By colour and by marker: a curve for every value, not for every pair of them."""
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"alpha": [1.0, 2.0, 1.0, 2.0], "mse": [1.0, 2.0, 3.0, 4.0], "rho": [0.1, 0.1, 0.2, 0.2]})
    (panel,) = qplot(table, "alpha", ["mse", "rho"], color="rho", marker="rho", y_markers=["-", "x"]).axes
    lines = panel.get_lines()
    assert [line.get_label() for line in lines] == ["rho=0.1, mse", "rho=0.1, rho", "rho=0.2, mse", "rho=0.2, rho"]
    assert [list(line.get_ydata()) for line in lines] == [[1.0, 2.0], [0.1, 0.1], [3.0, 4.0], [0.2, 0.2]]
    assert [line.get_marker() for line in lines] == ["o", "o", "s", "s"] and [line.get_color() for line in lines] == ["C0", "C0", "C1", "C1"]
    assert [line.get_linestyle() for line in lines] == ["-", "None", "-", "None"]


def test_several_curves_of_one_colour_have_lines_of_their_own() -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"alpha": [1.0, 2.0], "ep": [0.5, 0.2], "se": [0.6, 0.1]})
    (panel,) = qplot(table, "alpha", ["ep", "se"]).axes
    assert [line.get_linestyle() for line in panel.get_lines()] == ["-", "--"]


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


def test_diagonal_beliefs_on_a_sparse_matrix_are_those_of_the_array() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    N = 120
    W = sparse.diags([-np.ones(N), np.linspace(0.5, 1.5, N - 1)], [0, 1], format="csr")
    y = W @ np.sin(np.arange(N)) + 0.1 * np.cos(3 * np.arange(N))

    def found(w: Any) -> Any:
        x, z = ta.V("x", belief="diagonal"), ta.V("z", belief="diagonal")
        model = ta.GaussianPrior(N) @ x @ ta.LinearChannel(w) @ z @ ta.LaplaceNoiseLikelihood(y, scale=0.3)
        ep = ta.ExpectationPropagation(model.to_model())
        assert ep.iterate(tol=1e-9).converged
        return ep.get_variables_data(["x"])["x"]

    one, other = found(W), found(W.toarray())
    assert one["variances"].shape == (N,)
    assert np.allclose(one["r"], other["r"], rtol=1e-6, atol=1e-7) and np.allclose(one["variances"], other["variances"], rtol=1e-6)


@pytest.mark.parametrize("shape", [(3, 4), (300, 500), (1, 1)])
def test_the_dot_test_follows_the_precision_of_products(shape: tuple[int, int]) -> None:
    """What 32 bits round is let through; an adjoint that is wrong by a thousandth, or at one entry, is not, in 32 bits as in 64."""
    linalg = pytest.importorskip("scipy.sparse.linalg")
    rng = np.random.default_rng(0)
    w = rng.normal(size=shape) / np.sqrt(shape[1])
    spoiled = w.copy()
    spoiled[-1, 0] += 0.1
    for dtype in (np.float64, np.float32):

        def operator(adjoint: Any, dtype: Any = dtype) -> Any:
            forward, back = w.astype(dtype), adjoint.astype(dtype)
            return linalg.LinearOperator(shape, lambda z: forward @ z.astype(dtype), lambda x: back.T @ x.astype(dtype), dtype=dtype)

        ta.LinearChannel(operator(w))
        for wrong in (1.001 * w, 0.999 * w, spoiled):
            with pytest.raises(ta.ModelError, match="fails the dot test"):
                ta.LinearChannel(operator(wrong))


def test_operators_that_are_wrong_are_refused() -> None:
    linalg = pytest.importorskip("scipy.sparse.linalg")
    w = np.random.default_rng(0).normal(size=(3, 4))
    for dtype in (np.float64, np.float32):
        wrong = linalg.LinearOperator((3, 4), matvec=lambda z: (w @ z).astype(dtype), rmatvec=lambda x: (1.01 * w.T @ x).astype(dtype), dtype=dtype)
        with pytest.raises(ta.ModelError, match="fails the dot test"):
            ta.LinearChannel(wrong)
    with pytest.raises(ta.ModelError, match="must be real.*ComplexLinearChannel"):
        ta.LinearChannel(linalg.aslinearoperator(w + 1j))
    with pytest.raises(ta.ModelError, match="must have an adjoint"):
        ta.LinearChannel(linalg.LinearOperator((3, 4), matvec=lambda z: w @ z))
    for channel, name in ((ta.RotationChannel, "R"), (ta.UnitaryChannel, "U")):
        with pytest.raises(TypeError, match=rf"`{name}` must be .*, got MatrixLinearOperator; its matmat\(numpy.eye\(n\)\) is one"):
            channel(linalg.aslinearoperator(np.eye(3)))
    with pytest.raises(TypeError, match=r"`R` must be an array of numbers, got csr_matrix; its toarray\(\) is one"):
        ta.RotationChannel(pytest.importorskip("scipy.sparse").csr_matrix(np.eye(3)))
    for empty in (np.zeros((0, 3)), linalg.aslinearoperator(np.zeros((0, 3)))):
        with pytest.raises(ta.ModelError, match=r"at least one row and one column, got shape \(0, 3\)"):
            ta.LinearChannel(empty)


class Single:
    """A map of another package, in single precision: what the channel needs of one."""

    dtype = np.dtype(np.float32)

    def __init__(self, w: Any) -> None:
        self.w, self.shape = w.astype(np.float32), w.shape

    def matvec(self, z: Any) -> Any:
        return self.w @ z.astype(np.float32)

    def rmatvec(self, x: Any) -> Any:
        return self.w.T @ x.astype(np.float32)

    def __matmul__(self, z: Any) -> Any:
        return self.w @ z


def agree(W: Any, dense: Any, accuracy: float) -> None:
    """A run with an operator ends where that with its matrix does."""
    y = dense @ np.sin(np.arange(dense.shape[1]))
    ends = []
    for w in (dense, W):
        model = ta.GaussBernoulliPrior(dense.shape[1], rho=0.5) @ ta.V("x") @ ta.LinearChannel(w) @ ta.V("z") @ ta.GaussianLikelihood(y, var=0.1)
        ep = ta.ExpectationPropagation(model.to_model())
        assert ep.iterate(tol=1e-5).converged
        ends.append(ep.get_variable_data("x"))
    assert np.allclose(ends[0]["r"], ends[1]["r"], atol=accuracy) and ends[1]["v"] == pytest.approx(ends[0]["v"], rel=100 * accuracy)


def test_any_object_that_maps_vectors_is_an_operator() -> None:
    w = np.random.default_rng(0).normal(size=(12, 20)) / 4
    agree(Single(w), w, 1e-3)
    assert repr(ta.LinearChannel(Single(w))) == "LinearChannel(W=<Single (12, 20)>, name='W')"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_operators_of_pylops(dtype: str) -> None:
    pylops = pytest.importorskip("pylops")
    w = np.random.default_rng(0).normal(size=(12, 20)) / 4
    matrix, slope = pylops.MatrixMult(w.astype(dtype), dtype=dtype), pylops.FirstDerivative(20, dtype=dtype)
    for operator in (matrix, slope, pylops.VStack([matrix, slope], dtype=dtype), matrix @ slope, 0.5 * matrix):
        agree(operator, np.asarray(operator.todense(), dtype=float), 1e-6 if dtype == "float64" else 1e-3)
    with pytest.raises(ta.ModelError, match="must be real"):
        ta.LinearChannel(pylops.signalprocessing.FFT(20))


def test_complex_channels_take_sparse_matrices_and_operators() -> None:
    sparse, linalg = pytest.importorskip("scipy.sparse"), pytest.importorskip("scipy.sparse.linalg")
    rng = np.random.default_rng(0)
    w = rng.normal(size=(6, 4)) + 1j * rng.normal(size=(6, 4))
    y = rng.normal(size=(2, 6))

    def means(matrix: Any) -> Any:
        prior, end = ta.CircularGaussianPrior((2, 4)), ta.GaussianLikelihood(y, 0.1)
        model = (prior @ ta.V("x") @ ta.ComplexLinearChannel(matrix) @ ta.V("z") @ end).to_model()
        return ta.ExpectationPropagation(model).iterate().mean("x")

    for given in (sparse.csr_matrix(w), sparse.coo_array(w), linalg.aslinearoperator(w)):
        assert np.allclose(means(given), means(w), rtol=1e-12)
    # real ones too, and where an estimate is made of one
    assert np.allclose(means(sparse.csr_matrix(w.real)), means(w.real))
    moduli = np.abs(w @ np.ones(4))
    assert np.array_equal(ta.spectral_estimate(sparse.csr_matrix(w), moduli), ta.spectral_estimate(w, moduli))
