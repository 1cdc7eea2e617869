//! Grids of parameters and seeds, and the one rule for random streams.

use std::collections::BTreeSet;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{SweepError, Value};
use crate::hash::fnv1a;

/// More cells than this are a mistake in the grid.
const MOST_CELLS: usize = 100_000_000;

/// A parameter and the values it takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The parameter.
    pub name: String,
    /// Its values, in order.
    pub values: Vec<Value>,
}

impl Axis {
    /// A parameter with its values.
    pub fn new(name: &str, values: impl IntoIterator<Item = impl Into<Value>>) -> Self {
        Self {
            name: name.to_owned(),
            values: values.into_iter().map(Into::into).collect(),
        }
    }

    /// Reads `name=start:stop:count` (both ends included) or `name=value,value,...`.
    ///
    /// # Errors
    /// [`SweepError::Grid`] with what was expected.
    pub fn parse(text: &str) -> Result<Self, SweepError> {
        let refuse = |axis: &str, expected: &str, got: &str| SweepError::Grid {
            axis: axis.to_owned(),
            expected: expected.to_owned(),
            got: format!("`{got}`"),
        };
        let form = "name=start:stop:count or name=value,value,...";
        let (name, values) = text
            .split_once('=')
            .ok_or_else(|| refuse(text, form, text))?;
        let name = name.trim();
        if name.is_empty() {
            return Err(refuse(text, form, text));
        }
        let number = |text: &str| -> Result<f64, SweepError> {
            let parsed = text.trim().parse::<f64>().ok().filter(|x| x.is_finite());
            parsed.ok_or_else(|| refuse(name, "a finite number", text.trim()))
        };
        let values = match values.split(':').collect::<Vec<_>>().as_slice() {
            [start, stop, count] => {
                let count = count.trim();
                let parsed = count.parse::<usize>().ok();
                let n = parsed
                    .filter(|n| (1..=MOST_CELLS).contains(n))
                    .ok_or_else(|| refuse(name, "a count from 1 to 100000000", count))?;
                let (start, stop) = (number(start)?, number(stop)?);
                let steps = n.max(2) - 1;
                let scale = start.abs().max(stop.abs());
                // the last value is `stop` itself, not a sum of steps
                let at = |i: usize| match i {
                    0 => start,
                    i if i == steps => stop,
                    i => meant(start + (stop - start) * (i as f64 / steps as f64), scale),
                };
                (0..n).map(|i| Value::Number(at(i))).collect()
            }
            [list] => list
                .split(',')
                .map(|v| number(v).map(Value::Number))
                .collect::<Result<Vec<_>, _>>()?,
            _ => return Err(refuse(name, form, values)),
        };
        Ok(Self {
            name: name.to_owned(),
            values,
        })
    }
}

/// A number to twelve digits behind the leading one of the larger end of its axis, so that 0.6 of a range is the 0.6 that somebody types.
fn meant(x: f64, scale: f64) -> f64 {
    const DIGITS: f64 = 12.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped"
    )]
    let decimals = (DIGITS - scale.log10().floor()).clamp(0.0, 340.0) as usize;
    // a zero of its own sign would be another cell
    format!("{x:.decimals$}")
        .parse()
        .map_or(x, |x: f64| x + 0.0)
}

/// One point of a grid with one seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Its place in the table.
    pub index: usize,
    /// The parameters, in the order of the axes.
    pub parameters: Vec<(String, Value)>,
    /// The seed of the repetition.
    pub seed: u64,
    /// What it is known by in a journal: [`cell_key`] of the parameters and the seed.
    pub key: String,
}

impl Cell {
    /// A parameter by name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        let found = self.parameters.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value)
    }

    /// A numeric parameter by name.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        self.get(name).and_then(Value::as_number)
    }

    /// The seed of everything random in this cell: [`stream_seed`].
    #[must_use]
    pub fn stream_seed(&self) -> u64 {
        stream_seed(self.seed, &self.parameters)
    }
}

/// All combinations of the axes, the last axis fastest, each with every seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    axes: Vec<Axis>,
    seeds: Vec<u64>,
    cells: Vec<Cell>,
}

