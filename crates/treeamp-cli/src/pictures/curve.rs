//! An error against a parameter: runs with error bars, theory as lines.

use treeamp_lab::figure::{Axis, Figure, Ink, Mark, Panel, Series};
use treeamp_lab::sweep::{Table, Value};

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

/// A mean with its standard error at one place.
struct Point {
    x: f64,
    mean: f64,
    error: f64,
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
                .map(|(i, v)| format!("{} = {v}", table.columns[*i]))
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
            Axis::log(self.y.clone())
        } else {
            Axis::linear(self.y.clone())
        };
        let mut panel = Panel::new(title, Axis::linear(self.x.clone()), vertical);
        let source = table.column("source");
        let of = |name: &str| -> Vec<(f64, f64)> {
            let named = |row: &&&Vec<Value>| source.is_none_or(|s| row[s].to_csv() == name);
            let numbers = rows.iter().filter(named);
            numbers
                .filter_map(|row| Some((row[x].as_number()?, row[y].as_number()?)))
                .collect()
        };
        let theory = if source.is_some() {
            of("SE")
        } else {
            Vec::new()
        };
        for (low, high) in hard_ranges(table, rows, x) {
            panel = panel.band("hard phase, to half a step of the grid", low, high);
        }
        if !theory.is_empty() {
            panel = panel.series(Series::line("state evolution", sorted(theory)).ink(Ink::Blue));
        }
        let optimal = if source.is_some() {
            of("BO")
        } else {
            Vec::new()
        };
        if !optimal.is_empty() {
            let line = Series::line("Bayes-optimal", sorted(optimal));
            panel = panel.series(line.ink(Ink::Black).dashed());
        }
        let runs = [("EP", "expectation propagation"), ("MAP", "mode")];
        // without the column, all rows are one series
        let runs = &runs[..if source.is_some() { 2 } else { 1 }];
        for (source, name) in runs {
            let points = averages(&of(source));
            if !points.is_empty() {
                panel = panel.series(marks(name, &points));
            }
        }
        panel
    }
}

/// Means of runs, with bars where there are several.
fn marks(name: &str, points: &[Point]) -> Series {
    let several = points.iter().any(|p| p.error > 0.0);
    let more = if several {
        ", mean and standard error"
    } else {
        ""
    };
    let places = points.iter().map(|p| (p.x, p.mean));
    let series = Series::marks(format!("{name}{more}"), places)
        .ink(Ink::Orange)
        .mark(Mark::Circle);
    if several {
        let bars = points.iter().map(|p| (p.mean - p.error, p.mean + p.error));
        return series.bars(bars);
    }
    series
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

/// Mean and standard error at every place.
fn averages(points: &[(f64, f64)]) -> Vec<Point> {
    let points = sorted(points.to_vec());
    points
        .chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq())
        .map(|same| {
            let n = same.len() as f64;
            let mean = same.iter().map(|p| p.1).sum::<f64>() / n;
            let spread: f64 = same.iter().map(|p| (p.1 - mean).powi(2)).sum();
            let error = if same.len() > 1 {
                (spread / (n - 1.0) / n).sqrt()
            } else {
                0.0
            };
            Point {
                x: same[0].0,
                mean,
                error,
            }
        })
        .collect()
}
