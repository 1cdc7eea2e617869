//! An error against a parameter: runs with error bars, theory as lines.

use std::ops::Range;

use treeamp_lab::figure::{Axis, Figure, Ink, Mark, Panel, Series};
use treeamp_lab::sweep::{Table, Value};

use super::{A_HEURISTIC, AT_SYMMETRIC_POINT, symbol};

/// What is drawn.
#[derive(Debug, Clone)]
pub struct Curve {
    /// The column of the horizontal axis.
    pub x: String,
    /// The column of the vertical axis.
    pub y: String,
    /// Logarithmic vertical axis.
    pub log: bool,
    /// The title.
    pub title: String,
}

/// What stands before the name of an error that is up to a symmetry of the model.
const SYMMETRIES: [&str; 3] = ["phase_", "permutation_", "sign_"];

/// Rows have different numbers in a column.
fn varies(table: &Table, k: usize) -> bool {
    let value = |row: &Vec<Value>| row[k].as_number().map(f64::to_bits);
    let mut values = table.rows.iter().filter_map(value);
    let first = values.next();
    values.any(|x| Some(x) != first)
}

/// The columns of parameters, which stand before where a row comes from; none, where nothing says where they end.
fn parameters(table: &Table) -> Option<Range<usize>> {
    let sources = ["source", "seed"].iter().filter_map(|n| table.column(n));
    sources.min().map(|end| 0..end)
}

/// The parameter that varies: `alpha` if that does, else the first that does.
pub fn varied(table: &Table) -> Option<&str> {
    let parameters = parameters(table).unwrap_or(0..table.columns.len());
    let alpha = table.column("alpha");
    let all = alpha.into_iter().chain(parameters.clone());
    let found = all
        .filter(|k| parameters.contains(k))
        .find(|k| varies(table, *k));
    let found = found.or(alpha).or(Some(parameters.start));
    found.and_then(|k| table.columns.get(k)).map(String::as_str)
}

/// The parameters that vary beside that of the horizontal axis: every combination of them is a curve of its own.
pub fn others(table: &Table, x: &str) -> Vec<String> {
    let parameters = parameters(table).unwrap_or(0..0);
    let found = parameters.filter(|k| table.columns[*k] != x && varies(table, *k));
    found.map(|k| table.columns[k].clone()).collect()
}

/// What a row says of itself, in the columns of a sweep.
struct Marks {
    source: Option<usize>,
    converged: Option<usize>,
    symmetric_point: Option<usize>,
    heuristic: Option<usize>,
    status: Option<usize>,
}

impl Marks {
    fn of(table: &Table) -> Self {
        Self {
            source: table.column("source"),
            converged: table.column("converged"),
            symmetric_point: table.column("symmetric_point"),
            heuristic: table.column("heuristic"),
            status: table.column("status"),
        }
    }

    /// Without the column, all rows are of any source.
    fn is_of(&self, source: &str, row: &[Value]) -> bool {
        self.source.is_none_or(|k| row[k].to_csv() == source)
    }

    fn settled(&self, row: &[Value]) -> bool {
        self.converged.is_none_or(|k| row[k] != Value::Flag(false))
    }

    fn at_symmetric_point(&self, row: &[Value]) -> bool {
        self.symmetric_point
            .is_some_and(|k| row[k] == Value::Flag(true))
    }

    fn is_heuristic(&self, row: &[Value]) -> bool {
        self.heuristic.is_some_and(|k| row[k] != Value::Missing)
    }

    fn failed(&self, row: &[Value]) -> bool {
        self.status.is_some_and(|k| row[k].to_csv() == "failed")
    }
}

/// What there is to say of rows that are not results like the others: that did not converge, and that failed.
pub fn said(table: &Table) -> Vec<(&'static str, String)> {
    let marks = Marks::of(table);
    let all = table.rows.len();
    let count = |wanted: &dyn Fn(&[Value]) -> bool| table.rows.iter().filter(|r| wanted(r)).count();
    let lines = [
        (
            "did not converge",
            count(&|r| !marks.settled(r)),
            "drawn as crosses",
        ),
        ("failed", count(&|r| marks.failed(r)), "not drawn"),
    ];
    let some = lines.into_iter().filter(|(_, n, _)| *n > 0);
    some.map(|(name, n, how)| (name, format!("{n} of {all} rows, {how}")))
        .collect()
}

/// The error of the first variable: up to a symmetry, where runs lost the sign, the phase or the order of its components.
pub fn error(table: &Table) -> Option<&str> {
    let columns = || table.columns.iter().map(String::as_str);
    let plain = columns().find(|c| *c == "mse_x");
    let plain = plain.or_else(|| columns().find(|c| c.starts_with("mse_")))?;
    Some(aligned(table, plain).unwrap_or(plain))
}

