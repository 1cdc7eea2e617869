//! Channels.

mod activation;
mod activation_grid;
mod activation_integral;
mod activation_table;
mod bias;
mod concatenate;
mod dense_pieces;
mod dense_sum;
mod duplicate;
mod factorization;
mod gaussian_noise;
mod linear;
mod modulus;
mod pieces;
mod piecewise;
mod regions;
mod reshape;
mod rotation;
mod shaped;
mod sum;

pub use activation::Activation;
pub(crate) use activation::Inverse;
pub use bias::Bias;
pub use concatenate::{Concatenate, Split};
pub use duplicate::Duplicate;
pub use factorization::Factorization;
pub use gaussian_noise::GaussianNoise;
pub use linear::{IterativeOptions, Linear, LinearEnsemble};
pub use modulus::Modulus;
pub use piecewise::PiecewiseLinear;
pub use regions::Region;
pub(crate) use regions::{Preimage, Regions};
pub use reshape::Reshape;
pub use rotation::Rotation;
pub use shaped::{Convolution, Dft, Gradient, Mask, MaskedDft, RealDft};
pub use sum::Sum;
