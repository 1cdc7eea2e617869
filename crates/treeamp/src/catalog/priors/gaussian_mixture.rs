//! Gaussian mixture prior $p(x) = \sum_k \pi_k\, \mathcal N(x; m_k, v_k)$, with atoms where $v_k = 0$.
//!
//! # Moments
//! Component $k$ under the tilt is Gaussian with $r_k = u_k(m_k + b v_k)$, variance $u_k v_k$, $u_k = 1/(1 + a v_k)$, and
//! mass $\pi_k \sqrt{u_k}\, e^{F_k}$. Differences of the exponents are
//! $F_k - F_j = \tfrac12 u_k [(v_k - v_j)\, u_j (b - a m_j)^2 + (m_k - m_j)(2b - a(m_k + m_j))]$ for $v_k \ge v_j$.
//!
//! # Limits
//! Diverges for $a \le -1/\max_k v_k$.
//!
//! # Reference
//! Baker et al., JMLR 24 (2023), appendix E, Gaussian mixture prior.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use super::weights::{are_as_many, check_each, counted, normalised};
use crate::catalog::gaussian_tilt::{gain, gaussian_mode, log_normal_density};
use crate::catalog::module::{Domain, Module, SIZE, numbers};
use crate::error::{ModelError, parameter};
use crate::math::mixture::{Bump, draw};
use crate::math::special::log_add_exp;
use crate::scalar::{Landmark, ScalarPrior, Tilted};

/// One component $\pi\, \mathcal N(m, v)$.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Component {
    weight: f64,
    mean: f64,
    variance: f64,
}

/// $\sum_k \pi_k \mathcal N(m_k, v_k)$.
#[derive(Debug, Clone, PartialEq)]
pub struct GaussianMixture {
    components: Vec<Component>,
    widest: f64,
}

impl GaussianMixture {
    /// A mixture of as many components as there are means; a variance of zero is a point mass, and no weights are equal ones.
    ///
    /// # Errors
    /// Unless the three slices (but for no weights) have one non-zero length, weights are positive with sum one (to
    /// $10^{-9}$; they are then normalised), means finite, variances non-negative and finite.
    pub fn new(weights: &[f64], means: &[f64], variances: &[f64]) -> Result<Self, ModelError> {
        let n = means.len();
        if !are_as_many(weights, n) || variances.len() != n {
            let v = variances.len();
            let got = format!("{}{n} means, {v} variances", counted(weights));
            let (name, expected) = if n > 0 && v == n {
                ("weights", "as many as means and variances, or none")
            } else {
                ("variances", "at least one, and as many as means")
            };
            return Err(parameter(Self::NAME, name, expected, got));
        }
        let weights = normalised(Self::NAME, weights, n)?;
        check_each(Self::NAME, "means", "finite", means, f64::is_finite)?;
        let expected = "non-negative and finite";
        check_each(Self::NAME, "variances", expected, variances, |v| {
            v >= 0.0 && v.is_finite()
        })?;
        let components = (0..n)
            .map(|k| Component {
                weight: weights[k],
                mean: means[k],
                variance: variances[k],
            })
            .collect();
        let widest = variances.iter().copied().fold(0.0, f64::max);
        Ok(Self { components, widest })
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        aliases: &["mixture"],
        summary: "a mixture of Gaussians; a variance of zero is a point mass",
        formula: "p(x) = Σ_k weights_k N(x; means_k, variances_k)",
        tex: r"p(x) = \sum_k p_k\,N(x; m_k, \sigma_k^2)",
        parameters: &[
            SIZE,
            numbers(
                "weights",
                &[],
                Domain::Probabilities,
                "the weights; none for equal ones",
            )
            .called("p_k")
            .learned(),
            numbers("means", &[-1.0, 1.0], Domain::Real, "one mean per weight")
                .called("m_k")
                .learned(),
            numbers(
                "variances",
                &[1.0, 1.0],
                Domain::NotNegative,
                "one variance per weight",
            )
            .called(r"\sigma_k^2")
            .learned(),
        ],
        constructor: |a| {
            let (weights, means) = (a.numbers("weights")?, a.numbers("means")?);
            a.prior(Self::new(weights, means, a.numbers("variances")?)?)
        },
        ..Module::PRIOR
    };
}