/// The column of an error up to a symmetry, where that explains at least half of the error of some run: by chance it does so only for an
/// estimate that is next to independent of the truth.
pub fn aligned<'t>(table: &'t Table, error: &str) -> Option<&'t str> {
    let plain = table.column(error)?;
    let explains = |k: &usize| {
        let number = |row: &[Value], k: usize| row[k].as_number();
        let mut rows = table.rows.iter();
        rows.any(|row| match (number(row, *k), number(row, plain)) {
            (Some(up_to), Some(all)) => up_to < 0.5 * all,
            _ => false,
        })
    };
    let columns = SYMMETRIES.iter();
    let columns = columns.filter_map(|s| table.column(&format!("{s}{error}")));
    let found = columns.into_iter().find(explains)?;
    Some(&table.columns[found])
}

/// What several runs have at one place: a mean and its standard error, or on a logarithmic axis a median and quartiles.
struct Point {
    x: f64,
    middle: f64,
    bar: (f64, f64),
    several: bool,
}

impl Curve {
    /// The figure: one panel for every combination of the other parameters.
    pub fn figure(&self, table: &Table, others: &[String]) -> Result<Figure, String> {
        let (x, y) = (column(table, &self.x)?, column(table, &self.y)?);
        if table.rows.is_empty() {
            return Err("expected rows, got only a header".to_owned());
        }
        self.check(table, (x, y))?;
        let others: Vec<usize> = others
            .iter()
            .map(|n| column(table, n))
            .collect::<Result<_, _>>()?;
        let mut groups: Vec<Vec<String>> = Vec::new();
        for row in &table.rows {
            let group: Vec<String> = others.iter().map(|i| row[*i].to_csv()).collect();
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        let mut figure = Figure::new(self.title.clone());
        for group in groups {
            let chosen = |row: &&Vec<Value>| {
                others
                    .iter()
                    .zip(&group)
                    .all(|(i, v)| row[*i].to_csv() == *v)
            };
            let rows: Vec<&Vec<Value>> = table.rows.iter().filter(chosen).collect();
            let names = others.iter().zip(&group);
            let title: Vec<String> = names
                .map(|(i, v)| format!("{} = {v}", symbol(&table.columns[*i])))
                .collect();
            figure = figure.panel(self.panel(table, &rows, (x, y), &title.join(", ")));
        }
        Ok(figure)
    }

    /// There is something to draw, and it has a place on the axes.
    fn check(&self, table: &Table, (x, y): (usize, usize)) -> Result<(), String> {
        let numbers = |k: usize| table.rows.iter().filter_map(move |row| row[k].as_number());
        for (name, k) in [(&self.x, x), (&self.y, y)] {
            if numbers(k).next().is_none() {
                let failed = said(table).pop().filter(|(what, _)| *what == "failed");
                let why = failed.map_or(String::new(), |(_, n)| format!(": failed {n}"));
                return Err(format!(
                    "expected numbers in the column `{name}`, got none{why}"
                ));
            }
        }
        let negative = numbers(y).filter(|v| *v < 0.0).count();
        if self.log && negative > 0 {
            return Err(format!(
                "a logarithmic axis has no place for the {negative} negative values of `{}`: expected no --log",
                self.y
            ));
        }
        Ok(())
    }

    fn panel(
        &self,
        table: &Table,
        rows: &[&Vec<Value>],
        (x, y): (usize, usize),
        title: &str,
    ) -> Panel {
        let vertical = if self.log {
            Axis::log(symbol(&self.y)).with_zero()
        } else {
            Axis::linear(symbol(&self.y))
        };
        // the error of the theory is already up to a symmetry
        let name = &table.columns[y];
        let theory = SYMMETRIES.iter().find_map(|s| name.strip_prefix(s));
        let theory = theory.and_then(|name| table.column(name)).unwrap_or(y);
        let marks = Marks::of(table);
        let of = |name: &str, y: usize, wanted: &dyn Fn(&[Value]) -> bool| -> Vec<(f64, f64)> {
            let rows = rows
                .iter()
                .filter(|row| marks.is_of(name, row) && wanted(row));
            rows.filter_map(|row| Some((row[x].as_number()?, row[y].as_number()?)))
                .collect()
        };
        let mut series = Vec::new();
        if marks.source.is_some() {
            let heuristic = rows.iter().any(|row| marks.is_heuristic(row));
            let word = if heuristic { A_HEURISTIC } else { "" };
            let settled = |r: &[Value]| marks.settled(r) && !marks.at_symmetric_point(r);
            let resting = |r: &[Value]| marks.settled(r) && marks.at_symmetric_point(r);
            let lines = [
                ("state evolution", of("SE", theory, &settled), Ink::Blue),
                (AT_SYMMETRIC_POINT, of("SE", theory, &resting), Ink::Grey),
                (
                    "Bayes-optimal",
                    of("BO", theory, &|r| marks.settled(r)),
                    Ink::Black,
                ),
            ];
            for (name, points, ink) in lines {
                let alone = points.len() == 1;
                let line = Series::line(format!("{name}{word}"), sorted(points)).ink(ink);
                let line = if alone { line.mark(Mark::Dot) } else { line };
                series.push(if name == "Bayes-optimal" {
                    line.dashed()
                } else {
                    line
                });
            }
            let lost = of("SE", theory, &|r| !marks.settled(r));
            series.push(crosses("state evolution", Ink::Blue, lost));
        }
        let runs = [("EP", "expectation propagation"), ("MAP", "mode")];
        // without the column, all rows are one series
        for (source, name) in &runs[..if marks.source.is_some() { 2 } else { 1 }] {
            let points = self.summaries(&of(source, y, &|r| marks.settled(r)));
            series.push(self.marks(name, &points));
            let lost = of(source, y, &|r| !marks.settled(r));
            series.push(crosses(name, Ink::Grey, lost));
        }
        series.retain(|s| !s.is_empty());
        let title = match (title, series.is_empty()) {
            (_, false) => title.to_owned(),
            ("", true) => "nothing to draw".to_owned(),
            (_, true) => format!("{title}: nothing to draw"),
        };
        let mut panel = Panel::new(title, Axis::linear(symbol(&self.x)), vertical);
        for (low, high) in hard_ranges(table, rows, x) {
            panel = panel.band("hard phase, to half a step of the grid", low, high);
        }
        series.into_iter().fold(panel, Panel::series)
    }

    /// Runs, with bars where there are several.
    fn marks(&self, name: &str, points: &[Point]) -> Series {
        let several = points.iter().any(|p| p.several);
        let more = match (several, self.log) {
            (false, _) => "",
            (true, false) => ", mean and standard error",
            (true, true) => ", median and quartiles",
        };
        let places = points.iter().map(|p| (p.x, p.middle));
        let series = Series::marks(format!("{name}{more}"), places)
            .ink(Ink::Orange)
            .mark(Mark::Circle);
        if several {
            return series.bars(points.iter().map(|p| p.bar));
        }
        series
    }

    /// Every place with what the runs there have.
    fn summaries(&self, points: &[(f64, f64)]) -> Vec<Point> {
        let points = sorted(points.to_vec());
        let same_place = points.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq());
        let summary = |same: &[(f64, f64)]| {
            let mut values: Vec<f64> = same.iter().map(|p| p.1).collect();
            let (middle, bar) = if self.log {
                values.sort_by(f64::total_cmp);
                (
                    quantile(&values, 0.5),
                    (quantile(&values, 0.25), quantile(&values, 0.75)),
                )
            } else {
                let (mean, error) = mean_and_error(&values);
                (mean, (mean - error, mean + error))
            };
            Point {
                x: same[0].0,
                middle,
                bar,
                several: same.len() > 1,
            }
        };
        same_place.map(summary).collect()
    }
}

