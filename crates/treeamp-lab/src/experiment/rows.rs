//! One row of a sweep: a cell of the grid run by expectation propagation, minimised, or predicted by theory.

use treeamp::algorithms::state_evolution::phases::{FixedPoints, Phase, phase_report_at};

use super::{
    ExperimentError, Forecast, ForecastRow, Metric, Minimisation, RunOptions, infer, minimise,
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
/// the run ended, the log-evidence and the entropy per component of the first variable (of a mode, the energy and how many
/// components of every variable are not zero).
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
            if is_symmetric_point(file, &setting, &forecast)? {
                row.set("symmetric_point", true);
            }
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
            row.set("converged", true);
            row.set("ended", "converged");
        }
    }
    Ok(row)
}

/// The prediction rests where nothing is known of the first variable, and the slightest knowledge leads away from there, as
/// even outputs have it.
pub(super) fn is_symmetric_point(
    file: &ModelFile,
    setting: &Setting,
    forecast: &Forecast,
) -> Result<bool, ExperimentError> {
    let Some(first) = forecast.variables.first() else {
        return Ok(false);
    };
    if file.is_mismatched() || first.mse < (1.0 - NOTICEABLE) * first.second_moment {
        return Ok(false);
    }
    let report = phase_report_at(
        &theory(file, setting)?,
        &first.variable,
        &FixedPoints::default(),
    );
    Ok(report.is_ok_and(|r| leaves(first, r.uninformed.mse)))
}

/// An error that differs by less than this from the second moment of the signal carries no information on it.
pub(super) const NOTICEABLE: f64 = 1e-3;

/// A run ends with a smaller error than the prediction of a variable.
#[must_use]
pub fn leaves(row: &ForecastRow, uninformed: f64) -> bool {
    row.mse - uninformed > NOTICEABLE * row.second_moment
}

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
