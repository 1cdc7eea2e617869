"""What a notebook shows of results, and that both drawings of a model are one."""

import pickle
import re
import sys
import types
from html.parser import HTMLParser

import matplotlib
import numpy as np
import pytest

import treeamp as ta
from treeamp.experiments import run_experiments

matplotlib.use("Agg")


class Cells(HTMLParser):
    """The texts of a piece of HTML, and whether every element that was opened was closed."""

    def __init__(self, html):
        super().__init__()
        self.open, self.texts = [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def regression(belief="isotropic"):
    W = ta.GaussianEnsemble(M=20, N=40).generate(seed=1)
    x = ta.V("x", belief=belief)
    z = ta.V("z", belief=belief)
    return (ta.GaussBernoulliPrior(40, rho=0.1) @ x @ ta.LinearChannel(W) @ z @ ta.GaussianChannel(0.01) @ ta.O("y")).to_model()


@pytest.mark.parametrize("belief", ["isotropic", "diagonal"])
def test_a_report_is_a_table(belief):
    model = regression(belief)
    sample = model.sample(seed=0)
    ep = ta.ExpectationPropagation(model.to_observed({"y": sample["y"]}))
    report = ep.iterate()
    texts = Cells(report._repr_html_()).texts
    assert texts[0] == report.message
    assert {"variable", "x", "z", "40", "20", f"{report.variance('x'):.4g}"} <= set(texts)
    assert f"log-evidence {report.log_evidence():.6g}" in texts
    assert any(" to " in text for text in texts) == (belief == "diagonal")
    assert {"belief", belief} <= set(texts)
    assert pickle.loads(pickle.dumps(report))._repr_html_() == report._repr_html_()
    shown = Cells(sample._repr_html_()).texts
    assert {"x", "y", "z", "Sample, seed 0", f"{sample['x'].max():.4g}"} <= set(shown)


@pytest.mark.parametrize("belief", ["isotropic", "diagonal"])
def test_an_average_over_what_is_seen_and_what_is_not_is_noted(belief):
    mask = np.arange(12) % 3 == 0
    z = ta.V("z", belief=belief)
    image = ta.GaussianPrior(12) @ ta.V("x", belief=belief) @ ta.MaskChannel(mask) @ z @ ta.GaussianLikelihood(np.ones(4), var=0.01)
    report = ta.ExpectationPropagation(image.to_model()).iterate()
    if belief == "diagonal":
        assert report.notes == {}
        return
    assert report.notes["mask"].startswith("sees 4 of 12 components of `x`") and "diagonal" in report.notes["mask"]
    assert f"mask: {report.notes['mask']}" in Cells(report._repr_html_()).texts
    # what it hides: 4 variances of 1/101 and 8 of 1
    assert report.variance("x") == pytest.approx((4 / 101 + 8) / 12)


def test_the_other_results_are_tables_too():
    model = regression()
    observed = model.to_observed({"y": model.sample(seed=0)["y"]})
    theory = ta.StateEvolution(observed).iterate()
    assert f"{theory.variance('x'):.4g}" in Cells(theory._repr_html_()).texts
    lasso = (ta.MAP_L1NormPrior(2, gamma=0.1) @ ta.V("x") @ ta.GaussianLikelihood([1.0, 2.0], var=1.0)).to_model()
    best = ta.MAP(lasso).iterate()
    assert f"energy {sum(best.energies().values()):.6g}" in Cells(best._repr_html_()).texts
    assert not any("evidence" in text for text in Cells(best._repr_html_()).texts)
    points = ta.ExpectationPropagation(observed).restart(seeds=1)
    assert "reached from: " + ", ".join(points[0].starts) in Cells(points[0]._repr_html_()).texts
    phases = ta.phase_report(observed, "x")
    assert f"{phases.uninformed.mse:.4g}" in Cells(phases._repr_html_()).texts


def test_a_minimiser_has_no_spread_in_its_table():
    """Its curvature is no uncertainty, and ``treeamp run --map`` has none."""
    lasso = (ta.MAP_L1NormPrior(2, gamma=0.1) @ ta.V("x") @ ta.GaussianLikelihood([1.0, 2.0], var=1.0)).to_model()
    best = ta.MAP(lasso).iterate()
    for report in (best, pickle.loads(pickle.dumps(best))):
        texts = Cells(report._repr_html_()).texts
        assert {"variable", "shape", "mean"} <= set(texts) and not {"variance", "std"} & set(texts)
        assert f"energy {best.energy():.6g}" in texts


def test_a_report_that_was_kept_has_its_evidence():
    report = ta.ExpectationPropagation(regression().to_observed({"y": np.ones(20)})).iterate()
    assert pickle.loads(pickle.dumps(report))._repr_html_() == report._repr_html_()


def test_costs_and_curves_are_tables():
    model = regression()
    cost = model.cost()
    texts = Cells(cost._repr_html_()).texts
    assert any(cost["summary"] in text for text in texts) and set(cost["parts"]) <= set(texts)
    assert pickle.loads(pickle.dumps(cost)) == cost == dict(cost)
    curve = ta.landscape(model.to_observed({"y": None}), "x", places=20)
    texts = Cells(curve._repr_html_()).texts
    assert "20 errors" in texts[0] and f"{curve.free_entropy.max():.4g}" in texts
    found = ta.mutual_information(model.to_observed({"y": None}), "x")
    assert f"{found.value:.4g}" in Cells(found._repr_html_()).texts


def test_names_are_escaped():
    model = (ta.GaussianPrior(1) @ ta.V("<b>") @ ta.GaussianChannel(0.1) @ ta.O("y")).to_model()
    assert "<b>" in Cells(model.sample(seed=0)._repr_html_()).texts
    assert "<b>" not in model.sample(seed=0)._repr_html_()


def branches():
    W = ta.GaussianEnsemble(M=4, N=4).generate(seed=1)
    one = ta.LinearChannel(W) @ ta.V("z") @ ta.GaussianLikelihood(np.ones(4), 0.1)
    two = ta.GaussianLikelihood(np.ones(4), 0.2)
    return (ta.GaussianPrior(4) @ ta.V("x", n_next=2) @ (one + two)).to_model()


def long_names():
    layers = [ta.GaussianPrior(3), ta.LinearChannel(np.eye(3)), ta.GaussianChannel(0.1)]
    return ta.MultiLayerModel(layers, ids=["a_rather_long_name_0", "a_noisy_one", "y"])


def test_names_too_long_for_a_circle_stand_above_it():
    model = long_names()
    svg, ax = model._repr_svg_(), model.plot()
    try:
        places = {text.get_text(): text for text in ax.texts}
        circles = [p for p in ax.patches if hasattr(p, "radius")]
        for line in ("a_rather_", "long_name_0", "a_noisy_one"):
            place = places[line].get_position()
            assert any(place[0] == c.center[0] and place[1] < c.center[1] - c.radius for c in circles), line
            assert f">{line}</text>" in svg
        ax.figure.canvas.draw()
        boxes = [text.get_window_extent() for text in ax.texts]
        assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    finally:
        matplotlib.pyplot.close(ax.figure)


@pytest.mark.parametrize("model", [branches(), long_names(), regression().to_observed({"y": np.zeros(20)})])
def test_the_plot_is_the_svg(model):
    svg = model._repr_svg_()
    ax = model.plot()
    try:
        circles = [p.center for p in ax.patches if hasattr(p, "center") and hasattr(p, "radius")]
        drawn = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', svg)
        assert circles == [pytest.approx(tuple(map(float, place)), abs=0.06) for place in drawn]
        assert "y" in [text.get_text() for text in ax.texts]
        lines = [(*line.get_xdata(), *line.get_ydata()) for line in ax.lines]
        links = re.findall(r'<line x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="([\d.]+)"', svg)
        assert lines == [pytest.approx((float(a), float(c), float(b), float(d)), abs=0.06) for a, b, c, d in links]
        assert not any(_cross(p, q) for i, p in enumerate(lines) for q in lines[:i])
        # no text leaves the frame
        ax.figure.canvas.draw()
        frame = ax.figure.bbox
        for text in ax.texts:
            box = text.get_window_extent()
            assert frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1, text
    finally:
        matplotlib.pyplot.close(ax.figure)


def _cross(p, q):
    """Whether two segments cross away from their ends."""
    a, b, c, d = ((p[0], p[2]), (p[1], p[3]), (q[0], q[2]), (q[1], q[3]))

    def side(u, v, w):
        return np.sign(round((v[0] - u[0]) * (w[1] - u[1]) - (v[1] - u[1]) * (w[0] - u[0]), 6))

    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0


def test_progress_is_shown_in_a_notebook(monkeypatch, capsys):
    run_experiments(lambda a: {"b": a}, a=[1, 2])
    assert "2/2" not in "".join(capsys.readouterr())
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    run_experiments(lambda a: {"b": a}, a=[1, 2])
    assert "2/2" in "".join(capsys.readouterr())
    run_experiments(lambda a: {"b": a}, a=[1, 2], progress=False)
    assert "2/2" not in "".join(capsys.readouterr())
