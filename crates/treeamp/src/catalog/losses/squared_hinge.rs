//! Squared hinge loss $E(z; y) = s\,(1 - yz)_+^2$, $y = \pm1$.
//!
//! # Mode
//! With $u = yz$ and $c = yb$: $u = c/a$ from 1 up, $(c + 2s)/(a + 2s)$ below.
//!
//! # Reference
//! Chang, Hsieh and Lin, "Coordinate descent method for large-scale l2-loss linear support vector machines", JMLR 9 (2008).

use super::{STRENGTH, check_positive};
use crate::catalog::likelihoods::check_label;
use crate::catalog::module::Module;
use crate::error::ModelError;
use crate::scalar::ScalarLoss;

/// $s\,(1 - yz)_+^2$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SquaredHinge {
    strength: f64,
}

impl SquaredHinge {
    /// The squared hinge loss times a strength.
    ///
    /// # Errors
    /// Unless the strength is positive and finite.
    pub fn new(strength: f64) -> Result<Self, ModelError> {
        let strength = check_positive(Self::NAME, "strength", strength)?;
        Ok(Self { strength })
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "squared hinge loss of labels, to be observed",
        formula: "E(z; x) = strength max(0, 1 - x z)², x = ±1",
        tex: r"E(z; x) = s\,\max(0, 1 - xz)^2,\quad x = \pm1",
        notes: r"At its mode only: support vector machines of smooth loss.",
        parameters: &[STRENGTH],
        constructor: |a| a.loss(Self::new(a.number("strength")?)?),
        ..Module::LOSS
    };
}

impl ScalarLoss for SquaredHinge {
    const NAME: &'static str = "squared_hinge";

    fn proximal(&self, y: f64, a: f64, b: f64) -> (f64, f64) {
        if y * b >= a {
            return (b / a, 1.0 / a);
        }
        let twice = 2.0 * self.strength;
        (y.mul_add(twice, b) / (a + twice), 1.0 / (a + twice))
    }

    fn energy(&self, y: f64, z: f64) -> f64 {
        let short = (-y).mul_add(z, 1.0).max(0.0);
        self.strength * short * short
    }

    fn check(&self, y: f64) -> Result<(), String> {
        check_label(y)
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("strength", self.strength)]
    }
}
