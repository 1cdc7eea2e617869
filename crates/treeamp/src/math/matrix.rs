//! A dense real matrix and its products with row-major blocks of columns.

use std::fmt;
use std::sync::Arc;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};

use crate::error::{ModelError, parameter};

/// A dense real matrix, with entries of its own or those that someone else holds.
#[derive(Clone)]
pub struct Matrix {
    data: Data,
}

#[derive(Clone)]
enum Data {
    Own(Mat<f64>),
    /// Rows laid end to end.
    Shared {
        entries: Arc<dyn AsRef<[f64]> + Send + Sync>,
        rows: usize,
        cols: usize,
    },
}

impl fmt::Debug for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Matrix({} x {})", self.rows(), self.cols())
    }
}

impl PartialEq for Matrix {
    fn eq(&self, other: &Self) -> bool {
        self.view() == other.view()
    }
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

    /// Of entries that stay where they are, as rows laid end to end. They must not change.
    ///
    /// # Errors
    /// As [`from_rows`](Self::from_rows).
    pub fn shared(
        rows: usize,
        cols: usize,
        entries: Arc<dyn AsRef<[f64]> + Send + Sync>,
    ) -> Result<Self, ModelError> {
        let len = (*entries).as_ref().len();
        if rows.checked_mul(cols) != Some(len) {
            let expected = format!("{rows} x {cols} entries");
            return Err(parameter("matrix", "entries", expected, len));
        }
        Self::checked(Data::Shared {
            entries,
            rows,
            cols,
        })
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
        Self::checked(Data::Own(data))
    }

    fn checked(data: Data) -> Result<Self, ModelError> {
        let this = Self { data };
        let (rows, cols) = (this.rows(), this.cols());
        if rows == 0 || cols == 0 {
            let got = format!("{rows} x {cols}");
            return Err(parameter("matrix", "shape", "at least 1 x 1", got));
        }
        // chunks without a branch inside are vectorised
        let finite = |line: &[f64]| {
            let mut chunks = line.chunks(64);
            chunks.all(|chunk| chunk.iter().fold(true, |all, x| all & x.is_finite()))
        };
        let count = if this.by_rows() { rows } else { cols };
        let Some(k) = (0..count).find(|k| !finite(this.line(*k))) else {
            return Ok(this);
        };
        let line = this.line(k);
        let l = line.iter().position(|x| !x.is_finite()).unwrap_or(0);
        let (i, j) = if this.by_rows() { (k, l) } else { (l, k) };
        let got = format!("{} at row {i}, column {j}", line[l]);
        Err(parameter("matrix", "entries", "finite", got))
    }

    /// Rows lie together in memory, and not columns.
    fn by_rows(&self) -> bool {
        matches!(self.data, Data::Shared { .. })
    }

    /// Row or column `k`, whichever lies together.
    fn line(&self, k: usize) -> &[f64] {
        match &self.data {
            Data::Own(data) => data.col_as_slice(k),
            Data::Shared { entries, cols, .. } => &(**entries).as_ref()[k * cols..(k + 1) * cols],
        }
    }

    /// The squared norms of rows and of columns.
    #[must_use]
    pub fn square_norms(&self) -> (Vec<f64>, Vec<f64>) {
        let by_rows = self.by_rows();
        let (count, len) = if by_rows {
            (self.rows(), self.cols())
        } else {
            (self.cols(), self.rows())
        };
        let (mut along, mut across) = (Vec::with_capacity(count), vec![0.0; len]);
        for line in (0..count).map(|k| self.line(k)) {
            let pairs = across.iter_mut().zip(line);
            pairs.for_each(|(sum, x)| *sum += x * x);
            along.push(sum_of_squares(line));
        }
        if by_rows {
            (along, across)
        } else {
            (across, along)
        }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        match &self.data {
            Data::Own(data) => data.nrows(),
            Data::Shared { rows, .. } => *rows,
        }
    }

    /// Number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        match &self.data {
            Data::Own(data) => data.ncols(),
            Data::Shared { cols, .. } => *cols,
        }
    }

    /// One entry.
    #[must_use]
    pub fn get(&self, row: usize, col: usize) -> f64 {
        self.view()[(row, col)]
    }

    /// The faer view.
    #[must_use]
    pub fn view(&self) -> MatRef<'_, f64> {
        match &self.data {
            Data::Own(data) => data.as_ref(),
            Data::Shared {
                entries,
                rows,
                cols,
            } => MatRef::from_row_major_slice((**entries).as_ref(), *rows, *cols),
        }
    }

    /// $\|W\|_F^2$, the sum of squares.
    #[must_use]
    pub fn square_norm(&self) -> f64 {
        self.view().squared_norm_l2()
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

/// In lanes, which are vectorised.
fn sum_of_squares(x: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let chunks = x.chunks_exact(LANES);
    let rest: f64 = chunks.remainder().iter().map(|x| x * x).sum();
    for chunk in chunks {
        for lane in 0..LANES {
            sums[lane] += chunk[lane] * chunk[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
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
