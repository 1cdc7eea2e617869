//! What pictures need of a run, be it of means or of a mode.

use treeamp::belief::Structure;
use treeamp::engine::SweepRecord;
use treeamp::model::{Sample, Tree};
use treeamp_lab::experiment::{Inference, Minimisation, Observed};

/// A run, as pictures see it.
#[derive(Debug, Clone, Copy)]
pub struct Outcome<'r> {
    /// What the observations were drawn from; `None` for data.
    pub truth: Option<&'r Sample>,
    /// The model given its observations.
    pub posterior: &'r Tree,
    /// What was observed.
    pub observed: &'r [Observed],
    /// It converged.
    pub converged: bool,
    /// Its sweeps.
    pub trace: &'r [SweepRecord],
    /// The certain method that took over.
    pub fallback: Option<&'static str>,
    found: Found<'r>,
}

#[derive(Debug, Clone, Copy)]
enum Found<'r> {
    Means(&'r Inference),
    Mode(&'r Minimisation),
}

impl<'r> From<&'r Inference> for Outcome<'r> {
    fn from(run: &'r Inference) -> Self {
        Self {
            truth: run.truth.as_ref(),
            posterior: &run.posterior,
            observed: &run.observed,
            converged: run.report.termination.is_converged(),
            trace: &run.report.trace,
            fallback: run.report.fallback.as_ref().map(|done| done.method),
            found: Found::Means(run),
        }
    }
}

impl<'r> From<&'r Minimisation> for Outcome<'r> {
    fn from(run: &'r Minimisation) -> Self {
        Self {
            truth: run.truth.as_ref(),
            posterior: &run.posterior,
            observed: &run.observed,
            converged: run.report.termination.is_converged(),
            trace: &run.report.trace,
            fallback: run.report.fallback.as_ref().map(|done| done.method),
            found: Found::Mode(run),
        }
    }
}

impl<'r> Outcome<'r> {
    /// What the estimate of a signal is called.
    pub fn word(&self) -> &'static str {
        match self.found {
            Found::Means(_) => "recovered",
            Found::Mode(_) => "mode",
        }
    }

    /// The estimate of a variable.
    pub fn estimate(&self, variable: &str) -> Option<&'r [f64]> {
        match self.found {
            Found::Means(run) => run.report.mean(variable).ok(),
            Found::Mode(run) => run.solution.point(variable).ok(),
        }
    }

    /// The true values of a variable.
    pub fn truth(&self, variable: &str) -> Option<&'r [f64]> {
        self.truth.and_then(|sample| sample.get(variable).ok())
    }

    /// A standard deviation for every component, where each has its own.
    pub fn deviations(&self, variable: &str) -> Option<Vec<f64>> {
        let Found::Means(run) = self.found else {
            return None;
        };
        let moments = run.report.marginal(variable).ok()?;
        let own = moments.variance.structure() != Structure::Isotropic;
        own.then(|| moments.variance.diagonal().map(f64::sqrt).collect())
    }

    /// The probabilities that components are not zero, where there are some.
    pub fn inclusion(&self, variable: &str) -> Option<Vec<f64>> {
        match self.found {
            Found::Means(run) => run.inclusion(variable).ok()?,
            Found::Mode(_) => None,
        }
    }

    /// The variances of the variables after every sweep, with their names; a mode has none.
    pub fn variances(&self) -> (&'r [String], &'r [Vec<f64>]) {
        match self.found {
            Found::Means(run) => (run.report.variables(), &run.report.variances),
            Found::Mode(_) => (&[], &[]),
        }
    }
}
