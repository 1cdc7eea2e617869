//! The reduced suite: which runs settle, in how many sweeps, and with which errors.

use super::*;

/// The reduced suite. Every run settles, and more than without damping. A model needs no damping if it settles without
/// for every seed: there no run takes over a tenth more sweeps than without. On the others, runs that happen to
/// settle without damping take no more than a tenth more all together.
#[test]
fn adaptive_damping_settles_more_and_costs_little() {
    let seeds = if full() { 20 } else { 2 };
    let (mut runs, mut settled, mut undamped) = (0, 0, 0);
    let (mut easy, mut others) = (0, (0, 0));
    // the gradient of an image collapses, which has a test of its own
    let left_out = ["sparse regression, N = 2000", "sparse gradient 2d"];
    for name in suite::MODELS.iter().filter(|n| !left_out.contains(n)) {
        let mut pairs = Vec::new();
        for seed in 0..seeds {
            let case = suite::case(name, seed);
            let ours = run(&case.posterior, Damping::default());
            let none = run(&case.posterior, Damping::None);
            let ended = case.settled(&ours);
            runs += 1;
            settled += usize::from(ended);
            if case.settled(&none) {
                undamped += 1;
                assert!(ended, "{name}, seed {seed}: {}", ours.termination);
                pairs.push((seed, ours.sweeps, none.sweeps));
            } else if !ended {
                println!("{name}, seed {seed}: {}", ours.termination);
            }
        }
        for (seed, ours, none) in &pairs {
            let most = (11 * none).div_ceil(10);
            if *ours > most {
                println!("{name}, seed {seed}: {ours} sweeps, undamped {none}");
            }
            if pairs.len() as u64 == seeds {
                assert!(
                    *ours <= most,
                    "{name}, seed {seed}: {ours}, undamped {none}"
                );
            }
        }
        if pairs.len() as u64 == seeds {
            easy += 1;
        } else {
            let total = pairs.iter().fold((0, 0), |t, p| (t.0 + p.1, t.1 + p.2));
            others = (others.0 + total.0, others.1 + total.1);
        }
    }
    println!("{runs} runs: {settled} settle, {undamped} without damping; {easy} models need none");
    println!(
        "{} sweeps, {} where no damping settles by chance",
        others.0, others.1
    );
    assert!(settled == runs && settled > undamped && easy >= 8);
    assert!(10 * others.0 <= 11 * others.1, "{others:?}");
}

/// Sweeps are at most 1.3 times those of the best constant damping for each model, which the benchmark found by search.
#[test]
fn sweeps_are_near_those_of_the_best_constant_damping() {
    let seeds = if full() { 20 } else { 7 };
    for (name, damping) in [
        ("committee", 0.1),
        ("phase retrieval", 0.3),
        ("perceptron", 0.1),
        ("heavy-tailed entries", 0.5),
        ("total variation", 0.2),
    ] {
        let median = |damping: &Damping| {
            let cases = (0..seeds).map(|seed| suite::case(name, seed));
            let settled = cases.filter_map(|case| {
                let report = run(&case.posterior, damping.clone());
                case.settled(&report).then_some(report.sweeps)
            });
            let mut sweeps: Vec<usize> = settled.collect();
            sweeps.sort_unstable();
            (sweeps.len(), sweeps[sweeps.len() / 2])
        };
        let (ours, best) = (
            median(&Damping::Adaptive),
            median(&Damping::Constant(damping)),
        );
        println!(
            "{name}: {} settle in {}, {} in {}",
            ours.0, ours.1, best.0, best.1
        );
        assert!(ours.0 >= best.0 && 10 * ours.1 <= 13 * best.1, "{name}");
    }
}

