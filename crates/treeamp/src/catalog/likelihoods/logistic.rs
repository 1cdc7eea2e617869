//! Logistic labels $p(y \mid z) = \frac1{1 + e^{-yz}}$, $y = \pm1$.
//!
//! # Moments
//! By quadrature about the top of $-\ln(1 + e^{-yz}) - \tfrac12 a z^2 + bz$, which is concave.
//!
//! # Limits
//! Finite for $a > 0$, and for $a = 0$ as long as $-1 < yb < 0$.
//!
//! # Reference
//! Jaakkola and Jordan, "Bayesian parameter estimation via variational methods", Stat. Comput. 10 (2000).

use rand::{Rng, RngExt};

use super::check_label;
use crate::catalog::module::Module;
use crate::math::log_concave::{self, Concave};
use crate::math::special::{sigmoid, softplus, softplus_bend};
use crate::scalar::{Landmark, OutputMeasure, Parity, ScalarLikelihood, Tilted};

/// A label that is $+1$ with probability $1/(1 + e^{-z})$.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LogisticLikelihood;

impl LogisticLikelihood {
    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "logistic labels, to be observed",
        formula: "p(x | z) = 1 / (1 + e^(-x z)), x = ±1",
        tex: r"p(x \mid z) = \frac1{1 + e^{-x z}},\quad x = \pm1",
        notes: r"Moments by quadrature to a relative accuracy of $10^{-8}$ or better.",
        constructor: |a| a.likelihood(Self),
        ..Module::LIKELIHOOD
    };
}

/// $-\ln(1 + e^{-yz})$.
struct Label(f64);

impl Concave for Label {
    fn value(&self, z: f64) -> f64 {
        -softplus(-self.0 * z)
    }

    fn slope(&self, z: f64) -> (f64, f64) {
        let wrong = sigmoid(-self.0 * z);
        (self.0 * wrong, -wrong * sigmoid(self.0 * z))
    }

    fn bend(&self, z: f64) -> impl Fn(f64) -> f64 {
        let (bend, y) = (softplus_bend(-self.0 * z), self.0);
        move |t: f64| bend(-y * t)
    }

    fn slopes(&self) -> (f64, f64) {
        (self.0.min(0.0), self.0.max(0.0))
    }

    fn start(&self, a: f64, b: f64) -> f64 {
        // far on either side the slope is constant
        let far = self.0 * (a.max(1e-300).ln()).min(0.0);
        if a == 0.0 {
            // b + y/(1 + e^{yz}) = 0
            -self.0 * (-self.0 * b / self.0.mul_add(b, 1.0)).ln()
        } else if self.0 * b < 0.0 {
            0.0
        } else {
            -far.clamp(-30.0, 30.0)
        }
    }
}

impl ScalarLikelihood for LogisticLikelihood {
    const NAME: &'static str = "logistic";
    type Output = f64;

    fn tilted(&self, y: f64, a: f64, b: f64) -> Tilted {
        log_concave::tilted(&Label(y), a, b)
    }

    fn sample(&self, z: f64, rng: &mut dyn Rng) -> f64 {
        if rng.random::<f64>() < sigmoid(z) {
            1.0
        } else {
            -1.0
        }
    }

    fn log_density(&self, y: f64, z: f64) -> f64 {
        -softplus(-y * z)
    }

    fn check(&self, y: f64) -> Result<(), String> {
        check_label(y)
    }

    fn excess(&self, y: f64, a: f64, b: f64) -> f64 {
        log_concave::excess(&Label(y), a, b)
    }

    fn mode(&self, y: f64, a: f64, b: f64) -> Option<(f64, f64)> {
        Some(log_concave::mode(&Label(y), a, b))
    }

    fn outputs(&self) -> Option<OutputMeasure> {
        Some(OutputMeasure::Finite(vec![1.0, -1.0]))
    }

    fn landmarks(&self, _: f64) -> Vec<Landmark> {
        vec![Landmark::spread(0.0, 1.0)]
    }

    fn parity(&self) -> Option<Parity> {
        Some(Parity::Odd)
    }
}
