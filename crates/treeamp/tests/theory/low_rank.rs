//! State evolution of products of hidden matrices of few columns: where the transitions are.

use treeamp::algorithms::state_evolution::phases::{FixedPoints, Search};
use treeamp::belief::OverlapFields;
use treeamp::factor::{Averaged, Factor};
use treeamp::prelude::*;

fn observed(fragment: Fragment, noise: f64) -> Tree {
    let tree = fragment >> var("z") >> GaussianNoise::new(noise).unwrap() >> var("y");
    tree.build().unwrap().expect("y").unwrap()
}

/// $Y = \sqrt{\mathrm{snr}/N}\,x x^T + W$, each pair once.
fn wigner(prior: Fragment, snr: f64) -> Tree {
    observed(prior >> LowRankGram::new(1).unwrap(), 1.0 / snr)
}

fn spins() -> Fragment {
    source(Binary::new(0.5).unwrap().limit()) >> var("x")
}

/// Zero, or a random sign with probability $\rho$.
fn sparse(rho: f64) -> FiniteAlphabet {
    let weights = [0.5 * rho, 1.0 - rho, 0.5 * rho];
    FiniteAlphabet::new(&[-1.0, 0.0, 1.0], &weights).unwrap()
}

fn near(found: f64, expected: f64, tolerance: f64) {
    println!("{found} for {expected}");
    assert!(
        (found - expected).abs() < tolerance,
        "{found} for {expected}"
    );
}

fn pushed(tree: &Tree) -> Evolution<impl treeamp::algorithms::state_evolution::Theory + use<>> {
    let theory = StateEvolution::new(tree).unwrap();
    let names: Vec<&str> = tree.variables().iter().map(|v| v.name.as_str()).collect();
    let names = names.into_iter().filter(|n| *n != "z").collect::<Vec<_>>();
    theory.starting_with(&names, 1e-3).unwrap().run().unwrap()
}

#[test]
fn spins_at_twice_the_threshold() {
    let tree = wigner(spins(), 2.0);
    near(pushed(&tree).mse("x").unwrap(), 1.0 - 0.618_447_51, 1e-7);
    // the student that knows the teacher, by the mismatched theory
    let mismatched = MismatchedEvolution::new(&tree, &tree).unwrap();
    let mismatched = mismatched.starting_with(&["x"], 1e-3).unwrap();
    let mismatched = mismatched.run().unwrap();
    let o = mismatched.overlaps("x").unwrap();
    near(o.m, 0.618_447_51, 1e-6);
    near(o.q(), o.m, 1e-6);
    // I = i(λ m) + λ(1 - m)²/4 with the information i of a sign in noise, whose slope is half the error
    let snr: f64 = 2.0;
    let below = information(&wigner(spins(), snr - 1e-3));
    let above = information(&wigner(spins(), snr + 1e-3));
    let m = o.m;
    near((above - below) / 2e-3, 0.25 * (1.0 - m * m), 1e-5);
    // nothing is known below the threshold, and all of it at large snr
    near(information(&wigner(spins(), 0.7)), 0.175, 1e-6);
    near(information(&wigner(spins(), 30.0)), 2.0_f64.ln(), 1e-4);
}

fn information(tree: &Tree) -> f64 {
    let theory = StateEvolution::new(tree).unwrap();
    let evolution = theory.starting_with(&["x"], 1e-2).unwrap().run().unwrap();
    let information = evolution.information(tree).unwrap();
    information.mutual_information().unwrap()
}

/// A student that takes the noise for half of what it is sees more than there is: its overlap is lower than the best, and it claims too little
/// variance. At the right noise both are the same.
#[test]
fn a_student_with_the_wrong_noise() {
    let (teacher, student) = (wigner(spins(), 1.6), wigner(spins(), 3.2));
    let theory = MismatchedEvolution::new(&teacher, &student).unwrap();
    let theory = theory.starting_with(&["x"], 1e-1).unwrap().run().unwrap();
    let best = pushed(&teacher).mse("x").unwrap();
    let mse = theory.mse("x").unwrap();
    let claimed = theory.variance("x").unwrap();
    println!(
        "mismatched: {mse} (best {best}), claims {claimed}: {}",
        theory.termination()
    );
    assert!(theory.is_converged() && mse > best + 0.01 && claimed < mse - 0.05);
}

