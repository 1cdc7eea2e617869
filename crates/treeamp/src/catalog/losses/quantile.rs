//! Quantile loss $E(z; y) = s\,[q\,(y - z)_+ + (1 - q)\,(z - y)_+]$.
//!
//! # Mode
//! $z = (b + sq)/a$ if that is below $y$, $(b - s(1 - q))/a$ if that is above, and $y$ in between.
//!
//! # Reference
//! Koenker and Bassett, "Regression quantiles", Econometrica 46 (1978).

use super::{STRENGTH, check_positive};
use crate::catalog::likelihoods::check_finite;
use crate::catalog::module::{Domain, Module, number};
use crate::error::{ModelError, parameter};
use crate::scalar::ScalarLoss;

/// The loss whose mode is a quantile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantile {
    strength: f64,
    quantile: f64,
}

impl Quantile {
    /// The loss of this quantile, times a strength.
    ///
    /// # Errors
    /// Unless the strength is positive and finite, and the quantile between 0 and 1, without these.
    pub fn new(strength: f64, quantile: f64) -> Result<Self, ModelError> {
        let strength = check_positive(Self::NAME, "strength", strength)?;
        // at either end the loss falls without bound on one side
        if !(quantile > 0.0 && quantile < 1.0) {
            let expected = "between 0 and 1, without these";
            return Err(parameter(Self::NAME, "quantile", expected, quantile));
        }
        Ok(Self { strength, quantile })
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "quantile loss of residuals, to be observed",
        formula: "E(z; x) = strength (quantile max(0, x - z) + (1 - quantile) max(0, z - x))",
        tex: r"E(z; x) = s\,[q\max(0, x - z) + (1 - q)\max(0, z - x)]",
        notes: r"At its mode only: quantile regression; $q = \tfrac12$ is half the absolute deviation.",
        parameters: &[
            STRENGTH,
            number("quantile", 0.5, Domain::InsideUnit, "the quantile").called("q"),
        ],
        constructor: |a| a.loss(Self::new(a.number("strength")?, a.number("quantile")?)?),
        ..Module::LOSS
    };
}

impl ScalarLoss for Quantile {
    const NAME: &'static str = "quantile";

    fn proximal(&self, y: f64, a: f64, b: f64) -> (f64, f64) {
        let (up, down) = (
            self.strength * self.quantile,
            self.strength * (1.0 - self.quantile),
        );
        let slope = (-a).mul_add(y, b);
        if slope + up < 0.0 {
            ((b + up) / a, 1.0 / a)
        } else if slope - down > 0.0 {
            ((b - down) / a, 1.0 / a)
        } else {
            (y, 0.0)
        }
    }

    fn energy(&self, y: f64, z: f64) -> f64 {
        let r = y - z;
        self.strength * (self.quantile * r).max((self.quantile - 1.0) * r)
    }

    fn check(&self, y: f64) -> Result<(), String> {
        check_finite(y)
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("strength", self.strength), ("quantile", self.quantile)]
    }
}
