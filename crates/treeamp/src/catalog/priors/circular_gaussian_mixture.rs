//! Circular mixture $p(x) = \sum_k w_k\,\mathcal N_{\mathbb C}(x; 0, v_k)$, $v_k$ per real component.
//!
//! # Moments
//! Component $k$ under the tilt has mean $g_k b$ and variance $g_k = v_k/(1 + av_k)$ per real component, and log-mass
//! $\ln w_k + \tfrac12 g_k|b|^2 - \ln(1 + av_k)$. With its probability $p_k$ and $g = \sum_k p_k g_k$: $r = gb$, variance
//! $g + \tfrac12|b|^2\sum_k p_k(g_k - g)^2$.
//!
//! # Limits
//! Diverges for $a \le -1/\max v_k$.
//!
//! # Reference
//! Vila and Schniter, "Expectation-maximization Gaussian-mixture approximate message passing", IEEE Trans. Signal Process. 61 (2013).

use std::sync::Arc;

use num_complex::Complex;
use rand::Rng;

use super::circular_gaussian::{log_density, normal};
use super::weights::{are_as_many, check_each, normalised};
use crate::catalog::gaussian_tilt::{gain, log_one_plus};
use crate::catalog::module::{Domain, Module, SIZE, Signals, numbers};
use crate::error::{ModelError, parameter};
use crate::math::mixture::{Bump, draw};
use crate::scalar::{Elem, Landmark, ScalarPrior, Symmetry, Tilted};

/// A mixture of circular normals about zero.
#[derive(Debug, Clone, PartialEq)]
pub struct CircularGaussianMixture {
    /// Weights with their logarithms, and variances.
    parts: Arc<[(f64, f64, f64)]>,
}

impl CircularGaussianMixture {
    /// Circular normals of these variances per real component, with these weights; none for equal ones.
    ///
    /// # Errors
    /// Unless there are as many weights as variances, and at least one; weights are positive and of sum one, variances positive and
    /// finite.
    pub fn new(weights: &[f64], variances: &[f64]) -> Result<Self, ModelError> {
        let n = variances.len();
        if !are_as_many(weights, n) {
            let expected = "at least one, and as many as variances";
            let got = format!("{} weights, {n} variances", weights.len());
            return Err(parameter(Self::NAME, "weights", expected, got));
        }
        let weights = normalised(Self::NAME, weights, n)?;
        let expected = "positive and finite";
        check_each(Self::NAME, "variances", expected, variances, |v| {
            v > 0.0 && v.is_finite()
        })?;
        let parts = weights.into_iter().zip(variances);
        let parts = parts.map(|(w, v)| (w, w.ln(), *v));
        Ok(Self {
            parts: parts.collect(),
        })
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "mixture of complex Gaussian components",
        formula: "p(x) = Σ_k weights_k CN(x; 0, variances_k per real component)",
        tex: r"p(x) = \sum_k w_k\,CN(x; 0, v_k)",
        parameters: &[
            SIZE,
            numbers(
                "weights",
                &[],
                Domain::Probabilities,
                "weights of the components; none for equal ones",
            )
            .called("w")
            .learned(),
            numbers(
                "variances",
                &[0.1, 1.0],
                Domain::Positive,
                "variances per real component",
            )
            .called("v")
            .learned(),
        ],
        signals: Signals::Complex,
        constructor: |a| {
            a.complex_prior(Self::new(a.numbers("weights")?, a.numbers("variances")?)?)
        },
        ..Module::PRIOR
    };
}

impl ScalarPrior<Complex<f64>> for CircularGaussianMixture {
    const NAME: &'static str = "circular_gaussian_mixture";

    fn tilted(&self, a: f64, b: Complex<f64>) -> Tilted<Complex<f64>> {
        let widest = self.parts.iter().fold(0.0, |m: f64, p| m.max(p.2));
        if !(a.mul_add(widest, 1.0) > 0.0) {
            return Tilted::divergent(Complex::ZERO);
        }
        let size = b.norm();
        let log_mass = |p: &(f64, f64, f64)| p.1 + gain(0.0, p.2, a, size) - log_one_plus(a, p.2);
        let masses = self.parts.iter().map(log_mass);
        let top = masses.fold(f64::NEG_INFINITY, f64::max);
        // the law of g over components: its mean and its variance
        let mut gains = Bump::point([0.0], 0.0);
        for p in self.parts.iter() {
            let g = p.2 / a.mul_add(p.2, 1.0);
            gains.absorb(&Bump::point([g], (log_mass(p) - top).exp()));
        }
        let g = gains.mean[0];
        Tilted {
            log_z: top + gains.mass.ln(),
            mean: Elem::scale(b, g),
            variance: g + 0.5 * (size * gains.variance[0]) * size,
        }
    }

    fn sample(&self, rng: &mut dyn Rng) -> Complex<f64> {
        let k = draw(self.parts.iter().map(|p| p.0), rng);
        normal(rng, self.parts[k].2)
    }

    fn log_density(&self, x: Complex<f64>) -> f64 {
        let masses = self.parts.iter().map(|p| p.1 + log_density(x, p.2));
        masses.fold(f64::NEG_INFINITY, crate::math::special::log_add_exp)
    }

    fn excess(&self, a: f64, b: Complex<f64>) -> f64 {
        let centre = Elem::scale(b, 1.0 / a);
        let masses = self
            .parts
            .iter()
            .map(|p| p.1 + log_density(centre, p.2 + 1.0 / a));
        masses.fold(f64::NEG_INFINITY, crate::math::special::log_add_exp)
    }

    fn landmarks(&self) -> Vec<Landmark> {
        let parts = self.parts.iter();
        parts.map(|p| Landmark::spread(0.0, p.2.sqrt())).collect()
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry::Circular
    }
}
