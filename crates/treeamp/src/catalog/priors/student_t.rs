//! Student prior $p(x) = \frac{\Gamma((\nu+1)/2)}{\Gamma(\nu/2)\sqrt{\nu\pi}\,s}\bigl(1 + \tfrac{(x - m)^2}{\nu s^2}\bigr)^{-(\nu+1)/2}$.
//!
//! # Moments
//! It is a normal of random variance $V$, $s^2/V$ being gamma of shape and rate $\nu/2$. Given $V$ the tilted law is normal with mean
//! $m + cg$ and variance $g = V/(1 + aV)$, $c = b - am$, and has mass $(1 + aV)^{-1/2} e^{-K/(1 + aV)}$ in units of $e^{b^2/2a}$,
//! $K = c^2/2a$. The integral over $\ln V$ is by the trapezoidal rule.
//!
//! # Limits
//! Finite for $a > 0$. At $a = b = 0$ the variance is $s^2\nu/(\nu - 2)$ for $\nu > 2$ and infinite otherwise: such a law can be a
//! student's, and has no averages as a teacher.
//!
//! # Reference
//! Tipping, "Sparse Bayesian learning and the relevance vector machine", JMLR 1 (2001).

use rand::Rng;
use rand_distr::{Distribution, StudentT as Draw};

use super::weights::{check_centre, check_scale};
use crate::catalog::module::{Domain, Module, SIZE, mean, number};
use crate::error::{ModelError, parameter};
use crate::math::mixture::{Bump, or_overflow};
use crate::math::scale_mixture::{Extent, Weighed, integrate};
use crate::math::special::{HALF_LN_2PI, deviance, log_gamma_peak};
use crate::scalar::{Landmark, ScalarPrior, Tilted};

/// Student's law of $\nu$ degrees of freedom about $m$; the scale $s$ is not its standard deviation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StudentT {
    df: f64,
    mean: f64,
    scale: f64,
}

/// Step of the trapezoidal rule: the integrand is analytic to a distance of more than one from the axis.
const STEP: f64 = 0.2;
/// Distance of the tail of the rule from the largest scale.
const MARGIN: f64 = 1.0;
/// Degrees of freedom up to which the points of the rule suffice.
const LARGEST_DF: f64 = 1e6;

impl StudentT {
    /// Student's law of `df` degrees of freedom, with this centre and scale.
    ///
    /// # Errors
    /// Unless the degrees of freedom are positive and at most $10^6$ (beyond, the law is a Gaussian one), the scale between $10^{-100}$ and $10^{100}$, and the
    /// mean at most $10^{100}$ in size.
    pub fn new(df: f64, mean: f64, scale: f64) -> Result<Self, ModelError> {
        Self::named(Self::NAME, df, mean, scale)
    }

    /// The law as a part of this module, which errors name.
    pub(crate) fn named(module: &str, df: f64, mean: f64, scale: f64) -> Result<Self, ModelError> {
        if !(df > 0.0 && df <= LARGEST_DF) {
            let expected = "positive and at most 1e6 (beyond, the law is a Gaussian one)";
            return Err(parameter(module, "df", expected, df));
        }
        check_centre(module, "mean", mean)?;
        check_scale(module, "scale", scale)?;
        Ok(Self { df, mean, scale })
    }

    /// The variance of the law itself.
    fn variance(&self) -> f64 {
        if self.df > 2.0 {
            self.scale * self.scale / (1.0 - 2.0 / self.df)
        } else {
            f64::INFINITY
        }
    }

    /// $A - \tfrac{b^2}{2a}$ with the moments of $x - m$, and the mean of $1/(1 + aV)$, for $a > 0$.
    fn integral(&self, a: f64, b: f64) -> Option<(f64, Bump<1>, f64)> {
        let half = 0.5 * self.df;
        let c = (-a).mul_add(self.mean, b);
        let (drop, place) = (0.5 * c * (c / a), 2.0 * self.scale.ln());
        let shift = c / a;
        if !(a > 0.0 && drop.is_finite() && (shift * shift).is_finite() && (1.0 / a).is_finite()) {
            return None;
        }
        let peak = log_gamma_peak(half);
        let weight = |y: f64| {
            let free = y.exp();
            let rest = 1.0 / free;
            let prior = peak - deviance(half, place - y);
            let width = a.mul_add(free, 1.0);
            Weighed {
                factor: 1.0 / width.sqrt(),
                exponent: prior - drop / width,
                variance: 1.0 / (a + rest),
                kept: 1.0 / width,
            }
        };
        // the variances of the law itself, of the tilt, and of what the tilt sees
        let far = (2.0 * shift.abs().ln()).max(-a.ln()).max(place);
        let extent = Extent {
            low: place,
            high: far + MARGIN,
            steep: true,
        };
        let step = (0.6 / half.sqrt()).min(STEP);
        Some(integrate(weight, c, extent, step))
    }

