//! On Gaussian trees expectation propagation is exact: means, average variances and evidence.

use crate::common::*;
use faer::Mat;
use treeamp::prelude::*;

/// Dense Gaussian reference: x ~ N(mean, var), y = W x + b + noise.
struct Reference {
    mean: Vec<f64>,
    variance: f64,
    evidence: f64,
}

/// The exact answer for `y = W x + c + sqrt(delta) noise`, `x ~ N(m0, v0)`.
fn reference(w: &Matrix, c: &[f64], y: &[f64], m0: f64, v0: f64, delta: f64) -> Reference {
    let (m, n) = (w.rows(), w.cols());
    let precision = Mat::from_fn(n, n, |i, j| {
        let gram: f64 = (0..m).map(|k| w.get(k, i) * w.get(k, j)).sum();
        gram / delta + if i == j { 1.0 / v0 } else { 0.0 }
    });
    let linear: Vec<f64> = (0..n)
        .map(|i| m0 / v0 + (0..m).map(|k| w.get(k, i) * (y[k] - c[k])).sum::<f64>() / delta)
        .collect();
    let (mean, covariance) = gaussian_posterior(&precision, &linear);
    let variance = (0..n).map(|i| covariance[(i, i)]).sum::<f64>() / n as f64;
    let outer = Mat::from_fn(m, m, |i, j| {
        let gram: f64 = (0..n).map(|k| w.get(i, k) * w.get(j, k)).sum();
        v0 * gram + if i == j { delta } else { 0.0 }
    });
    let centre: Vec<f64> = (0..m)
        .map(|i| c[i] + m0 * (0..n).map(|k| w.get(i, k)).sum::<f64>())
        .collect();
    Reference {
        mean,
        variance,
        evidence: log_normal(y, &centre, &outer),
    }
}

fn check(report: &Posterior, exact: &Reference, tolerance: f64) {
    let gap = relative_gap(report.mean("x").unwrap(), &exact.mean);
    assert!(gap < tolerance, "means are off by {gap:e}");
    let v = report.variance("x").unwrap();
    assert!(
        (v / exact.variance - 1.0).abs() < tolerance,
        "variance {v} against {}",
        exact.variance
    );
    let a = report.log_evidence().unwrap();
    let gap = (a - exact.evidence).abs() / exact.evidence.abs().max(1.0);
    assert!(gap < tolerance, "evidence {a} against {}", exact.evidence);
}

/// One dense channel of every aspect, exact after at most two sweeps.
#[test]
fn one_dense_channel_is_exact() {
    for (rows, cols) in [(20, 30), (30, 30), (45, 30), (1, 7), (7, 1), (3, 3)] {
        for (m0, v0, delta) in [(0.0, 1.0, 0.1), (0.7, 2.0, 1e-4), (-0.3, 0.01, 10.0)] {
            let w = gaussian_matrix(rows, cols, 3);
            let model = glm(
                GaussianPrior::new(m0, v0).unwrap().iid(cols),
                Linear::new(w.clone()).unwrap(),
                GaussianNoise::new(delta).unwrap(),
            )
            .build()
            .unwrap();
            let sample = model.sample(5).unwrap();
            let y = sample.get("y").unwrap();
            let observed = model.condition("y", y).unwrap();
            let report = ExpectationPropagation
                .on(&observed)
                .unwrap()
                .max_sweeps(2)
                .run(&mut ())
                .unwrap();
            check(
                &report,
                &reference(&w, &vec![0.0; rows], y, m0, v0, delta),
                1e-10,
            );
            // a third sweep changes nothing
            let again = ExpectationPropagation
                .on(&observed)
                .unwrap()
                .max_sweeps(3)
                .run(&mut ())
                .unwrap();
            assert!(again.residual() < 1e-12, "{}", again.residual());
        }
    }
}

