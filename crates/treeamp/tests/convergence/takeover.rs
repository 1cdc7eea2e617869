//! What takes over from sweeps that do not settle: constant steps, then the double loop; and evidences that no run has.

use super::*;
use treeamp::error::RunError;

fn deconvolution(noise: f64, seed: u64) -> (Tree, Vec<f64>) {
    let model = glm(
        GaussBernoulli::new(0.05, 0.0, 1.0).unwrap().iid(256),
        Convolution::gaussian_blur(2.0).unwrap(),
        GaussianNoise::new(noise).unwrap(),
    );
    drawn(model, seed)
}

/// Sparse deconvolution with next to no noise settles with constant steps where adaptive ones stall, and says so.
#[test]
fn constant_steps_take_over_before_the_double_loop() {
    let mut taken = 0;
    for noise in [1e-6, 1e-5] {
        for seed in 100..104 {
            let (posterior, x) = deconvolution(noise, seed);
            let ours = run(&posterior, Damping::default());
            assert!(ours.termination.is_converged(), "{noise} {seed}");
            let done = ours.fallback.as_ref().unwrap();
            println!("{noise} {seed}: {}, {}", done.method, done.evaluations);
            taken += usize::from(done.method.starts_with("constant damping"));
            assert!(done.sweep_residual.unwrap() < 1e-6);
            // 200 sweeps with each of three
            assert!(done.evaluations <= 600, "{noise} {seed}");
            let constant = run(&posterior, Damping::Constant(0.6));
            if constant.termination.is_converged() {
                let error = |r: &Posterior| common::mse(r.mean("x").unwrap(), &x);
                let (ours, other) = (error(&ours), error(&constant));
                // the same fixed point, to the tolerance of both
                assert!(ours <= 1.01 * other, "{noise} {seed}: {ours} {other}");
            }
            let engine = ExpectationPropagation.on(&posterior).unwrap();
            let forbidden = engine.fallback(Fallback::Forbidden);
            let forbidden = forbidden.run(&mut ()).unwrap();
            assert_eq!(forbidden.termination, Termination::SweepLimit);
        }
    }
    assert_eq!(taken, 8);
}

/// The free energy of a double loop never goes up, however hard the model.
#[test]
fn the_free_energy_never_rises() {
    let seeds = if full() { 0..8 } else { 0..1 };
    let hard = [
        "rows of different norm",
        "heavy-tailed entries",
        "student: noise too small",
        "student: too sparse",
        "perceptron",
        "perceptron, N = 20",
        "symmetric door",
        "phase retrieval",
        "sparse deconvolution",
    ];
    let each = hard
        .iter()
        .flat_map(|name| seeds.clone().map(|s| (*name, s)));
    // inner problems that are hard to solve, and a free energy that falls without bound until rounding is all of it
    let harder = [("perceptron, N = 20", 21), ("sparse gradient 2d", 2)];
    for (name, seed) in each.chain(harder) {
        let case = suite::case(name, seed);
        let engine = ExpectationPropagation.on(&case.posterior).unwrap();
        let report = engine.fallback(Fallback::Forced).run(&mut ()).unwrap();
        let done = report.fallback.unwrap();
        let energies = &done.free_energy;
        println!("{name} {seed}: {}, {} kept", done.end, energies.len());
        for pair in energies.windows(2) {
            assert!(pair[1] <= pair[0], "{name} {seed}: {pair:?}");
        }
        assert!(!energies.is_empty() && energies.iter().all(|f| f.is_finite()));
    }
}

fn without_limit(report: &Posterior, variables: &[&str]) {
    match report.log_evidence() {
        Err(RunError::WithoutLimit { variable, .. }) => {
            assert!(variables.contains(&variable.as_str()), "{variable}");
        }
        other => panic!("{other:?}"),
    }
}

