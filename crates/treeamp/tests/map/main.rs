//! Maximum a posteriori estimation: independent solvers, limits, total variation, theory.
#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]

mod accuracy;
#[path = "../common/mod.rs"]
mod common;
mod limits;
mod losses;
mod refusals;
mod solvers;
mod theory;
mod total_variation;
