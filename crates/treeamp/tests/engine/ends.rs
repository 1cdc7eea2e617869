//! How a run ends: a factor that follows a script diverges, swings, is improper, fails.

use super::*;
use treeamp::extend::*;

// ---- factors that misbehave ----

/// A likelihood that sends what a script says, one entry per sweep.
#[derive(Debug)]
struct Scripted {
    script: Vec<(f64, f64)>,
    calls: AtomicUsize,
}

impl Scripted {
    fn new(script: &[(f64, f64)]) -> Self {
        Self {
            script: script.to_vec(),
            calls: AtomicUsize::new(0),
        }
    }
}

impl Factor for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }
    fn arity(&self) -> Arity {
        Arity {
            inputs: 1,
            outputs: 0,
        }
    }
    fn output_specs(&self, _: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        Ok(vec![])
    }
    fn posterior(&self) -> Option<&dyn PosteriorRule> {
        Some(self)
    }
}

impl PosteriorRule for Scripted {
    fn log_partition(&self, _: &mut Context<'_>) -> Result<f64, FactorError> {
        Ok(0.0)
    }
    fn message(
        &self,
        _: &mut Context<'_>,
        _: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let (a, b) = self.script[call.min(self.script.len() - 1)];
        if a == f64::NEG_INFINITY {
            return Err(FactorError::Failed("out of order".into()));
        }
        out.precision.set_scalar(a);
        out.linear.fill(b);
        Ok(())
    }
}

fn scripted(script: &[(f64, f64)]) -> Posterior {
    scripted_result(script).unwrap()
}

/// Undamped: a script does not answer to what the run does.
fn scripted_result(script: &[(f64, f64)]) -> Result<Posterior, RunError> {
    let model = (source(GaussBernoulli::new(0.5, 0.0, 1.0).unwrap().iid(2))
        >> var("x")
        >> Scripted::new(script))
    .build()
    .unwrap();
    ExpectationPropagation
        .on(&model)
        .unwrap()
        .max_sweeps(60)
        .damping(Damping::None)
        .run(&mut ())
}

#[test]
fn a_message_that_is_not_finite_ends_the_run_with_the_last_good_state() {
    for bad in [
        (f64::NAN, 0.0),
        (1.0, f64::NAN),
        (1.0, f64::INFINITY),
        (f64::NEG_INFINITY.powi(3), f64::NAN),
    ] {
        if bad.0 == f64::NEG_INFINITY {
            continue;
        }
        let report = scripted(&[(1.0, 1.0), (1.0, 2.0), bad]);
        let good = scripted(&[(1.0, 1.0), (1.0, 2.0)]);
        let Termination::Diverging(at) = &report.termination else {
            panic!("{}", report.termination)
        };
        assert_eq!(at.sweep, 3);
        assert_eq!(at.factor.as_deref(), Some("scripted"));
        assert_eq!(at.variable.as_deref(), Some("x"));
        assert_eq!(at.direction, Some(Direction::Backward));
        assert!(report.termination.to_string().contains("not finite"));
        assert_eq!(report.sweeps, 2);
        assert!(report.mean("x").unwrap().iter().all(|m| m.is_finite()));
        // which is no fixed point
        let error = report.log_evidence().unwrap_err().to_string();
        assert!(error.contains("fixed point"), "{error}");
        // the state after the second sweep, before the third went wrong
        let second = {
            let model = (source(GaussBernoulli::new(0.5, 0.0, 1.0).unwrap().iid(2))
                >> var("x")
                >> Scripted::new(&[(1.0, 1.0), (1.0, 2.0)]))
            .build()
            .unwrap();
            ExpectationPropagation
                .on(&model)
                .unwrap()
                .max_sweeps(2)
                .run(&mut ())
                .unwrap()
        };
        assert_eq!(report.mean("x").unwrap(), second.mean("x").unwrap());
        assert!(good.termination.is_converged());
    }
}

#[test]
fn a_growing_residual_ends_the_run() {
    let script: Vec<(f64, f64)> = (0..60)
        .map(|k| (1.0, 10_f64.powf(0.3 * f64::from(k))))
        .collect();
    let report = scripted(&script);
    let Termination::Diverging(at) = &report.termination else {
        panic!("{}", report.termination)
    };
    assert!(
        at.reason.contains("1000 times its minimum"),
        "{}",
        at.reason
    );
    assert_eq!(at.variable.as_deref(), Some("x"));
    assert!(report.mean("x").unwrap().iter().all(|m| m.is_finite()));
}

#[test]
fn a_bounded_oscillation_ends_at_the_sweep_limit() {
    let script: Vec<(f64, f64)> = (0..80)
        .map(|k| (1.0, if k % 2 == 0 { 3.0 } else { -3.0 }))
        .collect();
    let report = scripted(&script);
    assert_eq!(report.termination, Termination::SweepLimit);
    assert_eq!(report.sweeps, 60);
    assert!(report.residual() > 0.1);
}

