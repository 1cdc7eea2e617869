//! Maximum a posteriori estimation at the limits of energies: least energies of zero, energies without a lower bound, and
//! penalties that are not numbers.

use crate::common::{chain, gaussian_matrix, glm, normals, relative_gap};
use treeamp::extend::Factor;
use treeamp::operator::Boundary;
use treeamp::prelude::*;

const FALLBACKS: [Fallback; 2] = [Fallback::Automatic, Fallback::Forced];

fn times(w: &Matrix, x: &[f64]) -> Vec<f64> {
    let row = |i: usize| (0..w.cols()).map(|j| w.get(i, j) * x[j]).sum();
    (0..w.rows()).map(row).collect()
}

fn regression(prior: impl Factor, w: &Matrix, delta: f64, y: &[f64]) -> Tree {
    let noise = GaussianNoise::new(delta).unwrap();
    let channel = Linear::new(w.clone()).unwrap();
    let model = glm(prior, channel, noise);
    model.build().unwrap().condition("y", y).unwrap()
}

fn run(tree: &Tree, fallback: Fallback) -> Minimum {
    let engine = MaximumAPosteriori.on(tree).unwrap().fallback(fallback);
    engine.run(&mut ()).unwrap()
}

/// Settles at an energy that is the objective, both hardly above zero, and gives the place of `x`.
fn vanishing(tree: &Tree, fallback: Fallback, what: &str) -> Vec<f64> {
    let report = run(tree, fallback);
    let how = &report.termination;
    assert!(how.is_converged(), "{what} {fallback:?}: {how}");
    let solution = report.solution(tree).unwrap();
    let (energy, bethe) = (solution.energy(), report.least_energy().unwrap());
    assert!(
        (energy - bethe).abs() < 1e-8 && energy.abs() < 1e-7,
        "{what} {fallback:?}: energy {energy:e}, objective {bethe:e}"
    );
    solution.point("x").unwrap().to_vec()
}

/// Images that are constant up to next to nothing: what is left of their energy is rounding.
#[test]
fn constant_images_settle() {
    for shape in [vec![30], vec![8, 8]] {
        let n: usize = shape.iter().product();
        for boundary in [Boundary::Periodic, Boundary::Neumann] {
            for (strength, noise) in [(0.1, 0.0), (1.0, 1e-12), (10.0, 1e-9), (10.0, 1e-6)] {
                let y: Vec<f64> = normals(n, 3).iter().map(|e| 1.0 + noise * e).collect();
                let like = GaussianLikelihood::new(0.01).unwrap();
                let model = source(Quadratic::free().shaped(shape.clone()))
                    >> var("x")
                    >> (branch(like.observed(y.clone()).unwrap())
                        + Gradient::with_boundary(boundary)
                        >> var("z")
                        >> L21::new(strength).unwrap().at_end());
                let tree = model.build().unwrap();
                let mean = y.iter().sum::<f64>() / n as f64;
                for fallback in FALLBACKS {
                    let what = format!("{shape:?} {boundary:?} {strength} {noise:e}");
                    let x = vanishing(&tree, fallback, &what);
                    // the strength leaves no difference at all
                    assert!(relative_gap(&x, &vec![mean; n]) < 1e-12, "{what}");
                }
            }
        }
    }
}

/// Least squares, bounded or not, whose data can be met exactly.
#[test]
fn exact_least_squares_settle() {
    for (m, n) in [(60, 40), (40, 60)] {
        let w = gaussian_matrix(m, n, 1);
        let x0: Vec<f64> = normals(n, 2).iter().map(|x| x.max(0.0)).collect();
        for (delta, noise) in [(1.0, 0.0), (1e-4, 0.0), (1.0, 1e-12)] {
            let clean = times(&w, &x0).into_iter().zip(normals(m, 4));
            let y: Vec<f64> = clean.map(|(y, e)| y + noise * e).collect();
            let positive = NonNegative::new().unwrap().iid(n);
            let bounded = BoxConstraint::new(0.0, 10.0).unwrap().iid(n);
            let trees = [
                ("non-negative", regression(positive, &w, delta, &y)),
                ("box", regression(bounded, &w, delta, &y)),
                ("free", regression(Quadratic::free().iid(n), &w, delta, &y)),
            ];
            for (law, tree) in &trees {
                for fallback in FALLBACKS {
                    let what = format!("{law} {m} x {n}, {delta:e}, {noise:e}");
                    let x = vanishing(tree, fallback, &what);
                    if m > n {
                        assert!(relative_gap(&x, &x0) < 1e-9, "{what}");
                    }
                }
            }
        }
    }
}

