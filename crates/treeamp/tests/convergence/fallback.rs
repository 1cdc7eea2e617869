//! The fallback: a double loop that takes over, is watched, stopped, and says how it ended.

use std::ops::ControlFlow;

use crate::common::{self, chain, glm, infer, linear, seen};
use crate::suite;
use treeamp::extend::{Factor, Gaussian};
use treeamp::model::Var;
use treeamp::prelude::*;

fn run(posterior: &Tree, damping: Damping) -> Posterior {
    let engine = ExpectationPropagation.on(posterior).unwrap();
    engine.damping(damping).run(&mut ()).unwrap()
}

/// The double loop ends at a fixed point of the sweeps, and its free energy never goes up.
#[test]
fn a_forced_double_loop_finds_the_fixed_point() {
    for name in [
        "sparse regression",
        "perceptron, condition 1e2",
        "student: too sparse",
    ] {
        let case = suite::case(name, 0);
        let engine = || ExpectationPropagation.on(&case.posterior).unwrap();
        let forced = engine().fallback(Fallback::Forced).run(&mut ()).unwrap();
        let done = forced.fallback.as_ref().unwrap();
        assert_eq!(done.end, FallbackEnd::Stationary, "{name}");
        assert!(forced.termination.is_converged() && forced.sweeps == 2);
        assert!(done.residual < 1e-6);
        // inner problems are solved to a tenth of the last change, and F is then off by its square
        let rises = done.free_energy.windows(2).filter(|f| f[1] > f[0] + 1e-6);
        assert_eq!(rises.count(), 0, "{name}");
        // at a stationary point the free energy is minus the log-evidence
        let gap = done.free_energy.last().unwrap() + forced.log_evidence().unwrap();
        assert!(gap.abs() < 1e-3, "{name}: {gap}");
        // an undamped sweep from there hardly moves: what the report says, seen from outside
        let next = engine().damping(Damping::None).warm_start(&forced);
        let next = next.max_sweeps(1).run(&mut ()).unwrap();
        let said = done.sweep_residual.unwrap();
        let mut moved = 0.0_f64;
        for variable in forced.variables() {
            let (x, y) = (
                forced.marginal(variable).unwrap(),
                next.marginal(variable).unwrap(),
            );
            let gap = (x.average_variance() - y.average_variance()).abs();
            let means = (common::mse(&x.mean, &y.mean) / x.second_moment()).sqrt();
            moved = moved.max(means).max(gap / x.second_moment());
        }
        println!(
            "{name}: {} outer steps, {} evaluations, then a residual of {said:.1e}, {moved:.1e}",
            done.steps, done.evaluations
        );
        // a residual may count relative to the scale after the first sweep, where that was smaller
        assert!(
            said < 1e-6 && moved <= 1.001 * said,
            "{name}: {said:e} {moved:e}"
        );
        assert!(done.descent.is_none(), "{name}");
    }
}

/// The double loop takes over by itself, and can be kept out.
#[test]
fn the_double_loop_takes_over_unless_forbidden() {
    let case = suite::case("student: noise too small", 0);
    let engine = || ExpectationPropagation.on(&case.posterior).unwrap();
    let forbidden = engine().fallback(Fallback::Forbidden).run(&mut ()).unwrap();
    assert_eq!(forbidden.termination, Termination::SweepLimit);
    assert!(forbidden.fallback.is_none());
    let report = engine().run(&mut ()).unwrap();
    assert!(report.termination.is_converged(), "{}", report.termination);
    assert_eq!(report.fallback.unwrap().end, FallbackEnd::Stationary);
    // plain sweeps are left alone, and those of a damping that does not settle them start again
    let plain = run(&case.posterior, Damping::None);
    assert!(plain.fallback.is_none() && plain.restarted.is_none());
    let again = run(&case.posterior, Damping::Constant(0.3));
    assert!(again.termination.is_converged(), "{}", again.termination);
    assert_eq!(again.restarted, Some(Termination::SweepLimit));
}

/// A law with moments and no log-partition.
#[derive(Debug)]
struct Silent;

