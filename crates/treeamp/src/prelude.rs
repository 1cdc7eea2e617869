//! What a user imports: `use treeamp::prelude::*;`.

pub use crate::Complex;
pub use crate::algorithms::{
    Evolution, ExpectationPropagation, MaximumAPosteriori, Minimum, MismatchedEvolution, Posterior,
    Solution, StateEvolution, Teacher,
};
pub use crate::belief::{Gaussian, Moments, SignalSpec, Structure};
pub use crate::catalog::channels::{
    Activation, Bias, Concatenate, Convolution, Dft, Duplicate, Factorization, GaussianNoise,
    Gradient, Linear, LinearEnsemble, Mask, MaskedDft, Modulus, PiecewiseLinear, RealDft, Reshape,
    Rotation, Split, Sum,
};
pub use crate::catalog::likelihoods::{
    GaussianLikelihood, ModulusLikelihood, PhaseLikelihood, PiecewiseLikelihood,
};
pub use crate::catalog::penalties::{
    BoxConstraint, CustomPenalty, L1, L21, NonNegative, Quadratic,
};
pub use crate::catalog::priors::{
    Binary, CircularGaussBernoulli, CircularGaussian, Exponential, GaussBernoulli, GaussianMixture,
    GaussianPrior, Interval, MixtureRow, NaturalPrior, Positive,
};
pub use crate::engine::{
    Damping, EdgeMessage, Engine, EveryN, Fallback, FallbackEnd, Initial, Observer, Options,
    Progress, Report, SweepView, Termination,
};
pub use crate::error::{FactorError, ModelError, RunError};
pub use crate::factor::Factor;
pub use crate::math::complex_matrix::ComplexMatrix;
pub use crate::math::matrix::Matrix;
pub use crate::math::spectrum::Spectrum;
pub use crate::model::{
    Direction, Fragment, Sample, Tree, TreeBuilder, branch, named, source, var,
};
pub use crate::scalar::{
    ScalarChannel, ScalarLikelihood, ScalarPenalty, ScalarPrior, Tilt, Tilted,
};
pub use crate::separable::{
    IidLaw, ObservedLaw, PartsLikelihood, PartsPrior, Penalised, PenaltyLaw, RowLaw, RowsPrior,
    SeparableLikelihood, SeparablePrior,
};
