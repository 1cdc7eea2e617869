//! Starts away from symmetric points.

use std::ops::ControlFlow;

use crate::common::{self, glm};
use treeamp::algorithms::{RestartReport, Restarts, Start, near, push, spectral_estimate};
use treeamp::metrics::{mse_up_to_phase, mse_up_to_sign};
use treeamp::operator::{ComplexDense, Dense, LinearOperator};
use treeamp::prelude::*;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Real phase retrieval of a signal with mean zero.
fn retrieval(n: usize, m: usize, seed: u64) -> (Tree, Vec<f64>, Vec<f64>, Dense) {
    let w = common::gaussian_matrix(m, n, seed);
    let model = glm(
        GaussianPrior::new(0.0, 1.0).unwrap().iid(n),
        Linear::new(w.clone()).unwrap(),
        PiecewiseLinear::abs(),
    );
    let model = model.build().unwrap();
    let sample = model.sample(seed).unwrap();
    let y = sample.get("y").unwrap().to_vec();
    let posterior = model.condition("y", &y).unwrap();
    (
        posterior,
        sample.get("x").unwrap().to_vec(),
        y,
        Dense::new(w),
    )
}

fn cosine_squared(x: &[f64], y: &[f64]) -> f64 {
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    dot(x, y).powi(2) / dot(x, x) / dot(y, y)
}

/// From flat messages a run stays at the mean zero; a push and a spectral start both find the signal.
#[test]
fn a_push_leaves_the_symmetric_point() -> Outcome {
    let (n, m) = (400, 800);
    for seed in 0..4 {
        let (posterior, x, y, w) = retrieval(n, m, seed);
        let engine = || ExpectationPropagation.on(&posterior);
        let flat = engine()?.run(&mut ())?;
        assert!(flat.mean("x")?.iter().all(|r| r.abs() < 1e-6));
        let pushed = engine()?
            .initial(push(&posterior, 0.3, seed)?)
            .run(&mut ())?;
        let error = mse_up_to_sign(pushed.mean("x")?, &x)?;
        println!(
            "push: {} after {} sweeps, {error:.1e}",
            pushed.termination, pushed.sweeps
        );
        assert!(pushed.termination.is_converged() && error < 1e-8, "{error}");
        let estimate = spectral_estimate(&w, &y, seed)?;
        let start = near(&posterior, "x", &estimate, 1.0)?;
        let spectral = engine()?.initial(start).run(&mut ())?;
        let error = mse_up_to_sign(spectral.mean("x")?, &x)?;
        println!(
            "spectral: overlap {:.2}, {} sweeps, {error:.1e}",
            cosine_squared(&estimate, &x),
            spectral.sweeps
        );
        assert!(
            spectral.termination.is_converged() && error < 1e-8,
            "{error}"
        );
        assert!(spectral.sweeps <= pushed.sweeps);
        // the size is known from the data
        let size = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
        assert!((size(&estimate) / size(&x) - 1.0).abs() < 0.2);
    }
    Ok(())
}

/// Squares of the moduli are out of range; no operator at all.
#[test]
fn spectral_estimates_of_extreme_data() {
    let (_, _, y, w) = retrieval(40, 120, 1);
    let plain = spectral_estimate(&w, &y, 7).unwrap();
    for unit in [1e-200, 1e200] {
        let far: Vec<f64> = y.iter().map(|y| unit * y).collect();
        let estimate = spectral_estimate(&w, &far, 7).unwrap();
        for (x, p) in estimate.iter().zip(&plain) {
            assert!((x / unit - p).abs() < 1e-9, "{x} {p}");
        }
    }
    let zero = Dense::new(Matrix::from_rows(2, 1, &[0.0, 0.0]).unwrap());
    let refused = spectral_estimate(&zero, &[1.0, 2.0], 7).unwrap_err();
    assert!(refused.to_string().contains("operator"), "{refused}");
}

/// The spectral estimate knows nothing below weak recovery (1/2), and something above. The optimal
/// weights give overlaps of .4 and more at twice the number.
#[test]
fn spectral_estimates_know_something_above_weak_recovery() -> Outcome {
    let n = 600;
    let overlap = |m: usize| -> Result<f64, Box<dyn std::error::Error>> {
        let mut sum = 0.0;
        for seed in 0..3 {
            let (_, x, y, w) = retrieval(n, m, seed);
            sum += cosine_squared(&spectral_estimate(&w, &y, 7)?, &x) / 3.0;
        }
        Ok(sum)
    };
    let (below, above, far) = (overlap(180)?, overlap(n)?, overlap(3 * n)?);
    println!("{below:.3} {above:.3} {far:.3}");
    assert!(
        below < 0.1 && above > 0.25 && far > 0.7,
        "{below} {above} {far}"
    );
    Ok(())
}

