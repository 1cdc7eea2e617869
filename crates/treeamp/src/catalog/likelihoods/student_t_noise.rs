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

use rand::Rng;

use super::check_finite;
use crate::catalog::module::{Domain, Module, number};
use crate::catalog::priors::StudentT;
use crate::error::{ModelError, parameter};
use crate::scalar::{Landmark, OutputMeasure, Parity, ScalarLikelihood, ScalarPrior, Tilted};

/// $y = z + s\,\xi$ with a variable $\xi$ of Student's law of $\nu$ degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StudentTNoise {
    df: f64,
    scale: f64,
    /// The law of the noise.
    noise: StudentT,
}

impl StudentTNoise {
    /// Noise of `df` degrees of freedom and this scale, which is not its standard deviation.
    ///
    /// # Errors
    /// Unless both are positive and finite.
    pub fn new(df: f64, scale: f64) -> Result<Self, ModelError> {
        for (name, x) in [("df", df), ("scale", scale)] {
            if !(x > 0.0 && x.is_finite()) {
                return Err(parameter(Self::NAME, name, "positive and finite", x));
            }
        }
        let noise = StudentT::new(df, 0.0, scale)?;
        Ok(Self { df, scale, noise })
    }

    /// The law of $z$ given $y$.
    fn about(&self, y: f64) -> StudentT {
        self.noise.moved(y)
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
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

impl ScalarLikelihood for StudentTNoise {
    const NAME: &'static str = "student_t_noise";
    type Output = f64;

    fn tilted(&self, y: f64, a: f64, b: f64) -> Tilted {
        self.about(y).tilted(a, b)
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("df", self.df), ("scale", self.scale)]
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

    fn outputs(&self) -> Option<OutputMeasure> {
        Some(OutputMeasure::Density(vec![self.scale]))
    }

    fn parity(&self) -> Option<Parity> {
        Some(Parity::Odd)
    }

    fn landmarks(&self, y: f64) -> Vec<Landmark> {
        vec![Landmark::spread(y, self.scale)]
    }
}
