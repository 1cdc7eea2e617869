//! Mixture of normals on the half line, $p(x) = \sum_k w_k\, \mathcal N(x; m_k, v_k)/\Phi(m_k/\sqrt{v_k})$ on $x \ge 0$.
//!
//! # Moments
//! Component $k$ under the tilt is the normal of precision $a + 1/v_k$ and linear term $b + m_k/v_k$ truncated to $x \ge 0$. Each is
//! given relative to its highest point, and heights are compared as products.
//!
//! # Limits
//! Diverges for $a \le -1/\max_k v_k$.
//!
//! # Reference
//! Vila and Schniter, "An empirical-Bayes approach to recovering linearly constrained non-negative sparse signals", IEEE Trans. Signal
//! Process. 62 (2014).

use rand::Rng;

use super::Interval;
use super::weights::{are_as_many, check_each, counted, normalised};
use crate::catalog::module::{Domain, Module, SIZE, numbers};
use crate::error::{ModelError, parameter};
use crate::math::mixture::{AnchoredMixture, draw};
use crate::math::special::log_add_exp;
use crate::scalar::{Landmark, ScalarPrior, Tilted};

/// Components $w_k\, \mathcal N(m_k, v_k)$, each cut at zero and normalised by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct NonnegativeGaussianMixture {
    /// Pairs of weight and law.
    components: Vec<(f64, Interval)>,
}

impl NonnegativeGaussianMixture {
    /// A mixture of as many components as there are means; no weights are equal ones.
    ///
    /// # Errors
    /// Unless the three slices (but for no weights) have one non-zero length, weights are positive with sum one (to $10^{-9}$; they are then normalised),
    /// means finite, variances positive and finite.
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
        let expected = "positive and finite";
        check_each(Self::NAME, "variances", expected, variances, |v| {
            v > 0.0 && v.is_finite()
        })?;
        let law = |m: f64, v: f64| {
            let refused = |_| parameter(Self::NAME, "variances", "smaller", v);
            Interval::new(0.0, f64::INFINITY, m, v).map_err(refused)
        };
        let mut components = Vec::with_capacity(n);
        for k in 0..n {
            components.push((weights[k], law(means[k], variances[k])?));
        }
        Ok(Self { components })
    }

    /// The tilted law, or `None` where it diverges.
    fn mixture(&self, a: f64, b: f64) -> Option<AnchoredMixture<1>> {
        let mut mixture = AnchoredMixture::new([a], [b]);
        for (weight, law) in &self.components {
            let (t, scale) = law.anchored(a, b)?;
            let mut bump = t.bump();
            bump.mass *= weight;
            mixture.add_scaled([t.anchor], scale, bump);
        }
        Some(mixture)
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "a mixture of Gaussians, each cut at zero",
        formula: "p(x) = Σ_k weights_k N(x; means_k, variances_k) / Φ(means_k / √variances_k) on x > 0",
        tex: r"p(x) = \sum_k w_k\,\frac{N(x; m_k, \sigma_k^2)}{\Phi(m_k/\sigma_k)}\ \text{on}\ x \ge 0",
        parameters: &[
            SIZE,
            numbers(
                "weights",
                &[],
                Domain::Probabilities,
                "the weights; none for equal ones",
            )
            .called("w_k")
            .learned(),
            numbers(
                "means",
                &[0.0, 2.0],
                Domain::Real,
                "one mean per weight, of the Gaussian that is cut",
            )
            .called("m_k")
            .learned(),
            numbers(
                "variances",
                &[1.0, 1.0],
                Domain::Positive,
                "one variance per weight, of the Gaussian that is cut",
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

impl ScalarPrior for NonnegativeGaussianMixture {
    const NAME: &'static str = "nonnegative_gaussian_mixture";

    fn tilted(&self, a: f64, b: f64) -> Tilted {
        let mixture = self.mixture(a, b);
        mixture.map_or(Tilted::divergent(0.0), |mixture| mixture.tilted())
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("components", self.components.len() as f64)]
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        let k = draw(self.components.iter().map(|(weight, _)| *weight), rng);
        self.components[k].1.sample(rng)
    }

    fn log_density(&self, x: f64) -> f64 {
        self.components
            .iter()
            .fold(f64::NEG_INFINITY, |sum, (weight, law)| {
                log_add_exp(sum, weight.ln() + law.log_density(x))
            })
    }

    fn excess(&self, a: f64, b: f64) -> f64 {
        self.mixture(a, b)
            .map_or(f64::INFINITY, |mixture| mixture.log_excess([true]))
    }

    fn landmarks(&self) -> Vec<Landmark> {
        let free = self.components.iter().map(|(_, law)| law.tilted(0.0, 0.0));
        free.map(|t| Landmark::spread(t.mean, t.variance.sqrt()))
            .collect()
    }

    fn support(&self) -> (f64, f64) {
        (0.0, f64::INFINITY)
    }

    /// Of one component, where the energy is convex; else none.
    fn mode(&self, a: f64, b: f64) -> Option<(f64, f64)> {
        match self.components.as_slice() {
            [(_, law)] => law.mode(a, b),
            _ => None,
        }
    }
}
