//! What every command takes.

use clap::Args;
use treeamp_lab::sweep::available_threads;

use crate::number as parse;

/// The options of every command.
#[derive(Debug, Clone, Copy, Args)]
pub struct Common {
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// Threads: of the cells of sweeps and phase diagrams, and of large matrices in a single run; by default all cores. Results do not
    /// depend on their number
    #[arg(long, global = true, value_name = "N", value_parser = parse::count, allow_negative_numbers = true)]
    pub threads: Option<usize>,
    /// Show progress and the time left even if the standard error is not a terminal, a line a second
    #[arg(long, global = true)]
    pub progress: bool,
}

impl Common {
    /// The threads that were asked for, or all cores.
    pub fn threads(&self) -> usize {
        self.threads.unwrap_or_else(available_threads)
    }
}
