//! The number types a signal can be made of, viewed from plain `f64` storage.

use std::fmt::Debug;

/// One element of a signal. Storage is always `f64`; a law sees its own element type.
///
/// Precisions and variances count real degrees of freedom, so a belief on an element is
/// $\exp(-\tfrac12 a |x|^2 + \mathrm{Re}(\bar b x))$ whatever the type.
pub trait Elem: Copy + Debug + PartialEq + Send + Sync + 'static {
    /// How many `f64` one element takes.
    const REAL_LEN: usize;
    /// The zero element.
    const ZERO: Self;
    /// The unit.
    const ONE: Self;
    /// Reads a slice of `f64` as elements.
    fn view(data: &[f64]) -> &[Self];
    /// Reads a mutable slice of `f64` as elements.
    fn view_mut(data: &mut [f64]) -> &mut [Self];
    /// $|x|^2$.
    fn norm_sqr(self) -> f64;
    /// $\mathrm{Re}(\bar x y)$, the inner product of the plane of real components.
    fn dot(self, other: Self) -> f64;
    /// $s x$ for a real $s$.
    #[must_use]
    fn scale(self, s: f64) -> Self;
    /// $x - y$.
    #[must_use]
    fn minus(self, other: Self) -> Self;
    /// Every component is finite.
    fn is_finite(self) -> bool;
    /// The element on the real axis.
    fn from_real(x: f64) -> Self;
    /// The real part.
    fn re(self) -> f64;
}

impl Elem for f64 {
    const REAL_LEN: usize = 1;
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    fn view(data: &[f64]) -> &[Self] {
        data
    }
    fn view_mut(data: &mut [f64]) -> &mut [Self] {
        data
    }
    fn norm_sqr(self) -> f64 {
        self * self
    }
    fn dot(self, other: Self) -> f64 {
        self * other
    }
    fn scale(self, s: f64) -> Self {
        self * s
    }
    fn minus(self, other: Self) -> Self {
        self - other
    }
    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }
    fn from_real(x: f64) -> Self {
        x
    }
    fn re(self) -> f64 {
        self
    }
}
