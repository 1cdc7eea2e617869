//! The engine: options, starts, observers, and every way a run can end.
#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    clippy::unnecessary_literal_bound
)]

mod common;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{gaussian_matrix, mse};
use treeamp::belief::{Gaussian, Message as _, SignalSpec};
use treeamp::engine::Messages;
use treeamp::error::ShapeError;
use treeamp::factor::{Arity, Incoming, PosteriorRule};
use treeamp::prelude::*;

fn regression(n: usize, seed: u64) -> (Tree, Vec<f64>) {
    let model = (source(GaussBernoulli::new(0.1, 0.0, 1.0).unwrap().iid(n))
        >> var("x")
        >> Linear::new(gaussian_matrix(n / 2, n, seed)).unwrap()
        >> var("z")
        >> GaussianNoise::new(0.01).unwrap()
        >> var("y"))
    .build()
    .unwrap();
    let sample = model.sample(seed).unwrap();
    let truth = sample.get("x").unwrap().to_vec();
    (
        model.condition("y", sample.get("y").unwrap()).unwrap(),
        truth,
    )
}

// ---- options and starts ----

#[test]
fn a_message_without_negative_precision_keeps_the_mean() {
    let message = |a: f64, b: [f64; 2]| {
        let mut m = Gaussian::flat(&SignalSpec::real([2]));
        m.precision.set_scalar(a);
        m.linear.copy_from_slice(&b);
        m
    };
    let (cavity, told) = (message(3.0, [1.0, 2.0]), message(-1.0, [0.5, -1.0]));
    let mut lifted = told.clone();
    lifted.lift(&cavity);
    assert_eq!(lifted.precision.scalar(), 0.0);
    for i in 0..2 {
        let before = (cavity.linear[i] + told.linear[i]) / 2.0;
        let after = (cavity.linear[i] + lifted.linear[i]) / 3.0;
        // two roundings of numbers of order one
        assert!((before - after).abs() < 1e-15);
    }
    // nothing to lift: a positive precision, a pin, a belief that is no belief
    for (cavity, told) in [
        (message(3.0, [1.0, 2.0]), message(1.0, [0.5, -1.0])),
        (
            message(f64::INFINITY, [1.0, 2.0]),
            message(-1.0, [0.5, -1.0]),
        ),
        (message(0.5, [1.0, 2.0]), message(-1.0, [0.5, -1.0])),
    ] {
        let mut same = told.clone();
        same.lift(&cavity);
        assert_eq!(same.precision.scalar(), told.precision.scalar());
        assert_eq!(same.linear, told.linear);
    }
}

