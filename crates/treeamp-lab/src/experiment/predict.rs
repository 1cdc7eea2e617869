//! What state evolution says about a model in the limit of large sizes.

use std::ops::ControlFlow;

use treeamp::algorithms::state_evolution::{BayesOptimal, ReplicaSymmetric};
use treeamp::engine::Termination;
use treeamp::prelude::{MismatchedEvolution, StateEvolution, SweepView};

use super::{ExperimentError, RunOptions, theory, theory_student};
use crate::spec::{ModelFile, Setting};

/// The prediction of one variable.
#[derive(Debug, Clone, PartialEq)]
pub struct ForecastRow {
    /// The variable.
    pub variable: String,
    /// The mean squared error per component.
    pub mse: f64,
    /// The variance that the student claims.
    pub variance: f64,
    /// The second moment of the truth.
    pub second_moment: f64,
}

/// The fixed point that a run without knowledge of the solution ends at.
#[derive(Debug, Clone)]
pub struct Forecast {
    /// The variables.
    pub variables: Vec<ForecastRow>,
    /// Entropy of the measurements (or cross-entropy of a mismatched student), in nats per component of
    /// the first variable, or why there is none.
    pub entropy: Result<f64, String>,
    /// Why the prediction is a heuristic; empty where it is exact in the limit.
    pub heuristics: Vec<String>,
    /// How the iteration ended.
    pub termination: Termination,
    /// Its sweeps.
    pub sweeps: usize,
    /// How the iteration with the damping it was given ended, where it did not settle and this is another one.
    pub restarted: Option<Termination>,
}

/// The error of one variable as state evolution predicts it for a run.
#[derive(Debug, Clone, PartialEq)]
pub struct BySweep {
    /// After every sweep.
    pub errors: Vec<f64>,
    /// The theory of a student with a penalty is that of its minimiser, and does not describe the sweeps before it: the error is that of
    /// the fixed point, once for every sweep.
    pub fixed_point: bool,
}

/// The error of one variable after every sweep, as state evolution predicts it; of a student with a penalty, that of its fixed point.
///
/// # Errors
/// As [`predict`], and an unknown variable.
pub fn predict_by_sweep(
    file: &ModelFile,
    setting: &Setting,
    options: &RunOptions,
    variable: &str,
) -> Result<BySweep, ExperimentError> {
    let teacher = theory(file, setting)?;
    let student = theory_student(file, setting)?;
    let mut errors = vec![];
    macro_rules! watched {
        ($algorithm:ty, $evolution:expr, $tree:expr) => {{
            let mut run = $evolution.tolerance(0.0);
            if let Some(n) = options.max_sweeps {
                run = run.max_sweeps(n);
            }
            if let Some(d) = &options.damping {
                run = run.damping(d.clone());
            }
            let index = $tree.variable(variable)?;
            run.observed_by(&mut |view: &SweepView<'_, $algorithm>| {
                if view.sweep == 1 {
                    errors.clear();
                }
                errors.push(view.marginals()[index].0.mse());
                ControlFlow::Continue(())
            })?;
        }};
    }
    match &student {
        None => watched!(BayesOptimal, StateEvolution::new(&teacher)?, teacher),
        Some(student) => watched!(
            ReplicaSymmetric,
            MismatchedEvolution::new(&teacher, student)?
                .fallback(options.fallback.unwrap_or_default()),
            student
        ),
    }
    let fixed_point = student.is_some_and(|student| {
        let mut factors = student.factors().iter();
        factors.any(|f| f.factor.ensemble().is_some_and(|e| !e.is_law()))
    });
    if let Some(last) = errors.last().copied().filter(|_| fixed_point) {
        errors.fill(last);
    }
    Ok(BySweep {
        errors,
        fixed_point,
    })
}

/// Bayes-optimal state evolution, or the mismatched one when the file has a student.
///
/// # Errors
/// A file that is wrong, a module without theory, an option out of range.
pub fn predict(
    file: &ModelFile,
    setting: &Setting,
    options: &RunOptions,
) -> Result<Forecast, ExperimentError> {
    let teacher = theory(file, setting)?;
    let student = theory_student(file, setting)?;
    macro_rules! forecast {
        ($evolution:expr, $tree:expr) => {{
            let mut run = $evolution;
            if let Some(n) = options.max_sweeps {
                run = run.max_sweeps(n);
            }
            if let Some(tolerance) = options.tolerance {
                run = run.tolerance(tolerance);
            }
            if let Some(d) = &options.damping {
                run = run.damping(d.clone());
            }
            let evolution = run.run()?;
            let names = $tree.variables().iter().map(|v| v.name.clone());
            let rows = names.map(|variable| {
                let overlaps = evolution.overlaps(&variable)?;
                Ok(ForecastRow {
                    mse: overlaps.mse(),
                    variance: overlaps.v,
                    second_moment: overlaps.tau0,
                    variable,
                })
            });
            let variables = rows.collect::<Result<_, treeamp::ModelError>>()?;
            let entropy = evolution.entropy().map_err(|e| e.to_string());
            Ok(Forecast {
                variables,
                entropy,
                heuristics: evolution.heuristics.clone(),
                termination: evolution.termination().clone(),
                sweeps: evolution.report.sweeps,
                restarted: evolution.report.restarted.clone(),
            })
        }};
    }
    match &student {
        None => forecast!(StateEvolution::new(&teacher)?, teacher),
        Some(student) => {
            let theory = MismatchedEvolution::new(&teacher, student)?;
            let theory = theory.fallback(options.fallback.unwrap_or_default());
            forecast!(theory, student)
        }
    }
}
