//! `treeamp check`: validates a model file without running it.

use clap::Args;
use serde_json::json;
use treeamp::algorithms::{ExpectationPropagation, MaximumAPosteriori};
use treeamp_lab::experiment::{ExperimentError, instance};

use crate::common::Common;
use crate::exit::Failure;
use crate::model::ModelArgs;
use crate::output::print;

/// Check a model file and its data without running anything.
///
/// Reads the file and everything it refers to, builds the tree, conditions it on the observations, and plans
/// the run (rules, beliefs, memory): whatever `treeamp run` would refuse is refused here, with file, line and key. A law without a
/// second moment can be drawn from, but `treeamp predict` refuses it as a teacher, and this is said.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  treeamp check models/sparse_regression.toml
  treeamp check models/sparse_regression.toml --set rho=1.5     what is wrong with rho = 1.5?
  treeamp check models/total_variation.toml --map

Exit codes:
  0 the file is good, 2 it is not, 3 something could not be read")]
pub struct Check {
    #[command(flatten)]
    model: ModelArgs,
    /// What `run --map` would refuse, in place of what `run` would
    #[arg(long)]
    map: bool,
}

impl Check {
    /// Checks, and says so.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let (file, setting) = self.model.read()?;
        let instance = instance(&file, &setting, 0)?;
        let tree = &instance.posterior;
        let planned = if self.map {
            MaximumAPosteriori.on(tree).map(drop)
        } else {
            ExpectationPropagation.on(tree).map(drop)
        };
        planned.map_err(ExperimentError::from)?;
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
            });
            return print(&format!("{report}\n"));
        }
        let (name, size) = (
            &file.name,
            format!("{variables} hidden variables, {factors} factors"),
        );
        print(&match &instance.no_theory {
            None => format!("{name}: good: {size}\n"),
            Some(why) => format!("{name}: good for `run`, not for `predict`: {size}; {why}\n"),
        })
    }
}
