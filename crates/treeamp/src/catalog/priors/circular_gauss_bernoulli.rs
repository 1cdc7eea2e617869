//! Sparse circular prior $p(x) = (1 - \rho)\,\delta(x) + \rho\,\mathcal N_{\mathbb C}(x; 0, v)$, $v$ per real component: a
//! coefficient is zero or not, as a whole.
//!
//! # Moments
//! The slab under the tilt has mean $r_1 = u v b$ and variance $u v$, $u = 1/(1 + av)$, and log-odds
//! $\xi = \ln\frac{\rho}{1-\rho} + \tfrac12 u v|b|^2 - \ln(1 + av)$ against the spike. With $p = \sigma(\xi)$: $r = p\,r_1$,
//! variance $p\,uv + \tfrac12 p(1-p)|r_1|^2$ per real component, $A = \ln(1-\rho) + \ln(1 + e^\xi)$.
//!
//! # Limits
//! Diverges for $a \le -1/v$ when $\rho > 0$. $\rho = 1$ is Gaussian, $\rho = 0$ an atom at zero.
//!
//! # Reference
//! Baker et al., JMLR 24 (2023), appendix E, sparse variable, in two real dimensions.

use num_complex::Complex;
use rand::{Rng, RngExt};

use super::circular_gaussian::{log_density, normal};
use crate::catalog::gaussian_tilt::{gain, log_one_plus};
use crate::catalog::module::{Domain, Module, SIZE, Signals, number, variance};
use crate::error::{ModelError, parameter};
use crate::math::special::log_add_exp;
use crate::scalar::{Elem, Landmark, ScalarPrior, Symmetry, Tilted};

/// Zero with probability $1 - \rho$, else a circular normal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CircularGaussBernoulli {
    rho: f64,
    variance: f64,
    /// $\ln\frac{\rho}{1-\rho}$.
    log_odds: f64,
}

impl CircularGaussBernoulli {
    /// A fraction `rho` of circular normals of this variance per real component among zeros.
    ///
    /// # Errors
    /// Unless $0 \le \rho \le 1$ and the variance is positive and finite.
    pub fn new(rho: f64, variance: f64) -> Result<Self, ModelError> {
        if !(0.0..=1.0).contains(&rho) {
            return Err(parameter(Self::NAME, "rho", "in [0, 1]", rho));
        }
        if !(variance > 0.0 && variance.is_finite()) {
            return Err(parameter(
                Self::NAME,
                "variance",
                "positive and finite",
                variance,
            ));
        }
        Ok(Self {
            rho,
            variance,
            log_odds: rho.ln() - (-rho).ln_1p(),
        })
    }

    /// $\xi$ without $\ln\frac{\rho}{1-\rho}$.
    #[inline]
    fn slab_gain(&self, a: f64, b: Complex<f64>) -> f64 {
        gain(0.0, self.variance, a, b.norm()) - log_one_plus(a, self.variance)
    }

    #[inline]
    fn diverges(&self, a: f64) -> bool {
        self.rho > 0.0 && a.mul_add(self.variance, 1.0) <= 0.0
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "sparse complex Gaussian components",
        formula: "p(x) = (1 - rho) δ(x) + rho CN(x; 0, variance per real component)",
        tex: r"p(x) = (1 - \rho)\,\delta(x) + \rho\,CN(x; 0, \sigma^2)",
        parameters: &[
            SIZE,
            number("rho", 0.5, Domain::Unit, "fraction that is not zero")
                .called(r"\rho")
                .learned(),
            variance("variance per real component"),
        ],
        signals: Signals::Complex,
        constructor: |a| a.complex_prior(Self::new(a.number("rho")?, a.number("variance")?)?),
        ..Module::PRIOR
    };
}

impl ScalarPrior<Complex<f64>> for CircularGaussBernoulli {
    const NAME: &'static str = "circular_gauss_bernoulli";

    #[inline]
    fn tilted(&self, a: f64, b: Complex<f64>) -> Tilted<Complex<f64>> {
        if self.diverges(a) {
            return Tilted::divergent(Complex::ZERO);
        }
        let (mean, variance) = self.moments(a, b);
        let log_z = if self.rho <= 0.0 {
            0.0
        } else {
            let slab = self.slab_gain(a, b);
            // from the heavier side, so that A is exact near zero
            if slab > 0.0 {
                slab + (self.rho + (1.0 - self.rho) * (-slab).exp()).ln()
            } else if self.rho < 1.0 {
                (self.rho * slab.exp_m1()).ln_1p()
            } else {
                slab
            }
        };
        Tilted {
            log_z,
            mean,
            variance,
        }
    }

    #[inline]
    fn moments(&self, a: f64, b: Complex<f64>) -> (Complex<f64>, f64) {
        if self.diverges(a) {
            return (Complex::ZERO, f64::INFINITY);
        }
        if self.rho <= 0.0 {
            return (Complex::ZERO, 0.0);
        }
        let variance = self.variance / a.mul_add(self.variance, 1.0);
        let mean = Elem::scale(b, variance);
        let xi = self.log_odds + self.slab_gain(a, b);
        // e^{-|ξ|} is the smaller odds: p(1-p) keeps its digits and ξ may be infinite
        let e = (-xi.abs()).exp();
        let q = 1.0 / (1.0 + e);
        let p = if xi < 0.0 { e * q } else { q };
        let between = 0.5 * (e * q * q * mean.norm()) * mean.norm();
        (Elem::scale(mean, p), p * variance + between)
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("rho", self.rho), ("variance", self.variance)]
    }

    fn sample(&self, rng: &mut dyn Rng) -> Complex<f64> {
        let slab = normal(rng, self.variance);
        if rng.random::<f64>() < self.rho {
            slab
        } else {
            Complex::ZERO
        }
    }

    fn log_density(&self, x: Complex<f64>) -> f64 {
        self.rho.ln() + log_density(x, self.variance)
    }

    fn atoms(&self) -> Vec<(Complex<f64>, f64)> {
        vec![(Complex::ZERO, 1.0 - self.rho)]
    }

    fn excess(&self, a: f64, b: Complex<f64>) -> f64 {
        let (centre, noise) = (Elem::scale(b, 1.0 / a), 1.0 / a);
        let spike = (-self.rho).ln_1p() + log_density(centre, noise);
        let slab = self.rho.ln() + log_density(centre, self.variance + noise);
        log_add_exp(spike, slab)
    }

    fn landmarks(&self) -> Vec<Landmark> {
        vec![Landmark::spread(0.0, self.variance.sqrt())]
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry::Circular
    }
}
