//! Gaussian prior $p(x) = \mathcal N(x; m, v)$.
//!
//! # Moments
//! With $u = 1/(1 + a v)$: $r = u(m + b v)$, variance $u v$,
//! $A = \tfrac12 u [v b^2 + m (2b - a m)] - \tfrac12 \ln(1 + a v)$.
//!
//! # Limits
//! Diverges for $a \le -1/v$. The message to the variable is constant: $(1/v, m/v)$.
//!
//! # Reference
//! Baker et al., JMLR 24 (2023), appendix E, Gaussian prior.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::catalog::gaussian_tilt::{gaussian_tilt, log_normal_density};
use crate::catalog::module::{Module, SIZE, mean, variance};
use crate::error::{ModelError, parameter};
use crate::scalar::{ScalarPrior, Tilt, Tilted};

/// $\mathcal N(m, v)$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaussianPrior {
    mean: f64,
    variance: f64,
}

impl GaussianPrior {
    /// The normal law of this mean and variance.
    ///
    /// # Errors
    /// Unless the mean is finite and the variance positive and finite.
    pub fn new(mean: f64, variance: f64) -> Result<Self, ModelError> {
        if !mean.is_finite() {
            return Err(parameter(Self::NAME, "mean", "finite", mean));
        }
        if !(variance > 0.0 && variance.is_finite()) {
            return Err(parameter(
                Self::NAME,
                "variance",
                "positive and finite",
                variance,
            ));
        }
        Ok(Self { mean, variance })
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "Gaussian components",
        formula: "p(x) = N(x; mean, variance)",
        tex: r"p(x) = N(x; m, \sigma^2)",
        notes: r"$r = \frac{m + b\sigma^2}{1 + a\sigma^2}$, $v = \frac{\sigma^2}{1 + a\sigma^2}$.",
        parameters: &[SIZE, mean("the mean"), variance("the variance")],
        constructor: |a| a.prior(Self::new(a.number("mean")?, a.number("variance")?)?),
        ..Module::PRIOR
    };
}

impl ScalarPrior for GaussianPrior {
    const NAME: &'static str = "gaussian";

    #[inline]
    fn tilted(&self, a: f64, b: f64) -> Tilted {
        gaussian_tilt(self.mean, self.variance, a, b)
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("mean", self.mean), ("variance", self.variance)]
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        let normal: f64 = StandardNormal.sample(rng);
        normal.mul_add(self.variance.sqrt(), self.mean)
    }

    fn log_density(&self, x: f64) -> f64 {
        log_normal_density(x, self.mean, self.variance)
    }

    fn excess(&self, a: f64, b: f64) -> f64 {
        log_normal_density(b / a, self.mean, self.variance + 1.0 / a)
    }

    fn as_gaussian(&self) -> Option<Tilt> {
        Some(Tilt {
            a: 1.0 / self.variance,
            b: self.mean / self.variance,
        })
    }
}
