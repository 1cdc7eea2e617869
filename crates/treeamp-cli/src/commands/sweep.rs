//! `treeamp sweep`: a grid of parameters and seeds, by inference and theory side by side.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;
use treeamp_lab::experiment::{Metric, RunOptions, Source, row};
use treeamp_lab::spec::{ModelFile, Scale, Setting};
use treeamp_lab::sweep::{Axis, Cell, Grid, Journal, Merged, Record, Shard, Table, Value, run};

use super::run::{How, OF_MEANS, OF_MODES};
use crate::common::Common;
use crate::exit::Failure;
use crate::model::ModelArgs;
use crate::number as parse;
use crate::output::{check_name, check_report, note, print, refuse_existing, save};
use crate::pictures::curve::{self, Curve};
use crate::progress::ProgressLine;
use crate::report::Page;
use crate::text::{pairs, short};

/// This many reasons of failed cells are printed; the table has all of them.
const SHOWN_REASONS: usize = 5;

/// What fills a sweep.
#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum By {
    /// Inference on random instances: expectation propagation, or with --map the mode
    Ep,
    /// State evolution
    Se,
    /// Both, side by side
    Both,
    /// Also the Bayes-optimal error and the phase
    All,
}

/// Run a model file over a grid of parameters and seeds, on all cores.
///
/// Every cell has its own random stream, made from its seed and all parameters of the model: the table is the same for
/// any number of threads or parts, and `treeamp run --cell` repeats a single one. Finished cells go to a journal next
/// to the table at once; the same command goes on where an interrupted one stopped, and ends in the same table. With
/// more --seeds it adds these. A cell that fails is a row with its reason.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  treeamp sweep models/sparse_regression.toml --grid alpha=0.1:1.0:10 --seeds 5 --output table.csv
  treeamp sweep models/perceptron.toml --grid alpha=0.5:2:31 --by se --output theory.csv
  treeamp sweep models/perceptron.toml --grid alpha=0.8:1.8:21 --seeds 10 --by all -o all.csv     what `plot curve` shades
  treeamp sweep m.toml --grid alpha=0.1:1:46 --grid rho=0.1,0.2 --output t.csv --shard 3/8
  treeamp sweep models/lasso.toml --map --grid alpha=0.4:1.0:7 --seeds 10 -o modes.csv     its minimisers beside theory
  treeamp merge t.csv.1-of-8.journal ... --output t.csv      the parts of a cluster's job array
  treeamp run models/sparse_regression.toml --set alpha=0.3 --seed 2 --cell     one cell of the first sweep again

Columns:
  mse_x, sign_mse_x, phase_mse_x   errors of variable x (up to its sign, up to its phase)
  variance_x                       its posterior variance, averaged over components
  log_evidence                     of the whole model; entropy is minus that, per component of the first variable
  nonzero_x                        components that are not zero: with --map of the mode, else their expected number
  energy                           with --map: that of the whole model
  symmetric_point                  the prediction is at the symmetric point, which the least knowledge leads away from
  heuristic                        why the theory is not exact in the limit, where it is not
  phase                            with --by all: impossible, hard or easy

Exit codes:
  0 done, 1 every cell failed, 2 bad input, 3 something could not be read or written")]
pub struct Sweep {
    #[command(flatten)]
    model: ModelArgs,
    /// A parameter and its values: alpha=0.1:1.0:46 (ends included) or rho=0.1,0.2
    #[arg(long, value_name = "NAME=VALUES", required = true)]
    grid: Vec<String>,
    /// Number of seeds, counted from --seed
    #[arg(long, default_value = "1", value_parser = parse::count, allow_negative_numbers = true)]
    seeds: usize,
    /// The first seed
    #[arg(long, default_value = "0", value_parser = parse::seed, allow_negative_numbers = true)]
    seed: u64,
    /// Inference, theory, both, or also the best possible error
    #[arg(long, value_enum, default_value = "both")]
    by: By,
    /// The mode of the posterior (MAP) in place of its means; a penalty under `[[student.factor]]` has its theory beside it
    #[arg(long, conflicts_with = "restarts")]
    map: bool,
    #[command(flatten)]
    how: How,
    /// The table (.csv); its journal has `.journal` behind the name
    #[arg(long, short, value_name = "FILE", default_value = "sweep.csv")]
    output: PathBuf,
    /// Only part k of n of the cells, for `merge`
    #[arg(long, value_name = "K/N", value_parser = parse::shard)]
    shard: Option<Shard>,
    /// Model, curves and table in one HTML file
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Start afresh: forget the journal and replace the table
    #[arg(long)]
    force: bool,
}

