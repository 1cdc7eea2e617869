"""Complex signals, whose real and imaginary parts are on the first axis."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import treeamp as ta


def test_gaussian_posterior_is_exact() -> None:
    """A complex Gaussian tree against dense algebra."""
    F = ta.ComplexGaussianEnsemble(6, 4).generate(seed=0)
    model = (ta.GaussianPrior((2, 4)) @ ta.V("x") @ ta.ComplexLinearChannel(F) @ ta.V("z")
             @ ta.GaussianChannel(0.1) @ ta.O("y")).to_model()  # fmt: skip
    assert model.shapes == {"x": (2, 4), "z": (2, 6), "y": (2, 6)}
    y = model.sample(seed=1)["y"]
    output = ta.GaussianLikelihood(y, var=0.1)
    told = (ta.GaussianPrior((2, 4)) @ ta.V("x") @ ta.ComplexLinearChannel(F) @ ta.V("z") @ output).to_model()
    c = y[0] + 1j * y[1]
    exact = np.linalg.solve(np.eye(4) + F.conj().T @ F / 0.1, F.conj().T @ c / 0.1)
    for observed in (model.to_observed({"y": y}), told):
        ep = ta.ExpectationPropagation(observed)
        assert ep.iterate().converged
        r = ep.get_variables_data(["x"])["x"]["r"]
        assert r[0] + 1j * r[1] == pytest.approx(exact, abs=1e-9)
    C = F @ F.conj().T + 0.1 * np.eye(6)
    # both parts have variance one: a circular Gaussian of covariance 2 C
    evidence = -np.real(c.conj() @ np.linalg.solve(2 * C, c)) - np.linalg.slogdet(2 * np.pi * C)[1]
    assert ep.log_evidence() == pytest.approx(evidence, rel=1e-9)


def test_phase_retrieval_recovers_up_to_a_phase() -> None:
    teacher = ta.glm_generative(N=200, alpha=2.0, ensemble_type="complex_gaussian", prior_type="gauss_bernoulli",
                                output_type="modulus", prior_rho=0.5, prior_mean=0.01, seed=1)  # fmt: skip
    sample = teacher.sample(seed=1)
    assert sample["x"].shape == (2, 200) and sample["y"].shape == (400,)
    ep = ta.ExpectationPropagation(teacher.to_observed({"y": sample["y"]}))
    ep.iterate(max_iter=300, damping=0.3)
    error = ta.phase_symmetric_mse(sample["x"], ep.get_variables_data(["x"])["x"]["r"])
    # recovered: what is left is the tolerance of the run
    assert error < 1e-9


def test_recorded_run(oracle: Path) -> None:
    """The record stopped at v = 2e-6: this one goes to the signal itself."""
    with np.load(oracle / "models_ep" / "phase_retrieval_complex.npz") as a:
        F, y, truth = a["F_re"] + 1j * a["F_im"], a["y"], a["true_x"]
        recorded = ta.phase_symmetric_mse(truth, a["r_x"])
    prior = ta.GaussBernoulliPrior((2, F.shape[1]), rho=0.5, mean=0.01)
    model = (prior @ ta.V("x") @ ta.ComplexLinearChannel(F) @ ta.V("z") @ ta.ModulusLikelihood(y)).to_model()
    report = ta.ExpectationPropagation(model).iterate(max_iter=500, damping=0.3)
    assert ta.phase_symmetric_mse(truth, report.mean("x")) <= 1.01 * recorded


def test_modulus_alone(oracle: Path) -> None:
    compared = 0
    for record in json.loads((oracle / "modules_ep.json").read_text())["records"]:
        if record["cls"] != "ModulusLikelihood":
            continue
        point, truth = record["point"], record["truth"]
        likelihood, b = ta.ModulusLikelihood([point["y"]]), np.array([[point["b_re"]], [point["b_im"]]])
        r, v = likelihood.compute_backward_posterior(point["a"], b)
        # to what laws promise (`tests/laws/oracle.rs`)
        spread = 1e-9 * (np.hypot(truth["r_re"], truth["r_im"]) + np.sqrt(truth["v"]))
        assert r[:, 0] == pytest.approx([truth["r_re"], truth["r_im"]], abs=spread)
        assert v == pytest.approx(truth["v"], rel=1e-9)
        assert likelihood.compute_log_partition(point["a"], b) == pytest.approx(truth["A"], rel=1e-9, abs=1e-9)
        compared += 1
    assert compared == 13


def test_complex_linear_alone(oracle: Path) -> None:
    compared = 0
    for record in json.loads((oracle / "modules_ep.json").read_text())["linear"]:
        letter = {"UnitaryChannel": "U", "ComplexLinearChannel": "W"}.get(record["cls"])
        if letter is None:
            continue
        data, truth = record["data"], record["truth"]
        channel = getattr(ta, record["cls"])(np.array(data[f"{letter}_re"]) + 1j * np.array(data[f"{letter}_im"]))
        at = record["az"], record["bz"], record["ax"], record["bx"]
        for port, (r, v) in {
            "z": channel.compute_backward_posterior(*at),
            "x": channel.compute_forward_posterior(*at),
        }.items():
            # dense float64 algebra
            assert r == pytest.approx(np.array(truth[f"r{port}"]), rel=1e-8, abs=1e-9)
            assert v == pytest.approx(truth[f"v{port}"], rel=1e-8)
        compared += 1
    assert compared == 6


def test_transforms() -> None:
    z = np.random.default_rng(0).normal(size=8)
    x = ta.DFTChannel(real=True).sample(z)
    exact = np.fft.fft(z, norm="ortho")
    assert x[0] + 1j * x[1] == pytest.approx(exact, abs=1e-12)
    w = np.stack([z, z[::-1]])
    x = ta.DFTChannel(real=False).sample(w)
    assert x[0] + 1j * x[1] == pytest.approx(np.fft.fft(w[0] + 1j * w[1], norm="ortho"), abs=1e-12)
    U = ta.UnitaryEnsemble(5).generate(seed=0)
    assert np.abs(U.conj().T @ U - np.eye(5)).max() < 1e-12
    b = np.random.default_rng(1).normal(size=(2, 5))
    a, turned = ta.UnitaryChannel(U).compute_forward_message(2.0, b, 0.0, np.zeros((2, 5)))
    assert a == 2.0 and turned[0] + 1j * turned[1] == pytest.approx(U @ (b[0] + 1j * b[1]), abs=1e-12)
    W = ta.ComplexUnitaryEnsemble(3, 5, scale=2.0).generate(seed=0)
    assert np.abs(W @ W.conj().T - 4 * np.eye(3)).max() < 1e-12


def turned(channel: ta.Channel, shape: tuple[int, ...]) -> np.ndarray:
    """The matrix of a complex channel, column by column."""
    columns = []
    for n in range(int(np.prod(shape))):
        unit = np.zeros(int(np.prod(shape)))
        unit[n] = 1.0
        parts = channel.sample(np.stack([unit.reshape(shape), np.zeros(shape)]))
        columns.append((parts[0] + 1j * parts[1]).ravel())
    return np.stack(columns, axis=1)


FILTER = np.random.default_rng(5).normal(size=(2, 3, 4))


@pytest.mark.parametrize(
    ("channel", "shape"),
    [
        (ta.ConvChannel(FILTER[0] + 1j * FILTER[1], real=False), (3, 4)),
        (ta.ConvChannel(FILTER[0], real=False), (3, 4)),
        (ta.Blur1DChannel(0.8, 5, real=False), (5,)),
        (ta.Blur2DChannel([0.8, 0.3], (3, 4), real=False), (3, 4)),
        (ta.LaplacianChannel((3, 4), real=False), (3, 4)),
        (ta.DifferentialChannel([1.0, 0.5], [0.2, 0.0], (3, 4), real=False), (3, 4)),
        (ta.GradientChannel((3, 4), real=False), (3, 4)),
        (ta.GradientChannel(real=False), (3, 4)),
    ],
    ids=["complex filter", "real filter", "blur", "blur 2d", "laplacian", "differential", "gradient", "gradient unbound"],
)
def test_filters_of_complex_signals(channel: ta.Channel, shape: tuple[int, ...]) -> None:
    """The same posterior, evidence and averages as their matrix; rounding only."""
    if channel.shape is None:  # type: ignore[attr-defined]
        with pytest.raises(ta.TreeampError):
            channel.sample(np.ones((2, *shape)))
        W = turned(ta.GradientChannel(shape, real=False), shape)
    else:
        W = turned(channel, shape)
        dense = ta.ComplexLinearChannel(W)
        assert channel.compute_backward_error(2.0, 1.5, 1.0) == pytest.approx(dense.compute_backward_error(2.0, 1.5, 1.0), rel=1e-12)
    n = int(np.prod(shape))
    model = (ta.GaussianPrior((2, *shape)) @ ta.V("x") @ channel @ ta.V("z") @ ta.GaussianChannel(0.1) @ ta.O("y")).to_model()
    y = model.sample(seed=1)["y"]
    ep = ta.ExpectationPropagation(model.to_observed({"y": y}))
    assert ep.iterate().converged
    flat = (y[0] + 1j * y[1]).ravel()
    exact = np.linalg.solve(np.eye(n) + W.conj().T @ W / 0.1, W.conj().T @ flat / 0.1)
    r = ep.get_variables_data(["x"])["x"]["r"]
    assert (r[0] + 1j * r[1]).ravel() == pytest.approx(exact, abs=1e-12)
    C = W @ W.conj().T + 0.1 * np.eye(len(W))
    evidence = -np.real(flat.conj() @ np.linalg.solve(2 * C, flat)) - np.linalg.slogdet(2 * np.pi * C)[1]
    assert ep.log_evidence() == pytest.approx(evidence, rel=1e-12)


def test_the_filter_is_applied_as_in_fourier_space() -> None:
    """Its transform is conjugated and multiplies that of the signal."""
    w, z = FILTER[0] + 1j * FILTER[1], FILTER[1] - 1j * FILTER[0]
    x = np.fft.ifftn(np.conj(np.fft.fftn(w)) * np.fft.fftn(z))
    found = ta.ConvChannel(w, real=False).sample(np.stack([z.real, z.imag]))
    assert found[0] + 1j * found[1] == pytest.approx(x, abs=1e-13)
    real = ta.ConvChannel(w.real).sample(z.real)
    assert real == pytest.approx(np.fft.ifftn(np.conj(np.fft.fftn(w.real)) * np.fft.fftn(z.real)).real, abs=1e-13)
