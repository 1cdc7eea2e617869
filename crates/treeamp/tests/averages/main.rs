//! Averages of factors over a teacher's data: identities, reference values, random updates.
#![allow(clippy::unwrap_used, clippy::float_cmp, clippy::print_stdout)]

mod channels;
#[path = "../common/mod.rs"]
mod common;
mod fixed_grids;
mod heavy_tails;
mod opaque;
mod oracle;
mod outputs;
mod separable;
mod updates;

use treeamp::belief::OverlapFields;
use treeamp::extend::Factor;
use treeamp::factor::EnsembleRule;
use treeamp::prelude::*;

fn field(m_hat: f64, q_hat: f64, tau_hat: f64) -> OverlapFields {
    OverlapFields {
        m_hat,
        q_hat,
        tau_hat,
    }
}

fn rule(f: &dyn Factor) -> &dyn EnsembleRule {
    f.ensemble().expect("the factor has averages")
}

#[track_caller]
fn close(x: f64, y: f64, tolerance: f64) {
    let scale = x.abs().max(y.abs());
    assert!(
        x == y || (x - y).abs() <= tolerance * scale,
        "{x:e} and {y:e} differ by {:e}",
        (x - y).abs() / scale
    );
}

/// Fourth-order difference.
fn slope(f: &dyn Fn(f64) -> f64, h: f64) -> f64 {
    (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h)
}

/// One of every kind.
fn piecewise_channels() -> Vec<PiecewiseLinear> {
    vec![
        PiecewiseLinear::sign(),
        PiecewiseLinear::abs(),
        PiecewiseLinear::asymmetric_abs(0.4).unwrap(),
        PiecewiseLinear::relu(),
        PiecewiseLinear::leaky_relu(0.1).unwrap(),
        PiecewiseLinear::hard_tanh(),
        PiecewiseLinear::hard_sigmoid(1.5).unwrap(),
        PiecewiseLinear::symmetric_door(0.8).unwrap(),
    ]
}
