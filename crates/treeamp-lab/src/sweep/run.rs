//! Running the cells of a sweep on several threads.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use treeamp::with_threads;

use super::{Cell, Journal, Record, Row, SweepError};

/// How far a sweep is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Cells that are finished, earlier runs included.
    pub finished: usize,
    /// Of them, those that failed.
    pub failed: usize,
    /// All cells.
    pub total: usize,
}

/// The number of threads the machine can run at once.
#[must_use]
pub fn available_threads() -> usize {
    thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Runs `work` on every cell that the journal does not have yet, on `threads` threads, and returns the
/// records of all cells in their order. A cell whose work fails or panics is a record with its reason.
///
/// A finished cell is in the journal before its progress is shown.
///
/// # Errors
/// When the journal cannot be written; cells that finished before are in it.
pub fn run(
    cells: &[Cell],
    threads: usize,
    mut journal: Option<&mut Journal>,
    work: impl Fn(&Cell) -> Result<Vec<Row>, String> + Sync,
    mut on_progress: impl FnMut(Progress),
) -> Result<Vec<Record>, SweepError> {
    let mut done: BTreeMap<String, Record> = BTreeMap::new();
    if let Some(journal) = &journal {
        let wanted = cells.iter().filter_map(|c| journal.finished(&c.key));
        done.extend(wanted.map(|r| (r.key.clone(), r.clone())));
    }
    let missing: Vec<&Cell> = cells
        .iter()
        .filter(|c| !done.contains_key(&c.key))
        .collect();
    let mut progress = Progress {
        finished: done.len(),
        failed: done.values().filter(|r| r.rows.is_err()).count(),
        total: cells.len(),
    };
    on_progress(progress);
    let next = AtomicUsize::new(0);
    let give_up = AtomicBool::new(false);
    let (sender, receiver) = mpsc::channel();
    let outcome = thread::scope(|scope| {
        for _ in 0..threads.clamp(1, missing.len().max(1)) {
            let (sender, next, missing, work, give_up) =
                (sender.clone(), &next, &missing, &work, &give_up);
            let one_by_one = move || {
                while !give_up.load(Ordering::Relaxed) {
                    let Some(cell) = missing.get(next.fetch_add(1, Ordering::Relaxed)) else {
                        break;
                    };
                    if sender.send(carry_out(cell, work)).is_err() {
                        break;
                    }
                }
            };
            // cells are many: each keeps to its own thread
            scope.spawn(move || with_threads(1, one_by_one));
        }
        drop(sender);
        for record in receiver {
            if let Some(journal) = journal.as_deref_mut()
                && let Err(error) = journal.append(&record)
            {
                give_up.store(true, Ordering::Relaxed);
                return Err(error);
            }
            progress.finished += 1;
            progress.failed += usize::from(record.rows.is_err());
            done.insert(record.key.clone(), record);
            on_progress(progress);
        }
        Ok(())
    });
    outcome?;
    Ok(cells.iter().filter_map(|c| done.remove(&c.key)).collect())
}

/// One cell, with its time. A panic ends the cell, not the sweep.
fn carry_out(cell: &Cell, work: &impl Fn(&Cell) -> Result<Vec<Row>, String>) -> Record {
    let clock = Instant::now();
    let rows = catch_unwind(AssertUnwindSafe(|| work(cell))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("internal error: {}", text.unwrap_or("no message")))
    });
    Record {
        key: cell.key.clone(),
        rows,
        seconds: clock.elapsed().as_secs_f64(),
    }
}
