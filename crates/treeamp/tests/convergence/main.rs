//! Runs that settle, and what they say when they end.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::float_cmp)]

mod certain;
#[path = "../common/mod.rs"]
mod common;
mod diagonal;
mod ends;
mod evidence;
mod fallback;
mod recorded;
mod restart;
#[path = "../suite/mod.rs"]
mod suite;
mod sweeps;
mod takeover;
mod total_variation;

use common::{chain, drawn, glm, linear};
use treeamp::prelude::*;

fn run(posterior: &Tree, damping: Damping) -> Posterior {
    let engine = ExpectationPropagation.on(posterior).unwrap();
    engine.damping(damping).run(&mut ()).unwrap()
}

fn full() -> bool {
    std::env::var_os("TREEAMP_FULL").is_some()
}
