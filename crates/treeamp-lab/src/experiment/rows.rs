//! One row of a sweep: a cell of the grid run by expectation propagation, minimised, or predicted by theory.

use std::collections::BTreeSet;

use treeamp::algorithms::state_evolution::heuristics;
use treeamp::algorithms::state_evolution::phases::{FixedPoints, Phase, phase_report_at};

use treeamp::prelude::StateEvolution;

use super::{
    ExperimentError, Forecast, Metric, Minimisation, RunOptions, has_rows, infer, minimise,
    predict, theory,
};
use crate::spec::{ModelFile, Setting};
use crate::sweep::{Cell, Row, Value, stream_seed};

/// Where a row comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Expectation propagation on a random instance.
    Ep,
    /// Maximum a posteriori estimation on a random instance.
    Map,
    /// State evolution.
    Se,
    /// The error that the data allow, of the first variable: state evolution at the fixed point of least
    /// entropy.
    BayesOptimal,
}

impl Source {
    /// Its name in a table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ep => "EP",
            Self::Map => "MAP",
            Self::Se => "SE",
            Self::BayesOptimal => "BO",
        }
    }

    /// It predicts, and does not depend on a seed.
    #[must_use]
    pub fn is_theory(self) -> bool {
        matches!(self, Self::Se | Self::BayesOptimal)
    }

    /// The source of that name in a table.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Ep, Self::Map, Self::Se, Self::BayesOptimal];
        all.into_iter().find(|source| source.name() == name)
    }
}

/// The setting that a cell of a grid asks for.
fn setting_of(cell: &Cell, others: &Setting) -> Setting {
    let numbers = cell.parameters.iter();
    let numbers = numbers.filter_map(|(name, value)| Some((name, value.as_number()?)));
    numbers.fold(others.clone(), |s, (name, x)| s.with(name, x))
}

/// The seed of everything random in a cell of a sweep: from its seed and all parameters of the model, whether an axis
/// of the grid, the command line or the file gives them. So a cell is the same in every grid, and can be run alone. A number that
/// has two names, a parameter and that of the only factor which refers to it, counts under the parameter's.
#[must_use]
pub fn cell_seed(file: &ModelFile, setting: &Setting, seed: u64) -> u64 {
    let setting = &file.with_one_name_each(setting);
    let own = file.parameters.iter();
    let own = own.filter(|(name, _)| setting.get(name).is_none());
    let own = own.map(|(name, x)| (name.clone(), Value::Number(*x)));
    let set = setting
        .iter()
        .map(|(name, x)| (name.to_owned(), Value::Number(x)));
    stream_seed(seed, &own.chain(set).collect::<Vec<_>>())
}

/// The results of a cell, with `others` for the parameters that no axis has: for every variable its errors and variance, how
/// the run ended, the log-evidence and the entropy per component of the first variable, how many components are expected not to be zero
/// where the prior has a point mass there (of a mode, the energy and how many components of every variable are not zero).
///
/// # Errors
/// What went wrong, for the table.
pub fn row(
    file: &ModelFile,
    others: &Setting,
    cell: &Cell,
    source: Source,
    metrics: &[Metric],
    options: &RunOptions,
) -> Result<Row, ExperimentError> {
    let setting = setting_of(cell, others);
    let seed = cell_seed(file, &setting, cell.seed);
    let mut row = Row::new();
    match source {
        Source::Ep => {
            let run = infer(file, &setting, seed, options, &mut ())?;
            for variable in run.report.variables() {
                for metric in metrics {
                    if let Some(error) = run.error(variable, *metric)? {
                        row.set(&format!("{}_{variable}", metric.name()), error);
                    }
                }
                row.set(
                    &format!("variance_{variable}"),
                    run.report.variance(variable)?,
                );
                if let Some(p) = run.inclusion(variable)? {
                    row.set(&format!("nonzero_{variable}"), p.iter().sum::<f64>());
                }
            }
            let components = run.posterior.variables()[0].spec.len() as f64;
            if let Ok(evidence) = run.log_evidence() {
                row.set("log_evidence", evidence);
                row.set("entropy", -evidence / components);
            }
            row.set("sweeps", run.report.sweeps);
            row.set("converged", run.report.termination.is_converged());
            row.set("ended", run.report.termination.to_string());
        }
        Source::Map => minimised(
            &minimise(file, &setting, seed, options, &mut ())?,
            metrics,
            &mut row,
        )?,
        Source::Se => {
            let forecast = predict(file, &setting, options)?;
            for v in &forecast.variables {
                row.set(&format!("mse_{}", v.variable), v.mse);
                row.set(&format!("variance_{}", v.variable), v.variance);
            }
            if let Ok(entropy) = forecast.entropy {
                row.set("entropy", entropy);
            }
            if symmetric_point(file, &setting, &forecast, None)?.is_some() {
                row.set("symmetric_point", true);
            }
            set_heuristic(&mut row, &forecast.heuristics);
            row.set("sweeps", forecast.sweeps);
            row.set("converged", forecast.termination.is_converged());
            row.set("ended", forecast.termination.to_string());
        }
        Source::BayesOptimal => {
            let tree = theory(file, &setting)?;
            let signal = tree.variables()[0].name.clone();
            let mut points = FixedPoints::default();
            points.max_sweeps = options.max_sweeps.unwrap_or(points.max_sweeps);
            points.tolerance = options.tolerance.unwrap_or(points.tolerance);
            let report = phase_report_at(&tree, &signal, &points)?;
            row.set(&format!("mse_{signal}"), report.mmse);
            row.set(&format!("variance_{signal}"), report.mmse);
            row.set("phase", phase_name(report.phase));
            set_heuristic(&mut row, &heuristics(&tree));
            row.set("converged", true);
            row.set("ended", "converged");
        }
    }
    Ok(row)
}