impl Factor for Silent {
    fn name(&self) -> &'static str {
        "silent"
    }
    fn arity(&self) -> treeamp::factor::Arity {
        treeamp::factor::Arity {
            inputs: 1,
            outputs: 0,
        }
    }
    fn output_specs(
        &self,
        _: &[SignalSpec],
    ) -> Result<Vec<SignalSpec>, treeamp::error::ShapeError> {
        Ok(vec![])
    }
    fn posterior(&self) -> Option<&dyn treeamp::factor::PosteriorRule> {
        Some(self)
    }
}

impl treeamp::factor::PosteriorRule for Silent {
    fn log_partition(&self, _: &mut treeamp::factor::Context<'_>) -> Result<f64, FactorError> {
        Err(FactorError::Unsupported("it has no log-partition".into()))
    }
    fn message(
        &self,
        _: &mut treeamp::factor::Context<'_>,
        _: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        out.precision.set_scalar(1.0);
        out.linear.fill(1.0);
        Ok(())
    }
}

#[test]
fn a_forced_double_loop_needs_log_partitions() {
    let model = source(Binary::new(0.3).unwrap().iid(3)) >> var("x") >> Silent;
    let model = model.build().unwrap();
    let engine = ExpectationPropagation.on(&model).unwrap();
    let error = engine.fallback(Fallback::Forced).run(&mut ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "factor `silent`: it has no log-partition"
    );
    let plain = infer(&model);
    assert!(plain.termination.is_converged());
}

/// A Bayesian output of a signal with a penalty.
fn penalised_sign() -> Tree {
    let model = glm(
        L1::new(1.0).unwrap().iid(20),
        linear(30, 20, 5),
        PiecewiseLinear::sign(),
    );
    let y = common::normals(30, 6);
    let signs: Vec<f64> = y.iter().map(|y| y.signum()).collect();
    model.build().unwrap().condition("y", &signs).unwrap()
}

/// A penalty has no log-partition either.
#[test]
fn a_forced_double_loop_refuses_a_penalty() {
    let posterior = penalised_sign();
    let engine = ExpectationPropagation.on(&posterior).unwrap();
    let error = engine.fallback(Fallback::Forced).run(&mut ()).unwrap_err();
    assert!(matches!(error, RunError::NotDefined { .. }));
    let text = error.to_string();
    assert!(
        text.contains("factor `l1` is a penalty, which has no log-partition"),
        "{text}"
    );
}

/// Among Gaussian factors the means are the minimiser, which a splitting finds, and its precisions are those of a fixed point.
#[test]
fn a_penalty_among_gaussian_factors_is_split() {
    let posterior = suite::case("total variation", 0).posterior;
    let engine = ExpectationPropagation.on(&posterior).unwrap();
    let report = engine.fallback(Fallback::Forced).run(&mut ()).unwrap();
    assert!(report.termination.is_converged(), "{}", report.termination);
    let done = report.fallback.as_ref().unwrap();
    assert_eq!(
        (done.method, &done.end),
        ("splitting", &FallbackEnd::Stationary)
    );
    // the tolerance of sweeps
    assert!(
        done.sweep_residual.unwrap() < 1e-6,
        "{:?}",
        done.sweep_residual
    );
    let minimum = MaximumAPosteriori
        .on(&posterior)
        .unwrap()
        .run(&mut ())
        .unwrap();
    let best = minimum.solution(&posterior).unwrap();
    let gap = common::relative_gap(report.mean("x").unwrap(), best.point("x").unwrap());
    assert!(gap < 1e-6, "{gap:e}");
}

/// Stops a run in the third step of its fallback, and keeps what it saw last.
struct Stopper {
    steps: usize,
    counted: Vec<usize>,
    seen: Vec<f64>,
}

impl Stopper {
    fn new() -> Self {
        Self {
            steps: 0,
            counted: vec![],
            seen: vec![],
        }
    }

