//! What state evolution says about a model in the limit of large sizes.

use std::ops::ControlFlow;

use treeamp::algorithms::state_evolution::{
    BayesOptimal, BayesOptimalRows, Evolution, EvolutionBuilder, OrderParameters, ReplicaSymmetric,
    Theory,
};
use treeamp::belief::Structure;
use treeamp::engine::{Initial, Marginal, Termination};
use treeamp::error::{ModelError, RunError};
use treeamp::model::{Tree, Variable};
use treeamp::prelude::{MismatchedEvolution, RowEvolution, StateEvolution, SweepView};

use super::rows::{NOTICEABLE, symmetric_point};
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

/// A fixed point of the theory, by the start that leads to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    /// What is known at the start: that units are alike, next to nothing, or nearly all.
    pub start: &'static str,
    /// The error of the first variable.
    pub mse: f64,
    /// The free entropy, which is largest at what the data allow.
    pub free_entropy: Option<f64>,
}

/// The fixed point that a run without knowledge of the solution ends at.
#[derive(Debug, Clone)]
pub struct Forecast {
    /// The variables.
    pub variables: Vec<ForecastRow>,
    /// Entropy of the measurements (or cross-entropy of a mismatched student), in nats per component of
    /// the first variable, or why there is none.
    pub entropy: Result<f64, String>,
    /// Fixed points that other starts lead to, of rows of units; empty otherwise.
    pub branches: Vec<Branch>,
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
    /// The error is that of the symmetric point, which the least knowledge leads away from.
    pub symmetric_point: bool,
    /// Why the prediction is a heuristic; empty where it is exact in the limit.
    pub heuristics: Vec<String>,
}

/// What a theory tells of itself while it runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TheoryStep {
    /// The start, of those it has one after the other.
    pub start: &'static str,
    /// Its sweeps.
    pub sweep: usize,
    /// How many there will be, where that is known.
    pub limit: Option<usize>,
    /// Their residual.
    pub residual: f64,
}

/// Tells an observer of the sweeps of a theory.
fn telling<'w, A: Theory>(
    start: &'static str,
    limit: Option<usize>,
    watch: &'w mut dyn FnMut(TheoryStep),
) -> impl FnMut(&SweepView<'_, A>) -> ControlFlow<String> + 'w {
    move |view| {
        watch(TheoryStep {
            start,
            sweep: view.sweep,
            limit,
            residual: view.residual,
        });
        ControlFlow::Continue(())
    }
}

/// The error of one variable after every sweep, as state evolution predicts it; of a student with a penalty, that of its fixed point.
/// `watch` is told of every sweep.
///
/// # Errors
/// As [`predict`], and an unknown variable.
pub fn predict_by_sweep(
    file: &ModelFile,
    setting: &Setting,
    options: &RunOptions,
    variable: &str,
    watch: &mut dyn FnMut(TheoryStep),
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
                errors.push(view.marginals()[index].mse());
                telling("sweep by sweep", options.max_sweeps, watch)(view)
            })?
            .heuristics
        }};
    }
    let heuristics = match &student {
        None if has_rows(&teacher) => {
            watched!(BayesOptimalRows, RowEvolution::new(&teacher)?, teacher)
        }
        None => watched!(BayesOptimal, StateEvolution::new(&teacher)?, teacher),
        Some(student) => watched!(
            ReplicaSymmetric,
            MismatchedEvolution::new(&teacher, student)?
                .fallback(options.fallback.unwrap_or_default()),
            student
        ),
    };
    let fixed_point = student.is_some_and(|student| {
        let mut factors = student.factors().iter();
        factors.any(|f| f.factor.ensemble().is_some_and(|e| !e.is_law()))
    });
    if let Some(last) = errors.last().copied().filter(|_| fixed_point) {
        errors.fill(last);
    }
    // from that point nothing moves
    let rests = match (errors.first(), errors.last()) {
        (Some(first), Some(last)) => first - last <= NOTICEABLE * first,
        _ => false,
    };
    let symmetric_point = rests && {
        let forecast = predict(file, setting, options)?;
        symmetric_point(file, setting, &forecast, None)?.is_some()
    };
    Ok(BySweep {
        errors,
        fixed_point,
        symmetric_point,
        heuristics,
    })
}

