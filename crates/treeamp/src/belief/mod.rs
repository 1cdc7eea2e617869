//! Gaussian beliefs in natural parameters, their moments, and the shape of a signal.

mod gaussian;
mod message;
mod moments;
mod overlaps;
mod signal;
mod sym_matrix;

pub use gaussian::{Gaussian, product_excess};
pub use message::Message;
pub use moments::Moments;
pub(crate) use moments::mean_square;
pub use overlaps::{OverlapFields, Overlaps};
pub use signal::{Element, SignalSpec, Structure};
pub use sym_matrix::SymMatrix;
