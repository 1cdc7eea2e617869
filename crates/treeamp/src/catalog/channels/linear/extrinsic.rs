//! The extrinsic messages of the linear channel to isotropic and diagonal ends, from the dual and the primal solution of
//! `structured.rs`.

use faer::{Col, Mat, MatRef};

use super::spread::Spread;
use crate::belief::{Gaussian, Structure};

/// A component that data determine to this fraction of its own variance is solved for on the input side instead,
/// if that is at most so many times larger.
const STRONG: f64 = 1e-6;
const LARGER: usize = 4;
/// Below this fraction nothing is left of a difference: the component is known.
const KNOWN: f64 = 1e-14;

/// What the outputs know: $C^{-1}$ (or its limit for a flat $x$), $T$, $\mu$, $u$.
pub(super) struct Dual {
    pub s_z: Spread,
    pub m_z: Col<f64>,
    pub t: Mat<f64>,
    pub mu: Col<f64>,
    pub c_inverse: Mat<f64>,
    pub u: Col<f64>,
    pub output: Output,
}

/// How $x$ is given.
pub(super) enum Output {
    /// By moments: its mean.
    Density(Col<f64>),
    /// By natural parameters without a covariance: $Y$ and $b_x$.
    Natural(Mat<f64>, Col<f64>),
}

/// The natural parameters of both ends, and $\Sigma$.
pub(super) struct Primal {
    pub gram: Mat<f64>,
    pub h: Col<f64>,
    pub a_z: Spread,
    pub b_z: Col<f64>,
    pub a_x: Spread,
    pub b_x: Col<f64>,
    pub sigma: Mat<f64>,
    pub log_det: f64,
}

/// Writes an isotropic or diagonal message, given `f(i)` = (numerator, denominator, numerator of the linear part): per
/// component, or from averages of the first two. A denominator of zero pins at `place(i)`.
pub(super) fn write(
    out: &mut Gaussian,
    parts: impl Fn(usize) -> (f64, f64),
    linear: impl Fn(usize, f64, f64) -> f64,
    place: impl Fn(usize) -> f64,
) {
    let n = out.len();
    if out.structure() == Structure::Isotropic {
        let (mut top, mut bottom) = (0.0, 0.0);
        for i in 0..n {
            let (t, b) = parts(i);
            top += t / n as f64;
            bottom += b / n as f64;
        }
        let known = bottom <= 0.0;
        for i in 0..n {
            out.linear[i] = if known {
                place(i)
            } else {
                linear(i, top, bottom)
            };
        }
        out.precision
            .set_scalar(if known { f64::INFINITY } else { top / bottom });
        return;
    }
    for i in 0..n {
        let (top, bottom) = parts(i);
        let (a, b) = if bottom <= 0.0 {
            (f64::INFINITY, place(i))
        } else {
            (top / bottom, linear(i, top, bottom))
        };
        out.precision.data_mut()[i] = a;
        out.linear[i] = b;
    }
}

impl Dual {
    /// Gives `false`, and nothing, when a component is known so well that the difference has lost its digits, unless
    /// there is no other way.
    pub fn to_input(&self, w: MatRef<'_, f64>, out: &mut Gaussian, only: bool) -> bool {
        let gains = &self.c_inverse * w;
        let pull = w.transpose() * &self.u;
        let (rows, n) = (w.nrows(), w.ncols());
        let k = Col::from_fn(n, |i| (0..rows).map(|r| w[(r, i)] * gains[(r, i)]).sum());
        let left = |i: usize| 1.0 - self.s_z.at(i) * k[i];
        if !only && n <= LARGER * rows && (0..n).any(|i| left(i) < STRONG) {
            return false;
        }
        let kept = |i: usize| if left(i) < KNOWN { 0.0 } else { left(i) };
        write(
            out,
            |i| (k[i], kept(i)),
            |i, top, bottom| (top * self.m_z[i] + pull[i]) / bottom,
            |i| self.m_z[i] + self.s_z.at(i) * pull[i],
        );
        true
    }

    pub fn to_output(&self, out: &mut Gaussian) {
        let n = self.mu.nrows();
        match &self.output {
            Output::Density(m_x) => {
                let share = |i: usize| {
                    (0..n)
                        .map(|j| self.c_inverse[(i, j)] * self.t[(j, i)])
                        .sum()
                };
                let share = Col::<f64>::from_fn(n, share);
                write(
                    out,
                    |i| (self.c_inverse[(i, i)], share[i]),
                    |i, top, bottom| (top * m_x[i] - self.u[i]) / bottom,
                    |i| self.mu[i],
                );
            }
            Output::Natural(y, b) => {
                let sigma = y * &self.t;
                let mean = y * (&self.mu + &self.t * b);
                let isotropic = out.structure() == Structure::Isotropic;
                let others = |i: usize| -> f64 {
                    let others = (0..n).filter(|j| *j != i);
                    let from_mu: f64 = (0..n).map(|j| y[(i, j)] * self.mu[j]).sum();
                    from_mu + others.map(|j| sigma[(i, j)] * b[j]).sum::<f64>()
                };
                write(
                    out,
                    |i| (y[(i, i)], sigma[(i, i)]),
                    |i, _, bottom| {
                        if isotropic {
                            mean[i] / bottom - b[i]
                        } else {
                            others(i) / bottom
                        }
                    },
                    |i| self.mu[i],
                );
            }
        }
    }
}

impl Primal {
    pub fn to_input(&self, out: &mut Gaussian) {
        let n = self.h.nrows();
        let b = &self.b_z + &self.h;
        let mean = &self.sigma * &b;
        let learnt = Col::<f64>::from_fn(n, |i| {
            (0..n).map(|j| self.sigma[(i, j)] * self.gram[(j, i)]).sum()
        });
        if let Spread::Same(a) = self.a_z {
            // where little is learnt, in innovation form: b' = a' m + Σ(h - G m)/v
            let weak = a > 0.0 && learnt.iter().sum::<f64>() < 0.5 * n as f64;
            let m = &self.b_z * faer::Scale(if weak { 1.0 / a } else { 0.0 });
            let news = &self.sigma * (&self.h - &self.gram * &m);
            write(
                out,
                |i| (learnt[i], self.sigma[(i, i)]),
                |i, top, bottom| {
                    if weak {
                        (top * m[i] + news[i]) / bottom
                    } else {
                        mean[i] / bottom - self.b_z[i]
                    }
                },
                |i| mean[i],
            );
            return;
        }
        let others = |i: usize| -> f64 {
            let others = (0..n).filter(|j| *j != i);
            others.map(|j| self.sigma[(i, j)] * b[j]).sum()
        };
        write(
            out,
            |i| (learnt[i], self.sigma[(i, i)]),
            |i, _, bottom| self.h[i] + others(i) / bottom,
            |i| mean[i],
        );
    }

    pub fn to_output(&self, w: MatRef<'_, f64>, out: &mut Gaussian) {
        let spread = w * &self.sigma;
        let mean = &spread * (&self.b_z + &self.h);
        let variance = |i: usize| (0..w.ncols()).map(|j| spread[(i, j)] * w[(i, j)]).sum();
        let variance = Col::<f64>::from_fn(w.nrows(), variance);
        write(
            out,
            |i| (1.0 - self.a_x.at(i) * variance[i], variance[i]),
            |i, _, bottom| mean[i] / bottom - self.b_x[i],
            |i| mean[i],
        );
    }
}
