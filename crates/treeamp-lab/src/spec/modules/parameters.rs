//! Short forms of the parameters that entries declare.

use crate::spec::module::{Fallback, Parameter, ParameterKind};

pub(super) const SIZE: Parameter = Parameter {
    name: "size",
    kind: ParameterKind::Shape,
    fallback: Fallback::Required,
    doc: "number of components, or a list of sizes",
};

pub(super) const fn number(name: &'static str, default: f64, doc: &'static str) -> Parameter {
    Parameter {
        name,
        kind: ParameterKind::Number,
        fallback: Fallback::Number(default),
        doc,
    }
}

pub(super) const fn numbers(
    name: &'static str,
    default: &'static [f64],
    doc: &'static str,
) -> Parameter {
    Parameter {
        name,
        kind: ParameterKind::Numbers,
        fallback: Fallback::Numbers(default),
        doc,
    }
}

pub(super) const fn count(name: &'static str, doc: &'static str) -> Parameter {
    Parameter {
        name,
        kind: ParameterKind::Count,
        fallback: Fallback::Count(2),
        doc,
    }
}

pub(super) const fn data(name: &'static str, doc: &'static str) -> Parameter {
    Parameter {
        name,
        kind: ParameterKind::Data,
        fallback: Fallback::Required,
        doc,
    }
}

pub(super) const fn matrix(doc: &'static str) -> Parameter {
    Parameter {
        name: "matrix",
        kind: ParameterKind::Matrix,
        fallback: Fallback::Required,
        doc,
    }
}
