//! The modules that a model file can name, one entry each, in a file per kind.

mod activations;
mod channels;
mod operators;
mod parameters;
mod penalties;
mod priors;
mod shapes;

use std::sync::Arc;

use treeamp::factor::Factor;

use super::error::MakeError;
use super::module::Module;
use super::nearest::unknown;

type Made = Result<Arc<dyn Factor>, MakeError>;

/// All modules, priors first.
pub fn modules() -> impl Iterator<Item = &'static Module> {
    let groups = [
        priors::PRIORS,
        penalties::PENALTIES,
        channels::CHANNELS,
        activations::ACTIVATIONS,
        operators::OPERATORS,
        shapes::SHAPES,
    ];
    groups.into_iter().flatten()
}

/// The module of a name.
#[must_use]
pub fn module(kind: &str) -> Option<&'static Module> {
    modules().find(|m| m.kind == kind)
}

/// What to say of a name that no module has.
#[must_use]
pub fn unknown_module(name: &str) -> String {
    let kinds: Vec<&str> = modules().map(|m| m.kind).collect();
    unknown("module", name, &kinds)
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "every entry makes its factor the same way"
)]
fn channel(factor: impl Factor) -> Made {
    Ok(Arc::new(factor))
}
