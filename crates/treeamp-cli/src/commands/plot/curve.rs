//! `treeamp plot curve`: an error against a parameter.

use std::path::{Path, PathBuf};

use clap::Args;
use treeamp_lab::data::read_at_most;
use treeamp_lab::sweep::Table;

use super::Target;
use crate::common::Common;
use crate::exit::Failure;
use crate::pictures::curve::Curve;

/// What is drawn of a table.
#[derive(Debug, Args)]
pub struct CurveArgs {
    /// The table of a sweep (.csv)
    #[arg(value_name = "FILE")]
    table: PathBuf,
    /// The column of the horizontal axis
    #[arg(long, default_value = "alpha")]
    x: String,
    /// The column of the vertical axis
    #[arg(long, default_value = "mse_x")]
    y: String,
    /// One panel for every value of this column; may be given several times
    #[arg(long, value_name = "COLUMN")]
    by: Vec<String>,
    /// Logarithmic vertical axis
    #[arg(long)]
    log: bool,
    /// The title
    #[arg(long, default_value = "")]
    title: String,
    #[command(flatten)]
    target: Target,
}

impl CurveArgs {
    /// Draws it.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        self.target.check()?;
        let table = read_table(&self.table)?;
        let curve = Curve {
            x: self.x.clone(),
            y: self.y.clone(),
            log: self.log,
            title: self.title.clone(),
        };
        let figure = curve.figure(&table, &self.by);
        let figure =
            figure.map_err(|e| Failure::Usage(format!("{}: {e}", self.table.display())))?;
        self.target.draw(&figure, common)
    }
}

/// A table of comma-separated values, quotes and all.
fn read_table(path: &Path) -> Result<Table, Failure> {
    /// A table of more than this, a gigabyte, cannot be drawn.
    const LARGEST: u64 = 1 << 30;
    let bytes = read_at_most(path, LARGEST)
        .map_err(|e| Failure::File(format!("{}: {e}", path.display())))?;
    let text = String::from_utf8_lossy(&bytes);
    Table::from_csv(&text).map_err(|e| Failure::Usage(format!("{}: {e}", path.display())))
}
