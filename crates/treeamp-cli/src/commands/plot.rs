//! `treeamp plot`: pictures of tables, runs and phases.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use treeamp::RunError;
use treeamp::algorithms::state_evolution::phases::{
    Search, algorithmic_threshold, information_threshold,
};
use treeamp_lab::experiment::{infer, theory};
use treeamp_lab::figure::Figure;
use treeamp_lab::spec::{ModelFile, Setting};
use treeamp_lab::sweep::{Axis, Cell, Grid, Row, Table, Value, available_threads, run};

use super::run::{How, file_seed};
use crate::exit::Failure;
use crate::model::ModelArgs;
use crate::number as parse;
use crate::output::{ProgressLine, print, refuse_existing, save};
use crate::pictures::curve::Curve;
use crate::pictures::phases::{self, Column};

/// Draw a table of a sweep, a run, or a phase diagram, as SVG or PNG.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  treeamp plot curve sweep.csv --x alpha --y mse_x --log --output curve.svg
  treeamp plot run models/sparse_regression.toml --output run.png
  treeamp plot phases models/compressed_sensing.toml --x rho=0.05:0.95:64 --y alpha=0.02:0.98:64

Exit codes:
  0 done, 2 bad input, 3 something could not be read or written")]
pub struct Plot {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// An error against a parameter, from the table of a sweep: runs with error bars, theory as a line
    Curve(CurveArgs),
    /// The signal and the convergence of one run
    Run(RunArgs),
    /// Where a signal is impossible, hard or easy to recover, with boundaries from the threshold routines
    Phases(PhaseArgs),
}

#[derive(Debug, Args)]
struct Target {
    /// The picture: its name ends in .svg or .png
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Replace a picture that exists
    #[arg(long)]
    force: bool,
}

impl Target {
    fn check(&self) -> Result<(), Failure> {
        let extension = self
            .output
            .extension()
            .map(|e| e.to_string_lossy().to_lowercase());
        if !matches!(extension.as_deref(), Some("svg" | "png")) {
            let text = format!(
                "{}: expected a name that ends in .svg or .png",
                self.output.display()
            );
            return Err(Failure::Usage(text));
        }
        refuse_existing(&self.output, self.force)
    }

    fn draw(&self, figure: &Figure) -> Result<(), Failure> {
        figure
            .save(&self.output)
            .map_err(|e| Failure::writing(&self.output, &e))?;
        print(&format!("  picture  {}\n", self.output.display()))
    }
}

#[derive(Debug, Args)]
struct CurveArgs {
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

#[derive(Debug, Args)]
struct RunArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Seed of everything random; any integer
    #[arg(long, value_parser = parse::seed, allow_negative_numbers = true)]
    seed: Option<u64>,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
struct PhaseArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// The parameter of the horizontal axis and its values: rho=0.05:0.95:64
    #[arg(long, value_name = "NAME=VALUES")]
    x: String,
    /// The parameter of the vertical axis, along which transitions are sought: alpha=0.02:0.98:64
    #[arg(long, value_name = "NAME=VALUES")]
    y: String,
    /// The variable to be recovered; by default the first
    #[arg(long, value_name = "VARIABLE")]
    signal: Option<String>,
    /// Accuracy of the boundaries
    #[arg(long, default_value = "1e-4", value_parser = parse::positive)]
    tolerance: f64,
    /// The phase of every point as a table (.csv)
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// Threads; by default all cores
    #[arg(long, value_parser = parse::count)]
    threads: Option<usize>,
    #[command(flatten)]
    target: Target,
}

impl Plot {
    /// Draws it.
    pub fn run(&self) -> Result<(), Failure> {
        match &self.what {
            What::Curve(args) => args.run(),
            What::Run(args) => args.run(),
            What::Phases(args) => args.run(),
        }
    }
}

impl CurveArgs {
    fn run(&self) -> Result<(), Failure> {
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
        self.target.draw(&figure)
    }
}

impl RunArgs {
    fn run(&self) -> Result<(), Failure> {
        self.target.check()?;
        let (file, setting) = self.model.read()?;
        let seed = self.seed.unwrap_or_else(|| file_seed(&file));
        let run = infer(&file, &setting, seed, self.how.options(), &mut ())?;
        self.target
            .draw(&crate::pictures::run::figure(&run, &file.title))
    }
}

