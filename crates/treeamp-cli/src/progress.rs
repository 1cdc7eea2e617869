//! How far the work is, on the standard error: a line on a terminal that is drawn again, lines of their own with `--progress`.

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use treeamp::engine::Algorithm;
use treeamp::prelude::{Observer, SweepView};

use treeamp_lab::experiment::TheoryStep;

use crate::common::Common;
use crate::text;

/// Work that takes less than this has no line on a terminal.
const PATIENCE: Duration = Duration::from_secs(1);
/// The sweeps of a run without a limit of its own.
const SWEEPS: usize = 200;

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    /// One line, drawn again.
    Drawn,
    /// Lines of their own, a second apart.
    Lines,
}

/// Progress and time left. While nothing is reported, a thread shows the time so far.
#[derive(Debug)]
pub struct ProgressLine {
    shared: Option<Arc<Shared>>,
    clock: Option<JoinHandle<()>>,
    start: Instant,
    /// What was done before the work started: its pace is that of the rest.
    before: Option<usize>,
}

/// What a line and its clock share.
#[derive(Debug)]
struct Shared {
    line: Mutex<Line>,
    ended: Condvar,
}

/// What is shown.
#[derive(Debug)]
struct Line {
    form: Form,
    start: Instant,
    last: Option<Instant>,
    part: Option<(usize, usize)>,
    /// Something was counted on the line that was written last.
    counted: bool,
    text: String,
    ended: bool,
}

impl ProgressLine {
    /// A line that is not shown yet: on a terminal, or where it is asked for. `what` is being done until something is reported.
    pub fn new(common: &Common, what: &str) -> Self {
        let form = match (common.progress, std::io::stderr().is_terminal()) {
            (_, true) => Some(Form::Drawn),
            (true, false) => Some(Form::Lines),
            (false, false) => None,
        };
        let start = Instant::now();
        let shared = form.map(|form| {
            Arc::new(Shared {
                line: Mutex::new(Line {
                    form,
                    start,
                    last: None,
                    part: None,
                    counted: false,
                    text: what.to_owned(),
                    ended: false,
                }),
                ended: Condvar::new(),
            })
        });
        let clock = shared.as_ref().map(|shared| {
            let shared = Arc::clone(shared);
            thread::spawn(move || shared.tick())
        });
        Self {
            shared,
            clock,
            start,
            before: None,
        }
    }

    /// What is being done now, of which nothing can be counted.
    pub fn say(&mut self, what: &str) {
        self.write(None, what.to_owned());
    }

    /// A sweep of a theory. Where nobody knows how many there will be, the residual says how far it has come.
    pub fn theory(&mut self, step: TheoryStep) {
        if step.sweep == 1 {
            self.start = Instant::now();
        }
        // most theories are over before anybody waits
        if self.start.elapsed() < PATIENCE {
            return;
        }
        let of = step.limit.map_or(String::new(), |n| format!(" of {n}"));
        let rest = step.limit.map_or(0, |n| n.saturating_sub(step.sweep));
        self.say(&format!(
            "state evolution, {}: sweep {}{of}, residual {}{}",
            step.start,
            step.sweep,
            text::residual(step.residual),
            self.left(step.sweep, rest)
        ));
    }

    /// `done` of `total`, with a word on what is counted and the time left.
    pub fn show(&mut self, done: usize, total: usize, what: &str) {
        let before = *self.before.get_or_insert(done);
        let left = self.left(done - before.min(done), total.saturating_sub(done));
        self.write(Some((done, total)), format!("{done}/{total} {what}{left}"));
    }

