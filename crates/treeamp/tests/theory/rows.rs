//! State evolution with matrices: against the scalar theory, and the committee machine with two units of signs
//! (Aubin et al., "The committee machine: computational to statistical gaps in learning a two-layers neural network").

use crate::common::limit_glm;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use treeamp::algorithms::state_evolution::BayesOptimalRows;
use treeamp::extend::{Factor, RowAveraged, RowTilt};
use treeamp::prelude::*;

fn committee<L: RowLaw>(rows: L, units: usize, alpha: f64) -> Tree {
    (source(rows.limit())
        >> var("w").block(units)
        >> LinearEnsemble::gaussian(alpha).unwrap()
        >> var("z").block(units)
        >> SignCommittee::new(units).unwrap().channel()
        >> var("y"))
    .build()
    .unwrap()
    .expect("y")
    .unwrap()
}

fn gaussian(units: usize) -> MixtureRow {
    let identity: Vec<f64> = (0..units * units)
        .map(|k| f64::from(u8::from(k % (units + 1) == 0)))
        .collect();
    MixtureRow::gaussian(&vec![0.0; units], &identity).unwrap()
}

fn binary(units: usize) -> IidRow<Binary> {
    IidRow::new(Binary::new(0.5).unwrap(), units).unwrap()
}

/// Rows of one number are the scalar theory, at its fixed point and in its entropy.
#[test]
fn one_unit_is_the_scalar_theory() {
    let law = || GaussBernoulli::new(0.3, 0.2, 1.5).unwrap();
    let alpha = 1.7;
    let scalar = limit_glm(law().limit(), alpha, PiecewiseLinear::sign()).unwrap();
    let scalar = StateEvolution::new(&scalar).unwrap().fixed_point().unwrap();
    let tree = committee(IidRow::new(law(), 1).unwrap(), 1, alpha);
    let rows = RowEvolution::new(&tree).unwrap().fixed_point().unwrap();
    let (found, expected) = (rows.variance("w").unwrap(), scalar.variance("x").unwrap());
    println!("variance {found:.10} {expected:.10}");
    assert!((found - expected).abs() < 1e-7);
    let (found, expected) = (rows.entropy().unwrap(), scalar.entropy().unwrap());
    println!("entropy {found:.10} {expected:.10}");
    assert!((found - expected).abs() < 1e-7);
}

/// $Q_{11} - Q_{12}$ after some sweeps from a push of this size along $(1, -1)$ beside the symmetric fixed point.
fn growth(tree: &Tree) -> f64 {
    let symmetric = RowEvolution::new(tree).unwrap().initial(Initial::Flat);
    let symmetric = symmetric.fixed_point().unwrap();
    println!("{} sweeps", symmetric.report.sweeps);
    let field = symmetric.report.messages.get("linear_ensemble", "w");
    let field = &field.unwrap().q_hat;
    let push = 1e-6;
    let start = RowMatrix::from_fn(2, |i, j| {
        field.get(i, j) + if i == j { push } else { -push }
    });
    let after = |sweeps: usize| {
        let run = RowEvolution::new(tree).unwrap();
        let run = run.starting_from_rows(&[("w", start.clone())]).unwrap();
        let q = run
            .max_sweeps(sweeps)
            .run()
            .unwrap()
            .overlaps("w")
            .unwrap()
            .q;
        q.get(0, 0) - q.get(0, 1)
    };
    after(9) / after(8)
}

/// Where the growth of a push is one, by two secants of its logarithm.
fn instability(family: &dyn Fn(f64) -> Tree, low: f64, high: f64) -> f64 {
    let log = |alpha: f64| growth(&family(alpha)).ln();
    let (mut a, mut b) = ((low, log(low)), (high, log(high)));
    for _ in 0..2 {
        let c = b.0 - b.1 * (b.0 - a.0) / (b.1 - a.1);
        (a, b) = (b, (c, log(c)));
    }
    b.0
}

