//! The arguments of a module, read from a file by the kinds its parameters have.

use std::path::{Path, PathBuf};

use treeamp::belief::{Element, SignalSpec};
use treeamp::error::{ModelError, parameter};
use treeamp::math::matrix::Matrix;

use super::build::Scale;
use super::error::MakeError;
use super::matrix::MatrixSource;
use crate::data::{self, Array, DataError};

/// A value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Argument {
    Number(f64),
    Count(usize),
    Numbers(Vec<f64>),
    Shape(Vec<usize>),
    Matrix(MatrixSource),
    Data(String),
}

/// The size of a variable that a prior starts.
#[derive(Debug)]
pub enum Size<'a> {
    Finite(&'a [usize]),
    /// In the limit of large sizes, where only ratios matter.
    Limit(f64),
}

/// All arguments of a factor, defaults filled in, and where it stands in the model.
#[derive(Debug)]
pub struct Arguments<'a> {
    pub kind: &'static str,
    pub values: Vec<(&'static str, Argument)>,
    pub inputs: &'a [SignalSpec],
    pub scale: Scale,
    /// The folder that paths are relative to.
    pub folder: &'a Path,
    /// The seed of an ensemble that has none of its own.
    pub seed: u64,
}

impl Arguments<'_> {
    fn get(&self, name: &str) -> Option<&Argument> {
        self.values.iter().find(|(n, _)| *n == name).map(|(_, v)| v)
    }

    fn missing(&self, name: &'static str) -> ModelError {
        parameter(self.kind, name, "given", "nothing")
    }

    pub fn number(&self, name: &'static str) -> Result<f64, ModelError> {
        match self.get(name) {
            Some(Argument::Number(x)) => Ok(*x),
            _ => Err(self.missing(name)),
        }
    }

    pub fn count(&self, name: &'static str) -> Result<usize, ModelError> {
        match self.get(name) {
            Some(Argument::Count(n)) => Ok(*n),
            _ => Err(self.missing(name)),
        }
    }

    pub fn numbers(&self, name: &'static str) -> Result<&[f64], ModelError> {
        match self.get(name) {
            Some(Argument::Numbers(x)) => Ok(x),
            _ => Err(self.missing(name)),
        }
    }

    pub fn shape(&self, name: &'static str) -> Result<&[usize], ModelError> {
        match self.get(name) {
            Some(Argument::Shape(shape)) => Ok(shape),
            _ => Err(self.missing(name)),
        }
    }

    pub fn size(&self) -> Result<Size<'_>, ModelError> {
        let shape = self.shape("size")?;
        Ok(match self.scale {
            Scale::Finite { .. } => Size::Finite(shape),
            Scale::Limit => Size::Limit(shape.iter().map(|n| *n as f64).product()),
        })
    }

    pub fn matrix(&self, name: &'static str) -> Result<&MatrixSource, ModelError> {
        match self.get(name) {
            Some(Argument::Matrix(source)) => Ok(source),
            _ => Err(self.missing(name)),
        }
    }

    /// The array of a data file.
    pub fn data(&self, name: &'static str) -> Result<Array, MakeError> {
        let Some(Argument::Data(path)) = self.get(name) else {
            return Err(self.missing(name).into());
        };
        read_finite(self.folder, path).map_err(|source| MakeError::Data { key: name, source })
    }

    /// A data file of truth values, or of zeros and others, with its shape.
    pub fn mask(&self, name: &'static str) -> Result<(Vec<bool>, Vec<usize>), MakeError> {
        let array = self.data(name)?;
        if array.complex {
            return Err(parameter(self.kind, name, "truth values", "complex numbers").into());
        }
        let observed = array.values.iter().map(|x| *x != 0.0).collect();
        Ok((observed, array.shape))
    }

    /// The first input is complex.
    pub fn is_complex(&self) -> bool {
        let first = self.inputs.first();
        first.is_some_and(|spec| spec.element == Element::Complex)
    }

    /// The number of components of the first input; one where the wiring is wrong, which the tree says later.
    pub fn columns(&self) -> usize {
        self.inputs.first().map_or(1, SignalSpec::count)
    }

    /// The matrix that a source stands for, with as many columns as the input has components.
    pub fn realise(&self, source: &MatrixSource) -> Result<Matrix, MakeError> {
        source.realise(self.columns(), self.seed, self.folder)
    }
}

/// The array of a file next to the model, without NaN and infinity.
pub fn read_finite(folder: &Path, path: &str) -> Result<Array, DataError> {
    let array = data::read(&locate(folder, path).to_string_lossy())?;
    match array.values.iter().position(|x| !x.is_finite()) {
        None => Ok(array),
        Some(i) => Err(DataError::Content {
            path: path.to_owned(),
            reason: format!(
                "expected finite values, got {} at index {i}",
                array.values[i]
            ),
        }),
    }
}

/// A path of a file, relative to the folder of the model file; `npz` members stay behind it.
pub fn locate(folder: &Path, path: &str) -> PathBuf {
    folder.join(path)
}
