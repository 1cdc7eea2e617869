//! Probit labels $p(y \mid z) = \epsilon + (1 - 2\epsilon)\,\Phi(yz/\sqrt\Delta)$, $y = \pm1$: the sign of $w = z + \sqrt\Delta\,\xi$, flipped with
//! probability $\epsilon$.
//!
//! # Moments
//! Under the tilt $w$ is a mixture of two truncated normals, with weights $1 - \epsilon$ where $yw > 0$ and $\epsilon$ elsewhere, and $z$ follows
//! from $w$ as behind any noise ([`Noise`]).
//!
//! # Limits
//! Finite for $a > 0$. Without flipped labels also for $a = 0$ if $yb < 0$. $\Delta = 0$ is the sign itself.
//!
//! # Reference
//! Opper and Winther, "Gaussian processes for classification: mean-field algorithms", Neural Comput. 12 (2000).

use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};

use super::behind_noise::{Noise, interval_mode};
use super::check_label;
use crate::catalog::module::{Domain, Module, number};
use crate::error::{ModelError, parameter};
use crate::math::mixture::{AnchoredMixture, Bump};
use crate::math::special::log_normal_cdf;
use crate::math::truncated_normal::truncated;
use crate::scalar::{Landmark, OutputMeasure, Parity, ScalarLikelihood, Tilted};

/// The sign behind Gaussian noise, flipped now and then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProbitLikelihood {
    noise_variance: f64,
    flip_probability: f64,
}

impl ProbitLikelihood {
    /// Noise of this variance before the sign, which is flipped with this probability.
    ///
    /// # Errors
    /// Unless the variance is not negative and finite, and the probability from 0 to 1.
    pub fn new(noise_variance: f64, flip_probability: f64) -> Result<Self, ModelError> {
        if !(noise_variance >= 0.0 && noise_variance.is_finite()) {
            let expected = "non-negative and finite";
            return Err(parameter(
                Self::NAME,
                "noise_variance",
                expected,
                noise_variance,
            ));
        }
        if !(0.0..=1.0).contains(&flip_probability) {
            let expected = "in [0, 1]";
            return Err(parameter(
                Self::NAME,
                "flip_probability",
                expected,
                flip_probability,
            ));
        }
        Ok(Self {
            noise_variance,
            flip_probability,
        })
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "labels by the sign behind noise, to be observed",
        formula: "p(x | z) = flip_probability + (1 - 2 flip_probability) Φ(x z / √noise_variance), x = ±1",
        tex: r"p(x \mid z) = \epsilon + (1 - 2\epsilon)\,\Phi(x z/\sqrt\Delta),\quad x = \pm1",
        notes: r"The sign of $z + \sqrt\Delta\,\xi$, flipped with probability $\epsilon$.",
        parameters: &[
            number(
                "noise_variance",
                1.0,
                Domain::NotNegative,
                "variance of the noise before the sign",
            )
            .called(r"\Delta")
            .learned(),
            number(
                "flip_probability",
                0.0,
                Domain::Unit,
                "probability of a flipped label",
            )
            .called(r"\epsilon")
            .learned(),
        ],
        constructor: |a| {
            let noise = a.number("noise_variance")?;
            a.likelihood(Self::new(noise, a.number("flip_probability")?)?)
        },
        ..Module::LIKELIHOOD
    };

    /// Where the noisy input of a label is, if that is certain.
    fn side(&self, y: f64) -> Option<(f64, f64)> {
        let flipped = self.flip_probability;
        let certain = flipped <= 0.0 || flipped >= 1.0;
        certain.then(|| half_line(if flipped > 0.5 { -y } else { y }))
    }

    /// The noisy input under its tilt: two half lines.
    fn noisy(&self, y: f64, a: f64, b: f64) -> Option<AnchoredMixture<1>> {
        let mut sum = AnchoredMixture::new([a], [b]);
        let flipped = self.flip_probability;
        for (side, weight) in [(y, 1.0 - flipped), (-y, flipped)] {
            if weight > 0.0 {
                let (lo, hi) = half_line(side);
                let t = truncated(a, b, lo, hi)?;
                let bump = t.bump();
                let mass = bump.mass * weight;
                sum.add([t.anchor], Bump { mass, ..bump });
            }
        }
        Some(sum)
    }
}

/// The numbers of one sign.
fn half_line(sign: f64) -> (f64, f64) {
    if sign > 0.0 {
        (0.0, f64::INFINITY)
    } else {
        (f64::NEG_INFINITY, 0.0)
    }
}

impl ScalarLikelihood for ProbitLikelihood {
    const NAME: &'static str = "probit";
    type Output = f64;

    fn tilted(&self, y: f64, a: f64, b: f64) -> Tilted {
        let Some(noise) = Noise::at(self.noise_variance, a, b) else {
            return Tilted::divergent(0.0);
        };
        let Some(sum) = self.noisy(y, noise.a, noise.b) else {
            return Tilted::divergent(0.0);
        };
        noise.tilted(sum.log_mass(), sum.bump())
    }

    fn sample(&self, z: f64, rng: &mut dyn Rng) -> f64 {
        let normal: f64 = StandardNormal.sample(rng);
        let sign = normal.mul_add(self.noise_variance.sqrt(), z) >= 0.0;
        if sign == (rng.random::<f64>() < self.flip_probability) {
            -1.0
        } else {
            1.0
        }
    }

    fn log_density(&self, y: f64, z: f64) -> f64 {
        let u = if self.noise_variance > 0.0 {
            y * z / self.noise_variance.sqrt()
        } else {
            // the sign of zero is +1
            f64::INFINITY.copysign(if z == 0.0 { y } else { y * z })
        };
        let flipped = self.flip_probability;
        if flipped == 0.0 {
            return log_normal_cdf(u);
        }
        // both terms are positive, whatever the sign of 1 - 2ε
        let own = (1.0 - flipped) * log_normal_cdf(u).exp();
        (own + flipped * log_normal_cdf(-u).exp()).ln()
    }

    fn check(&self, y: f64) -> Result<(), String> {
        check_label(y)
    }

    fn excess(&self, y: f64, a: f64, b: f64) -> f64 {
        let noise = Noise::at(self.noise_variance, a, b);
        let sum = noise.and_then(|noise| self.noisy(y, noise.a, noise.b));
        // the noisy input has no other scale than that of its tilt
        sum.map_or(f64::INFINITY, |sum| sum.log_excess([true]))
    }

    /// With no label flipped or all of them: else $p(y \mid z)$ is not log-concave. Without noise it is a constraint.
    fn mode(&self, y: f64, a: f64, b: f64) -> Option<(f64, f64)> {
        let (lo, hi) = self.side(y)?;
        Some(interval_mode(self.noise_variance, lo, hi, a, b))
    }

    fn support(&self, y: f64) -> (f64, f64) {
        let side = self.side(y).filter(|_| self.noise_variance <= 0.0);
        side.unwrap_or((f64::NEG_INFINITY, f64::INFINITY))
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("noise_variance", self.noise_variance),
            ("flip_probability", self.flip_probability),
        ]
    }

    fn outputs(&self) -> Option<OutputMeasure> {
        Some(OutputMeasure::Finite(vec![1.0, -1.0]))
    }

    fn landmarks(&self, _: f64) -> Vec<Landmark> {
        vec![Landmark::spread(0.0, self.noise_variance.sqrt())]
    }

    fn parity(&self) -> Option<Parity> {
        Some(Parity::Odd)
    }
}
