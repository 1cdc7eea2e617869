//! `treeamp plot run`, `signals`, `images` and `convergence`: pictures of runs.

use std::ops::ControlFlow;

use clap::Args;
use treeamp::prelude::*;
use treeamp_lab::experiment::{Alignment, Inference, Metric, infer_on, instance, predict_by_sweep};
use treeamp_lab::figure::Figure;
use treeamp_lab::spec::ModelFile;

use super::Target;
use crate::commands::run::{How, file_seed, prepare};
use crate::common::Common;
use crate::exit::Failure;
use crate::model::ModelArgs;
use crate::number as parse;
use crate::pictures::run::{self as pictures, Shown};
use crate::progress::{ProgressLine, Sweeps};

/// A run.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Seed of everything random; any integer
    #[arg(long, value_parser = parse::seed, allow_negative_numbers = true)]
    seed: Option<u64>,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    target: Target,
}

/// A run and one of its variables.
#[derive(Debug, Args)]
pub struct SignalArgs {
    #[command(flatten)]
    run: RunArgs,
    /// The variable that is drawn; by default the first
    #[arg(long, value_name = "VARIABLE")]
    signal: Option<String>,
}

/// Runs of several seeds.
#[derive(Debug, Args)]
pub struct ConvergenceArgs {
    #[command(flatten)]
    one: SignalArgs,
    /// Number of seeds, counted from --seed
    #[arg(long, default_value = "1", value_parser = parse::count, allow_negative_numbers = true)]
    seeds: usize,
}

impl RunArgs {
    /// Saves the picture, says how the run ended, and fails where it did not converge.
    fn finish(
        &self,
        run: &Inference,
        figure: &Figure,
        shown: &str,
        common: &Common,
    ) -> Result<(), Failure> {
        let others = run.posterior.variables().iter();
        let others = others.map(|v| v.name.as_str()).filter(|n| *n != shown);
        let others: Vec<&str> = others.collect();
        let shown = match others.len() {
            0 => shown.to_owned(),
            _ => format!("{shown}; --signal draws {}", others.join(", ")),
        };
        let ended = run.report.termination.to_string();
        let said = [("ended", ended.as_str()), ("shown", &shown)];
        self.target.draw_of(figure, &said, common)?;
        if run.report.termination.is_converged() {
            Ok(())
        } else {
            Err(Failure::NotConverged)
        }
    }

    fn infer(&self, common: &Common) -> Result<(Inference, ModelFile), Failure> {
        self.target.check()?;
        let (file, setting) = self.model.read()?;
        let seed = self.seed.unwrap_or_else(|| file_seed(&file));
        let options = self.how.options();
        let mut watch = Sweeps::new(common, options.or_of(&file).max_sweeps);
        let instance = prepare(&file, &setting, seed, &options, &mut watch)?;
        let run = infer_on(&file, instance, seed, &options, &mut watch)?;
        Ok((run, file))
    }
}

impl SignalArgs {
    fn name(&self, tree: &Tree) -> Result<String, Failure> {
        let name = self.signal.clone();
        let name = name.unwrap_or_else(|| tree.variables()[0].name.clone());
        tree.variable(&name)?;
        Ok(name)
    }

    /// Draws the signal and the convergence.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let (run, file) = self.run.infer(common)?;
        let name = self.name(&run.posterior)?;
        let figure = pictures::figure(&Shown::new(&file, &run, &name), &file.title);
        self.run.finish(&run, &figure, &name, common)
    }

    /// Draws lines.
    pub fn signals(&self, common: &Common) -> Result<(), Failure> {
        let (run, file) = self.run.infer(common)?;
        let name = self.name(&run.posterior)?;
        let figure = pictures::signals(&Shown::new(&file, &run, &name), &file.title)
            .map_err(Failure::Usage)?;
        self.run.finish(&run, &figure, &name, common)
    }

    /// Draws pixels.
    pub fn images(&self, common: &Common) -> Result<(), Failure> {
        let (run, file) = self.run.infer(common)?;
        let name = self.name(&run.posterior)?;
        let figure = pictures::images(&run, &name, &file.title).map_err(Failure::Usage)?;
        self.run.finish(&run, &figure, &name, common)
    }
}

