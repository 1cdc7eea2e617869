//! Recorded runs with Fourier, convolution and gradient channels: the same fixed points where the
//! record converged, and a better one where the record is inconsistent. Found through
//! `TREEAMP_ORACLE`.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use std::collections::BTreeMap;
use std::path::PathBuf;

use common::npz::{self, Array};
use treeamp::operator::Filter;
use treeamp::prelude::*;

type Arrays = BTreeMap<String, Array>;

fn record(name: &str) -> Option<Arrays> {
    let root = PathBuf::from(std::env::var_os("TREEAMP_ORACLE")?);
    Some(npz::read(
        &root.join("models_ep").join(format!("{name}.npz")),
    ))
}

fn likelihood(variance: f64, y: &Array) -> SeparableLikelihood<GaussianLikelihood> {
    let law = GaussianLikelihood::new(variance).unwrap();
    law.observed(y.data.clone()).unwrap()
}

/// Root mean square difference relative to the second.
fn gap(ours: &[f64], theirs: &[f64]) -> f64 {
    (common::mse(ours, theirs) / common::mean_square(theirs)).sqrt()
}

#[test]
fn deconvolution_of_an_image() {
    let Some(arrays) = record("deconv2d_gaussian") else {
        return;
    };
    let y = &arrays["y"];
    let model = (source(
        GaussianPrior::new(0.0, 1.0)
            .unwrap()
            .shaped(y.shape.clone()),
    ) >> var("x")
        >> Convolution::new(Filter::GaussianBlur(vec![2.0, 2.0]))
        >> var("z")
        >> likelihood(0.1, y))
    .build()
    .unwrap();
    let report = ExpectationPropagation
        .on(&model)
        .unwrap()
        .run(&mut ())
        .unwrap();
    assert!(report.termination.is_converged(), "{}", report.termination);
    for variable in ["x", "z"] {
        let (r, v) = (
            &arrays[&format!("fix_r_{variable}")].data,
            arrays[&format!("fix_v_{variable}")].data[0],
        );
        let (means, ours) = (
            gap(report.mean(variable).unwrap(), r),
            report.variance(variable).unwrap(),
        );
        println!(
            "deconv2d {variable}: means {means:.1e}, variance {ours} ({v}), {} sweeps",
            report.sweeps
        );
        assert!(means < 1e-4 && (ours / v - 1.0).abs() < 1e-4);
    }
    assert!(report.sweeps <= 5);
}

/// A real signal of two waves. The record puts a sparse law of variance 18.75 on all 2N parts of its
/// coefficients, every number twice, and matches variances as if the map from N to 2N numbers were
/// unitary. Here the law is on the N real coordinates, each $\sqrt2$ times a part. The two models have no
/// evidence in common (theirs counts every coefficient twice), so that the errors are compared.
#[test]
fn sparse_fourier_coefficients() {
    let Some(arrays) = record("sparse_fft") else {
        return;
    };
    let y = &arrays["y"];
    let n = y.data.len();
    let sparse = GaussBernoulli::new(0.02, 0.0, 2.0 * 18.75).unwrap().iid(n);
    let model = (source(GaussianPrior::new(0.0, 1.0).unwrap().iid(n))
        >> var("x")
        >> (branch(likelihood(0.1, y)) + (branch(RealDft) + sparse >> var("z"))))
    .build()
    .unwrap();
    let report = ExpectationPropagation
        .on(&model)
        .unwrap()
        .damping(0.1)
        .run(&mut ())
        .unwrap();
    assert!(report.termination.is_converged(), "{}", report.termination);
    let truth = &arrays["true_x"].data;
    let ours = common::mse(report.mean("x").unwrap(), truth);
    let theirs = common::mse(&arrays["fix_r_x"].data, truth);
    println!(
        "sparse_fft: error {ours:.2e} (recorded {theirs:.2e}), variance {:.2e}, {} sweeps",
        report.variance("x").unwrap(),
        report.sweeps
    );
    assert!(ours < theirs);
}

/// The record diverges, and keeps its seventh sweep. With more damping the run converges, to a tenth
/// of that error, and to the same place from any damping that does.
#[test]
fn sparse_gradient() {
    let Some(arrays) = record("sparse_gradient") else {
        return;
    };
    let y = &arrays["y"];
    let n = y.data.len();
    let sparse = GaussBernoulli::new(0.04, 0.0, 1.0).unwrap().shaped([1, n]);
    let model = (source(GaussianPrior::new(0.0, 1.0).unwrap().iid(n))
        >> var("x")
        >> (branch(likelihood(0.01, y)) + (branch(Gradient::periodic()) + sparse >> var("z"))))
    .build()
    .unwrap();
    let run = |damping: f64| {
        let engine = ExpectationPropagation.on(&model).unwrap().damping(damping);
        let report = engine
            .max_sweeps(1000)
            .tolerance(1e-8)
            .run(&mut ())
            .unwrap();
        assert!(report.termination.is_converged(), "{}", report.termination);
        report
    };
    let (report, slower) = (run(0.3), run(0.6));
    let truth = &arrays["true_x"].data;
    let ours = common::mse(report.mean("x").unwrap(), truth);
    let theirs = common::mse(&arrays["r_x"].data, truth);
    println!(
        "sparse_gradient: error {ours:.2e} (recorded {theirs:.2e}), variance {:.2e}, {} sweeps",
        report.variance("x").unwrap(),
        report.sweeps
    );
    assert!(ours < 0.1 * theirs);
    assert!(gap(slower.mean("x").unwrap(), report.mean("x").unwrap()) < 1e-5);
}
