//! `treeamp modules`: the catalogue.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use treeamp::catalog::{self, Module, Preset, modules};
use treeamp_lab::spec::{schema, unknown_module};

use crate::common::Common;
use crate::exit::Failure;
use crate::output::print;
use crate::text::{pairs, wrapped};

/// List the modules that a model file can name, with parameters and formulas.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  treeamp modules                    all of them, a line each
  treeamp modules gauss_bernoulli    one of them, with its parameters
  treeamp modules laplace --picture laplace.svg      its density, and how it shrinks what is seen
  treeamp modules poisson --picture poisson.svg      what some outputs say of their input
  treeamp modules --schema > treeamp.schema.json     for editors that complete and check TOML

Exit codes:
  0 done, 2 there is no such module")]
pub struct Modules {
    /// One module
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Print the JSON schema of model files
    #[arg(long, conflicts_with = "name")]
    schema: bool,
    /// Draw the density of a prior, and how it shrinks what is seen through noise; of a likelihood, what outputs say (.svg or .png)
    #[arg(long, value_name = "FILE", requires = "name")]
    picture: Option<PathBuf>,
}

impl Modules {
    /// Prints the list.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        if self.schema {
            return print(&format!("{:#}\n", schema()));
        }
        let chosen: Vec<&Module> = match &self.name {
            None => modules().collect(),
            Some(name) => {
                let found = catalog::module(name);
                vec![found.ok_or_else(|| Failure::Usage(unknown_module(name)))?]
            }
        };
        if let (Some(path), Some(module)) = (&self.picture, chosen.first()) {
            super::plot::check_ending(path)?;
            let saved = super::picture::picture(module)?.save(path);
            return saved.map_err(|e| Failure::writing(path, &e));
        }
        if common.json {
            let list = chosen.iter().map(|m| as_json(m)).collect();
            return print(&format!("{:#}\n", serde_json::Value::Array(list)));
        }
        let text: String = match self.name {
            None => chosen.iter().map(|m| line(m)).collect(),
            Some(_) => chosen.iter().map(|m| details(m)).collect(),
        };
        print(&text)
    }
}

fn line(module: &Module) -> String {
    let role = module.role.to_string();
    let width = modules().map(|m| m.name.len()).max().unwrap_or(0) + 2;
    format!("  {:<width$}{role:<12}{}\n", module.name, module.formula)
}

fn details(module: &Module) -> String {
    let supports = module.supports().unwrap_or_default().join(", ");
    let parameters = module.parameters.iter().map(|p| {
        let default = p.default.map(|d| format!("default {d}"));
        let default = default.unwrap_or("required".to_owned());
        let text = format!("{}, {default}: {}", p.kind, p.meaning());
        (p.name, text)
    });
    let aliases = (!module.aliases.is_empty()).then(|| ("also", module.aliases.join(", ")));
    let lines: Vec<(&str, String)> = [("supports", supports)]
        .into_iter()
        .chain(aliases)
        .chain(parameters)
        .collect();
    let notes = wrapped(module.notes, 100);
    format!(
        "{} ({}): {}\n\n  {}\n\n{}{}{notes}",
        module.name,
        module.role,
        module.summary,
        module.formula,
        pairs(&lines),
        if notes.is_empty() { "" } else { "\n" },
    )
}

/// A number that is whole is written as one.
#[expect(clippy::cast_possible_truncation, reason = "only where it is exact")]
fn number(x: f64) -> serde_json::Value {
    if x.fract() == 0.0 && x.abs() < 1e15 {
        json!(x as i64)
    } else {
        json!(x)
    }
}

fn value(preset: Preset) -> serde_json::Value {
    match preset {
        Preset::Number(x) => number(x),
        Preset::Count(n) => json!(n),
        Preset::Numbers(x) => x.iter().map(|x| number(*x)).collect(),
        Preset::Word(word) => json!(word),
    }
}

fn as_json(module: &Module) -> serde_json::Value {
    let parameters = module.parameters.iter().map(|p| {
        json!({
            "name": p.name,
            "kind": p.kind.to_string(),
            "domain": p.domain.to_string(),
            "default": p.default.map(value),
            "learnable": p.learnable,
            "symbol": p.symbol,
            "doc": p.doc,
        })
    });
    json!({
        "kind": module.name,
        "aliases": module.aliases,
        "role": module.role.to_string(),
        "summary": module.summary,
        "formula": module.formula,
        "tex": module.tex,
        "notes": module.notes,
        "signals": module.signals.to_string(),
        "limit": module.limit,
        "supports": module.supports().ok(),
        "parameters": parameters.collect::<Vec<_>>(),
    })
}
