//! Noisy modulus $y = |z + n|$ of a complex signal, $n$ circular normal of variance $\Delta$ per real component:
//! $p(y \mid z) = \tfrac y\Delta\,e^{-(y^2 + |z|^2)/2\Delta}\,I_0(y|z|/\Delta)$ (Rice).
//!
//! # Moments
//! $w = z + n$ has an observed modulus, and $z$ follows from it ([`Noise`]).
//!
//! # Limits
//! Finite for $a > -1/\Delta$. $\Delta = 0$ is the modulus itself.
//!
//! # Reference
//! Rice, "Mathematical analysis of random noise", Bell Syst. Tech. J. 24 (1945).

use num_complex::Complex;
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use super::ModulusLikelihood;
use super::behind_noise::Noise;
use crate::catalog::module::{Domain, Module, Signals, number};
use crate::error::{ModelError, parameter};
use crate::math::bessel::circle;
use crate::math::quadrature::integrate;
use crate::scalar::{OutputMeasure, ScalarLikelihood, Symmetry, Tilted};

/// Deviations beyond which nothing is left.
const REACH: f64 = 9.0;
/// Relative error of the two integrals of an entropy.
const ACCURACY: f64 = 1e-11;

/// The modulus of a complex signal behind noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RicianModulus {
    noise_variance: f64,
}

impl RicianModulus {
    /// Noise of this variance per real component before the modulus.
    ///
    /// # Errors
    /// Unless the variance is positive and finite.
    pub fn new(noise_variance: f64) -> Result<Self, ModelError> {
        if !(noise_variance > 0.0 && noise_variance.is_finite()) {
            let (name, expected) = ("noise_variance", "positive and finite");
            return Err(parameter(Self::NAME, name, expected, noise_variance));
        }
        Ok(Self { noise_variance })
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "modulus of a complex signal behind noise, to be observed",
        formula: "x = |z + n|, n of noise_variance per real component",
        tex: r"x = |z + n|,\quad n \sim CN(0, \Delta)",
        notes: r"$p(x \mid z) = \frac x\Delta e^{-(x^2 + |z|^2)/2\Delta} I_0(x|z|/\Delta)$, $\Delta$ per real component.",
        parameters: &[number(
            "noise_variance",
            1.0,
            Domain::Positive,
            "variance of the noise per real component",
        )
        .called(r"\Delta")
        .learned()],
        signals: Signals::ComplexToReal,
        constructor: |a| a.likelihood(Self::new(a.number("noise_variance")?)?),
        ..Module::LIKELIHOOD
    };
}

impl ScalarLikelihood<Complex<f64>> for RicianModulus {
    const NAME: &'static str = "rician_modulus";
    type Output = f64;

    fn tilted(&self, y: f64, a: f64, b: Complex<f64>) -> Tilted<Complex<f64>> {
        match Noise::at(self.noise_variance, a, b) {
            Some(noise) => noise.lifted(ModulusLikelihood.tilted(y, noise.a, noise.b)),
            None => Tilted::divergent(Complex::ZERO),
        }
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("noise_variance", self.noise_variance)]
    }

    fn sample(&self, z: Complex<f64>, rng: &mut dyn Rng) -> f64 {
        let deviation = self.noise_variance.sqrt();
        let (re, im): (f64, f64) = (StandardNormal.sample(rng), StandardNormal.sample(rng));
        (z + Complex::new(re, im) * deviation).norm()
    }

    fn log_density(&self, y: f64, z: Complex<f64>) -> f64 {
        let (d, size) = (self.noise_variance, z.norm());
        let gap = y - size;
        (y / d).ln() - 0.5 * (gap / d) * gap + circle(y * size / d).log_scaled
    }

    fn check(&self, y: f64) -> Result<(), String> {
        if y > 0.0 && y.is_finite() {
            return Ok(());
        }
        Err(format!("expected a positive and finite number, got {y}"))
    }

    /// That of the modulus of $w$, which has no other scale than its tilt's.
    fn excess(&self, y: f64, a: f64, b: Complex<f64>) -> f64 {
        Noise::at(self.noise_variance, a, b).map_or(f64::INFINITY, |noise| {
            ModulusLikelihood.excess(y, noise.a, noise.b)
        })
    }

    /// Rice's law has no closed entropy: integrals over $y$ and $|z|$, half of them per real component.
    fn noise_entropy_at(&self, tau: f64) -> Option<f64> {
        let (noise, spread) = (self.noise_variance.sqrt(), tau.sqrt());
        let given = |size: f64| {
            let term = |y: f64| {
                let log_p = self.log_density(y, size.into());
                let p = log_p.exp();
                [if p > 0.0 { -p * log_p } else { 0.0 }]
            };
            let low = (size - REACH * noise).max(0.0);
            integrate(term, &[low, size, REACH.mul_add(noise, size)], ACCURACY)[0]
        };
        let weighed = |size: f64| {
            let u = size / spread;
            [0.5 * u / spread * (-0.5 * u * u).exp() * given(size)]
        };
        // from |z| of a few deviations of the noise on it is that of normal noise
        let mut breaks = vec![0.0, noise, 4.0 * noise, spread, REACH * spread];
        breaks.retain(|s| *s <= REACH * spread);
        breaks.sort_by(f64::total_cmp);
        Some(integrate(weighed, &breaks, ACCURACY)[0])
    }

    fn outputs(&self) -> Option<OutputMeasure> {
        Some(OutputMeasure::noisy(self.noise_variance))
    }

    fn map(&self, z: Complex<f64>) -> Option<f64> {
        Some(z.norm())
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry::Circular
    }
}
