//! What surrounds an inference: random instances to run it on, and figures of what came out.
//!
//! | module | what it holds |
//! |---|---|
//! | [`data`] | arrays in files: `.npy`, `.npz`, `.csv` |
//! | [`ensemble`] | random matrices from a seed |
//! | [`experiment`] | inference and prediction of a model file |
//! | [`figure`] | charts as SVG |
//! | [`spec`] | model files in TOML |
//! | [`sweep`] | experiments over a grid: streams, journal, table |

pub mod data;
pub mod ensemble;
pub mod experiment;
pub mod figure;
mod hash;
pub mod spec;
pub mod sweep;

/// The examples of the README, run as tests of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
