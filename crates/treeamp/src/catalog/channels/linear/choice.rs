//! Which route a linear channel takes: what its entries and its spectrum say.

use super::Linear;
use super::bidiagonal::Bidiagonal;
use crate::belief::{SignalSpec, Structure};
use crate::error::FactorError;
use crate::factor::{Context, Route, RouteChoice};

/// A matrix whose larger side is below this is decomposed: a run takes 7 ms at this size in place of 2, and what tests of a smaller
/// matrix cannot see grows like the inverse root of its size.
pub(super) const SMALL: usize = 500;
/// Standard deviations of the mean of independent entries.
const MEAN: f64 = 5.0;
/// Spreads of squared row and column norms, in units of those of independent Gaussian entries.
const NORMS: f64 = 4.0;
/// Standard deviations of the mean square of the spectral coefficients.
const SPECTRUM: f64 = 4.0;
/// Widths of the fluctuations at the edge of the spectrum.
const EDGE: f64 = 3.0;

impl Linear {
    /// The route between beliefs of any structure that it takes.
    pub(super) fn chosen(&self) -> &RouteChoice {
        self.inner.choice.get_or_init(|| {
            let route = self.inner.route;
            if self.operator().is_stand_in() {
                return RouteChoice {
                    iid: route != Route::Exact,
                    only: route == Route::IidOnly,
                    why: "declared".to_owned(),
                };
            }
            let only = route == Route::IidOnly;
            let (iid, why) = match (route, self.entries_object()) {
                (Route::Exact, _) => (false, "declared".to_owned()),
                (_, Some(why)) => (false, why),
                (Route::Auto, None) => match self.spectrum_objects() {
                    Some(why) => (false, why),
                    None => (
                        true,
                        "entries and spectrum are those of independent entries".to_owned(),
                    ),
                },
                (_, None) => (true, "declared".to_owned()),
            };
            RouteChoice { iid, only, why }
        })
    }

    /// The route between these signals.
    pub(super) fn chosen_for(&self, ports: &[SignalSpec]) -> RouteChoice {
        let choice = self.chosen();
        let dense = |p: &&SignalSpec| !is_simple(p.structure);
        match ports.iter().find(dense) {
            Some(port) if choice.iid => RouteChoice {
                iid: false,
                only: choice.only,
                why: format!("{} beliefs have exact messages only", port.structure),
            },
            _ => choice.clone(),
        }
    }

    /// The messages of this context are those of approximate message passing.
    pub(super) fn takes_iid(&self, context: &Context<'_>) -> bool {
        context.request.iid
            && self.inner.route != Route::Exact
            && context.incoming.iter().all(|m| is_simple(m.structure()))
            && self.chosen().iid
    }

    /// $\|W\|_F^2$ on real storage.
    pub(super) fn square_norm(&self) -> Result<f64, FactorError> {
        let make = || {
            if let Some(w) = self.matrix() {
                return Ok(w.square_norm());
            }
            let columns = self.operator().gram_diagonal();
            columns.map(|c| c.iter().sum()).ok_or_else(|| {
                FactorError::Unsupported(
                    "approximate message passing needs the norms of the columns, which this operator does not know"
                        .to_owned(),
                )
            })
        };
        self.inner.square_norm.get_or_init(make).clone()
    }

    /// The mean square of the entries, on real storage.
    pub(super) fn mean_square(&self) -> Result<f64, FactorError> {
        let operator = self.operator();
        let entries = operator.input().len() as f64 * operator.output().len() as f64;
        Ok(self.square_norm()? / entries)
    }

    /// The spectrum as a random vector sees it.
    pub(super) fn bidiagonal(&self) -> Result<&Bidiagonal, FactorError> {
        let mean_square = self.mean_square()?;
        let make = || Bidiagonal::new(self.operator(), mean_square);
        Ok(self.inner.bidiagonal.get_or_init(make))
    }

    /// Why the entries are not independent, by their mean and by the norms of columns and rows.
    fn entries_object(&self) -> Option<String> {
        if self.inner.route == Route::Exact {
            return None;
        }
        let operator = self.operator();
        let (m, n) = (operator.output().len(), operator.input().len());
        if self.inner.route == Route::Auto && operator.heuristic().is_some() {
            return Some("the operator has a structure".to_owned());
        }
        if self.inner.route == Route::Auto && m.max(n) < SMALL {
            return Some(format!(
                "a matrix of fewer than {SMALL} rows and columns is decomposed"
            ));
        }
        let mean_square = match self.mean_square() {
            Ok(s) if s > 0.0 => s,
            Ok(_) => return Some("the matrix is zero".to_owned()),
            Err(error) => return Some(error.to_string()),
        };
        let mut sums = vec![0.0; m];
        let mut scratch = vec![0.0; operator.scratch_len(1)];
        operator.apply(&vec![1.0; n], &mut sums, &mut scratch);
        let entries = m as f64 * n as f64;
        let mean = sums.iter().sum::<f64>() / entries;
        let deviations = mean.abs() * (entries / mean_square).sqrt();
        if deviations > MEAN {
            return Some(format!(
                "the entries are not independent around zero: their mean {mean:.1e} is {deviations:.0} standard deviations from it"
            ));
        }
        let (rows, columns) = match self.matrix() {
            Some(w) => {
                let (rows, columns) = w.square_norms();
                (Some(rows), Some(columns))
            }
            None => (operator.row_norms(), operator.gram_diagonal()),
        };
        let spreads = [("columns", columns, m), ("rows", rows, n)];
        spreads.into_iter().find_map(|(what, norms, count)| {
            let spread = spread(&norms?) / (2.0 / count as f64).sqrt();
            (spread > NORMS).then(|| {
                format!(
                    "the entries are not independent: squared norms of {what} spread {spread:.0} times as much as theirs would"
                )
            })
        })
    }

    /// Why the spectrum is not that of independent entries.
    pub(super) fn spectrum_objects(&self) -> Option<String> {
        let spectrum = match self.bidiagonal() {
            Ok(spectrum) => spectrum,
            Err(error) => return Some(error.to_string()),
        };
        let sides = self
            .operator()
            .input()
            .len()
            .min(self.operator().output().len());
        let (edge, largest) = ((sides as f64).powf(-2.0 / 3.0), spectrum.largest());
        if !(largest < 1.0 + EDGE * edge) {
            return Some(format!(
                "the largest singular value is at least {largest:.2} times that of independent entries"
            ));
        }
        let (distance, spread) = spectrum.distance();
        (!(distance < 1.0 + SPECTRUM * spread)).then(|| {
            format!(
                "the spectrum is not that of independent entries: what random vectors see of it deviates {:.1} times as much",
                distance.sqrt()
            )
        })
    }
}

pub(super) fn is_simple(structure: Structure) -> bool {
    matches!(structure, Structure::Isotropic | Structure::Diagonal)
}

/// The standard deviation relative to the mean.
fn spread(x: &[f64]) -> f64 {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let square = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    square.sqrt() / mean
}