/// Bayes-optimal state evolution, or the mismatched one when the file has a student; of rows with a matrix each, that with matrices.
///
/// # Errors
/// A file that is wrong, a module without theory, an option out of range.
pub fn predict(
    file: &ModelFile,
    setting: &Setting,
    options: &RunOptions,
) -> Result<Forecast, ExperimentError> {
    predict_watched(file, setting, options, &mut |_| {})
}

/// As [`predict`]; `watch` is told of every sweep.
///
/// # Errors
/// As [`predict`].
pub fn predict_watched(
    file: &ModelFile,
    setting: &Setting,
    options: &RunOptions,
    watch: &mut dyn FnMut(TheoryStep),
) -> Result<Forecast, ExperimentError> {
    let teacher = theory(file, setting)?;
    match &theory_student(file, setting)? {
        None if has_rows(&teacher) => of_rows(&teacher, options, watch),
        None => {
            let theory = options.theory(StateEvolution::new(&teacher)?);
            forecast(&theory, &teacher, watch)
        }
        Some(student) => {
            let theory = MismatchedEvolution::new(&teacher, student)?;
            let theory = theory.fallback(options.fallback.unwrap_or_default());
            forecast(&options.theory(theory), student, watch)
        }
    }
}

/// Beliefs are one matrix per row: overlaps of the theory are matrices.
#[must_use]
pub fn has_rows(tree: &Tree) -> bool {
    let blocks = Structure::Block { dim: 0 };
    tree.variables()
        .iter()
        .any(|v| v.spec.structure.same_kind(blocks))
}

impl RunOptions {
    /// A theory with these options.
    fn theory<'t, A: Theory>(&self, mut run: EvolutionBuilder<'t, A>) -> EvolutionBuilder<'t, A> {
        if let Some(n) = self.max_sweeps {
            run = run.max_sweeps(n);
        }
        if let Some(tolerance) = self.tolerance {
            run = run.tolerance(tolerance);
        }
        if let Some(d) = &self.damping {
            run = run.damping(d.clone());
        }
        run
    }
}

fn forecast<A: Theory>(
    run: &EvolutionBuilder<'_, A>,
    tree: &Tree,
    watch: &mut dyn FnMut(TheoryStep),
) -> Result<Forecast, ExperimentError> {
    let evolution = run.observed_by(&mut telling("uninformed start", None, watch))?;
    Ok(forecast_of(&evolution, tree)?)
}

fn forecast_of<A: Theory>(evolution: &Evolution<A>, tree: &Tree) -> Result<Forecast, ModelError> {
    let row = |v: &Variable| {
        Ok(ForecastRow {
            mse: evolution.mse(&v.name)?,
            variance: evolution.variance(&v.name)?,
            second_moment: evolution.report.marginal(&v.name)?.second_moment(),
            variable: v.name.clone(),
        })
    };
    let variables = tree.variables().iter().map(row);
    Ok(Forecast {
        variables: variables.collect::<Result<_, ModelError>>()?,
        entropy: evolution.entropy().map_err(|e| e.to_string()),
        heuristics: evolution.heuristics.clone(),
        branches: Vec::new(),
        termination: evolution.termination().clone(),
        sweeps: evolution.report.sweeps,
        restarted: evolution.report.restarted.clone(),
    })
}

/// The prediction for rows, with the fixed points that other starts lead to.
fn of_rows(
    tree: &Tree,
    options: &RunOptions,
    watch: &mut dyn FnMut(TheoryStep),
) -> Result<Forecast, ExperimentError> {
    let theory = || -> Result<_, RunError> { Ok(options.theory(RowEvolution::new(tree)?)) };
    let first = tree.variables()[0].name.as_str();
    let mut run = |start: &'static str, theory: EvolutionBuilder<'_, BayesOptimalRows>| {
        theory.observed_by(&mut telling(start, None, watch))
    };
    let uninformed = run("uninformed start", theory()?)?;
    let symmetric = run("symmetric start", theory()?.initial(Initial::Flat))?;
    let informed = run("informed start", theory()?.informed(&[first])?)?;
    let found = [
        ("symmetric start", &symmetric),
        ("uninformed start", &uninformed),
        ("informed start", &informed),
    ];
    let branch = |(start, run): (&'static str, &Evolution<BayesOptimalRows>)| {
        Ok(Branch {
            start,
            mse: run.mse(first)?,
            free_entropy: run.free_entropy().ok().map(|o| o.total),
        })
    };
    let branches = found.into_iter().map(branch);
    Ok(Forecast {
        branches: branches.collect::<Result<_, ModelError>>()?,
        ..forecast_of(&uninformed, tree)?
    })
}
