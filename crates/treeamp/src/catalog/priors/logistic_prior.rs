//! Logistic prior $p(x) = \frac{e^{-u}}{s(1 + e^{-u})^2}$, $u = (x - m)/s$.
//!
//! # Moments
//! By quadrature about the top of $-2\ln\cosh\tfrac u2 - \tfrac12 a x^2 + bx$, which is concave.
//!
//! # Limits
//! Finite for $a > 0$, and for $a = 0$ as long as $|b| < 1/s$.
//!
//! # Reference
//! Balakrishnan, "Handbook of the logistic distribution", Dekker (1992).

use rand::{Rng, RngExt};

use super::weights::check_scale;
use crate::catalog::module::{Domain, Module, SIZE, mean, number};
use crate::error::{ModelError, parameter};
use crate::math::log_concave::{self, Concave};
use crate::math::special::{sigmoid, softplus, softplus_bend};
use crate::scalar::{Landmark, ScalarPrior, Tilted};

/// The logistic law of mean $m$ and scale $s$; its variance is $\pi^2 s^2/3$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogisticPrior {
    mean: f64,
    scale: f64,
}

impl LogisticPrior {
    /// The logistic law of this mean and scale.
    ///
    /// # Errors
    /// Unless the mean is finite and the scale between $10^{-100}$ and $10^{100}$.
    pub fn new(mean: f64, scale: f64) -> Result<Self, ModelError> {
        if !mean.is_finite() {
            return Err(parameter(Self::NAME, "mean", "finite", mean));
        }
        check_scale(Self::NAME, "scale", scale)?;
        Ok(Self { mean, scale })
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "components with exponential tails and a round top",
        formula: "p(x) = e^(-u) / (scale (1 + e^(-u))²), u = (x - mean) / scale",
        tex: r"p(x) = \frac{e^{-u}}{s(1 + e^{-u})^2},\quad u = \frac{x - m}s",
        notes: r"Its variance is $\pi^2 s^2/3$. Moments by quadrature to a relative accuracy of $10^{-8}$ or better.",
        parameters: &[
            SIZE,
            mean("the mean"),
            number("scale", 1.0, Domain::Positive, "the scale")
                .called("s")
                .learned(),
        ],
        constructor: |a| a.prior(Self::new(a.number("mean")?, a.number("scale")?)?),
        ..Module::PRIOR
    };

    fn reduced(&self, x: f64) -> f64 {
        (x - self.mean) / self.scale
    }
}

impl Concave for LogisticPrior {
    fn value(&self, x: f64) -> f64 {
        let u = self.reduced(x).abs();
        -u - 2.0 * softplus(-u) - self.scale.ln()
    }

    fn slope(&self, x: f64) -> (f64, f64) {
        let u = self.reduced(x);
        let (p, q) = (sigmoid(u), sigmoid(-u));
        ((q - p) / self.scale, -2.0 * p * q / self.scale / self.scale)
    }

    fn bend(&self, x: f64) -> impl Fn(f64) -> f64 {
        let (bend, scale) = (softplus_bend(-self.reduced(x)), self.scale);
        move |t: f64| 2.0 * bend(-t / scale)
    }

    fn slopes(&self) -> (f64, f64) {
        (-1.0 / self.scale, 1.0 / self.scale)
    }

    fn start(&self, a: f64, b: f64) -> f64 {
        if a == 0.0 {
            // tanh(u/2) = sb
            return (2.0 * self.scale).mul_add((self.scale * b).atanh(), self.mean);
        }
        self.mean
    }
}

impl ScalarPrior for LogisticPrior {
    const NAME: &'static str = "logistic_prior";

    fn tilted(&self, a: f64, b: f64) -> Tilted {
        log_concave::tilted(self, a, b)
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("mean", self.mean), ("scale", self.scale)]
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        // of either tail with all its digits
        let p = 0.5 * rng.random::<f64>().max(f64::MIN_POSITIVE);
        let tail = self.scale * (p.ln() - (-p).ln_1p());
        let sign = if rng.random::<bool>() { 1.0 } else { -1.0 };
        sign * tail + self.mean
    }

    fn log_density(&self, x: f64) -> f64 {
        self.value(x)
    }

    fn excess(&self, a: f64, b: f64) -> f64 {
        log_concave::excess(self, a, b)
    }

    fn mode(&self, a: f64, b: f64) -> Option<(f64, f64)> {
        Some(log_concave::mode(self, a, b))
    }

    fn landmarks(&self) -> Vec<Landmark> {
        vec![Landmark::spread(self.mean, self.scale)]
    }
}
