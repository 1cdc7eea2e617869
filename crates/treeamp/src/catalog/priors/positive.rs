//! Positive prior $p(x) \propto \mathcal N(x; m, v)\, \mathbf 1[x \ge 0]$, the half normal for $m = 0$.
//!
//! # Moments
//! Those of [`Interval`] on $[0, \infty)$.
//!
//! # Limits
//! Diverges for $a \le -1/v$.
//!
//! # Reference
//! Baker et al., JMLR 24 (2023), appendix E, positive variable.

use rand::Rng;

use super::Interval;
use crate::catalog::module::{Module, SIZE, mean, variance};
use crate::error::{ModelError, parameter};
use crate::scalar::{ScalarPrior, Tilted};

/// The normal of mean $m$ and variance $v$ restricted to $x \ge 0$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Positive(Interval);

impl Positive {
    /// The normal of `mean` and `variance` restricted to the positive half line.
    ///
    /// # Errors
    /// Unless the mean is finite and the variance positive and finite.
    pub fn new(mean: f64, variance: f64) -> Result<Self, ModelError> {
        if !mean.is_finite() {
            return Err(parameter(Self::NAME, "mean", "finite", mean));
        }
        match Interval::new(0.0, f64::INFINITY, mean, variance) {
            Ok(law) => Ok(Self(law)),
            Err(_) => Err(parameter(
                Self::NAME,
                "variance",
                "positive and finite",
                variance,
            )),
        }
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "Gaussian components, given that they are positive",
        formula: "p(x) ∝ N(x; mean, variance) on x > 0",
        tex: r"p(x) \propto 1_{x \ge 0}\,N(x; m, \sigma^2)",
        parameters: &[
            SIZE,
            mean("mean of the Gaussian that is cut"),
            variance("variance of the Gaussian that is cut"),
        ],
        constructor: |a| a.prior(Self::new(a.number("mean")?, a.number("variance")?)?),
        ..Module::PRIOR
    };
}

impl ScalarPrior for Positive {
    const NAME: &'static str = "positive";

    #[inline]
    fn tilted(&self, a: f64, b: f64) -> Tilted {
        self.0.tilted(a, b)
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        self.0.parameters().split_off(2)
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        self.0.sample(rng)
    }

    fn log_density(&self, x: f64) -> f64 {
        self.0.log_density(x)
    }

    fn excess(&self, a: f64, b: f64) -> f64 {
        self.0.excess(a, b)
    }

    fn mode(&self, a: f64, b: f64) -> Option<(f64, f64)> {
        self.0.mode(a, b)
    }

    fn support(&self) -> (f64, f64) {
        self.0.support()
    }
}
