//! A dense real matrix and its products with row-major blocks of columns.

use std::fmt;
use std::sync::{Arc, OnceLock};

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};

use super::products::{Entry, Lines};
use crate::error::{ModelError, parameter};

/// A dense real matrix, with entries of its own or those that someone else holds, of 64 or 32 bits. Sums have 64.
#[derive(Clone)]
pub struct Matrix {
    data: Data,
}

#[derive(Clone)]
enum Data {
    Own(Mat<f64>),
    /// Rows laid end to end.
    Shared(Shared<f64>),
    /// The same in half the memory.
    Narrow {
        entries: Shared<f32>,
        /// The entries in 64 bits, for those who need them.
        wide: Arc<OnceLock<Mat<f64>>>,
    },
}

#[derive(Clone)]
struct Shared<E: 'static> {
    entries: Arc<dyn AsRef<[E]> + Send + Sync>,
    rows: usize,
    cols: usize,
}

impl<E: Entry> Shared<E> {
    fn new(
        rows: usize,
        cols: usize,
        entries: Arc<dyn AsRef<[E]> + Send + Sync>,
    ) -> Result<Self, ModelError> {
        let len = (*entries).as_ref().len();
        if rows.checked_mul(cols) != Some(len) {
            let expected = format!("{rows} x {cols} entries");
            return Err(parameter("matrix", "entries", expected, len));
        }
        Ok(Self {
            entries,
            rows,
            cols,
        })
    }

    fn all(&self) -> &[E] {
        (*self.entries).as_ref()
    }

    /// The kernels on its rows.
    fn lines<'s>(&'s self) -> Lines<impl Fn(usize) -> &'s [E] + Sync> {
        let (all, len) = (self.all(), self.cols);
        Lines {
            line: move |k| &all[k * len..(k + 1) * len],
            count: self.rows,
            len,
        }
    }
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
        Self::checked(Data::Shared(Shared::new(rows, cols, entries)?))
    }

    /// Of entries of 32 bits that stay where they are, as rows laid end to end. They must not change. Products read half the bytes, and
    /// sum in 64 bits; what needs a decomposition, as the exact route of a linear channel does, makes a copy in 64.
    ///
    /// # Errors
    /// As [`from_rows`](Self::from_rows).
    pub fn shared_narrow(
        rows: usize,
        cols: usize,
        entries: Arc<dyn AsRef<[f32]> + Send + Sync>,
    ) -> Result<Self, ModelError> {
        Self::checked(Data::Narrow {
            entries: Shared::new(rows, cols, entries)?,
            wide: Arc::default(),
        })
    }

    /// The same matrix with entries rounded to 32 bits, relative error $6\cdot10^{-8}$.
    ///
    /// ```
    /// use treeamp::prelude::*;
    /// let w = Matrix::from_rows(1, 2, &[0.5, 0.1])?.narrow()?;
    /// assert!(w.is_narrow() && w.get(0, 1) == f64::from(0.1_f32));
    /// assert!(Matrix::from_rows(1, 1, &[1e39])?.narrow().is_err());
    /// # Ok::<(), ModelError>(())
    /// ```
    ///
    /// # Errors
    /// An entry beyond $3.4\cdot10^{38}$, the largest number of 32 bits.
    #[expect(clippy::cast_possible_truncation, reason = "rounding is the purpose")]
    pub fn narrow(&self) -> Result<Self, ModelError> {
        let (rows, cols) = (self.rows(), self.cols());
        let mut entries = Vec::with_capacity(rows * cols);
        for i in 0..rows {
            for j in 0..cols {
                let (wide, narrow) = (self.get(i, j), self.get(i, j) as f32);
                if !narrow.is_finite() {
                    let got = format!("{wide} at row {i}, column {j}");
                    let expected = "at most 3.4e38 in 32 bits";
                    return Err(parameter("matrix", "entries", expected, got));
                }
                entries.push(narrow);
            }
        }
        Self::shared_narrow(rows, cols, Arc::new(entries))
    }

    /// Its entries have 32 bits.
    #[must_use]
    pub fn is_narrow(&self) -> bool {
        matches!(self.data, Data::Narrow { .. })
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
        let broken = match &this.data {
            Data::Own(data) => {
                let column = |j| data.col_as_slice(j);
                let found = (0..cols).find_map(|j| Some((j, first_infinite(column(j))?)));
                found.map(|(j, i)| (i, j))
            }
            Data::Shared(shared) => first_infinite(shared.all()).map(|k| (k / cols, k % cols)),
            Data::Narrow { entries, .. } => {
                first_infinite(entries.all()).map(|k| (k / cols, k % cols))
            }
        };
        let Some((i, j)) = broken else {
            return Ok(this);
        };
        let got = format!("{} at row {i}, column {j}", this.get(i, j));
        Err(parameter("matrix", "entries", "finite", got))
    }

    /// The squared norms of rows and of columns.
    #[must_use]
    pub fn square_norms(&self) -> (Vec<f64>, Vec<f64>) {
        match &self.data {
            Data::Own(data) => {
                let (columns, rows) = columns(data.as_ref()).square_norms();
                (rows, columns)
            }
            Data::Shared(shared) => shared.lines().square_norms(),
            Data::Narrow { entries, .. } => entries.lines().square_norms(),
        }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        match &self.data {
            Data::Own(data) => data.nrows(),
            Data::Shared(shared) => shared.rows,
            Data::Narrow { entries, .. } => entries.rows,
        }
    }

    /// Number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        match &self.data {
            Data::Own(data) => data.ncols(),
            Data::Shared(shared) => shared.cols,
            Data::Narrow { entries, .. } => entries.cols,
        }
    }

    /// One entry.
    #[must_use]
    pub fn get(&self, row: usize, col: usize) -> f64 {
        match &self.data {
            Data::Own(data) => data[(row, col)],
            Data::Shared(shared) => shared.all()[row * shared.cols + col],
            Data::Narrow { entries, .. } => f64::from(entries.all()[row * entries.cols + col]),
        }
    }

    /// The faer view; of entries of 32 bits one of their copy in 64, made when first asked for.
    #[must_use]
    pub fn view(&self) -> MatRef<'_, f64> {
        match &self.data {
            Data::Own(data) => data.as_ref(),
            Data::Shared(s) => MatRef::from_row_major_slice(s.all(), s.rows, s.cols),
            Data::Narrow { entries: s, wide } => {
                let make = || Mat::from_fn(s.rows, s.cols, |i, j| self.get(i, j));
                wide.get_or_init(make).as_ref()
            }
        }
    }

    /// $\|W\|_F^2$, the sum of squares.
    #[must_use]
    pub fn square_norm(&self) -> f64 {
        match &self.data {
            Data::Narrow { entries, .. } => entries.lines().square_norms().0.iter().sum(),
            _ => self.view().squared_norm_l2(),
        }
    }

    /// `out = W x` for `x` of `p` columns, row-major.
    pub fn apply(&self, x: &[f64], p: usize, out: &mut [f64]) {
        if p == 1 {
            self.apply_to_each(x, out);
        } else {
            product(self.view(), x, p, out);
        }
    }

    /// `out = W^T x` for `x` of `p` columns, row-major.
    pub fn apply_transpose(&self, x: &[f64], p: usize, out: &mut [f64]) {
        if p == 1 {
            self.apply_transpose_to_each(x, out);
        } else {
            product(self.view().transpose(), x, p, out);
        }
    }

    /// `out = W x` for vectors laid end to end.
    pub(crate) fn apply_to_each(&self, x: &[f64], out: &mut [f64]) {
        match &self.data {
            Data::Own(data) => columns(data.as_ref()).combine(x, out),
            Data::Shared(shared) => shared.lines().dots(x, out),
            Data::Narrow { entries, .. } => entries.lines().dots(x, out),
        }
    }

    /// `out = W^T x` for vectors laid end to end.
    pub(crate) fn apply_transpose_to_each(&self, x: &[f64], out: &mut [f64]) {
        match &self.data {
            Data::Own(data) => columns(data.as_ref()).dots(x, out),
            Data::Shared(shared) => shared.lines().combine(x, out),
            Data::Narrow { entries, .. } => entries.lines().combine(x, out),
        }
    }
}

