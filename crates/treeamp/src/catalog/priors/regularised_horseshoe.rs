//! Regularised horseshoe prior $p(x) = \int_0^\infty \frac{2\,d\lambda}{\pi(1+\lambda^2)}\, \mathcal N\bigl(x; 0, V\bigr)$,
//! $V = \frac{c^2\tau^2\lambda^2}{c^2 + \tau^2\lambda^2}$.
//!
//! # Moments
//! Given $\lambda$ the tilted law is normal with mean $b g$ and variance $g = V/(1 + aV) = \frac{c^2}{1 + ac^2}\frac{z}{1 + z}$,
//! $z = \tau^2\lambda^2(1 + ac^2)/c^2$. The integral over $\ln\lambda$ is by the trapezoidal rule, relative to the largest exponent
//! $\tfrac12 b^2 c^2/(1 + ac^2)$.
//!
//! # Limits
//! Finite for $a > -1/c^2$.
//!
//! # Reference
//! Piironen and Vehtari, "Sparsity information and regularization in the horseshoe and other shrinkage priors", Electron. J. Statist. 11
//! (2017), with a slab of fixed width.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};

use crate::catalog::module::{Domain, Module, SIZE, number};
use crate::error::{ModelError, parameter};
use crate::math::mixture::Bump;
use crate::math::scale_mixture::{Weighed, integrate};
use crate::math::special::HALF_LN_2PI;
use crate::scalar::{Landmark, ScalarPrior, Tilted};

/// The horseshoe of scale $\tau$ whose largest components are $\mathcal N(0, c^2)$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RegularisedHorseshoe {
    scale: f64,
    slab: f64,
    second_moment: f64,
}

/// Step of the trapezoidal rule in $\ln\lambda$.
const STEP: f64 = 0.125;
/// Rise of the log-weight between points of its coarse grid: at most that of $e^{2\cdot 2}$ times itself.
const ROUGHNESS: f64 = 60.0;

impl RegularisedHorseshoe {
    /// The horseshoe of this scale, with a slab of this standard deviation.
    ///
    /// # Errors
    /// Unless both are positive and finite.
    pub fn new(scale: f64, slab: f64) -> Result<Self, ModelError> {
        for (name, x) in [("scale", scale), ("slab", slab)] {
            if !(x > 0.0 && x.is_finite()) {
                return Err(parameter(Self::NAME, name, "positive and finite", x));
            }
        }
        // E V in closed form: c² τ / (c + τ)
        let second_moment = slab * (slab / (slab + scale)) * scale;
        Ok(Self {
            scale,
            slab,
            second_moment,
        })
    }

    /// $\ln\int$ in units of $e^{b^2 g_\infty/2}$, with the moments; $1 + ac^2$ must be positive.
    fn integral(&self, a: f64, b: f64) -> (f64, Bump<1>) {
        let (ratio, square) = (self.scale / self.slab, self.slab * self.slab);
        let width = a.mul_add(square, 1.0);
        let (g, log_ratio) = (square / width, 2.0 * ratio.ln());
        let top = 0.5 * (b * g) * b;
        let weight = |y: f64| {
            // 2/π λ/(1 + λ²), as a function that is even in ln λ
            let prior = std::f64::consts::FRAC_2_PI.ln() - y.abs() - (-2.0 * y.abs()).exp().ln_1p();
            let free = (2.0 * y + log_ratio).exp();
            let z = free * width;
            // 1 + aV = (1 + z)/(1 + τ²λ²/c²)
            let share = z / (1.0 + z);
            let share = if z.is_finite() { share } else { 1.0 };
            let spread = if z.is_finite() && free.is_finite() {
                0.5 * (free.ln_1p() - z.ln_1p())
            } else {
                -0.5 * width.ln()
            };
            Weighed {
                log_mass: prior + spread - top / (1.0 + z),
                variance: g * share,
            }
        };
        // where z is one, and where the exponent is within one of its largest
        let knee = -0.5 * (log_ratio + width.ln());
        let far = knee + 0.5 * (1.0 + top).ln();
        let low = knee.min(-0.5 * log_ratio).min(0.0) - NEGLIGIBLE;
        let high = far.max(-0.5 * log_ratio).max(0.0) + NEGLIGIBLE;
        integrate(weight, b, (low, high), STEP, ROUGHNESS)
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        aliases: &["horseshoe"],
        summary: "components that are nearly zero or of the size of a slab",
        formula: "p(x) = ∫ dλ 2 / (π (1 + λ²)) N(x; 0, V), 1 / V = 1 / (scale λ)² + 1 / slab²",
        tex: r"p(x) = \int_0^\infty \frac{2\,d\lambda}{\pi(1+\lambda^2)}\,N(x; 0, V),\quad \frac1V = \frac1{\tau^2\lambda^2} + \frac1{c^2}",
        notes: r"$E\,x^2 = c^2\tau/(c + \tau)$.",
        parameters: &[
            SIZE,
            number("scale", 1.0, Domain::Positive, "scale of most components")
                .called(r"\tau")
                .learned(),
            number(
                "slab",
                2.0,
                Domain::Positive,
                "standard deviation of the largest",
            )
            .called("c")
            .learned(),
        ],
        constructor: |a| a.prior(Self::new(a.number("scale")?, a.number("slab")?)?),
        ..Module::PRIOR
    };
}

