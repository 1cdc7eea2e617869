//! How a command ends when it does not end well.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use treeamp::{ModelError, RunError};

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// The run ended without converging; the output has already said how.
    NotConverged,
    /// The run could not be carried out.
    Run(String),
    /// An option out of range.
    Usage(String),
    /// Something could not be written.
    Write(String),
    /// Whoever read the output went away.
    Hangup,
}

impl Failure {
    /// The failure to write a file.
    pub fn writing(path: &Path, error: &io::Error) -> Self {
        Self::Write(format!("cannot write {}: {error}", path.display()))
    }

    /// What to say about it.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::NotConverged | Self::Hangup => None,
            Self::Run(text) | Self::Usage(text) | Self::Write(text) => Some(text),
        }
    }

    /// The exit code.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Hangup => 0,
            Self::NotConverged | Self::Run(_) => 1,
            Self::Usage(_) => 2,
            Self::Write(_) => 3,
        })
    }
}

/// A failure of the standard output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Hangup,
            _ => Self::Write(format!("cannot write the output: {error}")),
        }
    }
}

/// The model comes from the options.
impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Option { .. } | RunError::Model(_) => Self::Usage(error.to_string()),
            _ => Self::Run(error.to_string()),
        }
    }
}
