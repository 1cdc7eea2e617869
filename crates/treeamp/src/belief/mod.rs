//! Gaussian beliefs in natural parameters, their moments, and the shape of a signal.

mod block;
mod excess;
mod gaussian;
mod laws;
mod maps;
mod message;
mod moments;
mod overlaps;
mod row_overlaps;
mod signal;
mod sym_matrix;

pub(crate) use block::Block;
pub use block::Form;
pub use excess::product_excess;
pub(crate) use excess::product_log_partition;
pub use gaussian::Gaussian;
pub(crate) use maps::{log_normal_sum, noise_excess, noise_log_partition};
pub use message::Message;
pub use moments::Moments;
pub(crate) use moments::mean_square;
pub use overlaps::{OverlapFields, Overlaps};
pub use row_overlaps::{RowMatrix, RowOverlaps};
pub(crate) use signal::fits;
pub use signal::{Element, SignalSpec, Structure};
pub(crate) use sym_matrix::CHUNK;
pub use sym_matrix::SymMatrix;
