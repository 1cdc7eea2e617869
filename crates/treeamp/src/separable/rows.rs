//! A prior on rows, $p(X) = \prod_n p(x_n)$ with $x_n \in \mathbb R^r$: from a law of one row to a factor with block beliefs.

use std::fmt::Debug;
use std::sync::Arc;

use faer::linalg::solvers::Solve;
use faer::{Col, Mat};
use rand::Rng;

use super::row_average::RowComponent;
use crate::belief::{
    Block, Form, Gaussian, Message as _, Moments, SignalSpec, Structure, product_excess,
};
use crate::error::{FactorError, ShapeError};
use crate::factor::{
    Arity, BeliefError, Context, Factor, GenerativeRule, PosteriorRule, RowEnsembleRule, downcast,
};
use crate::math::dense::{
    cholesky, cholesky_beyond, column, inverse, square, store, store_vector, symmetrised,
};

/// A covariance with a pivot below this fraction of its diagonal entry has no precision to speak of.
const SINGULAR: f64 = 1e-10;

/// The law of one row of `dim` numbers, by
/// $A(a, b) = \ln\int dx\, p(x)\, e^{-\frac12 x^T a x + b^T x}$ with a symmetric $r \times r$ matrix $a$.
pub trait RowLaw: Debug + Clone + PartialEq + Send + Sync + 'static {
    /// Catalogue name.
    const NAME: &'static str;

    /// $r$, the length of a row.
    fn dim(&self) -> usize;

    /// $A$, and into `mean` and `covariance` (row by row) its first and second derivative in $b$. $+\infty$ where the
    /// integral diverges.
    fn tilted(&self, a: &[f64], b: &[f64], mean: &mut [f64], covariance: &mut [f64]) -> f64;

    /// A draw of one row.
    fn sample(&self, rng: &mut dyn Rng, out: &mut [f64]);

    /// Mean and covariance (row by row) of a Gaussian law: its message is constant.
    fn as_gaussian(&self) -> Option<(&[f64], &[f64])> {
        None
    }

    /// The Gaussians that it is a mixture of, if it is one: state evolution then averages by quadrature for rows of two, and otherwise
    /// over draws.
    fn components(&self) -> Option<Vec<RowComponent>> {
        None
    }

    /// A short text of its parameters.
    fn summary(&self) -> String {
        format!("rows of {}", self.dim())
    }

    /// The prior of a matrix of `n` independent rows, of shape `(n, r)`, for a variable with block beliefs:
    /// `var("u").block(r)`.
    fn rows(self, n: usize) -> RowsPrior<Self> {
        RowsPrior {
            law: self,
            n,
            ratio: None,
            drawn_by: None,
        }
    }

    /// The prior of rows in the limit of infinitely many, the reference that ratios refer to. For theory only.
    fn limit(self) -> RowsPrior<Self> {
        self.limit_of(1.0)
    }

    /// The prior of rows in the limit of infinitely many, `ratio` times as many as the reference.
    fn limit_of(self, ratio: f64) -> RowsPrior<Self> {
        RowsPrior {
            law: self,
            n: 0,
            ratio: Some(ratio),
            drawn_by: None,
        }
    }
}

/// The first port has blocks of the size of a row.
pub(super) fn check_rows(dim: usize, ports: &[SignalSpec]) -> Result<(), BeliefError> {
    let own = Structure::Block { dim };
    if ports[0].structure == own {
        return Ok(());
    }
    Err(BeliefError {
        port: 0,
        supported: own.to_string(),
    })
}

/// A law on every row of a matrix.
#[derive(Debug, Clone)]
pub struct RowsPrior<L> {
    law: L,
    n: usize,
    /// Rows relative to the reference, in the limit; `n` is then zero.
    ratio: Option<f64>,
    /// The law of the components that these rows stand for: a seed gives the same signal whatever the beliefs.
    drawn_by: Option<Arc<dyn Factor>>,
}

