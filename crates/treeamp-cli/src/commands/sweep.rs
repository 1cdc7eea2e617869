//! `treeamp sweep`: a grid of parameters and seeds, by inference and theory side by side.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;
use treeamp_lab::experiment::{Metric, RunOptions, Source, row};
use treeamp_lab::spec::{ModelFile, Scale, Setting};
use treeamp_lab::sweep::{Axis, Cell, Grid, Journal, Record, Shard, Table, Value, run};

use super::run::How;
use crate::common::Common;
use crate::exit::Failure;
use crate::model::ModelArgs;
use crate::number as parse;
use crate::output::{ProgressLine, print, refuse_existing, save};
use crate::pictures::curve::Curve;
use crate::report::Page;
use crate::text::short;

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
/// Every cell has its own random stream, made from its seed and parameters: the table is the same for any number
/// of threads or parts. Finished cells go to a journal next to the table at once; the same command goes on
/// where an interrupted one stopped, and ends in the same table. A cell that fails is a row with its reason.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  treeamp sweep models/sparse_regression.toml --grid alpha=0.1:1.0:10 --seeds 5 --output table.csv
  treeamp sweep models/perceptron.toml --grid alpha=0.5:2:31 --by se --output theory.csv
  treeamp sweep models/perceptron.toml --grid alpha=0.8:1.8:21 --seeds 10 --by all     what `plot curve` shades
  treeamp sweep m.toml --grid alpha=0.1:1:46 --grid rho=0.1,0.2 --output t.csv --shard 3/8
  treeamp sweep models/lasso.toml --map --grid alpha=0.4:1.0:7 --seeds 10     its minimisers beside theory
  treeamp merge t.csv.1-of-8.journal ... --output t.csv      the parts of a cluster's job array

Exit codes:
  0 done, 1 every cell failed, 2 bad input, 3 something could not be read or written")]
pub struct Sweep {
    #[command(flatten)]
    model: ModelArgs,
    /// A parameter and its values: alpha=0.1:1.0:46 (ends included) or rho=0.1,0.2
    #[arg(long, value_name = "NAME=VALUES", required = true)]
    grid: Vec<String>,
    /// Number of seeds, counted from --seed
    #[arg(long, default_value = "1", value_parser = parse::count)]
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
    /// The table; its journal has `.journal` behind the name
    #[arg(long, short, value_name = "FILE", default_value = "sweep.csv")]
    output: PathBuf,
    /// Only part k of n of the cells, for `merge`
    #[arg(long, value_name = "K/N")]
    shard: Option<String>,
    /// Model, curves and table in one HTML file
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Start anew: forget the journal and replace the table
    #[arg(long)]
    force: bool,
}

impl Sweep {
    /// Runs the missing cells and writes the table.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let (file, setting) = self.model.read()?;
        let shard = self
            .shard
            .as_deref()
            .map_or(Ok(Shard::WHOLE), Shard::parse)?;
        let plan = Plan::new(&file, &setting, self)?;
        let journal_path = journal_path(&self.output, shard);
        if self.force {
            let _ = std::fs::remove_file(&journal_path);
        }
        // a table that this very sweep did not make is kept
        if !journal_path.exists() && !shard.is_part() {
            refuse_existing(&self.output, self.force)?;
        }
        let mut journal = Journal::open(&journal_path, &plan.configuration)?;
        let cells = shard.of(plan.grid.cells());
        let threads = common.threads();
        let mut line = ProgressLine::new();
        let options = self.how.options();
        let work = |cell: &Cell| plan.cell(&file, cell, &options);
        let records = run(&cells, threads, Some(&mut journal), work, |p| {
            let failed = if p.failed > 0 {
                format!("cells, {} failed", p.failed)
            } else {
                "cells".to_owned()
            };
            line.show(p.finished, p.total, &failed);
        });
        line.clear();
        let records = records?;
        if !shard.is_part() {
            let table = Table::of(&plan.grid, &records);
            save(&self.output, table.to_csv().as_bytes())?;
            if let Some(path) = &self.report {
                save(path, self.page(&file, &plan, &table).as_bytes())?;
            }
        }
        report(
            &records,
            if shard.is_part() {
                &journal_path
            } else {
                &self.output
            },
            common.json,
        )
    }
}

impl Sweep {
    /// What was asked for on the command line.
    fn settings(&self) -> Vec<Vec<String>> {
        let line = |name: &str, value: String| vec![name.to_owned(), value];
        let set = self.model.set.iter();
        let set = set.map(|(name, x)| line("set", format!("{name} = {x}")));
        let grid = self.grid.iter().map(|g| line("grid", g.clone()));
        let seeds = format!("{}, from {}", self.seeds, self.seed);
        set.chain(grid).chain([line("seeds", seeds)]).collect()
    }

    fn page(&self, file: &ModelFile, plan: &Plan, table: &Table) -> String {
        let mut page = Page::new(&file.title);
        page.paragraph(&file.description)
            .section("Sweep")
            .table(&["", ""], &self.settings());
        fill(page, file, plan, table)
    }
}

