//! Student noise $p(y \mid z) \propto \bigl(1 + \tfrac{(y - z)^2}{\nu s^2}\bigr)^{-(\nu+1)/2}$.
//!
//! # Moments
//! Those of Student's prior about $y$ under the tilt, by quadrature over the variance of the noise.
//!
//! # Limits
//! Finite for $a > 0$. At $a = b = 0$ only for $\nu > 2$.
//!
//! # Reference
//! Jylänki, Vanhatalo and Vehtari, "Robust Gaussian process regression with a Student-t likelihood", JMLR 12 (2011).

use super::AdditiveNoise;
use super::additive_noise::NoiseLaw;
use crate::catalog::module::{Domain, Module, number};
use crate::catalog::priors::StudentT;
use crate::error::ModelError;
use crate::math::special::digamma;
use crate::scalar::Tilted;

/// $y = z + s\,\xi$ with a variable $\xi$ of Student's law of $\nu$ degrees of freedom.
pub type StudentTNoise = AdditiveNoise<StudentT>;

impl NoiseLaw for StudentT {
    const NOISE: &'static str = "student_t_noise";
    const BY_QUADRATURE: bool = true;

    fn moved(self, mean: f64) -> Self {
        Self::moved(self, mean)
    }

    /// $\tfrac{\nu+1}2\bigl[\psi(\tfrac{\nu+1}2) - \psi(\tfrac\nu2)\bigr] - \ln p(0)$.
    fn entropy(&self) -> f64 {
        let half = 0.5 * self.df();
        let slope = digamma(half + 0.5) - digamma(half);
        (half + 0.5) * slope - self.log_top()
    }

    fn with_excess(&self, a: f64, b: f64) -> Option<(Tilted, f64)> {
        self.tilted_with_excess(a, b)
    }
}

impl StudentTNoise {
    /// Noise of `df` degrees of freedom and this scale, which is not its standard deviation.
    ///
    /// # Errors
    /// Unless the degrees of freedom are positive and at most $10^6$ (beyond, the noise is Gaussian), and the scale is positive and finite.
    pub fn new(df: f64, scale: f64) -> Result<Self, ModelError> {
        let noise = StudentT::named(StudentT::NOISE, df, 0.0, scale)?;
        Ok(Self { noise })
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: StudentT::NOISE,
        summary: "heavy-tailed noise, to be observed",
        formula: "p(x | z) ∝ (1 + (x - z)² / (df scale²))^(-(df + 1) / 2)",
        tex: r"p(x \mid z) = \frac{\Gamma(\frac{\nu+1}2)}{\Gamma(\frac\nu2)\sqrt{\nu\pi}\,s}\left(1 + \frac{(x - z)^2}{\nu s^2}\right)^{-\frac{\nu+1}2}",
        notes: r"Not log-concave: there is no mode to be taken.",
        parameters: &[
            number("df", 3.0, Domain::Positive, "degrees of freedom")
                .called(r"\nu")
                .learned(),
            number(
                "scale",
                1.0,
                Domain::Positive,
                "the scale, which is not the standard deviation",
            )
            .called("s")
            .learned(),
        ],
        constructor: |a| a.likelihood(Self::new(a.number("df")?, a.number("scale")?)?),
        ..Module::LIKELIHOOD
    };
}
