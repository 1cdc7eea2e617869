"""Every module alone, against 50-digit integrals of its definition, and where tramp was wrong."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT

import treeamp as ta
from treeamp.testing import check_factor

#: Relative to max(|A|, 1), to max(|r|, sqrt v), to v: what the laws promise (`tests/laws/oracle.rs`).
LAW = 1e-9
#: Averages: direct integrals carry 1e-10 and a few of them less; records from precision 1e8 on say 1e-5 of themselves.
AVERAGE, COARSE = 1e-7, 1e-5

RENAMED = {"l": "knee", "L": "knee", "xmin": "low", "xmax": "high"}


def make(name: str, params: dict[str, Any], **more: Any) -> Any:
    """A module by the class or the name that a record gives, or None if treeamp does not have it."""
    made = getattr(ta, name.split("(")[0], None) or ta.priors.PRIOR_CLASSES.get(name)
    if made is None:
        return None
    try:
        return made(**{RENAMED.get(k, k): v for k, v in params.items()}, **more)
    except ta.NotAvailable:
        return None


def records(oracle: Path, file: str, group: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((oracle / file).read_text())[group]
    return found


def check_law(what: Any, got: dict[str, float], truth: dict[str, float]) -> None:
    for key, value in truth.items():
        if key.startswith("v") and not (value < 1e-300 and 0 <= got[key] < 1e-290):
            assert abs(got[key] - value) <= LAW * value, (what, key, got[key], value)
        if key.startswith("r"):
            spread = np.sqrt(truth["v" + key[1:]])
            assert abs(got[key] - value) <= LAW * max(abs(value), spread), (what, key, got[key], value)
        if key == "A":
            assert abs(got[key] - value) <= LAW * max(abs(value), 1), (what, key, got[key], value)


def test_scalar_laws(oracle: Path) -> None:
    compared = 0
    for record in records(oracle, "modules_ep.json", "records"):
        point, truth = record["point"], record["truth"]
        if record["cls"].startswith(("ModulusLikelihood", "PhaseLikelihood")):
            continue  # complex: test_complex.py
        more = {"prior": {"size": 1}, "likelihood": {"y": None}, "channel": {}}[record["group"]]
        module = make(record["cls"], record["params"], **more)
        if module is None:
            continue
        if record["group"] == "prior":
            r, v = module.compute_forward_posterior(point["a"], [point["b"]])
            got = {"r": r[0], "v": v, "A": module.compute_log_partition(point["a"], [point["b"]])}
        elif record["group"] == "likelihood":
            at = point["a"], [point["b"]], [point["y"]]
            r, v = module.compute_backward_posterior(*at)
            got = {"r": r[0], "v": v, "A": module.compute_log_partition(*at)}
        else:
            at = point["az"], [point["bz"]], point["ax"], [point["bx"]]
            rz, vz = module.compute_backward_posterior(*at)
            rx, vx = module.compute_forward_posterior(*at)
            got = {"rz": rz[0], "vz": vz, "rx": rx[0], "vx": vx, "A": module.compute_log_partition(*at)}
        check_law((record["cls"], record["params"], point), got, truth)
        compared += 1
    # all but complex outputs (13 + 9)
    assert compared == len(records(oracle, "modules_ep.json", "records")) - 22


def test_linear_channels(oracle: Path) -> None:
    compared = 0
    for record in records(oracle, "modules_ep.json", "linear"):
        name = record["cls"].split("(")[0]
        if not hasattr(ta, name) or name in ("DuplicateChannel", "DFTChannel", "ComplexLinearChannel", "UnitaryChannel"):
            continue
        known = {*inspect.signature(getattr(ta, name)).parameters, "prev", "next"}
        params = {k: v for k, v in {**record.get("params", {}), **record["data"]}.items() if k in known}
        params = {{"prev": "prev_shape", "next": "next_shape"}.get(k, k): v for k, v in params.items()}
        if "False" in record["cls"]:
            params["precompute_svd"] = False
        try:
            module = getattr(ta, name)(**params)
        except ta.NotAvailable:
            continue
        at = record["az"], record["bz"], record["ax"], record["bx"]
        truth = record["truth"]
        for port, (r, v) in {
            "z": module.compute_backward_posterior(*at),
            "x": module.compute_forward_posterior(*at),
        }.items():
            # dense float64 algebra squares condition numbers of up to 1e6
            scale = np.abs(truth[f"r{port}"]).max() + np.sqrt(truth[f"v{port}"])
            assert r.shape == np.shape(truth[f"r{port}"]), record["cls"]
            assert np.abs(r - truth[f"r{port}"]).max() <= 1e-8 * scale, record["cls"]
            assert v == pytest.approx(truth[f"v{port}"], rel=1e-8), record["cls"]
        if "A_sum" in truth:
            assert module.compute_log_partition(*at) == pytest.approx(truth["A_sum"], rel=1e-8, abs=1e-8)
        compared += 1
    # all but complex ones and the duplicate
    assert compared == 48


def test_averages_of_priors(oracle: Path) -> None:
    for record in records(oracle, "modules_se.json", "priors"):
        module, direct, ax = make(record["cls"], record["params"], size=None), record["direct"], record["ax"]
        rel = COARSE if ax >= 1e6 else AVERAGE
        what = (record["cls"], record["params"], ax)
        assert module.second_moment() == pytest.approx(record["tau_x"], rel=AVERAGE), what
        assert module.compute_forward_error(ax) == pytest.approx(direct["v"], rel=rel, abs=1e-12), what
        assert module.compute_free_energy(ax) == pytest.approx(direct["A"], rel=rel, abs=1e-10), what
        assert module.compute_mutual_information(ax) == pytest.approx(direct["I"], rel=rel, abs=1e-10), what


def test_averages_of_likelihoods(oracle: Path) -> None:
    compared = 0
    for record in records(oracle, "modules_se.json", "likelihoods"):
        module, direct = make(record["cls"], record["params"], y=None), record["direct"]
        check = direct.get("check_tau_minus_2dA/da", direct.get("check_v_from_2dI/da"))
        if module is None or (check is not None and abs(check - direct["v"]) > 1e-3 * direct["v"] + 1e-9):
            continue  # not available, or a record that contradicts itself
        at, what = (record["az"], record["tau_z"]), (record["cls"], record["params"], record["az"])
        assert module.compute_backward_error(*at) == pytest.approx(direct["v"], rel=COARSE, abs=1e-9), what
        if "A" in direct:
            assert module.compute_free_energy(*at) == pytest.approx(direct["A"], rel=COARSE, abs=1e-7), what
        compared += 1
    assert compared >= 45


def test_averages_of_channels(oracle: Path) -> None:
    for group in ("channels", "linear"):
        for record in records(oracle, "modules_se.json", group):
            if record["cls"] not in ("MarchenkoPasturChannel", "GaussianChannel") and group == "linear":
                continue
            params = record.get("params") or {k: record[k] for k in ("alpha",) if k in record}
            module = make(record["cls"], params)
            at, direct = (record["az"], record["ax"], record["tau_z"]), record.get("direct", record.get("tramp"))
            what = (record["cls"], params, at)
            # differential integrals of channels carry 1e-7 of themselves
            for key, value in (("vz", module.compute_backward_error(*at)), ("vx", module.compute_forward_error(*at))):
                if key in direct:
                    assert value == pytest.approx(direct[key], rel=1e-6, abs=1e-9), (what, key)
            if "I" in direct:
                assert module.compute_mutual_information(*at) == pytest.approx(direct["I"], rel=1e-6, abs=1e-8), what


def test_mismatched_averages(oracle: Path) -> None:
    for record in records(oracle, "modules_se.json", "priors_RS"):
        teacher = make(record["teacher"], record["teacher_params"], size=None)
        student = make(record["student"], record["student_params"], size=None)
        if student is None:
            continue
        at = record["ax"], record["m_hat"], record["q_hat"], teacher, record["tau0_hat"]
        v, m, q = student.compute_forward_vmq_RS(*at)
        # another program, by a fixed rule
        got = {"v": v, "m": m, "q": q}
        if not isinstance(student, ta.MAP_L1NormPrior):  # no law, and no free entropy
            got["A"] = student.compute_potential_RS(*at)
        for key, value in got.items():
            assert value == pytest.approx(record["tramp"][key], rel=1e-5, abs=1e-8), (record, key)


def test_dual_maps(oracle: Path) -> None:
    for record in records(oracle, "modules_se.json", "dual"):
        prior, told = make(record["cls"], record["params"], size=None), record["tramp"]
        assert prior.compute_precision(record["vx"]) == pytest.approx(told["ax"], rel=1e-6)
        assert prior.compute_dual_mutual_information(record["vx"]) == pytest.approx(told["I_dual"], rel=1e-6)
        m = prior.second_moment() - record["vx"]
        assert prior.compute_dual_free_energy(m) == pytest.approx(told["A_dual(m=tau-v)"], rel=1e-6)
    variable = ta.Variable("x")
    for record in records(oracle, "modules_se.json", "variable"):
        a, tau, told = record["ax"], record["tau"], record["tramp"]
        assert variable.compute_mutual_information(a, tau) == pytest.approx(told["I"])
        assert variable.compute_free_energy(a, tau) == pytest.approx(told["A"])
        assert variable.compute_dual_mutual_information(1 / a, tau) == pytest.approx(told["I_dual"])
        # tramp's sign is not that of its factors
        assert variable.compute_dual_free_energy(tau - 1 / a, tau) == pytest.approx(-told["A_dual"])


def test_own_reference_values() -> None:
    """The project's own 50-digit values, without the external ones."""
    compared = 0
    for record in json.loads((ROOT / "oracle" / "data" / "laws.json").read_text())["records"]:
        if record["group"] != "prior":
            continue
        module = make(record["cls"], record["params"], size=1)
        point = record["point"]
        r, v = module.compute_forward_posterior(point["a"], [point["b"]])
        got = {"r": r[0], "v": v, "A": module.compute_log_partition(point["a"], [point["b"]])}
        check_law(record, got, record["truth"])
        compared += 1
    assert compared > 20


