//! Poisson counts of exponential rate, $p(y \mid z) = e^{yz - e^z}/y!$.
//!
//! # Moments
//! By quadrature about the top of $yz - e^z - \tfrac12 a z^2 + bz$, which is concave.
//!
//! # Limits
//! Finite for $a > 0$, and for $a = 0$ as long as $b > -y$.
//!
//! # Reference
//! Rue, Martino and Chopin, "Approximate Bayesian inference for latent Gaussian models", J. R. Stat. Soc. B 71 (2009).

use rand::Rng;
use rand_distr::{Distribution, Poisson as Draw};

use super::check_count;
use crate::catalog::module::Module;
use crate::math::log_concave::{self, Concave};
use crate::math::special::{deviance, log_gamma_peak};
use crate::scalar::{Landmark, OutputMeasure, ScalarLikelihood, Tilted};

/// Counts of rate $e^z$.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PoissonLikelihood;

impl PoissonLikelihood {
    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        aliases: &["poisson_deviance"],
        summary: "Poisson counts of rate e^z, to be observed",
        formula: "p(x | z) = e^(x z - e^z) / x!, x = 0, 1, 2, ...",
        tex: r"p(x \mid z) = \frac{e^{x z - e^z}}{x!},\quad x = 0, 1, 2, \ldots",
        notes: r"Moments by quadrature to a relative accuracy of $10^{-8}$ or better.",
        constructor: |a| a.likelihood(Self),
        ..Module::LIKELIHOOD
    };
}

/// A draw of a count; of a rate beyond all counts, the rate.
pub(super) fn draw(rate: f64, rng: &mut dyn Rng) -> f64 {
    if rate > 0.0 {
        Draw::new(rate).map_or(rate.min(f64::MAX).round(), |law| law.sample(rng))
    } else {
        0.0
    }
}

/// $y\ln\mu - \mu - \ln y!$ from $\ln\mu$ and $\mu$: none of its terms is of the size of $\ln y!$.
pub(super) fn log_probability(y: f64, log_rate: f64, rate: f64) -> f64 {
    if y == 0.0 {
        return -rate;
    }
    let log_y = y.ln();
    log_gamma_peak(y) - log_y - deviance(y, log_rate - log_y)
}

/// $yz - e^z - \ln y!$.
struct Count(f64);

impl Concave for Count {
    fn value(&self, z: f64) -> f64 {
        log_probability(self.0, z, z.exp())
    }

    fn slope(&self, z: f64) -> (f64, f64) {
        let rate = z.exp();
        (self.0 - rate, -rate)
    }

    /// $-e^z(e^t - 1 - t)$.
    fn bend(&self, z: f64) -> impl Fn(f64) -> f64 {
        let rate = z.exp();
        move |t: f64| {
            if t < 1.0 {
                -rate * (t.exp_m1() - t)
            } else {
                // the rate may underflow where e^t overflows
                rate.mul_add(1.0 + t, -(z + t).exp())
            }
        }
    }

    fn slopes(&self) -> (f64, f64) {
        (f64::NEG_INFINITY, self.0)
    }

    fn start(&self, a: f64, b: f64) -> f64 {
        // e^z + az = y + b, from above
        let c = self.0 + b;
        if c > 0.0 { c.ln().min(c / a) } else { c / a }
    }
}

impl ScalarLikelihood for PoissonLikelihood {
    const NAME: &'static str = "poisson";
    type Output = f64;

    fn tilted(&self, y: f64, a: f64, b: f64) -> Tilted {
        log_concave::tilted(&Count(y), a, b)
    }

    fn sample(&self, z: f64, rng: &mut dyn Rng) -> f64 {
        draw(z.exp(), rng)
    }

    fn log_density(&self, y: f64, z: f64) -> f64 {
        Count(y).value(z)
    }

    fn check(&self, y: f64) -> Result<(), String> {
        check_count(y)
    }

    fn excess(&self, y: f64, a: f64, b: f64) -> f64 {
        log_concave::excess(&Count(y), a, b)
    }

    fn tilted_with_excess(&self, y: f64, a: f64, b: f64) -> Option<(Tilted, f64)> {
        Some(log_concave::tilted_with_excess(&Count(y), a, b))
    }

    fn mode(&self, y: f64, a: f64, b: f64) -> Option<(f64, f64)> {
        Some(log_concave::mode(&Count(y), a, b))
    }

    fn outputs(&self) -> Option<OutputMeasure> {
        Some(OutputMeasure::Counts)
    }

    fn landmarks(&self, y: f64) -> Vec<Landmark> {
        let y = y + 0.5;
        vec![Landmark::spread(y.ln(), 1.0 / y.sqrt())]
    }
}