/// Ill-conditioned matrices go through the SVD and stay exact.
#[test]
fn ill_conditioned_channels_are_exact() {
    for (rows, cols) in [(12, 20), (20, 12), (16, 16)] {
        for condition in [1e2, 1e5, 1e8] {
            let w = conditioned_matrix(rows, cols, condition, 11);
            let channel = Linear::new(w.clone()).unwrap();
            assert_eq!(channel.decomposition().unwrap().is_svd(), condition > 1e3);
            let y = normals(rows, 4);
            let model = chain(
                GaussianPrior::new(0.2, 1.0).unwrap().iid(cols),
                channel,
                seen(0.3, &y),
            )
            .build()
            .unwrap();
            let report = infer(&model);
            check(
                &report,
                &reference(&w, &vec![0.0; rows], &y, 0.2, 1.0, 0.3),
                1e-10,
            );
        }
    }
}

/// Rotations, biases, noise, sums and branches around one dense channel:
/// y = R2 W (R1 x + n1 + c) + n2, and x is also seen directly, and through a sum with another x'.
#[test]
fn rotations_noise_bias_and_branches_are_exact() {
    let (n, m) = (8, 5);
    let (w, r1, r2) = (
        gaussian_matrix(m, n, 1),
        rotation_matrix(n, 2),
        rotation_matrix(m, 3),
    );
    let (c, y, t) = (normals(n, 4), normals(m, 5), normals(n, 6));
    let model = (source(GaussianPrior::new(0.1, 1.5).unwrap().iid(n))
        >> var("x")
        >> (branch(seen(0.7, &t))
            + (branch(Rotation::new(r1.clone()).unwrap())
                >> var("a")
                >> GaussianNoise::new(0.2).unwrap()
                >> var("b")
                >> Bias::new(c.clone()).unwrap()
                >> var("d")
                >> Linear::new(w.clone()).unwrap()
                >> var("e")
                >> Rotation::new(r2.clone()).unwrap()
                >> var("g")
                >> seen(0.05, &y))))
    .build()
    .unwrap();
    let report = ExpectationPropagation
        .on(&model)
        .unwrap()
        .max_sweeps(2)
        .run(&mut ())
        .unwrap();
    // joint Gaussian of the two observations given x: t = x + n, y = R2 W (R1 x + n1 + c) + n2
    let mul = |a: &Matrix, b: &Mat<f64>| a.view() * b;
    let r2w = mul(&r2, &w.view().to_owned());
    let map = &r2w * r1.view();
    let cov_x = 1.5;
    let size = n + m;
    let gram = &r2w * r2w.transpose();
    let covariance = Mat::from_fn(size, size, |i, j| {
        let delta = |k: usize, l: usize| if k == l { 1.0 } else { 0.0 };
        match (i < n, j < n) {
            (true, true) => (cov_x + 0.7) * delta(i, j),
            (true, false) => cov_x * map[(j - n, i)],
            (false, true) => cov_x * map[(i - n, j)],
            (false, false) => {
                let (i, j) = (i - n, j - n);
                (cov_x + 0.2) * gram[(i, j)] + 0.05 * delta(i, j)
            }
        }
    });
    let mut centre = vec![0.1; n];
    centre.extend((0..m).map(|i| {
        (0..n)
            .map(|k| map[(i, k)] * 0.1 + r2w[(i, k)] * c[k])
            .sum::<f64>()
    }));
    let both: Vec<f64> = t.iter().chain(&y).copied().collect();
    let exact = log_normal(&both, &centre, &covariance);
    let a = report.log_evidence().unwrap();
    assert!(
        (a - exact).abs() < 1e-10 * exact.abs().max(1.0),
        "{a} against {exact}"
    );
    // posterior mean: C_x,obs C_obs^-1 (obs - centre)
    let gap: Vec<f64> = both.iter().zip(&centre).map(|(y, c)| y - c).collect();
    let (weights, _) = gaussian_posterior(&covariance, &gap);
    let mean: Vec<f64> = (0..n)
        .map(|i| {
            let seen: f64 = (0..m).map(|k| cov_x * map[(k, i)] * weights[n + k]).sum();
            0.1 + cov_x * weights[i] + seen
        })
        .collect();
    assert!(relative_gap(report.mean("x").unwrap(), &mean) < 1e-10);
}

