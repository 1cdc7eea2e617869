//! The spectrum of $W^T W$ as a random vector sees it, by a few steps of the bidiagonalisation of Golub and Kahan:
//! $W v_k = \alpha_k u_k + \beta_{k-1} u_{k-1}$, $W^T u_k = \alpha_k v_k + \beta_k v_{k+1}$.
//!
//! For independent entries of variance $s$ the coefficients are independent, $\alpha_k^2 \sim s\chi^2_{M-k+1}$ and
//! $\beta_k^2 \sim s\chi^2_{N-k}$, whatever the matrix: ten products tell ten numbers whose laws are known beforehand. (Exact for Gaussian
//! entries, and to leading order for others.)

use faer::Mat;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::operator::{LinearOperator, dot};

/// Steps, of two products each.
const STEPS: usize = 5;
/// Random vectors. Side by side through a dense matrix they cost little more than one, elsewhere as many products.
const PROBES: usize = 4;
/// Any number would do; the test must say the same every time.
const SEED: u64 = 0x6969_6400;

/// $\alpha_k^2/s$ and $\beta_k^2/s$, step by step, for every probe.
#[derive(Debug, Clone)]
pub(super) struct Bidiagonal {
    steps: Vec<[Vec<f64>; 2]>,
    /// Real outputs and inputs.
    rows: f64,
    cols: f64,
    /// The mean square of the entries.
    mean_square: f64,
    probes: usize,
}

impl Bidiagonal {
    /// Of an operator whose entries have this mean square.
    pub fn new(operator: &dyn LinearOperator, mean_square: f64) -> Self {
        let (m, n) = (operator.output().len(), operator.input().len());
        let rng = &mut ChaCha8Rng::seed_from_u64(SEED);
        let mut v: Vec<f64> = (0..PROBES * n)
            .map(|_| StandardNormal.sample(rng))
            .collect();
        normalise(&mut v);
        let (mut u, mut u_next) = (vec![0.0; PROBES * m], vec![0.0; PROBES * m]);
        let mut v_next = vec![0.0; PROBES * n];
        let mut beta = vec![0.0; PROBES];
        let mut scratch = vec![0.0; operator.scratch_len(1)];
        let mut steps = Vec::with_capacity(STEPS);
        let squares = |x: &[f64]| x.iter().map(|x| x * x / mean_square).collect();
        for _ in 0..STEPS.min(m).min(n) {
            operator.apply_to_each(&v, &mut u_next, &mut scratch);
            subtract(&mut u_next, &beta, &u);
            let alpha = normalise(&mut u_next);
            std::mem::swap(&mut u, &mut u_next);
            operator.adjoint_of_each(&u, &mut v_next, &mut scratch);
            subtract(&mut v_next, &alpha, &v);
            beta = normalise(&mut v_next);
            std::mem::swap(&mut v, &mut v_next);
            steps.push([squares(&alpha), squares(&beta)]);
        }
        Self {
            steps,
            rows: m as f64,
            cols: n as f64,
            mean_square,
            probes: PROBES,
        }
    }

    /// The mean square of the deviations of the coefficients from their laws, in units of their spread: one for independent entries; and
    /// the standard deviation of that mean.
    pub fn distance(&self) -> (f64, f64) {
        let square = |x: &[f64], n: f64| x.iter().map(|x| (x - n).powi(2) / (2.0 * n)).sum::<f64>();
        let each = self.steps.iter().enumerate().map(|(k, [alpha, beta])| {
            let k = k as f64;
            square(alpha, self.rows - k) + square(beta, self.cols - k - 1.0)
        });
        let count = (2 * self.steps.len() * self.probes) as f64;
        (each.sum::<f64>() / count, (2.0 / count).sqrt())
    }

    /// A lower bound on the largest singular value, relative to the edge $\sqrt s(\sqrt M + \sqrt N)$ of its law.
    pub fn largest(&self) -> f64 {
        let k = self.steps.len();
        let each = (0..self.probes).map(|p| {
            let b = Mat::from_fn(k, k, |i, j| match j {
                _ if i == j => self.steps[i][0][p].sqrt(),
                _ if j == i + 1 => self.steps[i][1][p].sqrt(),
                _ => 0.0,
            });
            b.singular_values().map_or(f64::NAN, |s| s[0])
        });
        each.fold(0.0, f64::max) / (self.rows.sqrt() + self.cols.sqrt())
    }

    /// The estimate of $\frac1N\operatorname{tr}(a_z + a_x W^T W)^{-1}$ and its standard error for independent entries, both relative to
    /// the $v$ that these have. Eliminating the chain from its end,
    /// $v_k = 1/(a_z + \frac{a_x\alpha_k^2}{1 + a_x\beta_k^2 v_{k+1}})$, which for the means of the coefficients is the law of
    /// Marchenko and Pastur. The mean of $\alpha_1^2$ is known, and its deviation taken off to first order.
    pub fn variance(&self, [a_z, a_x]: [f64; 2], v: f64) -> (f64, f64) {
        let (rows, cols, s) = (self.rows, self.cols, self.mean_square);
        let inverse = if a_x == f64::INFINITY { 0.0 } else { 1.0 / a_x };
        let step = |alpha: f64, beta: f64, next: f64| {
            1.0 / (a_z + s * alpha / (inverse + s * beta * next))
        };
        // derivatives of ln v_k by ln alpha_k and by ln beta_k or ln v_{k+1}, at the means
        let pulled = v * s * rows / (inverse + s * cols * v);
        let by_alpha = -pulled;
        let by_beta = pulled * s * cols * v / (inverse + s * cols * v);
        let law = step(rows, cols, v);
        let each = (0..self.probes).map(|p| {
            let coefficients = self.steps.iter().rev();
            let found = coefficients.fold(v, |next, [a, b]| step(a[p], b[p], next));
            let first = self.steps.first().map_or(0.0, |[a, _]| a[p] / rows - 1.0);
            found / law - by_alpha * first
        });
        let mean = each.sum::<f64>() / self.probes as f64;
        let (mut square, mut weight) = (0.0, 1.0_f64);
        for k in 0..self.steps.len() {
            let known = k == 0;
            let alpha = if known { 0.0 } else { by_alpha };
            square += weight.powi(2) * (alpha.powi(2) * 2.0 / rows + by_beta.powi(2) * 2.0 / cols);
            weight *= by_beta;
        }
        (mean, (square / self.probes as f64).sqrt())
    }
}

/// `x -= by y`, vector by vector.
fn subtract(x: &mut [f64], by: &[f64], y: &[f64]) {
    let len = x.len() / by.len();
    let vectors = x.chunks_exact_mut(len).zip(y.chunks_exact(len)).zip(by);
    for ((x, y), by) in vectors {
        x.iter_mut().zip(y).for_each(|(x, y)| *x -= by * y);
    }
}

/// Divides every vector by its norm, and returns the norms; a zero stays.
fn normalise(x: &mut [f64]) -> Vec<f64> {
    let len = x.len() / PROBES;
    let each = x.chunks_exact_mut(len).map(|x| {
        let norm = dot(x, x).sqrt();
        if norm > 0.0 {
            x.iter_mut().for_each(|x| *x /= norm);
        }
        norm
    });
    each.collect()
}
