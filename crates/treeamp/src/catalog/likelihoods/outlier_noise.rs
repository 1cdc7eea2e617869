//! Gaussian noise with outliers, $p(y \mid z) = (1 - \epsilon)\,\mathcal N(y; z, \Delta) + \epsilon\,\mathcal N(y; z, \Delta')$.
//!
//! # Moments
//! Under the tilt either component is a normal of mean $y + cg$ and variance $g = \Delta/(1 + a\Delta)$, $c = b - ay$. With the log-odds
//! $\xi = \ln\frac\epsilon{1-\epsilon} - \tfrac12\ln\frac{1 + a\Delta'}{1 + a\Delta} + \tfrac12 c^2(g' - g)$ of an outlier, $p = 1/(1 + e^{-\xi})$, the variance is
//! $(1 - p)g + pg' + p(1 - p)c^2(g' - g)^2$.
//!
//! # Limits
//! Finite for $a > -1/\max(\Delta, \Delta')$.
//!
//! # Reference
//! Kuss, "Gaussian process models for robust regression, classification, and reinforcement learning", thesis (2006).

use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};

use super::check_finite;
use crate::catalog::gaussian_tilt::{gaussian_mode, log_normal_density};
use crate::catalog::module::{Domain, Module, number, variance};
use crate::error::{ModelError, parameter};
use crate::math::mixture::{height, or_overflow};
use crate::math::special::{HALF_LN_2PI, log_add_exp, sigmoid};
use crate::scalar::{Landmark, OutputMeasure, Parity, ScalarLikelihood, Tilted};

/// Noise of one variance, and of another for a fraction $\epsilon$ of outliers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutlierNoise {
    variance: f64,
    outlier_variance: f64,
    outlier_probability: f64,
}

impl OutlierNoise {
    /// Noise of this variance, and of another with some probability.
    ///
    /// # Errors
    /// Unless both variances are positive and finite, and the probability from 0 to 1.
    pub fn new(
        variance: f64,
        outlier_variance: f64,
        outlier_probability: f64,
    ) -> Result<Self, ModelError> {
        for (name, x) in [
            ("variance", variance),
            ("outlier_variance", outlier_variance),
        ] {
            if !(x > 0.0 && x.is_finite()) {
                return Err(parameter(Self::NAME, name, "positive and finite", x));
            }
        }
        if !(0.0..=1.0).contains(&outlier_probability) {
            let (name, expected) = ("outlier_probability", "in [0, 1]");
            return Err(parameter(Self::NAME, name, expected, outlier_probability));
        }
        Ok(Self {
            variance,
            outlier_variance,
            outlier_probability,
        })
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "Gaussian noise with outliers, to be observed",
        formula: "p(x | z) = (1 - outlier_probability) N(x; z, variance) + outlier_probability N(x; z, outlier_variance)",
        tex: r"p(x \mid z) = (1 - \epsilon)\,N(x; z, \sigma^2) + \epsilon\,N(x; z, \Delta)",
        notes: r"$\Delta$ is the whole variance of an outlier.",
        parameters: &[
            variance("variance of most of the noise"),
            number(
                "outlier_variance",
                100.0,
                Domain::Positive,
                "variance of an outlier",
            )
            .called(r"\Delta")
            .learned(),
            number(
                "outlier_probability",
                0.05,
                Domain::Unit,
                "probability of an outlier",
            )
            .called(r"\epsilon")
            .learned(),
        ],
        constructor: |a| {
            let (own, far) = (a.number("variance")?, a.number("outlier_variance")?);
            a.likelihood(Self::new(own, far, a.number("outlier_probability")?)?)
        },
        ..Module::LIKELIHOOD
    };

    /// The variance of noise that has only one.
    fn only(&self) -> Option<f64> {
        let (own, far) = (self.variance, self.outlier_variance);
        let without = self.outlier_probability <= 0.0;
        let nothing_else = self.outlier_probability >= 1.0 || own.total_cmp(&far).is_eq();
        without.then_some(own).or(nothing_else.then_some(far))
    }

    /// $\ln(1 - \epsilon)$ and $\ln\epsilon$.
    fn log_weights(&self) -> (f64, f64) {
        let far = self.outlier_probability;
        ((-far).ln_1p(), far.ln())
    }
}

