//! The log-partition, less the potentials of the messages: see the formula of the [module](super).

use std::f64::consts::{E, TAU};

use super::amp::Amp;
use super::product::multiply;
use super::side::Side;
use crate::belief::{Form, Gaussian, Structure};
use crate::error::FactorError;
use crate::math::dense::{cholesky, inverse, log_det, square};

impl Amp<'_> {
    /// $A_f - \sum A[m]$ at the means and covariances that the messages make, where it is stationary at a fixed point.
    pub fn excess(&mut self) -> Result<f64, FactorError> {
        if !self.is_known() {
            return Ok(f64::INFINITY);
        }
        let mut value = -self.z.own_potential();
        for (side, message) in self.work.sides.iter().zip(&self.sides) {
            value += rows_excess(side, message)?;
        }
        Ok(value + self.coupling())
    }

    /// The sum over entries.
    fn coupling(&mut self) -> f64 {
        let share = 1.0 / self.work.layout.columns() as f64;
        let work = &mut *self.work;
        let b = &self.z.linear;
        let r = work.rank;
        let last = work.sides.len() - 1;
        let n = work.sides[0].rows;
        let product = &mut work.product[..n * r];
        multiply(work.layout, b, false, &work.sides[last].columns, product);
        let columns = &work.sides[0].columns;
        let field: f64 = columns.iter().zip(&*product).map(|(u, p)| u * p).sum();
        // pairs meet from both ends
        let field = share.sqrt() * field / if last == 0 { 2.0 } else { 1.0 };
        if self.z.structure() == Structure::Isotropic {
            let a = self.z.precision.scalar();
            let square: f64 = b.iter().map(|b| b * b).sum();
            let mean_square = square / (b.len() as f64).max(1.0);
            let (spread, both) = work.entry_sums();
            let fit = work.square_sum();
            return field - 0.5 * share * (a * (fit + spread + both) - mean_square * both);
        }
        field - 0.5 * share * work.entry_terms(self.z)
    }
}

/// $\sum_i[b_i^T\hat u_i - \frac12\mathrm{tr}\,a_i(\hat u_i\hat u_i^T + \Sigma_i) + \frac12\ln\det 2\pi e\Sigma_i]$, less the potential of the message.
fn rows_excess(side: &Side, message: &Gaussian) -> Result<f64, FactorError> {
    if message.block_count() > 0 {
        return blocks_excess(side, message);
    }
    let (a, v) = (message.precision.data(), &side.spread);
    let step = usize::from(a.len() > 1);
    let terms = side.mean.iter().zip(&message.linear).enumerate();
    Ok(terms
        .map(|(i, (m, b))| {
            let (a, v) = (a[step * i], v[step * i]);
            if a == f64::INFINITY {
                0.0
            } else if a > 0.0 {
                // ln(av) + 1 - av, without the difference
                let gap = a * v - 1.0;
                0.5 * (gap.ln_1p() - gap) - 0.5 * a * (m - b / a).powi(2)
            } else {
                b * m - 0.5 * a * (m * m + v) + 0.5 * (TAU * E * v).ln()
            }
        })
        .sum())
}

fn blocks_excess(side: &Side, message: &Gaussian) -> Result<f64, FactorError> {
    let r = side.rank;
    let mut value = 0.0;
    let mut spread = vec![0.0; r * r];
    for i in 0..side.rows {
        let block = message.block(i);
        if block.is_pinned() {
            continue;
        }
        side.spread_of(i, &mut spread);
        let none = || FactorError::Improper(format!("the covariance of row {i} is singular"));
        let entropy = 0.5 * r as f64 * (TAU * E).ln()
            + 0.5 * log_det(&cholesky(square(&spread, r)).ok_or_else(none)?);
        let mean = side.row(i);
        // E ln N(u; m, S) of a block in moment form is that of its natural parameters, and normalised
        let (matrix, vector, own) = match block.form {
            Form::Natural => (
                block.matrix.to_owned(),
                block.vector.to_owned(),
                block.own_potential(),
            ),
            Form::Moments => {
                let factor = cholesky(block.matrix).ok_or_else(none)?;
                let precision = inverse(&factor);
                let vector = &precision * block.vector;
                let fit = block.vector.transpose() * &vector;
                let own = 0.5 * (fit + r as f64 * TAU.ln() + log_det(&factor));
                (precision, vector, own)
            }
        };
        let mut tilt = 0.0;
        for p in 0..r {
            tilt += vector[p] * mean[p];
            for q in 0..r {
                tilt -= 0.5 * matrix[(p, q)] * (mean[p] * mean[q] + spread[p * r + q]);
            }
        }
        value += tilt + entropy - own;
    }
    Ok(value)
}
