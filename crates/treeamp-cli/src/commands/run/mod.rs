//! `treeamp run`: inference on a model file.

mod components;
mod how;
mod mode;
mod results;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;
use treeamp::belief::Structure;
use treeamp::engine::{Estimate, EvidenceLimit};
use treeamp::prelude::*;
use treeamp_lab::experiment::{
    End, Inference, Instance, Metric, RunOptions, cell_seed, infer_on, instance, outline,
};
use treeamp_lab::spec::{ModelFile, Setting};

pub use how::{How, OF_MEANS, OF_MODES};
use results::{form, results};

use crate::common::Common;
use crate::exit::Failure;
use crate::model::ModelArgs;
use crate::number as parse;
use crate::output::{check_report, note, print, refuse_existing, save, warn};
use crate::progress::Sweeps;
use crate::report::Page;
use crate::text::{heading, number, pairs, residual, short, sweeps, table};

/// Infer the hidden variables of a model file by expectation propagation, or find their mode.
///
/// Observations come from the data files that `[observe]` names. Those called "sample", and every leaf when
/// there is no `[observe]`, are drawn from the model itself: then the truth is known, and so is the error.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  treeamp run models/sparse_regression.toml
  treeamp run models/sparse_regression.toml --set alpha=0.3 --seed 1
  treeamp run models/sparse_regression.toml --set alpha=0.3 --seed 1 --cell      as in a sweep over alpha
  treeamp run models/perceptron.toml --output result.npz
  treeamp run models/real_data.toml                       coefficients of the columns of a .csv file
  treeamp run models/perceptron.toml --damping none        to see what damping is for
  treeamp run models/perceptron.toml --fallback forced     the double loop in place of sweeps
  treeamp run models/total_variation.toml --map            the mode, with a penalty
  treeamp run models/phase_retrieval.toml --restarts 5     several starts, the best fixed point
  treeamp run models/sparse_regression.toml --json | jq .variables.x.mse

The .npz holds x_mean, x_variance and x_std for every variable x, and x_covariance where its belief is full or in blocks; a
.csv has the columns variable, index, mean, variance, std, belief, inclusion, and component where components are columns of data. An isotropic belief (the default) has one variance
for all components, their average: x_variance is then a single number. `belief = \"diagonal\"` under [variables.x] of the
model file has one for each. With --map there is x_minimiser, and the column minimiser.

The inclusion probability of a component (x_inclusion) is the posterior probability that it is not zero, for priors with a point mass
there. The table and --json show the components of small variables, under the names of the columns of their data file.

Exit codes:
  0 done, 1 the run did not converge, 2 bad input, 3 something could not be read or written")]
pub struct Run {
    #[command(flatten)]
    model: ModelArgs,
    /// Seed of everything random; any integer
    #[arg(long, value_parser = parse::seed, allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Draw the instance that a cell of `sweep` with this seed and these parameters draws
    #[arg(long)]
    cell: bool,
    #[command(flatten)]
    how: How,
    /// The mode of the posterior (MAP) in place of its means: penalties, Gaussian factors and linear channels
    #[arg(long, conflicts_with = "restarts")]
    map: bool,
    /// Means and variances into a .npz or .csv file; with --map, the minimisers
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Model, table and pictures in one HTML file
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
}

