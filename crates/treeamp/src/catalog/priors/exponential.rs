//! Exponential prior $p(x) = \tfrac1\mu e^{-x/\mu}$ on $x \ge 0$.
//!
//! # Moments
//! The tilted law is the normal of precision $a$ and linear term $b - 1/\mu$ truncated to $x \ge 0$.
//!
//! # Limits
//! Finite for $a > 0$, and for $a = 0$ as long as $b < 1/\mu$.
//!
//! # Reference
//! Baker et al., JMLR 24 (2023), appendix E, exponential prior.

use rand::Rng;
use rand_distr::{Distribution, Exp1};

use crate::catalog::module::{Domain, Module, SIZE, number};
use crate::error::{ModelError, parameter};
use crate::math::mixture::{height, log_normal, or_overflow};
use crate::math::truncated_normal::truncated;
use crate::scalar::{ScalarPrior, Tilted};

/// The exponential law of mean $\mu$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exponential {
    mean: f64,
}

impl Exponential {
    /// The exponential law of this mean.
    ///
    /// # Errors
    /// Unless the mean is positive and finite.
    pub fn new(mean: f64) -> Result<Self, ModelError> {
        if !(mean > 0.0 && mean.is_finite()) {
            return Err(parameter(Self::NAME, "mean", "positive and finite", mean));
        }
        Ok(Self { mean })
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "exponential components",
        formula: "p(x) = e^(-x / mean) / mean on x > 0",
        tex: r"p(x) = \frac1m e^{-x/m}\ \text{on}\ x \ge 0",
        parameters: &[
            SIZE,
            number("mean", 1.0, Domain::Positive, "the mean")
                .called("m")
                .learned(),
        ],
        constructor: |a| a.prior(Self::new(a.number("mean")?)?),
        ..Module::PRIOR
    };
}

impl ScalarPrior for Exponential {
    const NAME: &'static str = "exponential";

    fn tilted(&self, a: f64, b: f64) -> Tilted {
        let b = b - 1.0 / self.mean;
        let Some(t) = truncated(a, b, 0.0, f64::INFINITY) else {
            return Tilted::divergent(0.0);
        };
        let log_z = or_overflow(height(a, b, t.anchor) + (t.mass / self.mean).ln());
        Tilted {
            log_z,
            mean: t.mean,
            variance: t.variance,
        }
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("mean", self.mean)]
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        let unit: f64 = Exp1.sample(rng);
        self.mean * unit
    }

    fn log_density(&self, x: f64) -> f64 {
        if x < 0.0 {
            f64::NEG_INFINITY
        } else {
            -x / self.mean - self.mean.ln()
        }
    }

    fn excess(&self, a: f64, b: f64) -> f64 {
        match truncated(a, b - 1.0 / self.mean, 0.0, f64::INFINITY) {
            Some(t) => {
                log_normal(t.anchor, a, b) - t.anchor / self.mean + (t.mass / self.mean).ln()
            }
            None => f64::INFINITY,
        }
    }

    /// $(b - 1/\mu)_+/a$.
    fn mode(&self, a: f64, b: f64) -> Option<(f64, f64)> {
        let b = b - 1.0 / self.mean;
        Some(match (b > 0.0, a > 0.0) {
            (false, _) => (0.0, if a >= 0.0 { 0.0 } else { f64::INFINITY }),
            (true, true) => (b / a, 1.0 / a),
            (true, false) => (0.0, f64::INFINITY),
        })
    }

    fn support(&self) -> (f64, f64) {
        (0.0, f64::INFINITY)
    }
}
