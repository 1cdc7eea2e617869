//! `treeamp plot curve`: an error against a parameter.

use std::path::{Path, PathBuf};

use clap::Args;
use treeamp_lab::data::read_at_most;
use treeamp_lab::sweep::Table;

use super::Target;
use crate::common::Common;
use crate::exit::Failure;
use crate::output::note;
use crate::pictures::curve::{Curve, aligned, error, others, said, varied};

/// What is drawn of a table.
#[derive(Debug, Args)]
pub struct CurveArgs {
    /// The table of a sweep (.csv)
    #[arg(value_name = "FILE")]
    table: PathBuf,
    /// The column of the horizontal axis; by default the parameter that varies
    #[arg(long)]
    x: Option<String>,
    /// The column of the vertical axis; by default the error of the first variable, up to its sign, phase or order where runs lost that
    #[arg(long)]
    y: Option<String>,
    /// One panel for every value of this column; may be given several times. By default every parameter that varies beside --x
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
        let or = |given: &Option<String>, found: Option<&str>, usual: &str| {
            let found = || found.unwrap_or(usual).to_owned();
            given.clone().unwrap_or_else(found)
        };
        if let Some(y) = &self.y
            && let Some(better) = aligned(&table, y)
        {
            note(&format!(
                "`{y}` is not up to the symmetry of the model, which some runs lost: --y {better} is"
            ));
        }
        let curve = Curve {
            x: or(&self.x, varied(&table), "alpha"),
            y: or(&self.y, error(&table), "mse_x"),
            log: self.log,
            title: self.title.clone(),
        };
        let by = if self.by.is_empty() {
            others(&table, &curve.x)
        } else {
            self.by.clone()
        };
        let figure = curve.figure(&table, &by);
        let figure =
            figure.map_err(|e| Failure::Usage(format!("{}: {e}", self.table.display())))?;
        let said = said(&table);
        let said: Vec<(&str, &str)> = said.iter().map(|(n, text)| (*n, text.as_str())).collect();
        self.target.draw_of(&figure, &said, common)
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