impl Run {
    /// Runs it, prints the table, writes the results.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        if let Some(path) = &self.output {
            refuse_existing(path, self.force)?;
            form(path)?;
        }
        if let Some(path) = &self.report {
            check_report(path, self.force)?;
        }
        if self.map {
            return self.run_mode(common);
        }
        let (file, setting) = self.model.read()?;
        self.how.warn_of_unused(OF_MODES, "means: it is for --map");
        let seed = self.stream(&file, &setting);
        let clock = Instant::now();
        let options = self.how.options();
        let mut watch = Sweeps::new(common, options.or_of(&file).max_sweeps);
        let instance = prepare(&file, &setting, seed, &options, &mut watch)?;
        let outcome = infer_on(&file, instance, seed, &options, &mut watch);
        drop(watch);
        let run = outcome?;
        let time = clock.elapsed();
        if run.observed.is_empty() {
            warn("nothing is observed: the result is the law of the model itself");
        }
        if let Some(path) = &self.output {
            save(path, &results(path, &file, &run)?)?;
        }
        if let Some(path) = &self.report {
            save(path, self.page(&file, &run, time)?.as_bytes())?;
        }
        if common.json {
            print(&format!("{:#}\n", self.as_json(&file, &run, time)?))?;
        } else {
            print(&self.as_text(&file, &run, time)?)?;
        }
        if run.report.termination.is_converged() {
            Ok(())
        } else {
            Err(Failure::NotConverged)
        }
    }

    /// What was asked for: values that were set, the seed, options of the iteration.
    fn given(&self, file: &ModelFile) -> Vec<(String, String)> {
        let mut given = self.model.given();
        given.push(("seed".to_owned(), self.own_seed(file).to_string()));
        given.extend(self.cell.then(|| ("cell".to_owned(), "yes".to_owned())));
        given.extend(self.how.given());
        given
    }

    /// The seed as it is given.
    fn own_seed(&self, file: &ModelFile) -> u64 {
        self.seed.unwrap_or_else(|| file_seed(file))
    }

    /// The seed of everything random: that of the cell, where it is a cell.
    fn stream(&self, file: &ModelFile, setting: &Setting) -> u64 {
        let seed = self.own_seed(file);
        if self.cell {
            return cell_seed(file, setting, seed);
        }
        seed
    }

    fn as_text(
        &self,
        file: &ModelFile,
        run: &Inference,
        time: Duration,
    ) -> Result<String, Failure> {
        let (rows, mut lines) = (variables(run)?, summary(run, time)?);
        lines.extend(components::too_many(file, run).map(|text| ("components", text)));
        if let Some(path) = &self.output {
            lines.push(("results", path.display().to_string()));
        }
        if let Some(path) = &self.report {
            lines.push(("report", path.display().to_string()));
        }
        let mut text = heading(&file.title) + &table(&HEADER, &rows) + "\n";
        for own in components::tables(file, run)? {
            let header: Vec<&str> = own.header.iter().map(String::as_str).collect();
            text += &(table(&header, &own.rows) + "\n");
        }
        text += &pairs(&lines);
        if !run.ends.is_empty() {
            text += &("\n".to_owned() + &table(&ENDS, &ends(run)));
        }
        Ok(text)
    }

    fn page(&self, file: &ModelFile, run: &Inference, time: Duration) -> Result<String, Failure> {
        let mut page = Page::new(&file.title);
        let lines = summary(run, time)?.into_iter();
        let lines: Vec<Vec<String>> = lines.map(|(n, v)| vec![n.to_owned(), v]).collect();
        page.paragraph(&file.description)
            .section("Result")
            .table(&HEADER, &variables(run)?)
            .table(&["", ""], &lines);
        let components = components::tables(file, run)?;
        if !components.is_empty() {
            page.section("Components");
        }
        for own in components {
            let header: Vec<&str> = own.header.iter().map(String::as_str).collect();
            page.table(&header, &own.rows);
        }
        page.section("Pictures");
        for figure in crate::pictures::run::of_report(file, run.into()) {
            page.figure(&figure)?;
        }
        page.section("Factor graph")
            .graph(&run.posterior.to_svg())
            .options(&self.given(file))
            .section("Model file")
            .text(&file.text);
        Ok(page.finish())
    }

    fn as_json(
        &self,
        file: &ModelFile,
        run: &Inference,
        time: Duration,
    ) -> Result<serde_json::Value, Failure> {
        let report = &run.report;
        let mut variables = serde_json::Map::new();
        for variable in run.posterior.variables() {
            let name = &variable.name;
            let mut entry = json!({
                "shape": variable.spec.shape,
                "belief": variable.spec.structure.to_string(),
                "variance": number(report.variance(name)?),
            });
            for metric in Metric::ALL {
                if let Some(error) = run.error(name, metric)? {
                    entry[metric.name()] = number(error);
                }
            }
            components::add_to_json(&mut entry, file, run, name)?;
            variables.insert(name.clone(), entry);
        }
        let evidence = run.log_evidence();
        let trace = report
            .trace
            .iter()
            .map(|r| json!({ "sweep": r.sweep, "residual": number(r.residual) }));
        Ok(json!({
            "title": file.title,
            "seed": self.own_seed(file),
            "cell": self.cell,
            "variables": variables,
            "log_evidence": evidence.as_ref().ok().copied().map(number),
            "log_evidence_reason": evidence.err(),
            "sweeps": report.sweeps,
            "converged": report.termination.is_converged(),
            "ended": report.termination.to_string(),
            "verdict": report.verdict().map(|v| v.kind()),
            "evidence_limit": report.evidence_limit.as_ref().map(EvidenceLimit::kind),
            "seconds": time.as_secs_f64(),
            "restarted": report.restarted.as_ref().map(ToString::to_string),
            "fallback": report.fallback.as_ref().map(|d| json!({
                "method": d.method,
                "steps": d.steps,
                "evaluations": d.evaluations,
                "residual": number(d.residual),
                "sweep_residual": d.sweep_residual.map(number),
                "ended": d.end.to_string(),
                "reverted": d.reverted,
                "smoothing": d.smoothing.map(number),
                "descent": d.descent.as_ref().map(|d| json!({
                    "variable": d.variable,
                    "slope": number(d.slope),
                })),
            })),
            "no_fallback": report.no_fallback.as_ref().map(ToString::to_string),
            "routes": report.routes.iter().map(|r| json!({
                "factor": r.factor,
                "route": r.route.word(),
                "why": r.why,
            })).collect::<Vec<_>>(),
            "notes": report.notes.iter().map(|(factor, note)| json!({
                "factor": factor,
                "note": note,
            })).collect::<Vec<_>>(),
            "note": stayed(run)?,
            "attempts": report.attempts.iter().map(|a| json!({
                "attempt": a.name,
                "evaluations": a.evaluations,
                "residual": number(a.residual),
                "ended": a.end.to_string(),
            })).collect::<Vec<_>>(),
            "starts": run.ends.iter().map(|e| json!({
                "starts": e.starts,
                "log_evidence": e.log_evidence.map(number),
                "ended": e.ended,
            })).collect::<Vec<_>>(),
            "trace": trace.collect::<Vec<_>>(),
            "output": self.output,
        }))
    }
}

