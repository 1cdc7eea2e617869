//! What an author of laws, penalties, channels, factors, operators or algorithms imports, besides the prelude:
//! `use treeamp::extend::*;`.
//!
//! | to write | implement |
//! |---|---|
//! | a prior, a likelihood, a channel on components | [`ScalarPrior`], [`ScalarLikelihood`], [`ScalarChannel`] |
//! | a loss of observed outputs | [`ScalarLoss`] |
//! | a penalty | [`ScalarPenalty`], or [`Penalty`] where components are coupled |
//! | a law of rows | [`RowLaw`](crate::separable::RowLaw) |
//! | a law of outputs of rows | [`RowLikelihood`](crate::separable::RowLikelihood) |
//! | a Gaussian channel | [`Kernel`] |
//! | any other factor | [`Factor`] and [`PosteriorRule`], [`ProximalRule`], [`EnsembleRule`], [`RowEnsembleRule`] or [`GenerativeRule`] |
//! | a linear map | [`LinearOperator`], and [`SingularSystem`] where a transform diagonalises it |
//! | an algorithm | [`Algorithm`] |
//!
//! [`testing`](crate::testing) checks what you wrote.

pub use crate::belief::{Gaussian, Message, Moments, SymMatrix};
pub use crate::catalog::channels::{FewScalars, GaussianChannel, Kernel, Theory};
pub use crate::engine::{Algorithm, Marginal};
pub use crate::error::ShapeError;
pub use crate::factor::{
    Arity, Averaged, BeliefError, Context, EnsembleRule, Factor, GenerativeRule, Incoming,
    PosteriorRule, ProximalRule, Request, RouteChoice, RowAveraged, RowEnsembleRule, RowEstimate,
    Site, Workspace, downcast, message_from_moments, same,
};
pub use crate::operator::{LinearOperator, SingularSystem};
pub use crate::scalar::{
    ScalarChannel, ScalarLikelihood, ScalarLoss, ScalarPenalty, ScalarPrior, Tilt, Tilted,
    TiltedPair,
};
pub use crate::separable::{
    Penalised, Penalty, RowChannel, RowComponent, RowOutputs, RowTilt, RowsPrior,
    SeparableLikelihood, SeparablePrior,
};
