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

/// Probes that tell whether probes alone will do, that the spread is measured on, and the most that are drawn: for
/// variances, and for evidence.
const FEWEST: usize = 8;
const FIRST: usize = 32;
const MOST: usize = 512;
const MOST_FOR_EVIDENCE: usize = 1 << 13;
/// Sizes of the basis that are tried, and the most numbers in it.
const BASES: [usize; 6] = [16, 32, 64, 128, 256, 512];
const LARGEST_BASIS: usize = 1 << 26;
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
    /// Standard error of $\frac12\mathrm{tr}\ln(\sigma + A)$, where a bound was asked for.
    pub log_error: f64,
    /// How many of the rules are those of a basis, and how many eigenvalues the probes stand for.
    inside: usize,
    rest: f64,
}

/// The rules of the probes one by one: how far functions of $A$ that were not asked for are off.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scatter {
    rules: Vec<Vec<(f64, f64)>>,
    /// Eigenvalues that the probes stand for.
    share: f64,
}

impl Scatter {
    /// The standard error of $\mathrm{tr} f(A)$; zero without probes.
    pub fn error(&self, f: impl Fn(f64) -> f64) -> f64 {
        let value = |rule: &Vec<(f64, f64)>| rule.iter().map(|(l, w)| w * f(*l)).sum();
        let values: Vec<f64> = self.rules.iter().map(value).collect();
        if values.is_empty() {
            return 0.0;
        }
        self.share * mean_and_error(&values).1
    }
}

