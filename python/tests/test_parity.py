"""Runs through Python are those of Rust, to the last bit: the program `recorded_runs` tells the bits."""

from __future__ import annotations

import json
import os
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT
from test_map import denoising

import treeamp as ta

#: The record of a penalty: maximum a posteriori.
TV = "tv_denoise_L21"


def word_hash(values: np.ndarray) -> int:
    """FNV-1a on 64-bit words."""
    h = 0xCBF29CE484222325
    for bits in np.ascontiguousarray(values).ravel().view(np.uint64).tolist():
        h = (h ^ bits) * 0x100000001B3 % 2**64
    return h


def bits(x: float) -> int:
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def own_runs() -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = json.loads((ROOT / "oracle" / "data" / "runs.json").read_text())
    return runs


def put(folder: Path, run: str, arrays: dict[str, Any]) -> None:
    """Writes arrays as plain doubles: number of axes, lengths, entries."""
    for name, values in arrays.items():
        x = np.asarray(values, dtype=np.float64)
        np.concatenate([[x.ndim], x.shape, x.ravel()]).astype("<f8").tofile(folder / f"{run}.{name}.f64")


@pytest.fixture(scope="session")
def rust(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], tuple[int, int, str]]:
    """What the program tells of every run."""
    folder = tmp_path_factory.mktemp("records")
    for k, run in enumerate(own_runs()):
        flags = {"binary": run["prior"].startswith("binary"), "sign": run["likelihood"] == "sign"}
        put(folder, f"own_{k}", {"A": run["w"], "y": run["y"], "damping": run["damping"], **flags})
    root = os.environ.get("TREEAMP_ORACLE")
    files = {file for file, *_ in RECORDS.values()} | {TV}
    for path in [Path(root) / "models_ep" / f"{file}.npz" for file in files] if root else []:
        with np.load(path) as arrays:
            put(folder, path.stem, {k: arrays[k] for k in ("A", "F", "F_re", "F_im", "W1", "W2", "y", "keep") if k in arrays})
    if root:
        with np.load(Path(root) / "vae_mnist.npz") as arrays:
            put(folder, "vae_mnist", dict(arrays))
    # both packages, so that cargo finds what was built for the extension
    build = ["cargo", "build", "--release", "--quiet", "-p", "treeamp-lab", "-p", "treeamp-python"]
    subprocess.run([*build, "--example", "recorded_runs"], cwd=ROOT, check=True, timeout=400)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    program = target / "release" / "examples" / "recorded_runs"
    told = subprocess.run([program, folder], capture_output=True, text=True, timeout=200)
    assert told.returncode == 0, told.stderr
    rows = [line.split("\t") for line in told.stdout.splitlines()]
    return {(run, variable): (int(sweeps), int(v, 16), mean) for run, variable, sweeps, v, mean in rows}


def compare(rust: Any, name: str, model: ta.Model, damping: float, max_iter: int) -> None:
    ep = ta.ExpectationPropagation(model)
    # as the program in Rust: a run that ends improper, or diverges, is not tried again
    report = ep.iterate(max_iter=max_iter, damping=damping, positive=False, fallback="forbidden")
    told = {variable: values for (run, variable), values in rust.items() if run == name}
    assert set(told) == {*model.variable_ids, "evidence"}
    for id, data in ep.get_variables_data().items():
        assert (report.sweeps, bits(data["v"]), f"{word_hash(data['r']):016x}") == told[id], (name, id)
    evidence = 0
    try:
        evidence = bits(ep.log_evidence())
    except ta.RunError:
        pass
    assert evidence == told["evidence"][1], name


def test_own_records(rust: Any) -> None:
    for k, run in enumerate(own_runs()):
        W, y = np.array(run["w"]), np.array(run["y"])
        if run["prior"].startswith("binary"):
            prior: ta.Prior = ta.BinaryPrior(size=W.shape[1], p_pos=0.7)
        else:
            prior = ta.GaussBernoulliPrior(size=W.shape[1], rho=0.2, mean=0.1)
        output = ta.SgnLikelihood(y=y) if run["likelihood"] == "sign" else ta.GaussianLikelihood(y=y, var=0.09)
        model = (prior @ ta.V("x") @ ta.LinearChannel(W) @ ta.V("z") @ output).to_model()
        compare(rust, f"own_{k}", model, run["damping"], 400)


def glm(arrays: Any, prior: ta.Prior, output: Callable[[Any], ta.Likelihood], **channel: Any) -> ta.Model:
    linear = ta.LinearChannel(arrays["A"], **channel)
    return (prior @ ta.V("x") @ linear @ ta.V("z") @ output(arrays["y"])).to_model()