/// The rest of the page: a curve of the first variable's error along the first axis, and the table.
fn fill(mut page: Page, file: &ModelFile, plan: &Plan, table: &Table) -> String {
    let axes = plan.grid.axes();
    let names: Vec<String> = axes.iter().map(|a| a.name.clone()).collect();
    let error = table.columns.iter().find(|c| c.starts_with("mse_"));
    if let (Some(x), Some(y)) = (names.first(), error) {
        let curve = Curve {
            x: x.clone(),
            y: y.clone(),
            log: false,
            title: String::new(),
        };
        let others: Vec<String> = names
            .iter()
            .skip(1)
            .filter(|n| *n != "source")
            .cloned()
            .collect();
        if let Ok(figure) = curve.figure(table, &others) {
            page.section("Curves").picture(&figure.to_svg());
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
    page.finish()
}

/// What is to be done, and what it depends on.
struct Plan {
    grid: Grid,
    setting: Setting,
    configuration: serde_json::Map<String, serde_json::Value>,
}

impl Plan {
    fn new(file: &ModelFile, setting: &Setting, sweep: &Sweep) -> Result<Self, Failure> {
        let sources: &[Source] = match sweep.by {
            By::Ep => &[Source::Ep],
            By::Se => &[Source::Se],
            By::Both => &[Source::Ep, Source::Se],
            By::All => &[Source::Ep, Source::Se, Source::BayesOptimal],
        };
        let inference = |s: &Source| match s {
            Source::Ep if sweep.map => Source::Map,
            other => *other,
        };
        let sources: Vec<Source> = sources.iter().map(inference).collect();
        let mut configuration = json!({
            "model": file.text,
            "set": sweep.model.set,
            "grid": sweep.grid,
            "first_seed": sweep.seed,
            "seeds": sweep.seeds,
            "sources": sources.iter().map(|s| s.name()).collect::<Vec<_>>(),
            "options": format!("{:?}", sweep.how.options()),
        });
        // the same text with other data is another sweep
        let data = file.data_files();
        if !data.is_empty() {
            configuration["data"] = json!(data);
        }
        let configuration = configuration.as_object().cloned().unwrap_or_default();
        let grid = grid_of(&configuration)?;
        let known = file.adjustable();
        let stray = |a: &&Axis| a.name != "source" && !known.contains(&a.name);
        if let Some(axis) = grid.axes().iter().find(stray) {
            // the builder has the words for it
            file.tree(&Setting::new().with(&axis.name, 1.0), Scale::Limit)?;
        }
        Ok(Self {
            grid,
            setting: setting.clone(),
            configuration,
        })
    }

    fn cell(
        &self,
        file: &ModelFile,
        cell: &Cell,
        options: &RunOptions,
    ) -> Result<Vec<treeamp_lab::sweep::Row>, String> {
        let source = source_of(cell);
        let metrics = [Metric::Mse, Metric::SignMse, Metric::PhaseMse];
        let row = row(file, &self.setting, cell, source, &metrics, options);
        row.map(|r| vec![r]).map_err(|e| e.to_string())
    }
}

/// Where the row of a cell comes from.
fn source_of(cell: &Cell) -> Source {
    let named = cell.get("source").and_then(|v| Source::named(&v.to_csv()));
    named.unwrap_or(Source::Ep)
}

/// The grid that a configuration describes.
pub fn grid_of(
    configuration: &serde_json::Map<String, serde_json::Value>,
) -> Result<Grid, Failure> {
    let bad = || Failure::Usage("the journal does not belong to a sweep".to_owned());
    let texts = |key: &str| -> Result<Vec<String>, Failure> {
        let list = configuration
            .get(key)
            .and_then(|v| v.as_array())
            .ok_or_else(bad)?;
        let texts = list.iter().map(|v| v.as_str().map(str::to_owned));
        texts.collect::<Option<_>>().ok_or_else(bad)
    };
    let count = |key: &str| {
        configuration
            .get(key)
            .and_then(serde_json::Value::as_u64)
            .ok_or_else(bad)
    };
    let grid = texts("grid")?;
    let mut axes = grid
        .iter()
        .map(|g| Axis::parse(g))
        .collect::<Result<Vec<_>, _>>()?;
    axes.push(Axis::new("source", texts("sources")?));
    let (first, seeds) = (count("first_seed")?, count("seeds")?);
    let seeds = (0..seeds).map(|k| first.wrapping_add(k)).collect();
    // theory does not depend on the seed
    let kept = |cell: &Cell| !source_of(cell).is_theory() || cell.seed == first;
    Ok(Grid::new(axes, seeds)?.keep(kept))
}

fn journal_path(output: &Path, shard: Shard) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    if shard.is_part() {
        name.push(format!(".{}", shard.to_string().replace('/', "-of-")));
    }
    name.push(".journal");
    name.into()
}

/// Says what happened; a sweep in which nothing worked has failed.
pub fn report(records: &[Record], output: &Path, json: bool) -> Result<(), Failure> {
    let failed: Vec<&String> = records
        .iter()
        .filter_map(|r| r.rows.as_ref().err())
        .collect();
    if json {
        let report = json!({
            "cells": records.len(),
            "failed": failed.len(),
            "output": output,
        });
        print(&format!("{report:#}\n"))?;
    } else {
        print(&format!(
            "  cells   {}\n  failed  {}\n  output  {}\n",
            records.len(),
            failed.len(),
            output.display()
        ))?;
    }
    match failed.first() {
        Some(reason) if failed.len() == records.len() => {
            Err(Failure::Run(format!("every cell failed: {reason}")))
        }
        _ => Ok(()),
    }
}
