//! One dense block of a Gaussian belief: natural parameters $(a, b)$, or moments $(S, m)$ where there is no precision
//! matrix (the output of a tall channel, an exactly known value).
//!
//! A block in natural form is the function $e^{-\frac12 x^T a x + b^T x}$, one in moment form the density
//! $\mathcal N(x; m, S)$, which is normalised: its own potential is zero. $S = 0$ is a pin.

use std::f64::consts::TAU;

use faer::linalg::solvers::{Llt, Solve};
use faer::{Col, ColRef, Mat, MatRef};

use crate::math::dense::{
    cholesky, cholesky_beyond, column, conditioned, dot, inverse, is_covariance, log_det, product,
    square, store, store_vector,
};

/// Pivots of a density are above this fraction of their diagonal entries: its inverse loses about as many digits, and those of an
/// evidence do not come back. (With 1e-9, evidences of chains of three square channels were off by up to 1e-5.)
const SAFE: f64 = 1e-5;

/// How a dense block of a belief is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// Precision $a$ and linear part $b$.
    #[default]
    Natural,
    /// Covariance $S$, of any rank, and mean $m$.
    Moments,
}

/// A block to read.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    pub form: Form,
    pub matrix: MatRef<'a, f64>,
    pub vector: ColRef<'a, f64>,
}

/// A block to write.
pub(super) struct BlockMut<'a> {
    pub form: &'a mut Form,
    pub matrix: &'a mut [f64],
    pub vector: &'a mut [f64],
}

impl<'a> Block<'a> {
    pub fn new(form: Form, matrix: &'a [f64], vector: &'a [f64]) -> Self {
        Self {
            form,
            matrix: square(matrix, vector.len()),
            vector: column(vector),
        }
    }

    fn dim(&self) -> usize {
        self.matrix.nrows()
    }

    fn parts(&self) -> (MatRef<'a, f64>, ColRef<'a, f64>) {
        (self.matrix, self.vector)
    }

    fn all_zero(&self) -> bool {
        let rows = 0..self.dim();
        rows.clone()
            .all(|j| rows.clone().all(|i| self.matrix[(i, j)] == 0.0))
    }

    /// $S = 0$.
    pub fn is_pinned(&self) -> bool {
        self.form == Form::Moments && self.all_zero()
    }

    /// The block as a density: covariance and mean. `None` of a natural block that is not one.
    pub fn moments(&self) -> Option<(Mat<f64>, Col<f64>)> {
        match self.form {
            Form::Moments => Some((self.matrix.to_owned(), self.vector.to_owned())),
            Form::Natural => {
                let factor = cholesky(self.matrix)?;
                Some((inverse(&factor), factor.solve(self.vector)))
            }
        }
    }

    /// $\frac12 b^T a^{-1} b + \frac12\ln\det 2\pi a^{-1}$; 0 in moment form, `None` when improper.
    pub fn log_partition(&self) -> Option<f64> {
        match self.form {
            Form::Moments => Some(0.0),
            Form::Natural => Some(self.volume(&cholesky(self.matrix)?)),
        }
    }

    fn volume(&self, factor: &Llt<f64>) -> f64 {
        let mean = factor.solve(self.vector);
        let volume = self.dim() as f64 * TAU.ln() - log_det(factor);
        0.5 * dot(self.vector, mean.as_ref()) + 0.5 * volume
    }

    /// The Cholesky factor of a natural block that is safely a density: one that is nearly singular counts as
    /// improper, and is never inverted.
    pub fn density(&self) -> Option<Llt<f64>> {
        cholesky_beyond(self.matrix, SAFE)
    }

    /// The log-partition of a natural block that is a density, 0 of any other.
    pub fn own_potential(&self) -> f64 {
        match self.form {
            Form::Moments => 0.0,
            Form::Natural => self.density().map_or(0.0, |f| self.volume(&f)),
        }
    }

    /// Covariance and mean of a block that is a density.
    pub fn as_density(&self) -> Option<(Mat<f64>, Col<f64>)> {
        match self.form {
            Form::Moments => self.moments(),
            Form::Natural => {
                let factor = self.density()?;
                Some((inverse(&factor), factor.solve(self.vector)))
            }
        }
    }

    /// $-\frac12 x^T a x + b^T x$ of a natural block.
    pub fn log_value(&self, x: ColRef<'_, f64>) -> f64 {
        let pull = self.matrix * x;
        dot(self.vector, x) - 0.5 * dot(x, pull.as_ref())
    }
}

