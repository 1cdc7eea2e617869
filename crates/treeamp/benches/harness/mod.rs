//! A small timing harness: the things to compare take turns, and medians are compared, so that
//! whatever else the machine does falls on all of them alike. One thread.
#![allow(dead_code, clippy::print_stdout)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use treeamp::prelude::Matrix;

/// What a benchmark may fail with.
pub type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A contestant: does its work once and says how long the measured part took.
pub type Contestant<'a> = Box<dyn FnMut() -> Duration + 'a>;

/// Times one call.
pub fn time<T>(f: impl FnOnce() -> T) -> Duration {
    let clock = Instant::now();
    black_box(f());
    clock.elapsed()
}

/// The median seconds of each contestant, over `rounds` rounds in which each has its turn.
pub fn medians(rounds: usize, contestants: &mut [Contestant<'_>]) -> Vec<f64> {
    for _ in 0..2 + rounds / 10 {
        for c in contestants.iter_mut() {
            black_box(c());
        }
    }
    let mut times = vec![Vec::with_capacity(rounds); contestants.len()];
    for _ in 0..rounds {
        for (c, t) in contestants.iter_mut().zip(&mut times) {
            t.push(c().as_secs_f64());
        }
    }
    times.into_iter().map(median).collect()
}

fn median(mut x: Vec<f64>) -> f64 {
    x.sort_by(f64::total_cmp);
    x[x.len() / 2]
}

/// A heading.
pub fn heading(text: &str) {
    println!("\n{text}");
}

/// A line of a table: a name, a time, and a remark.
pub fn line(name: &str, seconds: f64, remark: &str) {
    println!("  {name:<44} {:>10}  {remark}", human(seconds));
}

fn human(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.2} ms", 1e3 * s),
        s if s >= 1e-6 => format!("{:.2} µs", 1e6 * s),
        s => format!("{:.1} ns", 1e9 * s),
    }
}

/// Standard normal numbers.
pub fn normals(n: usize, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..n).map(|_| StandardNormal.sample(&mut rng)).collect()
}

/// Independent Gaussian entries of variance one over the number of columns.
pub fn gaussian(rows: usize, cols: usize, seed: u64) -> Matrix {
    let x = normals(rows * cols, seed);
    let scale = (cols as f64).sqrt().recip();
    Matrix::from_fn(rows, cols, |i, j| scale * x[i * cols + j]).expect("finite entries")
}