PRIORS = [
    ta.GaussianPrior(6, 0.4, 1.7),
    ta.GaussBernoulliPrior(6, 0.3, 0.2, 1.5),
    ta.BinaryPrior(6, 0.3),
    ta.GaussianMixturePrior((2, 3), [0.2, 0.5, 0.3], [-1.5, 0.0, 1.0], [0.3, 0.01, 0.8]),
    ta.ExponentialPrior(6, 0.8),
    ta.PositivePrior(6),
    ta.IntervalPrior(6, -1.0, 2.0, 0.3, 0.6),
]
LIKELIHOODS = [
    ta.GaussianLikelihood([0.4, -2.0], 0.3),
    ta.SgnLikelihood([1, -1]),
    ta.AbsLikelihood([0.7, 1.9]),
    ta.ReluLikelihood([0.0, 0.0]),
    ta.HardTanhLikelihood([1.0, -1.0]),
    ta.HardSigmoidLikelihood([0.0, 1.0]),
    ta.SymmetricDoorLikelihood(0.8, [1.0, -1.0]),
]


@pytest.mark.parametrize("factor", PRIORS + LIKELIHOODS, ids=repr)
def test_derivatives(factor: Any) -> None:
    check_factor(factor)


CHANNELS = [
    ta.SgnChannel(),
    ta.AbsChannel(),
    ta.AsymmetricAbsChannel(0.4),
    ta.ReluChannel(),
    ta.LeakyReluChannel(0.1),
    ta.HardTanhChannel(),
    ta.HardSigmoidChannel(),
    ta.SymmetricDoorChannel(0.8),
    ta.TanhChannel(),
    ta.SigmoidChannel(),
    ta.SoftplusChannel(),
    ta.GaussianChannel(0.3),
    ta.BiasChannel([0.1, -0.2, 0.3]),
    ta.RotationChannel(np.eye(3)[[1, 2, 0]]),
    ta.LinearChannel(np.arange(9.0).reshape(3, 3) / 5),
]


