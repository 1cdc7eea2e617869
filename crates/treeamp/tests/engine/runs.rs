//! What a run shows and reports, and special inputs.

use super::*;
use treeamp::extend::*;

// ---- results ----

#[test]
fn the_report_is_complete() {
    let (model, _) = regression(100, 5);
    let report = infer(&model);
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
        >> linear(120, n, 8)
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
    let report = infer(&observed);
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

#[test]
fn contradicting_observations_are_an_error() {
    let pin = |y: f64| seen(0.0, &[y; 3]);
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
        >> linear(6, 3, 1)
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
    let specs = [SignalSpec::real([2])];
    let mut site = Site::new(&law, &specs, vec![Gaussian::flat(&specs[0])]);
    assert!(site.message(0).unwrap().is_flat());
    let refused = site.log_partition().unwrap_err();
    assert!(matches!(refused, FactorError::Improper(_)), "{refused}");
    site.messages[0].precision.set_scalar(-1.0);
    let error = site.message(0).unwrap_err();
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

#[test]
fn a_matrix_of_zeros_says_nothing() {
    for scale in [0.0, 1e-200] {
        let w = Matrix::from_fn(2, 2, |i, j| if i == j { scale } else { 0.0 }).unwrap();
        let model = glm(
            GaussianPrior::new(0.5, 2.0).unwrap().iid(2),
            Linear::new(w).unwrap(),
            GaussianNoise::new(0.1).unwrap(),
        );
        let observed = model.build().unwrap().condition("y", &[0.1, 0.2]).unwrap();
        let report = infer(&observed);
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