/// Complex phase retrieval, up to the phase.
#[test]
fn complex_starts() -> Outcome {
    let (n, m) = (150, 600);
    let entries = common::normals(2 * m * n, 3);
    // E|W|^2 = 1/n
    let scale = 1.0 / (2.0 * n as f64).sqrt();
    let entry = |i: usize, j: usize| {
        let k = 2 * (i * n + j);
        scale * Complex::new(entries[k], entries[k + 1])
    };
    let w = ComplexMatrix::from_fn(m, n, entry)?;
    let operator = ComplexDense::new(w.clone());
    let model = glm(
        CircularGaussian::new(0.5)?.iid(n),
        Linear::of(ComplexDense::new(w)),
        Modulus,
    )
    .build()?;
    let sample = model.sample(3)?;
    let (x, y) = (sample.get("x")?.to_vec(), sample.get("y")?.to_vec());
    let posterior = model.condition("y", &y)?;
    let estimate = spectral_estimate(&operator, &y, 0)?;
    assert_eq!(estimate.len(), operator.input().len());
    let restarts = Restarts::new(&posterior)
        .pushes(0..2)
        .from("spectral", near(&posterior, "x", &estimate, 1.0)?);
    let report = restarts.run()?;
    let best = report.best()?;
    let error = mse_up_to_phase(best.mean("x")?, &x)?;
    println!("{} fixed points, {error:.1e}", report.fixed_points.len());
    for point in &report.fixed_points {
        let starts: Vec<String> = point.starts.iter().map(ToString::to_string).collect();
        println!(
            "  {}: {:?}",
            starts.join(", "),
            point.posterior.log_evidence()
        );
    }
    assert!(error < 1e-8, "{error}");
    Ok(())
}

/// A perceptron in its hard phase: the start at the truth and the others end at different fixed points, and the one of
/// larger evidence is kept.
#[test]
fn restarts_keep_all_fixed_points_and_the_best_first() -> Outcome {
    let (n, m) = (300, 405);
    let model = glm(
        Binary::new(0.5)?.iid(n),
        Linear::new(common::gaussian_matrix(m, n, 5))?,
        PiecewiseLinear::sign(),
    )
    .build()?;
    let sample = model.sample(5)?;
    let posterior = model.condition("y", sample.get("y")?)?;
    let informed = near(&posterior, "x", sample.get("x")?, 30.0)?;
    let report = Restarts::new(&posterior)
        .pushes([1, 2])
        .from("informed", informed)
        .run()?;
    print(&report)?;
    assert_eq!(report.fixed_points.len(), 2);
    let (best, other) = (&report.fixed_points[0], &report.fixed_points[1]);
    assert_eq!(best.starts, [Start::Given("informed".to_owned())]);
    assert_eq!(other.starts, [Start::Push(1), Start::Push(2)]);
    assert!(best.posterior.log_evidence()? > other.posterior.log_evidence()?);
    assert!(best.posterior.variance("x")? < 1e-6 && other.posterior.variance("x")? > 0.1);
    Ok(())
}

fn print(report: &RestartReport) -> Outcome {
    for point in &report.fixed_points {
        let (evidence, x) = (
            point.posterior.log_evidence(),
            point.posterior.variance("x")?,
        );
        println!("{:?}: {evidence:?}, {x:e}", point.starts);
    }
    for (start, run) in &report.unsettled {
        println!("{start}: {}", run.termination);
    }
    Ok(())
}

/// Global signs do not make two fixed points.
#[test]
fn mirror_images_are_one_fixed_point() -> Outcome {
    let (posterior, x, _, _) = retrieval(200, 500, 1);
    let report = Restarts::new(&posterior).plain().pushes(0..4).run()?;
    print(&report)?;
    let starts: Vec<usize> = report.fixed_points.iter().map(|f| f.starts.len()).collect();
    assert_eq!(report.fixed_points.len(), 2, "{starts:?}");
    assert!(mse_up_to_sign(report.best()?.mean("x")?, &x)? < 1e-8);
    assert_eq!(report.fixed_points[0].starts.len(), 4);
    Ok(())
}

#[test]
fn bad_starts_are_refused() -> Outcome {
    let (posterior, x, mut y, w) = retrieval(20, 40, 1);
    let said = |e: &dyn std::error::Error| e.to_string();
    assert!(said(&push(&posterior, 0.0, 1).unwrap_err()).contains("strength"));
    assert!(said(&near(&posterior, "x", &x[1..], 1.0).unwrap_err()).contains("20 numbers"));
    assert!(said(&near(&posterior, "q", &x, 1.0).unwrap_err()).contains("`q`"));
    assert!(said(&near(&posterior, "x", &x, -1.0).unwrap_err()).contains("positive"));
    assert!(said(&spectral_estimate(&w, &y[1..], 0).unwrap_err()).contains("40 moduli"));
    y[3] = -1.0;
    assert!(said(&spectral_estimate(&w, &y, 0).unwrap_err()).contains("-1"));
    assert!(said(&Restarts::new(&posterior).run()?.best().unwrap_err()).contains("starts"));
    for steps in [vec![], vec![0.5, 0.0], vec![1.5], vec![f64::NAN]] {
        let engine = ExpectationPropagation.on(&posterior)?;
        let error = engine
            .damping(Damping::Steps(steps))
            .run(&mut ())
            .unwrap_err();
        assert!(
            matches!(
                error,
                RunError::Option {
                    option: "damping.steps",
                    ..
                }
            ),
            "{error}"
        );
    }
    Ok(())
}

/// An observer that stops a run stops them all.
#[test]
fn a_stopped_run_is_the_last() -> Outcome {
    struct Impatient(usize);
    impl Observer<ExpectationPropagation> for Impatient {
        fn after_sweep(
            &mut self,
            view: &SweepView<'_, ExpectationPropagation>,
        ) -> ControlFlow<String> {
            self.0 += 1;
            match view.sweep {
                2 => ControlFlow::Break("enough".to_owned()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    let (posterior, ..) = retrieval(30, 60, 1);
    let mut observer = Impatient(0);
    let report = Restarts::new(&posterior)
        .plain()
        .pushes(0..3)
        .observed_by(&mut observer)?;
    assert_eq!((observer.0, report.unsettled.len()), (2, 1));
    assert!(report.fixed_points.is_empty());
    Ok(())
}
