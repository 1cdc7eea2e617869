//! Zero-temperature state evolution: the lasso, against simulations and its phase transition.

use crate::common::{chain, gaussian_matrix, glm, mse};
use treeamp::algorithms::state_evolution::phases::{l1_threshold, l1_transition};
use treeamp::extend::Factor;
use treeamp::prelude::*;

fn teacher(rho: f64) -> GaussBernoulli {
    GaussBernoulli::new(rho, 0.0, 1.0).unwrap()
}

fn in_the_limit(prior: impl Factor, alpha: f64, noise: f64) -> Tree {
    let model = chain(
        prior,
        LinearEnsemble::gaussian(alpha).unwrap(),
        GaussianLikelihood::new(noise).unwrap().unspecified(),
    );
    model.build().unwrap()
}

/// The predicted error of the lasso of this strength, noise being known, and its least energy per component.
///
/// At the minimum $\lambda\|\hat x\|_1 = \hat z^T(y - \hat z)/\Delta$, so that the energy is
/// $\alpha\langle(y - \hat z)(y + \hat z)\rangle/2\Delta = \alpha(\langle y^2\rangle - \langle\hat z^2\rangle)/2\Delta$.
fn predicted(rho: f64, alpha: f64, noise: f64, strength: f64) -> (f64, f64) {
    let (t, s) = (
        in_the_limit(teacher(rho).limit(), alpha, noise),
        in_the_limit(L1::new(strength).unwrap().limit(), alpha, noise),
    );
    let evolution = MismatchedEvolution::new(&t, &s).unwrap();
    let end = evolution.fixed_point().unwrap();
    let z = end.overlaps("z").unwrap();
    let energy = 0.5 * alpha * (z.tau0 + noise - z.q()) / noise;
    (end.mse("x").unwrap(), energy)
}

/// The lasso on data of a sparse teacher: the measured error is that of the theory, within three standard errors, and so
/// is its least energy.
#[test]
fn the_lasso_errs_as_predicted() {
    let (n, seeds) = if std::env::var_os("TREEAMP_FULL").is_some() {
        (1000, 80)
    } else {
        (400, 48)
    };
    for (rho, alpha, noise, strength) in [
        (0.1, 0.6, 0.01, 5.0),
        (0.2, 1.2, 0.1, 2.0),
        (0.1, 0.5, 0.01, 20.0),
    ] {
        let (theory, least) = predicted(rho, alpha, noise, strength);
        let m = (alpha * f64::from(n)).round() as usize;
        let n = n as usize;
        let runs: Vec<(f64, f64)> = (0..seeds)
            .map(|seed| {
                let w = gaussian_matrix(m, n, 100 + seed);
                let linear = || Linear::new(w.clone()).unwrap();
                let noisy = || GaussianNoise::new(noise).unwrap();
                let chain = |prior| glm(prior, linear(), noisy());
                let model = chain(source(teacher(rho).iid(n))).build().unwrap();
                let sample = model.sample(seed).unwrap();
                let student = chain(source(L1::new(strength).unwrap().iid(n)))
                    .build()
                    .unwrap();
                let student = student.condition("y", sample.get("y").unwrap()).unwrap();
                let report = MaximumAPosteriori
                    .on(&student)
                    .unwrap()
                    .run(&mut ())
                    .unwrap();
                assert!(report.termination.is_converged());
                let error = mse(report.minimiser("x").unwrap(), sample.get("x").unwrap());
                let energy = report.solution(&student).unwrap().energy();
                (error, energy / n as f64)
            })
            .collect();
        let (errors, energies): (Vec<f64>, Vec<f64>) = runs.into_iter().unzip();
        agrees(&format!("error, {rho} {alpha}"), &errors, theory);
        agrees(&format!("energy, {rho} {alpha}"), &energies, least);
    }
}

/// The mean of runs is the predicted one. Six comparisons of 48 runs or more: by chance one draw of seeds in 38, or fewer,
/// would fail three standard errors, and these are fixed; the bias of a finite size is of order $1/n$.
fn agrees(what: &str, values: &[f64], theory: f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let square = values.iter().map(|e| (e - mean).powi(2)).sum::<f64>();
    let error = (square / (count * (count - 1.0))).sqrt();
    println!("{what}: measured {mean:.5} ± {error:.5}, predicted {theory:.5}");
    let gap = (mean - theory).abs();
    assert!(
        gap < 3.0 * error,
        "{what}: {mean} ± {error} is not {theory}"
    );
    // and the standard error is small enough to tell
    assert!(error < 0.1 * theory, "{what}: {error}");
}

