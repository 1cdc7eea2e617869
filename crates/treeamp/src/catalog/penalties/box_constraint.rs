//! The constraint $l \le x \le u$: $E(x) = 0$ inside, $+\infty$ outside.
//!
//! # Mode
//! The projection $r = \min(\max(b/a, l), u)$, with $v = 1/a$ strictly inside and zero at the ends.
//!
//! # Limits
//! Infinite ends are allowed; a mode exists for $a > 0$.

use crate::catalog::module::{Domain, Module, SIZE, number};
use crate::error::{ModelError, parameter};
use crate::scalar::{ScalarPenalty, Tilt, Tilted};

/// $l \le x \le u$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoxConstraint {
    lower: f64,
    upper: f64,
}

impl BoxConstraint {
    /// Catalogue name.
    pub const NAME: &'static str = "box";

    /// The constraint between these ends, which may be infinite.
    ///
    /// # Errors
    /// Unless `lower < upper`.
    pub fn new(lower: f64, upper: f64) -> Result<Self, ModelError> {
        if upper.is_nan() {
            return Err(parameter(Self::NAME, "upper", "a number", upper));
        }
        if !(lower < upper) {
            let expected = format!("below upper = {upper}");
            return Err(parameter(Self::NAME, "lower", expected, lower));
        }
        Ok(Self { lower, upper })
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "constraint to an interval, at its mode",
        formula: "E(x) = 0 for lower <= x <= upper, infinite else",
        tex: r"l \le x \le h",
        parameters: &[
            SIZE,
            number("lower", -1.0, Domain::Extended, "the lower end").called("l"),
            number(
                "upper",
                1.0,
                Domain::Extended,
                "the upper end, above the lower",
            )
            .called("h"),
        ],
        constructor: |a| a.penalty(Self::new(a.number("lower")?, a.number("upper")?)?),
        ..Module::PENALTY
    };
}

impl ScalarPenalty for BoxConstraint {
    fn name(&self) -> &str {
        Self::NAME
    }

    #[inline]
    fn proximal(&self, a: f64, b: f64) -> Tilted {
        if !(a > 0.0) {
            return Tilted::divergent(0.0_f64.max(self.lower).min(self.upper));
        }
        let free = b / a;
        let mean = free.max(self.lower).min(self.upper);
        let inside = free > self.lower && free < self.upper;
        Tilted {
            log_z: mean * (b - 0.5 * a * mean),
            mean,
            variance: if inside { 1.0 / a } else { 0.0 },
        }
    }

    fn energy(&self, x: f64) -> f64 {
        if x >= self.lower && x <= self.upper {
            0.0
        } else {
            f64::INFINITY
        }
    }

    fn support(&self) -> (f64, f64) {
        (self.lower, self.upper)
    }

    fn corners(&self, a: f64) -> Vec<f64> {
        vec![a * self.lower, a * self.upper]
    }

    /// The uniform law on a bounded interval has variance $(u - l)^2/12$.
    fn nominal(&self) -> Tilt {
        let width = self.upper - self.lower;
        if !width.is_finite() {
            return Tilt { a: 0.0, b: 0.0 };
        }
        let a = 12.0 / (width * width);
        Tilt {
            a,
            b: 0.5 * a * (self.lower + self.upper),
        }
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("lower", self.lower), ("upper", self.upper)]
    }
}
