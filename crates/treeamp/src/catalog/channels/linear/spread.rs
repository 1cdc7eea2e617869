//! The two readings of a message: as a density with a covariance, and by its finite natural parameters. Some messages
//! have both, a pinned one only the first, a flat one only the second.

use faer::{Col, Mat, MatRef};

use crate::belief::{Form, Gaussian, Structure};
use crate::math::dense::{cholesky, column, inverse, square};

/// A covariance or a precision: a number, a diagonal, or a matrix.
pub(super) enum Spread {
    Same(f64),
    Each(Col<f64>),
    Matrix(Mat<f64>),
}

impl Spread {
    /// Entry `i` of the diagonal.
    pub fn at(&self, i: usize) -> f64 {
        match self {
            Self::Same(s) => *s,
            Self::Each(s) => s[i],
            Self::Matrix(s) => s[(i, i)],
        }
    }

    /// `w` times this.
    pub fn right_of(&self, w: MatRef<'_, f64>) -> Mat<f64> {
        match self {
            Self::Same(s) => faer::Scale(*s) * w,
            Self::Each(s) => Mat::from_fn(w.nrows(), w.ncols(), |i, j| w[(i, j)] * s[j]),
            Self::Matrix(s) => w * s,
        }
    }

    /// This times `w`.
    pub fn left_of(&self, w: MatRef<'_, f64>) -> Mat<f64> {
        match self {
            Self::Same(s) => faer::Scale(*s) * w,
            Self::Each(s) => Mat::from_fn(w.nrows(), w.ncols(), |i, j| s[i] * w[(i, j)]),
            Self::Matrix(s) => s * w,
        }
    }

    /// This times a vector.
    pub fn times(&self, x: &Col<f64>) -> Col<f64> {
        match self {
            Self::Same(s) => faer::Scale(*s) * x,
            Self::Each(s) => Col::from_fn(x.nrows(), |i| s[i] * x[i]),
            Self::Matrix(s) => s * x,
        }
    }

    /// Adds it to a square matrix.
    pub fn add_to(&self, m: &mut Mat<f64>) {
        match self {
            Self::Matrix(s) => *m += s,
            diagonal => (0..m.nrows()).for_each(|i| m[(i, i)] += diagonal.at(i)),
        }
    }

    /// As a matrix of `n` rows.
    pub fn to_matrix(&self, n: usize) -> Mat<f64> {
        let mut out = Mat::zeros(n, n);
        self.add_to(&mut out);
        out
    }

    /// It is positive semi-definite without a look at eigenvalues.
    pub fn is_plainly_positive(&self) -> bool {
        match self {
            Self::Same(s) => *s >= 0.0,
            Self::Each(s) => s.iter().all(|s| *s >= 0.0),
            Self::Matrix(_) => false,
        }
    }
}

/// Covariance and mean of a proper or pinned message; `None` of an improper one.
pub(super) fn as_density(message: &Gaussian) -> Option<(Spread, Col<f64>)> {
    let (a, b) = (message.precision.data(), &message.linear);
    let mean = |a: f64, b: f64| if a == f64::INFINITY { b } else { b / a };
    match message.structure() {
        Structure::Isotropic if a[0] > 0.0 => {
            let m = Col::from_fn(b.len(), |i| mean(a[0], b[i]));
            Some((Spread::Same(1.0 / a[0]), m))
        }
        Structure::Diagonal if a.iter().all(|a| *a > 0.0) => {
            let m = Col::from_fn(b.len(), |i| mean(a[i], b[i]));
            let s = Col::from_fn(b.len(), |i| 1.0 / a[i]);
            Some((Spread::Each(s), m))
        }
        Structure::Full => {
            let (s, m) = message.block(0).moments()?;
            Some((Spread::Matrix(s), m))
        }
        _ => None,
    }
}

/// Finite natural parameters; `None` of a message with a pin or a singular covariance.
pub(super) fn as_natural(message: &Gaussian) -> Option<(Spread, Col<f64>)> {
    let (a, b) = (message.precision.data(), &message.linear);
    let linear = || column(b).to_owned();
    match message.structure() {
        Structure::Isotropic if a[0].is_finite() => Some((Spread::Same(a[0]), linear())),
        Structure::Diagonal if a.iter().all(|a| a.is_finite()) => {
            Some((Spread::Each(column(a).to_owned()), linear()))
        }
        Structure::Full if message.form(0) == Form::Natural => {
            let a = square(a, b.len()).to_owned();
            Some((Spread::Matrix(a), linear()))
        }
        Structure::Full => {
            let a = inverse(&cholesky(square(a, b.len()))?);
            let b = &a * column(b);
            Some((Spread::Matrix(a), b))
        }
        _ => None,
    }
}

/// [`as_natural`], but of nothing that is given by moments.
pub(super) fn as_natural_as_given(message: &Gaussian) -> Option<(Spread, Col<f64>)> {
    (!message.has_moments())
        .then(|| as_natural(message))
        .flatten()
}

/// A density whose own potential is left out of an excess: [`as_density`], but not of a nearly singular precision.
pub(super) fn as_safe_density(message: &Gaussian) -> Option<(Spread, Col<f64>)> {
    if message.structure() == Structure::Full {
        let (s, m) = message.block(0).as_density()?;
        return Some((Spread::Matrix(s), m));
    }
    as_density(message)
}
