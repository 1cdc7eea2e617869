//! `treeamp describe`: the factor graph of a model file.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use treeamp_lab::experiment::instance;
use treeamp_lab::spec::Scale;

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
    pub fn run(&self) -> Result<(), Failure> {
        let (file, setting) = self.model.read()?;
        let tree = if self.observed {
            instance(&file, &setting, 0)?.posterior
        } else {
            file.tree(&setting, Scale::Finite { seed: 0 })?
        };
        let text = match self.form {
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
