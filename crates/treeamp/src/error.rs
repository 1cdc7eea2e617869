//! The errors of the library: [`ModelError`], [`FactorError`], [`RunError`].

use thiserror::Error;

/// What is wrong with a parameter given to a constructor.
pub(crate) fn parameter(
    module: &'static str,
    name: &'static str,
    expected: &'static str,
    got: impl std::fmt::Display,
) -> ModelError {
    ModelError::Parameter {
        module: module.to_owned(),
        name,
        expected,
        got: got.to_string(),
    }
}

/// A model that cannot be built, conditioned or sampled.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A parameter out of its range.
    #[error("{module}: parameter `{name}` must be {expected}, got {got}")]
    Parameter {
        /// The module's catalogue name.
        module: String,
        /// The parameter's name.
        name: &'static str,
        /// What would have been right.
        expected: &'static str,
        /// What was given.
        got: String,
    },
}
