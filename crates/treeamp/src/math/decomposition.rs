//! The decomposition $W = U S V^T$ of a dense matrix, at the cost of its smaller side.
//!
//! The smaller Gram matrix ($W W^T$ for a wide matrix, $W^T W$ for a tall one) and its symmetric
//! eigenproblem give $S^2$ and the singular vectors of that side; those of the other side are never
//! formed, but applied through $W$: $V = W^T U S^{-1}$, or $U = W V S^{-1}$. That squares the
//! condition number, so above a Gram condition number of $10^6$ the thin SVD takes over.

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{BlockStructure, matmul as triangular_matmul};
use faer::linalg::solvers::{SelfAdjointEigen, Svd};
use faer::{Accum, Mat, MatMut, MatRef, Par, Side};
use rayon::prelude::*;

use super::matrix::{Matrix, product};
use crate::error::FactorError;
use crate::threads;

/// The SVD takes over when the Gram matrix is conditioned worse than this.
const GRAM_CONDITION_LIMIT: f64 = 1e6;

/// Columns of a Gram matrix that are computed at once.
const STRIPE: usize = 128;

/// The lower triangle of $A A^T$, in stripes of columns that are dealt out to the threads.
fn lower_gram(a: MatRef<'_, f64>) -> Mat<f64> {
    let k = a.nrows();
    let mut gram = Mat::<f64>::zeros(k, k);
    let mut stripes = Vec::with_capacity(k.div_ceil(STRIPE));
    let mut rest = gram.as_mut();
    while rest.ncols() > 0 {
        let width = STRIPE.min(rest.ncols());
        let (stripe, others) = rest.split_at_col_mut(width);
        stripes.push((k - width - others.ncols(), stripe));
        rest = others;
    }
    let fill = |(first, stripe): (usize, MatMut<'_, f64>)| {
        let width = stripe.ncols();
        let (square, below) = stripe.split_at_row_mut(first).1.split_at_row_mut(width);
        let own = a.subrows(first, width);
        triangular_matmul(
            square,
            BlockStructure::TriangularLower,
            Accum::Replace,
            own,
            BlockStructure::Rectangular,
            own.transpose(),
            BlockStructure::Rectangular,
            1.0,
            Par::Seq,
        );
        let others = a.subrows(first + width, k - first - width);
        matmul(
            below,
            Accum::Replace,
            others,
            own.transpose(),
            1.0,
            Par::Seq,
        );
    };
    if threads::count() > 1 && stripes.len() > 1 {
        threads::spread(|| stripes.into_par_iter().with_max_len(1).for_each(fill));
    } else {
        stripes.into_iter().for_each(fill);
    }
    gram
}

/// Which singular vectors are stored.
#[derive(Debug, Clone)]
enum Vectors {
    /// $U$, from $W W^T$; $M \le N$.
    Left(Mat<f64>),
    /// $V$, from $W^T W$; $M > N$.
    Right(Mat<f64>),
    /// Both, from the SVD.
    Both(Mat<f64>, Mat<f64>),
}

/// $W = U S V^T$ with $K = \min(M, N)$ singular values, zeros included.
#[derive(Debug, Clone)]
pub struct Decomposition {
    singular_values: Vec<f64>,
    vectors: Vectors,
    rank: usize,
}

impl Decomposition {
    /// Decomposes a matrix.
    ///
    /// # Errors
    /// When the eigenvalue or singular value iteration does not converge.
    pub fn new(w: &Matrix) -> Result<Self, FactorError> {
        let wide = w.rows() <= w.cols();
        let view = if wide { w.view() } else { w.view().transpose() };
        let k = view.nrows();
        let gram = lower_gram(view);
        let failed = |what: &str| FactorError::Failed(format!("the {what} did not converge"));
        let eigen = SelfAdjointEigen::new(gram.as_ref(), Side::Lower)
            .map_err(|_| failed("symmetric eigenproblem of its Gram matrix"))?;
        let values = eigen.S().column_vector();
        let (smallest, largest) = (values[0], values[k - 1]);
        if smallest * GRAM_CONDITION_LIMIT <= largest {
            return Self::from_svd(w).ok_or_else(|| failed("singular value decomposition"));
        }
        let vectors = eigen.U().to_owned();
        Ok(Self {
            singular_values: values.iter().map(|l| l.sqrt()).collect(),
            rank: k,
            vectors: if wide {
                Vectors::Left(vectors)
            } else {
                Vectors::Right(vectors)
            },
        })
    }

