//! Gaussian beliefs in natural parameters, their moments, and the shape of a signal.

mod block;
mod excess;
mod gaussian;
mod laws;
mod maps;
mod message;
mod moments;
mod overlaps;
mod signal;
mod sym_matrix;

pub(crate) use block::Block;
pub use block::Form;
pub use excess::product_excess;
pub use gaussian::Gaussian;
pub(crate) use maps::{log_normal_sum, noise_excess};
pub use message::Message;
pub use moments::Moments;
pub(crate) use moments::mean_square;
pub use overlaps::{OverlapFields, Overlaps};
pub use signal::{Element, SignalSpec, Structure};
pub use sym_matrix::SymMatrix;
