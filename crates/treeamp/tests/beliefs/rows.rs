//! Laws of rows: derivatives, enumeration, and a run.

use super::*;
use treeamp::factor::Site;

/// ln of a sum of exponentials.
fn log_sum(x: &[f64]) -> f64 {
    let top = x.iter().fold(f64::NEG_INFINITY, |m, x| m.max(*x));
    top + x.iter().map(|x| (x - top).exp()).sum::<f64>().ln()
}

#[test]
fn row_laws_conform_and_discrete_ones_enumerate() {
    let r = 3;
    let covariance = [1.3, 0.4, -0.2, 0.4, 0.9, 0.1, -0.2, 0.1, 0.7];
    let block = Structure::Block { dim: r };
    let mean = [0.3, -0.5, 0.1];
    let gaussian = MixtureRow::gaussian(&mean, &covariance).unwrap().rows(4);
    check_structures(&gaussian, &[], &[block]);
    let sparse = MixtureRow::sparse(0.3, &mean, &covariance).unwrap().rows(4);
    check_structures(&sparse, &[], &[block]);
    let weights = [0.2, 0.5, 0.3];
    let hot = MixtureRow::one_hot(&weights).unwrap().rows(4);
    // its covariance is singular along (1, 1, 1): the message is in moment form
    check_structures(&hot, &[], &[block]);
    let specs = specs_with(&hot, &[], &[block]);
    let message = [proper_message(&specs[0], 2.0, 3)];
    let mut site = Site::new(&hot, &specs, message.to_vec());
    let moments = site.moments(0).unwrap();
    let mut evidence = 0.0;
    for row in 0..4 {
        let (a, b) = (&message[0].precision, &message[0].linear);
        let logs: Vec<f64> = (0..r)
            .map(|k| weights[k].ln() + b[row * r + k] - 0.5 * a.entry(row * r + k, row * r + k))
            .collect();
        let log_z = log_sum(&logs);
        evidence += log_z;
        for k in 0..r {
            let p = (logs[k] - log_z).exp();
            let at = row * r + k;
            assert!((moments.mean[at] - p).abs() < 1e-14);
            assert!((moments.variance.entry(at, at) - p * (1.0 - p)).abs() < 1e-14);
        }
    }
    let ours = site.log_partition().unwrap();
    assert!(
        (ours - evidence).abs() < 1e-12 * evidence.abs(),
        "{ours} {evidence}"
    );
}

/// Rows that are zero or Gaussian, seen through noise: every row by itself is a mixture of two.
#[test]
fn block_beliefs_on_sparse_rows_are_exact() {
    let (n, r, rho, delta) = (30, 2, 0.4, 0.3);
    let covariance = [1.5, 0.6, 0.6, 0.8];
    let prior = MixtureRow::sparse(rho, &[0.2, -0.1], &covariance)
        .unwrap()
        .rows(n);
    let model = (source(prior)
        >> var("u").block(r)
        >> GaussianNoise::new(0.1).unwrap()
        >> var("v").block(r)
        >> GaussianNoise::new(0.2).unwrap()
        >> var("y").block(r))
    .build()
    .unwrap();
    let y = model.sample(3).unwrap().get("y").unwrap().to_vec();
    let report = infer(&model.condition("y", &y).unwrap());
    let mut evidence = 0.0;
    for (row, y) in y.chunks(r).enumerate() {
        let spike = Mat::from_fn(r, r, |i, j| if i == j { delta } else { 0.0 });
        let slab = Mat::from_fn(r, r, |i, j| covariance[i * r + j] + spike[(i, j)]);
        let mean = [0.2, -0.1];
        let logs = [
            (1.0 - rho).ln() + log_normal(y, &[0.0, 0.0], &spike),
            rho.ln() + log_normal(y, &mean, &slab),
        ];
        let log_z = log_sum(&logs);
        evidence += log_z;
        let p = (logs[1] - log_z).exp();
        let inverse = slab.partial_piv_lu().inverse();
        let prior = Mat::from_fn(r, r, |i, j| covariance[i * r + j]);
        let gain = &prior * &inverse;
        let inside = &prior - &gain * &prior;
        let m: Vec<f64> = (0..r)
            .map(|i| mean[i] + (0..r).map(|j| gain[(i, j)] * (y[j] - mean[j])).sum::<f64>())
            .collect();
        let marginal = report.marginal("u").unwrap();
        for i in 0..r {
            assert!((marginal.mean[row * r + i] - p * m[i]).abs() < 1e-10);
            for j in 0..r {
                let exact = p * inside[(i, j)] + p * (1.0 - p) * m[i] * m[j];
                let ours = marginal.variance.entry(row * r + i, row * r + j);
                assert!((ours - exact).abs() < 1e-10, "{ours} {exact}");
            }
        }
    }
    let ours = report.log_evidence().unwrap();
    assert!(
        (ours - evidence).abs() < 1e-10 * evidence.abs(),
        "{ours} {evidence}"
    );
}

