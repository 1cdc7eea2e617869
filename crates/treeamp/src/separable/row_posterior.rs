//! Expectation propagation of observed outputs of rows: from $(g, H)$, the first two derivatives of $\ln Z$ in the mean of the fields, to a message.
//!
//! With $V = a^{-1}$, $\omega = V b$ the tilted row has the covariance $V + VHV = V(I + HV)$ and the mean $\omega + Vg$, so that
//! $a' = -(I + HV)^{-1}H$ and $b' = a'\omega + (I + HV)^{-1}g$: no difference of precisions is taken.

use super::row_output::{RowLikelihood, RowOutputs, RowTilt};
use crate::belief::{Block, Form, Gaussian};
use crate::error::FactorError;
use crate::factor::{Context, PosteriorRule};
use crate::math::dense::{store, store_vector};
use crate::math::small;

/// One row: what comes in as a density, and what the output makes of it.
struct Row {
    v: Vec<f64>,
    omega: Vec<f64>,
    tilt: RowTilt,
    /// $I + HV$, and $(H, g)$ as columns, for the solution.
    matrix: Vec<f64>,
    sides: Vec<f64>,
}

impl Row {
    fn new(k: usize) -> Self {
        Self {
            v: vec![0.0; k * k],
            omega: vec![0.0; k],
            tilt: RowTilt::zeros(k),
            matrix: vec![0.0; k * k],
            sides: vec![0.0; k * (k + 1)],
        }
    }

    /// Covariance and mean of a block that is not pinned.
    fn read(&mut self, block: &Block<'_>, row: usize) -> Result<(), FactorError> {
        let k = self.omega.len();
        if block.form == Form::Moments {
            store(block.matrix, &mut self.v);
            store_vector(block.vector, &mut self.omega);
            return match small::invert(&self.v.clone(), k, &mut self.matrix) {
                Some(_) => Ok(()),
                None => Err(FactorError::Unsupported(format!(
                    "row {row} is exactly known in some directions and not in others: expected a belief with a precision"
                ))),
            };
        }
        store(block.matrix, &mut self.matrix);
        if small::invert(&self.matrix, k, &mut self.v).is_none() {
            return Err(FactorError::Improper(format!(
                "the precision matrix of row {row} is not positive definite"
            )));
        }
        for i in 0..k {
            self.omega[i] = (0..k).map(|j| self.v[i * k + j] * block.vector[j]).sum();
        }
        Ok(())
    }

    /// Writes $(a', b')$.
    fn message(&mut self, row: usize, a: &mut [f64], b: &mut [f64]) -> Result<(), FactorError> {
        let (k, g, h) = (self.omega.len(), &self.tilt.gradient, &self.tilt.hessian);
        for i in 0..k {
            for j in 0..k {
                let product: f64 = (0..k).map(|l| h[i * k + l] * self.v[l * k + j]).sum();
                self.matrix[i * k + j] = product + f64::from(u8::from(i == j));
                self.sides[i * (k + 1) + j] = h[i * k + j];
            }
            self.sides[i * (k + 1) + k] = g[i];
        }
        let solved = small::solve(&mut self.matrix, k, &mut self.sides, k + 1);
        if solved.is_none() || self.sides.iter().any(|x| !x.is_finite()) {
            return Err(FactorError::Improper(format!(
                "the output of row {row} leaves its fields no covariance"
            )));
        }
        for i in 0..k {
            for j in 0..k {
                let pair = self.sides[i * (k + 1) + j] + self.sides[j * (k + 1) + i];
                a[i * k + j] = -0.5 * pair;
            }
        }
        small::times(a, &self.omega, b);
        (0..k).for_each(|i| b[i] += self.sides[i * (k + 1) + k]);
        Ok(())
    }
}

impl<L: RowLikelihood> RowOutputs<L> {
    /// The tilt of a row that is not pinned; what cannot be is a contradiction.
    fn tilt(&self, block: &Block<'_>, row: usize, out: &mut Row) -> Result<(), FactorError> {
        out.read(block, row)?;
        let y = self.observations()[row];
        self.law().tilted(y, &out.v, &out.omega, &mut out.tilt)?;
        if out.tilt.log_z > f64::NEG_INFINITY {
            return Ok(());
        }
        Err(FactorError::Contradiction(format!(
            "expected an output that its fields can have, got {y} at row {row}"
        )))
    }
}

/// A block that says nothing.
fn is_flat(block: &Block<'_>) -> bool {
    block.form == Form::Natural && block.matrix.norm_max() == 0.0 && block.vector.norm_max() == 0.0
}

impl<L: RowLikelihood> PosteriorRule for RowOutputs<L> {
    /// An output says nothing to fields that nothing is known of: it has no scale.
    fn message(
        &self,
        context: &mut Context<'_>,
        _: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        let z = context.incoming.get(0);
        let mut row = Row::new(self.law().dim());
        out.set_flat();
        for m in 0..z.block_count() {
            let block = z.block(m);
            if block.is_pinned() || is_flat(&block) {
                continue;
            }
            self.tilt(&block, m, &mut row)?;
            let (_, a, b) = out.block_mut(m);
            row.message(m, a, b)?;
        }
        Ok(())
    }

    fn log_partition(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
        let own = context.incoming.get(0).own_potential();
        Ok(self.excess(context)? + own)
    }

    /// $\sum\ln Z$, where what comes in is a density.
    fn excess(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
        let z = context.incoming.get(0);
        let mut row = Row::new(self.law().dim());
        let mut sum = 0.0;
        for m in 0..z.block_count() {
            let block = z.block(m);
            if block.is_pinned() {
                let place: Vec<f64> = block.vector.iter().copied().collect();
                sum += self.law().log_probability(self.observations()[m], &place);
                continue;
            }
            if is_flat(&block) {
                return Ok(f64::INFINITY);
            }
            match self.tilt(&block, m, &mut row) {
                Err(FactorError::Contradiction(_)) => return Ok(f64::NEG_INFINITY),
                Err(FactorError::Improper(_)) => return Ok(f64::INFINITY),
                other => other?,
            }
            let volume = block.log_partition().unwrap_or(f64::INFINITY);
            sum += row.tilt.log_z + volume - block.own_potential();
        }
        Ok(sum)
    }
}