#[test]
fn gaussian_units_specialise_from_2_053_on() {
    let family = |alpha: f64| committee(gaussian(2), 2, alpha);
    let alpha = instability(&family, 1.9, 2.2);
    println!("gaussian: {alpha:.5}, expected 2.053");
    assert!((alpha - 2.053).abs() < 0.005 * 2.053);
}

#[test]
fn binary_units_specialise_from_1_590_on() {
    let family = |alpha: f64| committee(binary(2), 2, alpha);
    let alpha = instability(&family, 1.5, 1.7);
    println!("binary: {alpha:.5}, expected 1.590");
    assert!((alpha - 1.590).abs() < 0.005 * 1.590);
}

/// $Q_{11}$ and $Q_{12}$ of the weights at a fixed point.
fn branch(run: &Evolution<BayesOptimalRows>) -> [f64; 2] {
    let q = run.overlaps("w").unwrap().q;
    assert!((q.get(0, 0) - q.get(1, 1)).abs() < 1e-6);
    println!(
        "{} sweeps, Q = {:?}, {}",
        run.report.sweeps,
        q.data(),
        run.termination()
    );
    [q.get(0, 0), q.get(0, 1)]
}

/// Beyond the instability the symmetric fixed point exists still, the uninformed start leaves it, and the branch of units that have
/// specialised has the higher free entropy.
#[test]
fn both_branches_are_found() {
    let tree = committee(gaussian(2), 2, 3.0);
    let theory = || RowEvolution::new(&tree).unwrap();
    let symmetric = theory().initial(Initial::Flat).fixed_point().unwrap();
    let [same, other] = branch(&symmetric);
    assert!(same > 0.1 && (same - other).abs() < 1e-6);
    let special = theory().fixed_point().unwrap();
    let [same, other] = branch(&special);
    assert!(same - other > 0.1);
    let free = |e: &Evolution<BayesOptimalRows>| e.free_entropy().unwrap().total;
    println!("free entropies {} {}", free(&symmetric), free(&special));
    assert!(free(&special) > free(&symmetric) + 1e-3);
}

/// Binary weights: the uninformed start recovers them between 1.95 and 2.0, the informed one before.
#[test]
fn binary_units_are_recovered() {
    let run = |alpha: f64, informed: bool| {
        let tree = committee(binary(2), 2, alpha);
        let theory = RowEvolution::new(&tree).unwrap();
        let theory = if informed {
            theory.informed(&["w"]).unwrap()
        } else {
            theory
        };
        let run = theory.tolerance(1e-7).fixed_point().unwrap();
        branch(&run)
    };
    let [same, other] = run(1.75, false);
    assert!(same < 0.99 && same - other > 0.01);
    for (alpha, informed, recovers) in
        [(1.75, true, true), (1.95, false, false), (2.0, false, true)]
    {
        let [same, _] = run(alpha, informed);
        assert_eq!(same > 1.0 - 1e-6, recovers, "alpha {alpha}: {same}");
    }
}

/// A draw with one variance and one covariance, $\alpha\xi + \frac\beta k\sum\xi$.
fn exchangeable(
    k: usize,
    variance: f64,
    covariance: f64,
    normal: &mut dyn FnMut() -> f64,
) -> Vec<f64> {
    let alpha = (variance - covariance).sqrt();
    let beta = (alpha * alpha + k as f64 * covariance).sqrt() - alpha;
    let xi: Vec<f64> = (0..k).map(|_| normal()).collect();
    let common = beta * xi.iter().sum::<f64>() / k as f64;
    xi.iter().map(|x| alpha * x + common).collect()
}

