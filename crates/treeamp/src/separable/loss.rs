//! Losses of observed outputs: a channel whose output must be observed, and then a penalty of its input.

use std::sync::Arc;

use super::output::one_output;
use super::prior::listed;
use super::{Penalty, PenaltyLaw as _, chunked_sum, fill_moments};
use crate::belief::SignalSpec;
use crate::error::ShapeError;
use crate::factor::{Arity, Factor, downcast};
use crate::math::mixture::height;
use crate::scalar::{ScalarLoss, Tilted};

/// A loss with its outputs: the penalty $\sum_i E(z_i; y_i)$ of the input.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedLoss<L> {
    loss: L,
    y: Arc<[f64]>,
}

impl<L: ScalarLoss> Penalty for ObservedLoss<L> {
    fn name(&self) -> &str {
        L::NAME
    }

    /// None for outputs that are not given.
    fn proximal(&self, _: &[usize], a: f64, b: &[f64], mode: &mut [f64]) -> f64 {
        if !(a > 0.0) || b.len() != self.y.len() {
            return f64::INFINITY;
        }
        fill_moments(mode, |i| self.loss.proximal(self.y[i], a, b[i]))
    }

    fn energy(&self, _: &[usize], z: &[f64]) -> f64 {
        let n = z.len().min(self.y.len());
        chunked_sum(n, |i| self.loss.energy(self.y[i], z[i]))
    }

    fn check_shape(&self, shape: &[usize]) -> Result<(), String> {
        let n = self.y.len();
        if n == 0 || shape.iter().product::<usize>() == n {
            return Ok(());
        }
        Err(format!("{n} components, one per observation"))
    }

    fn smoothed(&self, _: &[usize], a: f64, b: &[f64], h: f64) -> Option<f64> {
        if b.len() != self.y.len() {
            return None;
        }
        let mode = |i: usize, b: f64| self.loss.proximal(self.y[i], a, b).0;
        let rise = chunked_sum(b.len(), |i| mode(i, b[i] + h) - mode(i, b[i] - h));
        Some(rise / (2.0 * h * b.len() as f64))
    }

    fn component(&self, i: usize, a: f64, b: f64) -> Option<Tilted> {
        let y = *self.y.get(i)?;
        if !(a > 0.0) {
            return Some(Tilted::divergent(0.0));
        }
        let (mean, variance) = self.loss.proximal(y, a, b);
        Some(Tilted {
            log_z: height(a, b, mean) - self.loss.energy(y, mean),
            mean,
            variance,
        })
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        self.loss.parameters()
    }
}

/// A loss whose outputs are not observed yet.
///
/// ```
/// use treeamp::prelude::*;
/// let w = Matrix::from_fn(4, 2, |i, j| (i + 2 * j) as f64 - 2.5)?;
/// let model = (source(Quadratic::new(1.0, 0.0)?.iid(2)) >> var("x") >> Linear::new(w)?
///     >> var("z") >> LossChannel::new(Hinge::new(1.0)?) >> var("y")).build()?;
/// let observed = model.condition("y", &[1.0, -1.0, 1.0, 1.0])?;
/// assert!(MaximumAPosteriori.on(&observed).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LossChannel<L> {
    loss: L,
}

impl<L: ScalarLoss> LossChannel<L> {
    /// The loss of an output to be observed.
    #[must_use]
    pub fn new(loss: L) -> Self {
        Self { loss }
    }

    fn observed(&self, y: &[f64]) -> Arc<dyn Factor> {
        let loss = self.loss.clone();
        Arc::new(ObservedLoss { loss, y: y.into() }.at_end())
    }
}

impl<L: ScalarLoss> Factor for LossChannel<L> {
    fn name(&self) -> &str {
        L::NAME
    }

    fn summary(&self) -> String {
        listed(&self.loss.parameters())
    }

    fn same_law(&self, other: &dyn Factor) -> bool {
        downcast::<Self>(other).is_some_and(|other| other.loss == self.loss)
    }

    fn arity(&self) -> Arity {
        Arity {
            inputs: 1,
            outputs: 1,
        }
    }

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        one_output::<f64, f64>(&inputs[0])
    }

    fn observe(&self, y: &[f64]) -> Result<Option<Arc<dyn Factor>>, String> {
        for (i, y) in y.iter().enumerate() {
            let finite = y.is_finite();
            let outcome = if finite {
                self.loss.check(*y)
            } else {
                Err(format!("expected finite values, got {y}"))
            };
            outcome.map_err(|reason| format!("{reason} at index {i}"))?;
        }
        Ok(Some(self.observed(y)))
    }

    fn observe_unspecified(&self) -> Result<Option<Arc<dyn Factor>>, String> {
        Ok(Some(self.observed(&[])))
    }
}
