//! Beliefs beyond isotropic: full ones are exact on Gaussian trees, diagonal ones see columns of different scales, and
//! block ones carry a matrix per row.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::float_cmp)]

#[path = "../common/mod.rs"]
mod common;

mod bad_input;
mod branches;
mod exact;
mod factors;
mod penalties;
mod pins;
mod rows;
mod runs;
mod sparse;
mod total_variation;

use common::*;
use faer::Mat;
use faer::linalg::solvers::DenseSolveCore;
use treeamp::belief::SymMatrix;
use treeamp::extend::{Factor, Gaussian};
use treeamp::prelude::*;

/// What the dense joint Gaussian says: base variables $\xi\sim\mathcal N(m, \mathrm{diag}\,v)$, observations
/// $y = H\xi + $ noise.
struct Joint {
    mean: Vec<f64>,
    covariance: Mat<f64>,
    evidence: f64,
}

fn joint(base: &[(f64, f64)], h: &Mat<f64>, noise: &[f64], y: &[f64]) -> Joint {
    let (m, n) = (h.nrows(), h.ncols());
    // in covariance form: exact base variables and observations are allowed
    let outer = Mat::from_fn(m, m, |i, j| {
        let gram: f64 = (0..n).map(|k| h[(i, k)] * base[k].1 * h[(j, k)]).sum();
        gram + if i == j { noise[i] } else { 0.0 }
    });
    let centre: Vec<f64> = (0..m)
        .map(|i| (0..n).map(|k| h[(i, k)] * base[k].0).sum())
        .collect();
    let inverse = outer.partial_piv_lu().inverse();
    let gain = Mat::from_fn(n, m, |i, j| {
        (0..m)
            .map(|k| base[i].1 * h[(k, i)] * inverse[(k, j)])
            .sum::<f64>()
    });
    let mean = (0..n)
        .map(|i| {
            base[i].0
                + (0..m)
                    .map(|k| gain[(i, k)] * (y[k] - centre[k]))
                    .sum::<f64>()
        })
        .collect();
    let covariance = Mat::from_fn(n, n, |i, j| {
        let less: f64 = (0..m).map(|k| gain[(i, k)] * h[(k, j)] * base[j].1).sum();
        if i == j { base[i].1 - less } else { -less }
    });
    Joint {
        mean,
        covariance,
        evidence: log_normal(y, &centre, &outer),
    }
}

impl Joint {
    /// Mean and covariance of $F\xi$ against a report.
    fn check(&self, report: &Posterior, variable: &str, f: &Mat<f64>) {
        let mean: Vec<f64> = (0..f.nrows())
            .map(|i| (0..f.ncols()).map(|k| f[(i, k)] * self.mean[k]).sum())
            .collect();
        let gap = relative_gap(report.mean(variable).unwrap(), &mean);
        assert!(gap < 1e-10, "mean of {variable} is off by {gap:e}");
        let covariance = f * &self.covariance * f.transpose();
        let ours = &report.marginal(variable).unwrap().variance;
        let gap = matrix_gap(ours, &covariance);
        assert!(gap < 1e-10, "covariance of {variable} is off by {gap:e}");
    }

    fn check_evidence(&self, report: &Posterior) {
        let a = report.log_evidence().unwrap();
        let gap = (a - self.evidence).abs() / self.evidence.abs().max(1.0);
        assert!(gap < 1e-10, "evidence {a} against {}", self.evidence);
    }
}

/// Largest difference of entries, relative to the largest entry.
fn matrix_gap(ours: &SymMatrix, exact: &Mat<f64>) -> f64 {
    let n = exact.nrows();
    let entries = || (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
    let scale = entries()
        .map(|(i, j)| exact[(i, j)].abs())
        .fold(0.0, f64::max);
    let gap = |(i, j)| f64::abs(ours.entry(i, j) - exact[(i, j)]);
    entries().map(gap).fold(0.0, f64::max) / scale
}

fn mat(w: &Matrix) -> Mat<f64> {
    w.view().to_owned()
}

/// Rank `rank` exactly, up to rounding.
fn deficient_matrix(rows: usize, cols: usize, rank: usize, seed: u64) -> Matrix {
    let (u, v) = (
        gaussian_matrix(rows, rank, seed),
        gaussian_matrix(rank, cols, seed + 1),
    );
    Matrix::new(mat(&u) * mat(&v)).unwrap()
}

fn specs_with(
    factor: &dyn Factor,
    inputs: &[SignalSpec],
    structures: &[Structure],
) -> Vec<SignalSpec> {
    let mut specs = inputs.to_vec();
    specs.extend(factor.output_specs(inputs).unwrap());
    for (spec, structure) in specs.iter_mut().zip(structures) {
        spec.structure = *structure;
    }
    specs
}

/// A proper message with entries of every size: off-diagonal ones too.
fn proper_message(spec: &SignalSpec, scale: f64, seed: u64) -> Gaussian {
    let n = spec.len();
    let root = normals(n * n, seed);
    let mut m = Gaussian::flat(spec);
    m.precision.fill_with(|i, j| {
        let gram: f64 = (0..n).map(|k| root[i * n + k] * root[j * n + k]).sum();
        scale
            * (0.5 * gram / n as f64
                + if i == j {
                    0.6 + 0.1 * (i % 5) as f64
                } else {
                    0.0
                })
    });
    m.linear = normals(n, seed + 100)
        .iter()
        .map(|b| b * scale.sqrt())
        .collect();
    m
}

fn check_structures(factor: &dyn Factor, inputs: &[SignalSpec], structures: &[Structure]) {
    let specs = specs_with(factor, inputs, structures);
    for (seed, scale) in [(1, 1.0), (2, 20.0), (3, 0.1)] {
        let messages: Vec<Gaussian> = specs
            .iter()
            .enumerate()
            .map(|(i, s)| proper_message(s, scale * (1.0 + 0.3 * i as f64), seed + 10 * i as u64))
            .collect();
        // central differences over steps of 1e-3 standard deviations and of 1e-4 of the second moment: a law that is
        // not Gaussian has a third derivative, whose share is about 1e-6 where the precision makes all rows zero
        let outcome = treeamp::testing::factors::check_factor(factor, &specs, &messages, 5e-6);
        outcome.unwrap_or_else(|e| panic!("{structures:?}, scale {scale}: {e}"));
    }
}
