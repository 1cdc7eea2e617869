//! Channels.

mod activation;
mod activation_integral;
mod piecewise;
mod regions;

pub use activation::Activation;
pub(crate) use activation::Inverse;
pub use piecewise::PiecewiseLinear;
pub use regions::Region;
pub(crate) use regions::{Preimage, Regions};
