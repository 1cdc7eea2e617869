//! A row from a mixture of Gaussians, $p(x) = \sum_k w_k\,\mathcal N(x; \mu_k, C_k)$ with $x \in \mathbb R^r$ and any
//! covariances, zero included: correlated Gaussian rows, rows that are zero or Gaussian, one-hot rows.
//!
//! Component $k$ under the tilt $(a, b)$: $S_k = (I + C_k a)^{-1}C_k$, $m_k = \mu_k + S_k(b - a\mu_k)$,
//! $A_k = b^T\mu_k - \frac12\mu_k^T a\mu_k + \frac12(b - a\mu_k)^T S_k(b - a\mu_k) - \frac12\ln\det(I + C_k a)$.

use faer::Mat;
use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};

use crate::error::{ModelError, parameter};
use crate::math::dense::{column, conditioned, dot, is_covariance, root, square};
use crate::separable::{RowComponent, RowLaw};

/// Products of components at most.
const MOST: usize = 4096;

/// One component: a weight, a mean and a covariance.
#[derive(Debug, Clone, PartialEq)]
struct Component {
    log_weight: f64,
    weight: f64,
    mean: Vec<f64>,
    covariance: Vec<f64>,
    /// $L$ with $L L^T = C$, for draws.
    root: Mat<f64>,
}

/// A row from a mixture of Gaussians.
#[derive(Debug, Clone, PartialEq)]
pub struct MixtureRow {
    dim: usize,
    components: Vec<Component>,
    /// All covariances are zero.
    points: bool,
}

impl MixtureRow {
    /// Components as (weight, mean, covariance row by row); weights are not negative and add up to 1.
    ///
    /// # Errors
    /// No component, sizes that differ, weights that are no probabilities, a matrix that is no covariance.
    pub fn new(components: &[(f64, Vec<f64>, Vec<f64>)]) -> Result<Self, ModelError> {
        let refuse =
            |name, expected: &str, got: String| Err(parameter(Self::NAME, name, expected, got));
        let dim = components.first().map_or(0, |c| c.1.len());
        if dim == 0 {
            return refuse(
                "components",
                "at least one, of at least one number",
                "none".into(),
            );
        }
        let total: f64 = components.iter().map(|c| c.0).sum();
        if components.iter().any(|c| !(c.0 >= 0.0)) || (total - 1.0).abs() > 1e-9 {
            let weights: Vec<f64> = components.iter().map(|c| c.0).collect();
            return refuse(
                "weights",
                "probabilities that add up to 1",
                format!("{weights:?}"),
            );
        }
        let mut made = Vec::with_capacity(components.len());
        for (k, (weight, mean, covariance)) in components.iter().enumerate() {
            if mean.len() != dim || mean.iter().any(|m| !m.is_finite()) {
                return refuse(
                    "means",
                    "finite and of one length",
                    format!("{mean:?} at {k}"),
                );
            }
            let symmetric = covariance.len() == dim * dim
                && (0..dim * dim).all(|i| {
                    let (c, t) = (covariance[i], covariance[i % dim * dim + i / dim]);
                    c.is_finite() && (c - t).abs() <= 1e-12 * c.abs()
                });
            let found = symmetric.then(|| root(square(covariance, dim))).flatten();
            let Some(root) = found else {
                let got = format!("{covariance:?} at {k}");
                return refuse("covariances", "symmetric and positive semi-definite", got);
            };
            made.push(Component {
                log_weight: weight.ln(),
                weight: *weight,
                mean: mean.clone(),
                covariance: covariance.clone(),
                root,
            });
        }
        let points = made.iter().all(|c| c.covariance.iter().all(|v| *v == 0.0));
        Ok(Self {
            dim,
            components: made,
            points,
        })
    }

    /// Points alone: $A_k = b^T\mu_k - \frac12\mu_k^T a\mu_k$.
    fn tilted_points(&self, a: &[f64], b: &[f64], mean: &mut [f64], covariance: &mut [f64]) -> f64 {
        let r = self.dim;
        let log = |c: &Component| {
            let pull = |i: usize| {
                let bend: f64 = (0..r).map(|j| a[i * r + j] * c.mean[j]).sum();
                c.mean[i] * (b[i] - 0.5 * bend)
            };
            c.log_weight + (0..r).map(pull).sum::<f64>()
        };
        let logs: Vec<f64> = self.components.iter().map(log).collect();
        let top = logs.iter().fold(f64::NEG_INFINITY, |m, l| m.max(*l));
        let mass: f64 = logs.iter().map(|l| (l - top).exp()).sum();
        let weighted = || {
            self.components
                .iter()
                .zip(&logs)
                .map(|(c, l)| (c, (l - top).exp() / mass))
        };
        for i in 0..r {
            mean[i] = weighted().map(|(c, p)| p * c.mean[i]).sum();
        }
        for i in 0..r {
            for j in 0..r {
                let part =
                    |(c, p): (&Component, f64)| p * (c.mean[i] - mean[i]) * (c.mean[j] - mean[j]);
                covariance[i * r + j] = weighted().map(part).sum();
            }
        }
        top + mass.ln()
    }

