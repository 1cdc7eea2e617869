//! `treeamp merge`: one table from the journals of a sweep's parts.

use std::path::PathBuf;

use clap::Args;
use treeamp_lab::sweep::SweepError;

use crate::common::Common;
use crate::exit::Failure;
use crate::output::{check_name, refuse_existing, save};

/// Join the parts of a sweep into its table.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  treeamp sweep m.toml --grid alpha=0.1:1:46 --output t.csv --shard 1/2
  treeamp sweep m.toml --grid alpha=0.1:1:46 --output t.csv --shard 2/2
  treeamp merge t.csv.1-of-2.journal t.csv.2-of-2.journal --output t.csv

Exit codes:
  0 done, 2 the parts do not fit or some cells are missing, 3 something could not be read or written")]
pub struct Merge {
    /// The journals
    #[arg(value_name = "JOURNAL", required = true)]
    parts: Vec<PathBuf>,
    /// The table
    #[arg(long, short, value_name = "FILE", default_value = "sweep.csv")]
    output: PathBuf,
    /// Write the table even if cells are missing
    #[arg(long)]
    partial: bool,
    /// Replace a table that exists
    #[arg(long)]
    force: bool,
}

impl Merge {
    /// Joins them.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        check_name(&self.output, &["csv"])?;
        refuse_existing(&self.output, self.force)?;
        let merged = treeamp_lab::sweep::merge(&self.parts).map_err(|error| match error {
            // no option of this command can help
            SweepError::OtherConfiguration { .. } => {
                Failure::Usage(format!("{error}; expected the journals of one sweep"))
            }
            other => other.into(),
        })?;
        let grid = super::sweep::grid_of(&merged)?;
        let records = merged.records;
        let known = |r: &treeamp_lab::sweep::Record| grid.cells().iter().any(|c| c.key == r.key);
        let finished = records.iter().filter(|r| known(r)).count();
        let missing = grid.cells().len() - finished;
        if missing > 0 && !self.partial {
            let total = grid.cells().len();
            let text = format!(
                "{missing} of {total} cells are missing: expected all parts; --partial joins what there is"
            );
            return Err(Failure::Usage(text));
        }
        let table = treeamp_lab::sweep::Table::of(&grid, &records);
        save(&self.output, table.to_csv().as_bytes())?;
        super::sweep::report(&records, &self.output, common.json)
    }
}
