//! The model file of a command, with values set on the command line.

use std::path::PathBuf;

use clap::Args;
use treeamp_lab::spec::{ModelFile, Setting};

use crate::exit::Failure;
use crate::output::warn;

/// A model file and values that replace its own.
#[derive(Debug, Args)]
pub struct ModelArgs {
    /// Model file (TOML); `treeamp modules` lists what it can name
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Set a parameter of the model, or of one factor: rho=0.2, linear.alpha=1.5
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    pub set: Vec<(String, f64)>,
}

impl ModelArgs {
    /// The values that were set, for reports.
    pub fn given(&self) -> Vec<(String, String)> {
        let set = self.set.iter();
        set.map(|(n, v)| ("set".to_owned(), format!("{n} = {v}")))
            .collect()
    }

    /// Says where a parameter is set that another option varies, under this name or another one.
    pub fn warn_of_set(&self, file: &ModelFile, varied: &[&str], option: &str) {
        for (name, _) in &self.set {
            let behind = file.only_name(name);
            for other in varied {
                if name == other {
                    warn(&format!(
                        "`{name}` is set and varied: the values of {option} are taken, not that of --set"
                    ));
                } else if behind == Some(*other) {
                    warn(&format!(
                        "`{name}` is set, and `{other}`, which it stands for, is varied: its values have no effect"
                    ));
                } else if file.only_name(other) == Some(name) {
                    warn(&format!(
                        "`{name}` is set, and `{other}` is varied in its place: the values of {option} are taken, not that of --set"
                    ));
                }
            }
        }
    }

    /// Says where two values are set of one thing.
    fn warn_of_repeated(&self, file: &ModelFile) {
        for (k, (name, value)) in self.set.iter().enumerate() {
            let (before, behind) = (&self.set[..k], &self.set[k + 1..]);
            let again = before.iter().any(|(n, _)| n == name);
            let last = !behind.iter().any(|(n, _)| n == name);
            if again && last {
                warn(&format!(
                    "`{name}` is set more than once: the last value, {value}, is taken"
                ));
            }
            let parameter = file.only_name(name).filter(|_| last);
            if let Some(parameter) = parameter
                && self.set.iter().any(|(n, _)| n == parameter)
            {
                warn(&format!(
                    "`{parameter}` and `{name}` are set, and are the same thing: the value of `{name}`, {value}, is taken"
                ));
            }
        }
    }

    /// Reads the file.
    pub fn read(&self) -> Result<(ModelFile, Setting), Failure> {
        let file = ModelFile::read(&self.file)?;
        for warning in file.warnings() {
            warn(&format!("{}: {warning}", file.name));
        }
        self.warn_of_repeated(&file);
        let set = self.set.iter();
        let setting = set.fold(Setting::new(), |s, (name, value)| s.with(name, *value));
        Ok((file, setting))
    }
}

fn assignment(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or("expected name=value")?;
    let value: f64 = value
        .trim()
        .parse()
        .map_err(|_| "expected a number after `=`")?;
    if !value.is_finite() {
        return Err("expected a finite number after `=`".to_owned());
    }
    Ok((name.trim().to_owned(), value))
}
