//! What a run holds at most, in arrays of the signal's size, with the default options and the evidence:
//! at most twelve, the model and its observations included. On the route for independent entries: the matrix once, and vectors.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;
#[path = "common/held.rs"]
mod held;

use std::sync::Arc;

use common::normals;
use treeamp::belief::SignalSpec;
use treeamp::extend::SeparableLikelihood;
use treeamp::operator::{CircularConvolution, Filter, SubSampledDft, applied};
use treeamp::prelude::*;

/// The largest memory of a run of eight sweeps, of which `before` was held by others.
fn arrays(model: &Tree, signal: usize, before: usize) -> f64 {
    held::restart();
    let engine = ExpectationPropagation.on(model).unwrap().tolerance(0.0);
    let report = engine.max_sweeps(8).run(&mut ()).unwrap();
    assert!(report.log_evidence().unwrap().is_finite() && report.sweeps == 8);
    (held::peak() - before) as f64 / (8 * signal) as f64
}

fn sparse(n: usize) -> Vec<f64> {
    let parts = normals(n, 2).into_iter().zip(normals(n, 3));
    parts
        .map(|(u, x)| if u < -1.28 { x } else { 0.0 })
        .collect()
}

fn prior() -> GaussBernoulli {
    GaussBernoulli::new(0.1, 0.0, 1.0).unwrap()
}

fn seen(y: Vec<f64>) -> SeparableLikelihood<GaussianLikelihood> {
    GaussianLikelihood::new(0.01).unwrap().observed(y).unwrap()
}

fn deconvolution(shape: &[usize]) -> f64 {
    let n = shape.iter().product();
    let before = held::now();
    let filter = Filter::GaussianBlur(vec![1.0]);
    let blur = CircularConvolution::new(&SignalSpec::real(shape), &filter).unwrap();
    let y = applied(&blur, &sparse(n));
    let chain = source(prior().shaped(shape)) >> var("x");
    let model = chain >> Linear::of(blur) >> var("z") >> seen(y);
    arrays(&model.build().unwrap(), n, before)
}

fn subsampled_fourier(shape: &[usize]) -> f64 {
    let n = shape.iter().product();
    let before = held::now();
    let dft = {
        let kept: Vec<bool> = normals(n, 1).iter().map(|u| *u < -0.7).collect();
        Arc::new(SubSampledDft::new(&SignalSpec::real(shape), &kept).unwrap())
    };
    let y = applied(dft.as_ref(), &sparse(n));
    let chain = source(prior().shaped(shape)) >> var("x") >> Linear::shared(dft) >> var("c");
    let model = chain >> Reshape::parts() >> var("z") >> seen(y);
    arrays(&model.build().unwrap(), n, before)
}

/// A matrix that someone else holds, with independent entries: what a run needs beside it, certificate included.
fn independent_entries(rows: usize, cols: usize) -> f64 {
    let scale = 1.0 / (cols as f64).sqrt();
    let entries = normals(rows * cols, 4).into_iter().map(|x| scale * x);
    let entries: Arc<Vec<f64>> = Arc::new(entries.collect());
    let before = held::now();
    let w = Matrix::shared(rows, cols, entries).unwrap();
    let mut y = vec![0.0; rows];
    w.apply(&sparse(cols), 1, &mut y);
    held::restart();
    let channel = Linear::new(w).unwrap().by(Route::Iid);
    let model = source(prior().iid(cols)) >> var("x") >> channel >> var("z") >> seen(y);
    let model = model.build().unwrap();
    let report = ExpectationPropagation
        .on(&model)
        .unwrap()
        .run(&mut ())
        .unwrap();
    assert!(report.termination.is_converged() && report.routes[0].route == Route::Iid);
    (held::peak() - before) as f64 / (8 * cols) as f64
}

/// One test: two at once would count each other's memory. The images are just beyond the size up to which a run keeps a
/// way back; long axes have tables and scratch of their own, which must not grow like the signal.
#[test]
fn a_run_holds_twelve_arrays_at_most() {
    let found = [
        ("deconvolution", deconvolution(&[528, 528])),
        ("deconvolution, one axis", deconvolution(&[1 << 19])),
        ("subsampled Fourier", subsampled_fourier(&[528, 528])),
        (
            "subsampled Fourier, one axis",
            subsampled_fourier(&[1 << 20]),
        ),
    ];
    // the first run also makes the room of matrix products, five megabytes once and for all
    independent_entries(500, 1000);
    let beside = independent_entries(1000, 2000);
    println!("independent entries: {beside:.1} arrays beside the matrix, which has a thousand");
    assert!(beside < 100.0, "{beside}");
    for (name, arrays) in found {
        println!("{name}: {arrays:.2} arrays");
        assert!(arrays <= 12.0, "{name}: {arrays}");
    }
}
