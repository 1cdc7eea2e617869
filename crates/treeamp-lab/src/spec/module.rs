//! What a model file can name: modules, their parameters, and what each supports.

use std::path::Path;
use std::sync::Arc;

use treeamp::belief::SignalSpec;
use treeamp::error::ModelError;
use treeamp::factor::Factor;

use super::argument::{Argument, Arguments};
use super::build::Scale;
use super::error::MakeError;
use super::matrix::MatrixSource;

/// The place of a module in a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It has outputs only.
    Prior,
    /// It has inputs and outputs.
    Channel,
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Prior => "prior",
            Self::Channel => "channel",
        })
    }
}

/// What a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// A number, or the name of one under `[parameters]`.
    Number,
    /// A count from 1, or the name of a parameter.
    Count,
    /// A list of numbers.
    Numbers,
    /// A size, or a list of sizes.
    Shape,
    /// A data file, or an ensemble with `alpha` and `seed`.
    Matrix,
    /// A data file.
    Data,
}

impl std::fmt::Display for ParameterKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Number => "number",
            Self::Count => "count",
            Self::Numbers => "list of numbers",
            Self::Shape => "size or list of sizes",
            Self::Matrix => "file or ensemble",
            Self::Data => "data file",
        })
    }
}

/// The value of a parameter that is not given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fallback {
    /// It must be given.
    Required,
    /// A number.
    Number(f64),
    /// A count.
    Count(usize),
    /// Some numbers.
    Numbers(&'static [f64]),
}

/// A parameter of a module.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Its key.
    pub name: &'static str,
    /// What it takes.
    pub kind: ParameterKind,
    /// What it is when not given.
    pub fallback: Fallback,
    /// What it means and its range.
    pub doc: &'static str,
}

impl Parameter {
    /// The fallback as an argument.
    pub(super) fn default_argument(&self) -> Option<Argument> {
        match self.fallback {
            Fallback::Required => None,
            Fallback::Number(x) => Some(Argument::Number(x)),
            Fallback::Count(n) => Some(Argument::Count(n)),
            Fallback::Numbers(x) => Some(Argument::Numbers(x.to_vec())),
        }
    }

    /// The fallback as a text, if there is one.
    #[must_use]
    pub fn default_text(&self) -> Option<String> {
        match self.fallback {
            Fallback::Required => None,
            Fallback::Number(x) => Some(x.to_string()),
            Fallback::Count(n) => Some(n.to_string()),
            Fallback::Numbers(x) => Some(format!("{x:?}")),
        }
    }
}

/// Makes the factor.
pub(super) type Make = fn(&Arguments<'_>) -> Result<Arc<dyn Factor>, MakeError>;

/// A module that a model file can name.
#[derive(Debug, Clone, Copy)]
pub struct Module {
    /// Its name in the catalogue.
    pub kind: &'static str,
    /// Its place in a model.
    pub role: Role,
    /// What it is.
    pub summary: &'static str,
    /// Its law.
    pub formula: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// It exists in the limit of large sizes, where only ratios matter.
    pub limit: bool,
    pub(super) make: Make,
}

impl Module {
    /// The parameter of that name.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|p| p.name == name)
    }

    /// What it supports, found by asking an instance: `inference`, `theory`, `sampling`, and `likelihood` when
    /// it has one of its own for an observed output, which is pinned otherwise.
    ///
    /// # Errors
    /// A module that needs a data file cannot be asked without one.
    pub fn supports(&self) -> Result<Vec<&'static str>, ModelError> {
        let example = |p: &Parameter| match p.kind {
            ParameterKind::Shape => Argument::Shape(vec![4]),
            ParameterKind::Matrix => Argument::Matrix(MatrixSource::Ensemble {
                kind: "orthogonal".to_owned(),
                alpha: 1.0,
                seed: None,
            }),
            ParameterKind::Number => Argument::Number(1.0),
            ParameterKind::Count => Argument::Count(2),
            ParameterKind::Numbers => Argument::Numbers(vec![1.0]),
            ParameterKind::Data => Argument::Data(String::new()),
        };
        let values = self.parameters.iter().map(|p| {
            let value = p.default_argument().unwrap_or_else(|| example(p));
            (p.name, value)
        });
        let inputs = [SignalSpec::real([4]), SignalSpec::real([4])];
        let factor = (self.make)(&Arguments {
            kind: self.kind,
            values: values.collect(),
            inputs: &inputs,
            scale: Scale::Finite { seed: 0 },
            folder: Path::new(""),
            seed: 0,
        })
        .map_err(|e| e.of(self.kind))?;
        let bound = factor.bind(&inputs[..factor.arity().inputs.min(2)]);
        let factor = bound.ok().flatten().unwrap_or(factor);
        let likelihood = matches!(factor.observe_unspecified(), Ok(Some(_)));
        let all = [
            ("inference", factor.posterior().is_some()),
            ("mode", factor.proximal().is_some()),
            ("theory", factor.ensemble().is_some()),
            ("sampling", factor.generator().is_some()),
            ("likelihood", likelihood && self.role == Role::Channel),
        ];
        Ok(all
            .into_iter()
            .filter(|(_, is)| *is)
            .map(|(name, _)| name)
            .collect())
    }
}