/// Widths in $\ln\lambda$ beyond which nothing is left: weights fall like $e^{-|\ln\lambda|}$ at least.
const NEGLIGIBLE: f64 = 45.0;

impl ScalarPrior for RegularisedHorseshoe {
    const NAME: &'static str = "regularised_horseshoe";

    fn tilted(&self, a: f64, b: f64) -> Tilted {
        let width = a.mul_add(self.slab * self.slab, 1.0);
        if !(width > 0.0) {
            return Tilted::divergent(0.0);
        }
        let slab = self.slab / width * self.slab;
        let far = b * slab;
        // what has no square is beyond all numbers
        if !((far * b).is_finite() && (far * far).is_finite()) {
            return Tilted::divergent(0.0);
        }
        let (log_mass, sum) = self.integral(a, b);
        Tilted {
            log_z: 0.5 * far * b + log_mass,
            mean: sum.mean[0],
            variance: sum.variance[0],
        }
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("scale", self.scale), ("slab", self.slab)]
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        let normal: f64 = StandardNormal.sample(rng);
        // λ = tan θ
        let half = std::f64::consts::FRAC_PI_2 * rng.random::<f64>();
        let (sin, cos) = half.sin_cos();
        let local = self.scale * sin;
        normal * self.slab * local / local.hypot(self.slab * cos)
    }

    fn log_density(&self, x: f64) -> f64 {
        // the tilt of an infinite precision at x: ∫ N(x; 0, V), by the same rule
        let weight = |y: f64| {
            let local = self.scale * y.exp();
            let deviation = local / (local / self.slab).hypot(1.0);
            let prior = std::f64::consts::FRAC_2_PI.ln() - y.abs() - (-2.0 * y.abs()).exp().ln_1p();
            let u = x / deviation;
            Weighed {
                log_mass: prior - 0.5 * u * u - deviation.ln() - HALF_LN_2PI,
                variance: 0.0,
            }
        };
        let knee = (x.abs() / self.scale).ln().max(-300.0);
        let ratio = (self.slab / self.scale).ln();
        let (low, high) = (
            knee.min(ratio).min(0.0) - 5.0,
            knee.max(ratio).max(0.0) + 45.0,
        );
        integrate(weight, 0.0, (low, high), STEP, ROUGHNESS).0
    }

    fn excess(&self, a: f64, b: f64) -> f64 {
        // b² c²/(1 + ac²) - b²/a = -(b/a)²/(1/a + c²)
        let centre = b / a;
        let drop = 0.5 * centre * (centre / (1.0 / a + self.slab * self.slab));
        self.integral(a, b).0 - drop + 0.5 * a.ln() - HALF_LN_2PI
    }

    fn landmarks(&self) -> Vec<Landmark> {
        vec![
            Landmark::spread(0.0, self.scale.min(self.slab)),
            Landmark::spread(0.0, self.slab),
        ]
    }

    fn second_moment(&self) -> f64 {
        self.second_moment
    }
}
