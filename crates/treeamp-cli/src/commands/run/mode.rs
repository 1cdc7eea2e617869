//! `treeamp run --map`: the mode of the posterior.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use treeamp::belief::Element;
use treeamp_lab::data::{self, Array};
use treeamp_lab::experiment::{Metric, Minimisation, minimise};
use treeamp_lab::spec::ModelFile;
use treeamp_lab::sweep::Value;

use super::results::{Form, form, names_of};
use super::{OF_MEANS, Run};
use crate::common::Common;
use crate::exit::Failure;
use crate::output::{print, save};
use crate::progress::Sweeps;
use crate::report::Page;
use crate::text::{heading, number, pairs, short, table};

/// The columns of the table of variables.
const HEADER: [&str; 4] = ["variable", "shape", "not zero", "error"];

impl Run {
    /// Minimises, prints the table, writes the results.
    pub(super) fn run_mode(&self, common: &Common) -> Result<(), Failure> {
        let (file, setting) = self.model.read()?;
        self.how.warn_of_unused(OF_MEANS, "modes");
        let seed = self.stream(&file, &setting);
        let clock = Instant::now();
        let options = self.how.options();
        let mut watch = Sweeps::new(common, options.or_of(&file).max_sweeps);
        let outcome = minimise(&file, &setting, seed, &options, &mut watch);
        drop(watch);
        let run = outcome?;
        let time = clock.elapsed();
        if let Some(path) = &self.output {
            save(path, &results(path, &file, &run)?)?;
        }
        if let Some(path) = &self.report {
            let mut page = Page::new(&file.title);
            let lines = summary(&run, time).into_iter();
            let lines: Vec<Vec<String>> = lines.map(|(n, v)| vec![n.to_owned(), v]).collect();
            page.paragraph(&file.description)
                .section("Result")
                .table(&HEADER, &variables(&run)?)
                .table(&["", ""], &lines)
                .section("Pictures");
            for figure in crate::pictures::run::of_report(&file, (&run).into()) {
                page.figure(&figure)?;
            }
            page.section("Factor graph")
                .graph(&run.posterior.to_svg())
                .options(&self.given(&file))
                .section("Model file")
                .text(&file.text);
            save(path, page.finish().as_bytes())?;
        }
        if common.json {
            print(&format!(
                "{:#}\n",
                as_json(&file.title, (self.own_seed(&file), self.cell), &run, time)?
            ))?;
        } else {
            let rows = table(&HEADER, &variables(&run)?);
            print(&(heading(&file.title) + &rows + "\n" + &pairs(&summary(&run, time))))?;
        }
        if run.report.termination.is_converged() {
            Ok(())
        } else {
            Err(Failure::NotConverged)
        }
    }
}

fn variables(run: &Minimisation) -> Result<Vec<Vec<String>>, Failure> {
    let mut rows = Vec::new();
    for variable in run.posterior.variables() {
        let name = &variable.name;
        let not_zero = run.nonzero(name)?;
        let error = run.error(name, Metric::Mse)?;
        let error = error.map_or("unknown".to_owned(), short);
        rows.push(vec![
            name.clone(),
            variable.spec.to_string(),
            not_zero.to_string(),
            error,
        ]);
    }
    Ok(rows)
}

fn summary(run: &Minimisation, time: Duration) -> Vec<(&'static str, String)> {
    let mut lines = vec![
        ("energy", format!("{:.6}", run.solution.energy())),
        ("sweeps", run.report.sweeps.to_string()),
        ("time", format!("{:.1} ms", 1e3 * time.as_secs_f64())),
        ("ended", run.report.termination.to_string()),
    ];
    if let Some(done) = &run.report.fallback {
        let text = format!("{}, {} evaluations", done.method, done.evaluations);
        lines.push(("fallback used", text));
    }
    lines
}

fn as_json(
    title: &str,
    (seed, cell): (u64, bool),
    run: &Minimisation,
    time: Duration,
) -> Result<serde_json::Value, Failure> {
    let mut variables = serde_json::Map::new();
    for variable in run.posterior.variables() {
        let name = &variable.name;
        let entry = json!({
            "shape": variable.spec.shape,
            "nonzero": run.nonzero(name)?,
            "mse": run.error(name, Metric::Mse)?.map(number),
        });
        variables.insert(name.clone(), entry);
    }
    let energies = run.solution.energies.iter();
    let energies: serde_json::Map<_, _> = energies.map(|(n, e)| (n.clone(), number(*e))).collect();
    Ok(json!({
        "title": title,
        "seed": seed,
        "cell": cell,
        "variables": variables,
        "energy": number(run.solution.energy()),
        "energies": energies,
        "sweeps": run.report.sweeps,
        "converged": run.report.termination.is_converged(),
        "ended": run.report.termination.to_string(),
        "seconds": time.as_secs_f64(),
    }))
}

/// The minimiser of every variable.
fn results(path: &Path, file: &ModelFile, run: &Minimisation) -> Result<Vec<u8>, Failure> {
    match form(path)? {
        Form::Npz => {
            let mut arrays = Vec::new();
            for variable in run.posterior.variables() {
                let spec = &variable.spec;
                let place = run.solution.point(&variable.name)?.to_vec();
                let array = Array::new(spec.shape.clone(), place, spec.element == Element::Complex);
                let name = format!("{}_minimiser", variable.name);
                arrays.push((name, array.map_err(Failure::Run)?));
            }
            let arrays: Vec<(&str, &Array)> = arrays.iter().map(|(n, a)| (n.as_str(), a)).collect();
            data::encode_npz(&arrays).map_err(Failure::Run)
        }
        Form::Csv => {
            let named = names_of(file, &run.posterior);
            let mut text = String::from("variable,index,minimiser");
            text += if named.is_empty() {
                "\n"
            } else {
                ",component\n"
            };
            for variable in run.posterior.variables() {
                let name = Value::from(variable.name.as_str()).to_csv();
                let names = named.iter().find(|(v, _)| *v == variable.name);
                for (i, x) in run.solution.point(&variable.name)?.iter().enumerate() {
                    let component = match names {
                        Some((_, names)) => format!(",{}", Value::from(names[i].as_str()).to_csv()),
                        None if named.is_empty() => String::new(),
                        None => ",".to_owned(),
                    };
                    // writing to a string cannot fail
                    let _ = writeln!(text, "{name},{i},{x}{component}");
                }
            }
            Ok(text.into_bytes())
        }
    }
}
