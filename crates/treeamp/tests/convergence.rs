//! Runs that settle, and what they say when they end.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::float_cmp)]

mod common;
mod suite;

use treeamp::prelude::*;

fn linear(rows: usize, cols: usize, seed: u64) -> Linear {
    Linear::new(common::gaussian_matrix(rows, cols, seed)).unwrap()
}

/// A model with its output drawn from it and observed.
fn observed(model: Fragment, seed: u64) -> (Tree, Vec<f64>) {
    let model = model.build().unwrap();
    let sample = model.sample(seed).unwrap();
    let posterior = model.condition("y", sample.get("y").unwrap()).unwrap();
    (posterior, sample.get("x").unwrap().to_vec())
}

fn perceptron(n: usize, m: usize, seed: u64) -> (Tree, Vec<f64>) {
    let model = source(Binary::new(0.5).unwrap().iid(n))
        >> var("x")
        >> linear(m, n, seed)
        >> var("z")
        >> PiecewiseLinear::sign()
        >> var("y");
    observed(model, seed)
}

const PERFECT: Termination = Termination::Converged {
    perfect_recovery: true,
};

/// One signal of $2^N$ explains the signs: $p(y) = 2^{-N}$.
#[test]
fn evidence_of_a_recovered_binary_signal() {
    for (n, m) in [(100, 350), (300, 800)] {
        let (posterior, x) = perceptron(n, m, 1);
        let report = ExpectationPropagation
            .on(&posterior)
            .unwrap()
            .damping(0.2)
            .tolerance(0.0)
            .run(&mut ())
            .unwrap();
        assert_eq!(report.termination, PERFECT);
        assert!(common::mse(report.mean("x").unwrap(), &x) < 1e-12);
        let evidence = report.log_evidence().unwrap();
        let exact = -(n as f64) * std::f64::consts::LN_2;
        println!("{n}: {} sweeps, {evidence}, exact {exact}", report.sweeps);
        // a recovery that claims variances of 1e-14 leaves the mass of other signals below that
        assert!((evidence / exact - 1.0).abs() < 1e-9, "{evidence} {exact}");
    }
}

/// A noiseless continuous output of a recovered signal has no finite density.
#[test]
fn no_evidence_where_the_density_diverges() {
    let n = 200;
    let model = source(GaussBernoulli::new(0.6, 0.01, 1.0).unwrap().iid(n))
        >> var("x")
        >> linear(300, n, 2)
        >> var("z")
        >> PiecewiseLinear::abs()
        >> var("y");
    let (posterior, _) = observed(model, 2);
    let engine = ExpectationPropagation.on(&posterior).unwrap().damping(0.3);
    let noisy = Initial::Noisy {
        precision: 0.0,
        mean: 0.0,
        std: 0.1,
        seed: 0,
    };
    let report = engine.initial(noisy).run(&mut ()).unwrap();
    assert_eq!(report.termination, PERFECT);
    // infinite, or not defined because it does not settle: never a number
    match report.log_evidence() {
        Ok(evidence) => assert_eq!(evidence, f64::INFINITY),
        Err(error) => assert!(error.to_string().contains("diverges"), "{error}"),
    }
}

fn run(posterior: &Tree, damping: Damping) -> Posterior {
    let engine = ExpectationPropagation.on(posterior).unwrap();
    engine.damping(damping).run(&mut ()).unwrap()
}

