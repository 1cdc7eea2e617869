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

use crate::error::{ModelError, parameter};
use crate::math::mixture::height;
use crate::math::truncated_normal::{Truncated, sample, truncated};
use crate::scalar::{ScalarPrior, Tilted};

/// The normal of mean $m$ and variance $v$ restricted to $[l, u]$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    lower: f64,
    upper: f64,
    mean: f64,
    variance: f64,
    /// The law itself, without a tilt, in the coordinate $x - m$.
    free: Truncated,
}

impl Interval {
    /// The normal of `mean` and `variance` restricted to `lower..=upper`; the ends may be infinite.
    ///
    /// # Errors
    /// Unless `lower < upper`, the mean is finite and the variance positive and finite.
    pub fn new(lower: f64, upper: f64, mean: f64, variance: f64) -> Result<Self, ModelError> {
        if !(lower < upper) {
            return Err(parameter(Self::NAME, "lower", "below upper", lower));
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
        let free = truncated(1.0 / variance, 0.0, lower - mean, upper - mean);
        let free =
            free.ok_or_else(|| parameter(Self::NAME, "variance", "not so large", variance))?;
        Ok(Self {
            lower,
            upper,
            mean,
            variance,
            free,
        })
    }
}

impl ScalarPrior for Interval {
    const NAME: &'static str = "interval";

    fn tilted(&self, a: f64, b: f64) -> Tilted {
        let Self {
            lower,
            upper,
            mean,
            variance,
            free,
        } = *self;
        // b + m/v as (b - a m) + (a + 1/v) m: the law is a truncated normal in t = x - m
        let (total, shifted) = (a + 1.0 / variance, (-a).mul_add(mean, b));
        let Some(t) = truncated(total, shifted, lower - mean, upper - mean) else {
            return Tilted::divergent(mean.max(lower).min(upper));
        };
        // at an end of the interval the anchor is that end exactly, not mean + (end - mean)
        let anchor = (mean + t.anchor).max(lower).min(upper);
        let prior = -0.5 * (t.anchor - free.anchor) * (t.anchor + free.anchor) / variance;
        Tilted {
            log_z: height(a, b, anchor) + prior + (t.mass / free.mass).ln(),
            mean: (mean + t.mean).max(lower).min(upper),
            variance: t.variance,
        }
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        sample(self.mean, self.variance.sqrt(), self.lower, self.upper, rng)
    }

    fn log_density(&self, x: f64) -> f64 {
        if x < self.lower || x > self.upper {
            return f64::NEG_INFINITY;
        }
        let t = x - self.mean;
        let fall = 0.5 * (t - self.free.anchor) * (t + self.free.anchor) / self.variance;
        -fall - self.free.mass.ln()
    }

    fn support(&self) -> (f64, f64) {
        (self.lower, self.upper)
    }
}
