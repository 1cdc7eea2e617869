//! What can be wrong with a model file.

use thiserror::Error;
use treeamp::error::ModelError;

use crate::data::DataError;

/// Why a factor cannot be made: its parameters, or a data file of one of them.
#[derive(Debug)]
pub(super) enum MakeError {
    Model(ModelError),
    Data {
        key: &'static str,
        source: DataError,
    },
}

impl From<ModelError> for MakeError {
    fn from(error: ModelError) -> Self {
        Self::Model(error)
    }
}

/// A model file that cannot be used: which file, which line, which key.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{}{}", place(.file, *.line, .key), .reason)]
pub struct SpecError {
    /// The file.
    pub file: String,
    /// The line, from 1; 0 when no line is to blame.
    pub line: usize,
    /// The key, with dots from the top; empty when no key is to blame.
    pub key: String,
    /// What was expected and what came.
    pub reason: String,
    /// It is a file that could not be read, not a wrong content.
    pub unreadable: bool,
}

fn place(file: &str, line: usize, key: &str) -> String {
    let line = if line > 0 {
        format!(":{line}")
    } else {
        String::new()
    };
    let key = if key.is_empty() {
        String::new()
    } else {
        format!("`{key}`: ")
    };
    format!("{file}{line}: {key}")
}
