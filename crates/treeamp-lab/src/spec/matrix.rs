//! Matrices of a model file: a data file, or an ensemble with its ratio and seed.

use std::path::Path;

use treeamp::error::{ModelError, parameter};
use treeamp::math::complex_matrix::ComplexMatrix;
use treeamp::math::matrix::Matrix;
use treeamp::prelude::{LinearEnsemble, Spectrum};

use super::argument::{locate, read_finite};
use super::error::MakeError;
use super::resolve::LARGEST_ARRAY;
use crate::data::{self, Array, DataError};
use crate::ensemble;

/// The ensembles by name.
pub const ENSEMBLES: [&str; 10] = [
    "gaussian",
    "binary",
    "ternary",
    "orthogonal",
    "features_relu",
    "features_abs",
    "features_sign",
    "features_tanh",
    "complex_gaussian",
    "unitary",
];

/// The name of the column of ones that is added to a table.
pub const INTERCEPT: &str = "intercept";

/// Where a matrix comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum MatrixSource {
    /// A data file.
    File(Table),
    /// Random, `alpha` rows per column.
    Ensemble {
        /// Its name, one of [`ENSEMBLES`].
        kind: String,
        /// Rows per column.
        alpha: f64,
        /// A seed of its own, or that of the run.
        seed: Option<u64>,
    },
}

/// A data file, and what is done to its columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The file, with its columns or array behind a colon.
    pub file: String,
    /// Every column gets mean zero and variance one.
    pub standardise: bool,
    /// A column of ones stands behind the others.
    pub intercept: bool,
}

impl Table {
    /// The file as it is.
    pub fn plain(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            standardise: false,
            intercept: false,
        }
    }

    /// Does to an array what is asked for; columns may have names.
    pub fn prepare(&self, mut array: Array, names: &[String]) -> Result<Array, String> {
        if self.standardise {
            array = array.standardised(names)?;
        }
        if self.intercept {
            if names.iter().any(|n| n == INTERCEPT) {
                return Err(format!(
                    "a column is called `{INTERCEPT}` already: expected another name, or no `intercept = true`"
                ));
            }
            array = array.with_intercept()?;
        }
        Ok(array)
    }
}

impl MatrixSource {
    /// True if the entries are complex, as far as is known without reading a file.
    pub fn is_complex(&self) -> bool {
        let Self::Ensemble { kind, .. } = self else {
            return false;
        };
        kind == "complex_gaussian" || kind == "unitary"
    }

    /// The number of rows of a matrix that would be drawn; `None` of one that is read from a file.
    pub fn drawn_rows(&self, columns: usize) -> Result<Option<usize>, ModelError> {
        match self {
            Self::File(_) => Ok(None),
            Self::Ensemble { kind, alpha, .. } => {
                let rows = rows(*alpha, columns)?;
                check_kind(kind, columns)?;
                Ok(Some(rows))
            }
        }
    }

    /// A complex matrix itself.
    pub fn realise_complex(&self, columns: usize, seed: u64) -> Result<ComplexMatrix, ModelError> {
        match self {
            Self::Ensemble {
                kind,
                alpha,
                seed: own,
            } => {
                let (rows, seed) = (rows(*alpha, columns)?, own.unwrap_or(seed));
                match kind.as_str() {
                    "unitary" => ensemble::unitary(rows, columns, seed),
                    _ => ensemble::complex_gaussian(rows, columns, seed),
                }
            }
            Self::File(path) => Err(parameter("linear", "matrix", "an ensemble", &path.file)),
        }
    }

    /// The matrix itself.
    pub fn realise(&self, columns: usize, seed: u64, folder: &Path) -> Result<Matrix, MakeError> {
        match self {
            Self::File(path) => from_file(folder, path, Some(columns)),
            Self::Ensemble {
                kind,
                alpha,
                seed: own,
            } => {
                let rows = rows(*alpha, columns)?;
                Ok(draw(kind, rows, columns, own.unwrap_or(seed))?)
            }
        }
    }