/// The columns of the table of variables.
const HEADER: [&str; 6] = [
    "variable",
    "shape",
    "belief",
    "variance",
    "MSE",
    "up to symmetry",
];

/// The columns of the table of starts.
const ENDS: [&str; 3] = ["starts", "log-evidence", "ended"];

/// A line for every fixed point, and for every run that did not reach one.
fn ends(run: &Inference) -> Vec<Vec<String>> {
    let evidence = |x: Option<f64>| x.map_or("none".to_owned(), |x| format!("{x:.3}"));
    let line = |e: &End| {
        vec![
            e.starts.join("; "),
            evidence(e.log_evidence),
            e.ended.clone(),
        ]
    };
    run.ends.iter().map(line).collect()
}

/// A line for every variable.
fn variables(run: &Inference) -> Result<Vec<Vec<String>>, Failure> {
    let mut rows = Vec::new();
    for variable in run.posterior.variables() {
        let name = &variable.name;
        let variance = short(run.report.variance(name)?);
        let belief = variable.spec.structure.to_string();
        let mut row = vec![name.clone(), variable.spec.to_string(), belief, variance];
        for metric in [Metric::Mse, Metric::up_to_symmetry(&variable.spec)] {
            row.push(run.error(name, metric)?.map_or("unknown".to_owned(), short));
        }
        rows.push(row);
    }
    Ok(rows)
}

