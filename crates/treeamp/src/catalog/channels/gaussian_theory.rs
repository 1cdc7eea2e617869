//! State evolution of Gaussian channels. Most are a linear map of a few scalar Gaussians: noise, sum, duplicate, rotation, reshape.

use super::gaussian_channel::{GaussianChannel, Kernel};
use crate::belief::{OverlapFields, Overlaps};
use crate::error::FactorError;
use crate::factor::{Averaged, EnsembleRule, Factor, GaussianFactor, downcast};

/// What state evolution knows of a Gaussian channel.
pub enum Theory<'a> {
    /// A linear map of a few scalars.
    Scalars(&'a dyn FewScalars),
    /// A rule of its own.
    Own(&'a dyn EnsembleRule),
}

/// A channel of a few scalars: its law, and two of its consequences without a difference of large numbers.
pub trait FewScalars: Send + Sync {
    /// Its Gaussian law.
    fn law(&self) -> GaussianFactor;

    /// The extrinsic precision towards `target` at precisions `a`.
    fn extrinsic(&self, a: &[f64], target: usize) -> f64;

    /// The log-determinant of the precision of the law at precisions `a`, up to a constant, as a sum of positive terms.
    fn log_det(&self, a: &[f64]) -> f64;
}

fn precisions(at: Averaged<'_>) -> Vec<f64> {
    at.fields.iter().map(OverlapFields::a).collect()
}

impl<K: Kernel> EnsembleRule for GaussianChannel<K> {
    fn reference(&self) -> usize {
        match self.kernel.theory() {
            Theory::Scalars(_) => 0,
            Theory::Own(rule) => rule.reference(),
        }
    }

    /// The teacher is a channel of the same kind, with as many ports.
    fn pairs_with(&self, teacher: &dyn Factor) -> bool {
        let teacher = downcast::<Self>(teacher);
        teacher.is_some_and(|t| t.kernel.arity() == self.kernel.arity())
    }

    fn second_moment(&self, tau0_hat: &[f64], target: usize) -> Result<f64, FactorError> {
        match self.kernel.theory() {
            Theory::Scalars(scalars) => scalars.law().second_moment(tau0_hat, target),
            Theory::Own(rule) => rule.second_moment(tau0_hat, target),
        }
    }

    fn prior_potential(&self, tau0_hat: &[f64]) -> Result<f64, FactorError> {
        match self.kernel.theory() {
            Theory::Scalars(scalars) => scalars.law().prior_potential(tau0_hat),
            Theory::Own(rule) => rule.prior_potential(tau0_hat),
        }
    }

    fn overlaps(
        &self,
        teacher: &dyn Factor,
        at: Averaged<'_>,
        target: usize,
    ) -> Result<Overlaps, FactorError> {
        match self.kernel.theory() {
            Theory::Scalars(scalars) => {
                let student = scalars.law();
                let teacher = teacher.gaussian_average();
                student.overlaps(teacher.as_ref().unwrap_or(&student), at, target)
            }
            Theory::Own(rule) => rule.overlaps(teacher, at, target),
        }
    }

    fn extrinsic_precision(
        &self,
        at: Averaged<'_>,
        target: usize,
    ) -> Result<Option<f64>, FactorError> {
        match self.kernel.theory() {
            Theory::Scalars(scalars) => Ok(Some(scalars.extrinsic(&precisions(at), target))),
            Theory::Own(rule) => rule.extrinsic_precision(at, target),
        }
    }

    fn potential(&self, teacher: &dyn Factor, at: Averaged<'_>) -> Result<f64, FactorError> {
        match self.kernel.theory() {
            Theory::Scalars(scalars) => {
                let student = scalars.law();
                let teacher = teacher.gaussian_average();
                student.potential(teacher.as_ref().unwrap_or(&student), at)
            }
            Theory::Own(rule) => rule.potential(teacher, at),
        }
    }

    /// $H = \frac12\ln\frac{\det(P + L^T\mathrm{diag}(a)L)}{\det(P + L^T\mathrm{diag}(\hat\tau_0)L)}$ of a few scalars.
    fn entropic_potential(
        &self,
        teacher: &dyn Factor,
        at: Averaged<'_>,
        ports: &[(f64, f64)],
    ) -> Result<f64, FactorError> {
        let scalars = match self.kernel.theory() {
            Theory::Scalars(scalars) => scalars,
            Theory::Own(rule) => return rule.entropic_potential(teacher, at, ports),
        };
        let a = precisions(at);
        let ratio = scalars.log_det(&a) - scalars.log_det(at.tau0_hat);
        if ratio.is_finite() {
            return Ok(0.5 * ratio);
        }
        Err(FactorError::Improper(format!(
            "precisions {a:?} or {:?} leave a negative variance",
            at.tau0_hat
        )))
    }
}
