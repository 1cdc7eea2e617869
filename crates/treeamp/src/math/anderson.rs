//! Anderson acceleration of a fixed-point iteration $x \leftarrow g(x)$.
//!
//! With $f = g - x$ and the differences $\Delta F$ of $f$ and $\Delta G$ of $g$ between the last few steps, the next state is
//! $g - \Delta G\,\gamma$, where $\gamma$ makes $\|f - \Delta F\,\gamma\|$ least: the secant method in many dimensions. The norm is the
//! caller's, as an inner product, and must stay the same until the differences are forgotten.

/// The last steps. Its memory is taken once.
#[derive(Debug, Clone)]
pub(crate) struct Anderson {
    /// Directions are distinguished down to this fraction of the largest.
    ridge: f64,
    /// Differences, the newest at `count - 1` modulo the depth.
    delta_f: Vec<Vec<f64>>,
    delta_g: Vec<Vec<f64>>,
    last_f: Vec<f64>,
    last_g: Vec<f64>,
    count: usize,
    has_last: bool,
    /// The products of the differences of $f$, row by row, and room to factorise them.
    gram: Vec<f64>,
    factor: Vec<f64>,
    gamma: Vec<f64>,
}

impl Anderson {
    /// Room for this many differences of states of `len` numbers.
    pub fn new(len: usize, depth: usize, ridge: f64) -> Self {
        // one by one: zeroed memory that is not yet used costs nothing
        let rows = || (0..depth).map(|_| vec![0.0; len]).collect();
        Self {
            ridge,
            delta_f: rows(),
            delta_g: rows(),
            last_f: vec![0.0; len],
            last_g: vec![0.0; len],
            count: 0,
            has_last: false,
            gram: vec![0.0; depth * depth],
            factor: vec![0.0; depth * depth],
            gamma: vec![0.0; depth],
        }
    }

    fn depth(&self) -> usize {
        self.gamma.len()
    }

    /// Nothing is remembered: the next step may be measured in another norm.
    pub fn is_blank(&self) -> bool {
        !self.has_last
    }

    /// There are differences to go by.
    pub fn has_past(&self) -> bool {
        self.has_last && self.count > 0
    }

    /// Where the last step led, $g$.
    pub fn last(&self) -> &[f64] {
        &self.last_g
    }

    /// The residual of the last step, $f$.
    pub fn last_residual(&self) -> &[f64] {
        &self.last_f
    }

    /// The map is another one now.
    pub fn forget(&mut self) {
        self.count = 0;
        self.has_last = false;
    }

    /// Takes a step: its residual $f$ and where it led, $g$.
    pub fn remember(&mut self, f: &[f64], g: &[f64], dot: impl Fn(&[f64], &[f64]) -> f64) {
        if self.has_last {
            let (depth, slot) = (self.depth(), self.count % self.depth());
            differ(&mut self.delta_f[slot], f, &self.last_f);
            differ(&mut self.delta_g[slot], g, &self.last_g);
            self.count += 1;
            for k in 0..self.count.min(depth) {
                let product = dot(&self.delta_f[slot], &self.delta_f[k]);
                self.gram[slot * depth + k] = product;
                self.gram[k * depth + slot] = product;
            }
        }
        self.last_f.copy_from_slice(f);
        self.last_g.copy_from_slice(g);
        self.has_last = true;
    }

    /// Writes $-\Delta G\,\gamma$, what is to be added to $g$ after the residual in `out`, which it replaces. False, and `out` as it was,
    /// when the differences do not tell.
    pub fn correct(&mut self, out: &mut [f64], dot: impl Fn(&[f64], &[f64]) -> f64) -> bool {
        let n = self.count.min(self.depth());
        for k in 0..n {
            self.gamma[k] = dot(&self.delta_f[k], out);
        }
        if n == 0 || !self.solve(n) {
            return false;
        }
        out.fill(0.0);
        for (weight, delta) in self.gamma.iter().zip(&self.delta_g).take(n) {
            for (out, d) in out.iter_mut().zip(delta) {
                *out -= weight * d;
            }
        }
        true
    }

    /// Solves $(G + \epsilon\,\mathrm{diag}\,G)\,\gamma = y$ by Cholesky's decomposition, in place; false when $G$ has nothing in it.
    fn solve(&mut self, n: usize) -> bool {
        let depth = self.depth();
        let (l, y) = (&mut self.factor, &mut self.gamma);
        for i in 0..n {
            for j in 0..=i {
                let dot: f64 = (0..j).map(|k| l[i * depth + k] * l[j * depth + k]).sum();
                let entry = self.gram[i * depth + j];
                if i == j {
                    let rest = entry * (1.0 + self.ridge) - dot;
                    if !(rest > 0.0) {
                        return false;
                    }
                    l[i * depth + i] = rest.sqrt();
                } else {
                    l[i * depth + j] = (entry - dot) / l[j * depth + j];
                }
            }
        }
        for i in 0..n {
            let dot: f64 = (0..i).map(|k| l[i * depth + k] * y[k]).sum();
            y[i] = (y[i] - dot) / l[i * depth + i];
        }
        for i in (0..n).rev() {
            let dot: f64 = (i + 1..n).map(|k| l[k * depth + i] * y[k]).sum();
            y[i] = (y[i] - dot) / l[i * depth + i];
        }
        true
    }
}

/// $x^T y$, in eight sums side by side: one alone waits for every addition.
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (xs, ys) = (x.chunks_exact(LANES), y.chunks_exact(LANES));
    let rest = xs.remainder().iter().zip(ys.remainder());
    let rest: f64 = rest.map(|(x, y)| x * y).sum();
    for (x, y) in xs.zip(ys) {
        for (sum, (x, y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *sum += x * y;
        }
    }
    sums.iter().sum::<f64>() + rest
}

fn differ(out: &mut [f64], new: &[f64], old: &[f64]) {
    for (d, (x, y)) in out.iter_mut().zip(new.iter().zip(old)) {
        *d = x - y;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a linear map of dimension `n`, the step after `n` differences is the fixed point.
    #[test]
    fn a_linear_map_is_solved_after_as_many_steps_as_it_has_dimensions() {
        let map = |x: &[f64]| {
            vec![
                0.9 * x[0] - 0.3 * x[1] + 1.0,
                0.2 * x[0] + 0.5 * x[1] - 0.1 * x[2],
                0.95 * x[2] + 2.0,
            ]
        };
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        let mut anderson = Anderson::new(3, 3, 0.0);
        let mut x = vec![0.0; 3];
        for step in 0..4 {
            let g = map(&x);
            let mut f: Vec<f64> = g.iter().zip(&x).map(|(g, x)| g - x).collect();
            anderson.remember(&f, &g, dot);
            assert_eq!(anderson.correct(&mut f, dot), step > 0);
            x = if step > 0 {
                g.iter().zip(&f).map(|(g, c)| g + c).collect()
            } else {
                g
            };
        }
        // the fixed point: x2 = 40, and two equations for the others; conditioned to 1e3
        for (x, g) in x.iter().zip(map(&x)) {
            assert!((x - g).abs() < 1e-9, "{x} {g}");
        }
    }
}