/// The default start leads to the one fixed point of the lasso at any strength, and a lasso without active coordinates says what to do.
#[test]
fn the_lasso_from_its_default_start() {
    for (rho, alpha, noise) in [(0.1, 0.6, 0.01), (0.1, 0.5, 1e-4), (0.2, 1.2, 0.1)] {
        for strength in [0.1, 1.0, 20.0] {
            let (t, s) = (
                in_the_limit(teacher(rho).limit(), alpha, noise),
                in_the_limit(L1::new(strength).unwrap().limit(), alpha, noise),
            );
            let evolution = MismatchedEvolution::new(&t, &s).unwrap();
            let own = evolution.fixed_point().unwrap().mse("x").unwrap();
            let other = evolution
                .initial(Initial::Constant {
                    precision: 10.0 / noise,
                    linear: 0.0,
                })
                .fixed_point()
                .unwrap();
            let gap = (own - other.mse("x").unwrap()).abs();
            // both fixed points to 1e-9, times how slowly they are approached
            assert!(gap < 1e-7 * rho, "{rho} {alpha} {strength}: {gap:e}");
        }
    }
    let (t, s) = (
        in_the_limit(teacher(0.5).limit(), 2.0, 0.5),
        in_the_limit(L1::new(100.0).unwrap().limit(), 2.0, 0.5),
    );
    let text = MismatchedEvolution::new(&t, &s).unwrap().run().unwrap_err();
    let text = text.to_string();
    assert!(
        text.contains("no active coordinate") && text.contains("start from a larger"),
        "{text}"
    );
}

/// The weak threshold of Donoho and Tanner at $\delta = 1/2$, and its limits.
#[test]
fn the_phase_transition_of_basis_pursuit() {
    let transition = l1_transition(0.5).unwrap();
    assert!((transition - 0.38569).abs() < 1e-5, "{transition}");
    // the threshold is flat there: a square root of rounding
    assert!((l1_transition(1.0).unwrap() - 1.0).abs() < 1e-6);
    assert!(l1_threshold(0.0).unwrap() < 1e-12);
    assert!((l1_threshold(1.0).unwrap() - 1.0).abs() < 1e-12);
    for delta in [0.0, -1.0, 1.5, f64::NAN] {
        assert!(matches!(
            l1_transition(delta),
            Err(RunError::Option {
                option: "delta",
                ..
            })
        ));
    }
}

/// The same from the iteration itself: noiseless outputs, a student with an $\ell_1$ penalty.
#[test]
fn state_evolution_finds_the_same_transition() {
    let delta = 0.5;
    let recovers = |k_over_m: f64| {
        let rho = k_over_m * delta;
        let (t, s) = (
            in_the_limit(teacher(rho).limit(), delta, 0.0),
            in_the_limit(L1::new(1.0).unwrap().limit(), delta, 0.0),
        );
        let evolution = MismatchedEvolution::new(&t, &s).unwrap().max_sweeps(20_000);
        let end = evolution.run().unwrap();
        println!(
            "{k_over_m}: {} after {}, mse {:.2e}",
            end.termination(),
            end.report.sweeps,
            end.mse("x").unwrap()
        );
        end.mse("x").unwrap() < 1e-6 * rho
    };
    let transition = l1_transition(delta).unwrap();
    assert!(recovers(transition - 1e-3));
    assert!(!recovers(transition + 1e-3));
}

#[test]
fn a_penalty_is_no_teacher() {
    let s = in_the_limit(L1::new(1.0).unwrap().limit(), 0.5, 0.1);
    assert!(MismatchedEvolution::new(&s, &s).is_err());
    assert!(StateEvolution::new(&s).is_err());
}

/// A student whose penalty starts without an active coordinate is sure of zero, and wrong: that is no recovery.
#[test]
fn a_sure_and_wrong_student_has_recovered_nothing() {
    for (strength, alpha) in [(0.05, 0.8), (0.3, 0.4), (0.1, 0.6)] {
        let t = in_the_limit(teacher(0.1).limit(), alpha, 0.01);
        let s = in_the_limit(L1::new(strength).unwrap().limit(), alpha, 1.0);
        let evolution = MismatchedEvolution::new(&t, &s).unwrap();
        if let Ok(end) = evolution.run() {
            let recovered = Termination::Converged {
                perfect_recovery: true,
            };
            assert!(*end.termination() != recovered, "{strength} {alpha}");
        }
        // from some knowledge it finds the lasso's error, which is smaller than that of knowing nothing
        let start = Initial::Constant {
            precision: 1.0,
            linear: 0.0,
        };
        let informed = evolution.initial(start).fixed_point().unwrap();
        let error = informed.mse("x").unwrap();
        println!("{strength} {alpha}: {error:.5}");
        assert!(error > 1e-3 && error < 0.06);
    }
}

/// A penalty on groups has no law of a single component, and no theory yet: the planner says which factor lacks what.
#[test]
fn a_student_with_groups_is_refused_by_name() {
    let groups = L21::new(1.0).unwrap().shaped([2, 50]);
    let matrix = Linear::new(gaussian_matrix(60, 100, 1)).unwrap();
    let of = |prior: Fragment| {
        let model = prior
            >> var("x")
            >> Reshape::to([100])
            >> var("u")
            >> matrix.clone()
            >> var("z")
            >> GaussianLikelihood::new(0.1).unwrap().unspecified();
        model.build().unwrap()
    };
    let (t, s) = (of(source(teacher(0.1).shaped([2, 50]))), of(source(groups)));
    let refused = MismatchedEvolution::new(&t, &s).and_then(|e| e.fixed_point().map(|_| ()));
    let Err(RunError::MissingRules { missing, .. }) = refused else {
        panic!("expected a missing rule, got {refused:?}")
    };
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert_eq!(missing[0].0, "l21");
}
