//! Other shapes, pieces and joined pieces.

use treeamp::prelude::*;

use super::channel;
use super::parameters::count;
use crate::spec::module::{Fallback, Module, Parameter, ParameterKind, Role};

pub(super) const SHAPES: &[Module] = &[
    Module {
        kind: "reshape",
        role: Role::Channel,
        summary: "another shape",
        formula: "x = z, entries in the same order",
        parameters: &[Parameter {
            name: "shape",
            kind: ParameterKind::Shape,
            fallback: Fallback::Required,
            doc: "as many entries as before",
        }],
        limit: false,
        make: |a| channel(Reshape::to(a.shape("shape")?)),
    },
    Module {
        kind: "concatenate",
        role: Role::Channel,
        summary: "several inputs end to end",
        formula: "x = (z_1, z_2, ...)",
        parameters: &[count("inputs_count", "number of inputs")],
        limit: false,
        make: |a| channel(Concatenate::new(a.count("inputs_count")?)?),
    },
    Module {
        kind: "split",
        role: Role::Channel,
        summary: "several pieces of the input",
        formula: "(x_1, x_2, ...) = z",
        parameters: &[Parameter {
            name: "sizes",
            kind: ParameterKind::Shape,
            fallback: Fallback::Required,
            doc: "a list: the size of every piece",
        }],
        limit: false,
        make: |a| channel(Split::new(a.shape("sizes")?.to_vec())?),
    },
];