/// The first entry that is not finite.
fn first_infinite<E: Entry>(entries: &[E]) -> Option<usize> {
    // chunks without a branch inside are vectorised
    const CHUNK: usize = 64;
    let finite = |chunk: &[E]| chunk.iter().fold(true, |all, x| all & x.wide().is_finite());
    let chunk = entries.chunks(CHUNK).position(|chunk| !finite(chunk))?;
    let broken = entries[CHUNK * chunk..]
        .iter()
        .position(|x| !x.wide().is_finite());
    broken.map(|k| CHUNK * chunk + k)
}

/// The kernels on the columns of a matrix that lie together.
fn columns<'a>(a: MatRef<'a, f64>) -> Lines<impl Fn(usize) -> &'a [f64] + Sync> {
    let line = move |k| {
        let column = a.col(k).try_as_col_major();
        column.map_or(&[][..], |column| column.as_slice())
    };
    Lines {
        line,
        count: a.ncols(),
        len: a.nrows(),
    }
}

/// `out = a x`, `x` and `out` row-major with `p` columns. The rows or the columns of `a` lie together.
pub(crate) fn product(a: MatRef<'_, f64>, x: &[f64], p: usize, out: &mut [f64]) {
    if p == 1 && a.row_stride() == 1 {
        columns(a).combine(x, out);
    } else if p == 1 && a.col_stride() == 1 {
        columns(a.transpose()).dots(x, out);
    } else {
        let x = MatRef::from_row_major_slice(x, a.ncols(), p);
        let out = MatMut::from_row_major_slice_mut(out, a.nrows(), p);
        matmul(out, Accum::Replace, a, x, 1.0, Par::Seq);
    }
}
