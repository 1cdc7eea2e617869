//! Laws of the rows of a matrix: mixtures of Gaussians, point masses among them.

use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use treeamp::prelude::{MixtureRow, RowLaw};

use crate::array::{Flat, flat};
use crate::error::model_error;
use crate::factor::Factor;

/// Weight, mean and covariance (row by row) of every component.
type Components = Vec<(f64, Vec<f64>, Vec<f64>)>;

fn law(components: &Components) -> PyResult<MixtureRow> {
    MixtureRow::new(components).map_err(|e| model_error(&e))
}

/// The prior of a matrix of `n` independent rows.
#[pyfunction]
pub fn mixture_rows(n: usize, components: Components) -> PyResult<Factor> {
    Ok(Factor::new(law(&components)?.rows(n)))
}

/// $A$, mean and covariance of every row, at one precision matrix $a$ for all of them and a matrix $b$.
#[pyfunction]
pub fn row_law<'py>(
    py: Python<'py>,
    components: Components,
    a: PyReadonlyArray2<'py, f64>,
    b: PyReadonlyArray2<'py, f64>,
) -> PyResult<(Flat<'py>, Flat<'py>, Flat<'py>)> {
    let law = law(&components)?;
    let (r, n) = (law.dim(), b.shape()[0]);
    let contiguous = |_| PyValueError::new_err("expected contiguous arrays");
    let (a_values, b_values) = (
        a.as_slice().map_err(contiguous)?,
        b.as_slice().map_err(contiguous)?,
    );
    if a.shape() != [r, r] || b.shape()[1] != r {
        let text = format!(
            "expected rows of {r} and a matrix {r} x {r}, got shapes {:?} and {:?}",
            b.shape(),
            a.shape()
        );
        return Err(PyValueError::new_err(text));
    }
    let mut log_z = vec![0.0; n];
    let (mut mean, mut covariance) = (vec![0.0; n * r], vec![0.0; n * r * r]);
    py.detach(|| {
        let moments = mean
            .chunks_exact_mut(r)
            .zip(covariance.chunks_exact_mut(r * r));
        for ((log_z, b), (mean, covariance)) in
            log_z.iter_mut().zip(b_values.chunks_exact(r)).zip(moments)
        {
            *log_z = law.tilted(a_values, b, mean, covariance);
        }
    });
    Ok((flat(py, log_z), flat(py, mean), flat(py, covariance)))
}
