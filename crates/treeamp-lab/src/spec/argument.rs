//! From what a file says of a factor to the plain arguments of its module: matrices drawn or read, data files read.

use std::path::{Path, PathBuf};

use treeamp::belief::{Element, SignalSpec, Structure};
use treeamp::catalog::{
    Argument, Arguments, ArrayArgument, Domain, MatrixArgument, Parameter, Size,
};
use treeamp::operator::StandIn;
use treeamp::prelude::{LinearEnsemble, Matrix};

use super::build::Scale;
use super::error::MakeError;
use super::matrix::MatrixSource;
use crate::data::{self, Array, DataError};

/// A value as the file has it.
#[derive(Debug, Clone)]
pub enum Value {
    /// It is what it says.
    Plain(Argument),
    /// The size of a variable, or a ratio in the limit.
    Size(Vec<usize>),
    Matrix(MatrixSource),
    /// A data file.
    File(String),
}

/// Where a factor stands in the model.
#[derive(Debug)]
pub struct Place<'a> {
    pub inputs: &'a [SignalSpec],
    pub scale: Scale,
    /// The folder that paths are relative to.
    pub folder: &'a Path,
    /// The seed of an ensemble that has none of its own.
    pub seed: u64,
}

impl Place<'_> {
    /// The plain arguments of a module.
    pub fn arguments(
        &self,
        values: Vec<(&'static Parameter, Value)>,
    ) -> Result<Arguments, MakeError> {
        let mut arguments = Arguments::new().on(self.inputs.to_vec());
        for (parameter, value) in values {
            let plain = match value {
                Value::Plain(argument) => argument,
                Value::Size(shape) => Argument::Size(match self.scale {
                    Scale::Finite { .. } | Scale::Outline => Size::Shape(shape),
                    Scale::Limit => Size::Limit(shape.iter().map(|n| *n as f64).product()),
                }),
                Value::Matrix(source) => Argument::Matrix(self.matrix(&source, parameter)?),
                Value::File(path) => self.data(parameter, &path)?,
            };
            arguments = arguments.with(parameter.name, plain);
        }
        Ok(arguments)
    }

    /// The matrix that a source stands for, with as many columns as the input has components; in the limit its
    /// spectrum, which is known beforehand of an orthogonal one.
    fn matrix(&self, source: &MatrixSource, p: &Parameter) -> Result<MatrixArgument, MakeError> {
        let first = self.inputs.first();
        let complex = first.is_some_and(|spec| spec.element == Element::Complex);
        // one where the wiring is wrong, which the tree says later
        let columns = first.map_or(1, columns_of);
        Ok(match self.scale {
            Scale::Limit if p.domain == Domain::Orthogonal => {
                MatrixArgument::Limit(LinearEnsemble::orthogonal(1.0)?)
            }
            Scale::Limit => MatrixArgument::Limit(source.limit(self.folder, complex)?),
            Scale::Outline => self.outline(source, p, columns)?,
            Scale::Finite { .. } if source.is_complex() => {
                MatrixArgument::Complex(source.realise_complex(columns, self.seed)?)
            }
            Scale::Finite { .. } => {
                MatrixArgument::Real(source.realise(columns, self.seed, self.folder)?)
            }
        })
    }

    /// The same, but a stand-in for a matrix that would be drawn.
    fn outline(
        &self,
        source: &MatrixSource,
        p: &Parameter,
        columns: usize,
    ) -> Result<MatrixArgument, MakeError> {
        let Some(rows) = source.drawn_rows(columns)? else {
            return Ok(MatrixArgument::Real(source.realise(
                columns,
                self.seed,
                self.folder,
            )?));
        };
        if p.domain == Domain::Orthogonal {
            let identity = |i: usize, j: usize| f64::from(u8::from(i == j));
            return Ok(MatrixArgument::Real(Matrix::from_fn(
                rows, columns, identity,
            )?));
        }
        let from = match self.inputs.first() {
            Some(spec) if source.is_complex() => spec.element,
            _ => Element::Real,
        };
        let to = if source.is_complex() {
            Element::Complex
        } else {
            Element::Real
        };
        let shape = StandIn::new(rows, columns, from, to)?;
        Ok(MatrixArgument::StandIn(shape))
    }

    /// The array of a data file: where a parameter takes a list of numbers, or truth values, the module says whether it fits.
    fn data(&self, p: &Parameter, path: &str) -> Result<Argument, MakeError> {
        let array = read_finite(self.folder, path).map_err(|source| MakeError::Data {
            key: p.name,
            source,
        })?;
        Ok(Argument::Array(ArrayArgument {
            shape: array.shape,
            values: array.values,
            complex: array.complex,
        }))
    }
}

/// The columns of a matrix on this input: its components, or its rows where each has a belief of its own, and the matrix is one for all
/// columns of the input.
fn columns_of(input: &SignalSpec) -> usize {
    match (input.structure, input.shape.last()) {
        (Structure::Block { .. }, Some(last)) if input.shape.len() > 1 && *last > 0 => {
            input.count() / last
        }
        _ => input.count(),
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
