//! $Z = U V^T/\sqrt N$.

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

/// A product of two hidden matrices of few columns, $Z = U V^T/\sqrt N$: $U$ of shape $(M, r)$, $V$ of shape $(N, r)$ and $Z$ of shape $(M, N)$.
/// Of rank one, both may be vectors.
///
/// ```
/// use treeamp::prelude::*;
/// let u = source(GaussianPrior::new(0.0, 1.0)?.iid(40)) >> var("u");
/// let v = source(Binary::new(0.5)?.iid(60)) >> var("v");
/// let model = (u + v >> LowRankFactorization::new(1)? >> var("z") >> GaussianNoise::new(0.05)? >> var("y")).build()?;
/// let truth = model.sample(1)?;
/// let posterior = model.condition("y", truth.get("y")?)?;
/// let report = ExpectationPropagation.on(&posterior)?.run(&mut ())?;
/// assert!(report.termination.is_converged());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct LowRankFactorization {
    inner: LowRank,
    /// The sizes at its ports, in a tree.
    sizes: Option<Sizes>,
}

impl LowRankFactorization {
    /// Catalogue name.
    pub const NAME: &'static str = "low_rank";

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "the product of two hidden matrices of few columns",
        formula: "Z = U V^T / sqrt(N), U of shape (M, r) and V of shape (N, r)",
        tex: r"Z = \frac{U V^T}{\sqrt N}",
        parameters: &[Parameter::required(
            "rank",
            ParameterKind::Count,
            "columns of either matrix",
        )
        .or(Preset::Count(1))
        .called("r")],
        constructor: |a| a.channel(Self::new(a.count("rank")?)?),
        ..Module::CHANNEL
    };

    /// A product of rank `rank`.
    ///
    /// # Errors
    /// A rank of zero.
    pub fn new(rank: usize) -> Result<Self, ModelError> {
        check_rank(Self::NAME, rank)?;
        let symmetric = false;
        Ok(Self {
            inner: LowRank { rank, symmetric },
            sizes: None,
        })
    }
}

impl Factor for LowRankFactorization {
    super::factor_items!(2);

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        let rank = self.inner.rank;
        let (m, n) = (rows_of(&inputs[0], rank, 0)?, rows_of(&inputs[1], rank, 1)?);
        if let [Some(first), Some(_)] = [inputs[0].ratio, inputs[1].ratio] {
            return Ok(vec![SignalSpec::limit(self.inner.limit_entries(first))]);
        }
        Ok(vec![SignalSpec::real([m, n])])
    }
}

impl GenerativeRule for LowRankFactorization {
    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], _: &mut dyn Rng) {
        let rank = self.inner.rank;
        let (u, v) = (inputs[0], inputs[1]);
        let scale = 1.0 / ((v.len() / rank) as f64).sqrt();
        let rows = u.chunks(rank).flat_map(|u| {
            v.chunks(rank)
                .map(move |v| u.iter().zip(v).map(|(x, y)| x * y).sum::<f64>())
        });
        for (z, product) in outputs[0].iter_mut().zip(rows) {
            *z = scale * product;
        }
    }
}

super::posterior_rule!(LowRankFactorization);
super::ensemble_rule!(LowRankFactorization);