/// Columns that are correlated, behind a matrix and noise: the dense joint Gaussian.
#[test]
fn rows_behind_a_matrix_are_exact() {
    let k = 2;
    let covariance = [1.3, 0.5, 0.5, 0.7];
    let root = cholesky_2(&covariance);
    for (n, m) in [(4, 6), (6, 4)] {
        let w = gaussian_matrix(m, n, 5);
        let law = MixtureRow::gaussian(&[0.0, 0.0], &covariance).unwrap();
        let model = (source(law.rows(n))
            >> var("w").block(k)
            >> Linear::new(w.clone()).unwrap()
            >> var("z").block(k)
            >> GaussianNoise::new(0.3).unwrap()
            >> var("y").block(k))
        .build()
        .unwrap();
        let y = normals(m * k, 9);
        let report = infer(&model.condition("y", &y).unwrap());
        // w = (1 ⊗ C) ξ, z = (W ⊗ 1) w
        let mix = Mat::from_fn(n * k, n * k, |i, j| {
            if i / k == j / k {
                root[(i % k, j % k)]
            } else {
                0.0
            }
        });
        let wide = Mat::from_fn(m * k, n * k, |i, j| {
            if i % k == j % k {
                mat(&w)[(i / k, j / k)]
            } else {
                0.0
            }
        });
        let exact = joint(
            &vec![(0.0, 1.0); n * k],
            &(&wide * &mix),
            &vec![0.3; m * k],
            &y,
        );
        exact.check_evidence(&report);
        let mean: Vec<f64> = (0..n * k)
            .map(|i| (0..n * k).map(|j| mix[(i, j)] * exact.mean[j]).sum())
            .collect();
        let gap = relative_gap(report.mean("w").unwrap(), &mean);
        assert!(gap < 1e-9, "mean of w is off by {gap:e}");
        // one matrix for all rows, the average of the exact ones
        let whole = &mix * &exact.covariance * mix.transpose();
        let ours = &report.marginal("w").unwrap().variance;
        for (i, j) in [(0, 0), (0, 1), (1, 1)] {
            let average = (0..n).map(|r| whole[(r * k + i, r * k + j)]).sum::<f64>() / n as f64;
            assert!((ours.entry(i, j) - average).abs() < 1e-9, "{i} {j}");
        }
    }
}

/// The lower triangular root of a 2 x 2 matrix.
fn cholesky_2(c: &[f64; 4]) -> Mat<f64> {
    let a = c[0].sqrt();
    let b = c[1] / a;
    let d = (c[3] - b * b).sqrt();
    Mat::from_fn(2, 2, |i, j| [[a, 0.0], [b, d]][i][j])
}

/// Outputs of rows: derivatives, and the message against moments.
#[test]
fn outputs_of_rows_conform() {
    for units in [1, 2, 3] {
        let channel = SignCommittee::new(units).unwrap().channel();
        let y: Vec<f64> = if units == 2 {
            vec![1.0, 0.0, -1.0, 1.0]
        } else {
            vec![1.0, -1.0, 1.0, -1.0]
        };
        let factor = channel.observe(&y).unwrap().unwrap();
        let spec = SignalSpec::real([4, units]);
        let block = Structure::Block { dim: units };
        let specs = vec![SignalSpec {
            structure: block,
            ..spec
        }];
        // of three units sums are good to 1e-6 absolutely
        let tolerance = if units < 3 { 5e-6 } else { 1e-4 };
        for scale in [1.0, 5.0] {
            let message = proper_message(&specs[0], scale, 4);
            treeamp::testing::factors::check_factor(&*factor, &specs, &[message], tolerance)
                .unwrap();
        }
    }
}