    /// `dim` independent components of one law, the mixture of these (weight, mean, variance).
    ///
    /// # Errors
    /// No component; more than 4096 products; as [`new`](Self::new).
    pub fn product(parts: &[(f64, f64, f64)], dim: usize) -> Result<Self, ModelError> {
        let refuse =
            |expected: String, got: String| Err(parameter(Self::NAME, "dim", expected, got));
        if dim == 0 {
            return refuse("at least one component".to_owned(), "0".to_owned());
        }
        let power = u32::try_from(dim).unwrap_or(u32::MAX);
        let Some(count) = parts.len().checked_pow(power).filter(|n| *n <= MOST) else {
            let expected = format!("at most {MOST} products of components");
            return refuse(expected, format!("{} to the power {dim}", parts.len()));
        };
        let product = |index: usize| {
            let mut rest = index;
            let (mut weight, mut mean) = (1.0, vec![0.0; dim]);
            let mut covariance = vec![0.0; dim * dim];
            for i in 0..dim {
                let (w, m, v) = parts[rest % parts.len()];
                rest /= parts.len();
                weight *= w;
                (mean[i], covariance[i * dim + i]) = (m, v);
            }
            (weight, mean, covariance)
        };
        let components: Vec<_> = (0..count).map(product).collect();
        Self::new(&components)
    }

    /// A Gaussian row with a mean and a covariance (row by row).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn gaussian(mean: &[f64], covariance: &[f64]) -> Result<Self, ModelError> {
        Self::new(&[(1.0, mean.to_vec(), covariance.to_vec())])
    }

    /// A row that is Gaussian with probability `rho`, and zero otherwise.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn sparse(rho: f64, mean: &[f64], covariance: &[f64]) -> Result<Self, ModelError> {
        let r = mean.len();
        Self::new(&[
            (1.0 - rho, vec![0.0; r], vec![0.0; r * r]),
            (rho, mean.to_vec(), covariance.to_vec()),
        ])
    }

    /// A row with one 1 among zeros, at place $k$ with probability $w_k$.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn one_hot(weights: &[f64]) -> Result<Self, ModelError> {
        let r = weights.len();
        let unit = |k: usize| (0..r).map(|i| f64::from(u8::from(i == k))).collect();
        let components: Vec<_> = weights
            .iter()
            .enumerate()
            .map(|(k, w)| (*w, unit(k), vec![0.0; r * r]))
            .collect();
        Self::new(&components)
    }
}

impl RowLaw for MixtureRow {
    const NAME: &'static str = "mixture_row";

    fn dim(&self) -> usize {
        self.dim
    }

    fn tilted(&self, a: &[f64], b: &[f64], mean: &mut [f64], covariance: &mut [f64]) -> f64 {
        let r = self.dim;
        if self.points {
            return self.tilted_points(a, b, mean, covariance);
        }
        let (a, b) = (square(a, r), column(b));
        let mut parts = Vec::with_capacity(self.components.len());
        for c in self.components.iter().filter(|c| c.weight > 0.0) {
            let mu = column(&c.mean);
            let t = conditioned((square(&c.covariance, r), mu), (a, b));
            if !is_covariance(t.covariance.as_ref()) {
                mean.copy_from_slice(&c.mean);
                covariance.fill(f64::INFINITY);
                return f64::INFINITY;
            }
            let pull = b - a * mu;
            let shift = &t.covariance * &pull;
            let value = dot(b, mu) - 0.5 * dot(mu, (a * mu).as_ref());
            let log = c.log_weight + value + 0.5 * dot(pull.as_ref(), shift.as_ref());
            parts.push((log - 0.5 * t.log_det, t));
        }
        let top = parts.iter().fold(f64::NEG_INFINITY, |m, p| m.max(p.0));
        let mass: f64 = parts.iter().map(|p| (p.0 - top).exp()).sum();
        let probability = |log: f64| (log - top).exp() / mass;
        for (i, m) in mean.iter_mut().enumerate() {
            *m = parts
                .iter()
                .map(|(log, t)| probability(*log) * t.mean[i])
                .sum();
        }
        for (i, row) in covariance.chunks_exact_mut(r).enumerate() {
            for (j, v) in row.iter_mut().enumerate() {
                let part = |t: &crate::math::dense::Conditioned| {
                    t.covariance[(i, j)] + (t.mean[i] - mean[i]) * (t.mean[j] - mean[j])
                };
                *v = parts
                    .iter()
                    .map(|(log, t)| probability(*log) * part(t))
                    .sum();
            }
        }
        top + mass.ln()
    }

    fn sample(&self, rng: &mut dyn Rng, out: &mut [f64]) {
        let mut u: f64 = rng.random();
        let last = self.components.len() - 1;
        let chosen = self.components.iter().position(|c| {
            u -= c.weight;
            u < 0.0
        });
        let c = &self.components[chosen.unwrap_or(last)];
        let xi: Vec<f64> = (0..self.dim)
            .map(|_| StandardNormal.sample(&mut *rng))
            .collect();
        for (i, x) in out.iter_mut().enumerate() {
            let noise: f64 = (0..c.root.ncols()).map(|k| c.root[(i, k)] * xi[k]).sum();
            *x = c.mean[i] + noise;
        }
    }

    fn as_gaussian(&self) -> Option<(&[f64], &[f64])> {
        match self.components.as_slice() {
            [only] => Some((&only.mean, &only.covariance)),
            _ => None,
        }
    }

    fn components(&self) -> Option<Vec<RowComponent>> {
        let component = |c: &Component| RowComponent {
            weight: c.weight,
            mean: c.mean.clone(),
            covariance: c.covariance.clone(),
        };
        Some(self.components.iter().map(component).collect())
    }

    fn summary(&self) -> String {
        format!("{} components, rows of {}", self.components.len(), self.dim)
    }
}
