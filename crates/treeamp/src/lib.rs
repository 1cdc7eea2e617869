//! Compositional inference in high-dimensional, tree-structured models.

pub mod catalog;
pub mod error;
pub mod math;
pub mod scalar;
pub mod testing;

pub use error::ModelError;
