//! Scalar laws and penalties: conformance of the whole catalogue, random points, reference values.
#![allow(clippy::unwrap_used, clippy::float_cmp, clippy::print_stdout)]

mod catalogue;
#[path = "../common/mod.rs"]
mod common;
mod complex;
mod extremes;
mod log_concave;
mod losses;
mod modules;
mod natural_priors;
mod oracle;
mod outputs;
mod penalties;
mod random;
