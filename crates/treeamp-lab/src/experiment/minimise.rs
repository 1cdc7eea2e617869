//! Maximum a posteriori estimation on an instance.

use treeamp::algorithms::{MaximumAPosteriori, Minimum, Solution};
use treeamp::engine::{Engine, Observer};
use treeamp::model::{Sample, Tree};

use super::{ExperimentError, Instance, Metric, Observed, RunOptions, instance};
use crate::spec::{ModelFile, Setting};

/// What came out of a minimisation.
#[derive(Debug)]
pub struct Minimisation {
    /// What the observations were drawn from; `None` for data.
    pub truth: Option<Sample>,
    /// The model given its observations.
    pub posterior: Tree,
    /// What was observed.
    pub observed: Vec<Observed>,
    /// The report.
    pub report: Minimum,
    /// The minimiser, and the energy of every factor there.
    pub solution: Solution,
}

impl Minimisation {
    /// The error of a variable's minimiser, where the truth is known and the measure has a meaning.
    ///
    /// # Errors
    /// An unknown variable.
    pub fn error(&self, variable: &str, metric: Metric) -> Result<Option<f64>, ExperimentError> {
        let place = self.solution.point(variable)?;
        let tree = &self.posterior;
        let spec = &tree.variables()[tree.variable(variable)?].spec;
        let truth = self.truth.as_ref().filter(|_| metric.applies_to(spec));
        let truth = truth.map(|sample| sample.get(variable)).transpose()?;
        let error = truth.map(|truth| metric.of_signal(spec, place, truth));
        Ok(error.transpose()?)
    }

    /// How many components of a variable's minimiser are not zero; the output of a channel is computed, and zero up to
    /// rounding.
    ///
    /// # Errors
    /// An unknown variable.
    pub fn nonzero(&self, variable: &str) -> Result<usize, ExperimentError> {
        let place = self.solution.point(variable)?;
        let least = 1e-7 * place.iter().fold(0.0_f64, |s, x| s.max(x.abs()));
        Ok(place.iter().filter(|x| x.abs() > least).count())
    }
}

/// The mode of the posterior of a seed's instance.
///
/// # Errors
/// A file that is wrong, data that do not fit, a factor without a mode, an option out of range.
pub fn minimise(
    file: &ModelFile,
    setting: &Setting,
    seed: u64,
    options: &RunOptions,
    observer: &mut impl Observer<MaximumAPosteriori>,
) -> Result<Minimisation, ExperimentError> {
    let Instance {
        truth,
        posterior,
        observed,
        ..
    } = instance(file, setting, seed)?;
    let options = options.or_of(file);
    let planned = Engine::with_options(&posterior, MaximumAPosteriori, options.planning())?;
    let engine = options.apply(planned);
    let report = engine.run(observer)?;
    let solution = report.solution_so_far(&posterior)?;
    Ok(Minimisation {
        truth,
        posterior,
        observed,
        report,
        solution,
    })
}
