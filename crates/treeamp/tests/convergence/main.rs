//! Runs that settle, and what they say when they end.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::float_cmp)]

mod certain;
#[path = "../common/mod.rs"]
mod common;
mod ends;
mod evidence;
mod fallback;
mod recorded;
#[path = "../suite/mod.rs"]
mod suite;
mod sweeps;
mod takeover;
mod total_variation;

use treeamp::prelude::*;

fn linear(rows: usize, cols: usize, seed: u64) -> Linear {
    Linear::new(common::gaussian_matrix(rows, cols, seed)).unwrap()
}

/// A model with its output drawn from it and observed.
fn observed(model: Fragment, seed: u64) -> (Tree, Vec<f64>) {
    let model = model.build().unwrap();
    let sample = model.sample(seed).unwrap();
    let posterior = model.condition("y", sample.get("y").unwrap()).unwrap();
    (posterior, sample.get("x").unwrap().to_vec())
}

fn run(posterior: &Tree, damping: Damping) -> Posterior {
    let engine = ExpectationPropagation.on(posterior).unwrap();
    engine.damping(damping).run(&mut ()).unwrap()
}

fn full() -> bool {
    std::env::var_os("TREEAMP_FULL").is_some()
}