impl<L> RowsPrior<L> {
    /// Draws are those of the components by themselves.
    pub(super) fn drawn_by(self, components: Arc<dyn Factor>) -> Self {
        Self {
            drawn_by: Some(components),
            ..self
        }
    }

    /// The law of one row.
    pub fn law(&self) -> &L {
        &self.law
    }
}

impl<L: RowLaw> Factor for RowsPrior<L> {
    fn name(&self) -> &str {
        L::NAME
    }

    fn summary(&self) -> String {
        self.law.summary()
    }

    fn same_law(&self, other: &dyn Factor) -> bool {
        downcast::<Self>(other).is_some_and(|other| other.law == self.law)
    }

    fn arity(&self) -> Arity {
        Arity {
            inputs: 0,
            outputs: 1,
        }
    }

    fn output_specs(&self, _: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        Ok(vec![match self.ratio {
            Some(ratio) => SignalSpec::limit(ratio),
            None => SignalSpec::real([self.n, self.law.dim()]),
        }])
    }

    fn structures(&self) -> &'static [Structure] {
        &[Structure::Block { dim: 0 }]
    }

    fn check_beliefs(&self, ports: &[SignalSpec]) -> Result<(), BeliefError> {
        check_rows(self.law.dim(), ports)
    }

    fn posterior(&self) -> Option<&dyn PosteriorRule> {
        Some(self)
    }

    fn row_ensemble(&self) -> Option<&dyn RowEnsembleRule> {
        Some(self)
    }

    fn generator(&self) -> Option<&dyn GenerativeRule> {
        Some(self)
    }
}

/// The tilted law of one row.
struct Tilted {
    log_z: f64,
    mean: Vec<f64>,
    covariance: Vec<f64>,
}

impl<L: RowLaw> RowsPrior<L> {
    /// The law tilted by a block; one that is pinned stays where it is.
    fn tilted(&self, block: &Block<'_>, row: usize) -> Result<Tilted, FactorError> {
        let r = self.law.dim();
        let mut out = Tilted {
            log_z: 0.0,
            mean: vec![0.0; r],
            covariance: vec![0.0; r * r],
        };
        if block.is_pinned() {
            store_vector(block.vector, &mut out.mean);
            return Ok(out);
        }
        let (a, b) = natural(block, row)?;
        out.log_z = self.law.tilted(&a, &b, &mut out.mean, &mut out.covariance);
        Ok(out)
    }

    fn own_message(&self, like: &Gaussian) -> Option<Gaussian> {
        let (mean, covariance) = self.law.as_gaussian()?;
        let mut out = like.clone();
        for k in 0..out.block_count() {
            let (form, matrix, vector) = out.block_mut(k);
            *form = Form::Moments;
            matrix.copy_from_slice(covariance);
            vector.copy_from_slice(mean);
        }
        Some(out)
    }
}

/// The natural parameters of a block, row by row.
fn natural(block: &Block<'_>, row: usize) -> Result<(Vec<f64>, Vec<f64>), FactorError> {
    let r = block.vector.nrows();
    let (mut a, mut b) = (vec![0.0; r * r], vec![0.0; r]);
    if block.form == Form::Natural {
        store(block.matrix, &mut a);
        store_vector(block.vector, &mut b);
        return Ok((a, b));
    }
    let Some(factor) = cholesky(block.matrix) else {
        return Err(FactorError::Unsupported(format!(
            "row {row} is exactly known in some directions and not in others: expected a belief with a precision"
        )));
    };
    store(inverse(&factor).as_ref(), &mut a);
    store_vector(factor.solve(block.vector).as_ref(), &mut b);
    Ok((a, b))
}

