//! `treeamp plot run`, `signals` and `images`: pictures of one run.

use clap::Args;
use treeamp::prelude::*;
use treeamp_lab::experiment::{Inference, Minimisation, infer_on, minimise};
use treeamp_lab::figure::Figure;
use treeamp_lab::spec::ModelFile;

use super::Target;
use crate::commands::run::{How, OF_MEANS, OF_MODES, file_seed, prepare};
use crate::common::Common;
use crate::exit::Failure;
use crate::model::ModelArgs;
use crate::number as parse;
use crate::pictures::outcome::Outcome;
use crate::pictures::run::{self as pictures, Shown};
use crate::progress::Sweeps;

/// A run.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    /// Seed of everything random; any integer
    #[arg(long, value_parser = parse::seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub how: How,
    #[command(flatten)]
    pub target: Target,
}

/// A run and one of its variables.
#[derive(Debug, Args)]
pub struct SignalArgs {
    #[command(flatten)]
    run: RunArgs,
    /// The variable that is drawn; by default the first
    #[arg(long, value_name = "VARIABLE")]
    signal: Option<String>,
    /// The mode of the posterior (MAP) in place of its means
    #[arg(long, conflicts_with = "restarts")]
    map: bool,
}

/// The variable that is drawn: by default the first.
pub fn drawn(signal: Option<&String>, tree: &Tree) -> Result<String, Failure> {
    let name = signal.cloned();
    let name = name.unwrap_or_else(|| tree.variables()[0].name.clone());
    tree.variable(&name)?;
    Ok(name)
}

/// Means or a mode.
enum Done {
    Means(Inference),
    Mode(Minimisation),
}

impl Done {
    fn outcome(&self) -> Outcome<'_> {
        match self {
            Self::Means(run) => run.into(),
            Self::Mode(run) => run.into(),
        }
    }

    fn ended(&self) -> String {
        match self {
            Self::Means(run) => run.report.termination.to_string(),
            Self::Mode(run) => run.report.termination.to_string(),
        }
    }
}

impl SignalArgs {
    /// Runs it, draws a variable, and says how the run ended; it fails where that did not converge.
    fn draw(
        &self,
        common: &Common,
        picture: impl FnOnce(&Shown<'_>, &str) -> Result<Figure, String>,
    ) -> Result<(), Failure> {
        self.run.target.check()?;
        let (done, file) = self.done(common)?;
        let run = done.outcome();
        let name = drawn(self.signal.as_ref(), run.posterior)?;
        let figure = picture(&Shown::new(&file, run, &name), &file.title);
        let figure = figure.map_err(Failure::Usage)?;
        let others = run.posterior.variables().iter();
        let others = others.map(|v| v.name.as_str()).filter(|n| *n != name);
        let others: Vec<&str> = others.collect();
        let shown = match others.len() {
            0 => name.clone(),
            _ => format!("{name}; --signal draws {}", others.join(", ")),
        };
        let ended = done.ended();
        let said = [("ended", ended.as_str()), ("shown", &shown)];
        self.run.target.draw_of(&figure, &said, common)?;
        if run.converged {
            Ok(())
        } else {
            Err(Failure::NotConverged)
        }
    }

    fn done(&self, common: &Common) -> Result<(Done, ModelFile), Failure> {
        let RunArgs { model, how, .. } = &self.run;
        let (file, setting) = model.read()?;
        let seed = self.run.seed.unwrap_or_else(|| file_seed(&file));
        let options = how.options();
        let mut watch = Sweeps::new(common, options.or_of(&file).max_sweeps);
        let done = if self.map {
            how.warn_of_unused(OF_MEANS, "modes");
            Done::Mode(minimise(&file, &setting, seed, &options, &mut watch)?)
        } else {
            how.warn_of_unused(OF_MODES, "means: it is for --map");
            let instance = prepare(&file, &setting, seed, &options, &mut watch)?;
            Done::Means(infer_on(&file, instance, seed, &options, &mut watch)?)
        };
        Ok((done, file))
    }

    /// Draws the signal and the convergence.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        self.draw(common, |shown, title| Ok(pictures::figure(shown, title)))
    }

    /// Draws lines.
    pub fn signals(&self, common: &Common) -> Result<(), Failure> {
        self.draw(common, pictures::signals)
    }

    /// Draws pixels.
    pub fn images(&self, common: &Common) -> Result<(), Failure> {
        self.draw(common, |shown, title| {
            pictures::images(shown.run(), shown.variable(), title)
        })
    }
}
