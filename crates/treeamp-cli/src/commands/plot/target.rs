//! Where a picture goes.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use treeamp_lab::figure::Figure;

use crate::common::Common;
use crate::exit::Failure;
use crate::output::{check_name, print, refuse_existing};
use crate::text::pairs;

/// Refuses names of pictures of another kind than .svg and .png.
pub fn check_ending(path: &Path) -> Result<(), Failure> {
    check_name(path, &["svg", "png"])
}

/// The file of a picture.
#[derive(Debug, Args)]
pub struct Target {
    /// The picture: its name ends in .svg or .png
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Replace a picture that exists
    #[arg(long)]
    pub force: bool,
}

impl Target {
    /// A name of a known kind, that is free.
    pub fn check(&self) -> Result<(), Failure> {
        check_ending(&self.output)?;
        refuse_existing(&self.output, self.force)
    }

    /// Saves the picture, and says where it is.
    pub fn draw(&self, figure: &Figure, common: &Common) -> Result<(), Failure> {
        self.draw_of(figure, &[], common)
    }

    /// The same of a run, with what else there is to say of it.
    pub fn draw_of(
        &self,
        figure: &Figure,
        said: &[(&str, &str)],
        common: &Common,
    ) -> Result<(), Failure> {
        figure
            .save(&self.output)
            .map_err(|e| Failure::writing(&self.output, &e))?;
        if common.json {
            let mut report = json!({ "picture": self.output });
            for (name, text) in said {
                report[*name] = json!(text);
            }
            return print(&format!("{report}\n"));
        }
        let picture = self.output.display().to_string();
        let said = said.iter().map(|(n, text)| (*n, (*text).to_owned()));
        let lines: Vec<_> = said.chain([("picture", picture)]).collect();
        print(&pairs(&lines))
    }
}
