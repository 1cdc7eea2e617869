//! Uniform prior $p(x) = \tfrac1{u - l}$ on $l \le x \le u$.
//!
//! # Moments
//! The tilted law is the normal of precision $a$ and linear term $b$ truncated to $[l, u]$; see
//! [`truncated_normal`](crate::math::truncated_normal) for its stable mass, mean and variance.
//!
//! # Limits
//! Finite for every $a$ and $b$.
//!
//! # Reference
//! Baker et al., JMLR 24 (2023), appendix E, interval variable at infinite variance.

use rand::{Rng, RngExt};

use crate::catalog::module::{Domain, Module, SIZE, number};
use crate::error::{ModelError, parameter};
use crate::math::mixture::{height, log_normal, or_overflow};
use crate::math::truncated_normal::{Truncated, truncated};
use crate::scalar::{ScalarPrior, Tilted};

/// The uniform law on $[l, u]$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Uniform {
    low: f64,
    high: f64,
}

/// Ends beyond this overflow when squared.
const FAR: f64 = 1e150;

impl Uniform {
    /// The uniform law on `low..=high`.
    ///
    /// # Errors
    /// Unless both ends are finite, of size at most $10^{150}$, and `low < high`.
    pub fn new(low: f64, high: f64) -> Result<Self, ModelError> {
        for (name, end) in [("low", low), ("high", high)] {
            if !(end.abs() <= FAR) {
                return Err(parameter(
                    Self::NAME,
                    name,
                    "finite, of size at most 1e150",
                    end,
                ));
            }
        }
        if !(low < high) {
            let expected = format!("below high = {high}");
            return Err(parameter(Self::NAME, "low", expected, low));
        }
        Ok(Self { low, high })
    }

    fn cut(&self, a: f64, b: f64) -> Option<Truncated> {
        truncated(a, b, self.low, self.high)
    }

    /// The log of a mass over that of the whole interval.
    fn log_share(&self, mass: f64) -> f64 {
        (mass / (self.high - self.low)).ln()
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "components anywhere in an interval",
        formula: "p(x) = 1 / (high - low) on low < x < high",
        tex: r"p(x) = \frac1{u - l}\ \text{on}\ l \le x \le u",
        parameters: &[
            SIZE,
            number("low", -1.0, Domain::Ordered, "lower end").called("l"),
            number("high", 1.0, Domain::Ordered, "upper end").called("u"),
        ],
        constructor: |a| a.prior(Self::new(a.number("low")?, a.number("high")?)?),
        ..Module::PRIOR
    };
}

impl ScalarPrior for Uniform {
    const NAME: &'static str = "uniform";

    fn tilted(&self, a: f64, b: f64) -> Tilted {
        let Some(t) = self.cut(a, b) else {
            return Tilted::divergent(self.low);
        };
        Tilted {
            log_z: or_overflow(height(a, b, t.anchor) + self.log_share(t.mass)),
            mean: t.mean,
            variance: t.variance,
        }
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("low", self.low), ("high", self.high)]
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        let share = rng.random::<f64>();
        (self.high - self.low)
            .mul_add(share, self.low)
            .min(self.high)
    }

    fn log_density(&self, x: f64) -> f64 {
        if x < self.low || x > self.high {
            f64::NEG_INFINITY
        } else {
            -(self.high - self.low).ln()
        }
    }

    fn excess(&self, a: f64, b: f64) -> f64 {
        self.cut(a, b).map_or(f64::INFINITY, |t| {
            log_normal(t.anchor, a, b) + self.log_share(t.mass)
        })
    }

    /// $b/a$, or the end next to it; without a precision the end that $b$ points to.
    fn mode(&self, a: f64, b: f64) -> Option<(f64, f64)> {
        let (low, high) = (self.low, self.high);
        let (rises_low, rises_high) = ((-a).mul_add(low, b) > 0.0, (-a).mul_add(high, b) > 0.0);
        Some(match (rises_low, rises_high) {
            (true, false) if a > 0.0 => (b / a, 1.0 / a),
            (false, true) => (
                if b > 0.5 * a * (low + high) {
                    high
                } else {
                    low
                },
                0.0,
            ),
            (false, false) if a == 0.0 && b == 0.0 => (0.5 * (low + high), f64::INFINITY),
            (_, true) => (high, 0.0),
            _ => (low, 0.0),
        })
    }

    fn support(&self) -> (f64, f64) {
        (self.low, self.high)
    }
}
