//! State evolution: fixed points, phases, information, students, and its predictions of runs.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::needless_pass_by_value
)]

#[path = "../common/mod.rs"]
mod common;
mod complex;
mod entropies;
mod information;
mod known_values;
mod landscape;
mod low_rank;
mod oracle;
mod rows;
mod runs;
mod several_unknowns;
mod students;
mod three_points;
