//! Gauss-Legendre rules, and adaptive integration for tests.

use std::f64::consts::PI;
use std::sync::OnceLock;

/// An $N$-point Gauss-Legendre rule on $[0, 1]$: exact for polynomials of degree $2N - 1$.
#[derive(Debug, Clone, Copy)]
pub struct GaussLegendre<const N: usize> {
    /// Nodes in $(0, 1)$, ascending.
    pub nodes: [f64; N],
    /// Positive weights of sum one.
    pub weights: [f64; N],
    /// $w_i P_n(2 t_i - 1)$ for $n = N-2, N-1$: sums against them are the last Legendre coefficients of
    /// an integrand, whose decay tells whether it is resolved.
    pub tail: [[f64; N]; 2],
}

impl<const N: usize> GaussLegendre<N> {
    /// Newton's iteration on $P_N$ from $\cos(\pi (i + 3/4)/(N + 1/2))$.
    fn new() -> Self {
        let n = N as f64;
        let (mut nodes, mut weights) = ([0.5; N], [1.0; N]);
        for i in 0..N.div_ceil(2) {
            let mut x = (PI * (i as f64 + 0.75) / (n + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..8 {
                let (value, previous) = legendre(N, x);
                slope = n * (previous - x * value) / (1.0 - x * x);
                x -= value / slope;
            }
            let weight = 1.0 / ((1.0 - x * x) * slope * slope);
            (nodes[i], weights[i]) = (0.5 * (1.0 - x), weight);
            (nodes[N - 1 - i], weights[N - 1 - i]) = (0.5 * (1.0 + x), weight);
        }
        let mut tail = [[0.0; N]; 2];
        for i in 0..N {
            let (last, previous) = legendre(N - 1, 2.0 * nodes[i] - 1.0);
            (tail[0][i], tail[1][i]) = (weights[i] * previous, weights[i] * last);
        }
        Self {
            nodes,
            weights,
            tail,
        }
    }

    /// $|c_{N-2}| + |c_{N-1}|$ of the values of a function at the nodes.
    #[must_use]
    pub fn tail_size(&self, values: &[f64; N]) -> f64 {
        let dot = |row: &[f64; N]| row.iter().zip(values).map(|(w, f)| w * f).sum::<f64>();
        dot(&self.tail[0]).abs() + dot(&self.tail[1]).abs()
    }
}

/// $P_n(x)$ and $P_{n-1}(x)$.
#[must_use]
pub fn legendre(n: usize, x: f64) -> (f64, f64) {
    (1..=n).fold((1.0, 0.0), |(p, previous), k| {
        let k = k as f64;
        (((2.0 * k - 1.0) * x * p - (k - 1.0) * previous) / k, p)
    })
}

/// The rule of 32 points: one panel of a truncated exponential falling by $e^{-30}$.
pub fn rule32() -> &'static GaussLegendre<32> {
    static RULE: OnceLock<GaussLegendre<32>> = OnceLock::new();
    RULE.get_or_init(GaussLegendre::new)
}

/// The rule of 16 points, for adaptive panels.
// public for the tests of this crate, whose independent averages are sums over its nodes
#[doc(hidden)]
pub fn rule16() -> &'static GaussLegendre<16> {
    static RULE: OnceLock<GaussLegendre<16>> = OnceLock::new();
    RULE.get_or_init(GaussLegendre::new)
}

/// $\int f$ over consecutive intervals, halving a panel until both halves agree with it.
///
/// `breaks` are ascending and should include the corners of `f`. Panels are refined to a relative
/// error `tolerance` of the largest integral of $|f_k|$ met so far, at most forty times.
// public for the tests of this crate, which integrate definitions with it
#[doc(hidden)]
pub fn integrate<const K: usize>(
    f: impl Fn(f64) -> [f64; K],
    breaks: &[f64],
    tolerance: f64,
) -> [f64; K] {
    let rule = rule16();
    let panel = |lo: f64, hi: f64| {
        let (mut sum, mut size) = ([0.0; K], [0.0; K]);
        for (node, weight) in rule.nodes.iter().zip(&rule.weights) {
            let value = f((hi - lo).mul_add(*node, lo));
            for k in 0..K {
                sum[k] += (hi - lo) * weight * value[k];
                size[k] += (hi - lo) * weight * value[k].abs();
            }
        }
        (sum, size)
    };
    let mut scale = [0.0_f64; K];
    let mut total = [0.0; K];
    let mut todo: Vec<(f64, f64, u32)> = breaks.windows(2).map(|w| (w[0], w[1], 0)).collect();
    for &(lo, hi, _) in &todo {
        let (_, size) = panel(lo, hi);
        (0..K).for_each(|k| scale[k] = scale[k].max(size[k]));
    }
    while let Some((lo, hi, depth)) = todo.pop() {
        let mid = 0.5 * (lo + hi);
        let (whole, _) = panel(lo, hi);
        let ((left, size_left), (right, size_right)) = (panel(lo, mid), panel(mid, hi));
        (0..K).for_each(|k| scale[k] = scale[k].max(size_left[k] + size_right[k]));
        let done = (0..K).all(|k| (whole[k] - left[k] - right[k]).abs() <= tolerance * scale[k]);
        if done || depth >= 40 {
            (0..K).for_each(|k| total[k] += left[k] + right[k]);
        } else {
            todo.push((mid, hi, depth + 1));
            todo.push((lo, mid, depth + 1));
        }
    }
    total
}
