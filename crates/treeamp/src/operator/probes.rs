//! Traces of functions of $A$ from random signs: how many probes, and what is known of the error.
//!
//! A probe $\xi$ with entries $\pm 1$ has $E\,\xi^T f(A)\,\xi = \mathrm{tr} f$ (Hutchinson). Its spread at the shift
//! $\sigma$ is measured, and as many probes are drawn as the accuracy needs. Where few eigenvalues carry the
//! trace of $(\sigma + A)^{-1}$ or of $A(\sigma + A)^{-1}$ no number of probes would do: then an orthonormal basis
//! $Q$ near their vectors is made by applying that function to random signs, the trace over $Q$ is taken
//! vector by vector, and probes are left with the rest (Hutch++).

use rand::{RngExt as _, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::dot_test::dot;
use super::jacobi::{Gram, Jacobi, Stop, jacobi};
use super::lanczos::LanczosOptions;
use crate::error::FactorError;

/// Probes that the spread is first measured on, and the most that are drawn.
const FIRST: usize = 32;
const MOST: usize = 512;
/// Sizes of the basis that are tried.
const BASES: [usize; 2] = [64, 256];
/// Fewest Lanczos steps: what other shifts and logarithms see.
const STEPS: usize = 60;
/// Share of the accuracy that the bounds of a Lanczos rule may take.
const SHARE: f64 = 0.2;
/// Solutions that only have to point the right way.
const ROUGH: f64 = 1e-3;
/// Nodes beyond this many are gathered.
const NODES: usize = 1 << 15;

/// Rules whose weighted sum is the spectral measure, and how good it is.
pub(super) struct Estimate {
    rules: Vec<(Jacobi, f64)>,
    /// Standard error of the variances at the shift, relative to the smaller one.
    pub error: f64,
    /// The largest distance between the bounds of a rule, relative to the same.
    pub gap: f64,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Goal {
    pub options: LanczosOptions,
    /// $\sigma$.
    pub shift: f64,
    /// Eigenvalues known to be zero, per eigenvalue of the smaller side.
    pub zeros: f64,
}

/// Random signs, the same for the same seed and number.
pub(super) fn signs(n: usize, seed: u64, number: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(number);
    let sign = |_| if rng.random::<bool>() { 1.0 } else { -1.0 };
    (0..n).map(sign).collect()
}

/// Takes the part along `basis` out of `v`.
fn project(basis: &[Vec<f64>], v: &mut [f64]) {
    for q in basis {
        let along = dot(q, v);
        v.iter_mut().zip(q).for_each(|(v, q)| *v -= along * q);
    }
}

impl Goal {
    fn stop(&self, n: usize, gap: Option<f64>) -> Stop {
        Stop {
            shift: self.shift,
            steps: (STEPS.min(n).min(self.options.steps), self.options.steps),
            gap,
            share: SHARE * self.options.accuracy,
        }
    }

    /// The scale of errors of $u$: of $v_z \propto u$ + zeros and of $v_x \propto 1 - u$.
    fn scale(&self, u: f64) -> f64 {
        (self.zeros + u).min(1.0 - u).max(f64::MIN_POSITIVE)
    }

    /// Probes alone.
    pub fn plain(&self, gram: &mut Gram<'_>) -> Estimate {
        self.sample(gram, &[], None)
    }

    /// An estimate whose probes scatter too much, again with a basis.
    pub fn refined(&self, gram: &mut Gram<'_>, mut best: Estimate) -> Estimate {
        let n = gram.len();
        for size in BASES.into_iter().filter(|k| 4 * k <= n) {
            if best.error <= self.options.accuracy || best.gap > self.options.accuracy {
                break;
            }
            let u = best.mean();
            let basis = self.basis(gram, size, u);
            let allowed = SHARE * self.options.accuracy * u.min(1.0 - u);
            let other = self.sample(gram, &basis, Some(allowed));
            if other.error < best.error {
                best = other;
            }
        }
        best
    }

    /// Probes outside a basis, and its vectors.
    fn sample(&self, gram: &mut Gram<'_>, basis: &[Vec<f64>], gap: Option<f64>) -> Estimate {
        let (n, size) = (gram.len(), basis.len());
        let stop = self.stop(n, gap);
        let rest = (n - size) as f64;
        let mut probes: Vec<Jacobi> = Vec::new();
        let inside: Vec<Jacobi> = basis
            .iter()
            .map(|q| jacobi(gram, q.clone(), stop))
            .collect();
        let within: f64 = inside.iter().map(Jacobi::u).sum();
        let mut wanted = match self.options.probes {
            0 => FIRST,
            given => given,
        };
        let error = loop {
            for number in probes.len()..wanted {
                let mut v = signs(n, self.options.seed, number as u64);
                project(basis, &mut v);
                probes.push(jacobi(gram, v, stop));
            }
            let count = probes.len() as f64;
            let mean = probes.iter().map(Jacobi::u).sum::<f64>() / count;
            let square: f64 = probes.iter().map(|p| (p.u() - mean).powi(2)).sum();
            let deviation = (square / (count - 1.0).max(1.0) / count).sqrt();
            let u = (within + rest * mean) / n as f64;
            let error = rest / n as f64 * deviation / self.scale(u);
            let needed = count * (error / self.options.accuracy).powi(2);
            let enough = error <= self.options.accuracy || self.options.probes > 0;
            if enough || !(needed <= MOST as f64) {
                break error;
            }
            wanted = probes.len() * 3 / 2;
        };
        let share = rest / (n * probes.len()) as f64;
        let outside = probes.into_iter().map(|p| (p, share));
        let inside = inside.into_iter().map(|q| (q, 1.0 / n as f64));
        let rules: Vec<(Jacobi, f64)> = inside.chain(outside).collect();
        let gap = rules.iter().map(|(r, w)| w * (r.high - r.low)).sum::<f64>();
        let mut made = Estimate {
            rules,
            error,
            gap: 0.0,
        };
        made.gap = gap / self.scale(made.mean());
        made
    }

    /// An orthonormal basis near the vectors of the smallest eigenvalues: $(\sigma + A)^{-1}$ of random signs; or
    /// of the largest, $A(\sigma + A)^{-1}$ of them, where those carry the smaller of the traces.
    fn basis(&self, gram: &mut Gram<'_>, size: usize, u: f64) -> Vec<Vec<f64>> {
        let n = gram.len();
        let mut basis: Vec<Vec<f64>> = Vec::with_capacity(size);
        for number in 0..size {
            // other numbers than those of the probes
            let start = signs(n, self.options.seed, (1 << 32) + number as u64);
            let mut v = solution(gram, &start, self.shift, self.options.steps);
            if self.zeros + u > 1.0 - u {
                let parts = v.iter_mut().zip(&start);
                parts.for_each(|(v, s)| *v = s - self.shift * *v);
            }
            let before = dot(&v, &v).sqrt();
            // twice is enough (Kahan)
            project(&basis, &mut v);
            project(&basis, &mut v);
            let size = dot(&v, &v).sqrt();
            if size > 1e-8 * before {
                v.iter_mut().for_each(|v| *v /= size);
                basis.push(v);
            }
        }
        basis
    }
}

/// A rough $(\sigma + A)^{-1} b$ by conjugate gradients.
fn solution(gram: &mut Gram<'_>, b: &[f64], shift: f64, steps: usize) -> Vec<f64> {
    let n = b.len();
    let (mut x, mut residual, mut direction) = (vec![0.0; n], b.to_vec(), b.to_vec());
    let mut product = vec![0.0; n];
    let mut rho = dot(&residual, &residual);
    let goal = ROUGH * ROUGH * rho;
    for _ in 0..steps {
        gram.apply(&direction, &mut product);
        for (p, d) in product.iter_mut().zip(&direction) {
            *p += shift * d;
        }
        let step = rho / dot(&direction, &product);
        for i in 0..n {
            x[i] += step * direction[i];
            residual[i] -= step * product[i];
        }
        let next = dot(&residual, &residual);
        if !(next > goal) {
            break;
        }
        let turn = next / rho;
        for (d, r) in direction.iter_mut().zip(&residual) {
            *d = r + turn * *d;
        }
        rho = next;
    }
    x
}

impl Estimate {
    fn mean(&self) -> f64 {
        self.rules.iter().map(|(r, w)| w * r.u()).sum()
    }

    /// All nodes; the weights add up to one.
    pub fn nodes(self) -> Result<Vec<(f64, f64)>, FactorError> {
        let mut nodes = Vec::new();
        for (jacobi, weight) in self.rules {
            let rule = jacobi.rule()?;
            nodes.extend(rule.into_iter().map(|(l, w)| (l.max(0.0), weight * w)));
        }
        Ok(if nodes.len() > NODES {
            gathered(nodes)
        } else {
            nodes
        })
    }
}

/// Neighbours within a thousandth of each other become one, which moves a smooth average by a
/// millionth.
fn gathered(mut nodes: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    nodes.retain(|n| n.1 > 0.0);
    nodes.sort_by(|x, y| x.0.total_cmp(&y.0));
    let mut few: Vec<(f64, f64)> = Vec::new();
    let mut first = f64::NEG_INFINITY;
    for (l, w) in nodes {
        match few.last_mut() {
            Some(last) if l <= first * 1.001 => {
                let total = last.1 + w;
                last.0 += (l - last.0) * w / total;
                last.1 = total;
            }
            _ => {
                first = l;
                few.push((l, w));
            }
        }
    }
    few
}
