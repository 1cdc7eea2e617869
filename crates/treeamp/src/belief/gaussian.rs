//! A Gaussian belief $p(x) \propto e^{-\frac12 x^T a x + b^T x}$ as a message.

use super::{SignalSpec, SymMatrix};
use crate::engine::Message;

/// Natural parameters $(a, b)$ of a Gaussian.
///
/// An isotropic precision of $+\infty$ *pins* the variable: the message is $\delta(x - m)$, and
/// `linear` holds the place $m$. The group laws below are the only code that knows about pins
/// outside the factors.
#[derive(Debug, Clone, PartialEq)]
pub struct Gaussian {
    /// Precision $a$.
    pub precision: SymMatrix,
    /// Linear coefficient $b$, or the place of a pin.
    pub linear: Vec<f64>,
}

impl Gaussian {
    /// The flat belief, which says nothing.
    #[must_use]
    pub fn flat(spec: &SignalSpec) -> Self {
        Self {
            precision: SymMatrix::zeros(spec),
            linear: vec![0.0; spec.len()],
        }
    }

    /// Number of real components.
    #[must_use]
    pub fn len(&self) -> usize {
        self.linear.len()
    }

    /// There is no component.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.linear.is_empty()
    }

    /// The precision is infinite, and `linear` is a place.
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        self.precision.data()[0] == f64::INFINITY
    }

    /// The belief says nothing at all.
    #[must_use]
    pub fn is_flat(&self) -> bool {
        self.precision
            .data()
            .iter()
            .chain(&self.linear)
            .all(|x| *x == 0.0)
    }

    /// Makes it flat.
    pub fn set_flat(&mut self) {
        self.precision.data_mut().fill(0.0);
        self.linear.fill(0.0);
    }

    /// Isotropic log-partition $A = \frac{\|b\|^2}{2a} + \frac n2 \ln\frac{2\pi}{a}$; 0 for a pin.
    /// $+\infty$ for an improper belief.
    #[must_use]
    pub fn log_partition(&self) -> f64 {
        let a = self.precision.scalar();
        if a == f64::INFINITY {
            return 0.0;
        }
        if a <= 0.0 {
            return f64::INFINITY;
        }
        let n = self.linear.len() as f64;
        let square: f64 = self.linear.iter().map(|b| b * b).sum();
        0.5 * square / a + 0.5 * n * (std::f64::consts::TAU / a).ln()
    }

    /// $\ln g(m) = -\frac12 a\|m\|^2 + b^T m$ of the (unnormalised, isotropic, finite) message.
    #[must_use]
    pub fn log_value(&self, place: &[f64]) -> f64 {
        let a = self.precision.scalar();
        self.linear
            .iter()
            .zip(place)
            .map(|(b, m)| m * (b - 0.5 * a * m))
            .sum()
    }
}

impl Message for Gaussian {
    fn copy_from(&mut self, other: &Self) {
        self.precision
            .data_mut()
            .copy_from_slice(other.precision.data());
        self.linear.copy_from_slice(&other.linear);
    }

    /// A pin absorbs whatever is added to it.
    fn add_assign(&mut self, other: &Self) {
        if self.is_pinned() {
            return;
        }
        if other.is_pinned() {
            self.copy_from(other);
            return;
        }
        for (x, y) in self
            .precision
            .data_mut()
            .iter_mut()
            .zip(other.precision.data())
        {
            *x += y;
        }
        for (x, y) in self.linear.iter_mut().zip(&other.linear) {
            *x += y;
        }
    }

    /// A pin is not blended: it is true or it is not.
    fn blend(&mut self, previous: &Self, damping: f64) {
        if self.is_pinned() || previous.is_pinned() {
            return;
        }
        for (x, y) in self
            .precision
            .data_mut()
            .iter_mut()
            .zip(previous.precision.data())
        {
            *x += damping * (y - *x);
        }
        for (x, y) in self.linear.iter_mut().zip(&previous.linear) {
            *x += damping * (y - *x);
        }
    }

    fn is_finite(&self) -> bool {
        let precision_ok = self.precision.data().iter().all(|a| a.is_finite());
        (precision_ok || self.is_pinned()) && self.linear.iter().all(|b| b.is_finite())
    }
}
