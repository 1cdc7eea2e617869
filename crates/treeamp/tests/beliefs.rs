//! Beliefs beyond isotropic: full ones are exact on Gaussian trees, diagonal ones see columns of different scales, and
//! block ones carry a matrix per row.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use common::*;
use faer::Mat;
use faer::linalg::solvers::DenseSolveCore;
use treeamp::belief::SymMatrix;
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
        (0..m).map(|k| base[i].1 * h[(k, i)] * inverse[(k, j)]).sum::<f64>()
    });
    let mean = (0..n)
        .map(|i| base[i].0 + (0..m).map(|k| gain[(i, k)] * (y[k] - centre[k])).sum::<f64>())
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
    let scale = entries().map(|(i, j)| exact[(i, j)].abs()).fold(0.0, f64::max);
    let gap = |(i, j)| f64::abs(ours.entry(i, j) - exact[(i, j)]);
    entries().map(gap).fold(0.0, f64::max) / scale
}

fn mat(w: &Matrix) -> Mat<f64> {
    w.view().to_owned()
}

fn run(tree: &Tree) -> Posterior {
    ExpectationPropagation.on(tree).unwrap().run(&mut ()).unwrap()
}

fn gaussian(delta: f64, y: &[f64]) -> impl Factor + use<> {
    GaussianLikelihood::new(delta).unwrap().observed(y).unwrap()
}

/// Rank `rank` exactly, up to rounding.
fn deficient_matrix(rows: usize, cols: usize, rank: usize, seed: u64) -> Matrix {
    let (u, v) = (gaussian_matrix(rows, rank, seed), gaussian_matrix(rank, cols, seed + 1));
    Matrix::new(mat(&u) * mat(&v)).unwrap()
}

/// Chains of two dense channels, wide, square, tall and rank deficient, through full beliefs.
#[test]
fn chains_of_dense_channels_are_exact() {
    for (n, m, k) in [(6, 4, 3), (5, 5, 5), (4, 9, 3), (4, 9, 12), (7, 3, 8)] {
        for deficient in [false, true] {
            let w1 = if deficient {
                deficient_matrix(m, n, 2, 7)
            } else {
                gaussian_matrix(m, n, 1)
            };
            let w2 = gaussian_matrix(k, m, 2);
            let y = normals(k, 3);
            let tree = (source(GaussianPrior::new(0.3, 1.4).unwrap().iid(n))
                >> var("x").full()
                >> Linear::new(w1.clone()).unwrap()
                >> var("u").full()
                >> Linear::new(w2.clone()).unwrap()
                >> var("v").full()
                >> gaussian(0.2, &y))
            .build()
            .unwrap();
            let report = run(&tree);
            let (f1, f2) = (mat(&w1), mat(&w2) * mat(&w1));
            let exact = joint(&vec![(0.3, 1.4); n], &f2, &vec![0.2; k], &y);
            exact.check(&report, "x", &Mat::identity(n, n));
            exact.check(&report, "u", &f1);
            exact.check(&report, "v", &f2);
            exact.check_evidence(&report);
            // on a chain everything is known after one sweep, and the second finds nothing new
            assert!(report.sweeps <= 2, "{} sweeps", report.sweeps);
        }
    }
}
