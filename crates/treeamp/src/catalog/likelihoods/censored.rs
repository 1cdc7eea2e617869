//! Censored outputs (tobit): $y = \max(w, c)$ of $w = z + \sqrt\Delta\,\xi$, so that $p(y \mid z) = \mathcal N(y; z, \Delta)$ above the threshold $c$, and
//! $P(y = c \mid z) = \Phi((c - z)/\sqrt\Delta)$.
//!
//! # Moments
//! Above the threshold those of a Gaussian law; at it $w$ is a truncated normal under the tilt, and $z$ follows from it
//! ([`Noise`]).
//!
//! # Limits
//! Above the threshold finite for $a > -1/\Delta$; at it for $a > 0$, and for $a = 0$ if $b > 0$.
//!
//! # Reference
//! Tobin, "Estimation of relationships for limited dependent variables", Econometrica 26 (1958).

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use super::GaussianLikelihood;
use super::behind_noise::{Noise, interval, interval_excess, interval_mode, log_probability};
use crate::catalog::module::{Domain, Module, number};
use crate::error::{ModelError, parameter};
use crate::scalar::{Landmark, OutputMeasure, ScalarLikelihood, Tilted};

/// Noisy outputs, observed as they are only above a threshold (tobit).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Censored {
    threshold: f64,
    noise_variance: f64,
    above: GaussianLikelihood,
}

impl Censored {
    /// Noise of this variance, censored at a threshold.
    ///
    /// # Errors
    /// Unless the threshold is finite, and the variance positive and finite.
    pub fn new(threshold: f64, noise_variance: f64) -> Result<Self, ModelError> {
        if !threshold.is_finite() {
            return Err(parameter(Self::NAME, "threshold", "finite", threshold));
        }
        if !(noise_variance > 0.0 && noise_variance.is_finite()) {
            let (name, expected) = ("noise_variance", "positive and finite");
            return Err(parameter(Self::NAME, name, expected, noise_variance));
        }
        Ok(Self {
            threshold,
            noise_variance,
            above: GaussianLikelihood::new(noise_variance)?,
        })
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        aliases: &["tobit"],
        summary: "noisy outputs, censored below a threshold, to be observed",
        formula: "x = max(z + √noise_variance ξ, threshold)",
        tex: r"x = \max(z + \sqrt\Delta\,\xi, c)",
        notes: r"$N(x; z, \Delta)$ above the threshold $c$, $\Phi((c - z)/\sqrt\Delta)$ at it.",
        parameters: &[
            number(
                "threshold",
                0.0,
                Domain::Real,
                "the least output that is observed as it is",
            )
            .called("c"),
            number(
                "noise_variance",
                1.0,
                Domain::Positive,
                "variance of the noise",
            )
            .called(r"\Delta")
            .learned(),
        ],
        constructor: |a| {
            a.likelihood(Self::new(
                a.number("threshold")?,
                a.number("noise_variance")?,
            )?)
        },
        ..Module::LIKELIHOOD
    };

    const BELOW: f64 = f64::NEG_INFINITY;
}

impl ScalarLikelihood for Censored {
    const NAME: &'static str = "censored";
    type Output = f64;

    fn tilted(&self, y: f64, a: f64, b: f64) -> Tilted {
        if y > self.threshold {
            return self.above.tilted(y, a, b);
        }
        match Noise::at(self.noise_variance, a, b) {
            Some(noise) => interval(noise, Self::BELOW, self.threshold),
            None => Tilted::divergent(0.0),
        }
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("threshold", self.threshold),
            ("noise_variance", self.noise_variance),
        ]
    }

    fn sample(&self, z: f64, rng: &mut dyn Rng) -> f64 {
        let normal: f64 = StandardNormal.sample(rng);
        normal
            .mul_add(self.noise_variance.sqrt(), z)
            .max(self.threshold)
    }

    fn log_density(&self, y: f64, z: f64) -> f64 {
        if y > self.threshold {
            return self.above.log_density(y, z);
        }
        log_probability(z, self.noise_variance, Self::BELOW, self.threshold)
    }

    fn check(&self, y: f64) -> Result<(), String> {
        if y >= self.threshold && y.is_finite() {
            return Ok(());
        }
        let c = self.threshold;
        Err(format!("expected a finite number from {c} up, got {y}"))
    }

    fn excess(&self, y: f64, a: f64, b: f64) -> f64 {
        if y > self.threshold {
            return self.above.excess(y, a, b);
        }
        let noise = Noise::at(self.noise_variance, a, b);
        noise.map_or(f64::INFINITY, |noise| {
            interval_excess(noise, Self::BELOW, self.threshold)
        })
    }

    fn mode(&self, y: f64, a: f64, b: f64) -> Option<(f64, f64)> {
        if y > self.threshold {
            let t = self.above.tilted(y, a, b);
            return Some((t.mean, t.variance));
        }
        let (noise, end) = (self.noise_variance, self.threshold);
        Some(interval_mode(noise, Self::BELOW, end, a, b))
    }

    fn outputs(&self) -> Option<OutputMeasure> {
        Some(OutputMeasure::PushForward {
            noise_variance: self.noise_variance,
            atoms: vec![self.threshold],
            curves: vec![(self.threshold, f64::INFINITY)],
            corners: Vec::new(),
        })
    }

    fn landmarks(&self, y: f64) -> Vec<Landmark> {
        vec![Landmark::spread(y, self.noise_variance.sqrt())]
    }
}
