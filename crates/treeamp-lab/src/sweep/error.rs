//! What can go wrong around a sweep.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a sweep cannot start or go on. A cell that fails is a row with its reason, not an error.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SweepError {
    /// A grid that makes no sense.
    #[error("grid `{axis}`: expected {expected}, got {got}")]
    Grid {
        /// The axis, or what stands for it.
        axis: String,
        /// What would have been right.
        expected: String,
        /// What was given.
        got: String,
    },
    /// A file that cannot be read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A journal of something else.
    #[error("journal {}: it belongs to another configuration: {difference}", .path.display())]
    OtherConfiguration {
        /// The journal.
        path: PathBuf,
        /// The first key that differs, with both values.
        difference: String,
    },
    /// A file that is not a journal, or a damaged one.
    #[error("journal {}, line {line}: {reason}", .path.display())]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What was expected and what came.
        reason: String,
    },
    /// A journal that another process writes.
    #[error("journal {}: another process is writing it", .path.display())]
    Busy {
        /// The journal.
        path: PathBuf,
    },
    /// Parts that do not make a whole.
    #[error("cannot merge: {reason}")]
    Merge {
        /// Why not.
        reason: String,
    },
}

impl SweepError {
    pub(super) fn file(path: &Path, source: io::Error) -> Self {
        Self::File {
            path: path.to_owned(),
            source,
        }
    }
}
