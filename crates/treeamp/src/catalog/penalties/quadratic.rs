//! The quadratic penalty $E(x) = \tfrac{\lambda}{2}(x - m)^2$, the energy of a Gaussian law of variance $1/\lambda$.
//!
//! # Mode
//! $r = (b + \lambda m)/(a + \lambda)$, $v = 1/(a + \lambda)$: its message is constant, $(\lambda, \lambda m)$.
//!
//! # Limits
//! $\lambda = 0$ leaves the variable free, and says nothing.

use super::check_strength;
use crate::catalog::module::{Domain, Module, SIZE, number};
use crate::error::{ModelError, parameter};
use crate::scalar::{ScalarPenalty, Tilt, Tilted};

/// $\tfrac{\lambda}{2}(x - m)^2$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quadratic {
    strength: f64,
    centre: f64,
}

impl Quadratic {
    /// Catalogue name.
    pub const NAME: &'static str = "quadratic";

    /// The penalty of this strength $\lambda$, which may be zero, around `centre`.
    ///
    /// # Errors
    /// Unless the strength is not negative and finite, and the centre finite.
    pub fn new(strength: f64, centre: f64) -> Result<Self, ModelError> {
        if !centre.is_finite() {
            return Err(parameter(Self::NAME, "centre", "finite", centre));
        }
        let strength = check_strength(Self::NAME, strength)?;
        Ok(Self { strength, centre })
    }

    /// No penalty at all: the source of a variable that only its other factors speak about.
    #[must_use]
    pub fn free() -> Self {
        let (strength, centre) = (0.0, 0.0);
        Self { strength, centre }
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        aliases: &["l2"],
        summary: "quadratic penalty; of strength 0, a variable without a prior",
        formula: "E(x) = strength/2 Σ_n (x_n - centre)²",
        tex: r"E(x) = \frac\gamma2\|x - m\|^2",
        parameters: &[
            SIZE,
            number("strength", 0.0, Domain::NotNegative, "the strength")
                .called(r"\gamma")
                .learned(),
            number("centre", 0.0, Domain::Real, "the centre").called("m"),
        ],
        constructor: |a| a.penalty(Self::new(a.number("strength")?, a.number("centre")?)?),
        ..Module::PENALTY
    };
}

impl ScalarPenalty for Quadratic {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn proximal(&self, a: f64, b: f64) -> Tilted {
        let precision = a + self.strength;
        if !(precision > 0.0) {
            return Tilted::divergent(self.centre);
        }
        let mean = (b + self.strength * self.centre) / precision;
        Tilted {
            log_z: mean * (b - 0.5 * a * mean) - self.energy(mean),
            mean,
            variance: 1.0 / precision,
        }
    }

    fn energy(&self, x: f64) -> f64 {
        0.5 * self.strength * (x - self.centre).powi(2)
    }

    fn as_gaussian(&self) -> Option<Tilt> {
        Some(Tilt {
            a: self.strength,
            b: self.strength * self.centre,
        })
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("strength", self.strength), ("centre", self.centre)]
    }
}
