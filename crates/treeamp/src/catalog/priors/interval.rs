//! Truncated normal prior $p(x) \propto \mathcal N(x; m, v)\, \mathbf 1[l \le x \le u]$.
//!
//! # Moments
//! The tilted law is truncated normal with precision $a + 1/v$ and linear term $b + m/v$; see
//! [`truncated_normal`](crate::math::truncated_normal) for its stable mass, mean and variance.
//!
//! # Limits
//! Finite for every $a$ on a bounded interval; on a half line as long as $a + 1/v > 0$.
//! $v \to \infty$ is the uniform law on a bounded interval.
//!
//! # Reference
//! Baker et al., JMLR 24 (2023), appendix E, interval variable.

use rand::Rng;

use crate::catalog::module::{Domain, Module, SIZE, mean, number, variance};
use crate::error::{ModelError, parameter};
use crate::math::mixture::{height, log_normal, or_overflow};
use crate::math::truncated_normal::{End, Quadratic, Truncated, sample, truncated_quadratic};
use crate::scalar::{ScalarPrior, Tilted};

/// The normal of mean $m$ and variance $v$ restricted to $[l, u]$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    lower: f64,
    upper: f64,
    mean: f64,
    variance: f64,
    /// The law itself, without a tilt.
    free: Truncated,
}

impl Interval {
    /// The normal of `mean` and `variance` restricted to `lower..=upper`; the ends may be infinite.
    ///
    /// # Errors
    /// Unless `lower < upper`, the mean is finite and the variance positive and finite.
    pub fn new(lower: f64, upper: f64, mean: f64, variance: f64) -> Result<Self, ModelError> {
        if upper.is_nan() {
            return Err(parameter(Self::NAME, "upper", "a number", upper));
        }
        if !(lower < upper) {
            let expected = format!("below upper = {upper}");
            return Err(parameter(Self::NAME, "lower", expected, lower));
        }
        if !mean.is_finite() {
            return Err(parameter(Self::NAME, "mean", "finite", mean));
        }
        if !(variance > 0.0 && variance.is_finite()) {
            return Err(parameter(
                Self::NAME,
                "variance",
                "positive and finite",
                variance,
            ));
        }
        let Some(free) = truncated_quadratic(exponent(lower, upper, mean, variance, 0.0, 0.0))
        else {
            return Err(parameter(
                Self::NAME,
                "variance",
                "smaller on an infinite interval",
                variance,
            ));
        };
        Ok(Self {
            lower,
            upper,
            mean,
            variance,
            free,
        })
    }

    /// $-(x - m)^2/2v$ minus its value at the anchor of the free law, as a product.
    fn log_prior(&self, x: f64) -> f64 {
        let (d, d0) = (x - self.mean, self.free.anchor - self.mean);
        0.5 * (self.free.anchor - x) * (d + d0) / self.variance
    }

    /// The tilted law, its mass in units of $e^{-\frac12 a x^2 + b x}$ at the anchor $x$ and of $e^{s}$; the second number is $s$.
    pub(super) fn anchored(&self, a: f64, b: f64) -> Option<(Truncated, f64)> {
        let g = exponent(self.lower, self.upper, self.mean, self.variance, a, b);
        let t = truncated_quadratic(g)?;
        let mass = t.mass / self.free.mass;
        Some((Truncated { mass, ..t }, self.log_prior(t.anchor)))
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "Gaussian components, given that they lie in an interval",
        formula: "p(x) ∝ N(x; mean, variance) on lower < x < upper",
        tex: r"p(x) \propto 1_{l \le x \le h}\,N(x; m, \sigma^2)",
        parameters: &[
            SIZE,
            number("lower", -1.0, Domain::Extended, "lower end of the interval").called("l"),
            number(
                "upper",
                1.0,
                Domain::Extended,
                "upper end of the interval, above the lower",
            )
            .called("h"),
            mean("mean of the Gaussian that is cut"),
            variance("variance of the Gaussian that is cut"),
        ],
        constructor: |a| {
            let (lower, upper) = (a.number("lower")?, a.number("upper")?);
            a.prior(Self::new(
                lower,
                upper,
                a.number("mean")?,
                a.number("variance")?,
            )?)
        },
        ..Module::PRIOR
    };
}

/// Ends beyond this overflow when squared.
const FAR: f64 = 1e150;

/// $-\tfrac12 a x^2 + b x - (x - m)^2/2v$ on $[l, u]$.
fn exponent(lower: f64, upper: f64, mean: f64, variance: f64, a: f64, b: f64) -> Quadratic {
    // b + m/v would drown the distance of an end from the mean
    let end = |x: f64| End {
        place: x,
        slope: (-a).mul_add(x, b) - (x - mean) / variance,
    };
    // beyond the root of the largest number an end is as good as infinite for a decaying law
    let far = a + 1.0 / variance > 0.0;
    let lower = if far && lower < -FAR {
        f64::NEG_INFINITY
    } else {
        lower
    };
    let upper = if far && upper > FAR {
        f64::INFINITY
    } else {
        upper
    };
    let vertex = b.mul_add(variance, mean) / a.mul_add(variance, 1.0);
    Quadratic {
        a: a + 1.0 / variance,
        vertex,
        lo: end(lower),
        hi: end(upper),
    }
}

impl ScalarPrior for Interval {
    const NAME: &'static str = "interval";

    fn tilted(&self, a: f64, b: f64) -> Tilted {
        let Some((t, scale)) = self.anchored(a, b) else {
            return Tilted::divergent(self.mean.max(self.lower).min(self.upper));
        };
        Tilted {
            log_z: or_overflow(height(a, b, t.anchor) + scale + t.mass.ln()),
            mean: t.mean,
            variance: t.variance,
        }
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("lower", self.lower),
            ("upper", self.upper),
            ("mean", self.mean),
            ("variance", self.variance),
        ]
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        sample(self.mean, self.variance.sqrt(), self.lower, self.upper, rng)
    }

    fn log_density(&self, x: f64) -> f64 {
        if x < self.lower || x > self.upper {
            return f64::NEG_INFINITY;
        }
        self.log_prior(x) - self.free.mass.ln()
    }

    fn excess(&self, a: f64, b: f64) -> f64 {
        self.anchored(a, b).map_or(f64::INFINITY, |(t, scale)| {
            log_normal(t.anchor, a, b) + scale + t.mass.ln()
        })
    }

    /// The mode of the free normal, or the end next to it.
    fn mode(&self, a: f64, b: f64) -> Option<(f64, f64)> {
        let precision = a + 1.0 / self.variance;
        if !(precision > 0.0) {
            return Some((self.mean.max(self.lower).min(self.upper), f64::INFINITY));
        }
        let free = (b + self.mean / self.variance) / precision;
        let inside = free > self.lower && free < self.upper;
        let curvature = if inside { 1.0 / precision } else { 0.0 };
        Some((free.max(self.lower).min(self.upper), curvature))
    }

    fn support(&self) -> (f64, f64) {
        (self.lower, self.upper)
    }
}
