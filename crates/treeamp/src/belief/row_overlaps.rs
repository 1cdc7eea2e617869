//! Order parameters of signals made of rows $x \in \mathbb R^r$: symmetric $r \times r$ matrices, the same for all rows.

use faer::MatRef;

use crate::math::dense::{is_covariance, square};

/// A symmetric $r \times r$ matrix, stored row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct RowMatrix {
    dim: usize,
    data: Vec<f64>,
}

impl RowMatrix {
    /// The zero matrix.
    #[must_use]
    pub fn zeros(dim: usize) -> Self {
        Self {
            dim,
            data: vec![0.0; dim * dim],
        }
    }

    /// `scale` times the identity.
    #[must_use]
    pub fn identity(dim: usize, scale: f64) -> Self {
        Self::from_fn(dim, |i, j| if i == j { scale } else { 0.0 })
    }

    /// Entry by entry; the symmetric part of what is given.
    #[must_use]
    pub fn from_fn(dim: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        let each = (0..dim * dim).map(|k| (k / dim, k % dim));
        Self {
            dim,
            data: each
                .map(|(i, j)| 0.5 * (entry(i, j) + entry(j, i)))
                .collect(),
        }
    }

    pub(crate) fn from_mat(matrix: MatRef<'_, f64>) -> Self {
        Self::from_fn(matrix.nrows(), |i, j| matrix[(i, j)])
    }

    pub(crate) fn as_mat(&self) -> MatRef<'_, f64> {
        square(&self.data, self.dim)
    }

    /// $r$.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The entry in row `i` and column `j`.
    #[must_use]
    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.data[i * self.dim + j]
    }

    /// The entries, row by row.
    #[must_use]
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    pub(crate) fn data_mut(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// It has no negative eigenvalue.
    #[must_use]
    pub fn is_covariance(&self) -> bool {
        is_covariance(self.as_mat())
    }

    /// The average of the diagonal, $\frac1r\operatorname{tr}$.
    #[must_use]
    pub fn mean_diagonal(&self) -> f64 {
        (0..self.dim).map(|i| self.get(i, i)).sum::<f64>() / self.dim as f64
    }
}

/// Overlaps of the rows of a variable in the Bayes-optimal setting: $T_0 = Q + V$.
#[derive(Debug, Clone, PartialEq)]
pub struct RowOverlaps {
    /// $Q = E\,r\,r^T = E\,x_0 r^T$.
    pub q: RowMatrix,
    /// $V = E\operatorname{Cov}$, the error $E(x_0 - r)(x_0 - r)^T$.
    pub v: RowMatrix,
    /// The teacher's second moment $T_0 = E\,x_0 x_0^T$.
    pub tau0: RowMatrix,
    /// The standard error of every entry of $Q$, of the last averages that were taken at random; zero where none was.
    pub standard_error: RowMatrix,
}
