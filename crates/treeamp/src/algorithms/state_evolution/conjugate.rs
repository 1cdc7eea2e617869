//! Conjugate fields as messages: one number, or three.

use crate::belief::OverlapFields;
use crate::engine::Message;

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
