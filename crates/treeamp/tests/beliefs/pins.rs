//! Exactly known values.

use super::*;

/// A noiseless observation with diagonal beliefs: exact, component by component.
#[test]
fn diagonal_beliefs_hold_noiseless_observations() {
    let (rows, cols) = (5, 9);
    let w = gaussian_matrix(rows, cols, 21);
    let y = normals(rows, 22);
    let exact = joint(&vec![(0.1, 1.5); cols], &mat(&w), &vec![0.0; rows], &y);
    for on_z in [Structure::Isotropic, Structure::Diagonal] {
        let tree = (source(GaussianPrior::new(0.1, 1.5).unwrap().iid(cols))
            >> var("x").diagonal()
            >> Linear::new(w.clone()).unwrap()
            >> var("z").belief(on_z)
            >> seen(0.0, &y))
        .build()
        .unwrap();
        let report = infer(&tree);
        assert!(relative_gap(report.mean("x").unwrap(), &exact.mean) < 1e-10);
        let v: Vec<f64> = report.marginal("x").unwrap().variance.diagonal().collect();
        let own: Vec<f64> = (0..cols).map(|i| exact.covariance[(i, i)]).collect();
        assert!(relative_gap(&v, &own) < 1e-10);
        exact.check_evidence(&report);
        assert_eq!(report.variance("z").unwrap(), 0.0);
    }
}

/// A full belief cannot hold "W x is known" when W is wide, and says so; when W determines x, x is pinned.
#[test]
fn exact_outputs_and_full_beliefs() {
    let tree = |rows: usize, y: &[f64]| {
        (source(GaussianPrior::new(0.0, 1.0).unwrap().iid(4))
            >> var("x").full()
            >> linear(rows, 4, 31)
            >> var("z").full()
            >> seen(0.0, y))
        .build()
        .unwrap()
    };
    let wide = tree(2, &[1.0, 2.0]);
    let error = ExpectationPropagation.on(&wide).unwrap_err();
    assert!(error.to_string().contains("known exactly"), "{error}");
    let x = normals(4, 32);
    let mut y = vec![0.0; 6];
    gaussian_matrix(6, 4, 31).apply(&x, 1, &mut y);
    let report = infer(&tree(6, &y));
    assert!(relative_gap(report.mean("x").unwrap(), &x) < 1e-10);
    assert_eq!(report.variance("x").unwrap(), 0.0);
    y[0] += 0.1;
    let broken = tree(6, &y);
    let error = ExpectationPropagation
        .on(&broken)
        .unwrap()
        .run(&mut ())
        .unwrap_err();
    assert!(error.to_string().contains("contradiction"), "{error}");
}

/// The Jacobian of an invertible output is part of the evidence, in every structure.
#[test]
fn the_evidence_of_invertible_outputs_has_its_jacobian() {
    let y = [0.6, -0.2];
    let log_density = |y: f64| {
        let z = y.atanh();
        -0.5 * (z - 0.3).powi(2) - 0.5 * std::f64::consts::TAU.ln() - (1.0 - y * y).ln()
    };
    let exact: f64 = y.iter().map(|y| log_density(*y)).sum();
    for s in [Structure::Isotropic, Structure::Diagonal, Structure::Full] {
        let model = (source(GaussianPrior::new(0.3, 1.0).unwrap().iid(2))
            >> var("x").belief(s)
            >> Activation::tanh()
            >> var("y"))
        .build()
        .unwrap();
        let report = infer(&model.condition("y", &y).unwrap());
        let ours = report.log_evidence().unwrap();
        assert!((ours - exact).abs() < 1e-12, "{s}: {ours} {exact}");
    }
}
