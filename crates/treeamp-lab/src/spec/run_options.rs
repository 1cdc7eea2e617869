//! The options of a run, as a model file sets them.

use std::str::FromStr;

use treeamp::engine::Damping;
use treeamp::error::RunError;

use super::SpecError;
use super::file::{ModelFile, Reader, path};
use super::node::{Content, Entry, Node};

/// The options of a run that a file can set to numbers.
pub(super) const RUN_NUMBERS: [&str; 6] = [
    "max_sweeps",
    "tolerance",
    "gap",
    "start_noise",
    "seed",
    "memory_limit",
];
/// All that it can set.
const RUN_OPTIONS: [&str; 9] = [
    "max_sweeps",
    "tolerance",
    "gap",
    "damping",
    "steps",
    "fallback",
    "start_noise",
    "seed",
    "memory_limit",
];

impl Reader<'_> {
    /// The options of `[run]`: numbers, steps in place of a damping, and two that have names.
    pub(super) fn options(&self, entry: &Entry, file: &mut ModelFile) -> Result<(), SpecError> {
        let entries = self.table(entry, "")?;
        self.known(entries, "run", "option", &RUN_OPTIONS)?;
        for e in entries {
            match e.key.as_str() {
                "damping" | "steps" if file.damping.is_some() => {
                    let reason = "expected `damping` or `steps`, got both".to_owned();
                    return Err(self.error(e.line, &path("run", &e.key), reason));
                }
                "damping" => file.damping = Some(self.named(e)?),
                "steps" => file.damping = Some(Damping::Steps(self.steps(e)?)),
                "fallback" => file.fallback = Some(self.named(e)?),
                _ => file.run.push(self.number("run", e)?),
            }
        }
        Ok(())
    }

    fn steps(&self, e: &Entry) -> Result<Vec<f64>, SpecError> {
        let key = path("run", &e.key);
        let refuse = |node: &Node| self.expected(node, &key, "a list of numbers in (0, 1]");
        let Content::List(list) = &e.node.content else {
            return Err(refuse(&e.node));
        };
        if list.is_empty() {
            return Err(self.error(
                e.line,
                &key,
                "expected at least one step, got none".to_owned(),
            ));
        }
        let step = |node: &Node| {
            let step = node.number().filter(|x| *x > 0.0 && *x <= 1.0);
            step.ok_or_else(|| refuse(node))
        };
        list.iter().map(step).collect()
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
