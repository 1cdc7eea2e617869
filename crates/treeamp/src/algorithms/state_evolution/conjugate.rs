//! Conjugate fields as messages: one number, or three.

use crate::belief::{OverlapFields, Overlaps};
use crate::engine::Message;
use crate::error::FactorError;

/// One number on an edge: $\hat\tau_0$ of the teacher, or $\hat m$ in the Bayes-optimal setting.
/// Infinite when the variable is known exactly.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Conjugate(pub f64);

impl Message for Conjugate {
    fn copy_from(&mut self, other: &Self) {
        *self = *other;
    }

    fn set_flat(&mut self) {
        self.0 = 0.0;
    }

    fn add_assign(&mut self, other: &Self) {
        self.0 += other.0;
    }

    fn blend(&mut self, previous: &Self, damping: f64) {
        if self.0.is_finite() && previous.0.is_finite() {
            self.0 += damping * (previous.0 - self.0);
        }
    }

    fn is_finite(&self) -> bool {
        self.0 > f64::NEG_INFINITY
    }
}

/// The field of a variable that is known exactly.
pub(super) const KNOWN: OverlapFields = OverlapFields {
    m_hat: f64::INFINITY,
    q_hat: f64::INFINITY,
    tau_hat: 0.0,
};

impl Message for OverlapFields {
    fn copy_from(&mut self, other: &Self) {
        *self = *other;
    }

    fn set_flat(&mut self) {
        *self = Self::default();
    }

    fn add_assign(&mut self, other: &Self) {
        self.m_hat += other.m_hat;
        self.q_hat += other.q_hat;
        self.tau_hat += other.tau_hat;
    }

    fn blend(&mut self, previous: &Self, damping: f64) {
        if !(self.a().is_finite() && previous.a().is_finite()) {
            return; // a known variable is not damped
        }
        self.m_hat += damping * (previous.m_hat - self.m_hat);
        self.q_hat += damping * (previous.q_hat - self.q_hat);
        self.tau_hat += damping * (previous.tau_hat - self.tau_hat);
    }

    fn is_finite(&self) -> bool {
        *self == KNOWN
            || self.m_hat.is_finite() && self.q_hat.is_finite() && self.tau_hat.is_finite()
    }
}

/// Without doubt, in units of $1/\tau_0$: the error of a certain student is a difference of overlaps, and rounds to
/// no less than the square of this.
const CERTAIN: f64 = 1e10;

/// What a student sends that has no doubt left, as in the Bayes-optimal setting; `None` while it has some.
pub(super) fn certain(
    o: &Overlaps,
    a: f64,
    is_law: bool,
) -> Result<Option<OverlapFields>, FactorError> {
    let sure = |x: f64| x * CERTAIN < o.tau0;
    // the curvature of a penalty is no doubt: av stays where its active set does
    if sure(o.v) && sure(o.mse()) && (o.v * a < 1e-3 || !is_law) {
        let field = CERTAIN / o.tau0;
        return Ok(Some(if o.v > 0.0 {
            OverlapFields {
                m_hat: field,
                q_hat: field,
                tau_hat: 0.0,
            }
        } else {
            KNOWN
        }));
    }
    if o.v > 0.0 {
        return Ok(None);
    }
    let error = o.mse() / o.tau0;
    Err(FactorError::Unsupported(if is_law {
        format!(
            "the student is certain, and errs by {error:e} of the signal's second moment: \
             state evolution needs a student with some noise where its teacher has some (1e-8 of the signal is next to none)"
        )
    } else {
        format!(
            "the penalty has no active coordinate at precision {a:e}, and errs by {error:e} of the signal's second moment: \
             start from a larger one, `initial(Initial::Constant {{ precision, linear: 0.0 }})`, or make it weaker"
        )
    }))
}
