//! A Gaussian belief $p(x) \propto e^{-\frac12 x^T a x + b^T x}$ as a message.

use super::block::{Block, Form};
use super::excess::{isotropic_log_partition, isotropic_log_value, isotropic_normalised};
use super::{Moments, SignalSpec, Structure, SymMatrix};
use crate::error::{FactorError, brief};
use crate::math::dense::{column, is_covariance, outside_range, store, store_vector};

/// Natural parameters $(a, b)$ of a Gaussian.
///
/// A precision of $+\infty$ *pins* the variable, or one component of a diagonal belief: the message is
/// $\delta(x - m)$ there, and `linear` holds the place $m$. A dense block (of a full or block belief) that has no
/// precision matrix is in moment form ([`Form::Moments`]): its part of `precision` holds a covariance and its part
/// of `linear` the mean, and a covariance of zero is a pin. The group laws below are the only code that knows about
/// pins and forms outside the factors.
#[derive(Debug, Clone, PartialEq)]
pub struct Gaussian {
    /// Precision $a$.
    pub precision: SymMatrix,
    /// Linear coefficient $b$, or the place of a pin.
    pub linear: Vec<f64>,
    /// One per dense block; empty for isotropic and diagonal beliefs.
    pub(super) forms: Vec<Form>,
}

impl Gaussian {
    /// The flat belief, which says nothing.
    #[must_use]
    pub fn flat(spec: &SignalSpec) -> Self {
        let len = spec.len();
        let blocks = spec.structure.block_dim(len).map_or(0, |dim| len / dim);
        Self {
            precision: SymMatrix::zeros(spec),
            linear: vec![0.0; len],
            forms: vec![Form::Natural; blocks],
        }
    }

    /// Number of real components.
    #[must_use]
    pub fn len(&self) -> usize {
        self.linear.len()
    }

