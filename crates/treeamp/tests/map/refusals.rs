//! What has no mode, no minimiser or no solution, and what is said of it.

use super::solvers::{minimised, observed, regression};
use crate::common::{chain, gaussian_matrix, seen};
use treeamp::prelude::*;

#[test]
fn what_has_no_mode_is_listed_before_the_first_sweep() {
    let w = gaussian_matrix(6, 8, 1);
    let like = treeamp::catalog::observed(&PiecewiseLinear::sign()).unwrap();
    let model = chain(
        GaussBernoulli::new(0.1, 0.0, 1.0).unwrap().iid(8),
        Linear::new(w).unwrap(),
        like.observed(vec![1.0; 6]).unwrap(),
    );
    let tree = model.build().unwrap();
    let Err(RunError::MissingRules { missing, .. }) = MaximumAPosteriori.on(&tree) else {
        panic!("expected missing rules")
    };
    let names: Vec<&str> = missing.iter().map(|(f, _)| f.as_str()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names.contains(&"gauss_bernoulli"));
}

#[test]
fn an_energy_that_is_not_convex_has_no_certain_fallback() {
    let w = gaussian_matrix(6, 8, 1);
    // hard thresholding
    let over = |t: f64, u: f64| u * u > 2.0 * t;
    let zero_norm = CustomPenalty::new(
        "l0",
        move |t, u| if over(t, u) { u } else { 0.0 },
        move |t, u| f64::from(over(t, u)),
        |x| f64::from(x != 0.0),
    )
    .not_convex();
    let y = observed(&w, 2, 0.1);
    let tree = regression(zero_norm.iid(8), &w, 0.1, &y);
    let engine = MaximumAPosteriori.on(&tree).unwrap();
    let error = engine.fallback(Fallback::Forced).run(&mut ()).unwrap_err();
    assert!(error.to_string().contains("`l0` is not convex"), "{error}");
}

/// Constraints that cannot hold together have no minimiser: the report says so, and has no least energy.
#[test]
fn infeasible_problems_are_said_to_be() {
    let w = Matrix::from_fn(4, 3, |i, j| 1.0 + (i * j) as f64).unwrap();
    let wide = gaussian_matrix(2, 3, 1);
    let box_law = || BoxConstraint::new(-0.01, 0.01).unwrap().iid(3);
    let trees = [
        regression(NonNegative::new().unwrap().iid(3), &w, 0.0, &[-1.0; 4]),
        regression(box_law(), &wide, 0.0, &[5.0, -7.0]),
    ];
    for (tree, fallback) in trees.iter().flat_map(|t| {
        let all = [Fallback::Automatic, Fallback::Forced, Fallback::Forbidden];
        all.map(|f| (t, f))
    }) {
        let engine = MaximumAPosteriori.on(tree).unwrap().fallback(fallback);
        let Ok(report) = engine.run(&mut ()) else {
            continue; // a typed error before the end will do
        };
        let how = &report.termination;
        assert!(!how.is_converged(), "{fallback:?}: {how}");
        let refused = report.solution(tree).unwrap_err();
        assert!(matches!(refused, RunError::NotReached { .. }), "{refused}");
        let least = report.least_energy();
        assert!(
            least.as_ref().is_err() || !least.as_ref().unwrap().is_nan(),
            "{least:?}"
        );
    }
}

/// A run that was stopped short is no solution, unless one asks for where it is.
#[test]
fn an_unfinished_run_has_no_solution() {
    let w = gaussian_matrix(50, 200, 1);
    let y = observed(&w, 5, 0.1);
    let tree = regression(L1::new(0.5).unwrap().iid(200), &w, 0.01, &y);
    let engine = MaximumAPosteriori.on(&tree).unwrap().max_sweeps(20);
    let report = engine.fallback(Fallback::Forbidden).run(&mut ()).unwrap();
    let refused = report.solution(&tree).unwrap_err();
    assert!(matches!(refused, RunError::NotReached { .. }), "{refused}");
    let (_, best) = minimised(&tree, Fallback::Automatic, "lasso");
    let so_far = report.solution_so_far(&tree).unwrap().energy();
    assert!(so_far > best.solution(&tree).unwrap().energy());
}

/// A proximal map or an energy of one's own that is not a number is an error that names the factor.
#[test]
fn what_is_not_a_number_is_an_error_of_its_factor() {
    let w = gaussian_matrix(6, 8, 1);
    let y = observed(&w, 2, 0.1);
    let broken = |x: f64| if x.abs() > 0.05 { f64::NAN } else { 0.0 };
    let ridge = |t: f64, u: f64| u / (1.0 + t);
    let slope = |t: f64, _: f64| 1.0 / (1.0 + t);
    let square = |x: f64| 0.5 * x * x;
    let laws = [
        CustomPenalty::new("broken", move |t, u| ridge(t, u) + broken(u), slope, square),
        CustomPenalty::new("broken", ridge, move |t, u| slope(t, u) + broken(u), square),
    ];
    for law in laws {
        let tree = regression(law.iid(8), &w, 0.1, &y);
        let error = MaximumAPosteriori
            .on(&tree)
            .unwrap()
            .run(&mut ())
            .unwrap_err();
        assert!(
            matches!(&error, RunError::Factor { factor, .. } if factor == "broken"),
            "{error}"
        );
        let error = ExpectationPropagation.on(&tree).unwrap().run(&mut ());
        assert!(error.unwrap_err().to_string().contains("`broken`"));
    }
    let law = CustomPenalty::new("broken", ridge, slope, move |x| square(x) + broken(x));
    let tree = regression(law.iid(8), &w, 0.1, &y);
    let report = MaximumAPosteriori.on(&tree).unwrap().run(&mut ()).unwrap();
    assert!(!report.termination.is_converged());
    assert!(report.termination.to_string().contains("`broken`"));
    assert!(report.least_energy().is_err() && report.solution(&tree).is_err());
}

/// The mode takes isotropic beliefs only, and says so before the first sweep.
#[test]
fn other_beliefs_are_refused() {
    let like = seen(1.0, &[1.0; 5]);
    let model = source(GaussianPrior::new(0.0, 1.0).unwrap().iid(5)) >> var("x").full() >> like;
    let tree = model.build().unwrap();
    let refused = MaximumAPosteriori.on(&tree).unwrap_err();
    assert!(
        matches!(refused, RunError::AlgorithmBelief { .. }),
        "{refused}"
    );
}

/// A report belongs to the tree that was run on.
#[test]
fn another_tree_is_refused() {
    let tree = |n: usize| {
        let like = seen(1.0, &vec![1.0; n]);
        let model = source(L1::new(0.5).unwrap().iid(n)) >> var("x") >> like;
        model.build().unwrap()
    };
    let (run, other) = (tree(8), tree(3));
    let report = MaximumAPosteriori.on(&run).unwrap().run(&mut ()).unwrap();
    let refused = report.solution(&other).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("`x` has 3 numbers in place of 8"),
        "{refused}"
    );
}
