//! Laplace noise $p(y \mid z) = \tfrac1{2s}\,e^{-|y - z|/s}$.
//!
//! # Moments
//! Those of the Laplace prior of mean $y$ under the tilt.
//!
//! # Limits
//! Finite for $a > 0$, and for $a = 0$ as long as $|b| < 1/s$.
//!
//! # Reference
//! Kuss, "Gaussian process models for robust regression, classification, and reinforcement learning", thesis (2006).

use rand::Rng;

use super::check_finite;
use crate::catalog::module::{Domain, Module, number};
use crate::catalog::priors::Laplace;
use crate::error::{ModelError, parameter};
use crate::scalar::{Landmark, OutputMeasure, Parity, ScalarLikelihood, ScalarPrior, Tilted};

/// $y = z + s\,\xi$ with a Laplace variable $\xi$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaplaceNoise {
    scale: f64,
    /// The law of the noise.
    noise: Laplace,
}

impl LaplaceNoise {
    /// Noise of this scale; its variance is twice the square.
    ///
    /// # Errors
    /// Unless the scale is positive and finite.
    pub fn new(scale: f64) -> Result<Self, ModelError> {
        let refused = |_| parameter(Self::NAME, "scale", "positive and finite", scale);
        let noise = Laplace::new(0.0, scale).map_err(refused)?;
        Ok(Self { scale, noise })
    }

    /// The law of $z$ given $y$.
    fn about(&self, y: f64) -> Laplace {
        self.noise.moved(y)
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "Laplace noise, to be observed",
        formula: "p(x | z) = e^(-|x - z| / scale) / (2 scale)",
        tex: r"p(x \mid z) = \frac1{2s} e^{-|x - z|/s}",
        notes: r"The variance of the noise is $2s^2$. The mode is that of a least absolute deviation.",
        parameters: &[
            number("scale", 1.0, Domain::Positive, "mean size of the noise")
                .called("s")
                .learned(),
        ],
        constructor: |a| a.likelihood(Self::new(a.number("scale")?)?),
        ..Module::LIKELIHOOD
    };
}

impl ScalarLikelihood for LaplaceNoise {
    const NAME: &'static str = "laplace_noise";
    type Output = f64;

    fn tilted(&self, y: f64, a: f64, b: f64) -> Tilted {
        self.about(y).tilted(a, b)
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("scale", self.scale)]
    }

    fn sample(&self, z: f64, rng: &mut dyn Rng) -> f64 {
        z + self.noise.sample(rng)
    }

    fn log_density(&self, y: f64, z: f64) -> f64 {
        self.noise.log_density(y - z)
    }

    fn check(&self, y: f64) -> Result<(), String> {
        check_finite(y)
    }

    fn excess(&self, y: f64, a: f64, b: f64) -> f64 {
        self.about(y).excess(a, b)
    }

    fn mode(&self, y: f64, a: f64, b: f64) -> Option<(f64, f64)> {
        self.about(y).mode(a, b)
    }

    fn outputs(&self) -> Option<OutputMeasure> {
        Some(OutputMeasure::Density(vec![self.scale]))
    }

    fn parity(&self) -> Option<Parity> {
        Some(Parity::Odd)
    }

    fn landmarks(&self, y: f64) -> Vec<Landmark> {
        vec![Landmark::at(y), Landmark::spread(y, self.scale)]
    }

    /// $1 + \ln 2s$.
    fn noise_entropy(&self) -> Option<f64> {
        Some(1.0 + (2.0 * self.scale).ln())
    }
}
