//! Lanczos steps from one vector: the Jacobi matrix $T$ of its spectral measure, bounds of
//! $\xi^T(\sigma + A)^{-1}\xi$ from it, and its Gauss rule.
//!
//! With the pivots $d_{j+1} = \alpha_{j+1} + \sigma - \beta_j^2/d_j$ of $T + \sigma$ and $y_{j+1} = y_j\beta_j/d_j$, the
//! Gauss value $\sum_j y_j^2/d_j$ is a lower bound that grows with every step. A node held at $\lambda = 0$
//! (Gauss-Radau) adds $y_{j+1}^2/e_{j+1}$, $e_{j+1} = \sigma + \beta_j^2 e_j/[d_j(d_j - e_j)]$, and is an upper
//! bound (Golub and Meurant; Meurant and Tichý).

use super::LinearOperator;
use super::dot_test::dot;
use crate::error::FactorError;

/// QL steps per eigenvalue, on average: two are usual, a single eigenvalue of a long matrix may take many more.
const TURNS: usize = 60;

/// Products with $W^T W$, or with $W W^T$ where that is smaller: the other has the same eigenvalues, and
/// zeros.
pub(super) struct Gram<'a> {
    pub operator: &'a dyn LinearOperator,
    outer: bool,
    between: Vec<f64>,
    scratch: Vec<f64>,
}

impl<'a> Gram<'a> {
    pub fn new(operator: &'a dyn LinearOperator) -> Self {
        let (n, m) = (operator.input().len(), operator.output().len());
        Self {
            operator,
            outer: m < n,
            between: vec![0.0; n.max(m)],
            scratch: vec![0.0; operator.scratch_len(1)],
        }
    }

    /// The size of the smaller side.
    pub fn len(&self) -> usize {
        let (n, m) = (self.operator.input().len(), self.operator.output().len());
        n.min(m)
    }

    pub fn apply(&mut self, z: &[f64], out: &mut [f64]) {
        if self.outer {
            self.operator
                .adjoint(z, &mut self.between, &mut self.scratch);
            self.operator.apply(&self.between, out, &mut self.scratch);
        } else {
            self.operator.apply(z, &mut self.between, &mut self.scratch);
            self.operator.adjoint(&self.between, out, &mut self.scratch);
        }
    }
}

/// When the steps from one vector end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stop {
    /// The shift $\sigma$ at which the bounds are compared.
    pub shift: f64,
    /// Fewest and most steps.
    pub steps: (usize, usize),
    /// The bounds of $u = \sigma\,\xi^T(\sigma + A)^{-1}\xi$ may be so far apart; `None` for a share of $u$ and of $1 - u$.
    pub gap: Option<f64>,
    /// That share.
    pub share: f64,
}

/// The Jacobi matrix of a vector of norm one.
#[derive(Debug, Clone)]
pub(super) struct Jacobi {
    diagonal: Vec<f64>,
    off: Vec<f64>,
    /// Bounds of $u$ at the shift of the stop.
    pub low: f64,
    pub high: f64,
}

/// The two bounds, step by step.
struct Bounds {
    shift: f64,
    /// $d_j$, $e_j$ and $y_j^2$.
    pivot: f64,
    slack: f64,
    square: f64,
    value: f64,
    upper: f64,
}

impl Bounds {
    fn new(shift: f64) -> Self {
        Self {
            shift,
            pivot: f64::INFINITY,
            slack: shift,
            square: 1.0,
            value: 0.0,
            upper: 1.0 / shift,
        }
    }

    /// One more step with its $\alpha$, the $\beta$ before it and the one after it.
    fn step(&mut self, alpha: f64, before: f64, after: f64) {
        self.pivot = alpha + self.shift - before * before / self.pivot;
        // rounding must not push a pivot of T + σ below σ
        self.pivot = self.pivot.max(self.shift);
        self.value += self.square / self.pivot;
        let ratio = after / self.pivot;
        self.square *= ratio * ratio;
        let rest = (self.pivot - self.slack).max(f64::EPSILON * self.pivot);
        self.slack = self.shift + after * after * self.slack / (self.pivot * rest);
        self.upper = self.value + self.square / self.slack;
    }
}

/// Lanczos steps from `v`, which is overwritten.
///
/// The vectors lose their orthogonality to rounding; that splits nodes into copies that share their
/// weight, and delays the bounds without harm to them.
pub(super) fn jacobi(gram: &mut Gram<'_>, mut v: Vec<f64>, stop: Stop) -> Jacobi {
    let n = v.len();
    let size = dot(&v, &v).sqrt();
    v.iter_mut().for_each(|v| *v /= size);
    let (mut previous, mut next) = (vec![0.0; n], vec![0.0; n]);
    let (mut diagonal, mut off) = (Vec::new(), Vec::new());
    let mut bounds = Bounds::new(stop.shift);
    let (mut beta, mut scale) = (0.0, 0.0_f64);
    for step in 1..=stop.steps.1 {
        gram.apply(&v, &mut next);
        let alpha = dot(&v, &next);
        for ((w, v), p) in next.iter_mut().zip(&v).zip(&previous) {
            *w -= alpha * v + beta * p;
        }
        let before = std::mem::replace(&mut beta, dot(&next, &next).sqrt());
        diagonal.push(alpha);
        off.push(beta);
        scale = scale.max(alpha.abs());
        // the vectors so far span what the operator makes of the first: the rule is exact
        if !(beta > 1e-13 * scale) {
            bounds.step(alpha, before, 0.0);
            break;
        }
        bounds.step(alpha, before, beta);
        let (low, high) = (stop.shift * bounds.value, stop.shift * bounds.upper);
        let allowed = stop.gap.unwrap_or(stop.share * low.min(1.0 - high));
        if high - low <= allowed && step >= stop.steps.0 {
            break;
        }
        std::mem::swap(&mut previous, &mut v);
        std::mem::swap(&mut v, &mut next);
        v.iter_mut().for_each(|v| *v /= beta);
    }
    Jacobi {
        diagonal,
        off,
        low: stop.shift * bounds.value,
        high: stop.shift * bounds.upper,
    }
}

