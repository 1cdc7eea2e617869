//! What a damping means: a number that does not settle a run is followed by an adaptive one; plain sweeps are left alone.

use std::ops::ControlFlow;

use super::*;

/// A sparse gradient, which plain sweeps do not settle, nor little damping.
fn gradient() -> Tree {
    suite::case("sparse gradient", 0).posterior
}

#[test]
fn a_damping_that_does_not_settle_is_followed_by_an_adaptive_one() {
    let tree = gradient();
    let engine = || ExpectationPropagation.on(&tree).unwrap();
    let adaptive = engine().run(&mut ()).unwrap();
    assert!(adaptive.termination.is_converged());
    assert!(adaptive.restarted.is_none());
    let mut sweeps = Vec::new();
    let mut watch = |view: &SweepView<'_, ExpectationPropagation>| {
        sweeps.push(view.sweep);
        ControlFlow::Continue(())
    };
    let again = engine().damping(0.01).run(&mut watch).unwrap();
    let first = again.restarted.as_ref().unwrap();
    println!("{first}");
    assert!(!first.is_converged());
    assert_eq!(again.sweeps, adaptive.sweeps);
    assert_eq!(again.mean("x").unwrap(), adaptive.mean("x").unwrap());
    // observers see both runs from their first sweep on
    assert_eq!(sweeps.iter().filter(|sweep| **sweep == 1).count(), 2);
    let node = &tree.factors()[0];
    let variable = &tree.variables()[tree.edges()[node.edges[0]].variable];
    let edges = vec![(node.name.clone(), variable.name.clone(), 0.01)];
    let edge = run(&tree, Damping::PerEdge(edges));
    assert!(edge.restarted.is_some() && edge.termination.is_converged());
}

/// Also a run that is still on its way at its limit; where adaptive damping does not settle it either, the nearer of the two is kept.
#[test]
fn a_damping_too_strong_for_its_limit_is_followed_too() {
    let tree = suite::case("sparse regression, N = 20", 0).posterior;
    let engine = || ExpectationPropagation.on(&tree).unwrap();
    let slow = || engine().damping(0.97).max_sweeps(60);
    let alone = slow().fallback(Fallback::Forbidden);
    let alone = alone.run(&mut ()).unwrap();
    assert_eq!(alone.termination, Termination::SweepLimit);
    assert!(
        alone.residual() < 0.5 * alone.trace[30].residual,
        "on its way"
    );
    let again = slow().run(&mut ()).unwrap();
    assert!(again.termination.is_converged(), "{}", again.termination);
    assert_eq!(again.restarted, Some(Termination::SweepLimit));
    let distance = |report: &Posterior| {
        let last = report.trace.last().unwrap();
        last.residual / last.step
    };
    for damping in [0.2, 0.97] {
        let short = |damping: Damping, fallback| {
            let engine = engine().damping(damping).max_sweeps(4);
            engine.fallback(fallback).run(&mut ()).unwrap()
        };
        let first = short(damping.into(), Fallback::Forbidden);
        let second = short(Damping::Adaptive, Fallback::Forbidden);
        let kept = short(damping.into(), Fallback::Automatic);
        assert!(!kept.termination.is_converged());
        let least = distance(&first).min(distance(&second));
        assert_eq!(distance(&kept), least, "damping {damping}");
        assert_eq!(kept.restarted.is_some(), least == distance(&second));
    }
}

#[test]
fn plain_sweeps_steps_and_a_forbidden_fallback_are_left_alone() {
    let tree = gradient();
    let engine = || ExpectationPropagation.on(&tree).unwrap();
    let forbidden = engine().fallback(Fallback::Forbidden);
    for engine in [
        engine().damping(Damping::None),
        engine().damping(0.0),
        engine().damping(Damping::Steps(vec![0.99])),
        forbidden.damping(0.01),
    ] {
        let report = engine.run(&mut ()).unwrap();
        assert!(!report.termination.is_converged());
        assert!(report.restarted.is_none() && report.fallback.is_none());
    }
}

/// Without a tolerance a run goes on until its limit, and nothing takes over from where it rests.
#[test]
fn a_run_without_a_tolerance_ends_at_its_limit() {
    let tree = suite::case("sparse regression, N = 20", 0).posterior;
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

/// A damping that is given without a tolerance is exactly those sweeps, once.
#[test]
fn a_damped_run_without_a_tolerance_is_made_once() {
    let tree = suite::case("sparse regression, N = 20", 0).posterior;
    let mut told = 0;
    let mut watch = |_: &SweepView<'_, ExpectationPropagation>| {
        told += 1;
        ControlFlow::Continue(())
    };
    let engine = ExpectationPropagation.on(&tree).unwrap().damping(0.9);
    let report = engine.tolerance(0.0).max_sweeps(5).run(&mut watch).unwrap();
    assert_eq!((report.sweeps, told), (5, 5));
    assert!(report.restarted.is_none());
}
