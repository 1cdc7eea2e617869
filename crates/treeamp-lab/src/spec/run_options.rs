//! The options of a run, as a model file sets them.

use std::str::FromStr;

use treeamp::error::RunError;

use super::SpecError;
use super::file::{ModelFile, Reader, path};
use super::node::{Content, Entry};

/// The options of a run that a file can set to numbers.
pub(super) const RUN_NUMBERS: [&str; 4] = ["max_sweeps", "tolerance", "start_noise", "seed"];
/// All that it can set.
const RUN_OPTIONS: [&str; 6] = [
    "max_sweeps",
    "tolerance",
    "damping",
    "fallback",
    "start_noise",
    "seed",
];

impl Reader<'_> {
    /// The options of `[run]`: numbers, and two that have names.
    pub(super) fn options(&self, entry: &Entry, file: &mut ModelFile) -> Result<(), SpecError> {
        let entries = self.table(entry, "")?;
        self.known(entries, "run", "option", &RUN_OPTIONS)?;
        for e in entries {
            match e.key.as_str() {
                "damping" => file.damping = Some(self.named(e)?),
                "fallback" => file.fallback = Some(self.named(e)?),
                _ => file.run.push(self.number("run", e)?),
            }
        }
        Ok(())
    }

    /// An option that reads itself from a name or a number.
    fn named<T: FromStr<Err = RunError>>(&self, e: &Entry) -> Result<T, SpecError> {
        let text = match &e.node.content {
            Content::Text(text) => Some(text.clone()),
            _ => e.node.number().map(|x| x.to_string()),
        };
        let key = path("run", &e.key);
        let text = text.ok_or_else(|| self.expected(&e.node, &key, "a name or a number"))?;
        text.parse().map_err(|error| match error {
            RunError::Option { expected, got, .. } => {
                self.error(e.line, &key, format!("expected {expected}, got {got}"))
            }
            other => self.error(e.line, &key, other.to_string()),
        })
    }
}