impl PhaseArgs {
    fn run(&self) -> Result<(), Failure> {
        self.target.check()?;
        if let Some(path) = &self.table {
            refuse_existing(path, self.target.force)?;
        }
        let (file, setting) = self.model.read()?;
        let (x, y) = (numbers(&self.x)?, numbers(&self.y)?);
        let first = setting.clone().with(&x.0, x.1[0]).with(&y.0, y.1[0]);
        let tree = theory(&file, &first)?;
        let signal = match &self.signal {
            Some(name) => name.clone(),
            None => tree.variables()[0].name.clone(),
        };
        tree.variable(&signal)?;
        let columns = self.columns(&file, &setting, &signal, &x, &y)?;
        if let Some(path) = &self.table {
            save(path, table_of(&columns, &x, &y)?.to_csv().as_bytes())?;
        }
        let title = if file.title.is_empty() {
            "Phases"
        } else {
            &file.title
        };
        let figure = phases::figure(title, (&x.0, &y.0), &columns, &y.1);
        self.target.draw(&figure)
    }

    /// The transitions along the vertical axis, for every value of the horizontal one.
    fn columns(
        &self,
        file: &ModelFile,
        setting: &Setting,
        signal: &str,
        x: &(String, Vec<f64>),
        y: &(String, Vec<f64>),
    ) -> Result<Vec<Column>, Failure> {
        let grid = Grid::new(vec![Axis::new(&x.0, x.1.iter().copied())], vec![0])?;
        let (low, high) = (y.1[0], y.1[y.1.len() - 1]);
        let search = Search::between(low, high).tolerance(self.tolerance);
        let work = |cell: &Cell| -> Result<Vec<Row>, String> {
            let value = cell.number(&x.0).unwrap_or_default();
            let at = setting.clone().with(&x.0, value);
            let family = |alpha: f64| {
                theory(file, &at.clone().with(&y.0, alpha)).map_err(|e| RunError::NotDefined {
                    what: "the model".to_owned(),
                    why: e.to_string(),
                })
            };
            let place = |found: Result<f64, RunError>| -> Result<f64, String> {
                match found {
                    Ok(threshold) => Ok(threshold),
                    Err(RunError::NoTransition { holds: true, .. }) => Ok(f64::NEG_INFINITY),
                    Err(RunError::NoTransition { .. }) => Ok(f64::INFINITY),
                    Err(other) => Err(other.to_string()),
                }
            };
            let information = place(information_threshold(&family, signal, search))?;
            let algorithmic = place(algorithmic_threshold(&family, signal, search))?;
            Ok(vec![
                Row::new()
                    .with("information", information)
                    .with("algorithmic", algorithmic),
            ])
        };
        let mut line = ProgressLine::new();
        let threads = self.threads.unwrap_or_else(available_threads);
        let records = run(grid.cells(), threads, None, work, |p| {
            line.show(p.finished, p.total, "columns");
        });
        line.clear();
        let mut columns = Vec::new();
        for (record, x) in records?.iter().zip(&x.1) {
            let rows = record
                .rows
                .as_ref()
                .map_err(|reason| Failure::Run(format!("at {x}: {reason}")))?;
            let number = |name: &str| {
                rows.first()
                    .and_then(|r| r.get(name))
                    .and_then(Value::as_number)
            };
            columns.push(Column {
                x: *x,
                information: number("information"),
                algorithmic: number("algorithmic"),
            });
        }
        Ok(columns)
    }
}

/// The phase of every point.
fn table_of(
    columns: &[Column],
    x: &(String, Vec<f64>),
    y: &(String, Vec<f64>),
) -> Result<Table, Failure> {
    if x.0 == y.0 {
        return Err(Failure::Usage(format!(
            "expected two parameters, got `{}` twice",
            x.0
        )));
    }
    let names = [&x.0, &y.0, "phase", "information", "algorithmic"];
    let mut rows = Vec::new();
    for column in columns {
        for y in &y.1 {
            let threshold = |t: Option<f64>| t.map_or(Value::Missing, Value::Number);
            rows.push(vec![
                Value::Number(column.x),
                Value::Number(*y),
                Value::from(phases::phase(column, *y)),
                threshold(column.information),
                threshold(column.algorithmic),
            ]);
        }
    }
    Ok(Table {
        columns: names.iter().map(ToString::to_string).collect(),
        rows,
    })
}

/// A parameter and its numbers, in rising order.
fn numbers(text: &str) -> Result<(String, Vec<f64>), Failure> {
    let axis = Axis::parse(text)?;
    let mut values: Vec<f64> = axis.values.iter().filter_map(Value::as_number).collect();
    values.sort_by(f64::total_cmp);
    if values.len() < 2 {
        return Err(Failure::Usage(format!(
            "`{}`: expected at least two values, got {}",
            axis.name,
            values.len()
        )));
    }
    Ok((axis.name, values))
}

/// A table of comma-separated values, quotes and all.
fn read_table(path: &Path) -> Result<Table, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| Failure::File(format!("{}: {e}", path.display())))?;
    Table::from_csv(&text).map_err(|e| Failure::Usage(format!("{}: {e}", path.display())))
}
