//! Penalties on components with a precision for each.

use super::*;
use treeamp::factor::Site;
use treeamp::scalar::ScalarPenalty;
use treeamp::separable::Penalty;

fn diagonal(n: usize) -> SignalSpec {
    SignalSpec {
        structure: Structure::Diagonal,
        ..SignalSpec::real([n])
    }
}

/// The mode of every component is that of the law at its own precision, and the derivative of the potential.
fn check_components<P: Penalty + ScalarPenalty>(law: &P) {
    let (name, spec) = (ScalarPenalty::name(law), diagonal(4));
    let factor = law.clone().iid(4);
    let mut message = Gaussian::flat(&spec);
    let precisions = [0.3, 1.7, 4.0, 25.0];
    message.precision.data_mut().copy_from_slice(&precisions);
    message.linear = vec![-1.0, 0.2, 0.9, 40.0];
    let mut site = Site::new(&factor, std::slice::from_ref(&spec), vec![message.clone()]);
    let moments = site.moments(0).unwrap();
    let mut potential = |message: Gaussian| {
        site.messages[0] = message;
        site.log_partition().unwrap()
    };
    for (i, a) in precisions.into_iter().enumerate() {
        let t = ScalarPenalty::proximal(law, a, message.linear[i]);
        assert!((moments.mean[i] - t.mean).abs() < 1e-14, "{name} {i}");
        let v = moments.variance.entry(i, i);
        assert!((v - t.variance).abs() < 1e-14, "{name} {i}");
        let h = 1e-5;
        let mut at = |shift: f64| {
            let mut moved = message.clone();
            moved.linear[i] += shift;
            potential(moved)
        };
        let slope = (at(h) - at(-h)) / (2.0 * h);
        // potentials of order 30 round to 1e-15 of that, over 1e-5
        assert!(
            (slope - t.mean).abs() < 1e-8,
            "{name} {i}: {slope} {}",
            t.mean
        );
    }
}

#[test]
fn penalties_on_components_take_diagonal_beliefs() {
    check_components(&L1::new(0.7).unwrap());
    check_components(&NonNegative::new().unwrap());
    check_components(&BoxConstraint::new(-0.3, 0.5).unwrap());
    check_components(&Quadratic::new(0.4, 0.2).unwrap());
}

fn lasso(w: &Matrix, y: &[f64], structure: Structure) -> Tree {
    (source(L1::new(1.0).unwrap().iid(w.cols()))
        >> var("x").belief(structure)
        >> Linear::new(w.clone()).unwrap()
        >> var("z")
        >> seen(0.1, y))
    .build()
    .unwrap()
}

/// Among Bayesian factors that are Gaussian, a fixed point has the mode whatever its precisions are: that of the lasso, with
/// columns of scales from 0.1 to 10. Diagonal beliefs find it in half the sweeps of isotropic ones, or fewer.
#[test]
fn diagonal_beliefs_find_the_lasso() {
    for (rows, cols) in [(60, 40), (40, 60)] {
        let plain = gaussian_matrix(rows, cols, 1);
        let scale = |j: usize| 10_f64.powf((j % 5) as f64 / 2.0 - 1.0);
        let w = Matrix::from_fn(rows, cols, |i, j| plain.get(i, j) * scale(j)).unwrap();
        let mut y = vec![0.0; rows];
        w.apply(&normals(cols, 2), 1, &mut y);
        let noise = normals(rows, 3);
        y.iter_mut().zip(&noise).for_each(|(y, e)| *y += 0.1 * e);
        let tree = lasso(&w, &y, Structure::Isotropic);
        let minimum = MaximumAPosteriori.on(&tree).unwrap().run(&mut ()).unwrap();
        let best = minimum.solution(&tree).unwrap();
        let isotropic = infer(&tree);
        let ours = infer(&lasso(&w, &y, Structure::Diagonal));
        let gap = relative_gap(ours.mean("x").unwrap(), best.point("x").unwrap());
        // the tolerance of moments is 1e-6
        assert!(gap < 1e-6, "{rows} x {cols}: {gap:e}");
        let (few, many) = (ours.sweeps, isotropic.sweeps);
        assert!(2 * few <= many, "{rows} x {cols}: {few}, {many}");
    }
}

/// A precision for each component holds those that are not active with precisions that grow: where rounding leaves nothing of the evidence it
/// is refused, and else it does not depend on the unit of the data but by $m\ln c$.
#[test]
fn evidences_of_diagonal_beliefs_have_digits_or_are_refused() {
    let (rows, cols) = (40, 60);
    let w = gaussian_matrix(rows, cols, 0);
    let mut y = vec![0.0; rows];
    w.apply(&normals(cols, 1), 1, &mut y);
    for strength in [0.1, 1.0, 5.0] {
        let evidence = |unit: f64| {
            let y: Vec<f64> = y.iter().map(|y| y * unit).collect();
            let tree = (source(L1::new(strength / unit).unwrap().iid(cols))
                >> var("x").belief(Structure::Diagonal)
                >> Linear::new(w.clone()).unwrap()
                >> var("z")
                >> seen(0.1 * unit * unit, &y))
            .build()
            .unwrap();
            let report = infer(&tree);
            let density = rows as f64 * unit.ln();
            match report.log_evidence() {
                Ok(evidence) => Some(evidence + density),
                // restarts rank this below every number
                Err(RunError::NotReached { .. }) => None,
                Err(other) => panic!("{other}"),
            }
        };
        let found: Vec<f64> = [1.0, 10.0, 1e-3].into_iter().filter_map(evidence).collect();
        for x in &found {
            let gap = (x - found[0]).abs();
            assert!(
                gap < 2e-3 * found[0].abs().max(1.0),
                "{strength}: {found:?}"
            );
        }
    }
}

/// A group has no prox by formula where its members have precisions of their own.
#[test]
fn groups_refuse_diagonal_beliefs_by_name() {
    let model = source(L21::new(1.0).unwrap().shaped([2, 3]))
        >> var("x").diagonal()
        >> seen(0.1, &[0.1; 6]);
    let error = ExpectationPropagation
        .on(&model.build().unwrap())
        .unwrap_err()
        .to_string();
    assert!(error.contains("`l21`") && error.contains("`x`"), "{error}");
}