/// A sum of three Gaussians, one behind a dense channel, and a duplicate.
#[test]
fn sums_and_duplicates_are_exact() {
    let n = 4;
    let w = gaussian_matrix(n, 6, 8);
    let (y, t) = (normals(n, 9), normals(n, 10));
    let branches = (source(GaussianPrior::new(0.5, 1.0).unwrap().iid(6))
        >> var("x")
        >> Linear::new(w.clone()).unwrap()
        >> var("a"))
        + (source(GaussianPrior::new(-0.5, 0.3).unwrap().iid(n)) >> var("b"))
        + (source(GaussianPrior::new(0.0, 2.0).unwrap().iid(n)) >> var("c"));
    let model = (branches
        >> Sum::new(3).unwrap()
        >> var("s")
        >> Duplicate::new(2).unwrap()
        >> (var("s1") + var("s2"))
        >> (branch(seen(0.1, &y)) + seen(0.4, &t)))
    .build()
    .unwrap();
    let report = ExpectationPropagation
        .on(&model)
        .unwrap()
        .max_sweeps(3)
        .run(&mut ())
        .unwrap();
    // s has mean W 0.5 - 0.5 and covariance W W^T + 2.3
    let size = 2 * n;
    let covariance = Mat::from_fn(size, size, |i, j| {
        let gram: f64 = (0..6).map(|k| w.get(i % n, k) * w.get(j % n, k)).sum();
        let own = if i % n == j % n { 2.3 } else { 0.0 };
        let noise = if i != j {
            0.0
        } else if i < n {
            0.1
        } else {
            0.4
        };
        gram + own + noise
    });
    let row: Vec<f64> = (0..n)
        .map(|i| 0.5 * (0..6).map(|k| w.get(i, k)).sum::<f64>() - 0.5)
        .collect();
    let centre: Vec<f64> = row.iter().chain(&row).copied().collect();
    let both: Vec<f64> = y.iter().chain(&t).copied().collect();
    let exact = log_normal(&both, &centre, &covariance);
    let a = report.log_evidence().unwrap();
    assert!(
        (a - exact).abs() < 1e-10 * exact.abs().max(1.0),
        "{a} against {exact}"
    );
}

/// Several columns share W: the same as one run per column.
#[test]
fn matrix_valued_signals_share_the_matrix() {
    for (m, n) in [(6, 9), (9, 6)] {
        let p = 3;
        let w = gaussian_matrix(m, n, 21);
        let y = normals(m * p, 22);
        let run = |y: Vec<f64>, shape: Vec<usize>| {
            let model = chain(
                GaussianPrior::new(0.3, 1.0).unwrap().shaped(shape),
                Linear::new(w.clone()).unwrap(),
                seen(0.2, &y),
            )
            .build()
            .unwrap();
            infer(&model)
        };
        let all = run(y.clone(), vec![n, p]);
        let mut evidence = 0.0;
        for column in 0..p {
            let one = run((0..m).map(|i| y[i * p + column]).collect(), vec![n]);
            evidence += one.log_evidence().unwrap();
            let mean: Vec<f64> = (0..n)
                .map(|i| all.mean("x").unwrap()[i * p + column])
                .collect();
            assert!(relative_gap(&mean, one.mean("x").unwrap()) < 1e-12);
        }
        assert!((all.log_evidence().unwrap() - evidence).abs() < 1e-10 * evidence.abs());
    }
}

