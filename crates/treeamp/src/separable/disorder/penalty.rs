//! State evolution of a penalty: the mismatched one in its zero-temperature limit.
//!
//! The student's mean is its mode $r = \mathrm{prox}(a, b)$ and its variance the curvature $v = \partial_b r$, both averaged over
//! the field of a teacher's law. Precisions are those of the scaled beliefs, $a^{(\beta)} = \beta a$.

use super::{prior, rules::view_of};
use crate::belief::Overlaps;
use crate::error::FactorError;
use crate::factor::{Averaged, EnsembleRule, Factor};
use crate::scalar::{Symmetry, Tilt};
use crate::separable::{Penalised, Penalty};

fn no_law<T>(what: &str) -> Result<T, FactorError> {
    Err(FactorError::Unsupported(format!(
        "a penalty is not a probability distribution and has no {what}; use it under [student]"
    )))
}

impl<P: Penalty> EnsembleRule for Penalised<P> {
    fn is_law(&self) -> bool {
        false
    }

    fn pairs_with(&self, teacher: &dyn Factor) -> bool {
        let flat = Tilt { a: 1.0, b: 0.0 };
        let law = teacher.ensemble().is_some_and(EnsembleRule::is_law);
        let prior = teacher
            .scalar()
            .is_some_and(|t| t.symmetry() == Symmetry::Line && t.prior(flat).is_some());
        law && prior
    }

    fn second_moment(&self, _: &[f64], _: usize) -> Result<f64, FactorError> {
        no_law("second moment: it can be a student only")
    }

    fn prior_potential(&self, _: &[f64]) -> Result<f64, FactorError> {
        no_law("potential of its own: it can be a student only")
    }

    fn overlaps(
        &self,
        teacher: &dyn Factor,
        at: Averaged<'_>,
        _: usize,
    ) -> Result<Overlaps, FactorError> {
        let teacher = view_of(teacher)?;
        let field = &at.fields[0];
        if field.m_hat == 0.0 && field.q_hat == 0.0 && field.tau_hat == 0.0 {
            // nothing heard yet: what it says then is about its own scale
            return Ok(Overlaps {
                m: 0.0,
                v: 1.0 / self.law().nominal(&[]).a,
                err: 0.0,
                tau0: prior::teacher_at(teacher, at.tau0_hat[0])?.second_moment(),
            });
        }
        Ok(prior::averages(self, teacher, at)?.0)
    }

    /// A quadratic penalty sends its own precision, whatever it hears.
    fn extrinsic_precision(&self, _: Averaged<'_>, _: usize) -> Result<Option<f64>, FactorError> {
        Ok(self.law().as_gaussian().map(|own| own.a))
    }

    /// Free entropies at zero temperature are not offered.
    fn potential(&self, _: &dyn Factor, _: Averaged<'_>) -> Result<f64, FactorError> {
        no_law("free entropy")
    }
}
