//! Numerics that have never heard of a graph.

pub(crate) mod anderson;
pub(crate) mod bessel;
pub mod complex_matrix;
pub(crate) mod cosine;
pub(crate) mod decomposition;
pub(crate) mod dense;
pub(crate) mod fourier;
pub(crate) mod log_concave;
pub(crate) mod logistic_normal;
mod long_fourier;
pub mod matrix;
pub mod mixture;
pub mod modes;
mod products;
pub mod quadrature;
pub(crate) mod rayleigh;
pub(crate) mod scale_mixture;
pub(crate) mod small;
pub(crate) mod sparse_cholesky;
pub mod special;
pub mod spectrum;
pub mod truncated_normal;
pub mod vector;

/// The relative rounding of sums over many numbers and of a few products after each other: some hundred times that of one.
pub(crate) const ROUNDING: f64 = 1e-13;