    fn from_svd(w: &Matrix) -> Option<Self> {
        let svd = Svd::new_thin(w.view()).ok()?;
        let mut singular_values: Vec<f64> = svd.S().column_vector().iter().copied().collect();
        let size = w.rows().max(w.cols()) as f64;
        let cut = singular_values.iter().fold(0.0_f64, |m, s| m.max(*s)) * size * f64::EPSILON;
        singular_values
            .iter_mut()
            .filter(|s| **s <= cut)
            .for_each(|s| *s = 0.0);
        let rank = singular_values.iter().filter(|s| **s > 0.0).count();
        let vectors = Vectors::Both(svd.U().to_owned(), svd.V().to_owned());
        Some(Self {
            singular_values,
            vectors,
            rank,
        })
    }

    /// The $K$ singular values, zeros included.
    #[must_use]
    pub fn singular_values(&self) -> &[f64] {
        &self.singular_values
    }

    /// Number of singular values that are not zero.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The SVD was needed.
    #[must_use]
    pub fn is_svd(&self) -> bool {
        matches!(self.vectors, Vectors::Both(..))
    }

    /// `out = U^T x`. `scratch` has the size of the input of `W` and is overwritten.
    pub fn analyse_output(
        &self,
        w: &Matrix,
        x: &[f64],
        p: usize,
        out: &mut [f64],
        scratch: &mut [f64],
    ) {
        match &self.vectors {
            Vectors::Left(u) | Vectors::Both(u, _) => product(u.transpose(), x, p, out),
            Vectors::Right(v) => {
                w.apply_transpose(x, p, scratch);
                product(v.transpose(), scratch, p, out);
                self.unscale(out, p);
            }
        }
    }

    /// `out = V^T z`. `scratch` has the size of the output of `W` and is overwritten.
    pub fn analyse_input(
        &self,
        w: &Matrix,
        z: &[f64],
        p: usize,
        out: &mut [f64],
        scratch: &mut [f64],
    ) {
        match &self.vectors {
            Vectors::Right(v) | Vectors::Both(_, v) => product(v.transpose(), z, p, out),
            Vectors::Left(u) => {
                w.apply(z, p, scratch);
                product(u.transpose(), scratch, p, out);
                self.unscale(out, p);
            }
        }
    }

    /// `out = U y`. Overwrites `y`; `scratch` has the size of the input of `W`.
    pub fn to_output(
        &self,
        w: &Matrix,
        y: &mut [f64],
        p: usize,
        out: &mut [f64],
        scratch: &mut [f64],
    ) {
        match &self.vectors {
            Vectors::Left(u) | Vectors::Both(u, _) => product(u.as_ref(), y, p, out),
            Vectors::Right(v) => {
                self.unscale(y, p);
                product(v.as_ref(), y, p, scratch);
                w.apply(scratch, p, out);
            }
        }
    }

    /// `out = V y`. Overwrites `y`; `scratch` has the size of the output of `W`.
    pub fn to_input(
        &self,
        w: &Matrix,
        y: &mut [f64],
        p: usize,
        out: &mut [f64],
        scratch: &mut [f64],
    ) {
        match &self.vectors {
            Vectors::Right(v) | Vectors::Both(_, v) => product(v.as_ref(), y, p, out),
            Vectors::Left(u) => {
                self.unscale(y, p);
                product(u.as_ref(), y, p, scratch);
                w.apply_transpose(scratch, p, out);
            }
        }
    }

    /// Divides mode `k` by $s_k$: only used when all are of comparable size.
    fn unscale(&self, modes: &mut [f64], p: usize) {
        for (row, s) in modes.chunks_mut(p).zip(&self.singular_values) {
            for x in row.iter_mut() {
                *x /= s;
            }
        }
    }
}
