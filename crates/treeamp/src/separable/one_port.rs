//! What priors and likelihoods share: a law on every component of one variable.

use super::{chunked_sum, gaussian_excess, gaussian_message};
use crate::belief::{Gaussian, Message as _, Moments, SymMatrix};
use crate::error::FactorError;
use crate::factor::message_from_moments;
use crate::scalar::{Elem, Tilt};

/// A law on every component of one variable.
pub(super) trait OnePort<E: Elem> {
    /// The natural parameters of component `i`, of a Gaussian law.
    fn gaussian_at(&self, i: usize) -> Option<Tilt<E>>;

    /// Mean and variance of component `i` under a tilt.
    fn moments_at(&self, i: usize, a: f64, b: E) -> (E, f64);

    /// The same of components from `start` on, at one precision.
    fn moments_over(&self, start: usize, a: f64, b: &[E], mean: &mut [E], variance: &mut [f64]) {
        for (i, b) in b.iter().enumerate() {
            (mean[i], variance[i]) = self.moments_at(start + i, a, *b);
        }
    }

    /// $A$ of component `i` under a tilt.
    fn log_z_at(&self, i: usize, a: f64, b: E) -> f64;

    /// The log-density of component `i` at a known place.
    fn log_density_at(&self, i: usize, place: E) -> f64;

    /// $\sum_i\ln\int$ of Gaussian components that are not densities; 0 where they are.
    fn log_mass(&self) -> f64 {
        0.0
    }

    /// $A$, a sum over components; one that is excluded makes it $-\infty$.
    fn sum_log_z(&self, x: &Gaussian) -> Result<f64, FactorError> {
        let Some(a) = x.precision.by_component() else {
            let excess = gaussian_excess(x, |i| self.gaussian_at(i));
            let excess = excess.ok_or_else(not_gaussian)?;
            return Ok(excess + self.log_mass() + x.own_potential());
        };
        let b = E::view(&x.linear);
        let excluded =
            |i| a(i) == f64::INFINITY && self.log_density_at(i, b[i]) == f64::NEG_INFINITY;
        if (0..b.len()).any(excluded) {
            return Ok(f64::NEG_INFINITY);
        }
        Ok(chunked_sum(b.len(), |i| {
            if a(i) == f64::INFINITY {
                self.log_density_at(i, b[i])
            } else {
                self.log_z_at(i, a(i), b[i])
            }
        }))
    }

    /// Means, and variances by the structure of the belief.
    fn tilted_moments(&self, x: &Gaussian, out: &mut Moments) -> Result<(), FactorError> {
        if self.fill(x, &mut out.mean, &mut out.variance) {
            return Ok(());
        }
        let mut total = gaussian_message(x, |i| self.gaussian_at(i))?;
        total.add_assign(x);
        total.moments_into(out)
    }

    /// The message of a law that is not Gaussian.
    fn tilted_message(&self, x: &Gaussian, out: &mut Gaussian) -> Result<(), FactorError> {
        if self.fill(x, &mut out.linear, &mut out.precision) {
            return message_from_moments(x, out);
        }
        Err(not_gaussian())
    }

    /// Writes means and variances; false for a dense belief.
    fn fill(&self, x: &Gaussian, mean: &mut [f64], variance: &mut SymMatrix) -> bool {
        let Some(a) = x.precision.by_component() else {
            return false;
        };
        let (b, mean) = (E::view(&x.linear), E::view_mut(mean));
        // what depends on the precision alone is computed once
        if let Some(a) = x.precision.shared().filter(|a| *a < f64::INFINITY) {
            variance.set_by_chunks(b.len(), |chunk, variance| {
                let (b, mean) = (&b[chunk.clone()], &mut mean[chunk.clone()]);
                self.moments_over(chunk.start, a, b, mean, variance);
            });
            return true;
        }
        variance.set_by_component(b.len(), |i| {
            let (r, v) = if a(i) == f64::INFINITY {
                (b[i], 0.0)
            } else {
                self.moments_at(i, a(i), b[i])
            };
            mean[i] = r;
            v
        });
        true
    }
}

fn not_gaussian() -> FactorError {
    FactorError::Unsupported("its law is not Gaussian".to_owned())
}
