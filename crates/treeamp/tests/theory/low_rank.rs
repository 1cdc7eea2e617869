//! State evolution of products of hidden matrices of few columns: where the transitions are.

use treeamp::algorithms::state_evolution::BayesOptimalRows;
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

fn row_wigner<L: RowLaw>(rows: L, rank: usize, snr: f64) -> Tree {
    let gram = source(rows.limit()) >> var("x").block(rank) >> LowRankGram::new(rank).unwrap();
    observed(gram, 1.0 / snr)
}

fn of_rows(tree: &Tree) -> Evolution<BayesOptimalRows> {
    RowEvolution::new(tree).unwrap().run().unwrap()
}

/// Independent columns are so many copies of rank one, in error and in information.
#[test]
fn rows_of_independent_columns_are_rank_one() {
    let spin = |rank: usize| IidRow::new(Binary::new(0.5).unwrap(), rank).unwrap();
    for rank in [1, 2] {
        let snr = 2.0;
        let one = wigner(spins(), snr);
        let tree = row_wigner(spin(rank), rank, snr);
        let found = of_rows(&tree);
        near(
            found.mse("x").unwrap(),
            pushed(&one).mse("x").unwrap(),
            1e-7,
        );
        // a million rows stand for the limit: so many entries, half of them pairs, have the entropy of the noise
        let noise = 0.5 * (std::f64::consts::TAU * std::f64::consts::E / snr).ln();
        let told = found.entropy().unwrap() - 0.5e6 / rank as f64 * noise;
        near(told, pushed(&one).entropy().unwrap() - 0.5e6 * noise, 1e-6);
    }
    // rows of three are averaged at random; at this snr the error hardly acts back on itself
    let tree = row_wigner(spin(3), 3, 4.0);
    let near_truth = [("x", RowMatrix::identity(3, 4.0))];
    let three = RowEvolution::new(&tree).unwrap().max_sweeps(5);
    let three = three
        .starting_from_rows(&near_truth)
        .unwrap()
        .run()
        .unwrap();
    let found = three.overlaps("x").unwrap();
    let error = found.standard_error.mean_diagonal();
    assert!(error > 0.0 && error < 5e-3, "{error}");
    let expected = 1.0 - pushed(&wigner(spins(), 4.0)).mse("x").unwrap();
    near(found.q.mean_diagonal(), expected, 3.0 * error);
    // components of any rank have the theory of one number where columns are alike
    let normal = || source(GaussianPrior::new(0.0, 1.0).unwrap().limit()) >> var("x");
    let wide = observed(normal() >> LowRankGram::new(2).unwrap(), 0.5);
    let one = wigner(normal(), 2.0);
    near(
        pushed(&wide).mse("x").unwrap(),
        pushed(&one).mse("x").unwrap(),
        1e-9,
    );
    let (told, expected) = (information(&wide), information(&one));
    near(told, expected, 1e-6);
    // rectangular: spins beside Gaussian rows, twice as many
    let pair = |u: Fragment, v: Fragment, rank: usize| {
        observed(u + v >> LowRankFactorization::new(rank).unwrap(), 0.6)
    };
    let normal = || GaussianPrior::new(0.0, 1.0).unwrap();
    let one = pair(
        source(normal().limit()) >> var("u"),
        source(Binary::new(0.5).unwrap().limit_of(0.5)) >> var("v"),
        1,
    );
    let two = pair(
        source(IidRow::new(normal(), 2).unwrap().limit()) >> var("u").block(2),
        source(spin(2).limit_of(0.5)) >> var("v").block(2),
        2,
    );
    let (one, two) = (pushed(&one), of_rows(&two));
    for name in ["u", "v"] {
        near(two.mse(name).unwrap(), one.mse(name).unwrap(), 1e-7);
    }
}

/// Groups of a dense graph by its Gaussian equivalent, rows at the corners of a triangle with unit second moments: nothing is known up to snr 1,
/// and above it the overlap is $f(\mathrm{snr}\,q)$ with $f(s) = \frac12E|E[x|b]|^2$ at $b = sx_0 + \sqrt s\,\xi$, here by a sum over the plane.
#[test]
fn three_groups_of_a_graph() {
    let corner = |k: u32| {
        let angle = f64::from(k) * std::f64::consts::TAU / 3.0;
        [2.0_f64.sqrt() * angle.cos(), 2.0_f64.sqrt() * angle.sin()]
    };
    let corners = [0, 1, 2].map(corner);
    let atom = |k: usize| (1.0 / 3.0, corners[k].to_vec(), vec![0.0; 4]);
    let law = || MixtureRow::new(&[atom(0), atom(1), atom(2)]).unwrap();
    let overlap = |s: f64| {
        let (step, count) = (0.125, 64);
        let mut sum = 0.0;
        for i in -count..=count {
            for j in -count..=count {
                let xi = [f64::from(i) * step, f64::from(j) * step];
                let weight = step * step / std::f64::consts::TAU
                    * (-0.5 * (xi[0] * xi[0] + xi[1] * xi[1])).exp();
                let b = [0, 1].map(|k| s * corners[0][k] + s.sqrt() * xi[k]);
                let odds = corners.map(|c| (b[0] * c[0] + b[1] * c[1]).exp());
                let total: f64 = odds.iter().sum();
                let mean =
                    [0, 1].map(|k| (0..3).map(|l| odds[l] * corners[l][k]).sum::<f64>() / total);
                sum += weight * 0.5 * (mean[0] * mean[0] + mean[1] * mean[1]);
            }
        }
        sum
    };
    near(
        of_rows(&row_wigner(law(), 2, 0.97)).mse("x").unwrap(),
        1.0,
        1e-6,
    );
    for snr in [1.1, 2.0, 4.0] {
        let mut q = 1.0;
        for _ in 0..2000 {
            q = overlap(snr * q);
        }
        near(
            1.0 - of_rows(&row_wigner(law(), 2, snr)).mse("x").unwrap(),
            q,
            1e-6,
        );
    }
}

/// Rows of another length than the rank, and rows whose theory has components only.
#[test]
fn rows_must_fit_the_rank() {
    let normal = || GaussianPrior::new(0.0, 1.0).unwrap();
    let wide = source(IidRow::new(normal(), 3).unwrap().limit()) >> var("x").block(3);
    let tree = observed(wide >> LowRankGram::new(2).unwrap(), 0.5);
    let refused = RowEvolution::new(&tree).and_then(|e| e.run().map(|_| ()));
    let text = refused.unwrap_err().to_string();
    assert!(
        text.contains("low_rank_gram") && text.contains('2') && text.contains('3'),
        "{text}"
    );
}
