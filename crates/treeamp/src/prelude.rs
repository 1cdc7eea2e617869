//! What a user imports: `use treeamp::prelude::*;`. Traits for laws, factors and operators of one's own are in
//! [`extend`](crate::extend).

pub use crate::Complex;
pub use crate::algorithms::state_evolution::phases::{
    Phase, PhaseReport, algorithmic_threshold, information_threshold, informed_threshold,
    l1_threshold, l1_transition, noiseless_linear_threshold, phase_report, phase_report_at,
    weak_recovery,
};
pub use crate::algorithms::{
    Evolution, ExpectationPropagation, MaximumAPosteriori, Minimum, MismatchedEvolution, Posterior,
    RowEvolution, Solution, StateEvolution, Teacher,
};
pub use crate::belief::{RowMatrix, RowOverlaps, SignalSpec, Structure};
pub use crate::catalog::channels::*;
pub use crate::catalog::likelihoods::*;
pub use crate::catalog::losses::*;
pub use crate::catalog::penalties::*;
pub use crate::catalog::priors::*;
pub use crate::engine::{
    Damping, EdgeMessage, Engine, EveryN, Fallback, FallbackEnd, Initial, Observer, Options,
    Progress, Report, SweepView, Termination, Verdict,
};
pub use crate::error::{FactorError, ModelError, RunError};
pub use crate::factor::{Route, RouteReport};
pub use crate::math::complex_matrix::ComplexMatrix;
pub use crate::math::matrix::Matrix;
pub use crate::math::spectrum::Spectrum;
pub use crate::model::{
    Direction, Fragment, Sample, Tree, TreeBuilder, branch, named, source, var,
};
pub use crate::separable::{
    IidLaw, LossChannel, ObservedLaw, OutputChannel, PartsLikelihood, PartsPrior, PenaltyLaw,
    RowLaw, RowLikelihood,
};
pub use crate::threads::with_threads;