    /// There is no component.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.linear.is_empty()
    }

    /// The structure of its precision.
    #[must_use]
    pub fn structure(&self) -> Structure {
        self.precision.structure()
    }

    /// Number of dense blocks: one of a full belief, none of an isotropic or diagonal one.
    #[must_use]
    pub fn block_count(&self) -> usize {
        self.forms.len()
    }

    /// How dense block `k` is given.
    #[must_use]
    pub fn form(&self, k: usize) -> Form {
        self.forms[k]
    }

    /// Dense block `k`: its form, matrix (row by row) and vector, to write.
    pub fn block_mut(&mut self, k: usize) -> (&mut Form, &mut [f64], &mut [f64]) {
        let dim = self.linear.len() / self.forms.len();
        (
            &mut self.forms[k],
            &mut self.precision.data_mut()[k * dim * dim..(k + 1) * dim * dim],
            &mut self.linear[k * dim..(k + 1) * dim],
        )
    }

    pub(crate) fn block(&self, k: usize) -> Block<'_> {
        let dim = self.linear.len() / self.forms.len();
        let matrix = &self.precision.data()[k * dim * dim..(k + 1) * dim * dim];
        Block::new(self.forms[k], matrix, &self.linear[k * dim..(k + 1) * dim])
    }

    fn blocks(&self) -> impl Iterator<Item = Block<'_>> + '_ {
        (0..self.forms.len()).map(|k| self.block(k))
    }

    /// Some dense block is in moment form.
    #[must_use]
    pub fn has_moments(&self) -> bool {
        self.forms.contains(&Form::Moments)
    }

    /// Every component is known, and `linear` is a place.
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        match self.structure() {
            Structure::Isotropic => self.precision.data()[0] == f64::INFINITY,
            Structure::Diagonal => self.precision.data().iter().all(|a| *a == f64::INFINITY),
            _ => self.blocks().all(|b| b.is_pinned()),
        }
    }

    /// The belief says nothing at all.
    #[must_use]
    pub fn is_flat(&self) -> bool {
        let numbers = self.precision.data().iter().chain(&self.linear);
        self.forms.iter().all(|f| *f == Form::Natural) && numbers.into_iter().all(|x| *x == 0.0)
    }

    /// What turns `linear` into the mean: $1/a$, or 1 for a pin (isotropic).
    #[must_use]
    pub fn mean_scale(&self) -> f64 {
        if self.is_pinned() {
            1.0
        } else {
            1.0 / self.precision.scalar()
        }
    }

    /// Makes it flat.
    pub fn set_flat(&mut self) {
        self.precision.data_mut().fill(0.0);
        self.linear.fill(0.0);
        self.forms.fill(Form::Natural);
    }

    /// Becomes `a` times the identity in any structure; $+\infty$ pins it where `linear` says.
    pub fn set_precision(&mut self, a: f64) {
        let exact = a == f64::INFINITY && !self.forms.is_empty();
        let form = if exact { Form::Moments } else { Form::Natural };
        self.forms.fill(form);
        self.precision.set_identity(if exact { 0.0 } else { a });
    }

    /// $A = \frac12 b^T a^{-1} b + \frac12\ln\det 2\pi a^{-1}$; 0 for a pin and in moment form. $+\infty$ for an
    /// improper belief.
    #[must_use]
    pub fn log_partition(&self) -> f64 {
        let each = |b: Block<'_>| b.log_partition().unwrap_or(f64::INFINITY);
        self.sum(isotropic_log_partition, each)
    }

    /// The log-partition of a proper message, 0 for a pinned, flat or improper one (component by component, or block
    /// by block): what [`product_excess`](super::product_excess) and the excess of a factor leave out.
    #[must_use]
    pub fn own_potential(&self) -> f64 {
        let scalar = |a: f64, b: &[f64]| {
            if a > 0.0 {
                isotropic_log_partition(a, b)
            } else {
                0.0
            }
        };
        self.sum(scalar, |b| b.own_potential())
    }

    /// The sum over what is independent: the whole of an isotropic belief, components, or blocks.
    fn sum(&self, scalar: impl Fn(f64, &[f64]) -> f64, block: impl Fn(Block<'_>) -> f64) -> f64 {
        let (a, b) = (self.precision.data(), &self.linear);
        match self.structure() {
            Structure::Isotropic => scalar(a[0], b),
            Structure::Diagonal => a
                .iter()
                .zip(b.chunks_exact(1))
                .map(|(a, b)| scalar(*a, b))
                .sum(),
            _ => self.blocks().map(block).sum(),
        }
    }

    /// $\ln g(m) - A(g) = -\frac12 a\|m - b/a\|^2 - \frac n2\ln\frac{2\pi}a$ of a proper finite message;
    /// [`log_value`](Self::log_value) of a flat or improper one.
    #[must_use]
    pub fn normalised_log_value(&self, place: &[f64]) -> f64 {
        match self.structure() {
            Structure::Isotropic => {
                isotropic_normalised(self.precision.scalar(), &self.linear, place)
            }
            Structure::Diagonal => self.by_component(place, isotropic_normalised),
            _ => self.log_value(place) - self.own_potential(),
        }
    }

    /// $\ln g(m) = -\frac12 m^T a m + b^T m$ of an unnormalised finite message in natural form.
    #[must_use]
    pub fn log_value(&self, place: &[f64]) -> f64 {
        match self.structure() {
            Structure::Isotropic => {
                isotropic_log_value(self.precision.scalar(), &self.linear, place)
            }
            Structure::Diagonal => self.by_component(place, isotropic_log_value),
            _ => {
                let dim = self.len() / self.forms.len();
                let parts = self.blocks().zip(place.chunks_exact(dim));
                parts.map(|(b, m)| b.log_value(column(m))).sum()
            }
        }
    }

    fn by_component(&self, place: &[f64], f: impl Fn(f64, &[f64], &[f64]) -> f64) -> f64 {
        let parts = self.linear.chunks_exact(1).zip(place.chunks_exact(1));
        let parts = self.precision.data().iter().zip(parts);
        parts.map(|(a, (b, m))| f(*a, b, m)).sum()
    }

    /// Mean and covariance of the belief.
    ///
    /// # Errors
    /// [`FactorError::Improper`] when it is not one, naming the precision.
    pub fn moments_into(&self, out: &mut Moments) -> Result<(), FactorError> {
        match self.structure() {
            Structure::Isotropic => {
                let a = self.precision.scalar();
                if a <= 0.0 {
                    return Err(improper(&format!("precision {}", brief(a))));
                }
                let divisor = if a == f64::INFINITY { 1.0 } else { a };
                for (r, b) in out.mean.iter_mut().zip(&self.linear) {
                    *r = b / divisor;
                }
                out.variance.set_scalar(1.0 / a);
            }
            Structure::Diagonal => {
                for (i, a) in self.precision.data().iter().enumerate() {
                    if !(*a > 0.0) {
                        return Err(improper(&format!(
                            "precision {} at component {i}",
                            brief(*a)
                        )));
                    }
                    let divisor = if *a == f64::INFINITY { 1.0 } else { *a };
                    out.mean[i] = self.linear[i] / divisor;
                    out.variance.data_mut()[i] = 1.0 / a;
                }
            }
            _ => self.block_moments(out)?,
        }
        Ok(())
    }

    fn block_moments(&self, out: &mut Moments) -> Result<(), FactorError> {
        let dim = self.len() / self.forms.len();
        let places = out.mean.chunks_exact_mut(dim);
        let places = places.zip(out.variance.data_mut().chunks_exact_mut(dim * dim));
        for (k, (mean, variance)) in places.enumerate() {
            let block = self.block(k);
            let found = block.moments();
            let proper =
                |s: &faer::Mat<f64>| block.form == Form::Natural || is_covariance(s.as_ref());
            let Some((s, m)) = found.filter(|(s, _)| proper(s)) else {
                let what = "a precision matrix that is not positive definite";
                return Err(improper(&format!("{what} (block {k})")));
            };
            store(s.as_ref(), variance);
            store_vector(m.as_ref(), mean);
        }
        Ok(())
    }

    /// The first component in which two exact statements disagree, with what `exact` says there; `self` is the sum
    /// of all messages.
    pub(crate) fn contradicts(&self, exact: &Self) -> Option<usize> {
        let scale = self.linear.iter().fold(0.0_f64, |s, x| s.max(x.abs()));
        let apart = |i: usize| (self.linear[i] - exact.linear[i]).abs() > PIN_TOLERANCE * scale;
        let a = exact.precision.data();
        match self.structure() {
            Structure::Isotropic if a[0] == f64::INFINITY => (0..self.len()).find(|i| apart(*i)),
            Structure::Isotropic => None,
            Structure::Diagonal => (0..self.len()).find(|i| a[*i] == f64::INFINITY && apart(*i)),
            _ => {
                let dim = self.len() / self.forms.len();
                let conflict = |k: &usize| {
                    let at = k * dim..(k + 1) * dim;
                    let block = exact.block(*k);
                    let gap: Vec<f64> = at
                        .clone()
                        .map(|i| self.linear[i] - exact.linear[i])
                        .collect();
                    block.form == Form::Moments
                        && self.forms[*k] == Form::Moments
                        && outside_range(block.matrix, column(&gap)) > PIN_TOLERANCE * scale
                };
                (0..self.forms.len()).find(conflict).map(|k| k * dim)
            }
        }
    }
}

/// Exact statements agree to this fraction of the largest place.
const PIN_TOLERANCE: f64 = 1e-6;

fn improper(what: &str) -> FactorError {
    FactorError::Improper(format!("the belief has {what}"))
}
