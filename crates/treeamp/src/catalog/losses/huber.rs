//! Huber loss $E(z; y) = s\,h(y - z)$, $h(r) = \tfrac12 r^2$ up to $|r| = \delta$ and $\delta|r| - \tfrac12\delta^2$ beyond.
//!
//! # Mode
//! $z = (b + sy)/(a + s)$ if that is within $\delta$ of $y$, else $(b \pm s\delta)/a$.
//!
//! # Reference
//! Huber, "Robust estimation of a location parameter", Ann. Math. Statist. 35 (1964).

use super::{STRENGTH, check_positive};
use crate::catalog::likelihoods::check_finite;
use crate::catalog::module::{Domain, Module, number};
use crate::error::ModelError;
use crate::scalar::ScalarLoss;

/// Quadratic for small residuals, linear for large ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Huber {
    strength: f64,
    threshold: f64,
}

impl Huber {
    /// The Huber loss times a strength, linear beyond residuals of this threshold.
    ///
    /// # Errors
    /// Unless both are positive and finite.
    pub fn new(strength: f64, threshold: f64) -> Result<Self, ModelError> {
        Ok(Self {
            strength: check_positive(Self::NAME, "strength", strength)?,
            threshold: check_positive(Self::NAME, "threshold", threshold)?,
        })
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "Huber loss of residuals, to be observed",
        formula: "E(z; x) = strength (r² / 2 if r ≤ threshold else threshold r - threshold² / 2), r = |x - z|",
        tex: r"E(z; x) = s\,h(|x - z|),\quad h(r) = \tfrac12 r^2\ \text{up to}\ \delta,\ \delta r - \tfrac12\delta^2\ \text{beyond}",
        notes: r"At its mode only: robust regression.",
        parameters: &[
            STRENGTH,
            number(
                "threshold",
                1.35,
                Domain::Positive,
                "residual from which on it is linear",
            )
            .called(r"\delta"),
        ],
        constructor: |a| a.loss(Self::new(a.number("strength")?, a.number("threshold")?)?),
        ..Module::LOSS
    };
}

impl ScalarLoss for Huber {
    const NAME: &'static str = "huber";

    fn proximal(&self, y: f64, a: f64, b: f64) -> (f64, f64) {
        let (s, far) = (self.strength, self.strength * self.threshold);
        // the slope at y, and where it is at the corners
        let slope = (-a).mul_add(y, b);
        let corner = (a + s) * self.threshold;
        if slope > corner {
            ((b - far) / a, 1.0 / a)
        } else if slope < -corner {
            ((b + far) / a, 1.0 / a)
        } else {
            (s.mul_add(y, b) / (a + s), 1.0 / (a + s))
        }
    }

    fn energy(&self, y: f64, z: f64) -> f64 {
        let r = (y - z).abs();
        let inner = r.min(self.threshold);
        self.strength * inner * (r - 0.5 * inner)
    }

    fn check(&self, y: f64) -> Result<(), String> {
        check_finite(y)
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("strength", self.strength), ("threshold", self.threshold)]
    }
}
