//! Hinge loss $E(z; y) = s\,(1 - yz)_+$, $y = \pm1$.
//!
//! # Mode
//! With $u = yz$ and $c = yb$: $u = c/a$ from 1 up, $(c + s)/a$ up to 1, and 1 in between.
//!
//! # Reference
//! Cortes and Vapnik, "Support-vector networks", Mach. Learn. 20 (1995).

use super::{STRENGTH, check_positive};
use crate::catalog::likelihoods::check_label;
use crate::catalog::module::Module;
use crate::error::ModelError;
use crate::scalar::ScalarLoss;

/// $s\,(1 - yz)_+$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hinge {
    strength: f64,
}

impl Hinge {
    /// The hinge loss times a strength.
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
        summary: "hinge loss of labels, to be observed",
        formula: "E(z; x) = strength max(0, 1 - x z), x = ±1",
        tex: r"E(z; x) = s\,\max(0, 1 - xz),\quad x = \pm1",
        notes: r"At its mode only: support vector machines.",
        parameters: &[STRENGTH],
        constructor: |a| a.loss(Self::new(a.number("strength")?)?),
        ..Module::LOSS
    };
}

impl ScalarLoss for Hinge {
    const NAME: &'static str = "hinge";

    fn proximal(&self, y: f64, a: f64, b: f64) -> (f64, f64) {
        let c = y * b;
        if c >= a {
            (b / a, 1.0 / a)
        } else if c + self.strength <= a {
            (y.mul_add(self.strength, b) / a, 1.0 / a)
        } else {
            (y, 0.0)
        }
    }

    fn energy(&self, y: f64, z: f64) -> f64 {
        self.strength * (-y).mul_add(z, 1.0).max(0.0)
    }

    fn check(&self, y: f64) -> Result<(), String> {
        check_label(y)
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("strength", self.strength)]
    }
}
