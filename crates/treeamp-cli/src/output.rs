//! What a command leaves: text on the standard output, files that are kept unless told otherwise.

use std::io::{IsTerminal, Write};
use std::path::Path;

use treeamp_lab::data::write_whole;

use crate::exit::Failure;

/// Writes to the standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    write!(std::io::stdout(), "{text}")?;
    Ok(())
}

/// Says something on the standard error, in a line of its own.
pub fn note(text: &str) {
    // nobody is left to tell when this cannot be written
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Warns of something that is allowed, and is probably not meant.
pub fn warn(text: &str) {
    note(&format!("warning: {text}"));
}

/// Refuses an output that exists, before any work is done.
pub fn refuse_existing(path: &Path, force: bool) -> Result<(), Failure> {
    if !force && path.exists() {
        let text = format!("{} exists already; --force replaces it", path.display());
        return Err(Failure::Usage(text));
    }
    Ok(())
}

/// Refuses a report whose name is not that of a page, or that exists.
pub fn check_report(path: &Path, force: bool) -> Result<(), Failure> {
    let page =
        |e: &std::ffi::OsStr| e.eq_ignore_ascii_case("html") || e.eq_ignore_ascii_case("htm");
    if !path.extension().is_some_and(page) {
        let text = format!("{}: expected a name that ends in .html", path.display());
        return Err(Failure::Usage(text));
    }
    refuse_existing(path, force)
}

/// Writes a file whole, or not at all.
pub fn save(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_whole(path, bytes).map_err(|error| Failure::writing(path, &error))
}

/// A line on the terminal that says how far the work is; silent elsewhere.
pub struct ProgressLine {
    shown: bool,
    last: std::time::Instant,
}

impl ProgressLine {
    /// A line that is not shown yet.
    pub fn new() -> Self {
        Self {
            shown: std::io::stderr().is_terminal(),
            last: std::time::Instant::now(),
        }
    }

    /// `done` of `total`, with a note; redrawn ten times a second at most.
    pub fn show(&mut self, done: usize, total: usize, note: &str) {
        const WIDTH: usize = 30;
        let due = self.last.elapsed().as_millis() >= 100 || done == total;
        if !self.shown || !due {
            return;
        }
        self.last = std::time::Instant::now();
        let filled = (WIDTH * done).checked_div(total).unwrap_or(WIDTH);
        let bar = "=".repeat(filled) + &" ".repeat(WIDTH - filled);
        // nothing is lost when the terminal is gone
        let _ = write!(std::io::stderr(), "\r[{bar}] {done}/{total} {note}\x1b[K");
    }

    /// Clears the line.
    pub fn clear(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