#[test]
fn positive_precisions_change_nothing_where_none_is_negative() {
    let (model, _) = regression(200, 3);
    let run = |positive: bool| {
        let options = Options {
            damping: Damping::Constant(0.2),
            positive,
            ..Options::default()
        };
        let engine = ExpectationPropagation.on(&model).unwrap().options(options);
        engine.run(&mut ()).unwrap().mean("x").unwrap().to_vec()
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn damping_and_starts_lead_to_the_same_fixed_point() {
    let (model, truth) = regression(400, 3);
    let plain = ExpectationPropagation
        .on(&model)
        .unwrap()
        .tolerance(1e-9)
        .run(&mut ())
        .unwrap();
    assert!(plain.termination.is_converged());
    assert!(mse(plain.mean("x").unwrap(), &truth) < 0.02);
    let edge = |d: f64| Damping::PerEdge(vec![("linear".into(), "x".into(), d)]);
    let given = EdgeMessage {
        factor: "linear".into(),
        variable: "x".into(),
        precision: 5.0,
        linear: truth.iter().map(|x| 5.0 * x).collect(),
    };
    let starts = [
        (Damping::Constant(0.4), Initial::Flat),
        (edge(0.5), Initial::Flat),
        (
            Damping::None,
            Initial::Constant {
                precision: 1.0,
                linear: 0.5,
            },
        ),
        (
            Damping::None,
            Initial::Noisy {
                precision: 1.0,
                mean: 0.0,
                std: 1.0,
                seed: 0,
            },
        ),
        (Damping::None, Initial::Given(vec![given])),
    ];
    for (damping, initial) in starts {
        let engine = ExpectationPropagation
            .on(&model)
            .unwrap()
            .tolerance(1e-9)
            .max_sweeps(500);
        let report = engine
            .damping(damping)
            .initial(initial.clone())
            .run(&mut ())
            .unwrap();
        assert!(
            report.termination.is_converged(),
            "{initial:?}: {}",
            report.termination
        );
        let gap = mse(report.mean("x").unwrap(), plain.mean("x").unwrap()).sqrt();
        assert!(gap < 1e-6, "{initial:?}: {gap:e}");
        let evidence = report.log_evidence().unwrap() - plain.log_evidence().unwrap();
        assert!(evidence.abs() < 1e-5, "{initial:?}: {evidence:e}");
    }
}

#[test]
fn noisy_starts_depend_on_the_seed_alone() {
    let (model, _) = regression(100, 2);
    let run = |seed| {
        let initial = Initial::Noisy {
            precision: 1.0,
            mean: 0.0,
            std: 3.0,
            seed,
        };
        let engine = ExpectationPropagation
            .on(&model)
            .unwrap()
            .initial(initial)
            .max_sweeps(2);
        engine.run(&mut ()).unwrap().mean("x").unwrap().to_vec()
    };
    assert_eq!(run(0), run(0));
    assert_ne!(run(0), run(1));
}

#[test]
fn warm_starts_continue() {
    let (model, _) = regression(200, 3);
    let cold = ExpectationPropagation
        .on(&model)
        .unwrap()
        .run(&mut ())
        .unwrap();
    let first = ExpectationPropagation
        .on(&model)
        .unwrap()
        .max_sweeps(5)
        .run(&mut ())
        .unwrap();
    assert_eq!(first.termination, Termination::SweepLimit);
    let rest = ExpectationPropagation
        .on(&model)
        .unwrap()
        .warm_start(&first)
        .run(&mut ())
        .unwrap();
    assert!(rest.termination.is_converged());
    assert!(
        rest.sweeps <= cold.sweeps - 3,
        "{} after {}",
        rest.sweeps,
        cold.sweeps
    );
    assert!(mse(rest.mean("x").unwrap(), cold.mean("x").unwrap()).sqrt() < 1e-6);
    // at the fixed point, two sweeps are enough to see that nothing changes
    let again = ExpectationPropagation
        .on(&model)
        .unwrap()
        .warm_start(&rest)
        .run(&mut ())
        .unwrap();
    assert!(again.sweeps <= 2, "{}", again.sweeps);
    let messages: &Messages<Gaussian> = &again.messages;
    assert_eq!(messages.iter().count(), 4);
    assert!(messages.get("linear", "x").unwrap().precision.scalar() > 0.0);
    assert!(messages.get("linear", "nobody").is_none());
}

#[test]
fn bad_options_are_named() {
    let (model, _) = regression(20, 4);
    let engine = || ExpectationPropagation.on(&model).unwrap();
    let say = |e: Engine<'_, ExpectationPropagation>| e.run(&mut ()).unwrap_err().to_string();
    assert_eq!(
        say(engine().damping(1.0)),
        "option `damping` must be in [0, 1), got 1"
    );
    assert_eq!(
        say(engine().damping(-0.1)),
        "option `damping` must be in [0, 1), got -0.1"
    );
    assert!(say(engine().damping(f64::NAN)).contains("NaN"));
    assert_eq!(
        say(engine().max_sweeps(0)),
        "option `max_sweeps` must be at least 1, got 0"
    );
    assert!(say(engine().tolerance(f64::NAN)).contains("`tolerance`"));
    let infinite = Initial::Constant {
        precision: f64::INFINITY,
        linear: 0.0,
    };
    assert!(say(engine().initial(infinite)).contains("`initial`"));
    let edge = Damping::PerEdge(vec![("linear".into(), "y".into(), 0.5)]);
    let text = say(engine().damping(edge));
    assert!(
        text.contains("`linear`") && text.contains("linear - x"),
        "{text}"
    );
    let short = EdgeMessage {
        factor: "linear".into(),
        variable: "x".into(),
        precision: 1.0,
        linear: vec![1.0; 3],
    };
    let text = say(engine().initial(Initial::Given(vec![short])));
    assert_eq!(text, "message linear -> x: expected 20 components, got 3");
}

#[test]
fn beliefs_that_a_factor_lacks_are_refused() {
    let model = (source(Binary::new(0.3).unwrap().iid(3))
        >> var("x").belief(Structure::Full)
        >> GaussianNoise::new(0.1).unwrap()
        >> var("y"))
    .build()
    .unwrap();
    let text = ExpectationPropagation.on(&model).unwrap_err().to_string();
    // the law is not Gaussian, and noise wants the same belief on both sides
    for word in ["`binary`", "full", "`x`", "isotropic", "`gaussian_noise`"] {
        assert!(text.contains(word), "{text}");
    }
}

// ---- results ----

#[test]
fn the_report_is_complete() {
    let (model, _) = regression(100, 5);
    let report = ExpectationPropagation
        .on(&model)
        .unwrap()
        .run(&mut ())
        .unwrap();
    assert_eq!(report.variables(), ["x", "z"]);
    assert_eq!(report.trace.len(), report.sweeps);
    assert_eq!(report.variances.len(), report.sweeps);
    assert_eq!(
        report.variances[report.sweeps - 1][0],
        report.variance("x").unwrap()
    );
    let precision = report.precision("x").unwrap();
    assert!((precision * report.variance("x").unwrap() - 1.0).abs() < 1e-15);
    assert_eq!(report.mean("z").unwrap().len(), 50);
    let objective = report.objective.as_ref().unwrap();
    assert_eq!(objective.factors.len(), 3);
    assert_eq!(objective.variables.len(), 2);
    assert_eq!(objective.edges.len(), 4);
    assert_eq!(report.surprisal().unwrap(), -report.log_evidence().unwrap());
    assert!(
        report
            .mean("w")
            .unwrap_err()
            .to_string()
            .contains("`x`, `z`")
    );
    // at a fixed point both ends of an edge and the variable agree
    let x: Vec<f64> = objective
        .edges
        .iter()
        .filter(|t| t.name.ends_with('x'))
        .map(|t| t.value)
        .collect();
    assert!((x[0] - x[1]).abs() < 1e-9 * x[0].abs());
}

#[test]
fn observers_see_and_stop() {
    let (model, truth) = regression(100, 6);
    let mut errors = Vec::new();
    let mut watch = |view: &SweepView<'_, ExpectationPropagation>| {
        errors.push(mse(&view.marginal("x").unwrap().mean, &truth));
        assert!(view.marginal("nobody").is_none());
        if view.sweep == 4 {
            ControlFlow::Break("seen enough".into())
        } else {
            ControlFlow::Continue(())
        }
    };
    let report = ExpectationPropagation
        .on(&model)
        .unwrap()
        .run(&mut watch)
        .unwrap();
    assert_eq!(
        report.termination,
        Termination::Stopped("seen enough".into())
    );
    assert_eq!((report.sweeps, errors.len()), (4, 4));
    assert!(errors[3] < errors[0]);
    let mut text = Vec::new();
    let engine = ExpectationPropagation.on(&model).unwrap();
    let report = engine
        .run(&mut EveryN::new(2, Progress::new(&mut text)))
        .unwrap();
    let text = String::from_utf8(text).unwrap();
    assert_eq!(text.lines().count(), report.sweeps / 2);
    assert!(text.contains("sweep    2  residual") && text.contains("variance: x "));
}

#[test]
fn perfect_recovery_ends_a_run() {
    // noiseless, far above the threshold: precisions grow without bound
    let n = 200;
    let model = (source(GaussBernoulli::new(0.1, 0.0, 1.0).unwrap().iid(n))
        >> var("x")
        >> Linear::new(gaussian_matrix(120, n, 8)).unwrap()
        >> var("y"))
    .build()
    .unwrap();
    let sample = model.sample(8).unwrap();
    let observed = model.condition("y", sample.get("y").unwrap()).unwrap();
    let engine = ExpectationPropagation.on(&observed).unwrap().tolerance(0.0);
    let report = engine.run(&mut ()).unwrap();
    assert_eq!(
        report.termination,
        Termination::Converged {
            perfect_recovery: true
        }
    );
    assert!(mse(report.mean("x").unwrap(), sample.get("x").unwrap()) < 1e-13);
    assert_eq!(
        report.termination.to_string(),
        "converged (perfect recovery)"
    );
}

// ---- negative precisions ----

/// Two sharp peaks at ±1 seen through weak noise: the prior's message has negative precision, which
/// is legitimate and reaches the fixed point unclipped.
#[test]
fn negative_precisions_are_not_clipped() {
    let model = (source(Binary::new(0.5).unwrap().iid(4))
        >> var("x")
        >> GaussianNoise::new(0.5).unwrap()
        >> var("y"))
    .build()
    .unwrap();
    let observed = model.condition("y", &[0.01, -0.02, 0.03, 0.0]).unwrap();
    let report = ExpectationPropagation
        .on(&observed)
        .unwrap()
        .run(&mut ())
        .unwrap();
    assert!(report.termination.is_converged());
    let a = report
        .messages
        .get("binary", "x")
        .unwrap()
        .precision
        .scalar();
    let v = report.variance("x").unwrap();
    assert!((a - (1.0 / v - 2.0)).abs() < 1e-12 && a < -0.99, "{a}");
    assert!(report.trace.iter().all(|r| r.improper == 0));
}

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
    fn log_partition(&self, _: Incoming<'_, Gaussian>, _: &mut [f64]) -> Result<f64, FactorError> {
        Ok(0.0)
    }
    fn message(
        &self,
        _: Incoming<'_, Gaussian>,
        _: usize,
        out: &mut Gaussian,
        _: &mut [f64],
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
        assert!(report.log_evidence().unwrap().is_finite());
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

#[test]
fn contradicting_observations_are_an_error() {
    let pin = |y: f64| {
        GaussianLikelihood::new(0.0)
            .unwrap()
            .observed(vec![y; 3])
            .unwrap()
    };
    let model = (source(GaussianPrior::new(0.0, 1.0).unwrap().iid(3))
        >> var("x")
        >> (branch(pin(1.0)) + pin(2.0)))
    .build()
    .unwrap();
    let text = ExpectationPropagation
        .on(&model)
        .unwrap()
        .run(&mut ())
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("contradiction") && text.contains("`x`"),
        "{text}"
    );
    // a noisy observation called noiseless does not fit a tall matrix
    let tall = (source(GaussianPrior::new(0.0, 1.0).unwrap().iid(3))
        >> var("x")
        >> Linear::new(gaussian_matrix(6, 3, 1)).unwrap()
        >> var("y"))
    .build()
    .unwrap();
    let observed = tall
        .condition("y", &[1.0, -1.0, 1.0, -1.0, 1.0, 1.0])
        .unwrap();
    let text = ExpectationPropagation
        .on(&observed)
        .unwrap()
        .run(&mut ())
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("`linear`") && text.contains("range of the matrix"),
        "{text}"
    );
}

