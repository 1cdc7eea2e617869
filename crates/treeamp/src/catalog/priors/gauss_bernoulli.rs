//! Sparse Gaussian prior $p(x) = (1 - \rho)\, \delta(x) + \rho\, \mathcal N(x; m, v)$.
//!
//! # Moments
//! The slab under the tilt is Gaussian with mean $r_1 = u(m + bv)$, variance $v_1 = u v$, $u = 1/(1 + av)$, and
//! log-odds against the spike $\xi = \ln\frac{\rho}{1-\rho} + \tfrac12 u[v b^2 + m(2b - am)] - \tfrac12 \ln(1 + av)$.
//! With $p = \sigma(\xi)$: $r = p\, r_1$, variance $p\, v_1 + p(1-p)\, r_1^2$, $A = \ln(1-\rho) + \ln(1 + e^\xi)$.
//!
//! # Limits
//! Diverges for $a \le -1/v$ when $\rho > 0$. $\rho = 1$ is Gaussian, $\rho = 0$ an atom at zero.
//!
//! # Reference
//! Baker et al., JMLR 24 (2023), appendix E, sparse variable and Gauss-Bernoulli prior.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};

use crate::catalog::gaussian_tilt::{
    gain, gain_of, gaussian_mode, log_normal_density, log_one_plus,
};
use crate::catalog::module::{Domain, Module, SIZE, mean, number, variance};
use crate::error::{ModelError, parameter};
use crate::math::special::{log_add_exp, sigmoid};
use crate::math::vector::{exp, widest};
use crate::scalar::{Landmark, ScalarPrior, Tilted};

/// Zero with probability $1 - \rho$, else $\mathcal N(m, v)$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaussBernoulli {
    rho: f64,
    mean: f64,
    variance: f64,
    /// $\ln\rho$, $\ln(1-\rho)$ and their difference.
    log_slab: f64,
    log_spike: f64,
    log_odds: f64,
}

/// Beyond this $|\ln|$ of a ratio one of two terms is taken from logarithms: as a number it may have underflowed.
const FAR: f64 = 30.0;

impl GaussBernoulli {
    /// A fraction `rho` of normals of this mean and variance among zeros.
    ///
    /// # Errors
    /// Unless $0 \le \rho \le 1$, the mean is finite and the variance positive and finite.
    pub fn new(rho: f64, mean: f64, variance: f64) -> Result<Self, ModelError> {
        if !(0.0..=1.0).contains(&rho) {
            return Err(parameter(Self::NAME, "rho", "in [0, 1]", rho));
        }
        let (log_slab, log_spike) = (rho.ln(), (-rho).ln_1p());
        let law = Self {
            rho,
            mean,
            variance,
            log_slab,
            log_spike,
            log_odds: log_slab - log_spike,
        };
        law.checked()
    }

    /// The same with the log-odds $\ln\frac{\rho}{1-\rho}$ of not being zero, also where $\rho$ would round to 0 or 1.
    ///
    /// # Errors
    /// Unless the log-odds and the mean are finite and the variance is positive and finite.
    pub fn with_log_odds(log_odds: f64, mean: f64, variance: f64) -> Result<Self, ModelError> {
        if !log_odds.is_finite() {
            return Err(parameter(Self::NAME, "log_odds", "finite", log_odds));
        }
        let law = Self {
            rho: sigmoid(log_odds),
            mean,
            variance,
            log_slab: -log_add_exp(0.0, -log_odds),
            log_spike: -log_add_exp(0.0, log_odds),
            log_odds,
        };
        law.checked()
    }

    fn checked(self) -> Result<Self, ModelError> {
        let (mean, variance) = (self.mean, self.variance);
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
        Ok(self)
    }

    /// What depends on the precision alone; where the mean is 0 for every field, its variance.
    #[inline]
    fn at(&self, a: f64) -> Result<Slab, f64> {
        if self.diverges(a) {
            return Err(f64::INFINITY);
        }
        if self.log_odds == f64::NEG_INFINITY {
            return Err(0.0);
        }
        let denominator = a.mul_add(self.variance, 1.0);
        Ok(Slab {
            a,
            mean: self.mean,
            variance: self.variance,
            denominator,
            gain: 1.0 / denominator,
            log_odds: self.log_odds - 0.5 * log_one_plus(a, self.variance),
        })
    }

    /// $\xi$ without $\ln\frac{\rho}{1-\rho}$.
    #[inline]
    fn slab_gain(&self, a: f64, b: f64) -> f64 {
        gain(self.mean, self.variance, a, b) - 0.5 * log_one_plus(a, self.variance)
    }

