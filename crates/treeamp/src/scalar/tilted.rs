//! A scalar Gaussian tilt $e^{-\frac12 a x^2 + b x}$ and the moments of a law tilted by it.

use super::Elem;

/// The natural parameters of a scalar Gaussian belief $e^{-\frac12 a|x|^2 + \mathrm{Re}(\bar b x)}$.
///
/// `a = ∞` is a point mass, and `b` then holds its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tilt<E = f64> {
    /// Precision.
    pub a: f64,
    /// Linear coefficient.
    pub b: E,
}

impl<E> Tilt<E> {
    /// What turns `b` into the mean: $1/a$, or 1 for a point mass.
    #[must_use]
    pub fn mean_scale(&self) -> f64 {
        if self.a == f64::INFINITY {
            1.0
        } else {
            1.0 / self.a
        }
    }
}

/// $A$, $r = \partial_b A$ and $v = \partial_b^2 A$ of a scalar law, evaluated together.
///
/// Where the defining integral diverges, `log_z` and `variance` are $+\infty$ and `mean` is some
/// finite point of the closed support.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tilted<E = f64> {
    /// Log-partition $A$.
    pub log_z: f64,
    /// Tilted mean $r$.
    pub mean: E,
    /// Tilted variance $v$, per real component.
    pub variance: f64,
}

impl<E: Elem> Tilted<E> {
    /// The value where the defining integral diverges; `mean` must lie in the closed support.
    #[must_use]
    pub fn divergent(mean: E) -> Self {
        Self {
            log_z: f64::INFINITY,
            mean,
            variance: f64::INFINITY,
        }
    }

    /// $E|x|^2 = |r|^2 + v$ (times the real components of an element).
    #[must_use]
    pub fn second_moment(&self) -> f64 {
        self.mean.norm_sqr() / E::REAL_LEN as f64 + self.variance
    }
}

/// Joint log-partition and the moments of both ends of a scalar channel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TiltedPair<I = f64, O = f64> {
    /// Joint log-partition $A(a_z, b_z, a_x, b_x)$.
    pub log_z: f64,
    /// Mean of the input $z$.
    pub mean_z: I,
    /// Variance of the input $z$.
    pub variance_z: f64,
    /// Mean of the output $x$.
    pub mean_x: O,
    /// Variance of the output $x$.
    pub variance_x: f64,
}

impl<I: Elem, O: Elem> TiltedPair<I, O> {
    /// The value where the defining integral diverges; the means must lie in the closed supports.
    #[must_use]
    pub fn divergent(mean_z: I, mean_x: O) -> Self {
        Self {
            log_z: f64::INFINITY,
            mean_z,
            variance_z: f64::INFINITY,
            mean_x,
            variance_x: f64::INFINITY,
        }
    }
}
