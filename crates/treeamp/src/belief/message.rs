//! What travels on an edge: natural parameters, which add.

use super::Structure;

/// Natural parameters on an edge. Beliefs multiply, so natural parameters add.
///
/// There is no subtraction: a cavity is the sum of the *other* messages, because with precisions of
/// 1e12 the difference "total minus own" loses every digit.
pub trait Message: Clone + Send + Sync + std::fmt::Debug {
    /// Copies in place, without allocating.
    fn copy_from(&mut self, other: &Self);
    /// Becomes the message that says nothing.
    fn set_flat(&mut self);
    /// Adds natural parameters.
    fn add_assign(&mut self, other: &Self);
    /// Where its precision is negative: becomes the message without precision that makes the same mean next to `cavity`.
    fn lift(&mut self, cavity: &Self) {
        let _ = cavity;
    }
    /// Precisions of single components stay within $1/\sqrt\epsilon$ times the least one of the belief next to `cavity`, their places staying:
    /// what is certain beside what is not leaves matrices without a factorisation. A variance is then off by $\sqrt\epsilon$ of the largest
    /// one, as much as rounding makes of a matrix with such entries.
    fn bound(&mut self, cavity: &Self) {
        let _ = cavity;
    }
    /// `(1 - damping) * self + damping * previous`.
    fn blend(&mut self, previous: &Self, damping: f64);
    /// Number of components, where a message has them.
    fn components(&self) -> usize {
        1
    }
    /// The structure of its precision.
    fn structure(&self) -> Structure {
        Structure::Isotropic
    }
    /// It says nothing.
    fn is_flat(&self) -> bool {
        false
    }
    /// Next to it `other` does not count: it is pinned, or its precision is over $10^{12}$ times that of
    /// `other`.
    fn overwhelms(&self, other: &Self) -> bool {
        let _ = other;
        false
    }
    /// Its numbers, of the precision and of the linear part, where they can be added and scaled: not of a pin.
    fn numbers(&self) -> Option<(&[f64], &[f64])> {
        None
    }
    /// Sets the numbers of a message that has them.
    fn set_numbers(&mut self, precision: &[f64], linear: &[f64]) {
        let _ = (precision, linear);
    }
    /// No NaN, no infinity that is not a pin.
    fn is_finite(&self) -> bool;
}