    /// The spectrum in the limit, where the ensemble has one, for a real or complex input.
    pub fn limit(&self, folder: &Path, complex: bool) -> Result<LinearEnsemble, MakeError> {
        match self {
            Self::File(path) => {
                let w = from_file(folder, path, None)?;
                let failed = |e: treeamp::FactorError| {
                    parameter("linear", "matrix", "one with a spectrum", e)
                };
                Ok(LinearEnsemble::new(Spectrum::of(&w).map_err(failed)?))
            }
            Self::Ensemble { kind, alpha, .. } => match kind.as_str() {
                // independent entries of the same variance have the same spectrum in the limit
                "complex_gaussian" if !complex => {
                    Ok(LinearEnsemble::complex_gaussian_on_real(*alpha)?)
                }
                "gaussian" | "binary" | "ternary" | "complex_gaussian" => {
                    Ok(LinearEnsemble::gaussian(*alpha)?)
                }
                "orthogonal" | "unitary" => Ok(LinearEnsemble::orthogonal(*alpha)?),
                other => {
                    let expected = "an ensemble with a known limit (gaussian, binary, ternary, orthogonal, complex_gaussian, unitary)";
                    Err(parameter("linear", "matrix", expected, other).into())
                }
            },
        }
    }
}

/// A real matrix of a data file, with as many columns as its input has components where that is known.
fn from_file(folder: &Path, table: &Table, inputs: Option<usize>) -> Result<Matrix, MakeError> {
    let path = table.file.as_str();
    let content = |reason: String| MakeError::Data {
        key: "matrix",
        source: DataError::Content {
            path: path.to_owned(),
            reason,
        },
    };
    let array = read_finite(folder, path).map_err(|source| MakeError::Data {
        key: "matrix",
        source,
    })?;
    let array = if data::is_table(path) {
        array.as_columns()
    } else {
        array
    };
    let names = data::column_names(&locate(folder, path).to_string_lossy());
    let array = table.prepare(array, &names.unwrap_or_default());
    let array = array.map_err(content)?;
    let [rows, columns] = array.shape[..] else {
        let got = array.shape.len();
        return Err(content(format!("expected a matrix of two axes, got {got}")));
    };
    if array.complex {
        let reason = "expected real numbers, got complex ones";
        return Err(content(reason.to_owned()));
    }
    if inputs.is_some_and(|n| n != columns) {
        let n = inputs.unwrap_or_default();
        let reason =
            format!("expected {n} columns, one per component of the input, got {rows} x {columns}");
        return Err(content(reason));
    }
    Ok(Matrix::from_rows(rows, columns, &array.values)?)
}

fn rows(alpha: f64, columns: usize) -> Result<usize, ModelError> {
    let rows = (alpha * columns as f64).round().max(1.0);
    if !(alpha > 0.0) {
        return Err(parameter("linear", "alpha", "positive", alpha));
    }
    if !(rows * columns as f64 <= LARGEST_ARRAY) {
        let got = format!("{rows:e} x {columns}");
        return Err(parameter("linear", "matrix", "at most 1e9 entries", got));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked"
    )]
    Ok(rows as usize)
}

/// The ensemble exists at this size.
fn check_kind(kind: &str, columns: usize) -> Result<(), ModelError> {
    // random features have a square matrix inside
    if kind.starts_with("features") && (columns as f64).powi(2) > LARGEST_ARRAY {
        let expected = "of at most 31622 columns for random features";
        return Err(parameter("linear", "matrix", expected, columns));
    }
    if ENSEMBLES.contains(&kind) {
        return Ok(());
    }
    Err(parameter("linear", "ensemble", ENSEMBLES.join(", "), kind))
}

fn draw(kind: &str, rows: usize, columns: usize, seed: u64) -> Result<Matrix, ModelError> {
    check_kind(kind, columns)?;
    match kind {
        "gaussian" => ensemble::gaussian(rows, columns, seed),
        "binary" => ensemble::binary(rows, columns, seed),
        "ternary" => ensemble::ternary(rows, columns, [1.0 / 3.0; 3], seed),
        "orthogonal" => ensemble::orthogonal(rows, columns, seed),
        "features_relu" => ensemble::random_features(rows, columns, |u| u.max(0.0), seed),
        "features_abs" => ensemble::random_features(rows, columns, f64::abs, seed),
        "features_sign" => ensemble::random_features(rows, columns, f64::signum, seed),
        "features_tanh" => ensemble::random_features(rows, columns, f64::tanh, seed),
        other => Err(parameter("linear", "ensemble", ENSEMBLES.join(", "), other)),
    }
}