/// Signs that no signal has: the posterior shrinks to nothing, and its evidence with it.
#[test]
fn no_evidence_of_labels_that_no_signal_has() {
    let (n, m) = (100, 400);
    let model = glm(
        GaussianPrior::new(0.0, 1.0).unwrap().iid(n),
        linear(m, n, 100),
        PiecewiseLinear::sign(),
    );
    let y: Vec<f64> = common::normals(m, 107).iter().map(|x| x.signum()).collect();
    let posterior = model.build().unwrap().condition("y", &y).unwrap();
    for tolerance in [1e-4, 1e-6, 1e-8] {
        let engine = ExpectationPropagation.on(&posterior).unwrap();
        let report = engine.tolerance(tolerance).run(&mut ()).unwrap();
        without_limit(&report, &["x", "z"]);
    }
}

/// An image with so much noise that its gradient vanishes, and its level does not.
fn flattened(noise: f64) -> Tree {
    let n = 20;
    let (levels, eps) = (common::normals(200, 100), common::normals(n * n, 1099));
    let level = |i: usize| levels[(i % n / 4) + 7 * (i / n / 4)];
    let y = (0..n * n).map(|i| level(i) + noise.sqrt() * eps[i]);
    let like = GaussianLikelihood::new(noise).unwrap();
    let like = like.observed(y.collect::<Vec<_>>()).unwrap();
    let jumps = GaussBernoulli::new(0.04, 0.0, 1.0).unwrap();
    let model = source(GaussianPrior::new(0.0, 1.0).unwrap().shaped(vec![n, n]))
        >> var("x")
        >> (branch(like)
            + (branch(Gradient::periodic()) + jumps.shaped(vec![2, n, n]) >> var("z")));
    model.build().unwrap()
}

/// Where some variances vanish and others do not the evidence grows with every sweep: it is refused at any tolerance.
#[test]
fn no_evidence_where_some_variances_vanish() {
    for noise in [1.0, 0.3] {
        let tree = flattened(noise);
        for tolerance in [1e-4, 1e-6, 1e-8, 1e-10] {
            let engine = ExpectationPropagation.on(&tree).unwrap();
            let report = engine.tolerance(tolerance).run(&mut ()).unwrap();
            let ended = &report.termination;
            let collapsed = matches!(ended, Termination::Rejected(Verdict::Collapsed { .. }));
            assert!(collapsed, "{noise} {tolerance}: {ended}");
            without_limit(&report, &["z"]);
        }
    }
}

/// A fallback that comes to its bound is called that, and the bound is named.
#[test]
fn a_bound_has_its_own_word() {
    let tree = suite::case("sparse regression, N = 20", 0).posterior;
    let engine = ExpectationPropagation.on(&tree).unwrap().tolerance(0.0);
    let report = engine.fallback(Fallback::Forced).run(&mut ()).unwrap();
    let done = report.fallback.unwrap();
    let FallbackEnd::Limit { bound, reached } = done.end else {
        panic!("{}", done.end)
    };
    assert_eq!(
        report.termination,
        Termination::FallbackLimit { bound, reached }
    );
    let said = report.termination.to_string();
    assert!(said.contains(&format!("{reached} {bound}")), "{said}");
}

/// The density of a noiseless output is infinite where the signal is recovered: that is no number either.
#[test]
fn no_evidence_of_a_retrieved_phase() {
    for seed in 0..4 {
        let report = run(
            &suite::case("phase retrieval", seed).posterior,
            Damping::default(),
        );
        assert!(report.termination.is_converged());
        let error = report.log_evidence().unwrap_err();
        assert!(
            matches!(error, RunError::NotDefined { .. }),
            "{seed}: {error}"
        );
    }
}

/// Penalties are smoothed in attempts that follow the first, and say so; sweeps damped by hand, and left alone, are the plain ones.
#[test]
fn plain_sweeps_smooth_nothing() {
    let tree = suite::case("total variation 2d", 0).posterior;
    let done = run(&tree, Damping::Adaptive).fallback.unwrap();
    assert!(done.smoothing.is_some());
    for damping in [
        Damping::None,
        Damping::Constant(0.1),
        Damping::Steps(vec![0.9]),
    ] {
        let engine = ExpectationPropagation.on(&tree).unwrap();
        let engine = engine.damping(damping).fallback(Fallback::Forbidden);
        let report = engine.run(&mut ()).unwrap();
        assert!(report.fallback.is_none() && report.attempts.len() == 1);
        assert!(report.attempts[0].attempt.smoothing.is_none());
    }
}
