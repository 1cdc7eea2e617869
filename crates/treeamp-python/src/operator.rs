//! Linear operators written in Python, as two functions of arrays, and sparse matrices.

use numpy::{PyReadonlyArray1, PyReadonlyArrayDyn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use treeamp::belief::SignalSpec;
use treeamp::catalog::channels::IterativeOptions;
use treeamp::operator::{MatrixFree, SparseMatrix};
use treeamp::prelude::Linear;

use crate::array::{freeze, shaped};
use crate::error::{keep, model_error, named, raised};
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
        .map_err(|e| model_error(&e))
}
