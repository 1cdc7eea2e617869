//! The spectrum of $W^T W$, of a matrix or of an ensemble in the limit, and its transforms.
//!
//! For $W$ of shape $M \times N$ all expectations run over the $N$ eigenvalues $\lambda$ of $W^T W$, zeros
//! included; $\alpha = M/N$. A spectrum is a list of places and weights: eigenvalues of a matrix, or
//! the nodes of a quadrature rule that is fine enough near $\lambda = 0$ for resolvents
//! $1/(a_z + a_x\lambda)$ at any ratio of precisions.

mod product;

use super::matrix::Matrix;
use crate::error::{FactorError, ModelError, parameter};
use crate::math::decomposition::Decomposition;
use crate::math::modes::Modes;
use crate::math::quadrature::rule16;

/// Halvings of the angle towards the lower edge of the Marchenko-Pastur bulk.
const GRADES: i32 = 34;

/// The distribution of the eigenvalues $\lambda \ge 0$ of $W^T W$.
#[derive(Debug, Clone, PartialEq)]
pub struct Spectrum {
    alpha: f64,
    /// The probability of a positive eigenvalue, kept exactly: $\alpha - $ `rank` must vanish when
    /// every output is seen.
    rank: f64,
    /// Places and weights; the weights add up to one.
    nodes: Vec<(f64, f64)>,
}

impl Spectrum {
    const NAME: &'static str = "spectrum";

    /// Given eigenvalues of $W^T W$, all $N$ of them, with the aspect ratio $\alpha = M/N$.
    ///
    /// # Errors
    /// No eigenvalue, a negative or non-finite one, a ratio that is not positive or below the rank.
    pub fn from_eigenvalues(eigenvalues: &[f64], alpha: f64) -> Result<Self, ModelError> {
        check_alpha(alpha)?;
        if eigenvalues.is_empty() {
            return Err(parameter(Self::NAME, "eigenvalues", "at least one", "none"));
        }
        if let Some(i) = eigenvalues
            .iter()
            .position(|l| !(*l >= 0.0 && l.is_finite()))
        {
            let got = format!("{} at index {i}", eigenvalues[i]);
            return Err(parameter(
                Self::NAME,
                "eigenvalues",
                "finite and not negative",
                got,
            ));
        }
        let n = eigenvalues.len() as f64;
        let weight = 1.0 / n;
        let positive = eigenvalues.iter().filter(|l| **l > 0.0).count();
        let rank = positive as f64 / n;
        // M outputs cannot have a rank above M
        if rank > alpha * (1.0 + 1e-12) {
            let expected = format!("at most {} positive ones at alpha = {alpha}", alpha * n);
            return Err(parameter(Self::NAME, "eigenvalues", expected, positive));
        }
        Ok(Self {
            alpha,
            rank,
            nodes: eigenvalues.iter().map(|l| (*l, weight)).collect(),
        })
    }

    /// Given places $\lambda \ge 0$ and weights, with the aspect ratio $\alpha = M/N$. The weights are
    /// normalised.
    ///
    /// # Errors
    /// No place, a negative or non-finite one, weights that are negative or add up to nothing, a ratio
    /// that is not positive or below the rank.
    pub fn from_nodes(mut nodes: Vec<(f64, f64)>, alpha: f64) -> Result<Self, ModelError> {
        check_alpha(alpha)?;
        let good = |(l, w): &(f64, f64)| *l >= 0.0 && l.is_finite() && *w >= 0.0 && w.is_finite();
        let total: f64 = nodes.iter().map(|n| n.1).sum();
        if !nodes.iter().all(good) || !(total > 0.0) {
            let expected = "finite and not negative, with some weight";
            let bad = nodes.iter().find(|n| !good(n));
            let got = bad.map_or("no weight".to_owned(), |n| format!("{n:?}"));
            return Err(parameter(Self::NAME, "nodes", expected, got));
        }
        nodes.iter_mut().for_each(|n| n.1 /= total);
        let seen = nodes.iter().filter(|n| n.0 > 0.0).map(|n| n.1).sum::<f64>();
        // M outputs cannot have a rank above M; weights of a quadrature are rounded
        if seen > alpha * (1.0 + 1e-9) {
            let expected = format!("positive ones of weight {alpha} at most, alpha");
            return Err(parameter(Self::NAME, "nodes", expected, seen));
        }
        Ok(Self {
            alpha,
            rank: seen.min(1.0),
            nodes,
        })
    }

    /// Of a given matrix.
    ///
    /// # Errors
    /// When its decomposition does not converge.
    pub fn of(w: &Matrix) -> Result<Self, FactorError> {
        Ok(Self::of_decomposition(w, &Decomposition::new(w)?))
    }

    /// Of a matrix whose decomposition is known.
    #[must_use]
    pub fn of_decomposition(w: &Matrix, d: &Decomposition) -> Self {
        let n = w.cols() as f64;
        let values = d.singular_values().iter().map(|s| (s * s, 1.0));
        Self::weighted(values.collect(), d.rank() as f64, n, w.rows() as f64 / n)
    }

