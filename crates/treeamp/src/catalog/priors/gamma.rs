//! Gamma prior $p(x) = \frac{\beta^k}{\Gamma(k)} x^{k-1} e^{-\beta x}$ on $x > 0$.
//!
//! # Moments
//! With $x = x_* e^t$ the exponent is $h(t) = ax_*^2[t - \tfrac12(e^{2t} - 1)] + cx_*[e^t - 1 - t]$, $c = b - \beta$, about its one top, the
//! positive root $x_*$ of $k + cx - ax^2$. By quadrature in $t$, where the weight is smooth for every shape $k$.
//!
//! # Limits
//! Finite for $a > 0$, and for $a = 0$ as long as $b < \beta$.
//!
//! # Reference
//! Gradshteyn and Ryzhik, 3.462.1: the integral is a parabolic cylinder function.

use std::cmp::Ordering;

use rand::Rng;
use rand_distr::{Distribution, Gamma as Draw};

use crate::catalog::module::{Domain, Module, SIZE, number};
use crate::error::{ModelError, parameter};
use crate::math::log_concave::{Moments, moments};
use crate::math::mixture::{height, or_overflow};
use crate::math::special::{HALF_LN_2PI, deviance, log_gamma_peak};
use crate::scalar::{Landmark, ScalarPrior, Tilted};

/// The gamma law of shape $k$ and rate $\beta$, of mean $k/\beta$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gamma {
    shape: f64,
    rate: f64,
}

/// The smallest shape: the law of $\ln x$ is flat over $1/k$, and what the tilt says is seen at its upper end only.
const SMALLEST: f64 = 1e-5;

impl Gamma {
    /// The gamma law of this shape and rate.
    ///
    /// # Errors
    /// Unless the shape is finite and at least $10^{-5}$ (below, the quadrature misses the components that are not next to zero), and the rate positive
    /// and finite.
    pub fn new(shape: f64, rate: f64) -> Result<Self, ModelError> {
        if !(shape >= SMALLEST && shape.is_finite()) {
            let expected = "at least 1e-5 and finite";
            return Err(parameter(Self::NAME, "shape", expected, shape));
        }
        if !(rate > 0.0 && rate.is_finite()) {
            return Err(parameter(Self::NAME, "rate", "positive and finite", rate));
        }
        Ok(Self { shape, rate })
    }

    /// $\ln\tfrac{\beta x}k$.
    fn log_ratio(&self, x: f64) -> f64 {
        (self.rate * (x / self.shape)).ln()
    }

    /// $\ln[x\,p(x)]$, by what it loses from its top at $x = k/\beta$.
    fn log_weight(&self, x: f64) -> f64 {
        log_gamma_peak(self.shape) - deviance(self.shape, self.log_ratio(x))
    }

    /// The top $x_*$ and the integral about it; `None` where that diverges.
    fn integral(&self, a: f64, b: f64) -> Option<(f64, Moments)> {
        let (k, c) = (self.shape, b - self.rate);
        if !(a > 0.0 || (a == 0.0 && c < 0.0)) {
            return None;
        }
        // no difference of the root and c
        let root = c.hypot(2.0 * (a * k).sqrt());
        let x = if c > 0.0 {
            (c + root) / (2.0 * a)
        } else {
            2.0 * k / (root - c)
        };
        let (quadratic, linear) = (a * x * x, c * x);
        let h = |t: f64| {
            let e = t.exp_m1();
            // (e^{2t} - 1)/2 = e + e²/2
            let bend = e - t;
            -quadratic * (bend + 0.5 * e * e) + linear * bend
        };
        let curvature = 2.0 * quadratic - linear;
        let sums = moments(&h, curvature, |t| x * t.exp_m1());
        let finite = x > 0.0 && sums.mass > 0.0 && sums.variance.is_finite();
        finite.then_some((x, sums))
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "positive components of some shape",
        formula: "p(x) = rate^shape x^(shape - 1) e^(-rate x) / Γ(shape) on x > 0",
        tex: r"p(x) = \frac{\beta^k}{\Gamma(k)} x^{k-1} e^{-\beta x}\ \text{on}\ x > 0",
        notes: r"Mean $k/\beta$, variance $k/\beta^2$. Moments by quadrature to a relative accuracy of $10^{-8}$ or better.",
        parameters: &[
            SIZE,
            number("shape", 1.0, Domain::Positive, "the shape, at least 1e-5")
                .called("k")
                .learned(),
            number("rate", 1.0, Domain::Positive, "the rate")
                .called(r"\beta")
                .learned(),
        ],
        constructor: |a| a.prior(Self::new(a.number("shape")?, a.number("rate")?)?),
        ..Module::PRIOR
    };
}

