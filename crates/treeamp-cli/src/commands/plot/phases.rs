//! `treeamp plot phases`: a phase diagram.

use std::path::PathBuf;

use clap::Args;
use treeamp::RunError;
use treeamp::algorithms::state_evolution::phases::{
    Family, Search, algorithmic_threshold, information_threshold,
};
use treeamp_lab::experiment::bayes_optimal_theory;
use treeamp_lab::spec::{ModelFile, Setting};
use treeamp_lab::sweep::{Axis, Cell, Grid, Row, Table, Value, run};

use super::Target;
use crate::common::Common;
use crate::exit::Failure;
use crate::model::ModelArgs;
use crate::number as parse;
use crate::output::{check_name, refuse_existing, save};
use crate::pictures::phases::{self, Column};
use crate::progress::ProgressLine;

/// What is asked of theory.
const DIAGRAM: &str = "a phase diagram";

/// A search for a transition.
type Threshold = fn(&Family<'_>, &str, Search) -> Result<f64, RunError>;
/// A parameter and its values.
type Values = (String, Vec<f64>);

/// The two parameters of a diagram.
#[derive(Debug, Args)]
pub struct PhaseArgs {
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
    #[arg(long, default_value = "1e-4", value_parser = parse::positive, allow_negative_numbers = true)]
    tolerance: f64,
    /// The phase of every point as a table (.csv)
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    #[command(flatten)]
    target: Target,
}

impl PhaseArgs {
    /// Draws it.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        self.target.check()?;
        if let Some(path) = &self.table {
            check_name(path, &["csv"])?;
            refuse_existing(path, self.target.force)?;
        }
        let (file, setting) = self.model.read()?;
        let (x, y) = (numbers(&self.x)?, numbers(&self.y)?);
        self.model.warn_of_set(&file, &[&x.0, &y.0], "--x and --y");
        if x.0 == y.0 {
            let text = format!("expected two parameters, got `{}` twice", x.0);
            return Err(Failure::Usage(text));
        }
        let at = |a: f64, b: f64| {
            let setting = setting.clone().with(&x.0, a).with(&y.0, b);
            bayes_optimal_theory(&file, &setting, DIAGRAM)
        };
        let tree = at(x.1[0], y.1[0])?;
        // a value out of its range is a wrong option, wherever it stands
        for a in &x.1 {
            at(*a, y.1[0])?;
        }
        at(x.1[0], y.1[y.1.len() - 1])?;
        let signal = match &self.signal {
            Some(name) => name.clone(),
            None => tree.variables()[0].name.clone(),
        };
        tree.variable(&signal)?;
        let columns = self.columns(&file, &setting, &signal, (&x, &y), common)?;
        if let Some(path) = &self.table {
            save(path, table_of(&columns, &x, &y).to_csv().as_bytes())?;
        }
        let title = if file.title.is_empty() {
            "Phases"
        } else {
            &file.title
        };
        let figure = phases::figure(title, (&x.0, &y.0), &columns, &y.1);
        self.target.draw(&figure, common)
    }

    /// The transitions along the vertical axis, for every value of the horizontal one.
    fn columns(
        &self,
        file: &ModelFile,
        setting: &Setting,
        signal: &str,
        (x, y): (&Values, &Values),
        common: &Common,
    ) -> Result<Vec<Column>, Failure> {
        let grid = Grid::new(vec![Axis::new(&x.0, x.1.iter().copied())], vec![0])?;
        let (low, high) = (y.1[0], y.1[y.1.len() - 1]);
        let search = Search::between(low, high).tolerance(self.tolerance);
        let work = |cell: &Cell| -> Result<Vec<Row>, String> {
            let value = cell.number(&x.0).unwrap_or_default();
            let at = setting.clone().with(&x.0, value);
            let family = |alpha: f64| {
                let tree = bayes_optimal_theory(file, &at.clone().with(&y.0, alpha), DIAGRAM);
                tree.map_err(|e| RunError::NotDefined {
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
        let mut line = ProgressLine::new(common, "columns");
        let records = run(grid.cells(), common.threads(), None, work, |p| {
            line.show(p.finished, p.total, "columns");
        });
        line.clear();
        let mut columns: Vec<Column> = Vec::new();
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
        let family_at = |value: f64, alpha: f64| {
            let at = setting.clone().with(&x.0, value).with(&y.0, alpha);
            let tree = bayes_optimal_theory(file, &at, DIAGRAM);
            tree.map_err(|e| RunError::NotDefined {
                what: "the model".to_owned(),
                why: e.to_string(),
            })
        };
        for k in 0..columns.len() {
            let beyond = |of: fn(&Column) -> Option<f64>, find: Threshold| {
                self.beyond(&columns, k, (low, high), of, &|at, range| {
                    find(&|alpha: f64| family_at(at, alpha), signal, range)
                })
            };
            let information = beyond(|c| c.information, information_threshold);
            let algorithmic = beyond(|c| c.algorithmic, algorithmic_threshold);
            let column = &mut columns[k];
            column.information = information.or(column.information);
            column.algorithmic = algorithmic.or(column.algorithmic);
        }
        Ok(columns)
    }

    /// A threshold beyond the range, beside one inside, where it is no further outside than the range is wide: the line between the two leaves the
    /// frame where it does.
    fn beyond(
        &self,
        columns: &[Column],
        k: usize,
        (low, high): (f64, f64),
        of: fn(&Column) -> Option<f64>,
        find: &dyn Fn(f64, Search) -> Result<f64, RunError>,
    ) -> Option<f64> {
        let here = of(&columns[k]).filter(|t| t.is_infinite())?;
        let beside = [k.checked_sub(1), Some(k + 1)].into_iter().flatten();
        let mut beside = beside.filter_map(|j| columns.get(j).and_then(of));
        if !beside.any(|t| (low..=high).contains(&t)) {
            return None;
        }
        let width = high - low;
        let range = if here > 0.0 {
            Search::between(high, high + width)
        } else {
            Search::between((low - width).max(1e-3 * low), low)
        };
        find(columns[k].x, range.tolerance(self.tolerance)).ok()
    }
}

/// The phase of every point.
fn table_of(columns: &[Column], x: &Values, y: &Values) -> Table {
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
    Table {
        columns: names.iter().map(ToString::to_string).collect(),
        rows,
    }
}

/// A parameter and its numbers, in rising order.
fn numbers(text: &str) -> Result<Values, Failure> {
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
