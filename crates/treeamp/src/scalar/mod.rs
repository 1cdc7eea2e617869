//! Scalar laws: one short trait each for priors, likelihoods and channels.
//!
//! Everything treeamp knows about a separable module follows from its scalar log-partition
//! $A(a, b)$ with the tilted mean $r = \partial_b A$ and variance $v = \partial_b^2 A$.

mod channel;
mod elem;
mod likelihood;
mod loss;
mod penalty;
mod prior;
mod tilted;
mod view;

pub use channel::ScalarChannel;
pub use elem::Elem;
pub use likelihood::ScalarLikelihood;
pub use loss::ScalarLoss;
pub use penalty::ScalarPenalty;
pub use prior::ScalarPrior;
pub use tilted::{Tilt, Tilted, TiltedPair};
pub(crate) use view::excess_by_difference;
pub use view::{Landmark, OutputMeasure, Parity, Piece, ScalarView, Symmetry};
