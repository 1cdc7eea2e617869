//! Logistic labels $p(y \mid z) = \epsilon + \frac{1 - 2\epsilon}{1 + e^{-yz}}$, $y = \pm1$, flipped with probability $\epsilon$.
//!
//! # Moments
//! By quadrature about the top of $-\ln(1 + e^{-yz}) - \tfrac12 a z^2 + bz$, which is concave. With flipped labels it is one of two components: the
//! other is the tilt itself, a normal, with weight $\epsilon$. More than half of the labels flipped are the other label, flipped less.
//!
//! # Limits
//! Finite for $a > 0$. Without flipped labels also for $a = 0$ as long as $-1 < yb < 0$.
//!
//! # Reference
//! Jaakkola and Jordan, "Bayesian parameter estimation via variational methods", Stat. Comput. 10 (2000).

use rand::{Rng, RngExt};

use super::check_label;
use crate::catalog::module::{Domain, Module, number};
use crate::error::{ModelError, parameter};
use crate::math::log_concave::{self, Concave};
use crate::math::special::{HALF_LN_2PI, log_add_exp, sigmoid, softplus, softplus_bend};
use crate::scalar::{Landmark, OutputMeasure, Parity, ScalarLikelihood, Tilted};

/// A label that is $+1$ with probability $1/(1 + e^{-z})$, flipped now and then. By default none is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LogisticLikelihood {
    flip_probability: f64,
}

impl LogisticLikelihood {
    /// Labels that are flipped with this probability.
    ///
    /// # Errors
    /// Unless the probability is from 0 to 1.
    pub fn new(flip_probability: f64) -> Result<Self, ModelError> {
        if !(0.0..=1.0).contains(&flip_probability) {
            let (name, expected) = ("flip_probability", "in [0, 1]");
            return Err(parameter(Self::NAME, name, expected, flip_probability));
        }
        Ok(Self { flip_probability })
    }

    /// The label that is more likely than not to be right, and the probability that it is flipped.
    fn likelier(self, y: f64) -> (Label, f64) {
        let flipped = self.flip_probability;
        if flipped > 0.5 {
            (Label(-y), 1.0 - flipped)
        } else {
            (Label(y), flipped)
        }
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "logistic labels, to be observed",
        formula: "p(x | z) = flip_probability + (1 - 2 flip_probability) / (1 + e^(-x z)), x = ±1",
        tex: r"p(x \mid z) = \epsilon + \frac{1 - 2\epsilon}{1 + e^{-x z}},\quad x = \pm1",
        notes: r"Labels are flipped with probability $\epsilon$. Moments by quadrature to a relative accuracy of $10^{-8}$ or better.",
        parameters: &[number(
            "flip_probability",
            0.0,
            Domain::Unit,
            "probability of a flipped label",
        )
        .called(r"\epsilon")
        .learned()],
        constructor: |a| a.likelihood(Self::new(a.number("flip_probability")?)?),
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
        let (label, flipped) = self.likelier(y);
        if flipped <= 0.0 {
            return log_concave::tilted(&label, a, b);
        }
        if !(a > 0.0) {
            return Tilted::divergent(0.0);
        }
        let (t, excess) = log_concave::tilted_with_excess(&label, a, b);
        // log-masses in units of that of the tilt, which has the moments b/a and 1/a
        let own = (-2.0 * flipped).ln_1p() + excess;
        let total = log_add_exp(flipped.ln(), own);
        let (plain, right) = ((flipped.ln() - total).exp(), (own - total).exp());
        let (centre, spread) = (b / a, 1.0 / a);
        let gap = t.mean - centre;
        Tilted {
            log_z: 0.5 * b * centre + HALF_LN_2PI - 0.5 * a.ln() + total,
            mean: right.mul_add(gap, centre),
            variance: plain * spread + right * t.variance + plain * right * gap * gap,
        }
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("flip_probability", self.flip_probability)]
    }

    fn sample(&self, z: f64, rng: &mut dyn Rng) -> f64 {
        let label = rng.random::<f64>() < sigmoid(z);
        if label == (rng.random::<f64>() < self.flip_probability) {
            -1.0
        } else {
            1.0
        }
    }

    fn log_density(&self, y: f64, z: f64) -> f64 {
        let (label, flipped) = self.likelier(y);
        let own = (-2.0 * flipped).ln_1p() + label.value(z);
        log_add_exp(flipped.ln(), own)
    }

    fn check(&self, y: f64) -> Result<(), String> {
        check_label(y)
    }

    fn excess(&self, y: f64, a: f64, b: f64) -> f64 {
        let (label, flipped) = self.likelier(y);
        let own = (-2.0 * flipped).ln_1p() + log_concave::excess(&label, a, b);
        log_add_exp(flipped.ln(), own)
    }

    /// With no label flipped or all of them: else $p(y \mid z)$ is not log-concave.
    fn mode(&self, y: f64, a: f64, b: f64) -> Option<(f64, f64)> {
        let (label, flipped) = self.likelier(y);
        (flipped <= 0.0).then(|| log_concave::mode(&label, a, b))
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