impl BlockMut<'_> {
    fn view(&self) -> Block<'_> {
        Block::new(*self.form, self.matrix, self.vector)
    }

    /// Adds natural parameters, or multiplies the densities. A pin absorbs what is added to it.
    pub fn add(&mut self, other: Block<'_>) {
        if self.view().is_pinned() {
            return;
        }
        let made = match (*self.form, other.form) {
            (Form::Natural, Form::Natural) => {
                let n = other.dim();
                for (i, row) in self.matrix.chunks_exact_mut(n).enumerate() {
                    for (j, x) in row.iter_mut().enumerate() {
                        *x += other.matrix[(i, j)];
                    }
                }
                for (i, x) in self.vector.iter_mut().enumerate() {
                    *x += other.vector[i];
                }
                return;
            }
            (Form::Natural, Form::Moments) => conditioned(other.parts(), self.view().parts()),
            (Form::Moments, Form::Natural) => conditioned(self.view().parts(), other.parts()),
            (Form::Moments, Form::Moments) => product(self.view().parts(), other.parts()).0,
        };
        *self.form = Form::Moments;
        store(made.covariance.as_ref(), self.matrix);
        store_vector(made.mean.as_ref(), self.vector);
    }
}

/// $\ln\int\prod_k m_k - \sum_k A(m_k)$ over blocks, with $A = 0$ for a block that is not a density of its own.
/// The product is built from one density on, so that potentials of order $a\|r\|^2$ never meet.
pub(super) fn product_excess<'a>(blocks: impl Iterator<Item = Block<'a>> + Clone) -> f64 {
    // one in moment form first: a natural one multiplies it as it is
    let mut exact = blocks.clone().enumerate();
    let exact = exact.find(|(_, b)| b.form == Form::Moments);
    let start = exact.or_else(|| best_conditioned(blocks.clone().enumerate()));
    let start = start.and_then(|(k, b)| Some((k, b.as_density()?)));
    let Some((first, (mut s, mut m))) = start else {
        return improper_product(blocks);
    };
    let mut excess = 0.0;
    let mut others = |density: bool| {
        for (k, block) in blocks.clone().enumerate() {
            let proper = block.form == Form::Moments || block.density().is_some();
            if k == first || proper != density {
                continue;
            }
            let now = (s.as_ref(), m.as_ref());
            if block.form == Form::Moments {
                let (next, value) = product(now, block.parts());
                excess += value;
                (s, m) = (next.covariance, next.mean);
                continue;
            }
            let next = conditioned(now, block.parts());
            let pull = block.vector - block.matrix * &m;
            excess -= 0.5 * next.log_det;
            if let Some(factor) = block.density() {
                // ln N(m - a⁻¹b; 0, S + a⁻¹)
                let fit = next.fit(block.matrix, factor.solve(&pull).as_ref(), m.as_ref());
                excess += 0.5 * (log_det(&factor) - block.dim() as f64 * TAU.ln() - fit);
            } else {
                let shift = &next.mean - &m;
                excess += block.log_value(m.as_ref()) + 0.5 * dot(pull.as_ref(), shift.as_ref());
            }
            (s, m) = (next.covariance, next.mean);
        }
    };
    others(true);
    others(false);
    if excess < f64::INFINITY && is_covariance(s.as_ref()) {
        excess
    } else {
        f64::INFINITY
    }
}

/// The density with the largest least pivot: the one whose inverse keeps most digits, in whatever order they come.
fn best_conditioned<'a>(
    blocks: impl Iterator<Item = (usize, Block<'a>)>,
) -> Option<(usize, Block<'a>)> {
    let pivot = |b: &Block<'a>| {
        let factor = b.density()?;
        let ratio = |i: usize| factor.L()[(i, i)].powi(2) / b.matrix[(i, i)];
        Some((0..b.dim()).map(ratio).fold(f64::INFINITY, f64::min))
    };
    let densities = blocks.filter_map(|(k, b)| Some((pivot(&b)?, (k, b))));
    let best = densities.max_by(|x, y| x.0.total_cmp(&y.0));
    best.map(|(_, found)| found)
}

/// No member is a density: the sum may be.
fn improper_product<'a>(blocks: impl Iterator<Item = Block<'a>> + Clone) -> f64 {
    let Some(n) = blocks.clone().next().map(|b| b.dim()) else {
        return f64::INFINITY;
    };
    let (mut matrix, mut vector, mut form) = (vec![0.0; n * n], vec![0.0; n], Form::Natural);
    let mut total = BlockMut {
        form: &mut form,
        matrix: &mut matrix,
        vector: &mut vector,
    };
    blocks.for_each(|b| total.add(b));
    total.view().log_partition().unwrap_or(f64::INFINITY)
}
