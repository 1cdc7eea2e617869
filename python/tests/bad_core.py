"""Trees, parameters and observations that are refused."""

from __future__ import annotations

import numpy as np
from bad_calls import MODEL, INF, NAN, RUN, TYPE, VALUE, Table, chain, generative, limit, operator, as_matrix

import treeamp as ta

TABLE: Table = {
    # --- arrays
    "an empty matrix": (lambda: as_matrix(np.zeros((0, 3))), MODEL, "at least one row"),
    "NaN in a matrix": (lambda: as_matrix([[1.0, NAN]]), MODEL, "finite"),
    "infinity in a matrix": (lambda: as_matrix([[1.0, INF]]), MODEL, "finite"),
    "an impossible output": (lambda: ta.SgnLikelihood([1.0, 0.5]), MODEL, "0.5"),
    "a negative modulus": (lambda: ta.AbsLikelihood([-1.0]), MODEL, "-1"),
    "a matrix of another width": (lambda: chain(W=np.ones((2, 4))), MODEL, "shape mismatch at factor `linear`"),
    "a bias of another length": (
        lambda: (ta.GaussianPrior(3) @ ta.V("x") @ ta.BiasChannel([1.0, 2.0]) @ ta.V("y")).to_model(), MODEL, "as the bias has",
    ),
    "an empty bias": (lambda: ta.BiasChannel([]), MODEL, "non-empty"),
    # --- parameters
    "rho above one": (lambda: ta.GaussBernoulliPrior(3, rho=1.5), MODEL, "`rho` must be in [0, 1], got 1.5"),
    "rho NaN": (lambda: ta.GaussBernoulliPrior(3, rho=NAN), MODEL, "`rho`"),
    "rho an array": (lambda: ta.GaussBernoulliPrior(3, rho=[0.1, 0.2]), TYPE, "`rho` must be a number"),
    "rho a string": (lambda: ta.GaussBernoulliPrior(3, rho="0.1"), TYPE, "`rho`"),
    "a negative variance": (lambda: ta.GaussianPrior(3, var=-1), MODEL, "`var`"),
    "a negative noise": (lambda: ta.GaussianLikelihood([1.0], var=-0.1), MODEL, "`var` must be"),
    "a negative probability": (lambda: ta.BinaryPrior(3, p_pos=-0.1), MODEL, "`p_pos`"),
    "weights that do not sum": (lambda: ta.GaussianMixturePrior(3, probs=[0.5, 0.6]), MODEL, "GaussianMixturePrior: `"),
    "mixtures of other lengths": (lambda: ta.GaussianMixturePrior(3, means=[1.0]), MODEL, "GaussianMixturePrior: `"),
    "an empty interval": (lambda: ta.IntervalPrior(3, low=1, high=0), MODEL, "IntervalPrior: `low`"),
    "a negative size": (lambda: ta.GaussianPrior(-1), VALUE, "`size` must be at least 0, got -1"),
    "a size of zero": (lambda: (ta.GaussianPrior(0) @ ta.V("x")).to_model(), MODEL, "empty"),
    "a size that is a truth value": (lambda: ta.GaussianPrior(True), TYPE, "`size` must be an integer, got bool"),
    "a size with a fraction": (lambda: ta.GaussianPrior(2.5), TYPE, "`size` must be an integer"),
    "a size no memory can hold": (
        lambda: (ta.GaussianPrior((2**40, 2**40)) @ ta.V("x")).to_model(), MODEL, "too large",
    ),
    "a matrix no memory can hold": (lambda: ta.GaussianEnsemble(10**7, 10**7), MemoryError, "does not fit in memory"),
    "a signal no memory can hold": (
        lambda: (ta.GaussianPrior(10**14) @ ta.V("x")).to_model(), MemoryError, "variable `x`",
    ),
    "a door without width": (lambda: ta.SymmetricDoorChannel(0.0), MODEL, "width"),
    "no slope": (lambda: ta.LeakyReluChannel(NAN), MODEL, "slope"),
    "a negative ratio": (lambda: ta.MarchenkoPasturChannel(-1.0), MODEL, "alpha"),
    "a sum of nothing": (lambda: ta.SumChannel(0), VALUE, "`n_prev` must be at least 1"),
    "regions with a gap": (
        lambda: ta.PiecewiseLinearChannel("f", [dict(zmin=0, zmax=1, x0=0, slope=1)]), MODEL, "f",
    ),
    "a region without a slope": (lambda: ta.PiecewiseLinearChannel("f", [dict(zmin=0, zmax=1, x0=0)]), VALUE, "slope"),
    "an unknown prior": (lambda: ta.get_prior(3, "gauss"), VALUE, "`prior_type` must be one of gaussian"),
    "an unknown channel": (lambda: ta.get_channel("rely"), VALUE, "`channel_type`"),
    "an unknown likelihood": (lambda: ta.get_likelihood([1.0], "x"), VALUE, "`likelihood_type`"),
    "an unknown ensemble": (lambda: ta.get_ensemble("x", M=1, N=1), VALUE, "`ensemble_type`"),
    "an unknown keyword": (lambda: ta.GaussianPrior(3, sigma=1), TYPE, "sigma"),  # type: ignore[call-arg]
    "a keyword of no family": (
        lambda: ta.glm_state_evolution(0.5, "gaussian", "gaussian", noise=1), TYPE, "unexpected keyword 'noise'",
    ),
    "no observations at all": (lambda: ta.glm_generative(4, 0.0, "gaussian", "gaussian", "sgn"), MODEL, "`alpha`"),
    "ratios that are NaN": (lambda: ta.glm_generative(4, NAN, "gaussian", "gaussian", "sgn"), MODEL, "`alpha`"),
    "ternary without randomness": (lambda: ta.TernaryEnsemble(2, 2, 0, 0).generate(seed=0), MODEL, "vary"),
    "features of a constant": (lambda: ta.RandomFeatureEnsemble(2, 2, lambda u: 1.0).generate(seed=0), MODEL, "constant"),
    "features by an unknown name": (lambda: ta.RandomFeatureEnsemble(2, 2, "relo"), VALUE, "`f` must be one of"),
    # --- declarations
    "two variables in a row": (lambda: ta.V("x") @ ta.V("y"), MODEL, "expected a factor between"),
    "ends that do not fit": (
        lambda: (ta.GaussianPrior(3) + ta.GaussianPrior(3)) @ ta.SumChannel(3), MODEL, "cannot chain",
    ),
    "an open end": (lambda: (ta.GaussianPrior(3) @ ta.V("x") @ ta.SgnChannel()).to_model(), MODEL, "open output"),
    "a name twice": (
        lambda: (ta.GaussianPrior(3) @ ta.V("x") @ ta.SgnChannel() @ ta.V("x")).to_model(), MODEL, "declared twice",
    ),
    "no prior": (lambda: (ta.V("x") @ ta.SgnLikelihood([1.0])).to_model(), MODEL, "dangles"),
    "two trees": (
        lambda: (ta.GaussianPrior(3) @ ta.V("x") + ta.GaussianPrior(3) @ ta.V("y")).to_model(), MODEL, "disconnected",
    ),
    "a cycle": (
        lambda: (ta.GaussianPrior(3) @ ta.V("x") @ (ta.SgnChannel() + ta.AbsChannel()) @ ta.V("y")).to_model(),
        MODEL, "cycle",
    ),
    "a model of no factor": (lambda: ta.V("x").to_model(), MODEL, "empty"),
    "a number in a chain": (lambda: ta.GaussianPrior(3) @ 3, TYPE, "unsupported operand"),  # type: ignore[operator]
    "a variable without a name": (lambda: ta.V(""), VALUE, "`id` must not be empty"),
    "a variable named by a number": (lambda: ta.V(3), TYPE, "`id` must be a string"),  # type: ignore[arg-type]
    "layers of numbers": (lambda: ta.MultiLayerModel([1, 2]), TYPE, "layer 0"),  # type: ignore[list-item]
    "no layers": (lambda: ta.MultiLayerModel([]), MODEL, "at least one layer"),
    "too many ids": (lambda: ta.MultiLayerModel([ta.GaussianPrior(3)], ids=["x", "y"]), MODEL, "expected 1 ids"),
    "a dict for a model": (lambda: ta.Model({}), TYPE, "`model_dag`"),  # type: ignore[arg-type]
    # --- observations and samples
    "an unknown leaf": (lambda: generative().to_observed({"w": [1.0, 1.0]}), MODEL, "there is no variable `w`"),
    "no leaf": (lambda: generative().to_observed({"z": [1.0, 1.0]}), MODEL, "cannot observe `z`"),
    "a leaf twice": (
        lambda: generative().to_observed({"y": [1, 1]}).to_observed({"y": [1, 1]}), MODEL, "observed already",
    ),
    "a leaf of another length": (lambda: generative().to_observed({"y": [1.0]}), MODEL, "expected 2 values, got 1"),
    "a leaf that cannot be": (lambda: generative().to_observed({"y": [1.0, 0.3]}), MODEL, "0.3"),
    "a leaf of NaN": (lambda: generative().to_observed({"y": [1.0, NAN]}), MODEL, "finite"),
    "a list of observations": (lambda: generative().to_observed([1.0]), TYPE, "`observations`"),  # type: ignore[arg-type]
    "a draw after observing": (lambda: generative().to_observed({"y": [1, 1]}).sample(seed=0), MODEL, "cannot sample"),
    "a draw in the limit": (lambda: ta.GaussianPrior(None).sample(seed=0), MODEL, "limit"),
    "a negative seed": (lambda: generative().sample(seed=-1), VALUE, "`seed` must be at least 0"),
    "a seed with a fraction": (lambda: generative().sample(seed=0.5), TYPE, "`seed` must be an integer"),  # type: ignore[arg-type]
    "a seed beyond 64 bits": (lambda: generative().sample(seed=2**64), VALUE, "below 2**64"),
    "rho below zero": (lambda: ta.GaussBernoulliPrior(3, rho=-0.1), MODEL, "`rho` must be in [0, 1], got -0.1"),
    "a mean of NaN": (lambda: ta.GaussianPrior(3, mean=NAN), MODEL, "mean"),
    "a variable of another degree": (
        lambda: (ta.GaussianPrior(3) @ ta.SISOVariable("x")).to_model(), MODEL, "`x` (SISOVariable) has n_next=1, the model gives it 0",
    ),
    "a variable of too many factors": (
        lambda: ((ta.GaussianPrior(3) + ta.GaussianPrior(3)) @ ta.O("x")).to_model(), MODEL, "n_prev=1, the model gives it 2",
    ),
    "two factors without a rule": (
        lambda: ta.MAP(chain(ta.BinaryPrior(3), output=ta.SgnLikelihood([1.0, 1.0]))).iterate(), RUN,
        "factor `binary` has no maximum a posteriori (proximal) rule; factor `sign` has no maximum a posteriori",
    ),
}

#: What must be refused, and the entries that show it.
PHRASES = {
    "cycles": ["a cycle"],
    "disconnected parts": ["two trees"],
    "unknown names": ["an unknown leaf"],
    "duplicate names": ["a name twice"],
    "dangling variables": ["no prior", "an open end"],
    "shape mismatches": ["a matrix of another width", "a leaf of another length"],
    "wrong number of inputs or outputs": ["ends that do not fit", "a variable of another degree", "a variable of too many factors"],
    "rho outside [0, 1]": ["rho above one", "rho below zero"],
    "negative variance": ["a negative variance", "a negative noise"],
    "NaN": ["rho NaN", "a leaf of NaN", "a mean of NaN"],
    "empty arrays": ["an empty bias", "an empty matrix"],
    "an algorithm for which a factor has no rule: which factors, which rules": ["two factors without a rule"],
    "a matrix with NaN or infinity": ["NaN in a matrix", "infinity in a matrix"],
    "observing a variable that is not a leaf": ["no leaf"],
    "conditioning twice": ["a leaf twice"],
    "a sign that is not +-1": ["a leaf that cannot be", "an impossible output"],
    "a negative absolute value": ["a negative modulus"],
    "zero-sized variables": ["a size of zero"],
}
