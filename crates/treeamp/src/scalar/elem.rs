//! The number types a signal can be made of, viewed from plain `f64` storage.

use std::fmt::Debug;

use num_complex::Complex;

use crate::belief::Element;

/// One element of a signal. Storage is always `f64`; a law sees its own element type.
///
/// Precisions and variances count real degrees of freedom, so a belief on an element is
/// $\exp(-\tfrac12 a |x|^2 + \mathrm{Re}(\bar b x))$ whatever the type.
pub trait Elem: Copy + Debug + PartialEq + Send + Sync + 'static {
    /// How many `f64` one element takes.
    const REAL_LEN: usize;
    /// What a signal of them is made of.
    const ELEMENT: Element = if Self::REAL_LEN == 1 {
        Element::Real
    } else {
        Element::Complex
    };
    /// The zero element.
    const ZERO: Self;
    /// The unit.
    const ONE: Self;
    /// Reads a slice of `f64` as elements.
    fn view(data: &[f64]) -> &[Self];
    /// Reads a mutable slice of `f64` as elements.
    fn view_mut(data: &mut [f64]) -> &mut [Self];
    /// The storage of elements, as `f64`.
    fn storage(elements: &[Self]) -> &[f64];
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
    fn storage(elements: &[Self]) -> &[f64] {
        elements
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

/// Stored as an interleaved pair: real part, imaginary part.
impl Elem for Complex<f64> {
    const REAL_LEN: usize = 2;
    const ZERO: Self = Complex::new(0.0, 0.0);
    const ONE: Self = Complex::new(1.0, 0.0);
    fn view(data: &[f64]) -> &[Self] {
        bytemuck::cast_slice(data)
    }
    fn view_mut(data: &mut [f64]) -> &mut [Self] {
        bytemuck::cast_slice_mut(data)
    }
    fn storage(elements: &[Self]) -> &[f64] {
        bytemuck::cast_slice(elements)
    }
    fn norm_sqr(self) -> f64 {
        Complex::norm_sqr(&self)
    }
    fn dot(self, other: Self) -> f64 {
        self.re * other.re + self.im * other.im
    }
    fn scale(self, s: f64) -> Self {
        Complex::new(self.re * s, self.im * s)
    }
    fn minus(self, other: Self) -> Self {
        self - other
    }
    fn is_finite(self) -> bool {
        self.re.is_finite() && self.im.is_finite()
    }
    fn from_real(x: f64) -> Self {
        Complex::new(x, 0.0)
    }
    fn re(self) -> f64 {
        self.re
    }
}