    /// The tilted law with its excess, for $a > 0$: one integral gives both.
    pub(crate) fn tilted_with_excess(&self, a: f64, b: f64) -> Option<(Tilted, f64)> {
        let (log_mass, sum, kept) = self.integral(a, b)?;
        // from the end of the two that is nearer
        let from_tilt = (self.mean - b / a) * kept;
        let tilted = Tilted {
            log_z: or_overflow(0.5 * b * (b / a) + log_mass),
            mean: if from_tilt.abs() < sum.mean[0].abs() {
                b / a + from_tilt
            } else {
                self.mean + sum.mean[0]
            },
            variance: sum.variance[0],
        };
        Some((tilted, log_mass + 0.5 * a.ln() - HALF_LN_2PI))
    }

    /// The degrees of freedom.
    pub(crate) fn df(&self) -> f64 {
        self.df
    }

    /// The log-density at the centre.
    pub(crate) fn log_top(&self) -> f64 {
        let half = 0.5 * self.df;
        let peaks = log_gamma_peak(half) - log_gamma_peak(half + 0.5);
        let powers = (half + 0.5) * (0.5 / half).ln_1p() - 0.5;
        powers + peaks - HALF_LN_2PI - self.scale.ln()
    }

    /// The same law about another centre.
    pub(crate) fn moved(self, mean: f64) -> Self {
        Self { mean, ..self }
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "heavy-tailed components",
        formula: "p(x) ∝ (1 + (x - mean)² / (df scale²))^(-(df + 1) / 2)",
        tex: r"p(x) = \frac{\Gamma(\frac{\nu+1}2)}{\Gamma(\frac\nu2)\sqrt{\nu\pi}\,s}\left(1 + \frac{(x - m)^2}{\nu s^2}\right)^{-\frac{\nu+1}2}",
        notes: r"Its variance is $s^2\nu/(\nu - 2)$ for $\nu > 2$. For $\nu \le 2$ it has none: the law can be a student's, at precisions $a > 0$.",
        parameters: &[
            SIZE,
            number("df", 3.0, Domain::Positive, "degrees of freedom")
                .called(r"\nu")
                .learned(),
            mean("the centre"),
            number(
                "scale",
                1.0,
                Domain::Positive,
                "the scale, which is not the standard deviation",
            )
            .called("s")
            .learned(),
        ],
        constructor: |a| {
            let (df, mean) = (a.number("df")?, a.number("mean")?);
            a.prior(Self::new(df, mean, a.number("scale")?)?)
        },
        ..Module::PRIOR
    };
}

impl ScalarPrior for StudentT {
    const NAME: &'static str = "student_t";

    fn tilted(&self, a: f64, b: f64) -> Tilted {
        if a == 0.0 && b == 0.0 && self.df > 2.0 {
            return Tilted {
                log_z: 0.0,
                mean: self.mean,
                variance: self.variance(),
            };
        }
        let found = self.tilted_with_excess(a, b);
        found.map_or(Tilted::divergent(self.mean), |(tilted, _)| tilted)
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("df", self.df), ("mean", self.mean), ("scale", self.scale)]
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        let unit = Draw::new(self.df).map_or(0.0, |law| law.sample(rng));
        self.scale.mul_add(unit, self.mean)
    }

    fn log_density(&self, x: f64) -> f64 {
        let u = (x - self.mean) / self.scale;
        self.log_top() - 0.5 * (self.df + 1.0) * (u / self.df * u).ln_1p()
    }

    fn excess(&self, a: f64, b: f64) -> f64 {
        self.tilted_with_excess(a, b)
            .map_or(f64::INFINITY, |(_, excess)| excess)
    }

    fn landmarks(&self) -> Vec<Landmark> {
        vec![Landmark::spread(self.mean, self.scale)]
    }
}
