//! Numpy arrays from and to the library's slices.

use std::sync::Arc;

use numpy::ndarray::{ArrayViewD, IxDyn};
use numpy::{
    PyArray1, PyArray2, PyArrayDyn, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, ToPyArray,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use treeamp::belief::{Element, SignalSpec};
use treeamp::math::matrix::Matrix;

use crate::error::{model_error_of, model_message};

/// An array of one axis.
pub type Flat<'py> = Bound<'py, PyArray1<f64>>;

/// A row-major array of a signal's shape, copied once.
pub fn shaped<'py>(
    py: Python<'py>,
    spec: &SignalSpec,
    values: &[f64],
) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    let parts = (spec.element == Element::Complex).then(|| halves(values));
    let whole = spec.pairs.map(|n| symmetric(n, values));
    let values = parts.as_deref().or(whole.as_deref()).unwrap_or(values);
    let view = ArrayViewD::from_shape(IxDyn(&python_shape(spec)), values)
        .map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(view.to_pyarray(py))
}

/// The symmetric matrix of the pairs $i < j$ of `n`, row by row; its diagonal is zero.
fn symmetric(n: usize, pairs: &[f64]) -> Vec<f64> {
    let mut whole = vec![0.0; n * n];
    let places = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
    for ((i, j), x) in places.zip(pairs) {
        (whole[i * n + j], whole[j * n + i]) = (*x, *x);
    }
    whole
}

/// The shape of a signal's array: a complex one has its real and imaginary parts on the first axis, and pairs are a symmetric matrix.
pub fn python_shape(spec: &SignalSpec) -> Vec<usize> {
    if let Some(n) = spec.pairs {
        return vec![n, n];
    }
    let parts = (spec.element == Element::Complex).then_some(2);
    parts
        .into_iter()
        .chain(spec.shape.iter().copied())
        .collect()
}

/// The signal of an array of this shape.
pub fn signal(shape: &[usize], complex: bool) -> PyResult<SignalSpec> {
    match shape {
        [2, rest @ ..] if complex => Ok(SignalSpec::complex(rest)),
        _ if complex => Err(model_message(format!(
            "expected real and imaginary parts on the first axis, got shape {shape:?}"
        ))),
        _ => Ok(SignalSpec::real(shape)),
    }
}

/// All real parts, then all imaginary ones, from pairs.
pub fn halves(pairs: &[f64]) -> Vec<f64> {
    let part = |k: usize| pairs.iter().skip(k).step_by(2).copied();
    part(0).chain(part(1)).collect()
}

/// Pairs from all real parts, then all imaginary ones.
pub fn pairs(halves: &[f64]) -> Vec<f64> {
    let (re, im) = halves.split_at(halves.len() / 2);
    re.iter().zip(im).flat_map(|(re, im)| [*re, *im]).collect()
}

/// A one-dimensional array that takes over the memory.
pub fn flat(py: Python<'_>, values: Vec<f64>) -> Flat<'_> {
    PyArray1::from_vec(py, values)
}

/// The library's matrix from a row-major array.
pub fn matrix(w: &PyReadonlyArray2<'_, f64>, name: &str) -> PyResult<Matrix> {
    let view = w.as_array();
    let (rows, cols) = view.dim();
    Matrix::from_fn(rows, cols, |i, j| view[(i, j)])
        .map_err(|e| model_error_of(&e, &[("entries", name)]))
}

/// The library's matrix in 64 bits of an array in 32.
pub fn widened(w: &PyReadonlyArray2<'_, f32>, name: &str) -> PyResult<Matrix> {
    let view = w.as_array();
    let (rows, cols) = view.dim();
    Matrix::from_fn(rows, cols, |i, j| f64::from(view[(i, j)]))
        .map_err(|e| model_error_of(&e, &[("entries", name)]))
}

/// The entries of an array that nobody may write to, for as long as someone holds them.
struct Held<E> {
    entries: *const E,
    len: usize,
    _array: Py<PyArray2<E>>,
}

// Read only: `held` takes arrays that cannot be written to.
#[expect(
    unsafe_code,
    reason = "numbers that do not change may be read by any thread"
)]
unsafe impl<E: Sync> Send for Held<E> {}
#[expect(
    unsafe_code,
    reason = "numbers that do not change may be read by any thread"
)]
unsafe impl<E: Sync> Sync for Held<E> {}

impl<E> AsRef<[E]> for Held<E> {
    fn as_ref(&self) -> &[E] {
        #[expect(unsafe_code, reason = "the array is held, contiguous and read-only")]
        unsafe {
            std::slice::from_raw_parts(self.entries, self.len)
        }
    }
}

/// The entries of a row-major array that is read-only, without a copy; none of any other.
fn held<E: numpy::Element>(w: &PyReadonlyArray2<'_, E>) -> PyResult<Option<Arc<Held<E>>>> {
    let writeable: bool = w.getattr("flags")?.getattr("writeable")?.extract()?;
    let entries = w.as_slice().ok().filter(|e| !writeable && !e.is_empty());
    Ok(entries.map(|entries| {
        Arc::new(Held {
            entries: entries.as_ptr(),
            len: entries.len(),
            _array: (**w).clone().unbind(),
        })
    }))
}

/// The library's matrix of a row-major array that is read-only, without a copy; of any other with one.
pub fn shared_matrix(w: &PyReadonlyArray2<'_, f64>, name: &str) -> PyResult<Matrix> {
    let Some(entries) = held(w)? else {
        return matrix(w, name);
    };
    let (rows, cols) = w.as_array().dim();
    Matrix::shared(rows, cols, entries).map_err(|e| model_error_of(&e, &[("entries", name)]))
}

/// The same of entries of 32 bits, which they keep.
pub fn narrow_matrix(w: &PyReadonlyArray2<'_, f32>, name: &str) -> PyResult<Matrix> {
    let (rows, cols) = w.as_array().dim();
    let made = if let Some(entries) = held(w)? {
        Matrix::shared_narrow(rows, cols, entries)
    } else {
        let entries: Vec<f32> = w.as_array().iter().copied().collect();
        Matrix::shared_narrow(rows, cols, Arc::new(entries))
    };
    made.map_err(|e| model_error_of(&e, &[("entries", name)]))
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