/// Rows that did not converge: where they were when they stopped.
fn crosses(name: &str, ink: Ink, points: Vec<(f64, f64)>) -> Series {
    Series::marks(format!("{name}, did not converge"), points)
        .ink(ink)
        .mark(Mark::Cross)
}

/// A quantile of sorted values, on the line between its neighbours.
fn quantile(values: &[f64], q: f64) -> f64 {
    let at = q * (values.len() - 1) as f64;
    let low = at.floor();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index"
    )]
    let (i, j) = (low as usize, at.ceil() as usize);
    values[i] + (at - low) * (values[j] - values[i])
}

fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    if values.len() < 2 {
        return (mean, 0.0);
    }
    let spread: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (mean, (spread / (n - 1.0) / n).sqrt())
}

fn column(table: &Table, name: &str) -> Result<usize, String> {
    table.column(name).ok_or_else(|| {
        format!(
            "there is no column `{name}`: the table has {}",
            table.columns.join(", ")
        )
    })
}

/// The ranges of `x` in which the rows of the Bayes-optimal error are in the hard phase, each to the middle between its
/// last place and the next.
fn hard_ranges(table: &Table, rows: &[&Vec<Value>], x: usize) -> Vec<(f64, f64)> {
    let Some(phase) = table.column("phase") else {
        return Vec::new();
    };
    let known = rows.iter().filter_map(|row| {
        let phase = row[phase].to_csv();
        (!phase.is_empty()).then_some((row[x].as_number()?, phase == "hard"))
    });
    let mut places: Vec<(f64, bool)> = known.collect();
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut ranges = Vec::new();
    let mut from: Option<f64> = None;
    for (i, (here, hard)) in places.iter().enumerate() {
        let edge = if i == 0 {
            *here
        } else {
            0.5 * (here + places[i - 1].0)
        };
        match (from, hard) {
            (None, true) => from = Some(edge),
            (Some(low), false) => {
                ranges.push((low, edge));
                from = None;
            }
            _ => {}
        }
    }
    if let (Some(low), Some((last, _))) = (from, places.last()) {
        ranges.push((low, *last));
    }
    ranges
}

fn sorted(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}
