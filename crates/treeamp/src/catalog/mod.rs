//! The modules: one law per file, with its entry `MODULE` beside it, and one line in a list.
//!
//! A law is in the catalogue when it has a line in one of the lists `for_each_prior!`, `for_each_penalty!`,
//! `for_each_channel!`, `for_each_linear!`, `for_each_low_rank!`, `for_each_shape!`, `for_each_likelihood!`, `for_each_row_likelihood!` and `for_each_loss!`, which stand in the `mod.rs` of their
//! folders. A list calls a macro of yours with `name(MODULE) => instance` for every law. [`modules`] is made of such
//! calls, and so are the conformance tests. Model files, the command line and the Python package know no other list.

mod arguments;
pub mod channels;
mod gaussian_tilt;
pub mod likelihoods;
pub mod losses;
pub mod module;
pub mod operators;
pub mod penalties;
pub mod priors;

pub use arguments::{Argument, Arguments, ArrayArgument, MatrixArgument, Size};
pub use module::{Domain, Made, Module, Parameter, ParameterKind, Preset, Role, Signals};

/// The entries of a list.
macro_rules! entries {
    ($($name:ident $(($module:expr))? => $law:expr $(, $more:tt)?;)*) => { &[$($($module,)?)*] };
}

/// All entries, list by list.
static MODULES: &[&[Module]] = &[
    crate::for_each_prior!(entries),
    crate::for_each_complex_prior!(entries),
    crate::for_each_penalty!(entries),
    crate::for_each_channel!(entries),
    crate::for_each_complex_channel!(entries),
    crate::for_each_likelihood!(entries),
    crate::for_each_complex_likelihood!(entries),
    crate::for_each_row_likelihood!(entries),
    crate::for_each_loss!(entries),
    crate::for_each_linear!(entries),
    crate::for_each_low_rank!(entries),
    crate::for_each_shape!(entries),
];

/// All modules, priors first.
pub fn modules() -> impl Iterator<Item = &'static Module> {
    MODULES.iter().copied().flatten()
}

/// The module of a name, or of one of its other names.
#[must_use]
pub fn module(name: &str) -> Option<&'static Module> {
    modules().find(|m| m.name == name || m.aliases.contains(&name))
}

/// The likelihood of a channel's output.
///
/// # Errors
/// If the channel has none.
// public because lines of the lists have it, which tests expand
#[doc(hidden)]
pub fn observed<C: crate::scalar::ScalarChannel>(
    channel: &C,
) -> Result<C::Likelihood, crate::ModelError> {
    channel.likelihood().ok_or_else(|| {
        crate::error::parameter(
            "observed",
            "channel",
            "one whose output can be observed",
            channel.name(),
        )
    })
}