impl Sweep {
    /// Runs the missing cells and writes the table.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let (file, setting) = self.model.read()?;
        let file = self.how.beliefs_of(file);
        if self.map {
            self.how.warn_of_unused(OF_MEANS, "modes");
        } else {
            self.how.warn_of_unused(OF_MODES, "means: it is for --map");
        }
        check_name(&self.output, &["csv"])?;
        self.check_theory(&file)?;
        let shard = self.shard.unwrap_or(Shard::WHOLE);
        if let Some(path) = &self.report {
            // that of a sweep which goes on is replaced, as its table is
            check_report(path, true)?;
        }
        let axes = self.grid.iter().filter_map(|g| g.split_once('='));
        let axes: Vec<&str> = axes.map(|(name, _)| name.trim()).collect();
        self.model.warn_of_set(&file, &axes, "--grid");
        // what is wrong with the grid is said before a journal is made
        Plan::new(&file, &setting, self, &self.seeds_beside(Vec::new()))?;
        let journal_path = journal_path(&self.output, shard);
        // a table that this very sweep did not make is kept
        if !journal_path.exists() && !shard.is_part() {
            refuse_existing(&self.output, self.force)?;
        }
        let configuration = self.configuration(&file, &setting);
        let mut journal = if self.force {
            Journal::start(&journal_path, &configuration)?
        } else {
            Journal::open(&journal_path, &configuration)?
        };
        let seeds = self.seeds_beside(seeds_of(journal.plan()));
        let plan = Plan::new(&file, &setting, self, &seeds)?;
        journal.set_plan(&plan.seeds)?;
        if seeds.len() > self.seeds {
            note(&format!(
                "the journal has other seeds already: the table has all {} of them (--force starts afresh)",
                seeds.len()
            ));
        }
        let cells = shard.of(plan.grid.cells(), |cell| source_of(cell).name().to_owned());
        say_how_to_go_on(&journal_path, &journal, &cells);
        let threads = common.threads();
        let mut line = ProgressLine::new(common, "cells");
        let options = self.how.options();
        let work = |cell: &Cell| plan.cell(&file, cell, &options);
        let records = run(&cells, threads, Some(&mut journal), work, |p| {
            let failed = match p.failed {
                0 => String::new(),
                n => format!(", {n} failed"),
            };
            let what = format!("cells{failed}; after Ctrl-C the same command goes on");
            line.show(p.finished, p.total, &what);
        });
        line.clear();
        let records = records?;
        if !shard.is_part() {
            let table = Table::of(&plan.grid, &records);
            save(&self.output, table.to_csv().as_bytes())?;
            if let Some(path) = &self.report {
                save(path, self.page(&file, &plan, &table)?.as_bytes())?;
            }
        }
        let output = if shard.is_part() {
            &journal_path
        } else {
            &self.output
        };
        report(&records, output, common.json)
    }

    /// What the results depend on besides the parameters and seeds of the cells.
    fn configuration(
        &self,
        file: &ModelFile,
        setting: &Setting,
    ) -> serde_json::Map<String, serde_json::Value> {
        let sources: Vec<&str> = self.sources(file).iter().map(|s| s.name()).collect();
        let set = file.changes(setting);
        let set: serde_json::Map<_, _> =
            set.iter().map(|(n, x)| (n.to_owned(), json!(x))).collect();
        let mut configuration = json!({
            "model": file.content(),
            "set": set,
            "grid": self.grid,
            "sources": sources,
            "options": self.how.options().to_json(),
        });
        // the same text with other data is another sweep
        let data = file.data_files();
        if !data.is_empty() {
            configuration["data"] = json!(data);
        }
        configuration.as_object().cloned().unwrap_or_default()
    }

    /// The seeds that are asked for, and those that are there, in rising order.
    fn seeds_beside(&self, mut seeds: Vec<u64>) -> Vec<u64> {
        for k in 0..self.seeds as u64 {
            let seed = self.seed.wrapping_add(k);
            if !seeds.contains(&seed) {
                seeds.push(seed);
            }
        }
        // whatever their order of coming, the table is that of all at once
        seeds.sort_unstable();
        seeds
    }

    /// A model without a theory is swept without it, unless that is all that is asked for.
    fn check_theory(&self, file: &ModelFile) -> Result<(), Failure> {
        match (file.without_theory(), self.by) {
            (Some(reason), By::Se) => return Err(reason.into()),
            (Some(reason), By::Both | By::All) => {
                note(&format!("theory is left out: {}", reason.reason));
            }
            _ => {}
        }
        Ok(())
    }

    fn sources(&self, file: &ModelFile) -> Vec<Source> {
        let inference = if self.map { Source::Map } else { Source::Ep };
        match self.by {
            _ if file.without_theory().is_some() => vec![inference],
            By::Ep => vec![inference],
            By::Se => vec![Source::Se],
            By::Both => vec![inference, Source::Se],
            By::All => vec![inference, Source::Se, Source::BayesOptimal],
        }
    }
}

