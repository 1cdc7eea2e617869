//! What is known about the rows of one of the two matrices: means, covariances, and their sums.

use crate::belief::{Gaussian, Message as _, Moments, Structure};
use crate::error::{FactorError, brief};

/// The rows of one matrix, of `rank` components each.
#[derive(Debug, Clone)]
pub(super) struct Side {
    pub rank: usize,
    pub rows: usize,
    /// Row by row.
    pub mean: Vec<f64>,
    /// One variance for all, one per component, or a matrix per row: as the belief has it.
    pub spread: Vec<f64>,
    pub structure: Structure,
    /// $\sum_i \hat u_i\hat u_i^T$.
    pub square: Vec<f64>,
    /// $\sum_i\Sigma_i$.
    pub total_spread: Vec<f64>,
    /// The means by column, for products.
    pub columns: Vec<f64>,
    /// The means of the last update and of the one before: the Onsager term belongs to the latter.
    now: Vec<f64>,
    before: Vec<f64>,
    /// Precision and linear part of the message that it was made from; no precision where it was not made.
    seen: (Vec<f64>, Vec<f64>),
    /// Room for a belief of dense blocks.
    dense: Option<(Gaussian, Moments)>,
}

impl Side {
    pub fn new(rows: usize, rank: usize, structure: Structure) -> Self {
        let len = rows * rank;
        let spread = match structure {
            Structure::Isotropic => 1,
            Structure::Diagonal => len,
            _ => len * rank,
        };
        Self {
            rank,
            rows,
            mean: vec![0.0; len],
            spread: vec![0.0; spread],
            structure,
            square: vec![0.0; rank * rank],
            total_spread: vec![0.0; rank * rank],
            columns: vec![0.0; len],
            now: vec![0.0; len],
            before: vec![0.0; len],
            seen: (Vec::with_capacity(spread), vec![0.0; len]),
            dense: None,
        }
    }

    /// The belief from the message that comes in and the one that was sent, made again where what comes in is new, or if `anew`. False where
    /// nothing is known yet.
    ///
    /// In a sweep it is made once, for the message to $Z$: when the last side is written to, what was sent to the others is of this sweep
    /// already, and what came from them is not.
    pub fn update(
        &mut self,
        incoming: &Gaussian,
        sent: &Gaussian,
        anew: bool,
    ) -> Result<bool, FactorError> {
        let same = self.seen.0 == incoming.precision.data() && self.seen.1 == incoming.linear;
        if same && !anew {
            return Ok(true);
        }
        self.seen.0.clear();
        let known = match self.structure {
            Structure::Isotropic | Structure::Diagonal => self.by_component(incoming, sent)?,
            _ => self.by_block(incoming, sent)?,
        };
        if known {
            self.sum_up();
            self.seen.0.extend_from_slice(incoming.precision.data());
            self.seen.1.copy_from_slice(&incoming.linear);
        }
        Ok(known)
    }

    fn by_component(&mut self, incoming: &Gaussian, sent: &Gaussian) -> Result<bool, FactorError> {
        let (a, s) = (incoming.precision.data(), sent.precision.data());
        let step = usize::from(a.len() > 1);
        for (k, spread) in self.spread.iter_mut().enumerate() {
            let total = a[k] + s[k];
            if !(total > 0.0) {
                if a[k] == 0.0 && s[k] == 0.0 {
                    return Ok(false);
                }
                return Err(improper(a[k], s[k]));
            }
            *spread = 1.0 / total;
        }
        let parts = incoming.linear.iter().zip(&sent.linear);
        for (i, (mean, (b, c))) in self.mean.iter_mut().zip(parts).enumerate() {
            let k = step * i;
            *mean = if a[k] == f64::INFINITY {
                *b
            } else if s[k] == f64::INFINITY {
                *c
            } else {
                (b + c) * self.spread[k]
            };
        }
        Ok(true)
    }