/// Jumps end at the same fixed points, and save sweeps: an eighth of them all, at least.
#[test]
fn acceleration_saves_sweeps() {
    let (mut with, mut without, mut compared) = (0, 0, 0);
    for name in [
        "sparse regression",
        "condition number 1e4",
        "entries of mean 1",
        "perceptron, correlated columns",
        "two-layer relu",
        "committee",
        "sparse gradient",
    ] {
        for seed in 0..2 {
            let case = suite::case(name, seed);
            let engine = || {
                let engine = ExpectationPropagation.on(&case.posterior).unwrap();
                engine.fallback(Fallback::Forbidden)
            };
            let fast = engine().run(&mut ()).unwrap();
            let slow = engine().acceleration(false).run(&mut ()).unwrap();
            let settled = |report: &Posterior| report.termination.is_converged();
            assert!(settled(&fast) || !settled(&slow), "{name}, seed {seed}");
            if !(settled(&fast) && settled(&slow)) {
                continue;
            }
            compared += 1;
            with += fast.sweeps;
            without += slow.sweeps;
            // both have moved by less than 1e-6 in their last sweep, and are the farther away the slower they go
            let far = common::mse(fast.mean("x").unwrap(), slow.mean("x").unwrap()).sqrt();
            let size = common::mse(slow.mean("x").unwrap(), &vec![0.0; case.truth.len()]).sqrt();
            assert!(far < 1e-4 * size, "{name}: {far:e}");
            // a fixed point of the sweeps themselves
            let next = engine().damping(Damping::None).warm_start(&fast);
            let next = next.max_sweeps(2).tolerance(0.0).run(&mut ()).unwrap();
            assert!(next.residual() < 1e-5, "{name}: {:e}", next.residual());
        }
    }
    println!("{with} sweeps, {without} without jumps");
    assert!(
        8 * with < 7 * without && compared >= 12,
        "{with} {without} {compared}"
    );
}

/// Some of these are improper from the first sweep on, and settle with smaller steps from the start.
#[test]
fn phase_retrieval_settles_for_every_seed() {
    for seed in 0..20 {
        let case = suite::case("phase retrieval", seed);
        let report = run(&case.posterior, Damping::default());
        let ended = &report.termination;
        println!("seed {seed}: {ended} after {} sweeps", report.sweeps);
        assert!(ended.is_converged(), "seed {seed}: {ended}");
    }
}

/// One precision for all differences of an image: those that are zero make it grow without end, and the means are where the run happened to
/// be. No damping helps, and no end is called converged.
#[test]
fn collapses_are_not_called_converged() {
    for seed in 0..4 {
        let case = suite::case("sparse gradient 2d", seed);
        for damping in [
            Damping::Adaptive,
            Damping::Constant(0.3),
            Damping::Constant(0.8),
        ] {
            let report = run(&case.posterior, damping);
            let Termination::Rejected(verdict) = &report.termination else {
                panic!("{seed}: {}", report.termination)
            };
            assert_eq!(
                (verdict.kind(), verdict.variable()),
                ("collapsed", Some("z"))
            );
            let text = verdict.to_string();
            assert!(text.contains("diagonal beliefs") && text.contains("Another start"));
            let error = report.log_evidence().unwrap_err();
            assert!(matches!(error, RunError::WithoutLimit { .. }), "{error}");
        }
    }
}

/// Models that settle with default options and for no seed without damping.
#[test]
fn hard_models_settle() {
    for name in ["heavy-tailed entries", "committee", "sparse gradient"] {
        for seed in 0..2 {
            let case = suite::case(name, seed);
            let none = run(&case.posterior, Damping::None);
            assert!(
                !none.termination.is_converged(),
                "{name}: {}",
                none.termination
            );
            let ours = run(&case.posterior, Damping::default());
            println!("{name}: {} after {} sweeps", ours.termination, ours.sweeps);
            assert!(
                ours.termination.is_converged(),
                "{name}: {}",
                ours.termination
            );
            assert!(ours.trace.last().unwrap().improper == 0);
        }
    }
}

/// On i.i.d. matrices errors are those that state evolution predicts: within four standard errors where they are finite,
/// and a recovery where it predicts one.
#[test]
fn errors_are_the_predicted_ones() {
    let seeds = if full() { 20 } else { 8 };
    for name in suite::PREDICTED {
        if name.contains("2000") {
            continue;
        }
        let cases: Vec<suite::Case> = (0..seeds).map(|seed| suite::case(name, seed)).collect();
        let predicted = cases[0].predicted();
        let errors = cases.iter().map(|case| {
            let report = run(&case.posterior, Damping::default());
            assert!(report.termination.is_converged(), "{name}");
            case.error(&report)
        });
        let errors: Vec<f64> = errors.collect();
        let n = errors.len() as f64;
        let mean = errors.iter().sum::<f64>() / n;
        let square: f64 = errors.iter().map(|e| (e - mean).powi(2)).sum();
        let deviation = (square / (n - 1.0) / n).sqrt();
        println!("{name}: {mean:.2e} +- {deviation:.0e}, predicted {predicted:.2e}");
        // a run that meets its tolerance on the way to zero leaves about its square
        let recovered = 1e-10;
        assert!(
            (mean - predicted).abs() < 4.0 * deviation + recovered,
            "{name}: {mean} +- {deviation}, predicted {predicted}"
        );
        if predicted < recovered {
            assert!(errors.iter().all(|e| *e < recovered), "{name}: {errors:?}");
        }
    }
}
