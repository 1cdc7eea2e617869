//! Laplace prior $p(x) = \tfrac1{2s} e^{-|x - m|/s}$.
//!
//! # Moments
//! On either side of $m$ the tilted law is a truncated normal of precision $a$ and linear term $b \mp 1/s$. The slopes at $m$ are
//! $c \mp 1/s$ with $c = b - am$. At most one side rises from $m$, to a height of $(|c| - 1/s)_+^2/2a$ above it.
//!
//! # Limits
//! Finite for $a > 0$, and for $a = 0$ as long as $|b| < 1/s$.
//!
//! # Reference
//! Park and Casella, "The Bayesian lasso", J. Amer. Statist. Assoc. 103 (2008).

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1};

use super::weights::check_scale;
use crate::catalog::module::{Domain, Module, SIZE, mean, number};
use crate::error::{ModelError, parameter};
use crate::math::mixture::{Bump, height, log_normal, or_overflow};
use crate::math::truncated_normal::{End, Quadratic, truncated_quadratic};
use crate::scalar::{Landmark, ScalarPrior, Tilted};

/// The Laplace law of mean $m$ and scale $s$; its variance is $2s^2$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Laplace {
    mean: f64,
    scale: f64,
}

impl Laplace {
    /// The Laplace law of this mean and scale.
    ///
    /// # Errors
    /// Unless the mean is finite and the scale between $10^{-100}$ and $10^{100}$.
    pub fn new(mean: f64, scale: f64) -> Result<Self, ModelError> {
        if !mean.is_finite() {
            return Err(parameter(Self::NAME, "mean", "finite", mean));
        }
        check_scale(Self::NAME, "scale", scale)?;
        Ok(Self { mean, scale })
    }

    /// The slopes $c - 1/s$ and $c + 1/s$ of the exponent right and left of the mean.
    fn slopes(&self, a: f64, b: f64) -> (f64, f64) {
        let c = (-a).mul_add(self.mean, b);
        (c - 1.0 / self.scale, c + 1.0 / self.scale)
    }

    /// The highest point of the exponent, and the tilted law with its mass in units of the weight there.
    fn joined(&self, a: f64, b: f64) -> Option<(f64, Bump<1>)> {
        let (rate, m) = (1.0 / self.scale, self.mean);
        let (right, left) = self.slopes(a, b);
        let kink = |slope| End { place: m, slope };
        let at = |place| End { place, slope: 0.0 };
        let right_side = truncated_quadratic(Quadratic {
            a,
            vertex: (b - rate) / a,
            lo: kink(right),
            hi: at(f64::INFINITY),
        })?;
        let left_side = truncated_quadratic(Quadratic {
            a,
            vertex: (b + rate) / a,
            lo: at(f64::NEG_INFINITY),
            hi: kink(left),
        })?;
        let (top, low, slope) = if left < 0.0 {
            (left_side, right_side, left)
        } else {
            (right_side, left_side, right.max(0.0))
        };
        let (mut sum, mut other) = (top.bump(), low.bump());
        let rise = if slope == 0.0 {
            0.0
        } else {
            slope * (0.5 * slope / a)
        };
        other.mass *= (-rise).exp();
        sum.absorb(&other);
        Some((top.anchor, sum))
    }

    /// $\ln p$ at an anchor, and the log of a mass in units of the weight there.
    fn log_weight(&self, anchor: f64, mass: f64) -> f64 {
        (mass / (2.0 * self.scale)).ln() - (anchor - self.mean).abs() / self.scale
    }

    /// The scale.
    pub(crate) fn scale(&self) -> f64 {
        self.scale
    }

    /// The same law about another centre.
    pub(crate) fn moved(self, mean: f64) -> Self {
        Self { mean, ..self }
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "Laplace components",
        formula: "p(x) = e^(-|x - mean| / scale) / (2 scale)",
        tex: r"p(x) = \frac1{2s} e^{-|x - m|/s}",
        notes: r"With $c = b - a m$ the mode is $m$ where $|c| \le 1/s$, and $(b \mp 1/s)/a$ beyond: a soft threshold about the mean. The variance of $x$ is $2s^2$.",
        parameters: &[
            SIZE,
            mean("the mean"),
            number(
                "scale",
                1.0,
                Domain::Positive,
                "mean distance from the mean",
            )
            .called("s")
            .learned(),
        ],
        constructor: |a| a.prior(Self::new(a.number("mean")?, a.number("scale")?)?),
        ..Module::PRIOR
    };
}

impl ScalarPrior for Laplace {
    const NAME: &'static str = "laplace";

    fn tilted(&self, a: f64, b: f64) -> Tilted {
        let Some((anchor, sum)) = self.joined(a, b) else {
            return Tilted::divergent(self.mean);
        };
        Tilted {
            log_z: or_overflow(height(a, b, anchor) + self.log_weight(anchor, sum.mass)),
            mean: sum.mean[0],
            variance: sum.variance[0],
        }
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("mean", self.mean), ("scale", self.scale)]
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        let unit: f64 = Exp1.sample(rng);
        let signed = if rng.random::<bool>() { unit } else { -unit };
        signed.mul_add(self.scale, self.mean)
    }

    fn log_density(&self, x: f64) -> f64 {
        -(x - self.mean).abs() / self.scale - (2.0 * self.scale).ln()
    }

    fn excess(&self, a: f64, b: f64) -> f64 {
        self.joined(a, b).map_or(f64::INFINITY, |(anchor, sum)| {
            log_normal(anchor, a, b) + self.log_weight(anchor, sum.mass)
        })
    }

    fn landmarks(&self) -> Vec<Landmark> {
        let deviation = std::f64::consts::SQRT_2 * self.scale;
        vec![
            Landmark::spread(self.mean, deviation),
            Landmark::edge(self.mean),
        ]
    }

    /// $m$ where $|b - am| \le 1/s$, else $(b \mp 1/s)/a$.
    fn mode(&self, a: f64, b: f64) -> Option<(f64, f64)> {
        let (right, left) = self.slopes(a, b);
        let rate = 1.0 / self.scale;
        let outside = right > 0.0 || left < 0.0;
        Some(match (outside, a > 0.0) {
            (false, _) => (self.mean, if a >= 0.0 { 0.0 } else { f64::INFINITY }),
            (true, true) => ((b - rate.copysign(right + left)) / a, 1.0 / a),
            (true, false) => (self.mean, f64::INFINITY),
        })
    }
}