impl ConvergenceArgs {
    /// Draws it.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let SignalArgs { run: args, .. } = &self.one;
        args.target.check()?;
        let (file, setting) = args.model.read()?;
        let first = args.seed.unwrap_or_else(|| file_seed(&file));
        let mut options = args.how.options().or_of(&file);
        let (mut errors, mut name, mut turned) = (Vec::new(), String::new(), Vec::new());
        let (mut failed, mut of_rows) = (0, false);
        let mut line = ProgressLine::new(common, "runs");
        for k in 0..self.seeds as u64 {
            line.show(errors.len(), self.seeds, "runs");
            let seed = first.wrapping_add(k);
            let instance = instance(&file, &setting, seed)?;
            name = self.one.name(&instance.posterior)?;
            let Some(sample) = &instance.truth else {
                let text = "expected a model that draws its observations itself (\"sample\"), got data, whose \
                            error is not known";
                return Err(Failure::Usage(format!("{}: {text}", file.name)));
            };
            let truth = sample.get(&name)?.to_vec();
            let index = instance.posterior.variable(&name)?;
            let spec = instance.posterior.variables()[index].spec.clone();
            let metrics = [Metric::Mse, Metric::up_to_symmetry(&spec)];
            of_rows = Metric::PermutationMse.applies_to(&spec);
            let mut traces = [Vec::new(), Vec::new()];
            let mut watch = |view: &SweepView<'_, ExpectationPropagation>| {
                for (metric, trace) in metrics.iter().zip(&mut traces) {
                    // a run that starts again begins at the prior
                    if view.sweep == 1 {
                        trace.clear();
                    }
                    let error = view
                        .marginal(&name)
                        .map(|x| metric.of_signal(&spec, &x.mean, &truth));
                    trace.push(error.and_then(Result::ok).unwrap_or(f64::NAN));
                }
                ControlFlow::Continue(())
            };
            let run = infer_on(&file, instance, seed, &options, &mut watch)?;
            failed += usize::from(!run.report.termination.is_converged());
            let found = Alignment::of(run.report.mean(&name)?, &truth, spec.element);
            turned.push(if of_rows { Alignment::Plain } else { found });
            errors.push(traces);
        }
        drop(line);
        // where one run lost the sign or phase, the errors of all are up to that
        let turned = turned.iter().find(|a| **a != Alignment::Plain);
        let (kind, up_to) = match turned {
            None if of_rows => (1, ", up to the order of its units"),
            None => (0, ""),
            Some(Alignment::Phase(_)) => (1, ", up to its phase"),
            Some(_) => (1, ", up to its sign"),
        };
        let errors = errors
            .into_iter()
            .map(|[plain, symmetric]| [plain, symmetric][kind].clone());
        let errors: Vec<Vec<f64>> = errors.collect();
        options.max_sweeps = errors.iter().map(Vec::len).max();
        let predicted = predict_by_sweep(&file, &setting, &options, &name).ok();
        let ended = match failed {
            0 => "converged".to_owned(),
            n => format!("{n} of {} runs did not converge", self.seeds),
        };
        let title = match failed {
            0 => file.title.clone(),
            _ => format!("{} ({ended})", file.title),
        };
        let variable = (name.as_str(), up_to);
        let figure = pictures::errors(&title, variable, &errors, predicted.as_ref());
        let mut said = vec![("ended", ended.as_str())];
        if predicted.is_some_and(|p| p.symmetric_point) {
            said.push((
                "note",
                "the theory is at the symmetric point, a fixed point that runs leave",
            ));
        }
        args.target.draw_of(&figure, &said, common)?;
        if failed == 0 {
            Ok(())
        } else {
            Err(Failure::NotConverged)
        }
    }
}
