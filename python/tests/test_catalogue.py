"""The package has a class for every module of the catalogue, under the names that it looks them up by."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treeamp as ta
from treeamp import _lib, channels, likelihoods, priors
from treeamp.base import Factor
from treeamp.testing import check_factor

#: Where classes of a role are; those of a law of outputs alone are channels too.
PACKAGES: dict[str, tuple[Any, ...]] = {
    "prior": (priors,),
    "penalty": (priors,),
    "channel": (channels,),
    "likelihood": (likelihoods, channels),
    "loss": (likelihoods, channels),
}
#: Laws of several fields at once: their channel is observed by conditioning, and a likelihood of one field is not defined.
ROWS = {"sign_committee", "softmax"}
TABLES = {
    priors: priors.PRIOR_CLASSES,
    channels: channels.CHANNEL_CLASSES,
    likelihoods: likelihoods.LIKELIHOOD_CLASSES,
}


def classes(package: Any) -> Iterator[type[Factor]]:
    for name in package.__all__:
        thing = getattr(package, name)
        if isinstance(thing, type) and issubclass(thing, Factor) and thing._law:
            yield thing


def test_every_module_has_a_class() -> None:
    entries = _lib.modules()
    assert len(entries) > 40
    for name, role, _, _ in entries:
        for package in (channels,) if name in ROWS else PACKAGES[role]:
            found = [c for c in classes(package) if c._law == name]
            assert found, f"{name}: no class in {package.__name__}; run python3 python/generate.py, or write one by hand"


def test_every_output_that_can_be_observed_has_a_likelihood() -> None:
    known = {c._law for c in classes(likelihoods)}
    missing = {name for name, _, _, supports in _lib.modules() if "likelihood" in supports} - known
    assert missing == ROWS


def test_every_class_is_in_the_catalogue_and_has_a_name() -> None:
    names = {name for name, *_ in _lib.modules()}
    for package, table in TABLES.items():
        for found in classes(package):
            assert found._law in names, found
            assert found in table.values(), found
            assert getattr(ta, found.__name__) is found


def test_classes_have_the_parameters_of_the_catalogue() -> None:
    """As many as the native constructor takes, each an argument of the class."""
    count = {name: len([p for p in parameters if p != "size"]) for name, _, parameters, _ in _lib.modules()}
    for package in TABLES:
        for found in classes(package):
            if found._native_parameters:
                assert len(found._native_parameters) == count[found._law], found
            own = inspect.signature(found).parameters
            derived = {"n_prev", "n_next"}
            assert set(found._native_parameters) - derived <= set(own), found


@pytest.mark.parametrize("kind", priors.laws.CLASSES.values(), ids=lambda kind: kind.__name__)
def test_derivatives_of_every_prior(kind: Any) -> None:
    check_factor(kind(size=(2, 3)))


#: tramp's names of laws, which scripts rely on.
LAWS = {
    law["class"]: law
    for kind in json.loads((Path(__file__).parents[1] / "tramp_names.json").read_text(encoding="utf-8"))["laws"].values()
    for law in kind.values()
}


@pytest.mark.parametrize("name", [name for name, law in LAWS.items() if "signature" in law])
def test_signatures(name: str) -> None:
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in inspect.signature(getattr(ta, name)).parameters.values()]
    assert str(inspect.Signature(plain)) == f"({LAWS[name]['signature']})"


@pytest.mark.parametrize("package", TABLES, ids=lambda package: package.__name__.rpartition(".")[2])
def test_errors_have_the_names_of_python(package: Any) -> None:
    """Whatever argument is out of its range, the error speaks of it by the name that was written."""
    seen = 0
    modules = (priors.laws, priors.penalties, channels.activations, likelihoods.laws)
    written = [c for module in modules for c in module.CLASSES.values()]
    for kind in (c for c in classes(package) if c in written):
        numbers = {p.name for p in inspect.signature(kind).parameters.values() if p.annotation == "float"}
        first = {} if package is channels else {"size": (2, 3)} if package is priors else {"y": None}
        for name in numbers & set(kind._native_parameters):
            needed = {n: 1.0 for n, p in inspect.signature(kind).parameters.items() if p.default is p.empty and n in numbers}
            with pytest.raises(ta.ModelError, match=f"{kind.__name__}: (`{name}` must be |`low` must be below {name} = )"):
                kind(**{**first, **needed, name: float("nan")})
            seen += 1
    assert seen >= 4


def test_errors_of_several_parameters_have_the_names_of_python() -> None:
    with pytest.raises(ta.ModelError, match="`probs` must be positive with sum one"):
        ta.GaussianMixturePrior(3, probs=[0.5, 0.6])
    with pytest.raises(ta.ModelError, match="`vars` must be at least one, and as many as means, got 2 means, 1 vars"):
        ta.GaussianMixturePrior(3, vars=[0.5])
    with pytest.raises(ta.ModelError, match="`low` must be below high = 0, got 1"):
        ta.IntervalPrior(3, low=1, high=0)
    with pytest.raises(ta.ModelError, match="`l` must be positive"):
        ta.HardSigmoidLikelihood(None, l=-3)
    with pytest.raises(ta.ModelError, match="`p_pos`"):
        ta.CommitteeBinaryPrior(3, 2, p_pos=2)
    for name, channel in (("R", ta.RotationChannel), ("U", ta.UnitaryChannel)):
        with pytest.raises(ta.ModelError, match=f"`{name}` must be "):
            channel(np.ones((2, 2)))
    with pytest.raises(ta.ModelError, match="`W` must be finite"):
        ta.LinearChannel(np.full((2, 2), np.nan))


def test_one_name_at_a_time() -> None:
    assert ta.HardSigmoidLikelihood(None).knee == 2.5
    with pytest.raises(TypeError, match="expected `knee` or `l`, got both"):
        ta.HardSigmoidLikelihood(None, knee=2, l=3)


def test_what_is_no_number_is_said_to_be_none() -> None:
    for wrong in ("a", None):
        with pytest.raises(TypeError, match=f"`rho` must be a number, got {wrong!r}"):
            ta.GaussBernoulliPrior(3, rho=wrong)  # type: ignore[arg-type]


def test_boundaries_are_shown() -> None:
    assert repr(ta.GradientChannel(boundary="neumann")) == "GradientChannel(shape=None, boundary='neumann')"


def test_phases() -> None:
    """The phases of a complex signal through a random matrix recover it up to its scale."""
    rng = np.random.default_rng(0)
    n, m = 40, 160
    w = (rng.normal(size=(m, n)) + 1j * rng.normal(size=(m, n))) / np.sqrt(n)
    prior = ta.CircularGaussianPrior(size=(2, n))
    model = (
        prior @ ta.V("x") @ ta.ComplexLinearChannel(w) @ ta.V("z") @ ta.PhaseChannel() @ ta.O("y")
    ).to_model()
    truth = model.sample(seed=1)
    assert truth["y"].shape == (2, m)
    np.testing.assert_allclose((truth["y"] ** 2).sum(axis=0), 1)
    ep = ta.ExpectationPropagation(model.to_observed({"y": truth["y"]}))
    assert ep.iterate(max_iter=200).converged
    x = ep.get_variables_data(["x"])["x"]["r"]
    overlap = (x * truth["x"]).sum() / np.sqrt((x**2).sum() * (truth["x"] ** 2).sum())
    assert overlap > 0.95
    check_factor(ta.PhaseLikelihood(truth["y"][:, :5]))
    check_factor(ta.CircularGaussianPrior(size=(2, 5), var=0.7))
    check_factor(ta.CircularGaussBernoulliPrior(size=(2, 5), rho=0.3))
    with pytest.raises(ta.ModelError, match="size=\\(2, ...\\)"):
        ta.CircularGaussianPrior(size=5)


@pytest.mark.parametrize("boundary, last", [("periodic", -3.0), ("neumann", 0.0), ("zero", -4.0)])
def test_boundaries_of_gradients(boundary: str, last: float) -> None:
    gradient = ta.GradientChannel(shape=(3,), boundary=boundary)
    np.testing.assert_allclose(gradient.sample([1.0, 2.0, 4.0]), [[1.0, 2.0, last]])
    # x = D z with D as a matrix
    matrix = np.column_stack([gradient.sample(e).ravel() for e in np.eye(3)])
    b = np.array([0.3, -0.2, 0.7])
    r, v = gradient.compute_backward_posterior(1.0, b, 2.0, np.zeros((1, 3)))
    covariance = np.linalg.inv(np.eye(3) + 2 * matrix.T @ matrix)
    np.testing.assert_allclose(r, covariance @ b, rtol=1e-8)
    assert v == pytest.approx(np.trace(covariance) / 3, rel=1e-8)
    with pytest.raises(ValueError, match="boundary"):
        ta.GradientChannel(boundary="open")


def test_pieces_and_masked_transforms() -> None:
    split = ta.SplitChannel([1, 2])
    model = (ta.GaussianPrior(3) @ ta.V("z") @ split @ (ta.O("a") + ta.O("b"))).to_model()
    drawn = model.sample(seed=0)
    np.testing.assert_array_equal(drawn["z"], np.concatenate([drawn["a"], drawn["b"]]))
    mask = np.array([True, False, True, True])
    z = np.arange(4.0)
    seen = ta.MaskedDFTChannel(mask).sample(z)
    expected = np.fft.fft(z, norm="ortho")[mask]
    np.testing.assert_allclose(seen, [expected.real, expected.imag], atol=1e-12)