impl ScalarPrior for Gamma {
    const NAME: &'static str = "gamma";

    fn tilted(&self, a: f64, b: f64) -> Tilted {
        let Some((x, sums)) = self.integral(a, b) else {
            return Tilted::divergent(self.shape / self.rate);
        };
        // about the law's own top, or far above it, where the tilt undoes the fall
        let u = self.log_ratio(x);
        let top = if u < 1.0 {
            self.log_weight(x) + height(a, b, x)
        } else {
            log_gamma_peak(self.shape) + self.shape * (1.0 + u) + height(a, b - self.rate, x)
        };
        Tilted {
            log_z: or_overflow(top + sums.mass.ln()),
            mean: (x + sums.mean).max(0.0),
            variance: sums.variance.max(f64::MIN_POSITIVE),
        }
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("shape", self.shape), ("rate", self.rate)]
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        Draw::new(self.shape, 1.0).map_or(0.0, |law| law.sample(rng)) / self.rate
    }

    fn log_density(&self, x: f64) -> f64 {
        if x > 0.0 {
            return self.log_weight(x) - x.ln();
        }
        if x < 0.0 {
            return f64::NEG_INFINITY;
        }
        match self.shape.total_cmp(&1.0) {
            Ordering::Less => f64::INFINITY,
            Ordering::Equal => self.rate.ln(),
            Ordering::Greater => f64::NEG_INFINITY,
        }
    }

    /// $x_* - \tfrac ba = (k/x_* - \beta)/a$, and $k/x_* - \beta = ax_* - b$.
    fn excess(&self, a: f64, b: f64) -> f64 {
        let Some((x, sums)) = self.integral(a, b) else {
            return f64::INFINITY;
        };
        // the same two ways: of large terms at sharp beliefs, or at weak ones
        let away = if a * x + b.abs() < self.rate {
            a.mul_add(x, -b)
        } else {
            self.shape / x - self.rate
        };
        let top = self.log_weight(x) - 0.5 * away * (away / a);
        top + 0.5 * a.ln() - HALF_LN_2PI + sums.mass.ln()
    }

    /// Of a shape from 1 up, where the energy is convex, the positive root of $k - 1 + cx - ax^2$; else none.
    fn mode(&self, a: f64, b: f64) -> Option<(f64, f64)> {
        let (k, c) = (self.shape - 1.0, b - self.rate);
        if k < 0.0 {
            return None;
        }
        if !(a > 0.0 || (a == 0.0 && c < 0.0)) {
            return Some((0.0, f64::INFINITY));
        }
        let root = c.hypot(2.0 * (a * k).sqrt());
        let x = if c > 0.0 {
            (c + root) / (2.0 * a)
        } else {
            2.0 * k / (root - c)
        };
        // dx/db = x/√(c² + 4ak)
        Some((x, if root > 0.0 { x / root } else { 0.0 }))
    }

    fn support(&self) -> (f64, f64) {
        (0.0, f64::INFINITY)
    }

    fn landmarks(&self) -> Vec<Landmark> {
        let deviation = self.shape.sqrt() / self.rate;
        vec![Landmark::spread(self.shape / self.rate, deviation)]
    }
}
