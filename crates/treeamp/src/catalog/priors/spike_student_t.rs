//! Sparse heavy-tailed prior $p(x) = (1 - \rho)\,\delta(x) + \rho\,t_\nu(x; 0, s)$ with Student's law $t_\nu$.
//!
//! # Moments
//! Under the tilt the slab has the log-partition $A_1$, mean $r_1$ and variance $v_1$ of Student's law, and probability
//! $p = 1/(1 + e^{-\xi})$, $\xi = \ln\frac\rho{1-\rho} + A_1$. Then $r = p r_1$ and $v = p v_1 + p(1 - p) r_1^2$.
//!
//! # Limits
//! Those of Student's law: $a > 0$, or $a = b = 0$ and $\nu > 2$.
//!
//! # Reference
//! Ishwaran and Rao, "Spike and slab variable selection", Ann. Statist. 33 (2005).

use rand::{Rng, RngExt};

use super::StudentT;
use super::spike::beside_spike;
use crate::catalog::module::{Domain, Module, SIZE, number};
use crate::error::{ModelError, parameter};
use crate::math::mixture::log_normal;
use crate::math::special::log_add_exp;
use crate::scalar::{Landmark, ScalarPrior, Tilted};

/// Zero with probability $1 - \rho$, else Student's law of $\nu$ degrees of freedom and scale $s$ about zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpikeStudentT {
    rho: f64,
    df: f64,
    scale: f64,
    slab: StudentT,
    log_slab: f64,
    log_spike: f64,
}

impl SpikeStudentT {
    /// A fraction `rho` of components of Student's law among zeros.
    ///
    /// # Errors
    /// Unless $0 \le \rho \le 1$, the degrees of freedom are positive and at most $10^6$, and the scale is between $10^{-100}$ and $10^{100}$.
    pub fn new(rho: f64, df: f64, scale: f64) -> Result<Self, ModelError> {
        if !(0.0..=1.0).contains(&rho) {
            return Err(parameter(Self::NAME, "rho", "in [0, 1]", rho));
        }
        Ok(Self {
            rho,
            df,
            scale,
            slab: StudentT::named(Self::NAME, df, 0.0, scale)?,
            log_slab: rho.ln(),
            log_spike: (-rho).ln_1p(),
        })
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "sparse heavy-tailed components",
        formula: "p(x) = (1 - rho) δ(x) + rho t(x; df, 0, scale)",
        tex: r"p(x) = (1 - \rho)\,\delta(x) + \rho\,t_\nu(x; 0, s)",
        notes: r"$t_\nu$ is Student's law of $\nu$ degrees of freedom, without a variance for $\nu \le 2$: the law can then be a student's only, at precisions $a > 0$.",
        parameters: &[
            SIZE,
            number("rho", 0.5, Domain::Unit, "fraction that is not zero")
                .called(r"\rho")
                .learned(),
            number("df", 3.0, Domain::Positive, "degrees of freedom")
                .called(r"\nu")
                .learned(),
            number(
                "scale",
                1.0,
                Domain::Positive,
                "scale of those that are not zero",
            )
            .called("s")
            .learned(),
        ],
        constructor: |a| {
            let (rho, df) = (a.number("rho")?, a.number("df")?);
            a.prior(Self::new(rho, df, a.number("scale")?)?)
        },
        ..Module::PRIOR
    };
}

impl ScalarPrior for SpikeStudentT {
    const NAME: &'static str = "spike_student_t";

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
        vec![("rho", self.rho), ("df", self.df), ("scale", self.scale)]
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
        vec![Landmark::spread(0.0, self.scale)]
    }
}