/// Why the theory is a heuristic, where it is one.
fn set_heuristic(row: &mut Row, reasons: &[String]) {
    if !reasons.is_empty() {
        row.set("heuristic", reasons.join("; "));
    }
}

/// Where the prediction rests at a point at which nothing is known of a variable (the first, unless one is named), and the slightest
/// knowledge leads away from there, as even outputs have it: the error that it leads to.
///
/// # Errors
/// As [`theory`], and an unknown variable.
pub fn symmetric_point(
    file: &ModelFile,
    setting: &Setting,
    forecast: &Forecast,
    signal: Option<&str>,
) -> Result<Option<f64>, ExperimentError> {
    let mut all = forecast.variables.iter();
    let Some(row) = all.find(|v| signal.is_none_or(|name| v.variable == name)) else {
        return Ok(None);
    };
    let moved = row.mse < (1.0 - NOTICEABLE) * row.second_moment;
    if file.is_mismatched() || moved || !forecast.termination.is_converged() {
        return Ok(None);
    }
    let tree = theory(file, setting)?;
    if has_rows(&tree) {
        return Ok(None);
    }
    let points = FixedPoints::default();
    // who knows something of the signal knows as much of all that has a prior
    let priors = tree.factors().iter().filter(|f| f.inputs == 0);
    let edges = priors.flat_map(|f| f.edges.iter().map(|e| tree.edges()[*e].variable));
    let known = edges.map(|v| tree.variables()[v].name.as_str());
    let known: BTreeSet<&str> = known.chain([row.variable.as_str()]).collect();
    let known: Vec<&str> = known.into_iter().collect();
    let pushed = StateEvolution::new(&tree)?
        .max_sweeps(points.max_sweeps)
        .tolerance(points.tolerance)
        .starting_with(&known, points.push)?
        .run()?;
    let mse = pushed.mse(&row.variable)?;
    Ok((row.mse - mse > NOTICEABLE * row.second_moment).then_some(mse))
}

/// An error that differs by less than this from the second moment of the signal carries no information on it.
pub(super) const NOTICEABLE: f64 = 1e-3;

/// Errors of the minimiser, its energy, how many of its components are not zero, and how the run ended.
fn minimised(run: &Minimisation, metrics: &[Metric], row: &mut Row) -> Result<(), ExperimentError> {
    for variable in run.posterior.variables() {
        for metric in metrics {
            if let Some(error) = run.error(&variable.name, *metric)? {
                row.set(&format!("{}_{}", metric.name(), variable.name), error);
            }
        }
        let name = format!("nonzero_{}", variable.name);
        row.set(&name, run.nonzero(&variable.name)?);
    }
    row.set("energy", run.solution.energy());
    row.set("sweeps", run.report.sweeps);
    row.set("converged", run.report.termination.is_converged());
    row.set("ended", run.report.termination.to_string());
    Ok(())
}

/// The name of a phase in tables.
#[must_use]
pub fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Easy => "easy",
        Phase::Hard => "hard",
        Phase::Impossible => "impossible",
    }
}