/// A sign observed with nothing known about its input yet: the message is flat, not an error.
#[test]
fn a_flat_message_where_the_integral_diverges() {
    let law = PiecewiseLinear::sign()
        .likelihood()
        .unwrap()
        .observed(vec![1.0, -1.0])
        .unwrap();
    let rule = law.posterior().unwrap();
    let flat = [Gaussian::flat(&SignalSpec::real([2]))];
    let mut out = flat[0].clone();
    rule.message(Incoming::new(&flat, &[0]), 0, &mut out, &mut [])
        .unwrap();
    assert!(out.is_flat());
    assert_eq!(
        rule.log_partition(Incoming::new(&flat, &[0]), &mut [])
            .unwrap(),
        f64::INFINITY
    );
    let mut negative = flat[0].clone();
    negative.precision.set_scalar(-1.0);
    let error = rule
        .message(Incoming::new(&[negative], &[0]), 0, &mut out, &mut [])
        .unwrap_err();
    assert!(
        error.is_recoverable() && error.to_string().contains("improper"),
        "{error}"
    );
}

#[test]
fn public_types_cross_threads() {
    fn check<T: Send + Sync + Unpin>() {}
    check::<Tree>();
    check::<Engine<'_, ExpectationPropagation>>();
    check::<Posterior>();
    check::<ModelError>();
    check::<RunError>();
}