/// $\frac1K E\operatorname{tr}(z - \omega)(z' - \omega)^T = \frac1K\operatorname{tr}VGV$ from draws of $\omega$, of $z$, and of another row $z'$ until
/// it has the output of $z$: without quadrature, and without a formula of the law. With its standard error.
fn gain_of_draws(law: SignCommittee, v: [f64; 2], omega: [f64; 2], n: usize) -> (f64, f64) {
    let k = law.dim();
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut normal = move || -> f64 { StandardNormal.sample(&mut rng) };
    let mut unused = ChaCha8Rng::seed_from_u64(0);
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..n {
        let centre = exchangeable(k, omega[0], omega[1], &mut normal);
        let mut draw = || {
            let d = exchangeable(k, v[0], v[1], &mut normal);
            let z: Vec<f64> = centre.iter().zip(&d).map(|(w, d)| w + d).collect();
            (d, law.sample(&mut unused, &z))
        };
        let (first, y) = draw();
        let second = loop {
            let (d, other) = draw();
            if (other - y).abs() < 0.5 {
                break d;
            }
        };
        let product = first.iter().zip(&second).map(|(x, y)| x * y).sum::<f64>() / k as f64;
        sum += product;
        squares += product * product;
    }
    let n = n as f64;
    (sum / n, ((squares / n - (sum / n).powi(2)) / n).sqrt())
}

/// The averages of a likelihood against draws, for two and three units, and four in the long version.
#[test]
fn averages_of_committees_against_draws() {
    let full = std::env::var_os("TREEAMP_FULL").is_some();
    for units in if full { vec![2, 3, 4] } else { vec![2, 3] } {
        let law = SignCommittee::new(units).unwrap();
        let (seen, shared) = (0.5_f64, 0.1);
        // T = 1, and V with one variance and one covariance: Q̂ = V⁻¹ - 1
        let k = units as f64;
        let (one, rest) = (1.0 - seen + (k - 1.0) * shared, 1.0 - seen - shared);
        let q_hat = RowMatrix::from_fn(units, |i, j| {
            let common = (1.0 / one - 1.0 / rest) / k;
            common + if i == j { 1.0 / rest - 1.0 } else { 0.0 }
        });
        let tau0 = RowMatrix::identity(units, 1.0);
        let channel = law.channel();
        let outputs = channel.observe_unspecified().unwrap().unwrap();
        let rule = outputs.row_ensemble().unwrap();
        let at = RowAveraged {
            q_hat: &[q_hat],
            tau0: &[tau0],
        };
        let field = rule.field(at, 0).unwrap();
        println!(
            "{units}: {:?} +- {:?}",
            field.value.data(),
            field.standard_error.data()
        );
        // tr V G V = tr V - tr (V⁻¹ + Q̂')⁻¹ with permutation symmetry
        let (own, other) = (field.value.get(0, 0), field.value.get(0, 1));
        let posterior = |p: f64, q: f64| 1.0 / (1.0 / p + q);
        let left =
            posterior(one, own + (k - 1.0) * other) + (k - 1.0) * posterior(rest, own - other);
        let gain = (1.0 - seen) - left / k;
        let drawn = gain_of_draws(law, [1.0 - seen, shared], [seen, -shared], 200_000);
        println!("gain {gain:.6}, draws {:.6} +- {:.6}", drawn.0, drawn.1);
        let error = (drawn.1.powi(2) + field.standard_error.get(0, 0).powi(2)).sqrt();
        assert!((gain - drawn.0).abs() < 4.0 * error);
        assert_eq!(units > 2, field.standard_error.get(0, 0) > 0.0);
        assert!(field.standard_error.get(0, 0) < 0.01 * own);
    }
}

