//! The ascent of the inner problem: limited-memory BFGS with a line search on slopes.

use super::inner::{Dual, TRIALS};

/// Pairs of steps and gradients that the quasi-Newton ascent remembers; with 12 it takes twice as long.
const MEMORY: usize = 40;
/// Its steps per inner loop.
const INNER_LIMIT: usize = 60;

/// A quasi-Newton minimisation of the convex $\sum_f A_f$. Its line search looks at slopes alone: along a
/// line they increase, and values of order $a\|r\|^2$ have lost the digits that matter.
pub(super) struct Ascent {
    gradient: Vec<f64>,
    next: Vec<f64>,
    direction: Vec<f64>,
    pairs: Vec<(Vec<f64>, Vec<f64>)>,
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

impl Ascent {
    pub fn new(n: usize) -> Self {
        Self {
            gradient: vec![0.0; n],
            next: vec![0.0; n],
            direction: vec![0.0; n],
            pairs: Vec::with_capacity(MEMORY + 1),
        }
    }

    /// Goes on until the factors agree to `goal`; gives how far they still disagree.
    pub fn maximise(&mut self, dual: &mut Dual<'_>, goal: f64) -> f64 {
        let mut mismatch = dual.gradient(&mut self.gradient);
        if dual.rescaled {
            // the scales of the coordinates have changed
            self.pairs.clear();
            dual.rescaled = false;
        }
        for _ in 0..INNER_LIMIT {
            if mismatch <= goal {
                break;
            }
            self.aim();
            // where variances vanish, curvatures overflow: without their memory the direction is the gradient
            let finite = self.direction.iter().all(|d| d.is_finite());
            let found = if finite { self.search(dual) } else { None };
            let Some((t, found)) = found else {
                if self.pairs.is_empty() {
                    break;
                }
                self.pairs.clear();
                continue;
            };
            let step: Vec<f64> = self.direction.iter().map(|d| t * d).collect();
            let turn: Vec<f64> = self
                .next
                .iter()
                .zip(&self.gradient)
                .map(|(x, y)| x - y)
                .collect();
            if dot(&step, &turn) > 0.0 {
                if self.pairs.len() == MEMORY {
                    self.pairs.remove(0);
                }
                self.pairs.push((step, turn));
            }
            std::mem::swap(&mut self.gradient, &mut self.next);
            mismatch = found;
        }
        mismatch
    }

    /// $-H\nabla$ by the two loops of limited-memory BFGS.
    fn aim(&mut self) {
        let d = &mut self.direction;
        d.copy_from_slice(&self.gradient);
        let mut weights = [0.0; MEMORY];
        for (k, (s, y)) in self.pairs.iter().enumerate().rev() {
            weights[k] = dot(s, d) / dot(s, y);
            d.iter_mut().zip(y).for_each(|(d, y)| *d -= weights[k] * y);
        }
        if let Some((s, y)) = self.pairs.last() {
            let scale = dot(s, y) / dot(y, y);
            d.iter_mut().for_each(|d| *d *= scale);
        }
        for (k, (s, y)) in self.pairs.iter().enumerate() {
            let back = weights[k] - dot(y, d) / dot(s, y);
            d.iter_mut().zip(s).for_each(|(d, s)| *d += back * s);
        }
        d.iter_mut().for_each(|d| *d = -*d);
    }

    /// A step at which the slope is at most half of what it was. The dual is left there, with its gradient
    /// in `next`; without one it is left where it was.
    fn search(&mut self, dual: &mut Dual<'_>) -> Option<(f64, f64)> {
        let start = dot(&self.direction, &self.gradient);
        let kept = dual.lambda.clone();
        let (mut low, mut high, mut t) = (0.0_f64, f64::INFINITY, 1.0);
        for _ in 0..TRIALS {
            dual.lambda.clone_from(&kept);
            dual.shift(&self.direction, t);
            if dual.evaluate().is_err() {
                high = t;
            } else {
                let mismatch = dual.gradient(&mut self.next);
                let slope = dot(&self.direction, &self.next);
                // a slope that overflows is far beyond the minimum
                if slope.abs() <= -0.5 * start {
                    return Some((t, mismatch));
                }
                if slope <= 0.0 {
                    low = t;
                } else {
                    high = t;
                }
            }
            t = if high.is_finite() {
                0.5 * (low + high)
            } else {
                2.0 * t
            };
        }
        // up to an edge of the proper laws the slope may stay negative
        dual.lambda.clone_from(&kept);
        if low > 0.0 {
            dual.shift(&self.direction, low);
            if dual.evaluate().is_ok() {
                let mismatch = dual.gradient(&mut self.next);
                return Some((low, mismatch));
            }
            dual.lambda.clone_from(&kept);
        }
        // the moments of where it was
        let _ = dual.evaluate();
        None
    }
}