// ---- what users do by mistake ----

fn noisy(n: usize) -> Tree {
    let model = source(GaussianPrior::new(0.0, 1.0).unwrap().iid(n))
        >> var("x")
        >> GaussianNoise::new(0.1).unwrap()
        >> var("y");
    model
        .build()
        .unwrap()
        .condition("y", &vec![1.0; n])
        .unwrap()
}

#[test]
fn a_warm_start_of_another_size_is_refused() {
    let three = ExpectationPropagation
        .on(&noisy(3))
        .unwrap()
        .run(&mut ())
        .unwrap();
    let two = noisy(2);
    let engine = ExpectationPropagation.on(&two).unwrap().warm_start(&three);
    let text = engine.run(&mut ()).unwrap_err().to_string();
    assert!(text.contains("expected 2 components, got 3"), "{text}");
}

#[test]
fn an_edge_given_twice_is_refused() {
    let tree = noisy(2);
    let edge = ("gaussian".to_owned(), "x".to_owned(), 0.1);
    let damping = Damping::PerEdge(vec![edge.clone(), edge]);
    let text = ExpectationPropagation
        .on(&tree)
        .unwrap()
        .damping(damping)
        .run(&mut ());
    assert!(text.unwrap_err().to_string().contains("once per edge"));
}

#[test]
fn a_matrix_of_zeros_says_nothing() {
    for scale in [0.0, 1e-200] {
        let w = Matrix::from_fn(2, 2, |i, j| if i == j { scale } else { 0.0 }).unwrap();
        let model = source(GaussianPrior::new(0.5, 2.0).unwrap().iid(2))
            >> var("x")
            >> Linear::new(w).unwrap()
            >> var("z")
            >> GaussianNoise::new(0.1).unwrap()
            >> var("y");
        let observed = model.build().unwrap().condition("y", &[0.1, 0.2]).unwrap();
        let report = ExpectationPropagation
            .on(&observed)
            .unwrap()
            .run(&mut ())
            .unwrap();
        assert!(report.termination.is_converged(), "{}", report.termination);
        assert!((report.mean("x").unwrap()[1] - 0.5).abs() < 1e-12);
        assert!((report.variance("x").unwrap() - 2.0).abs() < 1e-12);
        let exact: f64 = [0.1_f64, 0.2]
            .iter()
            .map(|y| -0.5 * (y * y / 0.1 + (std::f64::consts::TAU * 0.1).ln()))
            .sum();
        assert!((report.log_evidence().unwrap() - exact).abs() < 1e-9);
    }
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

#[test]
fn values_that_a_prior_excludes_are_a_contradiction() {
    let seen = |prior: Fragment, y: &[f64]| {
        let observed = (prior >> var("x"))
            .build()
            .unwrap()
            .condition("x", y)
            .unwrap();
        ExpectationPropagation.on(&observed).unwrap().run(&mut ())
    };
    let binary = || source(Binary::new(0.5).unwrap().iid(2));
    let text = seen(binary(), &[0.5, 1.0]).unwrap_err().to_string();
    assert!(
        text.contains("`binary`") && text.contains("0.5 at index 0"),
        "{text}"
    );
    let exponential = source(Exponential::new(1.0).unwrap().iid(2));
    assert!(
        seen(exponential, &[1.0, -1.0])
            .unwrap_err()
            .to_string()
            .contains("-1")
    );
    let interval = source(Interval::new(0.0, 1.0, 0.0, 1.0).unwrap().iid(1));
    assert!(seen(interval, &[2.0]).is_err());
    let report = seen(binary(), &[1.0, -1.0]).unwrap();
    assert_eq!(report.log_evidence().unwrap(), f64::INFINITY);
}

#[test]
fn names_survive_an_observation() {
    let model = source(GaussianPrior::new(0.0, 1.0).unwrap().iid(2))
        >> var("x")
        >> named("camera", GaussianNoise::new(0.1).unwrap())
        >> var("y");
    let observed = model.build().unwrap().condition("y", &[1.0, 2.0]).unwrap();
    assert_eq!(observed.factors()[1].name, "camera");
    let model = source(GaussianPrior::new(0.0, 1.0).unwrap().iid(2))
        >> var("x")
        >> PiecewiseLinear::sign()
        >> var("y");
    let observed = model.build().unwrap().condition("y", &[1.0, -1.0]).unwrap();
    assert_eq!(observed.factors()[1].name, "sign");
    assert!(observed.describe().contains("x (2) -> sign"));
}