/// The message of moments $(r, v)$ beside $(a, b)$: $a' = v^{-1} - a$, $b' = v^{-1}r - b$, or, for a singular $v$, in
/// moment form $S' = v(I - a v)^{-1}$, $m' = (I - v a)^{-1}(r - v b)$.
fn extrinsic(
    t: &Tilted,
    (a, b): (&[f64], &[f64]),
    (form, matrix, vector): (&mut Form, &mut [f64], &mut [f64]),
) {
    let n = b.len();
    let (v, r) = (square(&t.covariance, n), column(&t.mean));
    let (a, b) = (square(a, n), column(b));
    if let Some(factor) = cholesky_beyond(v, SINGULAR) {
        *form = Form::Natural;
        store((inverse(&factor) - a).as_ref(), matrix);
        store_vector((factor.solve(r) - b).as_ref(), vector);
        return;
    }
    *form = Form::Moments;
    let k = Mat::<f64>::identity(n, n) - v * a;
    let factor = k.partial_piv_lu();
    let s: Mat<f64> = symmetrised(factor.solve(v).as_ref());
    let m: Col<f64> = factor.solve(r - v * b);
    store(s.as_ref(), matrix);
    store_vector(m.as_ref(), vector);
}

impl<L: RowLaw> PosteriorRule for RowsPrior<L> {
    fn log_partition(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
        let incoming = context.incoming;
        let x = incoming.get(0);
        if self.law.as_gaussian().is_some() {
            return Ok(self.excess(context)? + x.own_potential());
        }
        let mut sum = 0.0;
        for k in 0..x.block_count() {
            let block = x.block(k);
            if block.form == Form::Moments {
                // a density: the tilt by natural parameters less its own volume
                let (a, b) = natural(&block, k)?;
                let tilt = Block::new(Form::Natural, &a, &b);
                sum += self.tilted(&tilt, k)?.log_z - tilt.log_partition().unwrap_or(f64::INFINITY);
            } else {
                sum += self.tilted(&block, k)?.log_z;
            }
        }
        Ok(sum)
    }

    /// A Gaussian law is a message: what the product of the two adds.
    fn excess(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
        let incoming = context.incoming;
        let x = incoming.get(0);
        match self.own_message(x) {
            Some(own) => Ok(product_excess([x, &own].into_iter(), &mut x.clone())),
            None => Ok(self.log_partition(context)? - x.own_potential()),
        }
    }

    fn message(
        &self,
        context: &mut Context<'_>,
        _: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        let incoming = context.incoming;
        let x = incoming.get(0);
        if let Some(own) = self.own_message(x) {
            out.copy_from(&own);
            return Ok(());
        }
        out.set_flat();
        for k in 0..x.block_count() {
            let block = x.block(k);
            if block.is_pinned() {
                continue;
            }
            let t = self.tilted(&block, k)?;
            if t.log_z == f64::INFINITY {
                return Err(FactorError::Improper(format!(
                    "the integral of row {k} diverges"
                )));
            }
            let (a, b) = natural(&block, k)?;
            extrinsic(&t, (&a, &b), out.block_mut(k));
        }
        Ok(())
    }

    fn moments(
        &self,
        context: &mut Context<'_>,
        _: usize,
        out: &mut Moments,
    ) -> Result<(), FactorError> {
        let incoming = context.incoming;
        let (x, r) = (incoming.get(0), self.law.dim());
        for k in 0..x.block_count() {
            let t = self.tilted(&x.block(k), k)?;
            out.mean[k * r..(k + 1) * r].copy_from_slice(&t.mean);
            let at = k * r * r..(k + 1) * r * r;
            out.variance.data_mut()[at].copy_from_slice(&t.covariance);
        }
        Ok(())
    }
}

impl<L: RowLaw> GenerativeRule for RowsPrior<L> {
    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], rng: &mut dyn Rng) {
        if let Some(law) = self.drawn_by.as_deref().and_then(Factor::generator) {
            return law.sample(inputs, outputs, rng);
        }
        let rows = outputs[0].chunks_exact_mut(self.law.dim());
        rows.for_each(|row| self.law.sample(rng, row));
    }
}