/// The mean and its standard error, which one value alone does not have.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let square: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    if values.len() < 2 {
        return (mean, f64::INFINITY);
    }
    (mean, (square / (count - 1.0) / count).sqrt())
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
        let stop = self.stop(gram.len(), None);
        self.sample(gram, &[], &[], stop)
    }

    /// An estimate whose probes scatter too much, again with a basis: of the size that promises the least work, and of
    /// larger ones while that is not enough.
    pub fn refined(&self, gram: &mut Gram<'_>, mut best: Estimate) -> Estimate {
        let n = gram.len();
        let (mut basis, mut inside): (Vec<Vec<f64>>, Vec<Jacobi>) = (Vec::new(), Vec::new());
        let room = |k: &usize| 4 * k <= n && k * n <= LARGEST_BASIS;
        let sizes: Vec<usize> = BASES.into_iter().filter(room).collect();
        let first = self.promising_size(&best, n, &sizes);
        for size in sizes.into_iter().filter(|k| *k >= first) {
            if best.error <= self.options.accuracy || best.gap > self.options.accuracy {
                break;
            }
            let u = best.mean();
            self.extend(gram, &mut basis, size, u);
            let allowed = SHARE * self.options.accuracy * u.min(1.0 - u);
            let stop = self.stop(n, Some(allowed));
            let fresh = basis[inside.len()..].iter();
            inside.extend(fresh.map(|q| jacobi(gram, q.clone(), stop)));
            let other = self.sample(gram, &basis, &inside, stop);
            if other.error < best.error {
                best = other;
            }
        }
        best
    }

    /// The size $k$ of a basis with the least work: two solutions per vector, and the probes that the eigenvalues beyond
    /// the first $k$ ask for, by the spectrum that the probes so far have seen. A probe has at most the variance
    /// $2\sum f^2$ over those.
    fn promising_size(&self, seen: &Estimate, n: usize, sizes: &[usize]) -> usize {
        let u = seen.mean();
        let small = self.zeros + u <= 1.0 - u;
        let mut nodes: Vec<(f64, f64)> = Vec::new();
        for (rule, weight) in &seen.rules {
            let rule = rule.nodes().unwrap_or_default();
            nodes.extend(rule.into_iter().map(|(l, w)| {
                let share = self.shift / (self.shift + l.max(0.0));
                let f = if small { share } else { 1.0 - share };
                (f, weight * w * n as f64)
            }));
        }
        nodes.sort_by(|x, y| y.0.total_cmp(&x.0));
        let allowed = self.options.accuracy * self.scale(u) * n as f64;
        let work = |size: &usize| {
            let (mut left, mut square) = (*size as f64, 0.0);
            for (f, count) in &nodes {
                let inside = left.min(*count);
                left -= inside;
                square += (count - inside) * f * f;
            }
            let probes = 2.0 * square / (allowed * allowed);
            2.0 * *size as f64 + probes.max(FIRST as f64)
        };
        let best = sizes.iter().min_by(|x, y| work(x).total_cmp(&work(y)));
        best.copied().unwrap_or(0)
    }

    /// Probes outside a basis, and its vectors.
    fn sample(
        &self,
        gram: &mut Gram<'_>,
        basis: &[Vec<f64>],
        inside: &[Jacobi],
        stop: Stop,
    ) -> Estimate {
        let n = gram.len();
        let rest = (n - basis.len()) as f64;
        let within: f64 = inside.iter().map(Jacobi::u).sum();
        let mut probes: Vec<Jacobi> = Vec::new();
        let mut logs: Vec<f64> = Vec::new();
        let mut wanted = match self.options.probes {
            0 => FEWEST,
            given => given,
        };
        let (error, log_error) = loop {
            for number in probes.len()..wanted {
                let mut v = signs(n, self.options.seed, number as u64);
                project(basis, &mut v);
                probes.push(jacobi(gram, v, stop));
            }
            let values: Vec<f64> = probes.iter().map(Jacobi::u).collect();
            let (mean, deviation) = mean_and_error(&values);
            let u = (within + rest * mean) / n as f64;
            let error = rest / n as f64 * deviation / self.scale(u);
            let log_error = rest * self.log_error(&probes, &mut logs);
            if self.is_over(probes.len(), error, log_error) {
                break (error, log_error);
            }
            wanted = FIRST.max(probes.len() * 3 / 2);
        };
        let share = rest / (n * probes.len()) as f64;
        let outside = probes.into_iter().map(|p| (p, share));
        let inside = inside.iter().map(|q| (q.clone(), 1.0 / n as f64));
        let rules: Vec<(Jacobi, f64)> = inside.chain(outside).collect();
        let gap = rules.iter().map(|(r, w)| w * (r.high - r.low)).sum::<f64>();
        let mut made = Estimate {
            rules,
            error,
            gap: 0.0,
            log_error,
            inside: basis.len(),
            rest,
        };
        made.gap = gap / self.scale(made.mean());
        made
    }

    /// The standard error of $\frac12\xi^T\ln(\sigma + A)\,\xi$, where a bound is asked for; `logs` has those of the first probes.
    fn log_error(&self, probes: &[Jacobi], logs: &mut Vec<f64>) -> f64 {
        if self.options.evidence == f64::INFINITY {
            return 0.0;
        }
        logs.extend(probes[logs.len()..].iter().map(|p| p.log(self.shift)));
        0.5 * mean_and_error(logs).1
    }

    /// So many probes are enough, or nothing that may be drawn would be.
    fn is_over(&self, count: usize, error: f64, log_error: f64) -> bool {
        let for_variance = error / self.options.accuracy;
        let for_evidence = log_error / self.options.evidence;
        let needed = |ratio: f64| count as f64 * ratio * ratio;
        let good = for_variance.max(for_evidence) <= 1.0 && count >= FIRST;
        let enough = good || self.options.probes > 0;
        let hopeless = !(needed(for_variance) <= MOST as f64)
            || !(needed(for_evidence) <= MOST_FOR_EVIDENCE as f64);
        enough || hopeless
    }

    /// More vectors of an orthonormal basis near those of the smallest eigenvalues: $(\sigma + A)^{-1}$ of random signs; or
    /// of the largest, $A(\sigma + A)^{-1}$ of them, where those carry the smaller of the traces.
    fn extend(&self, gram: &mut Gram<'_>, basis: &mut Vec<Vec<f64>>, size: usize, u: f64) {
        let n = gram.len();
        for number in basis.len()..size {
            // other numbers than those of the probes
            let start = signs(n, self.options.seed, (1 << 32) + number as u64);
            let mut v = solution(gram, &start, self.shift, self.options.steps);
            if self.zeros + u > 1.0 - u {
                let parts = v.iter_mut().zip(&start);
                parts.for_each(|(v, s)| *v = s - self.shift * *v);
            }
            let before = dot(&v, &v).sqrt();
            // twice is enough (Kahan)
            project(basis, &mut v);
            project(basis, &mut v);
            let size = dot(&v, &v).sqrt();
            if size > 1e-8 * before {
                v.iter_mut().for_each(|v| *v /= size);
                basis.push(v);
            }
        }
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

    /// All nodes, whose weights add up to one, and the rules of the probes.
    pub fn nodes(self) -> Result<(Vec<(f64, f64)>, Scatter), FactorError> {
        let mut nodes = Vec::new();
        let mut scatter = Scatter {
            rules: Vec::new(),
            share: self.rest,
        };
        for (number, (jacobi, weight)) in self.rules.into_iter().enumerate() {
            let rule = jacobi.nodes()?.into_iter().map(|(l, w)| (l.max(0.0), w));
            let rule: Vec<(f64, f64)> = rule.collect();
            nodes.extend(rule.iter().map(|(l, w)| (*l, weight * w)));
            if number >= self.inside {
                scatter.rules.push(gathered(rule));
            }
        }
        if nodes.len() > NODES {
            nodes = gathered(nodes);
        }
        Ok((nodes, scatter))
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