/// Where the finished cells are, and how to go on after an interruption.
fn say_how_to_go_on(path: &Path, journal: &Journal, cells: &[Cell]) {
    let done = cells.iter().filter(|c| journal.finished(&c.key).is_some());
    let there = match (done.count(), cells.len()) {
        (0, _) => "keeps what is finished".to_owned(),
        (done, all) => format!("has {done} of {all} cells already (--force starts afresh)"),
    };
    note(&format!(
        "journal {} {there}; after Ctrl-C the same command goes on",
        path.display()
    ));
}

impl Sweep {
    /// What was asked for on the command line.
    fn given(&self, file: &ModelFile) -> Vec<(String, String)> {
        let mut given = self.model.given();
        let grid = self.grid.iter().map(|g| ("grid".to_owned(), g.clone()));
        given.extend(grid);
        given.push((
            "seeds".to_owned(),
            format!("{}, from {}", self.seeds, self.seed),
        ));
        let sources: Vec<&str> = self.sources(file).iter().map(|s| s.name()).collect();
        given.push(("by".to_owned(), sources.join(", ")));
        given.extend(self.how.given());
        given
    }

    fn page(&self, file: &ModelFile, plan: &Plan, table: &Table) -> Result<String, Failure> {
        let mut page = Page::new(&file.title);
        page.paragraph(&file.description).options(&self.given(file));
        fill(page, file, plan, table)
    }
}

/// The rest of the page: a curve of the first variable's error along the first axis, and the table.
fn fill(mut page: Page, file: &ModelFile, plan: &Plan, table: &Table) -> Result<String, Failure> {
    let axes = plan.grid.axes();
    let names: Vec<String> = axes.iter().map(|a| a.name.clone()).collect();
    if let (Some(x), Some(y)) = (names.first(), curve::error(table)) {
        let curve = Curve {
            x: x.clone(),
            y: y.to_owned(),
            log: false,
            title: String::new(),
        };
        if let Ok(figure) = curve.figure(table, &curve::others(table, x)) {
            page.section("Curves").figure(&figure)?;
        }
    }
    let header: Vec<&str> = table.columns.iter().map(String::as_str).collect();
    let cell = |v: &Value| match v.as_number() {
        Some(x) => short(x),
        None => v.to_csv(),
    };
    let rows: Vec<Vec<String>> = table
        .rows
        .iter()
        .map(|r| r.iter().map(cell).collect())
        .collect();
    page.section("Table").table(&header, &rows);
    page.section("Model file").text(&file.text);
    Ok(page.finish())
}

/// What is to be done.
struct Plan {
    grid: Grid,
    setting: Setting,
    /// The seeds, as the journal has them.
    seeds: serde_json::Map<String, serde_json::Value>,
}

impl Plan {
    fn new(
        file: &ModelFile,
        setting: &Setting,
        sweep: &Sweep,
        seeds: &[u64],
    ) -> Result<Self, Failure> {
        let sources = sweep.sources(file);
        let sources = sources.iter().map(|s| s.name().to_owned()).collect();
        let grid = grid(&sweep.grid, sources, seeds.to_vec())?;
        refuse_two_names(file, &grid)?;
        let known = file.adjustable();
        let stray = |a: &&Axis| a.name != "source" && !known.contains(&a.name);
        if let Some(axis) = grid.axes().iter().find(stray) {
            // the builder has the words for it
            file.tree(&Setting::new().with(&axis.name, 1.0), Scale::Limit)?;
        }
        let seeds = json!({ "seeds": seeds });
        Ok(Self {
            grid,
            setting: setting.clone(),
            seeds: seeds.as_object().cloned().unwrap_or_default(),
        })
    }

    fn cell(
        &self,
        file: &ModelFile,
        cell: &Cell,
        options: &RunOptions,
    ) -> Result<Vec<treeamp_lab::sweep::Row>, String> {
        let source = source_of(cell);
        let metrics = [
            Metric::Mse,
            Metric::SignMse,
            Metric::PhaseMse,
            Metric::PermutationMse,
        ];
        let row = row(file, &self.setting, cell, source, &metrics, options);
        row.map(|r| vec![r]).map_err(|e| {
            let failure = Failure::from(e);
            failure.message().unwrap_or("not converged").to_owned()
        })
    }
}

