//! How far the work is, on the standard error: a line on a terminal that is drawn again, lines of their own with `--progress`.

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use treeamp::engine::Algorithm;
use treeamp::prelude::{Observer, SweepView};

use crate::common::Common;

/// Work that takes less than this has no line on a terminal.
const PATIENCE: Duration = Duration::from_secs(1);
/// The sweeps of a run without a limit of its own.
const SWEEPS: usize = 200;

/// Where the progress goes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    /// Nowhere.
    Silent,
    /// One line, drawn again.
    Drawn,
    /// Lines of their own, a second apart.
    Lines,
}

/// How far the work is, and how long the rest takes.
#[derive(Debug)]
pub struct ProgressLine {
    form: Form,
    start: Instant,
    last: Option<Instant>,
    /// What was done before the work started: its pace is that of the rest.
    before: Option<usize>,
}

impl ProgressLine {
    /// A line that is not shown yet: on a terminal, or where it is asked for.
    pub fn new(common: &Common) -> Self {
        let form = match (common.progress, std::io::stderr().is_terminal()) {
            (_, true) => Form::Drawn,
            (true, false) => Form::Lines,
            (false, false) => Form::Silent,
        };
        Self {
            form,
            start: Instant::now(),
            last: None,
            before: None,
        }
    }

    /// `done` of `total`, with a word on what is counted and the time left.
    pub fn show(&mut self, done: usize, total: usize, what: &str) {
        let before = *self.before.get_or_insert(done);
        let left = self.left(done - before.min(done), total.saturating_sub(done));
        self.write(Some((done, total)), &format!("{done}/{total} {what}{left}"));
    }

    /// A sweep of a run that may end before its limit: the time left is at most that.
    fn sweep(&mut self, done: usize, limit: usize, residual: f64, fallback: bool) {
        if fallback {
            let elapsed = self.start.elapsed().as_secs();
            let text =
                format!("fallback, step {done}, residual {residual:.1e}, {elapsed} s so far");
            return self.write(None, &text);
        }
        let before = *self.before.get_or_insert(0);
        let left = self.left(done - before, limit.saturating_sub(done));
        let left = left.replacen(", ", ", at most ", 1);
        let text = format!("sweep {done} of at most {limit}, residual {residual:.1e}{left}");
        self.write(Some((done, limit)), &text);
    }

    /// The time that the rest takes at the pace of what was done.
    fn left(&self, done: usize, rest: usize) -> String {
        if done == 0 || rest == 0 {
            return String::new();
        }
        let seconds = self.start.elapsed().as_secs_f64() * rest as f64 / done as f64;
        match seconds {
            s if s < 100.0 => format!(", {s:.0} s left"),
            s if s < 6000.0 => format!(", {:.0} minutes left", s / 60.0),
            s => format!(", {:.0} hours left", s / 3600.0),
        }
    }

    fn write(&mut self, part: Option<(usize, usize)>, text: &str) {
        const WIDTH: usize = 30;
        let whole = part.is_some_and(|(done, total)| done == total);
        let pause = match self.form {
            Form::Silent => return,
            Form::Drawn if self.start.elapsed() < PATIENCE => return,
            Form::Drawn => Duration::from_millis(100),
            Form::Lines => Duration::from_secs(1),
        };
        if self.last.is_some_and(|t| t.elapsed() < pause) && !whole {
            return;
        }
        self.last = Some(Instant::now());
        let mut out = std::io::stderr();
        // nothing is lost when nobody reads it
        let _ = if self.form == Form::Lines {
            writeln!(out, "{text}")
        } else if let Some((done, total)) = part {
            let filled = (WIDTH * done.min(total))
                .checked_div(total)
                .unwrap_or(WIDTH);
            let bar = "=".repeat(filled) + &" ".repeat(WIDTH - filled);
            write!(out, "\r[{bar}] {text}\x1b[K")
        } else {
            write!(out, "\r{text}\x1b[K")
        };
    }

    /// Clears a drawn line.
    pub fn clear(&mut self) {
        if self.form == Form::Drawn && self.last.take().is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Shows the sweeps of a run.
#[derive(Debug)]
pub struct Sweeps {
    line: ProgressLine,
    limit: usize,
}

impl Sweeps {
    /// Of a run with at most so many sweeps.
    pub fn new(common: &Common, limit: Option<usize>) -> Self {
        Self {
            line: ProgressLine::new(common),
            limit: limit.unwrap_or(SWEEPS),
        }
    }
}

impl<A: Algorithm> Observer<A> for Sweeps {
    fn after_sweep(&mut self, view: &SweepView<'_, A>) -> ControlFlow<String> {
        self.line
            .sweep(view.sweep, self.limit, view.residual, view.fallback);
        ControlFlow::Continue(())
    }
}
