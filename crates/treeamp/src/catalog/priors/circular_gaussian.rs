//! Circular complex Gaussian prior: real and imaginary part independent, each $\mathcal N(0, v)$.
//!
//! # Moments
//! With $u = 1/(1 + a v)$: $r = u v b$, variance $u v$ per real component,
//! $A = \tfrac12 u v |b|^2 - \ln(1 + a v)$.
//!
//! # Limits
//! Diverges for $a \le -1/v$. The message to the variable is constant: $(1/v, 0)$.
//!
//! # Reference
//! Baker et al., JMLR 24 (2023), appendix E, Gaussian prior, on both real components.

use num_complex::Complex;
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::catalog::gaussian_tilt::{gain, log_normal_density, log_one_plus};
use crate::catalog::module::{Module, SIZE, Signals, variance};
use crate::error::{ModelError, parameter};
use crate::scalar::{Elem, ScalarPrior, Symmetry, Tilt, Tilted};

/// A complex normal with $E|x|^2 = 2v$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CircularGaussian {
    variance: f64,
}

impl CircularGaussian {
    /// The law of this variance per real component.
    ///
    /// # Errors
    /// Unless the variance is positive and finite.
    pub fn new(variance: f64) -> Result<Self, ModelError> {
        if variance > 0.0 && variance.is_finite() {
            return Ok(Self { variance });
        }
        Err(parameter(
            Self::NAME,
            "variance",
            "positive and finite",
            variance,
        ))
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "complex Gaussian components",
        formula: "p(x) = CN(x; 0, variance per real component)",
        tex: r"p(x) = CN(x; 0, \sigma^2)",
        parameters: &[SIZE, variance("variance per real component")],
        signals: Signals::Complex,
        constructor: |a| a.complex_prior(Self::new(a.number("variance")?)?),
        ..Module::PRIOR
    };
}

impl ScalarPrior<Complex<f64>> for CircularGaussian {
    const NAME: &'static str = "circular_gaussian";

    #[inline]
    fn tilted(&self, a: f64, b: Complex<f64>) -> Tilted<Complex<f64>> {
        let t = a.mul_add(self.variance, 1.0);
        if t.is_nan() || t <= 0.0 {
            return Tilted::divergent(Complex::ZERO);
        }
        Tilted {
            log_z: gain(0.0, self.variance, a, b.norm()) - log_one_plus(a, self.variance),
            mean: b.scale(self.variance / t),
            variance: self.variance / t,
        }
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("variance", self.variance)]
    }

    fn sample(&self, rng: &mut dyn Rng) -> Complex<f64> {
        normal(rng, self.variance)
    }

    fn log_density(&self, x: Complex<f64>) -> f64 {
        log_density(x, self.variance)
    }

    fn excess(&self, a: f64, b: Complex<f64>) -> f64 {
        log_density(Elem::scale(b, 1.0 / a), self.variance + 1.0 / a)
    }

    fn as_gaussian(&self) -> Option<Tilt<Complex<f64>>> {
        Some(Tilt {
            a: 1.0 / self.variance,
            b: Complex::ZERO,
        })
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry::Circular
    }
}

/// A circular normal of this variance per real component.
pub(super) fn normal(rng: &mut dyn Rng, variance: f64) -> Complex<f64> {
    let (re, im): (f64, f64) = (
        StandardNormal.sample(&mut *rng),
        StandardNormal.sample(&mut *rng),
    );
    Complex::new(re, im).scale(variance.sqrt())
}

/// $\ln\mathcal N(\mathrm{Re}\,x; 0, v)\,\mathcal N(\mathrm{Im}\,x; 0, v)$.
pub(super) fn log_density(x: Complex<f64>, variance: f64) -> f64 {
    log_normal_density(x.re, 0.0, variance) + log_normal_density(x.im, 0.0, variance)
}
