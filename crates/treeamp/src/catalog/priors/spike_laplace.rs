//! Sparse Laplace prior $p(x) = (1 - \rho)\,\delta(x) + \rho\,\tfrac1{2s} e^{-|x|/s}$.
//!
//! # Moments
//! Under the tilt the slab has the log-partition $A_1$, mean $r_1$ and variance $v_1$ of the Laplace law, and probability
//! $p = 1/(1 + e^{-\xi})$, $\xi = \ln\frac\rho{1-\rho} + A_1$. Then $r = p r_1$ and $v = p v_1 + p(1 - p) r_1^2$.
//!
//! # Limits
//! Those of the Laplace law: $a > 0$, or $a = 0$ and $|b| < 1/s$.
//!
//! # Reference
//! Ročková and George, "The spike-and-slab lasso", J. Amer. Statist. Assoc. 113 (2018), at a spike of no width.

use rand::{Rng, RngExt};

use super::Laplace;
use super::spike::beside_spike;
use super::weights::check_scale;
use crate::catalog::module::{Domain, Module, SIZE, number};
use crate::error::{ModelError, parameter};
use crate::math::mixture::log_normal;
use crate::math::special::log_add_exp;
use crate::scalar::{Landmark, ScalarPrior, Tilted};

/// Zero with probability $1 - \rho$, else Laplace of scale $s$ about zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpikeLaplace {
    rho: f64,
    scale: f64,
    slab: Laplace,
    log_slab: f64,
    log_spike: f64,
}

impl SpikeLaplace {
    /// A fraction `rho` of Laplace components of this scale among zeros.
    ///
    /// # Errors
    /// Unless $0 \le \rho \le 1$ and the scale is between $10^{-100}$ and $10^{100}$.
    pub fn new(rho: f64, scale: f64) -> Result<Self, ModelError> {
        if !(0.0..=1.0).contains(&rho) {
            return Err(parameter(Self::NAME, "rho", "in [0, 1]", rho));
        }
        check_scale(Self::NAME, "scale", scale)?;
        let slab = Laplace::new(0.0, scale)?;
        let (log_slab, log_spike) = (rho.ln(), (-rho).ln_1p());
        Ok(Self {
            rho,
            scale,
            slab,
            log_slab,
            log_spike,
        })
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "sparse Laplace components",
        formula: "p(x) = (1 - rho) δ(x) + rho e^(-|x| / scale) / (2 scale)",
        tex: r"p(x) = (1 - \rho)\,\delta(x) + \rho\,\frac1{2s} e^{-|x|/s}",
        notes: r"The slab has probability $p = 1/(1 + e^{-\xi})$, $\xi = \ln\frac\rho{1-\rho} + A_1$, and $r = p r_1$, $v = p v_1 + p(1 - p) r_1^2$, where $A_1, r_1, v_1$ are those of the Laplace law.",
        parameters: &[
            SIZE,
            number("rho", 0.5, Domain::Unit, "fraction that is not zero")
                .called(r"\rho")
                .learned(),
            number(
                "scale",
                1.0,
                Domain::Positive,
                "mean size of those that are not zero",
            )
            .called("s")
            .learned(),
        ],
        constructor: |a| a.prior(Self::new(a.number("rho")?, a.number("scale")?)?),
        ..Module::PRIOR
    };
}

impl ScalarPrior for SpikeLaplace {
    const NAME: &'static str = "spike_laplace";

    fn tilted(&self, a: f64, b: f64) -> Tilted {
        if self.rho <= 0.0 {
            return Tilted {
                log_z: 0.0,
                mean: 0.0,
                variance: 0.0,
            };
        }
        beside_spike(self.log_spike, self.log_slab, self.slab.tilted(a, b))
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("rho", self.rho), ("scale", self.scale)]
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        let slab = self.slab.sample(rng);
        if rng.random::<f64>() < self.rho {
            slab
        } else {
            0.0
        }
    }

    fn log_density(&self, x: f64) -> f64 {
        self.log_slab + self.slab.log_density(x)
    }

    fn atoms(&self) -> Vec<(f64, f64)> {
        vec![(0.0, self.log_spike.exp())]
    }

    fn excess(&self, a: f64, b: f64) -> f64 {
        let spike = self.log_spike + log_normal(0.0, a, b);
        log_add_exp(spike, self.log_slab + self.slab.excess(a, b))
    }

    fn landmarks(&self) -> Vec<Landmark> {
        vec![Landmark::spread(0.0, std::f64::consts::SQRT_2 * self.scale)]
    }

    /// Without a spike that of the Laplace law; else none.
    fn mode(&self, a: f64, b: f64) -> Option<(f64, f64)> {
        (self.rho >= 1.0).then(|| self.slab.mode(a, b)).flatten()
    }
}
