//! Penalties and constraints, taken at their mode.

use std::sync::Arc;

use treeamp::prelude::*;
use treeamp::separable::Penalty;

use super::Made;
use super::parameters::{SIZE, number};
use crate::spec::argument::{Arguments, Size};
use crate::spec::module::{Module, Role};

/// A penalty on a variable, of the size asked for.
fn penalty<P: Penalty>(law: P, arguments: &Arguments<'_>) -> Made {
    Ok(match arguments.size()? {
        Size::Finite(shape) => Arc::new(law.shaped(shape)),
        Size::Limit(ratio) => Arc::new(law.limit_of(ratio)),
    })
}

pub(super) const PENALTIES: &[Module] = &[
    Module {
        kind: "l1",
        role: Role::Prior,
        summary: "penalty of a sparse signal, at its mode",
        formula: "E(x) = strength Σ_n |x_n|",
        parameters: &[SIZE, number("strength", 1.0, "not negative")],
        limit: true,
        make: |a| penalty(L1::new(a.number("strength")?)?, a),
    },
    Module {
        kind: "l21",
        role: Role::Prior,
        summary: "penalty of sparse groups along the first axis, at its mode",
        formula: "E(x) = strength Σ_n (Σ_a x_(a,n)²)^(1/2)",
        parameters: &[SIZE, number("strength", 1.0, "not negative")],
        limit: false,
        make: |a| penalty(L21::new(a.number("strength")?)?, a),
    },
    Module {
        kind: "non_negative",
        role: Role::Prior,
        summary: "constraint to positive values, at its mode",
        formula: "E(x) = 0 for x >= 0, infinite else",
        parameters: &[SIZE],
        limit: true,
        make: |a| penalty(NonNegative::new()?, a),
    },
    Module {
        kind: "box",
        role: Role::Prior,
        summary: "constraint to an interval, at its mode",
        formula: "E(x) = 0 for lower <= x <= upper, infinite else",
        parameters: &[
            SIZE,
            number("lower", -1.0, "below upper"),
            number("upper", 1.0, "above lower"),
        ],
        limit: true,
        make: |a| {
            penalty(
                BoxConstraint::new(a.number("lower")?, a.number("upper")?)?,
                a,
            )
        },
    },
    Module {
        kind: "quadratic",
        role: Role::Prior,
        summary: "quadratic penalty; of strength 0, a variable without a prior",
        formula: "E(x) = strength/2 Σ_n (x_n - centre)²",
        parameters: &[
            SIZE,
            number("strength", 0.0, "not negative"),
            number("centre", 0.0, "any"),
        ],
        limit: true,
        make: |a| match a.number("strength")? {
            0.0 => penalty(Quadratic::free(), a),
            strength => penalty(Quadratic::new(strength, a.number("centre")?)?, a),
        },
    },
];
