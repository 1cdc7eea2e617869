//! The spectrum of $W^T W$ from products alone, by seeded stochastic Lanczos.
//!
//! A random probe $\xi$ with entries $\pm 1$ has $E\,\xi^T f(W^T W)\,\xi = \mathrm{tr} f$ (Hutchinson). $m$ Lanczos steps
//! from it give the Gauss quadrature of its spectral measure, exact for polynomials of degree
//! $2m - 1$. Traces and log-determinants at all precisions then come from one set of nodes, drawn
//! once from the seed, and are derivatives of each other.

use faer::linalg::solvers::SelfAdjointEigen;
use faer::{Mat, Side};
use rand::{RngExt as _, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::LinearOperator;
use super::dot_test::dot;
use crate::error::{FactorError, ModelError, parameter};
use crate::math::spectrum::Spectrum;

/// Inputs up to this size: all eigenvalues, from the dense Gram matrix.
const EXACT: usize = 512;
/// Eigenvalues below this fraction of the largest are zero.
const ZERO: f64 = 1e-12;

/// How a spectrum is estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LanczosOptions {
    /// Random probes; 0 for as many as make $160\,000$ random signs in all, at least 8, at most 256.
    pub probes: usize,
    /// Lanczos steps per probe (100).
    pub steps: usize,
    /// Seed of the probes (0).
    pub seed: u64,
}

impl Default for LanczosOptions {
    fn default() -> Self {
        Self {
            probes: 0,
            steps: 100,
            seed: 0,
        }
    }
}

impl LanczosOptions {
    /// # Errors
    /// No step at all.
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        if self.steps == 0 {
            return Err(parameter("lanczos", "steps", "at least 1", 0));
        }
        Ok(())
    }
}

/// The estimated spectrum of $W^T W$; exact for up to 512 inputs.
///
/// # Errors
/// Products that are not finite, or an eigenproblem that does not converge.
pub fn estimated_spectrum(
    operator: &dyn LinearOperator,
    options: LanczosOptions,
) -> Result<Spectrum, FactorError> {
    let (n, m) = (operator.input().len(), operator.output().len());
    let mut gram = Gram::new(operator);
    let mut nodes = if n <= EXACT {
        exact(&mut gram, n)?
    } else {
        let probes = match options.probes {
            0 => (160_000 / n).clamp(8, 256),
            given => given,
        };
        let mut nodes = Vec::new();
        for probe in 0..probes {
            let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
            rng.set_stream(probe as u64);
            let start: Vec<f64> = (0..n)
                .map(|_| if rng.random::<bool>() { 1.0 } else { -1.0 })
                .collect();
            let rule = quadrature(&mut gram, start, options.steps.min(n))?;
            nodes.extend(rule.into_iter().map(|(l, w)| (l, w / probes as f64)));
        }
        nodes
    };
    if nodes.iter().any(|(l, w)| !l.is_finite() || !w.is_finite()) {
        return Err(FactorError::Failed(format!(
            "the products of `{}` are not finite",
            operator.name()
        )));
    }
    let largest = nodes.iter().fold(0.0_f64, |m, (l, _)| m.max(*l));
    for (l, _) in &mut nodes {
        if *l <= ZERO * largest {
            *l = 0.0;
        }
    }
    let alpha = m as f64 / n as f64;
    settle(&mut nodes, alpha);
    Spectrum::from_nodes(nodes, alpha).map_err(|e| FactorError::Failed(e.to_string()))
}

/// With fewer outputs than inputs, $1 - \alpha$ of the eigenvalues are exactly zero: the smallest nodes are
/// cut off there. Where the estimate has more zeros than that by no more than its noise, they are
/// made as many.
fn settle(nodes: &mut Vec<(f64, f64)>, alpha: f64) {
    if alpha >= 1.0 {
        return;
    }
    nodes.sort_by(|x, y| x.0.total_cmp(&y.0));
    let zeros: f64 = nodes
        .iter()
        .filter(|(l, _)| *l == 0.0)
        .map(|(_, w)| w)
        .sum();
    let mut missing = 1.0 - alpha - zeros;
    if missing <= 0.0 {
        if -missing <= 0.1 * alpha {
            for (l, w) in nodes {
                *w *= if *l > 0.0 {
                    alpha / (1.0 - zeros)
                } else {
                    (1.0 - alpha) / zeros
                };
            }
        }
        return;
    }
    let mut rest = None;
    for node in nodes.iter_mut().filter(|n| n.0 > 0.0) {
        if node.1 > missing {
            rest = Some((node.0, node.1 - missing));
            node.1 = missing;
        }
        missing -= node.1;
        node.0 = 0.0;
        if missing <= 0.0 {
            break;
        }
    }
    nodes.extend(rest);
}

/// Products with $W^T W$.
struct Gram<'a> {
    operator: &'a dyn LinearOperator,
    output: Vec<f64>,
    scratch: Vec<f64>,
}

impl<'a> Gram<'a> {
    fn new(operator: &'a dyn LinearOperator) -> Self {
        Self {
            operator,
            output: vec![0.0; operator.output().len()],
            scratch: vec![0.0; operator.scratch_len(1)],
        }
    }

