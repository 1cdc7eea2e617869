//! Binary prior $p(x) = p_+ \delta(x - 1) + (1 - p_+)\, \delta(x + 1)$.
//!
//! # Moments
//! With $c = b + \tfrac12 \ln\frac{p_+}{1 - p_+}$: $r = \tanh c$, $v = 4 e^{-2|c|}/(1 + e^{-2|c|})^2$,
//! $A = -\tfrac a2 + |c| + \ln(1 + e^{-2|c|}) + \tfrac12 \ln p_+ (1 - p_+)$.
//!
//! # Limits
//! Finite for every $a$. $p_+ \in \{0, 1\}$ is a certain sign, of variance exactly zero.
//!
//! # Reference
//! Baker et al., JMLR 24 (2023), appendix E, binary prior.

use rand::{Rng, RngExt};

use crate::catalog::module::{Domain, Module, SIZE, number};
use crate::error::{ModelError, parameter};
use crate::math::mixture::log_normal;
use crate::math::special::log_add_exp;
use crate::math::vector::{exp, widest};
use crate::scalar::{ScalarPrior, Tilted};

/// $\pm 1$ with probability $p_+$ of being positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Binary {
    p_plus: f64,
    /// Half log-odds $\tfrac12 \ln\frac{p_+}{1 - p_+}$; infinite for a certain sign.
    field: f64,
    /// $\tfrac12 \ln p_+(1-p_+)$.
    offset: f64,
}

impl Binary {
    /// $+1$ with probability `p_plus`, else $-1$.
    ///
    /// # Errors
    /// Unless $0 \le p_+ \le 1$.
    pub fn new(p_plus: f64) -> Result<Self, ModelError> {
        if !(0.0..=1.0).contains(&p_plus) {
            return Err(parameter(Self::NAME, "p_plus", "in [0, 1]", p_plus));
        }
        let (plus, minus) = (p_plus.ln(), (-p_plus).ln_1p());
        Ok(Self {
            p_plus,
            field: 0.5 * (plus - minus),
            offset: 0.5 * (plus + minus),
        })
    }

    /// $p(x) \propto e^{hx}$: half log-odds $h$, also where $p_+$ would round to 0 or 1.
    ///
    /// # Errors
    /// Unless $h$ is finite.
    pub fn with_field(field: f64) -> Result<Self, ModelError> {
        if !field.is_finite() {
            return Err(parameter(Self::NAME, "field", "finite", field));
        }
        let e = (-2.0 * field.abs()).exp();
        let smaller = e / (1.0 + e);
        Ok(Self {
            p_plus: if field < 0.0 {
                smaller
            } else {
                1.0 / (1.0 + e)
            },
            field,
            // ln(2 cosh h), less
            offset: -field.abs() - e.ln_1p(),
        })
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "signs",
        formula: "p(x) = p_plus δ(x - 1) + (1 - p_plus) δ(x + 1)",
        tex: r"p(x) = p_+\,\delta(x - 1) + (1 - p_+)\,\delta(x + 1)",
        notes: r"$r = \tanh(b + \frac12\ln\frac{p_+}{1-p_+})$, $v = 1 - r^2$, without the cancellation.",
        parameters: &[
            SIZE,
            number("p_plus", 0.5, Domain::Unit, "probability of +1")
                .called("p_+")
                .learned(),
        ],
        constructor: |a| a.prior(Self::new(a.number("p_plus")?)?),
        ..Module::PRIOR
    };
}

impl ScalarPrior for Binary {
    const NAME: &'static str = "binary";

    #[inline]
    fn tilted(&self, a: f64, b: f64) -> Tilted {
        let (mean, variance) = self.moments(a, b);
        let c = b + self.field;
        let log_z = if c.is_infinite() {
            b * c.signum()
        } else {
            c.abs() + (-2.0 * c.abs()).exp().ln_1p() + self.offset
        };
        Tilted {
            log_z: log_z - 0.5 * a,
            mean,
            variance,
        }
    }

    #[allow(clippy::inline_always)] // into a loop that compiles to vector instructions
    #[inline(always)]
    fn moments(&self, _a: f64, b: f64) -> (f64, f64) {
        let c = b + self.field;
        // 1 - tanh² would be zero from |c| = 19 on
        let e = exp(-2.0 * c.abs());
        let half = 1.0 / (1.0 + e);
        (((1.0 - e) * half).copysign(c), 4.0 * e * half * half)
    }

    fn moments_over(&self, a: f64, b: &[f64], mean: &mut [f64], variance: &mut [f64]) {
        widest(
            #[inline(always)]
            || {
                for ((b, mean), variance) in b.iter().zip(mean).zip(variance) {
                    (*mean, *variance) = self.moments(a, *b);
                }
            },
        );
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("p_plus", self.p_plus)]
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        if rng.random::<f64>() < self.p_plus {
            1.0
        } else {
            -1.0
        }
    }

    fn log_density(&self, _x: f64) -> f64 {
        f64::NEG_INFINITY
    }

    fn atoms(&self) -> Vec<(f64, f64)> {
        vec![(-1.0, 1.0 - self.p_plus), (1.0, self.p_plus)]
    }

    fn excess(&self, a: f64, b: f64) -> f64 {
        log_add_exp(
            self.p_plus.ln() + log_normal(1.0, a, b),
            (-self.p_plus).ln_1p() + log_normal(-1.0, a, b),
        )
    }

    fn support(&self) -> (f64, f64) {
        (-1.0, 1.0)
    }
}
