//! Averages of factors over a teacher's data: identities, reference values, counts of evaluations.
#![allow(clippy::unwrap_used, clippy::float_cmp, clippy::print_stdout)]

mod channels;
#[path = "../common/mod.rs"]
mod common;
mod counting;
mod evaluations;
mod oracle;
mod separable;