/// From the spectral threshold on, whatever the prior: noise 1 of pairs, and the square root of $M/N$ of a rectangular product.
#[test]
fn weak_recovery_begins_at_the_spectral_threshold() {
    let gaussian = || GaussianPrior::new(0.0, 1.0).unwrap();
    let search = Search::between(0.5, 2.0);
    let family = |snr: f64| Ok(wigner(source(gaussian().limit()) >> var("x"), snr));
    near(weak_recovery(&family, "x", search).unwrap(), 1.0, 2e-4);
    let family = |snr: f64| Ok(wigner(spins(), snr));
    near(weak_recovery(&family, "x", search).unwrap(), 1.0, 2e-4);
    for alpha in [0.25, 2.0] {
        let family = |noise: f64| {
            let u = source(gaussian().limit_of(alpha)) >> var("u");
            let v = source(gaussian().limit()) >> var("v");
            Ok(observed(
                u + v >> LowRankFactorization::new(1).unwrap(),
                noise,
            ))
        };
        let search = Search::between(0.2, 3.0);
        near(
            weak_recovery(&family, "u", search).unwrap(),
            alpha.sqrt(),
            5e-4,
        );
    }
}

/// A sparse sign has a hard phase: at $\rho = 0.05$, in units of $\mathrm{snr}\,\rho^2$.
#[test]
fn transitions_of_a_sparse_sign() {
    let rho = 0.05;
    let family = |strength: f64| {
        let prior = source(sparse(rho).limit()) >> var("x");
        Ok(wigner(prior, strength / (rho * rho)))
    };
    let points = FixedPoints::default().push(1e-3);
    let search = |low: f64, high: f64| Search::between(low, high).points(points);
    let informed = informed_threshold(&family, "x", search(0.6, 0.9)).unwrap();
    near(informed, 0.7214, 2e-4);
    let possible = information_threshold(&family, "x", search(0.6, 0.95)).unwrap();
    near(possible, 0.7473, 2e-4);
    near(
        weak_recovery(&family, "x", search(0.8, 1.2)).unwrap(),
        1.0,
        2e-4,
    );
    // at 1 itself the uninformed start stands still
    let easy = algorithmic_threshold(&family, "x", search(1.0007, 1.03)).unwrap();
    near(easy, 1.0054, 2e-4);
    // between the last two the uninformed branch knows about a hundredth
    let tree = family(1.004).unwrap();
    let m = 1.0 - pushed(&tree).mse("x").unwrap() / rho;
    println!("uninformed branch at 1.004: {m}");
    assert!(m > 2e-3 && m < 2e-2, "{m}");
}

/// Two stable fixed points exist below $\rho = 0.0964$: the snr of a fixed point, $q/m(q)$, then falls somewhere as $q$ grows.
#[test]
fn where_the_hard_phase_of_a_sparse_sign_begins() {
    let falls = |rho: f64| {
        let prior = sparse(rho).limit();
        let rule = prior.ensemble().unwrap();
        let snr = |q: f64| {
            let field = OverlapFields {
                m_hat: q,
                q_hat: q,
                tau_hat: 0.0,
            };
            let at = Averaged {
                fields: &[field],
                tau0_hat: &[0.0],
            };
            q / rule.overlaps(&prior, at, 0).unwrap().m
        };
        let snrs: Vec<f64> = (0..200).map(|k| snr(0.2 * 1.02_f64.powi(k))).collect();
        snrs.windows(2).any(|w| w[1] < w[0] * (1.0 - 1e-9))
    };
    let (mut low, mut high) = (0.05, 0.15);
    while high - low > 1e-5 {
        let middle = 0.5 * (low + high);
        if falls(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    near(low, 0.0964, 1e-4);
}

/// Outputs that are not separable are said to be a heuristic, others are exact.
#[test]
fn what_is_exact_is_said() {
    let spins =
        || source(Binary::new(0.5).unwrap().iid(20)) >> var("x") >> LowRankGram::new(1).unwrap();
    let laplace = || OutputChannel::new("laplace_noise", LaplaceNoise::new(1.0).unwrap());
    let exact = (spins() >> var("z") >> laplace() >> var("y"))
        .build()
        .unwrap();
    let exact = exact.expect("y").unwrap();
    let theory = StateEvolution::new(&exact)
        .unwrap()
        .max_sweeps(3)
        .run()
        .unwrap();
    assert!(!theory.is_heuristic(), "{:?}", theory.heuristics);
    let w = Matrix::from_fn(30, 190, |i, j| {
        ((7 * i + 13 * j + i * j) as f64).sin() / 14.0
    })
    .unwrap();
    let other = spins() >> var("z") >> Linear::new(w).unwrap() >> var("a");
    let other = (other >> GaussianNoise::new(0.1).unwrap() >> var("y"))
        .build()
        .unwrap();
    let other = other.expect("y").unwrap();
    let theory = StateEvolution::new(&other)
        .unwrap()
        .max_sweeps(3)
        .run()
        .unwrap();
    assert!(
        theory
            .heuristics
            .iter()
            .any(|why| why.contains("not separable"))
    );
}
