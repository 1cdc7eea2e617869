//! The $\ell_1$ penalty $E(x) = \lambda|x|$, the mode of a Laplace law.
//!
//! # Mode
//! Soft thresholding: $r = \mathrm{sign}(b)\,(|b| - \lambda)_+/a$, $v = 1/a$ where $|b| > \lambda$ and zero elsewhere,
//! $A = (|b| - \lambda)_+^2/2a$.
//!
//! # Limits
//! $\lambda = 0$ is no penalty. There is no mode for $a \le 0$ beyond the threshold.
//!
//! # Reference
//! Baker et al., JMLR 24 (2023), section 2.8, MAP modules.

use super::check_strength;
use crate::catalog::module::{Domain, Module, SIZE, number};
use crate::error::ModelError;
use crate::scalar::{ScalarPenalty, Tilt, Tilted};

/// $\lambda|x|$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct L1 {
    strength: f64,
}

impl L1 {
    /// Catalogue name.
    pub const NAME: &'static str = "l1";

    /// The penalty of this strength $\lambda$.
    ///
    /// # Errors
    /// Unless the strength is not negative and finite.
    pub fn new(strength: f64) -> Result<Self, ModelError> {
        let strength = check_strength(Self::NAME, strength)?;
        Ok(Self { strength })
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "penalty of a sparse signal, at its mode",
        formula: "E(x) = strength Σ_n |x_n|",
        tex: r"E(x) = \gamma\|x\|_1",
        notes: r"Soft thresholding: $r = \operatorname{sign}(b)\,(|b| - \gamma)_+/a$, $v = 1/a$ where $|b| > \gamma$ and zero elsewhere.",
        parameters: &[
            SIZE,
            number("strength", 1.0, Domain::NotNegative, "the strength")
                .called(r"\gamma")
                .learned(),
        ],
        constructor: |a| a.penalty(Self::new(a.number("strength")?)?),
        ..Module::PENALTY
    };
}

impl ScalarPenalty for L1 {
    fn name(&self) -> &str {
        Self::NAME
    }

    #[inline]
    fn proximal(&self, a: f64, b: f64) -> Tilted {
        let over = b.abs() - self.strength;
        if over <= 0.0 && a >= 0.0 {
            return Tilted {
                log_z: 0.0,
                mean: 0.0,
                variance: 0.0,
            };
        }
        if a <= 0.0 {
            return Tilted::divergent(0.0);
        }
        Tilted {
            log_z: 0.5 * over * over / a,
            mean: over.copysign(b) / a,
            variance: 1.0 / a,
        }
    }

    fn energy(&self, x: f64) -> f64 {
        self.strength * x.abs()
    }

    fn corners(&self, _: f64) -> Vec<f64> {
        vec![-self.strength, self.strength]
    }

    /// The Laplace law has variance $2/\lambda^2$.
    fn nominal(&self) -> Tilt {
        Tilt {
            a: 0.5 * self.strength * self.strength,
            b: 0.0,
        }
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("strength", self.strength)]
    }
}
