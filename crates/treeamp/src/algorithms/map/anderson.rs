//! Anderson acceleration of a fixed-point iteration $s \leftarrow F(s)$, by its last steps.

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};

/// Steps that it remembers.
const MEMORY: usize = 30;
/// What its normal equations are regularised by, relative.
const REGULARISATION: f64 = 1e-8;

/// The last differences of states and of residuals $g = F(s) - s$, in a metric.
pub(super) struct Anderson {
    states: Vec<Vec<f64>>,
    residuals: Vec<Vec<f64>>,
    /// The products of the residual differences.
    gram: Vec<Vec<f64>>,
    last: Option<(Vec<f64>, Vec<f64>)>,
}

impl Anderson {
    pub fn new() -> Self {
        Self {
            states: Vec::new(),
            residuals: Vec::new(),
            gram: Vec::new(),
            last: None,
        }
    }

    pub fn forget(&mut self) {
        self.states.clear();
        self.residuals.clear();
        self.gram.clear();
        self.last = None;
    }

    /// Takes a state and its residual, and gives the next state, $s + g - \sum_k\gamma_k(\Delta s_k + \Delta g_k)$ with the
    /// $\gamma$ that makes $\|g - \sum_k\gamma_k\Delta g_k\|$ least in the norm of `weights`. `None` without a past.
    pub fn next(&mut self, s: &[f64], g: &[f64], weights: &[f64]) -> Option<Vec<f64>> {
        let dot = |x: &[f64], y: &[f64]| -> f64 {
            let pairs = x.iter().zip(y).zip(weights);
            pairs.map(|((x, y), w)| w * x * y).sum()
        };
        if let Some((s0, g0)) = self.last.take() {
            if self.states.len() == MEMORY {
                self.states.remove(0);
                self.residuals.remove(0);
                self.gram.remove(0);
                self.gram.iter_mut().for_each(|row| {
                    row.remove(0);
                });
            }
            self.states.push(difference(s, &s0));
            let new = difference(g, &g0);
            let mut row: Vec<f64> = self.residuals.iter().map(|r| dot(r, &new)).collect();
            row.push(dot(&new, &new));
            self.gram.push(row);
            self.residuals.push(new);
        }
        self.last = Some((s.to_vec(), g.to_vec()));
        let n = self.residuals.len();
        if n == 0 {
            return None;
        }
        // scaled to unit residuals: the last of them are much smaller than the first
        let size: Vec<f64> = (0..n).map(|i| self.gram[i][i].sqrt()).collect();
        if size.iter().any(|s| !(*s > 0.0)) {
            self.forget();
            return None;
        }
        let gram = Mat::from_fn(n, n, |i, j| {
            let entry = self.gram[i.max(j)][i.min(j)] / (size[i] * size[j]);
            entry + if i == j { REGULARISATION } else { 0.0 }
        });
        let right = Mat::from_fn(n, 1, |i, _| dot(&self.residuals[i], g) / size[i]);
        let gamma = gram.llt(Side::Lower).ok()?.solve(&right);
        let mut next: Vec<f64> = s.iter().zip(g).map(|(s, g)| s + g).collect();
        for k in 0..n {
            let weight = gamma[(k, 0)] / size[k];
            let steps = self.states[k].iter().zip(&self.residuals[k]);
            for (x, (ds, dg)) in next.iter_mut().zip(steps) {
                *x -= weight * (ds + dg);
            }
        }
        next.iter().all(|x| x.is_finite()).then_some(next)
    }
}

fn difference(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x - y).collect()
}
