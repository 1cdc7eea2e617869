//! The engine: options, starts, observers, and every way a run can end.
#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    clippy::print_stdout,
    clippy::unnecessary_literal_bound
)]

#[path = "../common/mod.rs"]
mod common;
mod ends;
mod estimates;
mod options;
mod runs;
mod starts;
mod symmetric_points;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{drawn, glm, infer, linear, mse, seen};
use treeamp::belief::{Gaussian, Message as _, SignalSpec};
use treeamp::engine::Messages;
use treeamp::prelude::*;

fn regression(n: usize, seed: u64) -> (Tree, Vec<f64>) {
    let model = glm(
        GaussBernoulli::new(0.1, 0.0, 1.0).unwrap().iid(n),
        linear(n / 2, n, seed),
        GaussianNoise::new(0.01).unwrap(),
    );
    drawn(model, seed)
}

// ---- what users do by mistake ----

fn noisy(n: usize) -> Tree {
    let model = source(GaussianPrior::new(0.0, 1.0).unwrap().iid(n))
        >> var("x")
        >> GaussianNoise::new(0.1).unwrap()
        >> var("y");
    model
        .build()
        .unwrap()
        .condition("y", &vec![1.0; n])
        .unwrap()
}
