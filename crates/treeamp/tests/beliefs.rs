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

fn run(tree: &Tree) -> Posterior {
    ExpectationPropagation
        .on(tree)
        .unwrap()
        .run(&mut ())
        .unwrap()
}

fn gaussian(delta: f64, y: &[f64]) -> impl Factor + use<> {
    GaussianLikelihood::new(delta).unwrap().observed(y).unwrap()
}

/// Rank `rank` exactly, up to rounding.
fn deficient_matrix(rows: usize, cols: usize, rank: usize, seed: u64) -> Matrix {
    let (u, v) = (
        gaussian_matrix(rows, rank, seed),
        gaussian_matrix(rank, cols, seed + 1),
    );
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

/// A tree with a branch, noise inside, a bias, and channels of every aspect.
#[test]
fn trees_of_dense_channels_are_exact() {
    let n = 5;
    let (w1, w2, w3) = (
        gaussian_matrix(8, n, 1),
        gaussian_matrix(3, n, 2),
        deficient_matrix(4, 8, 3, 3),
    );
    let shift = normals(8, 9);
    let (y2, y3) = (normals(3, 4), normals(4, 5));
    let tree = (source(GaussianPrior::new(-0.2, 0.8).unwrap().iid(n))
        >> var("x").full()
        >> ((branch(Linear::new(w1.clone()).unwrap())
            >> var("u").full()
            >> Bias::new(shift.clone()).unwrap()
            >> var("s").full()
            >> GaussianNoise::new(0.3).unwrap()
            >> var("t").full()
            >> Linear::new(w3.clone()).unwrap()
            >> var("v").full()
            >> gaussian(0.5, &y3))
            + (branch(Linear::new(w2.clone()).unwrap()) >> var("w").full() >> gaussian(0.1, &y2))))
    .build()
    .unwrap();
    let report = run(&tree);
    // base variables: x, the bias as 8 constants, the noise inside
    let mut base = vec![(-0.2, 0.8); n];
    base.extend(shift.iter().map(|c| (*c, 0.0)));
    base.extend(vec![(0.0, 0.3); 8]);
    let total = base.len();
    let place = |rows: usize, f: &dyn Fn(usize, usize) -> f64| Mat::from_fn(rows, total, f);
    let x = place(n, &|i, j| f64::from(u8::from(i == j)));
    let u = mat(&w1) * &x;
    let s = &u + place(8, &|i, j| f64::from(u8::from(j == n + i)));
    let t = &s + place(8, &|i, j| f64::from(u8::from(j == n + 8 + i)));
    let v = mat(&w3) * &t;
    let w = mat(&w2) * &x;
    let h = Mat::from_fn(
        7,
        total,
        |i, j| if i < 4 { v[(i, j)] } else { w[(i - 4, j)] },
    );
    let noise: Vec<f64> = (0..7).map(|i| if i < 4 { 0.5 } else { 0.1 }).collect();
    let y: Vec<f64> = y3.iter().chain(&y2).copied().collect();
    let exact = joint(&base, &h, &noise, &y);
    for (name, f) in [("x", x), ("u", u), ("s", s), ("t", t), ("v", v), ("w", w)] {
        exact.check(&report, name, &f);
    }
    exact.check_evidence(&report);
}

/// The ends of a channel may have different beliefs: with a full one on x, z of any kind is exact on the diagonal.
#[test]
fn mixed_ends_agree_on_gaussian_chains() {
    for (rows, cols) in [(4, 7), (7, 4), (5, 5)] {
        let w = gaussian_matrix(rows, cols, 11);
        let y = normals(rows, 12);
        let exact = joint(&vec![(0.1, 2.0); cols], &mat(&w), &vec![0.3; rows], &y);
        let kinds = [Structure::Isotropic, Structure::Diagonal, Structure::Full];
        for (on_x, on_z) in kinds
            .iter()
            .flat_map(|x| kinds.iter().map(move |z| (*x, *z)))
        {
            let tree = (source(GaussianPrior::new(0.1, 2.0).unwrap().iid(cols))
                >> var("x").belief(on_x)
                >> Linear::new(w.clone()).unwrap()
                >> var("z").belief(on_z)
                >> gaussian(0.3, &y))
            .build()
            .unwrap();
            let report = run(&tree);
            let gap = relative_gap(report.mean("x").unwrap(), &exact.mean);
            assert!(gap < 1e-10, "{on_x} {on_z}: {gap:e}");
            let v: Vec<f64> = report.marginal("x").unwrap().variance.diagonal().collect();
            let own: Vec<f64> = (0..cols).map(|i| exact.covariance[(i, i)]).collect();
            if on_x == Structure::Isotropic {
                let mean = own.iter().sum::<f64>() / cols as f64;
                assert!((v[0] / mean - 1.0).abs() < 1e-10, "{on_x} {on_z}");
            } else {
                assert!(relative_gap(&v, &own) < 1e-10, "{on_x} {on_z}");
            }
            // one Gaussian channel between constant messages: the evidence is exact whatever the beliefs
            exact.check_evidence(&report);
        }
    }
}
