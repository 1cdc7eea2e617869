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

use super::AdditiveNoise;
use super::additive_noise::NoiseLaw;
use crate::catalog::module::{Domain, Module, number};
use crate::catalog::priors::Laplace;
use crate::catalog::priors::weights::check_scale;
use crate::error::ModelError;

/// $y = z + s\,\xi$ with a Laplace variable $\xi$.
pub type LaplaceNoise = AdditiveNoise<Laplace>;

impl NoiseLaw for Laplace {
    const NOISE: &'static str = "laplace_noise";
    const BY_QUADRATURE: bool = false;

    fn moved(self, mean: f64) -> Self {
        Self::moved(self, mean)
    }

    /// $1 + \ln 2s$.
    fn entropy(&self) -> f64 {
        1.0 + (2.0 * self.scale()).ln()
    }
}

impl LaplaceNoise {
    /// Noise of this scale; its variance is twice the square.
    ///
    /// # Errors
    /// Unless the scale is between $10^{-100}$ and $10^{100}$.
    pub fn new(scale: f64) -> Result<Self, ModelError> {
        check_scale(Laplace::NOISE, "scale", scale)?;
        let noise = Laplace::new(0.0, scale)?;
        Ok(Self { noise })
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Laplace::NOISE,
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
