//! `treeamp check`: validates a model file without running it.

use clap::Args;
use serde_json::json;
use treeamp::algorithms::{ExpectationPropagation, MaximumAPosteriori};
use treeamp::belief::Structure;
use treeamp::engine::Estimate;
use treeamp_lab::experiment::{ExperimentError, RunOptions, outline};

use crate::common::Common;
use crate::exit::Failure;
use crate::model::ModelArgs;
use crate::number as parse;
use crate::output::print;
use crate::text::number;

/// Check a model file and its data without running anything.
///
/// Reads the file and everything it refers to, builds the tree, conditions it on the observations, and checks
/// rules, beliefs and memory: what `treeamp run` would refuse before its first sweep is refused here, with file, line and key. Random matrices are not
/// drawn and nothing is decomposed, so that it answers at once, and says what a run costs to an order of magnitude. (Observations are drawn: where there
/// are 10^8 of them, as of images or products of that many entries, that takes seconds.) A law without a
/// second moment can be drawn from, but `treeamp predict` refuses it as a teacher, and this is said.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  treeamp check models/sparse_regression.toml
  treeamp check models/sparse_regression.toml --set rho=1.5     what is wrong with rho = 1.5?
  treeamp check models/sparse_regression.toml --set n=20000     what would that cost?
  treeamp check models/total_variation.toml --map
  treeamp check models/sparse_regression.toml --belief diagonal   what would other beliefs cost?

Exit codes:
  0 the file is good, 2 it is not, 3 something could not be read")]
pub struct Check {
    #[command(flatten)]
    model: ModelArgs,
    /// Check for `run --map` in place of `run`
    #[arg(long)]
    map: bool,
    /// The precisions of every variable, as `run --belief` takes them
    #[arg(long, value_name = "STRUCTURE", value_parser = parse::belief, allow_negative_numbers = true)]
    #[arg(conflicts_with = "map")]
    belief: Option<Structure>,
}

impl Check {
    /// Checks, and says so.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let (file, setting) = self.model.read()?;
        let asked = RunOptions {
            belief: self.belief,
            ..RunOptions::default()
        };
        let asked = asked.or_of(&file);
        let instance = asked.with_beliefs(outline(&file, &setting)?)?;
        let tree = &instance.posterior;
        let options = asked.planning();
        let checked = if self.map {
            MaximumAPosteriori.check(tree, &options)
        } else {
            ExpectationPropagation.check(tree, &options)
        };
        checked.map_err(ExperimentError::from)?;
        let cost = Estimate::of(tree);
        let (variables, factors) = (tree.variables().len(), tree.factors().len());
        if common.json {
            let observed: Vec<&str> = tree.observed().iter().map(|(n, _)| n.as_str()).collect();
            let report = json!({
                "file": file.name,
                "ok": true,
                "variables": variables,
                "factors": factors,
                "observed": observed,
                "no_theory": instance.no_theory,
                "parameters": file.adjustable(),
                "warnings": file.warnings(),
                "cost": {
                    "set_up_seconds": number(cost.set_up_seconds()),
                    "sweep_seconds": number(cost.sweep_seconds()),
                    "bytes": number(cost.bytes),
                    "parts": cost.parts.iter().map(|(name, c)| json!({
                        "name": name,
                        "set_up": number(c.set_up),
                        "sweep": number(c.sweep),
                    })).collect::<Vec<_>>(),
                },
            });
            return print(&format!("{report}\n"));
        }
        let (name, size) = (
            &file.name,
            format!("{variables} hidden variables, {factors} factors"),
        );
        print(&match &instance.no_theory {
            None => format!("{name}: good: {size}\n  cost  {cost}\n"),
            Some(why) => format!(
                "{name}: good for `run`, not for `predict`: {size}; {why}\n  cost  {cost}\n"
            ),
        })
    }
}
