//! How a command ends when it does not end well.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use treeamp::{FactorError, ModelError, RunError};
use treeamp_lab::data::DataError;
use treeamp_lab::experiment::ExperimentError;
use treeamp_lab::spec::SpecError;
use treeamp_lab::sweep::SweepError;

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// The run ended without converging; the output has already said how.
    NotConverged,
    /// The run could not be carried out.
    Run(String),
    /// An option, a model or data that are wrong.
    Usage(String),
    /// Something could not be read or written.
    File(String),
    /// Whoever read the output went away.
    Hangup,
}

impl Failure {
    /// The failure to write a file.
    pub fn writing(path: &Path, error: &io::Error) -> Self {
        Self::File(format!("cannot write {}: {error}", path.display()))
    }

    /// The same, with the file in front unless it is named already.
    pub fn in_file(self, file: &str) -> Self {
        let named = |text: String| {
            if text.starts_with(file) {
                text
            } else {
                format!("{file}: {text}")
            }
        };
        match self {
            Self::Run(text) => Self::Run(named(text)),
            Self::Usage(text) => Self::Usage(named(text)),
            other => other,
        }
    }

    /// What to say about it.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::NotConverged | Self::Hangup => None,
            Self::Run(text) | Self::Usage(text) | Self::File(text) => Some(text),
        }
    }

    /// The exit code.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Hangup => 0,
            Self::NotConverged | Self::Run(_) => 1,
            Self::Usage(_) => 2,
            Self::File(_) => 3,
        })
    }
}

/// A failure of the standard output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Hangup,
            _ => Self::File(format!("cannot write the output: {error}")),
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
            // the library calls the option by its own name
            RunError::Memory { .. } => {
                let here = "`--memory-limit` of `run`, or `memory_limit` under `[run]`";
                Self::Usage(error.to_string().replace("option `memory_limit`", here))
            }
            // a factor without the rule is a wrong model; one whose rule failed is not
            RunError::Factor {
                source: FactorError::Unsupported(_),
                ..
            } => Self::Usage(error.to_string()),
            RunError::Factor { .. } | RunError::NotReached { .. } => Self::Run(error.to_string()),
            _ => Self::Usage(error.to_string()),
        }
    }
}

impl From<SpecError> for Failure {
    fn from(error: SpecError) -> Self {
        if error.unreadable {
            Self::File(error.to_string())
        } else {
            Self::Usage(error.to_string())
        }
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        match error {
            DataError::File { .. } => Self::File(error.to_string()),
            _ => Self::Usage(error.to_string()),
        }
    }
}

impl From<ExperimentError> for Failure {
    fn from(error: ExperimentError) -> Self {
        match error {
            ExperimentError::Spec(e) => e.into(),
            ExperimentError::Model(e) => e.into(),
            ExperimentError::Run(e) => e.into(),
            other => Self::Run(other.to_string()),
        }
    }
}

impl From<SweepError> for Failure {
    fn from(error: SweepError) -> Self {
        match error {
            SweepError::File { .. } | SweepError::Busy { .. } => Self::File(error.to_string()),
            SweepError::OtherConfiguration { .. } => Self::Usage(format!(
                "{error}; --force starts afresh, another --output keeps both"
            )),
            _ => Self::Usage(error.to_string()),
        }
    }
}
