//! `treeamp plot convergence`: errors of runs after every sweep.

use std::ops::ControlFlow;

use clap::Args;
use treeamp::prelude::*;
use treeamp_lab::experiment::{
    Alignment, BySweep, Instance, Metric, RunOptions, infer_on, predict_by_sweep,
};
use treeamp_lab::spec::{ModelFile, Setting};

use super::run::{RunArgs, drawn};
use crate::commands::run::file_seed;
use crate::common::Common;
use crate::exit::Failure;
use crate::number as parse;
use crate::pictures::run::{self as pictures, Errors};
use crate::progress::ProgressLine;

/// Runs of several seeds.
#[derive(Debug, Args)]
pub struct ConvergenceArgs {
    #[command(flatten)]
    run: RunArgs,
    /// The variable whose error is drawn; by default the first
    #[arg(long, value_name = "VARIABLE")]
    signal: Option<String>,
    /// Number of seeds, counted from --seed
    #[arg(long, default_value = "1", value_parser = parse::count, allow_negative_numbers = true)]
    seeds: usize,
}

/// What is known of one run: its errors, plain and up to the symmetry of its variable.
struct Traced {
    variable: String,
    errors: [Errors; 2],
    turned: Turned,
    converged: bool,
}

/// What a run lost of the truth.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Turned {
    Nothing,
    /// Rows have no order: errors are always up to that.
    Order,
    Sign,
    Phase,
}

impl Turned {
    /// What stands behind the name of the error.
    fn up_to(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Order => ", up to the order of its units",
            Self::Sign => ", up to its sign",
            Self::Phase => ", up to its phase",
        }
    }
}

impl ConvergenceArgs {
    /// Draws it.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let args = &self.run;
        args.target.check()?;
        let (file, setting) = args.model.read()?;
        let file = args.how.beliefs_of(file);
        let first = args.seed.unwrap_or_else(|| file_seed(&file));
        let mut options = args.how.options().or_of(&file);
        let mut line = ProgressLine::new(common, "runs");
        let mut runs = Vec::new();
        for k in 0..self.seeds as u64 {
            line.show(runs.len(), self.seeds, "runs");
            let seed = first.wrapping_add(k);
            let instance = options.instance(&file, &setting, seed)?;
            runs.push(self.traced(&file, instance, seed, &options)?);
        }
        let name = runs[0].variable.clone();
        let failed = runs.iter().filter(|run| !run.converged).count();
        // where one run lost the sign or phase, the errors of all are up to that
        let mut all = runs.iter().map(|run| run.turned);
        let turned = all.find(|t| *t != Turned::Nothing);
        let turned = turned.unwrap_or(Turned::Nothing);
        let errors = runs.into_iter().map(|run| {
            let [plain, symmetric] = run.errors;
            if turned == Turned::Nothing {
                plain
            } else {
                symmetric
            }
        });
        let errors: Vec<Errors> = errors.collect();
        options.max_sweeps = errors.iter().map(|e| e.sweeps.len()).max();
        let predicted = predicted(&file, &setting, &options, &name, &mut line);
        line.clear();
        let ended = match failed {
            0 => "converged".to_owned(),
            n => format!("{n} of {} runs did not converge", self.seeds),
        };
        let title = match failed {
            0 => file.title.clone(),
            _ => format!("{} ({ended})", file.title),
        };
        let drawn = predicted.as_ref().ok();
        let figure = pictures::errors(&title, (&name, turned.up_to()), &errors, drawn);
        let said = said(ended, &predicted);
        let said: Vec<(&str, &str)> = said.iter().map(|(n, text)| (*n, text.as_str())).collect();
        args.target.draw_of(&figure, &said, common)?;
        if failed == 0 {
            Ok(())
        } else {
            Err(Failure::NotConverged)
        }
    }

    /// The run of a seed, with the errors of the variable that is drawn.
    fn traced(
        &self,
        file: &ModelFile,
        instance: Instance,
        seed: u64,
        options: &RunOptions,
    ) -> Result<Traced, Failure> {
        let variable = drawn(self.signal.as_ref(), &instance.posterior)?;
        let Some(sample) = &instance.truth else {
            let text = "expected a model that draws its observations itself (\"sample\"), got data, whose \
                        error is not known";
            return Err(Failure::Usage(format!("{}: {text}", file.name)));
        };
        let truth = sample.get(&variable)?.to_vec();
        let index = instance.posterior.variable(&variable)?;
        let spec = instance.posterior.variables()[index].spec.clone();
        let metrics = [Metric::Mse, Metric::up_to_symmetry(&spec)];
        let errors = |mean: &[f64]| {
            metrics.map(|metric| metric.of_signal(&spec, mean, &truth).unwrap_or(f64::NAN))
        };
        let (mut traces, mut restarts) = ([Errors::default(), Errors::default()], 0);
        let mut watch = |view: &SweepView<'_, ExpectationPropagation>| {
            // a run that starts again begins at the prior
            if view.sweep == 1 && !traces[0].sweeps.is_empty() {
                traces.iter_mut().for_each(|t| t.sweeps.clear());
                restarts += 1;
            }
            let made = view.marginal(&variable).map(|x| errors(&x.mean));
            for (trace, error) in traces.iter_mut().zip(made.unwrap_or([f64::NAN; 2])) {
                trace.sweeps.push(error);
            }
            ControlFlow::Continue(())
        };
        let run = infer_on(file, instance, seed, options, &mut watch)?;
        // attempts are counted on, but for those after which the count began again
        let attempts = run.report.attempts.iter().skip(restarts);
        let ends = attempts.scan(0, |done, attempt| {
            *done += attempt.evaluations;
            Some(*done)
        });
        let shown = traces[0].sweeps.len();
        let begins: Vec<usize> = ends.filter(|end| *end < shown).collect();
        let mean = run.report.mean(&variable)?;
        for (trace, error) in traces.iter_mut().zip(errors(mean)) {
            trace.begins.clone_from(&begins);
            trace.end = run.report.fallback.as_ref().map(|_| error);
        }
        let turned = match Alignment::of(mean, &truth, spec.element) {
            _ if Metric::PermutationMse.applies_to(&spec) => Turned::Order,
            Alignment::Plain => Turned::Nothing,
            Alignment::Phase(_) => Turned::Phase,
            Alignment::Sign => Turned::Sign,
        };
        Ok(Traced {
            errors: traces,
            turned,
            converged: run.report.termination.is_converged(),
            variable,
        })
    }
}

/// The theory, or why there is none.
fn predicted(
    file: &ModelFile,
    setting: &Setting,
    options: &RunOptions,
    name: &str,
    line: &mut ProgressLine,
) -> Result<BySweep, String> {
    line.say("state evolution");
    let found = predict_by_sweep(file, setting, options, name, &mut |step| line.theory(step));
    found.map_err(|e| {
        let failure = Failure::from(e);
        failure.message().unwrap_or("not known").to_owned()
    })
}

/// How the runs ended, and what there is to say of the theory.
fn said(ended: String, predicted: &Result<BySweep, String>) -> Vec<(&'static str, String)> {
    let mut said = vec![("ended", ended)];
    match predicted {
        Err(reason) => said.push(("theory", format!("left out: {reason}"))),
        Ok(theory) => {
            if theory.symmetric_point {
                let note = "the theory is at the symmetric point, a fixed point that the least knowledge leads away from";
                said.push(("note", note.to_owned()));
            }
            let reasons = theory.heuristics.iter();
            said.extend(reasons.map(|reason| ("heuristic", reason.clone())));
        }
    }
    said
}