    /// A sweep of a run that may end before its limit: the time left is at most that.
    fn sweep(&mut self, done: usize, limit: usize, residual: f64, fallback: bool) {
        if fallback {
            let residual = text::residual(residual);
            let text = format!("fallback, step {done}, residual {residual}");
            return self.write(None, text);
        }
        // the first sweep has the set-up before it: its time says nothing of the others
        let before = *self.before.get_or_insert_with(|| {
            self.start = Instant::now();
            done
        });
        let left = self.left(done - before, limit.saturating_sub(done));
        let left = left.replacen(", ", ", at most ", 1);
        let residual = text::residual(residual);
        let text = format!("sweep {done} of at most {limit}, residual {residual}{left}");
        self.write(Some((done, limit)), text);
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

    fn write(&mut self, part: Option<(usize, usize)>, text: String) {
        if let Some(shared) = &self.shared {
            let mut line = shared.lock();
            line.part = part;
            line.text = text;
            line.write();
        }
    }

    /// Clears a drawn line; nothing is shown any more.
    pub fn clear(&mut self) {
        let Some(shared) = self.shared.take() else {
            return;
        };
        shared.lock().ended = true;
        shared.ended.notify_all();
        if let Some(clock) = self.clock.take() {
            // the clock only writes: there is nothing to hear from it
            let _ = clock.join();
        }
        shared.lock().clear();
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the line again and again, until it is over.
    fn tick(&self) {
        let mut line = self.lock();
        while !line.ended {
            let waited = self.ended.wait_timeout(line, PATIENCE);
            line = waited.unwrap_or_else(PoisonError::into_inner).0;
            if !line.ended {
                line.write();
            }
        }
    }
}

impl Line {
    fn write(&mut self) {
        const WIDTH: usize = 30;
        let whole = self.part.is_some_and(|(done, total)| done == total);
        let pause = match self.form {
            Form::Drawn if self.start.elapsed() < PATIENCE => return,
            Form::Drawn => Duration::from_millis(100),
            Form::Lines => PATIENCE,
        };
        // the first and the last of what is counted are written at once
        let begins = self.part.is_some() && !self.counted;
        if self.last.is_some_and(|t| t.elapsed() < pause) && !whole && !begins {
            return;
        }
        self.counted = self.part.is_some();
        self.last = Some(Instant::now());
        let text = self.line();
        let mut out = std::io::stderr();
        // nothing is lost when nobody reads it
        let _ = if self.form == Form::Lines {
            writeln!(out, "{text}")
        } else if let Some((done, total)) = self.part {
            let filled = (WIDTH * done.min(total))
                .checked_div(total)
                .unwrap_or(WIDTH);
            let bar = "=".repeat(filled) + &" ".repeat(WIDTH - filled);
            write!(out, "\r[{bar}] {text}\x1b[K")
        } else {
            write!(out, "\r{text}\x1b[K")
        };
    }

    fn line(&self) -> String {
        match self.start.elapsed().as_secs() {
            0 => self.text.clone(),
            seconds => format!("{}, {seconds} s so far", self.text),
        }
    }

    fn clear(&mut self) {
        if self.form == Form::Drawn && self.last.take().is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
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
            line: ProgressLine::new(common, "drawing the instance and setting up"),
            limit: limit.unwrap_or(SWEEPS),
        }
    }

    /// What is being done before the first sweep.
    pub fn say(&mut self, what: &str) {
        self.line.say(what);
    }
}

impl<A: Algorithm> Observer<A> for Sweeps {
    fn after_sweep(&mut self, view: &SweepView<'_, A>) -> ControlFlow<String> {
        self.line
            .sweep(view.sweep, self.limit, view.residual, view.fallback);
        ControlFlow::Continue(())
    }

    fn looks(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_goes_on_while_nothing_is_counted() {
        let common = Common {
            json: false,
            threads: None,
            progress: true,
        };
        let mut line = ProgressLine::new(&common, "one long piece of work");
        thread::sleep(PATIENCE + PATIENCE / 2);
        let shared = line.shared.clone().expect("progress was asked for");
        assert!(shared.lock().last.is_some());
        assert_eq!(shared.lock().line(), "one long piece of work, 1 s so far");
        line.show(1, 2, "cells");
        assert!(shared.lock().line().starts_with("1/2 cells, "));
        let mut step = TheoryStep {
            start: "informed start",
            sweep: 7,
            limit: None,
            residual: 0.0,
        };
        line.theory(step);
        let said = "state evolution, informed start: sweep 7, residual 0, ";
        assert!(shared.lock().line().starts_with(said));
        step.limit = Some(14);
        line.theory(step);
        let said = shared.lock().line();
        assert!(
            said.contains("sweep 7 of 14") && said.contains(" s left"),
            "{said}"
        );
        // nothing is written once it is over
        line.clear();
        assert!(line.clock.is_none() && shared.lock().ended);
    }
}