impl Jacobi {
    /// The middle of the bounds.
    pub fn u(&self) -> f64 {
        0.5 * (self.low + self.high)
    }

    /// The Gauss rule of the spectral measure; its weights add up to one.
    pub fn nodes(&self) -> Result<Vec<(f64, f64)>, FactorError> {
        gauss_rule(self.diagonal.clone(), self.off.clone())
    }

    /// $\xi^T\ln(\sigma + A)\,\xi$ by the Gauss rule; NaN if that cannot be had.
    pub fn log(&self, shift: f64) -> f64 {
        let rule = self.nodes();
        let sum = |r: Vec<(f64, f64)>| r.iter().map(|(l, w)| w * (shift + l.max(0.0)).ln()).sum();
        rule.map_or(f64::NAN, sum)
    }

    /// At least the largest eigenvalue that the steps have seen (Gershgorin); NaN if a product was.
    pub fn largest(&self) -> f64 {
        let before = std::iter::once(&0.0).chain(&self.off);
        let rows = self.diagonal.iter().zip(before).zip(&self.off);
        let bounds = rows.map(|((d, b), c)| d + b + c);
        bounds.fold(0.0, |m, b| if b > m || b.is_nan() { b } else { m })
    }
}

/// Eigenvalues of a symmetric tridiagonal matrix and the squared first components of its
/// eigenvectors (Golub and Welsch), by implicit QL steps. `off[i]` couples `i` and `i + 1`; the last
/// one is not used.
///
/// A coupling below the rounding of the whole matrix is none: among eigenvalues far below it every turn
/// leaves couplings of that size behind, and they would never be small next to their neighbours.
fn gauss_rule(mut d: Vec<f64>, mut e: Vec<f64>) -> Result<Vec<(f64, f64)>, FactorError> {
    let n = d.len();
    e[n - 1] = 0.0;
    if d.iter().chain(&e).any(|x| !x.is_finite()) {
        let what = "its Lanczos matrix is not finite";
        return Err(FactorError::Failed(what.to_owned()));
    }
    let size = d.iter().chain(&e).fold(0.0_f64, |m, x| m.max(x.abs()));
    let floor = f64::EPSILON * size;
    let mut first = vec![0.0; n];
    first[0] = 1.0;
    let mut turns = 0;
    for l in 0..n {
        while let Some(m) = coupled(&d, &e, l, floor) {
            turns += 1;
            if turns > TURNS * n {
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
fn coupled(d: &[f64], e: &[f64], l: usize, floor: f64) -> Option<usize> {
    let near = |m: usize| f64::EPSILON * (d[m].abs() + d[m + 1].abs());
    let small = |m: usize| e[m].abs() <= near(m).max(floor);
    let m = (l..d.len() - 1).find(|m| small(*m)).unwrap_or(d.len() - 1);
    (m > l).then_some(m)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::belief::SignalSpec;
    use crate::operator::DiagonalScaling;
    use crate::operator::probes::signs;

    /// Eigenvalues over many more decades than there are digits, and far more steps than eigenvalues: couplings among the
    /// smallest are rounding of the largest.
    #[test]
    fn rules_of_ill_conditioned_matrices() -> Result<(), Box<dyn std::error::Error>> {
        let (n, decades, steps) = (50, 10.0, 400);
        let entry = |i: usize| 10_f64.powf(-decades * i as f64 / n as f64);
        let entries: Vec<f64> = (0..n).map(entry).collect();
        let w = DiagonalScaling::new(&SignalSpec::real([n]), entries.clone())?;
        let shift = 1e-12;
        let stop = Stop {
            shift,
            steps: (steps, steps),
            gap: None,
            share: 0.0,
        };
        let made = jacobi(&mut Gram::new(&w), signs(n, 3, 0), stop);
        let rule = made.nodes()?;
        let sum = |f: &dyn Fn(f64) -> f64| rule.iter().map(|(l, w)| w * f(*l)).sum::<f64>();
        let truth =
            |f: &dyn Fn(f64) -> f64| entries.iter().map(|s| f(s * s)).sum::<f64>() / n as f64;
        // rounding, once per step
        let rounding = f64::EPSILON * steps as f64;
        assert!((sum(&|_| 1.0) - 1.0).abs() < rounding);
        // signs have the same weight on every eigenvector
        assert!((sum(&|l| l) - truth(&|l| l)).abs() < rounding);
        // what is left of the smallest only bounds tell: they hold, and need not meet
        let expected = truth(&|l: f64| shift / (shift + l));
        assert!(made.low <= expected * 1.001 && expected <= made.high * 1.001);
        Ok(())
    }
}
