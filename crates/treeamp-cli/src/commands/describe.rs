//! `treeamp describe`: the factor graph of a model file.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;
use treeamp::model::Tree;
use treeamp_lab::experiment::instance;
use treeamp_lab::spec::Scale;

use crate::common::Common;
use crate::exit::Failure;
use crate::model::ModelArgs;
use crate::output::{print, refuse_existing, save};

/// The forms of a factor graph.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Form {
    /// One line per factor
    Text,
    /// The language of Graphviz
    Dot,
    /// A drawing
    Svg,
}

/// Show the factor graph of a model file as text, DOT or SVG.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  treeamp describe models/committee.toml
  treeamp describe models/committee.toml --observed               with its likelihoods
  treeamp describe models/committee.toml --form svg -o graph.svg
  treeamp describe models/committee.toml --form dot | dot -Tpdf > graph.pdf

Exit codes:
  0 done, 2 the file is wrong, 3 something could not be read or written")]
pub struct Describe {
    #[command(flatten)]
    model: ModelArgs,
    /// As text, DOT or SVG
    #[arg(long, value_enum, default_value = "text")]
    form: Form,
    /// The model given its observations
    #[arg(long)]
    observed: bool,
    /// Into a file
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace a file that exists
    #[arg(long)]
    force: bool,
}

impl Describe {
    /// Draws it.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let (file, setting) = self.model.read()?;
        let tree = if self.observed {
            instance(&file, &setting, 0)?.posterior
        } else {
            file.tree(&setting, Scale::Finite { seed: 0 })?
        };
        let text = match self.form {
            _ if common.json => format!("{:#}\n", as_json(&tree)),
            Form::Text => tree.describe(),
            Form::Dot => tree.to_dot(),
            Form::Svg => tree.to_svg(),
        };
        match &self.output {
            None => print(&text),
            Some(path) => {
                refuse_existing(path, self.force)?;
                save(path, text.as_bytes())
            }
        }
    }
}

/// Variables and factors, each factor with the variables it takes and gives.
fn as_json(tree: &Tree) -> serde_json::Value {
    let variables = tree.variables().iter().map(|v| {
        json!({
            "name": v.name,
            "shape": v.spec.shape,
            "element": v.spec.element.to_string(),
            "belief": v.spec.structure.to_string(),
        })
    });
    let factors = tree.factors().iter().map(|f| {
        let name = |e: &usize| tree.variables()[tree.edges()[*e].variable].name.clone();
        let (takes, gives) = f.edges.split_at(f.inputs);
        json!({
            "name": f.name,
            "kind": f.factor.name(),
            "parameters": f.factor.summary(),
            "inputs": takes.iter().map(name).collect::<Vec<_>>(),
            "outputs": gives.iter().map(name).collect::<Vec<_>>(),
        })
    });
    json!({
        "variables": variables.collect::<Vec<_>>(),
        "factors": factors.collect::<Vec<_>>(),
    })
}