/// Two axes over one number: one of them would have no effect.
fn refuse_two_names(file: &ModelFile, grid: &Grid) -> Result<(), Failure> {
    let axes = || grid.axes().iter().map(|a| a.name.as_str());
    let both = axes().find_map(|name| {
        let parameter = file.only_name(name)?;
        axes()
            .any(|other| other == parameter)
            .then_some((name, parameter))
    });
    match both {
        None => Ok(()),
        Some((name, parameter)) => Err(Failure::Usage(format!(
            "--grid: `{parameter}` and `{name}` are the same thing: expected values of one of them"
        ))),
    }
}

/// Where the row of a cell comes from.
fn source_of(cell: &Cell) -> Source {
    let named = cell.get("source").and_then(|v| Source::named(&v.to_csv()));
    named.unwrap_or(Source::Ep)
}

/// The seeds of a journal's plan.
fn seeds_of(plan: &serde_json::Map<String, serde_json::Value>) -> Vec<u64> {
    let list = plan.get("seeds").and_then(|v| v.as_array());
    let seeds = list
        .into_iter()
        .flatten()
        .filter_map(serde_json::Value::as_u64);
    seeds.collect()
}

/// The cells of some axes, sources and seeds. Theory does not depend on the seed.
fn grid(axes: &[String], sources: Vec<String>, seeds: Vec<u64>) -> Result<Grid, Failure> {
    let axes = axes.iter().map(|g| Axis::parse(g));
    let mut axes = axes.collect::<Result<Vec<_>, _>>()?;
    axes.push(Axis::new("source", sources));
    let first = seeds.first().copied();
    let kept = |cell: &Cell| !source_of(cell).is_theory() || Some(cell.seed) == first;
    Ok(Grid::new(axes, seeds)?.keep(kept))
}

/// The grid that the journals of a sweep describe.
pub fn grid_of(merged: &Merged) -> Result<Grid, Failure> {
    let bad = || Failure::Usage("the journal does not belong to a sweep".to_owned());
    let texts = |key: &str| -> Result<Vec<String>, Failure> {
        let list = merged.configuration.get(key);
        let list = list.and_then(|v| v.as_array()).ok_or_else(bad)?;
        let texts = list.iter().map(|v| v.as_str().map(str::to_owned));
        texts.collect::<Option<_>>().ok_or_else(bad)
    };
    grid(&texts("grid")?, texts("sources")?, seeds_of(&merged.plan))
}

fn journal_path(output: &Path, shard: Shard) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    if shard.is_part() {
        name.push(format!(".{}", shard.to_string().replace('/', "-of-")));
    }
    name.push(".journal");
    name.into()
}

/// The name of a cell in a journal, without its quotes.
fn readable(key: &str) -> String {
    key.replace('"', "").replace(';', ", ").replace('=', " = ")
}

/// Says what happened; a sweep in which nothing worked has failed.
pub fn report(records: &[Record], output: &Path, json: bool) -> Result<(), Failure> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for record in records {
        if let Err(reason) = &record.rows {
            match reasons.iter_mut().find(|(r, _)| r == reason) {
                Some((_, cells)) => cells.push(&record.key),
                None => reasons.push((reason, vec![&record.key])),
            }
        }
    }
    let failed: usize = reasons.iter().map(|(_, cells)| cells.len()).sum();
    let rows = records
        .iter()
        .filter_map(|r| r.rows.as_ref().ok())
        .flatten();
    let unsettled = rows.filter(|r| r.get("converged") == Some(&Value::Flag(false)));
    let unsettled = unsettled.count();
    if json {
        let reasons = reasons
            .iter()
            .map(|(reason, cells)| json!({ "reason": reason, "cells": cells }));
        let report = json!({
            "cells": records.len(),
            "failed": failed,
            "not_converged": unsettled,
            "reasons": reasons.collect::<Vec<_>>(),
            "output": output,
        });
        print(&format!("{report:#}\n"))?;
    } else {
        let mut lines = vec![
            ("cells", records.len().to_string()),
            ("failed", failed.to_string()),
        ];
        for (reason, cells) in reasons.iter().take(SHOWN_REASONS) {
            let more = match cells.len() {
                1 => String::new(),
                n => format!(" and {} more", n - 1),
            };
            lines.push(("", format!("{}{more}: {reason}", readable(cells[0]))));
        }
        if reasons.len() > SHOWN_REASONS {
            let left = reasons.len() - SHOWN_REASONS;
            lines.push(("", format!("{left} more reasons stand in the table")));
        }
        if unsettled > 0 {
            lines.push(("did not converge", unsettled.to_string()));
        }
        lines.push(("output", output.display().to_string()));
        print(&pairs(&lines))?;
    }
    match reasons.first() {
        Some((reason, _)) if failed == records.len() => {
            Err(Failure::Run(format!("every cell failed: {reason}")))
        }
        _ => Ok(()),
    }
}
