//! State evolution: what a factor knows about its average over data from a teacher.

use super::Factor;
use crate::belief::{OverlapFields, Overlaps};
use crate::error::FactorError;

/// The averaged messages at the ports of a factor: the student's fields and the teacher's
/// $\hat\tau_0$, one of each per port.
#[derive(Debug, Clone, Copy)]
pub struct Averaged<'a> {
    /// The student's fields $\hat m, \hat q, \hat\tau$.
    pub fields: &'a [OverlapFields],
    /// The teacher's $\hat\tau_0$.
    pub tau0_hat: &'a [f64],
}

/// State evolution of a factor (Tree-AMP paper, section 3): averages over the local
/// teacher-student pair
/// $b_i \sim \mathcal N(\hat m_i x_{0,i}, \hat q_i)$, $x_0 \sim f_0(x_0)\,e^{-\frac12\sum_i\hat\tau_{0,i}x_{0,i}^2}$.
///
/// Potentials are per component of the factor's reference port ([`reference`](Self::reference)),
/// overlaps per component of their own port.
pub trait EnsembleRule: Send + Sync {
    /// The port whose size the potentials are divided by.
    fn reference(&self) -> usize {
        0
    }

    /// Whether `teacher` can stand on the other side of this student.
    fn pairs_with(&self, teacher: &dyn Factor) -> bool;

    /// It is a law, with moments of its own; a penalty is none, and only a student at zero temperature.
    fn is_law(&self) -> bool {
        true
    }

    /// $\tau_{0}$ of the variable at `target` when this factor is the teacher's:
    /// $E x_0^2$ under $f_0\,e^{-\frac12\sum_i \hat\tau_{0,i} x_{0,i}^2}$.
    ///
    /// # Errors
    /// When the law is improper.
    fn second_moment(&self, tau0_hat: &[f64], target: usize) -> Result<f64, FactorError>;

    /// $A^{(0)}(\hat\tau_0) = \ln\int f_0\,e^{-\frac12\sum_i\hat\tau_{0,i}x_{0,i}^2}$, this factor being the
    /// teacher's.
    ///
    /// # Errors
    /// When the law is improper.
    fn prior_potential(&self, tau0_hat: &[f64]) -> Result<f64, FactorError>;

    /// The overlaps of the variable at `target`, this factor being the student's.
    ///
    /// # Errors
    /// When the average cannot be computed.
    fn overlaps(
        &self,
        teacher: &dyn Factor,
        at: Averaged<'_>,
        target: usize,
    ) -> Result<Overlaps, FactorError>;

    /// What goes to `target` from a factor whose messages are made from its own last ones, `sent`: its state evolution is that of
    /// approximate message passing, sweep by sweep. `None` of all others.
    ///
    /// # Errors
    /// When the average cannot be computed.
    fn recursion(
        &self,
        _at: Averaged<'_>,
        _sent: &[OverlapFields],
        _target: usize,
    ) -> Result<Option<OverlapFields>, FactorError> {
        Ok(None)
    }

    /// The extrinsic precision $a' = 1/v - a$ towards `target` where a formula gives it without the
    /// difference; infinite when the variable becomes known.
    ///
    /// # Errors
    /// When the average cannot be computed.
    fn extrinsic_precision(
        &self,
        _at: Averaged<'_>,
        _target: usize,
    ) -> Result<Option<f64>, FactorError> {
        Ok(None)
    }

    /// The extrinsic fields towards a `target` that is known exactly, of infinite field: the limit of what is sent
    /// as its field grows. `None` if nothing is known of it.
    ///
    /// # Errors
    /// When the average cannot be computed.
    fn towards_known(
        &self,
        _at: Averaged<'_>,
        _target: usize,
    ) -> Result<Option<OverlapFields>, FactorError> {
        Ok(None)
    }

    /// $\bar A = E\,A(a, b; y)$, this factor being the student's.
    ///
    /// # Errors
    /// When the average cannot be computed.
    fn potential(&self, teacher: &dyn Factor, at: Averaged<'_>) -> Result<f64, FactorError>;

    /// $H = \sum_i\frac12\alpha_i\hat m_i\tau_i - \bar A + A^{(0)}$ in the Bayes-optimal setting: the mutual
    /// information between the factor's variables and what is seen of them, plus the entropy of the
    /// factor's own noise. `ports` gives $\alpha_i$ (size relative to the reference port) and $\tau_i$.
    /// Override it where it can be had without the difference of large numbers.
    ///
    /// # Errors
    /// When the average cannot be computed.
    fn entropic_potential(
        &self,
        teacher: &dyn Factor,
        at: Averaged<'_>,
        ports: &[(f64, f64)],
    ) -> Result<f64, FactorError> {
        Ok(signal(at, ports) - self.potential(teacher, at)? + self.prior_potential(at.tau0_hat)?)
    }

    /// $d = \lim a v$ as the field at `target` grows and the others stay: the dimension of what a prior or a
    /// likelihood leaves unknown of its variable. One for a law with a density and for a noisy or discrete
    /// output, zero for a discrete law and for an output that determines its input up to finitely many values.
    ///
    /// # Errors
    /// When the teacher's law is improper.
    fn unknown_dimension(&self, _tau0_hat: &[f64], _target: usize) -> Result<f64, FactorError> {
        Ok(1.0)
    }
}

/// $\sum_i\frac12\alpha_i\hat m_i\tau_i$.
pub(crate) fn signal(at: Averaged<'_>, ports: &[(f64, f64)]) -> f64 {
    let terms = at.fields.iter().zip(ports);
    terms
        .map(|(f, (alpha, tau))| 0.5 * alpha * f.m_hat * tau)
        .sum()
}