    /// Of an operator with `inputs` real inputs whose singular values are known.
    #[must_use]
    pub fn of_modes(modes: &Modes, inputs: f64, alpha: f64) -> Self {
        let values = modes.weighted().map(|(s, w)| (s * s, w));
        Self::weighted(values.collect(), modes.rank(), inputs, alpha)
    }

    /// From places and how many of `n` eigenvalues each stands for; the rest is zero.
    fn weighted(mut nodes: Vec<(f64, f64)>, rank: f64, n: f64, alpha: f64) -> Self {
        let listed: f64 = nodes.iter().map(|node| node.1).sum();
        nodes.iter_mut().for_each(|node| node.1 /= n);
        if n - listed > 0.5 {
            nodes.push((0.0, (n - listed) / n));
        }
        Self {
            alpha,
            rank: rank / n,
            nodes,
        }
    }

    /// The Marchenko-Pastur law: independent entries of variance $1/N$, any $\alpha > 0$.
    ///
    /// With $\lambda = 1 + \alpha + 2\sqrt\alpha\cos\theta$ the bulk has the density
    /// $\frac{2\alpha}{\pi\lambda}\sin^2\theta\,d\theta$ on $[0, \pi]$.
    ///
    /// # Errors
    /// A ratio that is not positive.
    pub fn marchenko_pastur(alpha: f64) -> Result<Self, ModelError> {
        check_alpha(alpha)?;
        let rule = rule16();
        let gap = 1.0 - alpha.sqrt();
        let mut nodes = Vec::new();
        let mut panel = |low: f64, high: f64| {
            let width = high - low;
            for (x, w) in rule.nodes.iter().zip(&rule.weights) {
                // u = π - θ is the distance from the lower edge
                let u = low + width * x;
                let s = (0.5 * u).sin();
                let lambda = gap * gap + 4.0 * alpha.sqrt() * s * s;
                let density = 2.0 * alpha / (std::f64::consts::PI * lambda) * u.sin().powi(2);
                nodes.push((lambda, width * w * density));
            }
        };
        let top = std::f64::consts::PI;
        let mut high = top;
        for _ in 0..GRADES {
            panel(0.5 * high, high);
            high *= 0.5;
        }
        panel(0.0, high);
        // the bulk weighs min(1, α); what rounding leaves is taken out
        let total: f64 = nodes.iter().map(|n| n.1).sum();
        let bulk = alpha.min(1.0);
        for node in &mut nodes {
            node.1 *= bulk / total;
        }
        if alpha < 1.0 {
            nodes.push((0.0, 1.0 - alpha));
        }
        Ok(Self {
            alpha,
            rank: bulk,
            nodes,
        })
    }

    /// Orthogonal rows, $W W^T = I_M$, $\alpha \le 1$: $\lambda = 1$ with weight $\alpha$, else 0.
    ///
    /// # Errors
    /// A ratio outside $(0, 1]$.
    pub fn row_orthogonal(alpha: f64) -> Result<Self, ModelError> {
        check_alpha(alpha)?;
        if alpha > 1.0 {
            return Err(parameter(
                Self::NAME,
                "alpha",
                "in (0, 1] for orthogonal rows",
                alpha,
            ));
        }
        let nodes = if alpha < 1.0 {
            vec![(1.0, alpha), (0.0, 1.0 - alpha)]
        } else {
            vec![(1.0, 1.0)]
        };
        Ok(Self {
            alpha,
            rank: alpha,
            nodes,
        })
    }

    /// Orthogonal columns, $W^T W = I_N$, $\alpha \ge 1$: all $\lambda = 1$. A rotation is $\alpha = 1$.
    ///
    /// # Errors
    /// A ratio below one.
    pub fn column_orthogonal(alpha: f64) -> Result<Self, ModelError> {
        check_alpha(alpha)?;
        if alpha < 1.0 {
            return Err(parameter(
                Self::NAME,
                "alpha",
                "at least 1 for orthogonal columns",
                alpha,
            ));
        }
        Ok(Self {
            alpha,
            rank: 1.0,
            nodes: vec![(1.0, 1.0)],
        })
    }

    /// The aspect ratio $\alpha = M/N$.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Places and weights.
    #[must_use]
    pub fn nodes(&self) -> &[(f64, f64)] {
        &self.nodes
    }

    /// $E_\lambda f(\lambda)$ over all $N$ eigenvalues.
    pub fn expect(&self, f: impl Fn(f64) -> f64) -> f64 {
        self.nodes.iter().map(|(l, w)| w * f(*l)).sum()
    }