/// $\ln Z$ against its gradient and Hessian by differences, and probabilities that add up to one.
#[test]
fn tilts_are_derivatives() {
    for (units, correlation) in [
        (1, 0.0),
        (2, 0.4),
        (2, -0.9),
        (2, 0.995),
        (3, 0.4),
        (4, -0.2),
    ] {
        let law = SignCommittee::new(units).unwrap();
        let v: Vec<f64> = (0..units * units)
            .map(|k| {
                if k % (units + 1) == 0 {
                    1.3
                } else {
                    1.3 * correlation
                }
            })
            .collect();
        let omega: Vec<f64> = (0..units).map(|k| 0.7 - 0.5 * k as f64).collect();
        let at = |y: f64, omega: &[f64]| {
            let mut out = RowTilt::zeros(units);
            law.tilted(y, &v, omega, &mut out).unwrap();
            out
        };
        let mut mass = 0.0;
        for y in law.labels() {
            let tilt = at(y, &omega);
            mass += tilt.log_z.exp();
            for i in 0..units {
                let moved = |h: f64| {
                    let mut omega = omega.clone();
                    omega[i] += h;
                    at(y, &omega)
                };
                let (up, down) = (moved(1e-4), moved(-1e-4));
                let slope = (up.log_z - down.log_z) / 2e-4;
                let scale = 1.0 + tilt.gradient[i].abs();
                assert!(
                    (slope - tilt.gradient[i]).abs() < 1e-5 * scale,
                    "{units} {y}"
                );
                for j in 0..units {
                    let slope = (up.gradient[j] - down.gradient[j]) / 2e-4;
                    let found = tilt.hessian[i * units + j];
                    assert!(
                        (slope - found).abs() < 1e-4 * (1.0 + found.abs()),
                        "{units} {correlation} {y}: {slope} {found}"
                    );
                }
            }
        }
        println!("{units} units, correlation {correlation}: mass {mass:.9}");
        assert!((mass - 1.0).abs() < 2e-6);
    }
}

/// What cannot be has a typed error, before the first sweep.
#[test]
fn bad_trees_of_rows_are_refused() {
    assert!(matches!(
        SignCommittee::new(5),
        Err(ModelError::Parameter { .. })
    ));
    assert!(matches!(
        IidRow::new(Laplace::new(0.0, 1.0).unwrap(), 2),
        Err(ModelError::Parameter { .. })
    ));
    // blocks that are not the rows of the law
    let tree = |block: usize| {
        (source(gaussian(2).limit())
            >> var("w").block(block)
            >> LinearEnsemble::gaussian(1.0).unwrap()
            >> var("z").block(block)
            >> SignCommittee::new(2).unwrap().channel()
            >> var("y"))
        .build()
        .unwrap()
        .expect("y")
        .unwrap()
    };
    let refused = tree(3);
    let error = RowEvolution::new(&refused)
        .and_then(|e| e.run().map(|_| ()))
        .unwrap_err();
    println!("{error}");
    assert!(matches!(error, RunError::Belief { .. }));
    // a scalar prior has no rows
    let scalar = limit_glm(
        Binary::new(0.5).unwrap().limit(),
        1.0,
        PiecewiseLinear::sign(),
    )
    .unwrap();
    let error = RowEvolution::new(&scalar).map(|_| ()).unwrap_err();
    println!("{error}");
    assert!(matches!(error, RunError::MissingRules { .. }));
    // the scalar theory refuses rows
    let rows = tree(2);
    assert!(
        StateEvolution::new(&rows)
            .and_then(|e| e.run().map(|_| ()))
            .is_err()
    );
    // rows that do not vary in every direction
    let flat = MixtureRow::gaussian(&[0.0, 0.0], &[1.0, 1.0, 1.0, 1.0]).unwrap();
    let singular = committee(flat, 2, 1.0);
    let error = RowEvolution::new(&singular).map(|_| ()).unwrap_err();
    println!("{error}");
    assert!(matches!(error, RunError::Factor { .. }));
    // a start that is no field
    let good = tree(2);
    let start = RowMatrix::from_fn(2, |i, j| if i == j { 0.0 } else { 1.0 });
    let theory = RowEvolution::new(&good).unwrap();
    assert!(theory.starting_from_rows(&[("w", start)]).is_err());
}