/// $E(x) = sx$.
fn tilt(slope: f64) -> CustomPenalty {
    let energy = move |x| slope * x;
    CustomPenalty::new("tilt", move |t, u| u - slope * t, |_, _| 1.0, energy)
}

/// $E(x) = |x| - sx$.
fn lopsided(slope: f64) -> CustomPenalty {
    let soft = |b: f64, t: f64| b.signum() * (b.abs() - t).max(0.0);
    CustomPenalty::new(
        "lopsided",
        move |t, u| soft(u + slope * t, t),
        move |t, u| f64::from((u + slope * t).abs() > t),
        move |x: f64| x.abs() - slope * x,
    )
}

/// Ends as unbounded, with the names of the factor that falls and of its variable, and without a least energy.
fn falls(tree: &Tree, factor: &str, what: &str) {
    for fallback in FALLBACKS {
        let report = run(tree, fallback);
        let Termination::Rejected(why @ Verdict::Unbounded { .. }) = &report.termination else {
            panic!("{what} {fallback:?}: {}", report.termination)
        };
        assert_eq!(why.factor(), Some(factor), "{what}: {why}");
        assert_eq!(why.variable(), Some("x"), "{what}: {why}");
        let least = report.least_energy().unwrap_err();
        let named = matches!(&least, RunError::NoMinimum { factor: f, .. } if f == factor);
        assert!(named, "{what}: {least}");
        assert!(report.solution(tree).is_err());
    }
}

/// Along what a wide matrix does not see nothing holds a linear energy.
#[test]
fn energies_without_a_lower_bound_have_no_minimiser() {
    for (m, n) in [(6, 8), (30, 40)] {
        let w = gaussian_matrix(m, n, 1);
        let y = times(&w, &normals(n, 2));
        for delta in [0.0, 1e-4, 0.1] {
            let what = format!("{m} x {n}, {delta:e}");
            falls(&regression(tilt(1.0).iid(n), &w, delta, &y), "tilt", &what);
            falls(&regression(tilt(1e-6).iid(n), &w, delta, &y), "tilt", &what);
            // without noise this one is said to be infeasible: far away constraints have no digits left
            if m == 30 && delta > 0.0 {
                let tree = regression(lopsided(2.0).iid(n), &w, delta, &y);
                falls(&tree, "lopsided", &what);
            }
        }
    }
    let constant = chain(
        tilt(1.0).shaped([12]),
        Gradient::with_boundary(Boundary::Periodic),
        L1::new(1.0).unwrap().at_end(),
    );
    falls(&constant.build().unwrap(), "tilt", "total variation");
    let upwards = source(tilt(-1.0).iid(5)) >> var("x") >> NonNegative::new().unwrap().at_end();
    falls(&upwards.build().unwrap(), "tilt", "upwards");
    let alone = source(tilt(1.0).iid(5)) >> var("x") >> Quadratic::free().at_end();
    falls(&alone.build().unwrap(), "tilt", "alone");
}

