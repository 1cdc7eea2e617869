//! Shared by the integration tests: random matrices, dense solves, and readers of reference values.
#![allow(
    dead_code,
    unused_imports,
    clippy::unwrap_used,
    clippy::cast_possible_truncation
)]

pub mod laws;
pub mod npz;
pub mod oracle;
mod trees;

pub use trees::{chain, drawn, glm, infer, limit_glm, linear, seen};

use faer::linalg::solvers::{DenseSolveCore, SelfAdjointEigen};
use faer::{Mat, Side};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use treeamp::operator::{LinearOperator, applied};
use treeamp::prelude::*;

/// A seeded generator.
pub fn rng(seed: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    // not the stream of any node of a model that is sampled with the same seed
    rng.set_stream(1 << 40);
    rng
}

/// Standard normal numbers.
pub fn normals(n: usize, seed: u64) -> Vec<f64> {
    let mut rng = rng(seed);
    (0..n).map(|_| StandardNormal.sample(&mut rng)).collect()
}

/// A matrix with independent entries of variance `1/cols`.
pub fn gaussian_matrix(rows: usize, cols: usize, seed: u64) -> Matrix {
    let x = normals(rows * cols, seed);
    let scale = 1.0 / (cols as f64).sqrt();
    Matrix::from_fn(rows, cols, |i, j| scale * x[i * cols + j]).unwrap()
}

/// A random rotation: eigenvectors of a random symmetric matrix.
pub fn rotation_matrix(n: usize, seed: u64) -> Matrix {
    let x = normals(n * n, seed);
    let s = Mat::from_fn(n, n, |i, j| x[i * n + j] + x[j * n + i]);
    Matrix::new(
        SelfAdjointEigen::new(s.as_ref(), Side::Lower)
            .unwrap()
            .U()
            .to_owned(),
    )
    .unwrap()
}

/// A matrix `U diag(s) V^T` with singular values spread evenly in the logarithm from 1 down to
/// `1/condition`.
pub fn conditioned_matrix(rows: usize, cols: usize, condition: f64, seed: u64) -> Matrix {
    let (u, v) = (rotation_matrix(rows, seed), rotation_matrix(cols, seed + 1));
    let k = rows.min(cols);
    let s = |i: usize| condition.powf(-(i as f64) / (k as f64 - 1.0).max(1.0));
    Matrix::from_fn(rows, cols, |i, j| {
        (0..k)
            .map(|l| u.get(i, l) * s(l) * v.get(j, l))
            .sum::<f64>()
    })
    .unwrap()
}

/// An operator as a matrix, column by column.
pub fn matrix_of(operator: &dyn LinearOperator) -> Matrix {
    let n = operator.input().len();
    let columns: Vec<Vec<f64>> = (0..n)
        .map(|j| {
            let mut unit = vec![0.0; n];
            unit[j] = 1.0;
            applied(operator, &unit)
        })
        .collect();
    Matrix::from_fn(operator.output().len(), n, |i, j| columns[j][i]).unwrap()
}

/// Mean square.
pub fn mean_square(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64
}

/// Mean squared difference.
pub fn mse(x: &[f64], y: &[f64]) -> f64 {
    assert_eq!(x.len(), y.len());
    x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum::<f64>() / x.len() as f64
}

/// Largest difference relative to the root mean square of the second.
pub fn relative_gap(x: &[f64], y: &[f64]) -> f64 {
    let scale = mean_square(y).sqrt().max(f64::MIN_POSITIVE);
    x.iter()
        .zip(y)
        .map(|(x, y)| (x - y).abs())
        .fold(0.0, f64::max)
        / scale
}

/// The exact posterior of a Gaussian `x` with precision matrix and linear part: mean, covariance.
pub fn gaussian_posterior(precision: &Mat<f64>, linear: &[f64]) -> (Vec<f64>, Mat<f64>) {
    let covariance = precision.partial_piv_lu().inverse();
    let n = linear.len();
    let mean = (0..n)
        .map(|i| (0..n).map(|j| covariance[(i, j)] * linear[j]).sum())
        .collect();
    (mean, covariance)
}

/// `ln N(y; mean, covariance)`.
pub fn log_normal(y: &[f64], mean: &[f64], covariance: &Mat<f64>) -> f64 {
    let n = y.len();
    let eigen = SelfAdjointEigen::new(covariance.as_ref(), Side::Lower).unwrap();
    let (values, vectors) = (eigen.S().column_vector(), eigen.U());
    (0..n)
        .map(|k| {
            let c: f64 = (0..n).map(|i| vectors[(i, k)] * (y[i] - mean[i])).sum();
            -0.5 * (c * c / values[k] + (std::f64::consts::TAU * values[k]).ln())
        })
        .sum()
}