@pytest.mark.parametrize("channel", CHANNELS, ids=repr)
def test_derivatives_of_channels(channel: Any) -> None:
    """dA/db = r at both ends; central differences with steps of 1e-4 leave 1e-7."""
    rng = np.random.default_rng(0)
    bz, bx = rng.normal(size=3), rng.normal(size=3)
    az, ax, h = 1.3, 0.8, 1e-4
    rz, _ = channel.compute_backward_posterior(az, bz, ax, bx)
    rx, _ = channel.compute_forward_posterior(az, bz, ax, bx)
    for k in range(3):
        e = h * np.eye(3)[k]
        A = channel.compute_log_partition
        assert (A(az, bz + e, ax, bx) - A(az, bz - e, ax, bx)) / (2 * h) == pytest.approx(rz[k], abs=2e-6)
        assert (A(az, bz, ax, bx + e) - A(az, bz, ax, bx - e)) / (2 * h) == pytest.approx(rx[k], abs=2e-6)


def test_arrays_and_scalars() -> None:
    prior = ta.GaussBernoulliPrior(4, 0.3)
    b = np.linspace(-1, 1, 4)
    r, v = prior.compute_forward_posterior(2.0, b)
    assert r.shape == (4,) and isinstance(v, float)
    assert np.ndim(prior.scalar_forward_mean(2.0, 0.5)) == 0
    loose = ta.GaussBernoulliPrior(4, 0.3, isotropic=False)
    r, v = loose.compute_forward_posterior(np.array([1.0, 2.0, 3.0, 4.0]), b)
    assert v.shape == (4,)
    assert v[1] == prior.scalar_forward_variance(2.0, b[1])
    assert prior.compute_log_partition(2.0, b) == pytest.approx(prior.scalar_log_partition(2.0, b).sum(), rel=1e-14)


