//! The constraint $x \ge 0$.
//!
//! # Mode
//! $r = (b/a)_+$, with $v = 1/a$ where $b > 0$ and zero elsewhere: that of [`BoxConstraint`] on $[0, \infty)$.

use super::BoxConstraint;
use crate::catalog::module::{Module, SIZE};
use crate::scalar::{ScalarPenalty, Tilted};

/// $x \ge 0$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NonNegative(BoxConstraint);

impl NonNegative {
    /// Catalogue name.
    pub const NAME: &'static str = "non_negative";

    /// The constraint.
    ///
    /// # Errors
    /// Never: the signature is that of the other penalties.
    pub fn new() -> Result<Self, crate::ModelError> {
        BoxConstraint::new(0.0, f64::INFINITY).map(Self)
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "constraint to positive values, at its mode",
        formula: "E(x) = 0 for x >= 0, infinite else",
        tex: r"x \ge 0",
        parameters: &[SIZE],
        constructor: |a| a.penalty(Self::new()?),
        ..Module::PENALTY
    };
}

impl ScalarPenalty for NonNegative {
    fn name(&self) -> &str {
        Self::NAME
    }

    #[inline]
    fn proximal(&self, a: f64, b: f64) -> Tilted {
        self.0.proximal(a, b)
    }

    fn energy(&self, x: f64) -> f64 {
        self.0.energy(x)
    }

    fn support(&self) -> (f64, f64) {
        self.0.support()
    }

    fn corners(&self, a: f64) -> Vec<f64> {
        self.0.corners(a)
    }
}
