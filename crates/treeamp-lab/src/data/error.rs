//! What can go wrong with a data file.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// A data file that cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DataError {
    /// It cannot be read.
    #[error("{}: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It does not hold what it should.
    #[error("{path}: {reason}")]
    Content {
        /// The file, with the name of the array.
        path: String,
        /// What was expected and what came.
        reason: String,
    },
}
