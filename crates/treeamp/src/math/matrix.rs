//! A dense real matrix and its products with row-major blocks of columns.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};

use crate::error::{ModelError, parameter};

/// A dense real matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    data: Mat<f64>,
}

impl Matrix {
    /// From rows laid end to end.
    ///
    /// # Errors
    /// A number of entries other than `rows * cols`, an empty matrix, NaN or infinity.
    pub fn from_rows(rows: usize, cols: usize, entries: &[f64]) -> Result<Self, ModelError> {
        if rows.checked_mul(cols) != Some(entries.len()) {
            let expected = format!("{rows} x {cols} entries");
            return Err(parameter("matrix", "entries", expected, entries.len()));
        }
        Self::new(MatRef::from_row_major_slice(entries, rows, cols).to_owned())
    }

    /// Entry by entry.
    ///
    /// # Errors
    /// An empty matrix, NaN or infinity.
    pub fn from_fn(
        rows: usize,
        cols: usize,
        mut entry: impl FnMut(usize, usize) -> f64,
    ) -> Result<Self, ModelError> {
        Self::new(Mat::from_fn(rows, cols, &mut entry))
    }

    /// From a faer matrix.
    ///
    /// # Errors
    /// An empty matrix, NaN or infinity.
    pub fn new(data: Mat<f64>) -> Result<Self, ModelError> {
        if data.nrows() == 0 || data.ncols() == 0 {
            let got = format!("{} x {}", data.nrows(), data.ncols());
            return Err(parameter("matrix", "shape", "at least 1 x 1", got));
        }
        for j in 0..data.ncols() {
            if let Some(i) = (0..data.nrows()).find(|i| !data[(*i, j)].is_finite()) {
                let got = format!("{} at row {i}, column {j}", data[(i, j)]);
                return Err(parameter("matrix", "entries", "finite", got));
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
    pub fn get(&self, row: usize, col: usize) -> f64 {
        self.data[(row, col)]
    }

    /// One column.
    #[must_use]
    pub fn column(&self, col: usize) -> &[f64] {
        self.data.col_as_slice(col)
    }

    /// The faer view.
    #[must_use]
    pub fn view(&self) -> MatRef<'_, f64> {
        self.data.as_ref()
    }

    /// $\|W\|_F^2$, the sum of squares.
    #[must_use]
    pub fn square_norm(&self) -> f64 {
        self.data.squared_norm_l2()
    }

    /// `out = W x` for `x` of `p` columns, row-major.
    pub fn apply(&self, x: &[f64], p: usize, out: &mut [f64]) {
        product(self.view(), x, p, out);
    }

    /// `out = W^T x` for `x` of `p` columns, row-major.
    pub fn apply_transpose(&self, x: &[f64], p: usize, out: &mut [f64]) {
        product(self.view().transpose(), x, p, out);
    }

    /// `out = W x` for vectors laid end to end.
    pub(crate) fn apply_to_each(&self, x: &[f64], out: &mut [f64]) {
        product_of_each(self.view(), x, out);
    }

    /// `out = W^T x` for vectors laid end to end.
    pub(crate) fn apply_transpose_to_each(&self, x: &[f64], out: &mut [f64]) {
        product_of_each(self.view().transpose(), x, out);
    }
}

/// `out = a x` on one thread, for vectors laid end to end: faster than the same vectors component by component.
fn product_of_each(a: MatRef<'_, f64>, x: &[f64], out: &mut [f64]) {
    let count = x.len() / a.ncols();
    let x = MatRef::from_column_major_slice(x, a.ncols(), count);
    let out = MatMut::from_column_major_slice_mut(out, a.nrows(), count);
    matmul(out, Accum::Replace, a, x, 1.0, Par::Seq);
}

/// `out = a x` on one thread, `x` and `out` row-major with `p` columns.
pub(crate) fn product(a: MatRef<'_, f64>, x: &[f64], p: usize, out: &mut [f64]) {
    let x = MatRef::from_row_major_slice(x, a.ncols(), p);
    let out = MatMut::from_row_major_slice_mut(out, a.nrows(), p);
    matmul(out, Accum::Replace, a, x, 1.0, Par::Seq);
}