impl ScalarLikelihood for OutlierNoise {
    const NAME: &'static str = "outlier_noise";
    type Output = f64;

    fn tilted(&self, y: f64, a: f64, b: f64) -> Tilted {
        let (near, far) = self.log_weights();
        let (d0, d1) = (self.variance, self.outlier_variance);
        let (w0, w1) = (a.mul_add(d0, 1.0), a.mul_add(d1, 1.0));
        // a component without weight may diverge
        if !(w0 > 0.0 || near == f64::NEG_INFINITY) || !(w1 > 0.0 || far == f64::NEG_INFINITY) {
            return Tilted::divergent(y);
        }
        let c = (-a).mul_add(y, b);
        let (g0, g1) = (d0 / w0, d1 / w1);
        let step = (d1 - d0) / w0 / w1;
        let odds = far - near - 0.5 * (w1 / w0).ln() + 0.5 * (c * step) * c;
        let odds = if far == f64::NEG_INFINITY { far } else { odds };
        let (p, q) = (sigmoid(odds), sigmoid(-odds));
        let (p, q) = if near == f64::NEG_INFINITY {
            (1.0, 0.0)
        } else {
            (p, q)
        };
        let share = |x: f64, p: f64| if p > 0.0 { p * x } else { 0.0 };
        let between = share(c * step, p) * share(c * step, q);
        // not y + cg, which loses y at large a
        let own = |d: f64, w: f64| b.mul_add(d, y) / w;
        let log_z = if a * d0.max(d1) > 1.0 {
            0.5 * b * (b / a) + HALF_LN_2PI - 0.5 * a.ln() + self.excess(y, a, b)
        } else {
            let part = |weight: f64, g: f64, w: f64| {
                if weight == f64::NEG_INFINITY {
                    weight
                } else {
                    weight + 0.5 * (c * g) * c - 0.5 * w.ln()
                }
            };
            height(a, b, y) + log_add_exp(part(near, g0, w0), part(far, g1, w1))
        };
        Tilted {
            log_z: or_overflow(log_z),
            mean: share(own(d0, w0), q) + share(own(d1, w1), p),
            variance: share(g0, q) + share(g1, p) + between,
        }
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("variance", self.variance),
            ("outlier_variance", self.outlier_variance),
            ("outlier_probability", self.outlier_probability),
        ]
    }

    fn sample(&self, z: f64, rng: &mut dyn Rng) -> f64 {
        let normal: f64 = StandardNormal.sample(rng);
        let outlier = rng.random::<f64>() < self.outlier_probability;
        let variance = if outlier {
            self.outlier_variance
        } else {
            self.variance
        };
        normal.mul_add(variance.sqrt(), z)
    }

    fn log_density(&self, y: f64, z: f64) -> f64 {
        let (near, far) = self.log_weights();
        log_add_exp(
            near + log_normal_density(y, z, self.variance),
            far + log_normal_density(y, z, self.outlier_variance),
        )
    }

    fn check(&self, y: f64) -> Result<(), String> {
        check_finite(y)
    }

    fn excess(&self, y: f64, a: f64, b: f64) -> f64 {
        let (near, far) = self.log_weights();
        let seen = |variance: f64| log_normal_density(b / a, y, variance + 1.0 / a);
        log_add_exp(
            near + seen(self.variance),
            far + seen(self.outlier_variance),
        )
    }

    fn outputs(&self) -> Option<OutputMeasure> {
        let scales = [self.variance, self.outlier_variance];
        Some(OutputMeasure::Density(scales.map(f64::sqrt).to_vec()))
    }

    fn parity(&self) -> Option<Parity> {
        Some(Parity::Odd)
    }

    fn landmarks(&self, y: f64) -> Vec<Landmark> {
        vec![
            Landmark::spread(y, self.variance.sqrt()),
            Landmark::spread(y, self.outlier_variance.sqrt()),
        ]
    }

    /// Of noise without outliers, or of nothing else, where the energy is convex; else none.
    fn mode(&self, y: f64, a: f64, b: f64) -> Option<(f64, f64)> {
        self.only().map(|variance| gaussian_mode(y, variance, a, b))
    }
}
