//! Linear operators, their spectra and shape channels: conformance, solutions, runs, theory, errors.
#![allow(clippy::unwrap_used, clippy::float_cmp, clippy::print_stdout)]

mod catalogue;
#[path = "../common/mod.rs"]
mod common;
mod errors;
mod large;
mod runs;
mod shapes;
mod solutions;
mod spectrum;
mod theory;