    /// $E\lambda$.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.expect(|l| l)
    }

    /// The probability of $\lambda > 0$: the rank over $N$.
    #[must_use]
    pub fn rank(&self) -> f64 {
        self.rank
    }

    /// The eta transform $\eta(\gamma) = E\frac{1}{1 + \gamma\lambda}$.
    #[must_use]
    pub fn eta(&self, gamma: f64) -> f64 {
        self.expect(|l| 1.0 / (1.0 + gamma * l))
    }

    /// The Shannon transform $\mathcal V(\gamma) = E\ln(1 + \gamma\lambda)$.
    #[must_use]
    pub fn shannon(&self, gamma: f64) -> f64 {
        self.expect(|l| (gamma * l).ln_1p())
    }

    /// The Stieltjes transform $\mathcal S(z) = E\frac{1}{\lambda - z}$ at $z < 0$.
    #[must_use]
    pub fn stieltjes(&self, z: f64) -> f64 {
        self.expect(|l| 1.0 / (l - z))
    }

    /// The R transform $R(s) = \mathcal S^{-1}(-s) - 1/s$ at $s < 0$.
    ///
    /// With $\phi = -\gamma\eta(\gamma) = s$ it is $R(\phi) = (\eta - 1)/\phi$, so that the inverse is one
    /// root in $\gamma$. NaN outside the range of $\phi$.
    #[must_use]
    pub fn r_transform(&self, s: f64) -> f64 {
        if s == 0.0 {
            return self.mean();
        }
        if s > 0.0 {
            return f64::NAN;
        }
        match self.gamma_of(-s) {
            // 1 - η = E γλ/(1 + γλ), without the difference
            Some(gamma) => self.expect(|l| gamma * l / (1.0 + gamma * l)) / -s,
            None => f64::NAN,
        }
    }

    /// The $\gamma$ at which $\gamma\,\eta(\gamma) = t$, if there is one. $\gamma\eta$ grows from 0 to
    /// $E\,1/\lambda$, or without bound when some eigenvalue is zero.
    fn gamma_of(&self, t: f64) -> Option<f64> {
        if t == 0.0 {
            return Some(0.0);
        }
        increasing_root(|g| self.expect(|l| g / (1.0 + g * l)) - t)
    }

    /// The integrated R transform $J(t) = \frac12\int_0^t dz\,R(-z)$.
    ///
    /// With $t = \gamma\eta(\gamma)$ an integration by parts gives
    /// $J = \frac12[\mathcal V + \ln\eta + 1 - \eta]$ at $\gamma$. NaN where $R$ is not defined.
    #[must_use]
    pub fn integrated_r(&self, t: f64) -> f64 {
        match self.gamma_of(t) {
            Some(gamma) if t >= 0.0 => {
                let eta = self.eta(gamma);
                0.5 * (self.shannon(gamma) + eta.ln() + 1.0 - eta)
            }
            _ => f64::NAN,
        }
    }

    /// Its dual $J^*(u) = \sup_t J(t) - \frac12 u t = \frac12 E\ln[(1 + \gamma\lambda)\,\eta(\gamma)]$ at the
    /// $\gamma$ where $R(-t) = u$. $u$ lies between $1/E\lambda^{-1}$ (zero where some eigenvalue is) and $E\lambda$; NaN elsewhere.
    #[must_use]
    pub fn dual_integrated_r(&self, u: f64) -> f64 {
        // R(-t(γ)) = E[λ w]/E[w], w = 1/(1 + γλ), falls from E λ as γ grows
        let ratio =
            |g: f64| self.expect(|l| l / (1.0 + g * l)) / self.expect(|l| 1.0 / (1.0 + g * l));
        let mean = self.mean();
        if (u - mean).abs() <= 1e-12 * mean {
            return 0.0;
        }
        if !(u > 0.0 && u < mean) {
            return f64::NAN;
        }
        let Some(gamma) = increasing_root(|g| u - ratio(g)) else {
            return f64::NAN;
        };
        0.5 * (self.shannon(gamma) + self.eta(gamma).ln())
    }
}

/// The positive root of an increasing function that is not positive at zero; `None` if it stays
/// negative.
fn increasing_root(f: impl Fn(f64) -> f64) -> Option<f64> {
    let (mut low, mut high) = (0.0, 1.0);
    while f(high) < 0.0 {
        low = high;
        high *= 4.0;
        if high > 1e300 {
            return None;
        }
    }
    for _ in 0..2000 {
        let mid = if low > 0.0 {
            (low * high).sqrt()
        } else {
            1e-3 * high
        };
        if mid <= low || mid >= high || mid < 1e-300 {
            break;
        }
        if f(mid) < 0.0 {
            low = mid;
        } else {
            high = mid;
        }
    }
    Some(high)
}

fn check_alpha(alpha: f64) -> Result<(), ModelError> {
    if alpha > 0.0 && alpha.is_finite() {
        return Ok(());
    }
    Err(parameter(
        Spectrum::NAME,
        "alpha",
        "positive and finite",
        alpha,
    ))
}