    fn by_block(&mut self, incoming: &Gaussian, sent: &Gaussian) -> Result<bool, FactorError> {
        if incoming.is_flat() && sent.is_flat() {
            return Ok(false);
        }
        let make = || (incoming.clone(), Moments::like(incoming));
        let (total, moments) = self.dense.get_or_insert_with(make);
        total.clone_from(incoming);
        total.add_assign(sent);
        total.moments_into(moments)?;
        self.mean.copy_from_slice(&moments.mean);
        self.spread.copy_from_slice(moments.variance.data());
        Ok(true)
    }

    /// $\Sigma_i$, into `out`.
    pub fn spread_of(&self, row: usize, out: &mut [f64]) {
        let r = self.rank;
        match self.structure {
            Structure::Isotropic | Structure::Diagonal => {
                out.fill(0.0);
                let step = usize::from(self.structure == Structure::Diagonal);
                for k in 0..r {
                    out[k * r + k] = self.spread[step * (row * r + k)];
                }
            }
            _ => out.copy_from_slice(&self.spread[row * r * r..(row + 1) * r * r]),
        }
    }

    /// $\hat u_i$.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.mean[row * self.rank..(row + 1) * self.rank]
    }

    /// $\hat u_i$ of the sweep before.
    pub fn row_before(&self, row: usize) -> &[f64] {
        &self.before[row * self.rank..(row + 1) * self.rank]
    }

    /// The sums over rows, and the means by column.
    pub fn sum_up(&mut self) {
        let r = self.rank;
        self.square.fill(0.0);
        for (i, row) in self.mean.chunks_exact(r).enumerate() {
            for (k, x) in row.iter().enumerate() {
                self.columns[k * self.rows + i] = *x;
                for (l, y) in row.iter().enumerate() {
                    self.square[k * r + l] += x * y;
                }
            }
        }
        self.total_spread.fill(0.0);
        match self.structure {
            Structure::Isotropic => {
                let all = self.rows as f64 * self.spread[0];
                (0..r).for_each(|k| self.total_spread[k * r + k] = all);
            }
            Structure::Diagonal => {
                for row in self.spread.chunks_exact(r) {
                    row.iter()
                        .enumerate()
                        .for_each(|(k, v)| self.total_spread[k * r + k] += v);
                }
            }
            _ => {
                for block in self.spread.chunks_exact(r * r) {
                    self.total_spread
                        .iter_mut()
                        .zip(block)
                        .for_each(|(s, v)| *s += v);
                }
            }
        }
    }

    /// Takes note of the means that an update is made from. Evaluated again at the same means, the ones before stay.
    pub fn note(&mut self) {
        if self.now != self.mean {
            std::mem::swap(&mut self.now, &mut self.before);
            self.now.copy_from_slice(&self.mean);
        }
    }

    /// Takes the means for those of the last update as well: a start.
    pub fn begin(&mut self) {
        self.now.copy_from_slice(&self.mean);
        self.before.copy_from_slice(&self.mean);
    }

    /// The trace of the covariances, per component.
    pub fn average_spread(&self) -> f64 {
        let trace: f64 = (0..self.rank)
            .map(|k| self.total_spread[k * self.rank + k])
            .sum();
        trace / self.mean.len() as f64
    }

    /// The means by column, averaged over rows.
    pub fn average(&self) -> Vec<f64> {
        let columns = self.columns.chunks_exact(self.rows);
        columns
            .map(|c| c.iter().sum::<f64>() / self.rows as f64)
            .collect()
    }

    /// Every mean is zero, next to its deviation; or all rows are the same, and of several columns: groups that cannot be distinguished.
    pub fn says_nothing(&self) -> bool {
        let centre = match self.rank {
            1 => vec![0.0],
            _ => self.average(),
        };
        let rows = self.mean.chunks_exact(self.rank);
        let power: f64 = rows
            .flat_map(|row| row.iter().zip(&centre))
            .map(|(x, c)| (x - c).powi(2))
            .sum();
        power <= NOTHING * self.mean.len() as f64 * self.average_spread()
    }
}

/// Means whose squares are below this fraction of the variance are rounding.
const NOTHING: f64 = 1e-24;

fn improper(a: f64, b: f64) -> FactorError {
    FactorError::Improper(format!(
        "the precisions {} and {} on a row leave a negative variance",
        brief(a),
        brief(b)
    ))
}