    #[inline]
    fn diverges(&self, a: f64) -> bool {
        self.log_odds > f64::NEG_INFINITY && a.mul_add(self.variance, 1.0) <= 0.0
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "sparse Gaussian components",
        formula: "p(x) = (1 - rho) δ(x) + rho N(x; mean, variance)",
        tex: r"p(x) = (1 - \rho)\,\delta(x) + \rho\,N(x; m, \sigma^2)",
        notes: r"With $u = 1/(1 + a\sigma^2)$ the slab has mean $r_1 = u(m + b\sigma^2)$ and variance $u\sigma^2$; it has probability $p = 1/(1 + e^{-\xi})$, $\xi = \ln\frac\rho{1-\rho} + \frac u2[\sigma^2 b^2 + m(2b - am)] + \frac12\ln u$. Then $r = p r_1$, $v = p u\sigma^2 + p(1 - p) r_1^2$.",
        parameters: &[
            SIZE,
            number("rho", 0.5, Domain::Unit, "fraction that is not zero")
                .called(r"\rho")
                .learned(),
            mean("mean of those that are not zero"),
            variance("variance of those that are not zero"),
        ],
        constructor: |a| {
            let (rho, mean) = (a.number("rho")?, a.number("mean")?);
            a.prior(Self::new(rho, mean, a.number("variance")?)?)
        },
        ..Module::PRIOR
    };
}

/// The slab at one precision.
struct Slab {
    a: f64,
    mean: f64,
    variance: f64,
    /// $1 + av$ and its inverse $u$.
    denominator: f64,
    gain: f64,
    /// $\ln\frac{\rho}{1-\rho} - \tfrac12\ln(1 + av)$.
    log_odds: f64,
}

impl Slab {
    /// Mean and variance at a field.
    #[allow(clippy::inline_always)] // into a loop that compiles to vector instructions
    #[inline(always)]
    fn moments(&self, b: f64) -> (f64, f64) {
        let u = self.gain;
        let (mean, variance) = (u * b.mul_add(self.variance, self.mean), u * self.variance);
        let xi = self.log_odds + gain_of(self.mean, self.variance, self.a, b, self.denominator);
        // e^{-|ξ|} is the smaller odds: p(1-p) keeps its digits and ξ may be infinite
        let e = exp(-xi.abs());
        let q = 1.0 / (1.0 + e);
        let p = if xi < 0.0 { e * q } else { q };
        let r = p * mean;
        (r, p * variance + (e * q * q * mean) * mean)
    }
}

impl ScalarPrior for GaussBernoulli {
    const NAME: &'static str = "gauss_bernoulli";

    #[inline]
    fn tilted(&self, a: f64, b: f64) -> Tilted {
        if self.diverges(a) {
            return Tilted::divergent(0.0);
        }
        let (mean, variance) = self.moments(a, b);
        let log_z = if self.log_odds.is_infinite() {
            // one component only
            if self.rho > 0.0 {
                self.slab_gain(a, b)
            } else {
                0.0
            }
        } else {
            let slab = self.slab_gain(a, b);
            // from the heavier side, so that A is exact near zero
            if slab.abs() > FAR {
                log_add_exp(self.log_spike, self.log_slab + slab)
            } else if slab > 0.0 {
                slab + (self.rho + (1.0 - self.rho) * (-slab).exp()).ln()
            } else {
                (self.rho * slab.exp_m1()).ln_1p()
            }
        };
        Tilted {
            log_z,
            mean,
            variance,
        }
    }

    #[inline]
    fn moments(&self, a: f64, b: f64) -> (f64, f64) {
        match self.at(a) {
            Ok(slab) => slab.moments(b),
            Err(variance) => (0.0, variance),
        }
    }

    fn moments_over(&self, a: f64, b: &[f64], mean: &mut [f64], variance: &mut [f64]) {
        match self.at(a) {
            Ok(slab) => widest(
                #[inline(always)]
                || {
                    for ((b, mean), variance) in b.iter().zip(mean).zip(variance) {
                        (*mean, *variance) = slab.moments(*b);
                    }
                },
            ),
            Err(same) => {
                mean.fill(0.0);
                variance.fill(same);
            }
        }
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("rho", self.rho),
            ("mean", self.mean),
            ("variance", self.variance),
        ]
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        let normal: f64 = StandardNormal.sample(rng);
        if rng.random::<f64>() < self.rho {
            normal.mul_add(self.variance.sqrt(), self.mean)
        } else {
            0.0
        }
    }

    fn log_density(&self, x: f64) -> f64 {
        self.log_slab + log_normal_density(x, self.mean, self.variance)
    }

    fn atoms(&self) -> Vec<(f64, f64)> {
        vec![(0.0, self.log_spike.exp())]
    }

    fn excess(&self, a: f64, b: f64) -> f64 {
        let (centre, noise) = (b / a, 1.0 / a);
        let spike = self.log_spike + log_normal_density(centre, 0.0, noise);
        let slab = self.log_slab + log_normal_density(centre, self.mean, self.variance + noise);
        log_add_exp(spike, slab)
    }

    fn mixture(&self) -> Option<Vec<(f64, f64, f64)>> {
        Some(vec![
            (1.0 - self.rho, 0.0, 0.0),
            (self.rho, self.mean, self.variance),
        ])
    }

    fn landmarks(&self) -> Vec<Landmark> {
        vec![Landmark::spread(self.mean, self.variance.sqrt())]
    }

    /// Without a spike the law is Gaussian; else none.
    fn mode(&self, a: f64, b: f64) -> Option<(f64, f64)> {
        (self.rho >= 1.0).then(|| gaussian_mode(self.mean, self.variance, a, b))
    }
}