/// The same penalties where the others hold them: $x = (W^TW)^{-1}(W^Ty - \Delta s)$ has the slope of all energies at zero, and
/// $|x| - x/2$ is a lasso with two strengths.
#[test]
fn energies_that_something_holds_have_one() {
    let (m, n, delta) = (8, 6, 0.1);
    let w = gaussian_matrix(m, n, 1);
    let y = times(&w, &normals(n, 2));
    let slopes = |x: &[f64]| -> Vec<f64> {
        let gaps: Vec<f64> = times(&w, x).iter().zip(&y).map(|(z, y)| z - y).collect();
        let column = |j: usize| (0..m).map(|i| w.get(i, j) * gaps[i]).sum::<f64>() / delta;
        (0..n).map(column).collect()
    };
    for fallback in FALLBACKS {
        for slope in [1.0, 1e-6] {
            let tree = regression(tilt(slope).iid(n), &w, delta, &y);
            let solution = run(&tree, fallback).solution(&tree).unwrap();
            for g in slopes(solution.point("x").unwrap()) {
                // the slope of a misfit of order one, to the 1e-6 of places
                assert!((g + slope).abs() < 1e-6, "{g} {slope}");
            }
        }
        let tree = regression(lopsided(0.5).iid(n), &w, delta, &y);
        let solution = run(&tree, fallback).solution(&tree).unwrap();
        let x = solution.point("x").unwrap();
        for (x, g) in x.iter().zip(slopes(x)) {
            let left = if *x > 0.0 { g + 0.5 } else { g - 1.5 };
            let inside = *x == 0.0 && (-0.5 - 1e-6..=1.5 + 1e-6).contains(&g);
            assert!(inside || left.abs() < 1e-6, "{x} {g}");
        }
    }
    let held = source(tilt(1.0).iid(5)) >> var("x") >> NonNegative::new().unwrap().at_end();
    let held = held.build().unwrap();
    assert_eq!(vanishing(&held, Fallback::Automatic, "held"), [0.0; 5]);
}

/// A proximal map that is no number at the step of the first message: its factor is named, not the one that then hears nothing.
#[test]
fn a_penalty_without_a_first_message_is_named() {
    let w = gaussian_matrix(6, 8, 1);
    let y = times(&w, &normals(8, 2));
    let soft = |b: f64, t: f64| b.signum() * (b.abs() - t).max(0.0);
    let cut = |t: f64| if t > 0.5 { f64::NAN } else { 0.0 };
    let law = CustomPenalty::new(
        "broken",
        move |t, u| soft(u, t) + cut(t),
        |t, u| f64::from(u.abs() > t),
        f64::abs,
    );
    for delta in [0.0, 0.1] {
        let tree = regression(law.clone().iid(8), &w, delta, &y);
        for fallback in [Fallback::Automatic, Fallback::Forced, Fallback::Forbidden] {
            let engine = MaximumAPosteriori.on(&tree).unwrap().fallback(fallback);
            let error = engine.run(&mut ()).unwrap_err();
            let named = matches!(&error, RunError::Factor { factor, .. } if factor == "broken");
            assert!(named, "{error}");
        }
    }
}

/// Labels that a plane separates have logistic losses with an infimum of zero, which no weights attain; with the least penalty on them
/// they have a minimiser.
#[test]
fn separable_labels_have_no_minimiser() {
    let (m, n) = (20, 3);
    let w = gaussian_matrix(m, n, 5);
    let y = times(&w, &[1.0, -2.0, 0.5]);
    let labels: Vec<f64> = y.iter().map(|y| y.signum()).collect();
    let model = |strength: f64, labels: Vec<f64>| {
        let law = treeamp::catalog::likelihoods::LogisticLikelihood::default()
            .observed(labels)
            .unwrap();
        let weights = Quadratic::new(strength, 0.0).unwrap();
        chain(weights.iid(n), Linear::new(w.clone()).unwrap(), law)
            .build()
            .unwrap()
    };
    let tree = model(0.0, labels.clone());
    let report = MaximumAPosteriori.on(&tree).unwrap().run(&mut ()).unwrap();
    let Termination::Rejected(why) = &report.termination else {
        panic!("{}", report.termination)
    };
    assert_eq!(why.kind(), "infimum_not_attained", "{why}");
    assert!(report.least_energy().is_err() && report.solution(&tree).is_err());
    for strength in [1e-2, 1e-6] {
        let tree = model(strength, labels.clone());
        let report = MaximumAPosteriori.on(&tree).unwrap().run(&mut ()).unwrap();
        let ended = &report.termination;
        assert!(ended.is_converged(), "{strength:e}: {ended}");
    }
    // one label on the wrong side
    let mut mixed = labels;
    mixed[0] = -mixed[0];
    mixed[1] = -mixed[1];
    let tree = model(0.0, mixed);
    let report = MaximumAPosteriori.on(&tree).unwrap().run(&mut ()).unwrap();
    assert!(report.termination.is_converged(), "{}", report.termination);
}
