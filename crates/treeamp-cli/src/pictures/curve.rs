//! An error against a parameter: runs with error bars, theory as lines.

use treeamp_lab::figure::{Axis, Figure, Ink, Mark, Panel, Series};
use treeamp_lab::sweep::{Table, Value};

use super::{AT_SYMMETRIC_POINT, symbol};

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

/// The parameter that varies: `alpha` if that does, else the first that does.
pub fn varied(table: &Table) -> Option<&str> {
    let varies = |k: &usize| {
        let value = |row: &Vec<Value>| row[*k].as_number().map(f64::to_bits);
        let mut values = table.rows.iter().filter_map(value);
        let first = values.next();
        values.any(|x| Some(x) != first)
    };
    // the parameters stand before where a row comes from
    let sources = ["source", "seed"].iter().filter_map(|n| table.column(n));
    let parameters = 0..sources.min().unwrap_or(table.columns.len());
    let alpha = table.column("alpha");
    let all = alpha.into_iter().chain(parameters.clone());
    let found = all.filter(|k| parameters.contains(k)).find(varies);
    let found = found.or(alpha).or(Some(parameters.start));
    found.and_then(|k| table.columns.get(k)).map(String::as_str)
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
        let mut panel = Panel::new(title, Axis::linear(symbol(&self.x)), vertical);
        let source = table.column("source");
        // the error of the theory is already up to a symmetry
        let name = &table.columns[y];
        let theory = SYMMETRIES.iter().find_map(|s| name.strip_prefix(s));
        let theory = theory.and_then(|name| table.column(name)).unwrap_or(y);
        let symmetric = table.column("symmetric_point");
        let at_symmetric_point =
            |row: &[Value]| symmetric.is_some_and(|k| row[k] == Value::Flag(true));
        let of = |name: &str, y: usize, wanted: &dyn Fn(&[Value]) -> bool| -> Vec<(f64, f64)> {
            let named = |row: &&&Vec<Value>| source.is_none_or(|s| row[s].to_csv() == name);
            let numbers = rows.iter().filter(named).filter(|row| wanted(row));
            numbers
                .filter_map(|row| Some((row[x].as_number()?, row[y].as_number()?)))
                .collect()
        };
        for (low, high) in hard_ranges(table, rows, x) {
            panel = panel.band("hard phase, to half a step of the grid", low, high);
        }
        if source.is_some() {
            let lines = [
                (
                    "state evolution",
                    of("SE", theory, &|r| !at_symmetric_point(r)),
                    Ink::Blue,
                    false,
                ),
                (
                    AT_SYMMETRIC_POINT,
                    of("SE", theory, &at_symmetric_point),
                    Ink::Grey,
                    false,
                ),
                (
                    "Bayes-optimal",
                    of("BO", theory, &|_| true),
                    Ink::Black,
                    true,
                ),
            ];
            for (name, points, ink, dashed) in lines {
                if !points.is_empty() {
                    let line = Series::line(name, sorted(points)).ink(ink);
                    panel = panel.series(if dashed { line.dashed() } else { line });
                }
            }
        }
        let runs = [("EP", "expectation propagation"), ("MAP", "mode")];
        // without the column, all rows are one series
        let runs = &runs[..if source.is_some() { 2 } else { 1 }];
        for (source, name) in runs {
            let points = self.summaries(&of(source, y, &|_| true));
            if !points.is_empty() {
                panel = panel.series(self.marks(name, &points));
            }
        }
        panel
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
