"""The names that tramp gave to laws of the catalogue, where they are not those that ``generate.py`` makes by itself.

A law without an entry has the name of the catalogue in CamelCase and ``Prior``, ``Channel`` or ``Likelihood`` behind it
(``MAP_`` before it if it is a penalty), the parameters of the catalogue, and these signatures::

    Prior(size, parameters..., isotropic=True)
    Channel(parameters...)
    Likelihood(y, parameters..., y_name="y", isotropic=True)

An entry may have

``class``       the name of the class
``key``         the name that ``get_prior``, ``get_channel`` or ``get_likelihood`` takes
``renamed``     parameters: name of the catalogue to name in Python
``signature``   the order of all arguments, ``*`` before those by keyword only
``defaults``    by name in Python, in place of those of the catalogue; ``None`` if there is none
``also``        another name of a parameter, by name in Python
``example``     lines of the documentation, in place of the one that shows the defaults
``by_hand``     true if the class is not written by ``generate.py``
"""

from __future__ import annotations

from typing import Any

_VAR = {"variance": "var"}

PRIORS: dict[str, dict[str, Any]] = {
    "gaussian": {
        "renamed": _VAR,
        "example": """
            >>> GaussianPrior(size=2, mean=1.0).compute_forward_posterior(1.0, [0.0, 2.0])
            (array([0.5, 1.5]), 0.5)""",
    },
    "gauss_bernoulli": {
        "renamed": _VAR,
        "example": """
            >>> round(GaussBernoulliPrior(size=1, rho=0.1).second_moment(), 12)
            0.1""",
    },
    "binary": {
        "renamed": {"p_plus": "p_pos"},
        "example": """
            >>> bool(BinaryPrior(size=1).scalar_forward_variance(0.0, 25.0) > 0)
            True""",
    },
    "gaussian_mixture": {"by_hand": True},
    "exponential": {
        "example": """
            >>> float(ExponentialPrior(size=1, mean=2.0).compute_forward_posterior(0.0, [0.0])[0][0])
            2.0""",
    },
    "positive": {
        "renamed": _VAR,
        "signature": "size, isotropic, *, mean, var",
        "example": """
            >>> round(PositivePrior(size=1).second_moment(), 12)
            1.0""",
    },
    "interval": {
        "renamed": {"lower": "low", "upper": "high", **_VAR},
        "example": """
            >>> 0 < IntervalPrior(size=1, low=0.0, high=1.0).second_moment() < 1
            True""",
    },
    "circular_gaussian": {"renamed": _VAR},
    "circular_gauss_bernoulli": {"renamed": _VAR},
    "l1": {
        "class": "MAP_L1NormPrior",
        "key": "L1_norm",
        "renamed": {"strength": "gamma"},
        "example": """
            >>> MAP_L1NormPrior(size=3, gamma=1.0).compute_forward_posterior(2.0, [0.5, 3.0, -2.0])[0]
            array([ 0. ,  1. , -0.5])""",
    },
    "quadratic": {
        "class": "MAP_L2NormPrior",
        "key": "L2_norm",
        "renamed": {"strength": "gamma", "centre": "mean"},
        "defaults": {"gamma": 1},
        "example": """
            >>> MAP_L2NormPrior(size=1, gamma=3.0).compute_forward_posterior(1.0, [2.0])
            (array([0.5]), 0.25)""",
    },
    "box": {
        "renamed": {"lower": "low", "upper": "high"},
        "example": """
            >>> MAP_BoxPrior(size=3, low=-1, high=1).compute_forward_posterior(1.0, [-3.0, 0.5, 2.0])[0]
            array([-1. ,  0.5,  1. ])""",
    },
    "non_negative": {
        "example": """
            >>> MAP_NonNegativePrior(size=2).compute_forward_posterior(2.0, [-3.0, 1.0])[0]
            array([0. , 0.5])""",
    },
}

CHANNELS: dict[str, dict[str, Any]] = {
    "gaussian_noise": {
        "class": "GaussianChannel",
        "key": "gaussian",
        "renamed": _VAR,
        "example": """
            >>> GaussianChannel(var=0.5).compute_forward_message(2.0, [2.0], 0.0, [0.0])
            (1.0, array([1.]))""",
    },
    "sign": {"class": "SgnChannel", "key": "sgn"},
    "asymmetric_abs": {"key": "a-abs"},
    "leaky_relu": {"key": "l-relu", "defaults": {"slope": None}},
    "hard_tanh": {"key": "h-tanh"},
    "hard_sigmoid": {"key": "h-sigm"},
    "symmetric_door": {"key": "door", "defaults": {"width": None}},
}

LIKELIHOODS: dict[str, dict[str, Any]] = {
    "gaussian_noise": {
        "class": "GaussianLikelihood",
        "key": "gaussian",
        "renamed": _VAR,
        "example": """
            >>> GaussianLikelihood(y=[1.0, 3.0], var=1.0).compute_backward_posterior(1.0, [0.0, 0.0])
            (array([0.5, 1.5]), 0.5)""",
    },
    "sign": {
        "class": "SgnLikelihood",
        "key": "sgn",
        "example": """
            >>> SgnLikelihood(y=[1.0]).compute_backward_posterior(1.0, [-5e4])[1] > 0
            True""",
    },
    "asymmetric_abs": {"key": "a-abs", "signature": "y, y_name, isotropic, shift"},
    "leaky_relu": {"key": "l-relu", "signature": "slope, y, y_name, isotropic", "defaults": {"slope": None}},
    "hard_tanh": {"key": "h-tanh"},
    "hard_sigmoid": {"key": "h-sigm", "signature": "y, y_name, isotropic, knee, l", "also": {"knee": "l"}},
    "symmetric_door": {"key": "door", "signature": "width, y, y_name, isotropic", "defaults": {"width": None}},
}
