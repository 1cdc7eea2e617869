//! Numerics that have never heard of a graph.

pub(crate) mod anderson;
pub mod bessel;
pub mod complex_matrix;
pub mod cosine;
pub mod decomposition;
pub(crate) mod dense;
pub mod fourier;
pub(crate) mod logistic_normal;
mod long_fourier;
pub mod matrix;
pub mod mixture;
pub mod modes;
pub mod quadrature;
pub mod rayleigh;
pub mod special;
pub mod spectrum;
pub mod truncated_normal;
