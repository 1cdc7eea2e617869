//! Priors: what can be said of a variable before anything is observed.

use std::sync::Arc;

use treeamp::prelude::*;
use treeamp::scalar::Elem;

use super::Made;
use super::parameters::{SIZE, number, numbers};
use crate::spec::argument::{Arguments, Size};
use crate::spec::module::{Module, Role};

/// A scalar law on every component, of the size asked for.
fn prior<E: Elem, P: ScalarPrior<E>>(law: P, arguments: &Arguments<'_>) -> Made {
    Ok(match arguments.size()? {
        Size::Finite(shape) => Arc::new(law.shaped(shape)),
        Size::Limit(ratio) => Arc::new(law.limit_of(ratio)),
    })
}

pub(super) const PRIORS: &[Module] = &[
    Module {
        kind: "gaussian",
        role: Role::Prior,
        summary: "Gaussian components",
        formula: "p(x) = N(x; mean, variance)",
        parameters: &[
            SIZE,
            number("mean", 0.0, "any"),
            number("variance", 1.0, "positive"),
        ],
        limit: true,
        make: |a| {
            prior(
                GaussianPrior::new(a.number("mean")?, a.number("variance")?)?,
                a,
            )
        },
    },
    Module {
        kind: "gauss_bernoulli",
        role: Role::Prior,
        summary: "sparse Gaussian components",
        formula: "p(x) = (1 - rho) δ(x) + rho N(x; mean, variance)",
        parameters: &[
            SIZE,
            number("rho", 0.5, "fraction that is not zero, from 0 to 1"),
            number("mean", 0.0, "of those that are not zero"),
            number("variance", 1.0, "of those that are not zero, positive"),
        ],
        limit: true,
        make: |a| {
            let (rho, mean) = (a.number("rho")?, a.number("mean")?);
            prior(GaussBernoulli::new(rho, mean, a.number("variance")?)?, a)
        },
    },
    Module {
        kind: "binary",
        role: Role::Prior,
        summary: "signs",
        formula: "p(x) = p_plus δ(x - 1) + (1 - p_plus) δ(x + 1)",
        parameters: &[
            SIZE,
            number("p_plus", 0.5, "probability of +1, from 0 to 1"),
        ],
        limit: true,
        make: |a| prior(Binary::new(a.number("p_plus")?)?, a),
    },
    Module {
        kind: "gaussian_mixture",
        role: Role::Prior,
        summary: "a mixture of Gaussians",
        formula: "p(x) = Σ_k weights_k N(x; means_k, variances_k)",
        parameters: &[
            SIZE,
            numbers("weights", &[0.5, 0.5], "positive, of sum 1"),
            numbers("means", &[-1.0, 1.0], "one per weight"),
            numbers("variances", &[1.0, 1.0], "one per weight, not negative"),
        ],
        limit: true,
        make: |a| {
            let (weights, means) = (a.numbers("weights")?, a.numbers("means")?);
            prior(
                GaussianMixture::new(weights, means, a.numbers("variances")?)?,
                a,
            )
        },
    },
    Module {
        kind: "positive",
        role: Role::Prior,
        summary: "Gaussian components, given that they are positive",
        formula: "p(x) ∝ N(x; mean, variance) on x > 0",
        parameters: &[
            SIZE,
            number("mean", 0.0, "of the Gaussian"),
            number("variance", 1.0, "of the Gaussian, positive"),
        ],
        limit: true,
        make: |a| prior(Positive::new(a.number("mean")?, a.number("variance")?)?, a),
    },
    Module {
        kind: "interval",
        role: Role::Prior,
        summary: "Gaussian components, given that they lie in an interval",
        formula: "p(x) ∝ N(x; mean, variance) on lower < x < upper",
        parameters: &[
            SIZE,
            number("lower", -1.0, "end of the interval"),
            number("upper", 1.0, "end of the interval, above `lower`"),
            number("mean", 0.0, "of the Gaussian"),
            number("variance", 1.0, "of the Gaussian, positive"),
        ],
        limit: true,
        make: |a| {
            let (lower, upper) = (a.number("lower")?, a.number("upper")?);
            let law = Interval::new(lower, upper, a.number("mean")?, a.number("variance")?)?;
            prior(law, a)
        },
    },
    Module {
        kind: "exponential",
        role: Role::Prior,
        summary: "exponential components",
        formula: "p(x) = e^(-x / mean) / mean on x > 0",
        parameters: &[SIZE, number("mean", 1.0, "positive")],
        limit: true,
        make: |a| prior(Exponential::new(a.number("mean")?)?, a),
    },
    Module {
        kind: "circular_gaussian",
        role: Role::Prior,
        summary: "complex Gaussian components",
        formula: "p(x) = CN(x; 0, variance per real component)",
        parameters: &[
            SIZE,
            number("variance", 1.0, "per real component, positive"),
        ],
        limit: true,
        make: |a| prior(CircularGaussian::new(a.number("variance")?)?, a),
    },
    Module {
        kind: "circular_gauss_bernoulli",
        role: Role::Prior,
        summary: "sparse complex Gaussian components",
        formula: "p(x) = (1 - rho) δ(x) + rho CN(x; 0, variance per real component)",
        parameters: &[
            SIZE,
            number("rho", 0.5, "fraction that is not zero, from 0 to 1"),
            number("variance", 1.0, "per real component, positive"),
        ],
        limit: true,
        make: |a| {
            prior(
                CircularGaussBernoulli::new(a.number("rho")?, a.number("variance")?)?,
                a,
            )
        },
    },
];