def test_messages_alone() -> None:
    assert ta.GaussianPrior(2, 1.0, 0.5).compute_forward_message(3.0, [0.1, 0.2])[0] == 2.0
    a, b = ta.GaussianLikelihood([1.0, 2.0], 0.5).compute_backward_message(3.0, [0.1, 0.2])
    assert a == 2.0 and b == pytest.approx([2.0, 4.0])
    a, b = ta.GaussianLikelihood([1.0, 2.0], 0.0).compute_backward_message(3.0, [0.1, 0.2])
    assert a == np.inf and b == pytest.approx([1.0, 2.0])
    a, b = ta.SgnLikelihood([1.0]).compute_backward_message(1.0, [0.0])
    assert a == pytest.approx(1 / (1 - 2 / np.pi) - 1, rel=1e-12)


def test_beliefs() -> None:
    from treeamp.beliefs import binary, exponential, mixture, normal, positive, sparse, truncated

    a, b, h = 1.3, 0.4, 1e-4
    for law, args in (
        (normal, (a, b)), (positive, (a, b)), (truncated, (a, b, -0.5, 2.0)), (sparse, (a, b, 0.7)),
    ):  # fmt: skip
        rest = args[2:]
        slope = (law.A(a, b + h, *rest) - law.A(a, b - h, *rest)) / (2 * h)
        # steps of 1e-4: differences leave 1e-8
        assert law.r(*args) == pytest.approx(slope, abs=1e-7)
        curve = (law.r(a, b + h, *rest) - law.r(a, b - h, *rest)) / (2 * h)
        assert law.v(*args) == pytest.approx(curve, abs=1e-7)
        assert law.tau(*args) == pytest.approx(law.r(*args) ** 2 + law.v(*args))
    assert binary.v(0.3) == pytest.approx(1 - np.tanh(0.3) ** 2)
    assert exponential.tau(-2.0) == pytest.approx(0.5)
    parts = np.array([1.0, 2.0]), np.array([0.3, -0.2]), np.array([0.1, 0.5])
    moved = (mixture.A(parts[0], parts[1] + h, parts[2]) - mixture.A(parts[0], parts[1] - h, parts[2])) / (2 * h)
    assert mixture.r(*parts) == pytest.approx(moved, abs=1e-7)
    assert mixture.p(*parts).sum() == pytest.approx(1)


def test_a_bias_that_is_a_number_is_shown_as_one() -> None:
    assert repr(ta.BiasChannel(0.1)) == "BiasChannel(bias=0.1)"
    assert repr(ta.BiasChannel([0.1, 0.2])) == "BiasChannel(bias=<array (2,)>)"
