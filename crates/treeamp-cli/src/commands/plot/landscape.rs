//! `treeamp plot landscape`: the free entropy against the error of a signal.

use clap::Args;
use treeamp::algorithms::state_evolution::landscape_watched;
use treeamp::algorithms::state_evolution::phases::phase_report;
use treeamp_lab::experiment::bayes_optimal_theory;

use super::Target;
use crate::common::Common;
use crate::exit::Failure;
use crate::model::ModelArgs;
use crate::number as parse;
use crate::pictures;
use crate::progress::ProgressLine;

/// A signal of a model.
#[derive(Debug, Args)]
pub struct LandscapeArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// The signal; by default the first variable
    #[arg(long, value_name = "VARIABLE")]
    signal: Option<String>,
    /// Number of places
    #[arg(long, default_value = "160", value_parser = parse::count, allow_negative_numbers = true)]
    places: usize,
    #[command(flatten)]
    target: Target,
}

impl LandscapeArgs {
    /// Draws it.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        self.target.check()?;
        let (file, setting) = self.model.read()?;
        let tree = bayes_optimal_theory(&file, &setting, "a landscape")?;
        let first = || tree.variables()[0].name.clone();
        let signal = self.signal.clone().unwrap_or_else(first);
        let mut line = ProgressLine::new(common, "setting up");
        let mut watch = |done, total| line.show(done, total, "places");
        let places = landscape_watched(&tree, &signal, self.places, &mut watch)?;
        drop(line);
        let line = ProgressLine::new(common, "fixed points");
        let report = phase_report(&tree, &signal)?;
        drop(line);
        let figure = pictures::landscape::figure(&file.title, &signal, &places, &report);
        self.target.draw(&figure, common)
    }
}
