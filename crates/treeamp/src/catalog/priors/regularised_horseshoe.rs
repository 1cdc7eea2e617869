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

use super::weights::check_scale;
use crate::catalog::module::{Domain, Module, SIZE, number};
use crate::error::ModelError;
use crate::math::mixture::Bump;
use crate::math::scale_mixture::{Extent, Weighed, integrate};
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
/// Distance of the tails of the rule from the largest and the smallest scale.
const MARGIN: f64 = 1.0;

/// $\tfrac2\pi\tfrac{\lambda}{1 + \lambda^2}$, the density of $\ln\lambda$.
fn half_cauchy(local: f64) -> f64 {
    std::f64::consts::FRAC_2_PI / (local + 1.0 / local)
}

impl RegularisedHorseshoe {
    /// The horseshoe of this scale, with a slab of this standard deviation.
    ///
    /// # Errors
    /// Unless both are between $10^{-100}$ and $10^{100}$.
    pub fn new(scale: f64, slab: f64) -> Result<Self, ModelError> {
        check_scale(Self::NAME, "scale", scale)?;
        check_scale(Self::NAME, "slab", slab)?;
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
        let (bend, log_width) = (-ratio.ln(), 0.5 * width.ln());
        let top = 0.5 * (b * (square / width)) * b;
        let weight = |y: f64| {
            let local = y.exp();
            // with w = c²/τ²λ²: V = c²/(1 + w) and 1 + aV = (1 + w + ac²)/(1 + w)
            let tight = (1.0 / (ratio * local)).powi(2);
            let all = tight + width;
            Weighed {
                factor: half_cauchy(local) * ((1.0 + tight) / all).sqrt(),
                exponent: -top * (tight / all),
                variance: square / all,
                // means about zero lose no digits
                kept: 0.0,
            }
        };
        // where w is 1 + ac², and where the exponent is within one of its largest
        let knee = bend - log_width;
        let far = knee + 0.5 * (1.0 + top).ln();
        let extent = Extent {
            low: knee.min(bend).min(0.0) - MARGIN,
            high: far.max(bend).max(0.0) + MARGIN,
            steep: false,
        };
        let (log_mass, sum, _) = integrate(weight, b, extent, STEP);
        (log_mass, sum)
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
        if x == 0.0 {
            // the density grows like ln 1/|x|
            return f64::INFINITY;
        }
        // the tilt of an infinite precision at x: ∫ N(x; 0, V), by the same rule
        let weight = |y: f64| {
            let local = y.exp();
            let wide = self.scale * local;
            let deviation = wide / (wide / self.slab).hypot(1.0);
            let u = x / deviation;
            Weighed {
                factor: half_cauchy(local) / deviation,
                exponent: -0.5 * u * u - HALF_LN_2PI,
                variance: 0.0,
                kept: 0.0,
            }
        };
        let knee = (x.abs() / self.scale).ln();
        let ratio = (self.slab / self.scale).ln();
        let extent = Extent {
            low: knee.min(ratio).min(0.0),
            high: knee.max(ratio).max(0.0) + MARGIN,
            steep: true,
        };
        integrate(weight, 0.0, extent, STEP).0
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
