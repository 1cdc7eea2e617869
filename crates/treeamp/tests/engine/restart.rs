//! What a damping means: a number that does not settle a run is followed by an adaptive one; plain sweeps are left alone.

use super::*;

/// Columns that all resemble one another, and beliefs component by component: plain sweeps diverge.
fn correlated() -> Tree {
    let (m, n) = (60, 20);
    let (shared, own) = (gaussian_matrix(m, 1, 5), gaussian_matrix(m, n, 6));
    let w = Matrix::from_fn(m, n, |i, j| 3.0 * shared.get(i, 0) + 2.0 * own.get(i, j));
    let model = source(GaussBernoulli::new(0.5, 0.0, 1.0).unwrap().iid(n))
        >> var("x").diagonal()
        >> Linear::new(w.unwrap()).unwrap()
        >> var("z").diagonal()
        >> GaussianNoise::new(0.1).unwrap()
        >> var("y");
    let model = model.build().unwrap();
    let sample = model.sample(1).unwrap();
    model.condition("y", sample.get("y").unwrap()).unwrap()
}

#[test]
fn a_damping_that_does_not_settle_is_followed_by_an_adaptive_one() {
    let tree = correlated();
    let engine = || ExpectationPropagation.on(&tree).unwrap();
    let adaptive = engine().run(&mut ()).unwrap();
    assert!(adaptive.termination.is_converged(), "{}", adaptive.termination);
    assert!(adaptive.restarted.is_none());
    let mut sweeps = Vec::new();
    let mut watch = |view: &SweepView<'_, ExpectationPropagation>| {
        sweeps.push(view.sweep);
        ControlFlow::Continue(())
    };
    let again = engine().damping(0.01).run(&mut watch).unwrap();
    println!("{:?}", again.restarted);
    assert!(matches!(again.restarted, Some(Termination::Diverging(_))));
    assert_eq!(again.sweeps, adaptive.sweeps);
    assert_eq!(again.mean("x").unwrap(), adaptive.mean("x").unwrap());
    // observers see both runs from their first sweep on
    assert_eq!(sweeps.iter().filter(|sweep| **sweep == 1).count(), 2);
    let edges = vec![("linear".to_owned(), "x".to_owned(), 0.01)];
    let edge = engine().damping(Damping::PerEdge(edges)).run(&mut ());
    assert!(edge.unwrap().restarted.is_some());
}

#[test]
fn plain_sweeps_steps_and_a_forbidden_fallback_are_left_alone() {
    let tree = correlated();
    let engine = || ExpectationPropagation.on(&tree).unwrap();
    let forbidden = engine().fallback(Fallback::Forbidden);
    for engine in [
        engine().damping(Damping::None),
        engine().damping(0.0),
        engine().damping(Damping::Steps(vec![0.99])),
        forbidden.damping(0.01),
    ] {
        let report = engine.run(&mut ()).unwrap();
        assert!(matches!(report.termination, Termination::Diverging(_)));
        assert!(report.restarted.is_none() && report.fallback.is_none());
    }
}

/// Without a tolerance a run goes on until its limit, and nothing takes over from where it rests.
#[test]
fn a_run_without_a_tolerance_ends_at_its_limit() {
    let (tree, _) = regression(100, 3);
    let engine = ExpectationPropagation.on(&tree).unwrap();
    let mut told = 0;
    let mut watch = |view: &SweepView<'_, ExpectationPropagation>| {
        told += 1;
        assert!(!view.fallback && view.step > 0.0 && view.step <= 1.0);
        assert_eq!(view.full_residual(), view.residual / view.step);
        ControlFlow::Continue(())
    };
    let engine = engine.tolerance(0.0).max_sweeps(300);
    let report = engine.run(&mut watch).unwrap();
    assert_eq!(report.termination, Termination::SweepLimit);
    assert_eq!(report.sweeps, 300);
    assert!(report.fallback.is_none() && told > 250);
}
