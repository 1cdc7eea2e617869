//! Random matrices from a seed.

use numpy::PyArray2;
use numpy::ndarray::Array2;
use pyo3::prelude::*;
use treeamp::math::matrix::Matrix;
use treeamp_lab::ensemble;

use crate::error::{keep, model_error, model_message, named, raised};

fn to_array(py: Python<'_>, w: &Matrix) -> Py<PyArray2<f64>> {
    let array = Array2::from_shape_fn((w.rows(), w.cols()), |(i, j)| w.get(i, j));
    PyArray2::from_owned_array(py, array).unbind()
}

/// A matrix of a named ensemble; `p` holds its probabilities.
#[pyfunction]
pub fn random_matrix(
    py: Python<'_>,
    law: &str,
    rows: usize,
    cols: usize,
    p: Vec<f64>,
    seed: u64,
) -> PyResult<Py<PyArray2<f64>>> {
    let drawn = py.detach(|| match (law, p.as_slice()) {
        ("gaussian", _) => Some(ensemble::gaussian(rows, cols, seed)),
        ("binary", _) => Some(ensemble::binary(rows, cols, seed)),
        ("ternary", [minus, zero, plus]) => {
            Some(ensemble::ternary(rows, cols, [*minus, *zero, *plus], seed))
        }
        ("orthogonal", _) => Some(ensemble::orthogonal(rows, cols, seed)),
        _ => None,
    });
    let drawn = drawn.ok_or_else(|| model_message(format!("there is no ensemble `{law}`")))?;
    Ok(to_array(py, &drawn.map_err(|e| model_error(&e))?))
}

/// Random features $f(u)$, centred and scaled; `f` takes and gives a number.
#[pyfunction]
pub fn random_features(
    py: Python<'_>,
    rows: usize,
    cols: usize,
    f: &Bound<'_, PyAny>,
    seed: u64,
) -> PyResult<Py<PyArray2<f64>>> {
    let call = |u: f64| -> f64 {
        let value = f.call1((u,)).and_then(|y| y.extract());
        value.unwrap_or_else(|error| {
            keep("random_features", error);
            f64::NAN
        })
    };
    let drawn = ensemble::random_features(rows, cols, call, seed);
    if let Some((name, error)) = raised() {
        return Err(named(error, &name));
    }
    Ok(to_array(py, &drawn.map_err(|e| model_error(&e))?))
}
