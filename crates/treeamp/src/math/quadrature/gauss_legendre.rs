//! Gauss-Legendre rules on $[0, 1]$.

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
    /// an integrand, whose decay shows whether it is resolved.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn moment<const N: usize>(rule: &GaussLegendre<N>, power: i32) -> f64 {
        let terms = rule.nodes.iter().zip(&rule.weights);
        terms.map(|(x, w)| w * x.powi(power)).sum()
    }

    /// $\int_0^1x^k = 1/(k + 1)$ up to degree $2N - 1$, and not at $2N$.
    #[test]
    fn rules_are_exact_to_their_degree() {
        for power in [0, 1, 2, 7, 16, 31] {
            let exact = 1.0 / f64::from(power + 1);
            assert!((moment(rule16(), power) - exact).abs() < 1e-15, "{power}");
            assert!((moment(rule32(), power) - exact).abs() < 1e-15, "{power}");
        }
        assert!((moment(rule32(), 63) - 1.0 / 64.0).abs() < 1e-15);
        // the first power that sixteen points miss, by the square of the norm of a Legendre polynomial
        assert!((moment(rule16(), 32) - 1.0 / 33.0).abs() > 1e-20);
    }

    /// The tail of a polynomial of low degree is rounding, and that of a step is not.
    #[test]
    fn tails_tell_what_is_resolved() {
        let rule = rule16();
        let smooth = rule.nodes.map(|x| 1.0 - 3.0 * x + x.powi(9));
        assert!(rule.tail_size(&smooth) < 1e-14);
        let step = rule.nodes.map(|x| f64::from(u8::from(x > 0.4)));
        assert!(rule.tail_size(&step) > 1e-3);
    }
}
