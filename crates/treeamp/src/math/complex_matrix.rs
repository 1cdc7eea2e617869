//! A dense complex matrix and its products with row-major blocks of columns.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use num_complex::Complex64;

use super::matrix::Matrix;
use crate::error::{ModelError, parameter};

/// A dense complex matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct ComplexMatrix {
    data: Mat<Complex64>,
}

impl ComplexMatrix {
    /// Entry by entry.
    ///
    /// # Errors
    /// An empty matrix, NaN or infinity.
    pub fn from_fn(
        rows: usize,
        cols: usize,
        mut entry: impl FnMut(usize, usize) -> Complex64,
    ) -> Result<Self, ModelError> {
        Self::new(Mat::from_fn(rows, cols, &mut entry))
    }

    /// From the real and the imaginary part.
    ///
    /// # Errors
    /// Parts of different shapes.
    pub fn from_parts(re: &Matrix, im: &Matrix) -> Result<Self, ModelError> {
        let shape = |m: &Matrix| format!("{} x {}", m.rows(), m.cols());
        if shape(re) != shape(im) {
            let expected = format!("{}, as the real part", shape(re));
            return Err(parameter("complex matrix", "im", expected, shape(im)));
        }
        Self::from_fn(re.rows(), re.cols(), |i, j| {
            Complex64::new(re.get(i, j), im.get(i, j))
        })
    }

    /// From a faer matrix.
    ///
    /// # Errors
    /// An empty matrix, NaN or infinity.
    pub fn new(data: Mat<Complex64>) -> Result<Self, ModelError> {
        if data.nrows() == 0 || data.ncols() == 0 {
            let got = format!("{} x {}", data.nrows(), data.ncols());
            return Err(parameter("complex matrix", "shape", "at least 1 x 1", got));
        }
        for j in 0..data.ncols() {
            if let Some(i) = (0..data.nrows()).find(|i| !data[(*i, j)].is_finite()) {
                let got = format!("{} at row {i}, column {j}", data[(i, j)]);
                return Err(parameter("complex matrix", "entries", "finite", got));
            }
        }
        Ok(Self { data })
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.data.nrows()
    }

    /// Number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.data.ncols()
    }

    /// One entry.
    #[must_use]
    pub fn get(&self, row: usize, col: usize) -> Complex64 {
        self.data[(row, col)]
    }

    /// The faer view.
    #[must_use]
    pub fn view(&self) -> MatRef<'_, Complex64> {
        self.data.as_ref()
    }

    /// The real matrix that takes a real signal to interleaved real and imaginary parts: twice the rows.
    ///
    /// # Errors
    /// Never: the entries are finite.
    pub fn interleaved(&self) -> Result<Matrix, ModelError> {
        Matrix::from_fn(2 * self.rows(), self.cols(), |i, j| {
            let w = self.data[(i / 2, j)];
            if i % 2 == 0 { w.re } else { w.im }
        })
    }

    /// `out = W x` for interleaved `x`, row-major.
    pub fn apply(&self, x: &[f64], out: &mut [f64]) {
        complex_product(self.view(), x, out);
    }

    /// `out = W^H x` for interleaved `x`, row-major.
    pub fn apply_adjoint(&self, x: &[f64], out: &mut [f64]) {
        adjoint_product(self.view(), x, out);
    }
}

fn columns(x: &[f64], rows: usize) -> MatRef<'_, Complex64> {
    let x: &[Complex64] = bytemuck::cast_slice(x);
    MatRef::from_row_major_slice(x, rows, x.len() / rows)
}

fn columns_mut(x: &mut [f64], rows: usize) -> MatMut<'_, Complex64> {
    let x: &mut [Complex64] = bytemuck::cast_slice_mut(x);
    let columns = x.len() / rows;
    MatMut::from_row_major_slice_mut(x, rows, columns)
}

/// `out = a x` on one thread.
pub(crate) fn complex_product(a: MatRef<'_, Complex64>, x: &[f64], out: &mut [f64]) {
    let x = columns(x, a.ncols());
    let out = columns_mut(out, a.nrows());
    matmul(out, Accum::Replace, a, x, Complex64::ONE, Par::Seq);
}

/// `out = a^H x` on one thread.
pub(crate) fn adjoint_product(a: MatRef<'_, Complex64>, x: &[f64], out: &mut [f64]) {
    let x = columns(x, a.nrows());
    let out = columns_mut(out, a.ncols());
    matmul(
        out,
        Accum::Replace,
        a.adjoint(),
        x,
        Complex64::ONE,
        Par::Seq,
    );
}