/// An improper tilted law: the update is skipped, counted, and a proper message later mends it.
#[test]
fn an_improper_tilted_law_is_skipped_and_can_recover() {
    // a slab of variance 1 under precision -2 cannot be normalised
    let report = scripted(&[(1.0, 1.0), (-2.0, 0.0), (-2.0, 0.0), (1.0, 1.0)]);
    let improper: Vec<usize> = report.trace.iter().map(|r| r.improper).collect();
    // sweep 2 leaves the bad message behind; sweeps 3 and 4 find it when the prior updates
    assert!(improper[1..4].iter().any(|n| *n > 0), "{improper:?}");
    assert!(report.termination.is_converged(), "{}", report.termination);
    assert_eq!(*improper.last().unwrap(), 0);
}

#[test]
fn lasting_impropriety_ends_the_run_and_names_the_place() {
    let report = scripted(&[(1.0, 1.0), (1.0, 1.0), (-2.0, 0.0)]);
    let Termination::Diverging(at) = &report.termination else {
        panic!("{}", report.termination)
    };
    assert!(
        at.reason.contains("improper for 10 sweeps"),
        "{}",
        at.reason
    );
    assert_eq!(at.variable.as_deref(), Some("x"));
    assert!(report.variance("x").unwrap() > 0.0);
    assert!(report.mean("x").unwrap().iter().all(|m| m.is_finite()));
}

/// A belief that is improper although every tilted law is proper: the variable keeps its moments.
#[test]
fn an_improper_belief_keeps_the_last_moments() {
    let model = (source(GaussianPrior::new(0.0, 1.0).unwrap().iid(2))
        >> var("x")
        >> Scripted::new(&[(1.0, 1.0), (-3.0, 0.0), (1.0, 1.0)]))
    .build()
    .unwrap();
    let mut means = Vec::new();
    let mut watch = |view: &SweepView<'_, ExpectationPropagation>| {
        means.push(view.marginal("x").unwrap().mean[0]);
        ControlFlow::Continue(())
    };
    let report = ExpectationPropagation
        .on(&model)
        .unwrap()
        .run(&mut watch)
        .unwrap();
    assert_eq!(report.trace[1].improper, 1);
    assert_eq!(means[0], means[1]);
    assert!(report.termination.is_converged());
}

#[test]
fn a_factor_that_fails_is_an_error_with_its_name() {
    let error = scripted_result(&[(1.0, 1.0), (f64::NEG_INFINITY, 0.0)]).unwrap_err();
    assert_eq!(error.to_string(), "factor `scripted`: out of order");
}

/// A run that never had a good state claims nothing.
#[test]
fn divergence_before_any_good_state_claims_nothing() {
    let report = scripted(&[(f64::NAN, 0.0)]);
    assert!(matches!(report.termination, Termination::Diverging(_)));
    assert!(report.variance("x").unwrap().is_infinite());
    let text = report.log_evidence().unwrap_err().to_string();
    assert!(text.contains("first good state"), "{text}");
}

/// A perceptron and its labels, and the weights.
fn perceptron(n: usize, m: usize, seed: u64) -> (Tree, Vec<f64>) {
    let model = glm(
        Binary::new(0.5).unwrap().iid(n),
        linear(m, n, seed),
        PiecewiseLinear::sign(),
    )
    .build()
    .unwrap();
    let sample = model.sample(seed).unwrap();
    let tree = model.condition("y", sample.get("y").unwrap()).unwrap();
    (tree, sample.get("x").unwrap().to_vec())
}

/// How far two more sweeps without damping move the means of a run.
fn moves(tree: &Tree, report: &Posterior) -> f64 {
    let engine = ExpectationPropagation.on(tree).unwrap();
    let engine = engine.fallback(Fallback::Forbidden);
    let again = engine.damping(Damping::None).max_sweeps(2);
    let again = again.start_from(report.messages.clone());
    let again = again.run(&mut ()).unwrap();
    mse(again.mean("x").unwrap(), report.mean("x").unwrap())
}

/// A perceptron near its threshold may swing between certainties: vanishing variances are a recovery only where nothing moves.
#[test]
fn certainty_that_moves_is_no_recovery() {
    let mut recovered = 0;
    for seed in 0..60 {
        let (tree, _) = perceptron(100, 150, seed);
        let engine = ExpectationPropagation.on(&tree).unwrap();
        let report = engine.fallback(Fallback::Forbidden).run(&mut ()).unwrap();
        let perfect_recovery = true;
        if report.termination == (Termination::Converged { perfect_recovery }) {
            recovered += 1;
            let moved = moves(&tree, &report);
            assert!(moved < 1e-6, "seed {seed}: moves by {moved:e}");
        }
    }
    assert!(recovered > 5, "{recovered}");
}

/// With many labels for few weights a run swings until it is certain: one small residual among large ones is no end.
#[test]
fn a_small_residual_among_large_ones_is_no_end() {
    let mut converged = 0;
    for seed in 80..120 {
        let (tree, _) = perceptron(30, 240, seed);
        let report = infer(&tree);
        if report.termination.is_converged() {
            converged += 1;
            let moved = moves(&tree, &report);
            assert!(moved < 1e-6, "seed {seed}: moves by {moved:e}");
        }
    }
    assert!(converged > 30, "{converged}");
}
