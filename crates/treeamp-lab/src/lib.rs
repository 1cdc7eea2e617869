//! What surrounds an inference: random instances to run it on, and figures of what came out.
//!
//! | module | what it holds |
//! |---|---|
//! | [`ensemble`] | random matrices from a seed |
//! | [`figure`] | charts as SVG |

pub mod ensemble;
pub mod figure;

/// The examples of the README, run as tests of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
