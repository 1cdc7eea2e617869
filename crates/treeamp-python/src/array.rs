//! Numpy arrays from and to the library's slices.

use numpy::ndarray::{ArrayViewD, IxDyn};
use numpy::{PyArray1, PyArrayDyn, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, ToPyArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use treeamp::belief::SignalSpec;
use treeamp::math::matrix::Matrix;

use crate::error::model_error;

/// A row-major array of a signal's shape, copied once.
pub fn shaped<'py>(
    py: Python<'py>,
    spec: &SignalSpec,
    values: &[f64],
) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    let view = ArrayViewD::from_shape(IxDyn(&spec.shape), values)
        .map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(view.to_pyarray(py))
}

/// A one-dimensional array that takes over the memory.
pub fn flat(py: Python<'_>, values: Vec<f64>) -> Bound<'_, PyArray1<f64>> {
    PyArray1::from_vec(py, values)
}

/// The library's matrix from a row-major array.
pub fn matrix(w: &PyReadonlyArray2<'_, f64>) -> PyResult<Matrix> {
    let view = w.as_array();
    let (rows, cols) = view.dim();
    Matrix::from_fn(rows, cols, |i, j| view[(i, j)]).map_err(|e| model_error(&e))
}

/// A contiguous array as a slice, without a copy.
pub fn slice<'a>(x: &'a PyReadonlyArray1<'_, f64>) -> PyResult<&'a [f64]> {
    x.as_slice()
        .map_err(|_| PyValueError::new_err("expected a contiguous array"))
}

/// Nobody may write to it.
pub fn freeze(array: &Bound<'_, PyArrayDyn<f64>>) {
    array.readwrite().make_nonwriteable();
}