    fn step(&mut self, fallback: bool, sweep: usize, place: &[f64]) -> ControlFlow<String> {
        self.counted.push(sweep);
        self.seen = place.to_vec();
        self.steps += usize::from(fallback);
        if self.steps == 3 {
            ControlFlow::Break("enough".to_owned())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// An observer sees every step of a double loop, stops it, and the report holds what it saw: a state to go on from.
#[test]
fn an_observer_stops_a_double_loop() {
    let case = suite::case("student: too sparse", 0);
    let engine = || ExpectationPropagation.on(&case.posterior).unwrap();
    let mut stopper = Stopper::new();
    let mut observer = |view: &SweepView<'_, ExpectationPropagation>| {
        stopper.step(view.fallback, view.sweep, &view.marginal("x").unwrap().mean)
    };
    let report = engine()
        .fallback(Fallback::Forced)
        .run(&mut observer)
        .unwrap();
    assert_eq!(report.termination, Termination::Stopped("enough".into()));
    let done = report.fallback.as_ref().unwrap();
    assert_eq!(done.end, FallbackEnd::Stopped("enough".into()));
    assert_eq!((done.method, done.steps), ("double loop", 3));
    assert_eq!((report.sweeps, stopper.counted), (2, vec![1, 2, 3, 4, 5]));
    assert_eq!(report.mean("x").unwrap(), stopper.seen);
    let on = engine().fallback(Fallback::Forced).warm_start(&report);
    let on = on.run(&mut ()).unwrap();
    assert!(on.termination.is_converged(), "{}", on.termination);
}

/// The same of the splitting that a maximum a posteriori estimation falls back on.
#[test]
fn an_observer_stops_a_splitting() {
    let w = common::gaussian_matrix(50, 200, 1);
    let mut signal = vec![0.0; 200];
    signal[..5].copy_from_slice(&common::normals(5, 2));
    let noise = common::normals(50, 3);
    let row = |i: usize| (0..200).map(|j| w.get(i, j) * signal[j]).sum::<f64>();
    let y: Vec<f64> = (0..50).map(|i| row(i) + 0.1 * noise[i]).collect();
    let like = seen(0.01, &y);
    let model = chain(
        L1::new(0.5).unwrap().iid(200),
        Linear::new(w).unwrap(),
        like,
    );
    let tree = model.build().unwrap();
    let engine = || MaximumAPosteriori.on(&tree).unwrap();
    let mut stopper = Stopper::new();
    let mut observer = |view: &SweepView<'_, MaximumAPosteriori>| {
        stopper.step(
            view.fallback,
            view.sweep,
            &view.marginal("x").unwrap().point,
        )
    };
    let report = engine()
        .fallback(Fallback::Forced)
        .run(&mut observer)
        .unwrap();
    assert_eq!(report.termination, Termination::Stopped("enough".into()));
    let done = report.fallback.as_ref().unwrap();
    assert_eq!((done.method, done.steps), ("splitting", 3));
    assert_eq!(report.minimiser("x").unwrap(), stopper.seen);
    let on = engine().warm_start(&report).run(&mut ()).unwrap();
    let whole = engine().run(&mut ()).unwrap();
    for run in [&on, &whole] {
        assert!(run.termination.is_converged(), "{}", run.termination);
    }
    // the energy is flat at its minimum: both runs are within 1e-9 of it, relative
    let (one, other) = (on.least_energy().unwrap(), whole.least_energy().unwrap());
    assert!((one - other).abs() < 1e-6 * one.abs(), "{one} {other}");
}

/// A run that is stopped in its sweeps is not handed over, not even by force.
#[test]
fn a_stopped_run_does_not_fall_back() {
    let case = suite::case("sparse regression", 0);
    let engine = ExpectationPropagation.on(&case.posterior).unwrap();
    let mut at_once =
        |_: &SweepView<'_, ExpectationPropagation>| ControlFlow::Break("no".to_owned());
    let report = engine.fallback(Fallback::Forced).run(&mut at_once).unwrap();
    assert_eq!(report.termination, Termination::Stopped("no".into()));
    assert!(report.fallback.is_none() && report.sweeps == 1);
}

/// A sparse signal `x` with `k` entries of 40 that are not zero, seen through 24 noiseless measurements; and, in noise, itself.
fn noiseless(k: usize) -> Tree {
    let (n, m) = (40, 24);
    let w = common::gaussian_matrix(m, n, 5);
    let mut signal = vec![0.0; n];
    signal[..k].copy_from_slice(&common::normals(k, 6));
    let row = |i: usize| (0..n).map(|j| w.get(i, j) * signal[j]).sum::<f64>();
    let y: Vec<f64> = (0..m).map(row).collect();
    let eps = common::normals(n, 7);
    let noisy: Vec<f64> = signal.iter().zip(eps).map(|(x, e)| x + 0.3 * e).collect();
    let exact = seen(0.0, &y);
    let own = branch(GaussianNoise::new(0.05).unwrap()) >> var("u") >> seen(0.04, &noisy);
    let model = source(GaussBernoulli::new(0.1, 0.0, 1.0).unwrap().iid(n))
        >> var("x")
        >> ((branch(Linear::new(w).unwrap()) >> var("z") >> exact) + own);
    model.build().unwrap()
}

/// `x` is known exactly, its noisy copy is not. Then $F = c + \frac{M - K}{2}\ln v$: of $N$ components the prior gives
/// $-\frac K2 \ln v$, the measurements $-\frac{N - M}2\ln v$, the noisy copy $-\frac N2\ln v$ and the entropies
/// $N \ln v$.
#[test]
fn an_unbounded_descent_has_its_slope() {
    for k in [2, 4] {
        let tree = noiseless(k);
        let engine = ExpectationPropagation.on(&tree).unwrap();
        let report = engine.fallback(Fallback::Forced).run(&mut ()).unwrap();
        let done = report.fallback.as_ref().unwrap();
        println!(
            "{k}: {} {:?} {:?}",
            report.termination, done.end, done.descent
        );
        let collapsed =
            |v: &Verdict| matches!(v, Verdict::Collapsed { variable, .. } if variable == "x");
        assert!(matches!(&done.end, FallbackEnd::Rejected(v) if collapsed(v)));
        let descent = done.descent.as_ref().unwrap();
        assert_eq!(descent.variable, "x");
        let exact = 0.5 * (24.0 - k as f64);
        // inner loops end when factors agree to a tenth of the variance: a few of the hundred nats of the fall
        assert!((descent.slope / exact - 1.0).abs() < 0.05, "{descent:?}");
        assert!(descent.to.0 < 1e-3 * descent.from.0 && descent.to.1 < descent.from.1 - 10.0);
        assert!(!report.termination.is_converged());
    }
}

/// A sparse regression of 20 signals whose variables have these beliefs.
fn small(belief: impl Fn(Var) -> Var) -> Tree {
    let w = linear(14, 20, 5);
    let model = source(GaussBernoulli::new(0.3, 0.0, 1.0).unwrap().iid(20))
        >> belief(var("x"))
        >> w
        >> belief(var("z"))
        >> GaussianNoise::new(0.01).unwrap()
        >> var("y");
    let model = model.build().unwrap();
    let sample = model.sample(5).unwrap();
    model.condition("y", sample.get("y").unwrap()).unwrap()
}

/// With a variance for every component the double loop ends where the sweeps do.
#[test]
fn diagonal_beliefs_have_a_double_loop() {
    let posterior = small(Var::diagonal);
    let engine = || ExpectationPropagation.on(&posterior).unwrap();
    let sweeps = engine().tolerance(1e-10).run(&mut ()).unwrap();
    let forced = engine().fallback(Fallback::Forced).run(&mut ()).unwrap();
    let done = forced.fallback.as_ref().unwrap();
    assert_eq!(done.end, FallbackEnd::Stationary);
    assert!(sweeps.termination.is_converged() && done.sweep_residual.unwrap() < 1e-6);
    let rises = done.free_energy.windows(2).filter(|f| f[1] > f[0] + 1e-6);
    assert_eq!(rises.count(), 0);
    for name in ["x", "z"] {
        let (one, other) = (
            sweeps.marginal(name).unwrap(),
            forced.marginal(name).unwrap(),
        );
        // a sweep that moves by 1e-6 is that far from the fixed point, over its distance from one
        assert!((common::mse(&one.mean, &other.mean) / one.second_moment()).sqrt() < 1e-4);
        let pairs = one.variance.data().iter().zip(other.variance.data());
        let worst = pairs.fold(0.0_f64, |w, (v, u)| w.max((v - u).abs()));
        assert!(worst < 1e-4 * one.second_moment(), "{name}: {worst:e}");
    }
}

/// No residual is below it.
const UNREACHABLE: f64 = f64::MIN_POSITIVE;

/// Where there is no certain way the report says why, and how many sweeps went on.
#[test]
fn a_run_without_a_fallback_says_why() {
    let w = linear(60, 20, 5);
    let model = source(GaussianPrior::new(0.0, 1.0).unwrap().iid(20))
        >> var("x").full()
        >> w
        >> var("z")
        >> PiecewiseLinear::sign()
        >> var("y");
    let model = model.build().unwrap();
    let sample = model.sample(5).unwrap();
    let y = sample.get("y").unwrap();
    let settles = model.condition("y", y).unwrap();
    // labels that no signal has
    let flipped: Vec<f64> = (0..60)
        .map(|k| if k % 3 == 0 { -y[k] } else { y[k] })
        .collect();
    let full = model.condition("y", &flipped).unwrap();
    let penalised = penalised_sign();
    let expected = ["variable `x` has full beliefs", "factor `l1` is a penalty"];
    for (tree, why) in [&full, &penalised].into_iter().zip(expected) {
        let engine = ExpectationPropagation.on(tree).unwrap();
        let engine = engine.tolerance(UNREACHABLE).max_sweeps(100);
        let report = engine.run(&mut ()).unwrap();
        println!("{}, {} sweeps", report.termination, report.sweeps);
        let reason = report.no_fallback.as_ref().unwrap();
        assert!(matches!(reason, RunError::NotDefined { .. }));
        assert!(reason.to_string().contains(why), "{reason}");
        let done = report.fallback.as_ref().unwrap();
        assert_eq!((done.method, done.steps), ("more sweeps", 400));
    }
    let settled = ExpectationPropagation.on(&settles).unwrap().run(&mut ());
    assert!(settled.unwrap().no_fallback.is_none());
}

/// A double loop that ends farther from a fixed point than the sweeps were leaves their state.
#[test]
fn the_better_state_is_kept() {
    let posterior = small(|v| v);
    let engine = ExpectationPropagation.on(&posterior).unwrap();
    let report = engine.tolerance(UNREACHABLE).run(&mut ()).unwrap();
    let done = report.fallback.as_ref().unwrap();
    assert!(
        matches!(done.end, FallbackEnd::Limit { .. }),
        "{}",
        done.end
    );
    assert!(done.reverted);
    let engine = ExpectationPropagation.on(&posterior).unwrap();
    let engine = engine.damping(Damping::None).warm_start(&report);
    let next = engine.max_sweeps(2).run(&mut ()).unwrap();
    let moves = next.trace[1].residual;
    println!("{moves:e} against {:?}", done.sweep_residual);
    assert!(moves <= done.sweep_residual.unwrap_or(f64::INFINITY));
}

/// When it takes over does not depend on the limit of the sweeps; below 100 it does not.
#[test]
fn the_handover_is_the_same_at_any_limit() {
    let case = suite::case("student: noise too small", 3);
    let run = |limit: usize| {
        let engine = ExpectationPropagation.on(&case.posterior).unwrap();
        let report = engine.max_sweeps(limit).run(&mut ()).unwrap();
        (report.sweeps, report.fallback.map(|f| f.evaluations))
    };
    let (sweeps, done) = run(150);
    assert!((100..=150).contains(&sweeps) && done.is_some());
    assert_eq!(run(200), (sweeps, done));
    assert_eq!(run(1000), (sweeps, done));
    assert_eq!(run(99), (99, None));
}