/// The reduced suite. Where no damping settles soon, default options do too, in at most a tenth more sweeps,
/// and they settle where it diverges or swings.
#[test]
fn adaptive_damping_settles_more_and_costs_little() {
    let seeds = if std::env::var_os("TREEAMP_FULL").is_some() {
        20
    } else {
        2
    };
    let (mut runs, mut settled, mut undamped) = (0, 0, 0);
    for name in suite::MODELS.iter().filter(|n| !n.contains("2000")) {
        for seed in 0..seeds {
            let case = suite::case(name, seed);
            let ours = run(&case.posterior, Damping::default());
            let none = run(&case.posterior, Damping::None);
            let ended = ours.termination.is_converged();
            runs += 1;
            settled += usize::from(ended);
            undamped += usize::from(none.termination.is_converged());
            // a run that swings for a hundred sweeps before it meets the signal did need damping
            if none.termination.is_converged() && none.sweeps <= 100 {
                let most = (11 * none.sweeps).div_ceil(10);
                assert!(
                    ended && ours.sweeps <= most,
                    "{name}, seed {seed}: {} after {} sweeps, undamped {}",
                    ours.termination,
                    ours.sweeps,
                    none.sweeps
                );
            }
            if !ended {
                println!(
                    "{name}, seed {seed}: {}, {:.1e}",
                    ours.termination,
                    ours.residual()
                );
            }
        }
    }
    println!("{runs} runs: {settled} settle, {undamped} without damping");
    // 53 of 54 when this was written, 48 of them without the double loop, 31 without damping
    assert!(20 * settled >= 19 * runs && settled > undamped);
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

/// Models that settle with default options and for no seed without damping.
#[test]
fn hard_models_settle() {
    for name in [
        "heavy-tailed entries",
        "committee",
        "sparse gradient",
        "sparse gradient 2d",
    ] {
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

fn record(name: &str) -> Option<std::collections::BTreeMap<String, common::npz::Array>> {
    let root = std::path::PathBuf::from(std::env::var_os("TREEAMP_ORACLE")?);
    Some(common::npz::read(
        &root.join("models_ep").join(format!("{name}.npz")),
    ))
}

fn matrix(a: &common::npz::Array) -> Linear {
    Linear::new(Matrix::from_rows(a.shape[0], a.shape[1], &a.data).unwrap()).unwrap()
}

fn signs(y: &[f64]) -> SeparableLikelihood<PiecewiseLikelihood> {
    PiecewiseLinear::sign()
        .likelihood()
        .unwrap()
        .observed(y.to_vec())
        .unwrap()
}

/// Ends at a fixed point, with an error no larger than the best of all sweeps that the record shows, on
/// average over the variables.
fn settles(name: &str, model: &Tree, variables: &[&str]) {
    let arrays = record(name).unwrap();
    let report = run(model, Damping::default());
    let error = |v: &&str| common::mse(report.mean(v).unwrap(), &arrays[&format!("true_{v}")].data);
    let ours = variables.iter().map(error).sum::<f64>() / variables.len() as f64;
    let mut best = f64::INFINITY;
    for prefix in ["trace_mse_", "fix_trace_mse_"] {
        let keys = variables.iter().map(|v| format!("{prefix}{v}"));
        let traces: Vec<_> = keys.filter_map(|k| arrays.get(&k)).collect();
        if traces.len() < variables.len() {
            continue;
        }
        for sweep in 0..traces[0].data.len() {
            let sum: f64 = traces.iter().map(|t| t.data[sweep]).sum();
            best = best.min(sum / variables.len() as f64);
        }
    }
    println!(
        "{name}: {} after {} sweeps, error {ours:.3e}, best recorded {best:.3e}",
        report.termination, report.sweeps
    );
    assert!(
        report.termination.is_converged(),
        "{name}: {}",
        report.termination
    );
    assert!(best.is_finite() && ours <= best, "{name}: {ours} {best}");
}

/// A recorded run that swings for ever.
#[test]
fn recorded_perceptron_settles() {
    let Some(arrays) = record("perceptron") else {
        return;
    };
    let model = source(Binary::new(0.5).unwrap().iid(300))
        >> var("x")
        >> matrix(&arrays["A"])
        >> var("z")
        >> signs(&arrays["y"].data);
    settles("perceptron", &model.build().unwrap(), &["x"]);
}

/// A recorded run that reaches an error of 5e5.
#[test]
fn recorded_sparse_gradient_settles() {
    let Some(arrays) = record("sparse_gradient") else {
        return;
    };
    let y = arrays["y"].data.clone();
    let n = y.len();
    let like = GaussianLikelihood::new(0.01).unwrap().observed(y).unwrap();
    let jumps = GaussBernoulli::new(0.04, 0.0, 1.0).unwrap().shaped([1, n]);
    let model = source(GaussianPrior::new(0.0, 1.0).unwrap().iid(n))
        >> var("x")
        >> (branch(like) + (branch(Gradient::periodic()) + jumps >> var("z")));
    settles("sparse_gradient", &model.build().unwrap(), &["x"]);
}

/// A recorded run of three experts that swings without damping. The average over the experts is compared:
/// while it swings, the record passes once by an error of 0.766 on the first alone, where the fixed point
/// has 0.784.
#[test]
fn recorded_committee_settles() {
    let Some(arrays) = record("committee_sgn") else {
        return;
    };
    let expert = |k: usize| {
        source(Binary::new(0.6).unwrap().iid(200))
            >> var(&format!("x_{k}"))
            >> matrix(&arrays["F"])
            >> var(&format!("z_{k}"))
            >> PiecewiseLinear::sign()
            >> var(&format!("a_{k}"))
    };
    let model = expert(0) + expert(1) + expert(2)
        >> Sum::new(3).unwrap()
        >> var("a")
        >> signs(&arrays["y"].data);
    settles(
        "committee_sgn",
        &model.build().unwrap(),
        &["x_0", "x_1", "x_2"],
    );
}