/// How the run went.
fn summary(run: &Inference, time: Duration) -> Result<Vec<(&'static str, String)>, Failure> {
    let report = &run.report;
    let evidence = run.log_evidence();
    let mut lines = vec![
        (
            "log-evidence",
            evidence.map_or_else(|reason| reason, |x| format!("{x:.3}")),
        ),
        ("sweeps", report.sweeps.to_string()),
        ("time", format!("{:.1} ms", 1e3 * time.as_secs_f64())),
        ("ended", report.termination.to_string()),
    ];
    if let Some(text) = components::expected(run)? {
        lines.insert(1, ("expected not zero", text));
    }
    if let Some(before) = &report.restarted {
        let text = format!("with adaptive damping; the given one ended: {before}");
        lines.push(("started again", text));
    }
    if let Some(done) = &report.fallback {
        let text = format!(
            "{}, {} evaluations, residual {}, {}",
            done.method,
            done.evaluations,
            residual(done.sweep_residual.unwrap_or(done.residual)),
            done.end
        );
        lines.push(("fallback used", text));
        if done.reverted {
            let text = "the sweeps were nearer to a fixed point: the state above is theirs";
            lines.push(("reverted", text.to_owned()));
        }
        if let Some(width) = done.smoothing {
            let text = format!(
                "penalties were smoothed (width {width}); variances refer to the smoothed penalties, means to the penalties themselves"
            );
            lines.push(("smoothed", text));
        }
        if let Some(d) = &done.descent {
            let text = format!(
                "F falls by {:.3} nats per unit of ln v, from v = {:.1e} to {:.1e} of `{}`",
                d.slope, d.from.0, d.to.0, d.variable
            );
            lines.push(("descent", text));
        }
    }
    if let Some(reason) = &report.no_fallback {
        lines.push(("no fallback", reason.to_string()));
    }
    for r in &report.routes {
        lines.push((
            "route",
            format!("{} through `{}`: {}", r.route, r.factor, r.why),
        ));
    }
    for (factor, note) in &report.notes {
        lines.push(("note", format!("`{factor}`: {note}")));
    }
    lines.extend(stayed(run)?.map(|note| ("note", note)));
    if report.attempts.len() > 1 {
        for tried in &report.attempts {
            let text = format!(
                "{}: {}, residual {}, {}",
                tried.name,
                sweeps(tried.evaluations),
                residual(tried.residual),
                tried.end
            );
            lines.push(("tried", text));
        }
    }
    Ok(lines)
}

/// What to say of a run that ended where it began, with means of zero: outputs that do not see the sign of a signal have a fixed point there.
fn stayed(run: &Inference) -> Result<Option<String>, Failure> {
    /// Means below this part of a standard deviation say nothing.
    const NOTHING: f64 = 1e-3;
    if run.observed.is_empty() || !run.report.termination.is_converged() {
        return Ok(None);
    }
    for v in run.posterior.variables() {
        let (mean, variance) = (run.report.mean(&v.name)?, run.report.variance(&v.name)?);
        let power = mean.iter().map(|x| x * x).sum::<f64>() / mean.len() as f64;
        if power > NOTHING.powi(2) * variance || variance <= 0.0 {
            return Ok(None);
        }
    }
    Ok(Some(
        "all means are zero, as at the start: where outputs do not see a sign or a phase this is a fixed point from which a push \
         (--start-noise 0.1 or --restarts 5) may lead away"
            .to_owned(),
    ))
}

/// The instance of a seed with the beliefs that are asked for. What the run costs is said before a matrix is drawn, of data once they are read.
pub fn prepare(
    file: &ModelFile,
    setting: &Setting,
    seed: u64,
    options: &RunOptions,
    watch: &mut Sweeps,
) -> Result<Instance, Failure> {
    options.check_memory(file, setting)?;
    let planning = options.or_of(file).planning();
    let data = file.observations.iter().any(|o| o.data.is_some());
    let mut seconds = None;
    if !data {
        let planned = outline(file, setting).and_then(|o| options.with_beliefs(o));
        // what is wrong is said of the instance itself
        seconds = planned.ok().map(|o| say_cost(&o.posterior, &planning));
        watch.say("drawing the instance");
    }
    let instance = options.with_beliefs(instance(file, setting, seed)?)?;
    let mut variables = instance.posterior.variables().iter();
    if options.memory_limit.is_some() && variables.all(|v| v.spec.structure == Structure::Isotropic)
    {
        warn("--memory-limit has no effect on isotropic beliefs");
    }
    let seconds = seconds.unwrap_or_else(|| say_cost(&instance.posterior, &planning));
    watch.say(&match seconds {
        s if s < 1.0 => "setting up".to_owned(),
        s => format!("setting up, about {s:.0} s"),
    });
    Ok(instance)
}

/// Says what a run costs where set-up and ten sweeps take more than a few seconds; the seconds of its set-up.
fn say_cost(tree: &Tree, options: &Options) -> f64 {
    const PATIENCE: f64 = 5.0;
    // what is refused costs nothing
    if ExpectationPropagation.check(tree, options).is_err() {
        return 0.0;
    }
    let estimate = Estimate::of(tree);
    let set_up = estimate.set_up_seconds();
    if set_up + 10.0 * estimate.sweep_seconds() > PATIENCE {
        note(&format!("estimated cost: {estimate}"));
    }
    set_up
}

/// The seed that the file gives, or zero.
pub fn file_seed(file: &treeamp_lab::spec::ModelFile) -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "any integer is a seed")]
    file.run_option("seed")
        .map_or(0, |x| (x as i64).cast_unsigned())
}
