//! $Z = X X^T/\sqrt N$.

use std::sync::Arc;

use rand::Rng;

use super::amp::{Amp, LowRankWork};
use super::theory::Sizes;
use super::{LowRank, START, STRUCTURES, check_ports, check_rank, rows_of};
use crate::belief::{Gaussian, OverlapFields, Overlaps, RowMatrix, SignalSpec, Structure};
use crate::catalog::module::{Module, Parameter, ParameterKind, Preset};
use crate::error::{FactorError, ModelError, ShapeError};
use crate::factor::{
    Arity, Averaged, BeliefError, Context, EnsembleRule, Factor, GenerativeRule, PosteriorRule,
    RowAveraged, RowEnsembleRule, RowEstimate, Workspace, downcast,
};

/// The product of a hidden matrix of few columns with itself, $Z = X X^T/\sqrt N$ with $X$ of shape $(N, r)$, or a vector of rank one.
///
/// $Z$ is symmetric, and each pair counts once: its components are the $N(N-1)/2$ pairs $i < j$, row by row
/// ([`SignalSpec::pairs`]). An observation may be given as that, or as the whole symmetric matrix.
///
/// ```
/// use treeamp::metrics;
/// use treeamp::prelude::*;
/// let model = (source(Binary::new(0.5)?.iid(60)) >> var("x") >> LowRankGram::new(1)? >> var("z")
///     >> GaussianNoise::new(0.2)? >> var("y")).build()?;
/// let truth = model.sample(1)?;
/// let posterior = model.condition("y", truth.get("y")?)?;
/// let report = ExpectationPropagation.on(&posterior)?.run(&mut ())?;
/// assert!(metrics::mse_up_to_sign(truth.get("x")?, report.mean("x")?)? < 0.2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct LowRankGram {
    inner: LowRank,
    /// The sizes at its ports, in a tree.
    sizes: Option<Sizes>,
}

impl LowRankGram {
    /// Catalogue name.
    pub const NAME: &'static str = "low_rank_gram";

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "the product of a hidden matrix of few columns with itself",
        formula: "z_ij = x_i · x_j / sqrt(N), pairs i < j of rows of X of shape (N, r)",
        tex: r"Z = \frac{X X^T}{\sqrt N}",
        parameters: &[
            Parameter::required("rank", ParameterKind::Count, "columns of the matrix")
                .or(Preset::Count(1))
                .called("r"),
        ],
        constructor: |a| a.channel(Self::new(a.count("rank")?)?),
        ..Module::CHANNEL
    };

    /// A product of rank `rank`.
    ///
    /// # Errors
    /// A rank of zero.
    pub fn new(rank: usize) -> Result<Self, ModelError> {
        check_rank(Self::NAME, rank)?;
        let symmetric = true;
        Ok(Self {
            inner: LowRank { rank, symmetric },
            sizes: None,
        })
    }
}

impl Factor for LowRankGram {
    super::factor_items!(1);

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        let n = rows_of(&inputs[0], self.inner.rank, 0)?;
        if let Some(ratio) = inputs[0].ratio {
            return Ok(vec![SignalSpec::limit(self.inner.limit_entries(ratio))]);
        }
        if n < 2 {
            return Err(ShapeError {
                port: 0,
                expected: "at least two rows".to_owned(),
                got: format!("shape {}", inputs[0]),
            });
        }
        Ok(vec![SignalSpec::pairs(n)])
    }
}

impl GenerativeRule for LowRankGram {
    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], _: &mut dyn Rng) {
        let rows: Vec<&[f64]> = inputs[0].chunks(self.inner.rank).collect();
        let scale = 1.0 / (rows.len() as f64).sqrt();
        let mut entries = outputs[0].iter_mut();
        for (i, x) in rows.iter().enumerate() {
            for (y, z) in rows[i + 1..].iter().zip(&mut entries) {
                *z = scale * x.iter().zip(*y).map(|(x, y)| x * y).sum::<f64>();
            }
        }
    }
}

super::posterior_rule!(LowRankGram);
super::ensemble_rule!(LowRankGram);