def committee(arrays: Any) -> ta.Model:
    channel = ta.LinearChannel(arrays["F"])

    def expert(k: int) -> Any:
        prior = ta.BinaryPrior(size=200, p_pos=0.6)
        return prior @ ta.V(f"x_{k}") @ channel @ ta.V(f"z_{k}") @ ta.SgnChannel() @ ta.V(f"a_{k}")

    experts = expert(0) + expert(1) + expert(2)
    return (experts @ ta.SumChannel(n_prev=3) @ ta.V("a") @ ta.SgnLikelihood(y=arrays["y"])).to_model()


def two_layers(arrays: Any) -> ta.Model:
    return ta.MultiLayerModel(
        [
            ta.GaussianPrior(size=100),
            ta.LinearChannel(arrays["W1"]),
            ta.ReluChannel(),
            ta.LinearChannel(arrays["W2"]),
            ta.GaussianLikelihood(y=arrays["y"], var=0.01),
        ],
        ids=["x", "z1", "h", "z2"],
    )


def decoder(oracle: Path) -> Any:
    with np.load(oracle / "vae_mnist.npz") as w:
        return (
            ta.GaussianPrior(size=20) @ ta.V("z_0") @ ta.LinearChannel(w["W1"]) @ ta.V("Wz_1")
            @ ta.BiasChannel(w["b1"]) @ ta.V("b_1") @ ta.LeakyReluChannel(slope=0) @ ta.V("z_1")
            @ ta.LinearChannel(w["W2"]) @ ta.V("Wz_2") @ ta.BiasChannel(w["b2"]) @ ta.V("b_2")
            @ ta.HardTanhChannel() @ ta.V("z_2")
        )


def denoise(arrays: Any, oracle: Path) -> ta.Model:
    return (decoder(oracle) @ ta.GaussianLikelihood(y=arrays["y"], var=4)).to_model()


def inpaint(arrays: Any, oracle: Path) -> ta.Model:
    mask = np.identity(784)[arrays["keep"]]
    output = ta.GaussianLikelihood(y=arrays["y"], var=0.01)
    return (decoder(oracle) @ ta.LinearChannel(mask) @ ta.V("zz") @ output).to_model()


def sparse_fourier(arrays: Any) -> ta.Model:
    """The law of the record on the N real coordinates, each sqrt 2 times a part."""
    y = arrays["y"]
    waves = ta.GaussBernoulliPrior(size=y.size, rho=0.02, var=2 * 18.75)
    return (
        ta.GaussianPrior(size=y.size) @ ta.V("x") @ (
            ta.GaussianLikelihood(y, 0.1) + (ta.RealDFTChannel() + waves) @ ta.V("z")
        )
    ).to_model()


def phase_retrieval(arrays: Any) -> ta.Model:
    F = arrays["F_re"] + 1j * arrays["F_im"]
    prior = ta.GaussBernoulliPrior(size=(2, F.shape[1]), rho=0.5, mean=0.01)
    channel = ta.ComplexLinearChannel(F)
    return (prior @ ta.V("x") @ channel @ ta.V("z") @ ta.ModulusLikelihood(arrays["y"])).to_model()


def deconvolution(arrays: Any) -> ta.Model:
    y = arrays["y"]
    blur = ta.Blur2DChannel(sigma=[2, 2], shape=y.shape)
    return (ta.GaussianPrior(size=y.shape) @ ta.V("x") @ blur @ ta.V("z") @ ta.GaussianLikelihood(y, 0.1)).to_model()


def sparse_gradient(arrays: Any) -> ta.Model:
    y = arrays["y"]
    jumps = ta.GaussBernoulliPrior(size=(1, y.size), rho=0.04)
    return (
        ta.GaussianPrior(size=y.size) @ ta.V("x", n_prev=1, n_next=2) @ (
            ta.GaussianLikelihood(y, 0.01) + (ta.GradientChannel() + jumps) @ ta.V("z", n_prev=2, n_next=0)
        )
    ).to_model()


def sparse(size: int, rho: float, mean: float = 0.0) -> ta.Prior:
    return ta.GaussBernoulliPrior(size=size, rho=rho, mean=mean)


def spiked(arrays: Any) -> ta.Model:
    """The diagonal of the record's matrix is not used."""
    y = arrays["y"]
    x = ta.GaussianPrior(size=(100, 1), mean=0.1) @ ta.V("z") @ ta.LowRankGramChannel(100, 1) @ ta.V("x")
    return (x @ ta.GaussianLikelihood(y=y, var=0.1)).to_model()