impl ScalarPrior for GaussianMixture {
    const NAME: &'static str = "gaussian_mixture";

    fn tilted(&self, a: f64, b: f64) -> Tilted {
        let mut top = &self.components[0];
        if a.mul_add(self.widest, 1.0) <= 0.0 {
            return Tilted::divergent(top.mean);
        }
        let mut sum = Bump::point([0.0], 0.0);
        for c in &self.components {
            let t = a.mul_add(c.variance, 1.0);
            let mut bump = Bump {
                mass: c.weight / t.sqrt(),
                mean: [b.mul_add(c.variance, c.mean) / t],
                variance: [c.variance / t],
            };
            // masses are in units of e^F of the highest component so far
            let gap = height_gap(a, b, c, top);
            if gap > 0.0 {
                sum.mass *= (-gap).exp();
                top = c;
            } else {
                bump.mass *= gap.exp();
            }
            sum.absorb(&bump);
        }
        let log_z = gain(top.mean, top.variance, a, b) + sum.mass.ln();
        Tilted {
            log_z,
            mean: sum.mean[0],
            variance: sum.variance[0],
        }
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("components", self.components.len() as f64)]
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        let c = &self.components[draw(self.components.iter().map(|c| c.weight), rng)];
        let normal: f64 = StandardNormal.sample(rng);
        normal.mul_add(c.variance.sqrt(), c.mean)
    }

    fn log_density(&self, x: f64) -> f64 {
        let spread = self.components.iter().filter(|c| c.variance > 0.0);
        spread.fold(f64::NEG_INFINITY, |sum, c| {
            log_add_exp(
                sum,
                c.weight.ln() + log_normal_density(x, c.mean, c.variance),
            )
        })
    }

    fn atoms(&self) -> Vec<(f64, f64)> {
        let points = self.components.iter().filter(|c| c.variance <= 0.0);
        points.map(|c| (c.mean, c.weight)).collect()
    }

    fn excess(&self, a: f64, b: f64) -> f64 {
        self.components.iter().fold(f64::NEG_INFINITY, |sum, c| {
            let density = log_normal_density(b / a, c.mean, c.variance + 1.0 / a);
            log_add_exp(sum, c.weight.ln() + density)
        })
    }

    fn mixture(&self) -> Option<Vec<(f64, f64, f64)>> {
        let part = |c: &Component| (c.weight, c.mean, c.variance);
        Some(self.components.iter().map(part).collect())
    }

    fn landmarks(&self) -> Vec<Landmark> {
        let components = self.components.iter();
        components
            .map(|c| Landmark::spread(c.mean, c.variance.sqrt()))
            .collect()
    }

    fn support(&self) -> (f64, f64) {
        if self.widest > 0.0 {
            return (f64::NEG_INFINITY, f64::INFINITY);
        }
        let means = self.components.iter().map(|c| c.mean);
        (
            means.clone().fold(f64::INFINITY, f64::min),
            means.fold(f64::NEG_INFINITY, f64::max),
        )
    }

    /// Of one component, where the energy is convex; else none.
    fn mode(&self, a: f64, b: f64) -> Option<(f64, f64)> {
        match self.components.as_slice() {
            [only] => Some(gaussian_mode(only.mean, only.variance, a, b)),
            _ => None,
        }
    }
}

/// $F_k - F_j$ as a sum of products, from the narrower component: the common $b^2$ never enters, and
/// neither does the large cancelling slope at the mean of the wider one.
#[inline]
fn height_gap(a: f64, b: f64, k: &Component, j: &Component) -> f64 {
    if k.variance < j.variance {
        return -height_gap(a, b, j, k);
    }
    let (t_k, t_j) = (a.mul_add(k.variance, 1.0), a.mul_add(j.variance, 1.0));
    let slope = (-a).mul_add(j.mean, b);
    let wider = (k.variance - j.variance) * slope / t_j * slope;
    let shifted = (k.mean - j.mean) * (-a).mul_add(k.mean + j.mean, 2.0 * b);
    0.5 * (wider + shifted) / t_k
}