/// Noiseless observations: an exact solve when M >= N, the affine subspace when M < N.
#[test]
fn noiseless_observations_are_exact() {
    for (rows, cols) in [(30, 30), (45, 30), (20, 30)] {
        for condition in [1e0, 1e1, 1e3, 1e5, 1e8] {
            let w = conditioned_matrix(rows, cols, condition, 31);
            let truth = normals(cols, 32);
            let mut y = vec![0.0; rows];
            w.apply(&truth, 1, &mut y);
            let model = chain(
                GaussianPrior::new(0.0, 1.0).unwrap().iid(cols),
                Linear::new(w.clone()).unwrap(),
                seen(0.0, &y),
            )
            .build()
            .unwrap();
            let report = infer(&model);
            assert!(report.termination.is_converged(), "{}", report.termination);
            let mean = report.mean("x").unwrap();
            // the data themselves are only known to a rounding of W x
            let allowed = if condition <= 1e3 {
                1e-10
            } else {
                100.0 * f64::EPSILON * condition
            };
            if rows >= cols {
                let gap = relative_gap(mean, &truth);
                assert!(
                    gap < allowed,
                    "{rows} x {cols}, condition {condition:e}: {gap:e}"
                );
                assert!(report.variance("x").unwrap() == 0.0);
                assert_eq!(
                    report.termination,
                    Termination::Converged {
                        perfect_recovery: true
                    }
                );
                let a = report.log_evidence().unwrap();
                assert!(if rows > cols {
                    a == f64::INFINITY
                } else {
                    a.is_finite()
                });
            } else {
                // projection of the prior mean onto the affine subspace
                let mut z = vec![0.0; rows];
                w.apply(mean, 1, &mut z);
                assert!(relative_gap(&z, &y) < allowed);
                let v = report.variance("x").unwrap();
                assert!((v - 1.0 / 3.0).abs() < 1e-12, "{v}");
            }
            if rows <= cols && condition <= 1e3 {
                let outer = Mat::from_fn(rows, rows, |i, j| {
                    (0..cols).map(|k| w.get(i, k) * w.get(j, k)).sum::<f64>()
                });
                let exact = log_normal(&y, &vec![0.0; rows], &outer);
                let a = report.log_evidence().unwrap();
                assert!(
                    (a - exact).abs() < 1e-8 * exact.abs().max(1.0),
                    "{a} against {exact}"
                );
            }
        }
    }
}

/// Observing the output of the linear channel itself is the noiseless likelihood.
#[test]
fn the_output_of_a_linear_channel_can_be_observed() {
    let w = gaussian_matrix(4, 9, 41);
    let model = (source(GaussianPrior::new(0.0, 1.0).unwrap().iid(9))
        >> var("x")
        >> Linear::new(w).unwrap()
        >> var("y"))
    .build()
    .unwrap();
    let sample = model.sample(1).unwrap();
    let report = infer(&model.condition("y", sample.get("y").unwrap()).unwrap());
    assert!(relative_gap(report.mean("y").unwrap(), sample.get("y").unwrap()) < 1e-15);
    assert!((report.variance("x").unwrap() - 5.0 / 9.0).abs() < 1e-12);
}

/// Several dense channels: isotropic beliefs are an approximation. The gap is recorded here, so that
/// a change of it does not go unnoticed.
#[test]
fn two_dense_channels_are_an_approximation() {
    let (n, m) = (60, 60);
    let (w1, w2) = (gaussian_matrix(n, n, 51), gaussian_matrix(m, n, 52));
    let y = {
        let mut y = vec![0.0; m];
        let mut h = vec![0.0; n];
        w1.apply(&normals(n, 53), 1, &mut h);
        w2.apply(&h, 1, &mut y);
        let noise = normals(m, 54);
        y.iter()
            .zip(noise)
            .map(|(y, e)| y + 0.1 * e)
            .collect::<Vec<f64>>()
    };
    let model = (source(GaussianPrior::new(0.0, 1.0).unwrap().iid(n))
        >> var("x")
        >> Linear::new(w1.clone()).unwrap()
        >> var("h")
        >> Linear::new(w2.clone()).unwrap()
        >> var("z")
        >> seen(0.01, &y))
    .build()
    .unwrap();
    let report = infer(&model);
    let product = w2.view() * w1.view();
    let w = Matrix::new(product).unwrap();
    let exact = reference(&w, &vec![0.0; m], &y, 0.0, 1.0, 0.01);
    let gap = mse(report.mean("x").unwrap(), &exact.mean) / mean_square(&exact.mean);
    let v = report.variance("x").unwrap();
    let a = report.log_evidence().unwrap();
    println!(
        "two dense channels: relative error of the mean {gap:.2e}, variance {v:.4} (exact {:.4}), \
         log-evidence {a:.3} (exact {:.3})",
        exact.variance, exact.evidence
    );
    assert!(report.termination.is_converged());
    // the mean solves the same linear system; variance and evidence see only the spectra
    assert!(gap < 1e-9, "{gap}");
    let ratio = v / exact.variance - 1.0;
    assert!(ratio.abs() > 1e-4 && ratio.abs() < 0.05, "{ratio}");
    let per_component = (a - exact.evidence) / n as f64;
    assert!(
        per_component.abs() > 1e-4 && per_component.abs() < 0.02,
        "{per_component}"
    );
}
