//! Linear operators written in Python, as two functions of arrays, matrices of other array libraries, and sparse ones.

use numpy::{
    PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArrayDyn, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use treeamp::belief::SignalSpec;
use treeamp::catalog::channels::IterativeOptions;
use treeamp::operator::{MatrixFree, SparseMatrix};
use treeamp::prelude::Linear;

use crate::array::{freeze, shaped, slice};
use crate::catalog::{EitherMatrix, route};
use crate::error::{keep, model_error, model_error_of, named, raised};
use crate::factor::Factor;

/// A function from arrays of one shape to arrays of another, for the library; what it raises is kept.
fn map(
    name: &str,
    function: Py<PyAny>,
    input: SignalSpec,
) -> impl Fn(&[f64], &mut [f64]) + Send + Sync + 'static {
    let name = name.to_owned();
    move |x: &[f64], out: &mut [f64]| {
        let answer = Python::attach(|py| -> PyResult<()> {
            let x = shaped(py, &input, x)?;
            freeze(&x);
            let y = function.bind(py).call1((x,))?;
            let y: PyReadonlyArrayDyn<'_, f64> = y.extract()?;
            let y = y.as_array();
            if y.len() != out.len() {
                let text = format!("expected {} components, got {}", out.len(), y.len());
                return Err(PyValueError::new_err(text));
            }
            out.iter_mut().zip(&y).for_each(|(out, y)| *out = *y);
            Ok(())
        });
        if let Err(error) = answer {
            keep(&name, error);
            out.fill(f64::NAN);
        }
    }
}

/// $x = W z$ by `apply(z)` and `adjoint(x)`; the dot test is run on them here.
#[pyfunction]
pub fn matrix_free(
    name: &str,
    input: Vec<usize>,
    output: Vec<usize>,
    apply: Py<PyAny>,
    adjoint: Py<PyAny>,
    tolerance: f64,
    max_iterations: usize,
) -> PyResult<Factor> {
    let (input, output) = (SignalSpec::real(input), SignalSpec::real(output));
    let _ = raised();
    let forward = map(name, apply, input.clone());
    let backward = map(name, adjoint, output.clone());
    let operator = MatrixFree::new(name, &input, &output, forward, backward);
    if let Some((node, error)) = raised() {
        return Err(named(error, &node));
    }
    let options = IterativeOptions {
        tolerance,
        max_iterations,
        ..IterativeOptions::default()
    };
    let channel = operator.and_then(|w| Linear::of(w).iterative(options));
    channel.map(Factor::new).map_err(|e| model_error(&e))
}

/// The products of a matrix that another library holds, with vectors laid end to end: a function from their array, a row for each, to that
/// of the products.
fn products(
    name: &str,
    function: Py<PyAny>,
    len: usize,
) -> impl Fn(&[f64], &mut [f64]) + Send + Sync + 'static {
    let name = name.to_owned();
    move |x: &[f64], out: &mut [f64]| {
        let answer = Python::attach(|py| -> PyResult<()> {
            let count = x.len() / len;
            let rows = PyArray1::from_slice(py, x).reshape([count, len])?;
            let found = function.bind(py).call1((rows,))?;
            let expected = [count, out.len() / count];
            let wrong = |shape: &[usize]| {
                let text = format!("expected products of shape {expected:?}, got {shape:?}");
                Err(PyValueError::new_err(text))
            };
            match found.extract()? {
                EitherMatrix::Wide(y) if y.shape() == expected => {
                    out.iter_mut().zip(&y.as_array()).for_each(|(o, y)| *o = *y);
                }
                EitherMatrix::Narrow(y) if y.shape() == expected => {
                    let y = y.as_array();
                    out.iter_mut().zip(&y).for_each(|(o, y)| *o = f64::from(*y));
                }
                EitherMatrix::Wide(y) => return wrong(y.shape()),
                EitherMatrix::Narrow(y) => return wrong(y.shape()),
            }
            Ok(())
        });
        if let Err(error) = answer {
            keep(&name, error);
            out.fill(f64::NAN);
        }
    }
}

/// $x = W z$ of a matrix that another library holds, by its products and by the squared norms of its rows and columns.
#[pyfunction]
pub fn array_matrix(
    name: &str,
    rows: PyReadonlyArray1<'_, f64>,
    columns: PyReadonlyArray1<'_, f64>,
    apply: Py<PyAny>,
    adjoint: Py<PyAny>,
    route: &str,
    tolerance: f64,
) -> PyResult<Factor> {
    let route = self::route(route)?;
    let (rows, columns) = (slice(&rows)?.to_vec(), slice(&columns)?.to_vec());
    let _ = raised();
    let forward = products(name, apply, columns.len());
    let backward = products(name, adjoint, rows.len());
    let operator = MatrixFree::of_matrix(name, rows, columns, forward, backward);
    if let Some((_, error)) = raised() {
        return Err(error);
    }
    let options = IterativeOptions {
        tolerance,
        ..IterativeOptions::default()
    };
    let channel = operator.and_then(|w| Linear::of(w).iterative(options));
    let channel = channel.map_err(|e| model_error(&e))?;
    Ok(Factor::new(channel.by(route)))
}

/// $x = W z$ of a sparse matrix in compressed rows.
#[pyfunction]
pub fn sparse_linear(
    cols: usize,
    starts: PyReadonlyArray1<'_, i64>,
    columns: PyReadonlyArray1<'_, i64>,
    entries: PyReadonlyArray1<'_, f64>,
) -> PyResult<Factor> {
    let places = |list: &PyReadonlyArray1<'_, i64>| -> PyResult<Vec<usize>> {
        let wrong = |_| PyValueError::new_err("expected places that are not negative");
        let list = list.as_array();
        list.iter()
            .map(|i| usize::try_from(*i).map_err(wrong))
            .collect()
    };
    let (starts, columns) = (places(&starts)?, places(&columns)?);
    let entries = entries.as_array().to_vec();
    let w = SparseMatrix::from_rows(cols, starts, columns, entries);
    w.map(|w| Factor::new(Linear::of(w)))
        .map_err(|e| model_error_of(&e, &[("entries", "W"), ("shape", "W")]))
}
