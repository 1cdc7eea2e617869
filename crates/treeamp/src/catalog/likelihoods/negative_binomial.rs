//! Negative binomial counts $p(y \mid z) = \frac{\Gamma(y + k)}{\Gamma(k)\,y!}\bigl(\tfrac k{k + \mu}\bigr)^k\bigl(\tfrac\mu{k + \mu}\bigr)^y$, $\mu = e^z$: of mean
//! $\mu$ and variance $\mu + \mu^2/k$.
//!
//! # Moments
//! By quadrature about the top of $yz - (y + k)\ln(k + e^z) - \tfrac12 a z^2 + bz$, which is concave.
//!
//! # Limits
//! Finite for $a > 0$, and for $a = 0$ as long as $-y < b < k$.
//!
//! # Reference
//! Hilbe, "Negative binomial regression", Cambridge University Press (2011).

use rand::Rng;
use rand_distr::{Distribution, Gamma as Draw};

use super::check_count;
use super::poisson::draw;
use crate::catalog::module::{Domain, Module, number};
use crate::error::{ModelError, parameter};
use crate::math::log_concave::{self, Concave};
use crate::math::special::{deviance, log_gamma_peak, sigmoid, softplus, softplus_bend};
use crate::scalar::{Landmark, OutputMeasure, ScalarLikelihood, Tilted};

/// Counts of mean $e^z$, more dispersed than Poisson's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NegativeBinomial {
    dispersion: f64,
}

impl NegativeBinomial {
    /// Counts of dispersion $k$; Poisson's in the limit of large ones.
    ///
    /// # Errors
    /// Unless it is positive and finite.
    pub fn new(dispersion: f64) -> Result<Self, ModelError> {
        if !(dispersion > 0.0 && dispersion.is_finite()) {
            let expected = "positive and finite";
            return Err(parameter(Self::NAME, "dispersion", expected, dispersion));
        }
        Ok(Self { dispersion })
    }

    fn at(self, y: f64) -> Count {
        Count {
            y,
            k: self.dispersion,
        }
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "counts of mean e^z, more dispersed than Poisson's, to be observed",
        formula: "p(x | z) = Γ(x + k) / (Γ(k) x!) (k / (k + μ))^k (μ / (k + μ))^x, k = dispersion, μ = e^z, x = 0, 1, 2, ...",
        tex: r"p(x \mid z) = \frac{\Gamma(x + k)}{\Gamma(k)\,x!}\left(\frac k{k + \mu}\right)^k\left(\frac\mu{k + \mu}\right)^x,\quad \mu = e^z,\quad x = 0, 1, 2, \ldots",
        notes: r"Mean $\mu$, variance $\mu + \mu^2/k$. Moments by quadrature to a relative accuracy of $10^{-8}$ or better.",
        parameters: &[
            number("dispersion", 1.0, Domain::Positive, "the dispersion")
                .called("k")
                .learned(),
        ],
        constructor: |a| a.likelihood(Self::new(a.number("dispersion")?)?),
        ..Module::LIKELIHOOD
    };
}

/// $yz - (y + k)\ln(k + e^z) + \text{const}$, a function of $x = z - \ln k$.
struct Count {
    y: f64,
    k: f64,
}

impl Concave for Count {
    /// $\ln\frac{\Gamma(y + k)}{\Gamma(k)y!} + yx - (y + k)\ln(1 + e^x)$, by what it loses from its top at $e^x = y/k$.
    fn value(&self, z: f64) -> f64 {
        let (y, k) = (self.y, self.k);
        let x = z - k.ln();
        if y == 0.0 {
            return -k * softplus(x);
        }
        let peaks = log_gamma_peak(y) + (log_gamma_peak(k) - log_gamma_peak(y + k));
        let of_y = deviance(y, (k / y).ln_1p() - softplus(-x));
        let of_k = deviance(k, (y / k).ln_1p() - softplus(x));
        peaks - y.ln() - of_y - of_k
    }

    fn slope(&self, z: f64) -> (f64, f64) {
        let x = z - self.k.ln();
        let (p, q) = (sigmoid(x), sigmoid(-x));
        let total = self.y + self.k;
        (self.y * q - self.k * p, -total * p * q)
    }

    fn bend(&self, z: f64) -> impl Fn(f64) -> f64 {
        let (total, bend) = (self.y + self.k, softplus_bend(z - self.k.ln()));
        move |t: f64| total * bend(t)
    }

    fn slopes(&self) -> (f64, f64) {
        (-self.k, self.y)
    }

    fn start(&self, a: f64, b: f64) -> f64 {
        if a == 0.0 {
            // (y + b)/(k - b) = e^x
            return self.k.ln() + ((self.y + b) / (self.k - b)).ln();
        }
        if b > 0.0 { 0.0 } else { (self.y + 0.5).ln() }
    }
}

impl ScalarLikelihood for NegativeBinomial {
    const NAME: &'static str = "negative_binomial";
    type Output = f64;

    fn tilted(&self, y: f64, a: f64, b: f64) -> Tilted {
        log_concave::tilted(&self.at(y), a, b)
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("dispersion", self.dispersion)]
    }

    /// A Poisson count whose rate is a gamma variable.
    fn sample(&self, z: f64, rng: &mut dyn Rng) -> f64 {
        let scale = z.exp() / self.dispersion;
        let rate = Draw::new(self.dispersion, 1.0).map_or(0.0, |law| law.sample(rng));
        draw(scale * rate, rng)
    }

    fn log_density(&self, y: f64, z: f64) -> f64 {
        self.at(y).value(z)
    }

    fn check(&self, y: f64) -> Result<(), String> {
        check_count(y)
    }

    fn excess(&self, y: f64, a: f64, b: f64) -> f64 {
        log_concave::excess(&self.at(y), a, b)
    }

    fn tilted_with_excess(&self, y: f64, a: f64, b: f64) -> Option<(Tilted, f64)> {
        Some(log_concave::tilted_with_excess(&self.at(y), a, b))
    }

    fn mode(&self, y: f64, a: f64, b: f64) -> Option<(f64, f64)> {
        Some(log_concave::mode(&self.at(y), a, b))
    }

    fn outputs(&self) -> Option<OutputMeasure> {
        Some(OutputMeasure::Counts)
    }

    fn landmarks(&self, y: f64) -> Vec<Landmark> {
        let y = y + 0.5;
        vec![Landmark::spread(
            y.ln(),
            (1.0 / y + 1.0 / self.dispersion).sqrt(),
        )]
    }
}
