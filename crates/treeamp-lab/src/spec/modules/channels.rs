//! Matrices, noise, and sums of variables.

use treeamp::operator::{ComplexDense, ComplexOnReal};
use treeamp::prelude::*;

use super::parameters::{count, matrix, number, numbers};
use super::{Made, channel};
use crate::spec::argument::Arguments;
use crate::spec::build::Scale;
use crate::spec::module::{Module, Role};

fn linear(arguments: &Arguments<'_>) -> Made {
    let source = arguments.matrix("matrix")?;
    if arguments.scale == Scale::Limit {
        return channel(source.limit(arguments.folder, arguments.is_complex())?);
    }
    if !source.is_complex() {
        return channel(Linear::new(arguments.realise(source)?)?);
    }
    let w = source.realise_complex(arguments.columns(), arguments.seed)?;
    if arguments.is_complex() {
        channel(Linear::of(ComplexDense::new(w)))
    } else {
        channel(Linear::of(ComplexOnReal::new(w)?))
    }
}

fn rotation(arguments: &Arguments<'_>) -> Made {
    let source = arguments.matrix("matrix")?;
    match arguments.scale {
        Scale::Finite { .. } => channel(Rotation::new(arguments.realise(source)?)?),
        Scale::Limit => channel(LinearEnsemble::orthogonal(1.0)?),
    }
}

pub(super) const CHANNELS: &[Module] = &[
    Module {
        kind: "linear",
        role: Role::Channel,
        summary: "a matrix",
        formula: "x = W z",
        parameters: &[matrix(
            "W: a data file, or an ensemble with alpha rows per column",
        )],
        limit: true,
        make: linear,
    },
    Module {
        kind: "rotation",
        role: Role::Channel,
        summary: "an orthogonal matrix",
        formula: "x = R z, RᵀR = 1",
        parameters: &[matrix(
            "R: a data file, or the ensemble `orthogonal` with alpha = 1",
        )],
        limit: true,
        make: rotation,
    },
    Module {
        kind: "bias",
        role: Role::Channel,
        summary: "a known shift",
        formula: "x = z + bias",
        parameters: &[numbers("bias", &[0.0], "one per component, or one for all")],
        limit: true,
        make: |a| {
            let bias = a.numbers("bias")?;
            match bias {
                [shift] => channel(Bias::new(vec![*shift; a.columns()])?),
                many => channel(Bias::new(many)?),
            }
        },
    },
    Module {
        kind: "gaussian_noise",
        role: Role::Channel,
        summary: "additive Gaussian noise",
        formula: "p(x|z) = N(x; z, variance)",
        parameters: &[number("variance", 1.0, "not negative")],
        limit: true,
        make: |a| channel(GaussianNoise::new(a.number("variance")?)?),
    },
    Module {
        kind: "sum",
        role: Role::Channel,
        summary: "the sum of several inputs",
        formula: "x = Σ_i z_i",
        parameters: &[count("terms", "number of inputs")],
        limit: true,
        make: |a| channel(Sum::new(a.count("terms")?)?),
    },
    Module {
        kind: "duplicate",
        role: Role::Channel,
        summary: "several copies of the input",
        formula: "x_k = z for every k",
        parameters: &[count("copies", "number of outputs")],
        limit: true,
        make: |a| channel(Duplicate::new(a.count("copies")?)?),
    },
];
