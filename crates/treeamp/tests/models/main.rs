//! Models: how they are declared, their factors, exact posteriors and evidences, recorded runs.
#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cloned_ref_to_slice_refs
)]

mod committee;
#[path = "../common/mod.rs"]
mod common;
mod complex;
mod declarations;
mod evidence;
mod factors;
mod gaussian_trees;
mod low_rank;
mod recorded;
mod refusals;