def factorization(arrays: Any) -> ta.Model:
    u, v = (ta.GaussianPrior(size=(n, 1), mean=0.1) for n in (60, 80))
    x = (u @ ta.V("u") + v @ ta.V("v")) @ ta.LowRankFactorization(60, 80, 1) @ ta.V("x")
    return (x @ ta.GaussianLikelihood(y=arrays["y"], var=0.1)).to_model()


#: Name: file of the inputs, model, damping, sweeps.
RECORDS: dict[str, tuple[str, Callable[[Any, Path], ta.Model], float, int]] = {
    "sparse_regression": (
        "sparse_regression", lambda a, _: glm(a, sparse(400, 0.05), lambda y: ta.GaussianLikelihood(y, 0.01)), 0, 200
    ),
    "sparse_regression_damp0.1": (
        "sparse_regression", lambda a, _: glm(a, sparse(400, 0.05), lambda y: ta.GaussianLikelihood(y, 0.01)), 0.1, 1000
    ),
    "sparse_regression_nosvd": (
        "sparse_regression",
        lambda a, _: glm(a, sparse(400, 0.05), lambda y: ta.GaussianLikelihood(y, 0.01), precompute_svd=False),
        0,
        200,
    ),
    "compressed_sensing": (
        "compressed_sensing", lambda a, _: glm(a, sparse(400, 0.5), lambda y: ta.GaussianLikelihood(y, 1e-10)), 0, 200
    ),
    "perceptron": ("perceptron", lambda a, _: glm(a, ta.BinaryPrior(300), ta.SgnLikelihood), 0, 40),
    "phase_retrieval_real": (
        "phase_retrieval_real", lambda a, _: glm(a, sparse(300, 0.6, 0.01), ta.AbsLikelihood), 0.3, 200
    ),
    "relu_glm": ("relu_glm", lambda a, _: glm(a, sparse(150, 0.5), ta.ReluLikelihood), 0, 100),
    "leaky_glm": ("leaky_glm", lambda a, _: glm(a, sparse(150, 0.5), lambda y: ta.LeakyReluLikelihood(0.1, y)), 0, 100),
    "two_layer_relu": ("two_layer_relu", lambda a, _: two_layers(a), 0, 200),
    "committee_sgn": ("committee_sgn", lambda a, _: committee(a), 0, 100),
    "committee_sgn_damp0.3": ("committee_sgn", lambda a, _: committee(a), 0.3, 100),
    "phase_retrieval_complex": ("phase_retrieval_complex", lambda a, _: phase_retrieval(a), 0.3, 200),
    "deconv2d_gaussian": ("deconv2d_gaussian", lambda a, _: deconvolution(a), 0, 100),
    "sparse_fft": ("sparse_fft", lambda a, _: sparse_fourier(a), 0.1, 1000),
    "sparse_fft_tol1e-6": ("sparse_fft", lambda a, _: sparse_fourier(a), 0.0, 1000),
    "sparse_gradient": ("sparse_gradient", lambda a, _: sparse_gradient(a), 0.1, 1000),
    "sparse_gradient_tol1e-6": ("sparse_gradient", lambda a, _: sparse_gradient(a), 0.3, 1000),
    "vae_denoise_delta4": ("vae_denoise_delta4", denoise, 0.5, 60),
    "low_rank_gram": ("low_rank_gram", lambda a, _: spiked(a), 0, 200),
    "low_rank_uv": ("low_rank_uv", lambda a, _: factorization(a), 0, 200),
    "vae_inpaint_uniform50": ("vae_inpaint_uniform50", inpaint, 0.5, 100),
}


@pytest.mark.parametrize("name", RECORDS)
def test_record(rust: Any, oracle: Path, name: str) -> None:
    file, model, damping, max_iter = RECORDS[name]
    with np.load(oracle / "models_ep" / f"{file}.npz") as arrays:
        compare(rust, name, model(arrays, oracle), damping, max_iter)


def test_total_variation(rust: Any, oracle: Path) -> None:
    with np.load(oracle / "models_ep" / f"{TV}.npz") as arrays:
        tv = ta.MAP(denoising(arrays["y"]))
    report = tv.iterate()
    for id, data in tv.get_variables_data().items():
        assert (report.sweeps, bits(data["v"]), f"{word_hash(data['r']):016x}") == rust[TV, id], id
    assert bits(tv.objective()["total"]) == rust[TV, "evidence"][1]


def test_every_record_is_run(oracle: Path) -> None:
    found = {path.stem for path in (oracle / "models_ep").glob("*.npz")}
    assert found == set(RECORDS) | {TV}
