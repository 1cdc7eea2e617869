//! What can go wrong with an experiment.

use thiserror::Error;
use treeamp::{ModelError, RunError};

use crate::spec::SpecError;

/// An experiment that cannot be done.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// The model file is wrong.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The model cannot be sampled or conditioned.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The algorithm cannot run.
    #[error(transparent)]
    Run(#[from] RunError),
}