    fn apply(&mut self, z: &[f64], out: &mut [f64]) {
        self.operator.apply(z, &mut self.output, &mut self.scratch);
        self.operator.adjoint(&self.output, out, &mut self.scratch);
    }
}

fn eigen(matrix: &Mat<f64>) -> Result<SelfAdjointEigen<f64>, FactorError> {
    let failed = |_| FactorError::Failed("the eigenproblem did not converge".to_owned());
    SelfAdjointEigen::new(matrix.as_ref(), Side::Lower).map_err(failed)
}

fn exact(gram: &mut Gram<'_>, n: usize) -> Result<Vec<(f64, f64)>, FactorError> {
    let mut dense = Mat::<f64>::zeros(n, n);
    let (mut unit, mut column) = (vec![0.0; n], vec![0.0; n]);
    for j in 0..n {
        unit[j] = 1.0;
        gram.apply(&unit, &mut column);
        unit[j] = 0.0;
        for (i, c) in column.iter().enumerate() {
            dense[(i, j)] = *c;
        }
    }
    let eigen = eigen(&dense)?;
    let values = eigen.S().column_vector();
    Ok(values.iter().map(|l| (*l, 1.0 / n as f64)).collect())
}

/// The Gauss rule of the spectral measure of one probe; its weights add up to one.
///
/// The Lanczos vectors lose their orthogonality to rounding; that splits nodes into copies that share
/// their weight, and harms no average.
fn quadrature(
    gram: &mut Gram<'_>,
    mut v: Vec<f64>,
    steps: usize,
) -> Result<Vec<(f64, f64)>, FactorError> {
    let n = v.len();
    let size = dot(&v, &v).sqrt();
    v.iter_mut().for_each(|v| *v /= size);
    let (mut previous, mut next) = (vec![0.0; n], vec![0.0; n]);
    let (mut diagonal, mut off) = (Vec::new(), Vec::new());
    let mut beta = 0.0;
    for _ in 0..steps {
        gram.apply(&v, &mut next);
        let alpha = dot(&v, &next);
        for ((w, v), p) in next.iter_mut().zip(&v).zip(&previous) {
            *w -= alpha * v + beta * p;
        }
        diagonal.push(alpha);
        beta = dot(&next, &next).sqrt();
        off.push(beta);
        let scale = diagonal.iter().fold(0.0_f64, |m, a| m.max(a.abs()));
        if !(beta > 1e-13 * scale) {
            break;
        }
        std::mem::swap(&mut previous, &mut v);
        std::mem::swap(&mut v, &mut next);
        v.iter_mut().for_each(|v| *v /= beta);
    }
    gauss_rule(diagonal, off)
}

/// Eigenvalues of a symmetric tridiagonal matrix and the squared first components of its
/// eigenvectors (Golub and Welsch), by implicit QL steps. `off[i]` couples `i` and `i + 1`; the last
/// one is not used.
fn gauss_rule(mut d: Vec<f64>, mut e: Vec<f64>) -> Result<Vec<(f64, f64)>, FactorError> {
    let n = d.len();
    e[n - 1] = 0.0;
    let mut first = vec![0.0; n];
    first[0] = 1.0;
    for l in 0..n {
        let mut turns = 0;
        while let Some(m) = coupled(&d, &e, l) {
            turns += 1;
            if turns > 60 {
                let what = "the eigenproblem of its Lanczos matrix did not converge";
                return Err(FactorError::Failed(what.to_owned()));
            }
            let mut g = (d[l + 1] - d[l]) / (2.0 * e[l]);
            g = d[m] - d[l] + e[l] / (g + g.hypot(1.0).copysign(g));
            let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
            let mut split = false;
            for i in (l..m).rev() {
                let (f, b) = (s * e[i], c * e[i]);
                let r = f.hypot(g);
                e[i + 1] = r;
                if r == 0.0 {
                    d[i + 1] -= p;
                    e[m] = 0.0;
                    split = true;
                    break;
                }
                s = f / r;
                c = g / r;
                g = d[i + 1] - p;
                let r = (d[i] - g) * s + 2.0 * c * b;
                p = s * r;
                d[i + 1] = g + p;
                g = c * r - b;
                let (low, high) = (first[i], first[i + 1]);
                first[i + 1] = s * low + c * high;
                first[i] = c * low - s * high;
            }
            if !split {
                d[l] -= p;
                e[l] = g;
                e[m] = 0.0;
            }
        }
    }
    Ok(d.into_iter()
        .zip(first.into_iter().map(|f| f * f))
        .collect())
}

/// The end of the block that starts at `l`, if it is longer than one.
fn coupled(d: &[f64], e: &[f64], l: usize) -> Option<usize> {
    let small = |m: usize| e[m].abs() <= f64::EPSILON * (d[m].abs() + d[m + 1].abs());
    let m = (l..d.len() - 1).find(|m| small(*m)).unwrap_or(d.len() - 1);
    (m > l).then_some(m)
}
