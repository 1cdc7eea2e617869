//! Gaussian likelihood $p(y \mid z) = \mathcal N(y; z, \Delta)$.
//!
//! # Moments
//! Those of a Gaussian law of mean $y$ and variance $\Delta$ under the tilt.
//!
//! # Limits
//! $\Delta = 0$ is the noiseless observation: $z$ is pinned at $y$, $A = -\tfrac12 a y^2 + b y$.
//! Diverges for $a \le -1/\Delta$. The message to the variable is constant: $(1/\Delta, y/\Delta)$.
//!
//! # Reference
//! Baker et al., JMLR 24 (2023), appendix E, Gaussian likelihood.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::catalog::gaussian_tilt::{gaussian_tilt, log_normal_density};
use crate::error::{ModelError, parameter};
use crate::scalar::{OutputMeasure, ScalarLikelihood, Tilt, Tilted};

/// $y = z + \sqrt\Delta\,\xi$, observed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaussianLikelihood {
    noise_variance: f64,
}

impl GaussianLikelihood {
    /// Additive Gaussian noise of this variance; zero for a noiseless observation.
    ///
    /// # Errors
    /// Unless the variance is non-negative and finite.
    pub fn new(noise_variance: f64) -> Result<Self, ModelError> {
        if !(noise_variance >= 0.0 && noise_variance.is_finite()) {
            let expected = "non-negative and finite";
            return Err(parameter(Self::NAME, "variance", expected, noise_variance));
        }
        Ok(Self { noise_variance })
    }
}

impl ScalarLikelihood for GaussianLikelihood {
    const NAME: &'static str = "gaussian_likelihood";
    const ON_PARTS: bool = true;
    type Output = f64;

    #[inline]
    fn tilted(&self, y: f64, a: f64, b: f64) -> Tilted {
        gaussian_tilt(y, self.noise_variance, a, b)
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("noise_variance", self.noise_variance)]
    }

    fn sample(&self, z: f64, rng: &mut dyn Rng) -> f64 {
        let normal: f64 = StandardNormal.sample(rng);
        normal.mul_add(self.noise_variance.sqrt(), z)
    }

    fn log_density(&self, y: f64, z: f64) -> f64 {
        if self.noise_variance > 0.0 {
            log_normal_density(y, z, self.noise_variance)
        } else {
            super::log_dirac(y - z)
        }
    }

    fn check(&self, y: f64) -> Result<(), String> {
        super::check_finite(y)
    }

    fn support(&self, y: f64) -> (f64, f64) {
        if self.noise_variance > 0.0 {
            (f64::NEG_INFINITY, f64::INFINITY)
        } else {
            (y, y)
        }
    }

    /// $\frac12\ln 2\pi e\Delta$.
    fn noise_entropy(&self) -> Option<f64> {
        let noise = std::f64::consts::TAU * std::f64::consts::E * self.noise_variance;
        (self.noise_variance > 0.0).then(|| 0.5 * noise.ln())
    }

    fn excess(&self, y: f64, a: f64, b: f64) -> f64 {
        log_normal_density(b / a, y, self.noise_variance + 1.0 / a)
    }

    fn outputs(&self) -> Option<OutputMeasure> {
        Some(OutputMeasure::noisy(self.noise_variance))
    }

    fn map(&self, z: f64) -> Option<f64> {
        Some(z)
    }

    fn noise_variance(&self) -> Option<f64> {
        Some(self.noise_variance)
    }

    fn as_gaussian(&self, y: f64) -> Option<Tilt> {
        let a = 1.0 / self.noise_variance;
        Some(if a.is_finite() {
            Tilt { a, b: y * a }
        } else {
            Tilt {
                a: f64::INFINITY,
                b: y,
            }
        })
    }
}