impl Grid {
    /// The grid of the axes and seeds.
    ///
    /// # Errors
    /// An axis without values, a name or a seed that comes twice, equal values on an axis, no seed, too
    /// many cells.
    pub fn new(axes: Vec<Axis>, seeds: Vec<u64>) -> Result<Self, SweepError> {
        check(&axes, &seeds)?;
        let mut points: Vec<Vec<(String, Value)>> = vec![vec![]];
        for axis in &axes {
            points = points
                .iter()
                .flat_map(|point| {
                    axis.values.iter().map(move |value| {
                        let mut longer = point.clone();
                        longer.push((axis.name.clone(), value.clone()));
                        longer
                    })
                })
                .collect();
        }
        let cells = points
            .into_iter()
            .flat_map(|parameters| seeds.iter().map(move |seed| (parameters.clone(), *seed)));
        let cells = cells.enumerate().map(|(index, (parameters, seed))| Cell {
            index,
            key: cell_key(seed, &parameters),
            parameters,
            seed,
        });
        Ok(Self {
            cells: cells.collect(),
            axes,
            seeds,
        })
    }

    /// Only the cells that are wanted, numbered anew.
    #[must_use]
    pub fn keep(mut self, wanted: impl Fn(&Cell) -> bool) -> Self {
        self.cells.retain(wanted);
        for (index, cell) in self.cells.iter_mut().enumerate() {
            cell.index = index;
        }
        self
    }

    /// The axes.
    #[must_use]
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// The seeds.
    #[must_use]
    pub fn seeds(&self) -> &[u64] {
        &self.seeds
    }

    /// The cells, in the order of the table.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }
}

fn check(axes: &[Axis], seeds: &[u64]) -> Result<(), SweepError> {
    let refuse = |axis: &str, expected: &str, got: String| {
        Err(SweepError::Grid {
            axis: axis.to_owned(),
            expected: expected.to_owned(),
            got,
        })
    };
    let mut cells = seeds.len();
    for (i, axis) in axes.iter().enumerate() {
        if axis.values.is_empty() {
            return refuse(&axis.name, "at least one value", "none".to_owned());
        }
        if axis.name == "seed" || axes[..i].iter().any(|other| other.name == axis.name) {
            let got = format!("`{}` twice", axis.name);
            return refuse(&axis.name, "every parameter once", got);
        }
        if let Some(value) = repeated(axis.values.iter().map(Value::canonical)) {
            return refuse(&axis.name, "different values", format!("{value} twice"));
        }
        cells = cells.saturating_mul(axis.values.len());
    }
    if seeds.is_empty() {
        return refuse("seed", "at least one seed", "none".to_owned());
    }
    if let Some(seed) = repeated(seeds.iter().copied()) {
        return refuse("seed", "different seeds", format!("{seed} twice"));
    }
    if cells > MOST_CELLS {
        let expected = format!("at most {MOST_CELLS} cells");
        return refuse("all", &expected, cells.to_string());
    }
    Ok(())
}

/// A value that comes twice.
fn repeated<T: Ord + Clone>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut seen = BTreeSet::new();
    values.into_iter().find(|value| !seen.insert(value.clone()))
}

/// The parameters in one spelling, whatever the order of the axes.
fn spelling(parameters: &[(String, Value)]) -> String {
    let mut parts: Vec<String> = parameters
        .iter()
        .map(|(name, value)| format!("{}={}", serde_json::json!(name), value.canonical()))
        .collect();
    parts.sort_unstable();
    parts.join(";")
}

/// The name of a cell in a journal: its parameters and seed in one spelling.
#[must_use]
pub fn cell_key(seed: u64, parameters: &[(String, Value)]) -> String {
    let parameters = spelling(parameters);
    if parameters.is_empty() {
        return format!("seed={seed}");
    }
    format!("{parameters};seed={seed}")
}

/// The seed of everything random in a cell: the first word of the ChaCha8 generator of `seed`, on the
/// stream that the parameters' hash names. It depends on the cell's own parameters and on nothing else: not
/// on other values of the grid, not on the order of the axes, not on threads.
#[must_use]
pub fn stream_seed(seed: u64, parameters: &[(String, Value)]) -> u64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(fnv1a(spelling(parameters).as_bytes()));
    rng.next_u64()
}
