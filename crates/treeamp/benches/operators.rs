//! Models that no matrix could hold: sparse recovery from a subsampled Fourier transform at
//! $N = 2^{20}$, an image or one long axis, and deconvolution of an image of 2048 x 2048 pixels. Time and transforms per
//! sweep, and the largest memory that model and run hold, in arrays of the signal's size. The options are the default ones.
//! With the argument `diagonal`: the messages of a sweep between diagonal beliefs on the gradient of an image.
//! With the argument `sparse`: a run with a sparse matrix of 20,000 rows, by conjugate gradients and probes.
#![allow(missing_docs, clippy::print_stdout)]

mod harness;
#[path = "../tests/common/held.rs"]
mod held;

use std::sync::Arc;
use std::time::Instant;

use harness::{Outcome, heading, normals};
use treeamp::belief::{Gaussian, SignalSpec, Structure};
use treeamp::factor::Site;
use treeamp::operator::{
    Boundary, CircularConvolution, Filter, FiniteDifference, SparseMatrix, SubSampledDft, applied,
};
use treeamp::prelude::*;

/// Runs some sweeps and prints what one of them takes.
fn measure(name: &str, model: &Tree, signal: usize, transforms: &dyn Fn() -> usize) -> Outcome {
    held::restart();
    let engine = ExpectationPropagation.on(model)?.tolerance(0.0);
    let mut marks = Vec::with_capacity(16);
    let mut sweeping = 0;
    let mut watch = |_: &SweepView<'_, ExpectationPropagation>| {
        sweeping = held::peak();
        marks.push((Instant::now(), transforms()));
        std::ops::ControlFlow::Continue(())
    };
    let report = engine.max_sweeps(8).run(&mut watch)?;
    let arrays = |bytes: usize| bytes as f64 / (8 * signal) as f64;
    let (sweeping, whole) = (arrays(sweeping), arrays(held::peak()));
    let (first, last) = (marks[1], marks[marks.len() - 1]);
    let sweeps = marks.len() - 2;
    let time = (last.0 - first.0).as_secs_f64() / sweeps as f64;
    let count = (last.1 - first.1) as f64 / sweeps as f64;
    println!(
        "  {name:<44} {:>8.1} ms per sweep, {count} transforms, {sweeping:.2} arrays at most, {whole:.2} with the evidence",
        1e3 * time
    );
    println!(
        "  {:<44} variance {:.3e}, residual {:.1e}",
        "",
        report.variance("x")?,
        report.residual()
    );
    Ok(())
}

/// $y$ = some Fourier coefficients of a sparse real signal, with noise.
fn subsampled_fourier(name: &str, shape: &[usize]) -> Outcome {
    let n = shape.iter().product();
    let kept: Vec<bool> = normals(n, 1).iter().map(|u| *u < -0.7).collect();
    let signal = SignalSpec::real(shape);
    let dft = Arc::new(SubSampledDft::new(&signal, &kept)?);
    drop(kept);
    let model = {
        let prior = GaussBernoulli::new(0.1, 0.0, 1.0)?;
        let mut y = {
            let x: Vec<f64> = normals(n, 2)
                .iter()
                .zip(normals(n, 3))
                .map(|(u, x)| if *u < -1.28 { x } else { 0.0 })
                .collect();
            applied(dft.as_ref(), &x)
        };
        y.iter_mut()
            .zip(normals(2 * n, 4))
            .for_each(|(y, e)| *y += 1e-2 * e);
        (source(prior.shaped(shape))
            >> var("x")
            >> Linear::shared(dft.clone())
            >> var("c")
            >> Reshape::parts()
            >> var("z")
            >> GaussianLikelihood::new(1e-4)?.observed(y)?)
        .build()?
    };
    measure(name, &model, n, &|| dft.transforms())
}

/// $y$ = a blurred image, with noise.
fn deconvolution(side: usize) -> Outcome {
    let n = side * side;
    let signal = SignalSpec::real([side, side]);
    let blur = Arc::new(CircularConvolution::new(
        &signal,
        &Filter::GaussianBlur(vec![1.0]),
    )?);
    let model = {
        let x: Vec<f64> = normals(n, 5)
            .iter()
            .zip(normals(n, 6))
            .map(|(u, x)| if *u < -1.28 { x } else { 0.0 })
            .collect();
        let mut y = applied(blur.as_ref(), &x);
        drop(x);
        y.iter_mut()
            .zip(normals(n, 7))
            .for_each(|(y, e)| *y += 0.1 * e);
        (source(GaussBernoulli::new(0.1, 0.0, 1.0)?.shaped([side, side]))
            >> var("x")
            >> Linear::shared(blur.clone())
            >> var("z")
            >> GaussianLikelihood::new(0.01)?.observed(y)?)
        .build()?
    };
    measure("deconvolution, 2048 x 2048", &model, n, &|| {
        blur.transforms()
    })
}

/// A sparse square matrix with six entries in every row, solved by iteration: eigenvalues down to zero, so that at little
/// noise a handful of modes carries the variance.
fn sparse_matrix(n: usize, noise: f64) -> Outcome {
    let (places, values) = (normals(6 * n, 8), normals(6 * n, 9));
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a digit of a normal number
    let column = |u: f64| (1e6 * u.abs()) as usize % n;
    let entries = (0..6 * n).map(|k| (k / 6, column(places[k]), values[k] / 6.0_f64.sqrt()));
    let w = SparseMatrix::from_triplets(n, n, &entries.collect::<Vec<_>>())?;
    let chain = source(GaussianPrior::new(0.0, 1.0)?.iid(n)) >> var("x") >> Linear::of(w);
    let seen = GaussianLikelihood::new(noise)?.observed(normals(n, 10))?;
    let model = (chain >> var("z") >> seen).build()?;
    let start = Instant::now();
    let report = ExpectationPropagation.on(&model)?.run(&mut ())?;
    println!(
        "  {:<44} {:>8.1} s, variance {:.3e}, evidence ± {:.1} nats",
        format!("sparse, {n} rows, noise {noise:.0e}"),
        start.elapsed().as_secs_f64(),
        report.variance("x")?,
        report.log_evidence_error()?
    );
    Ok(())
}

/// Both messages between diagonal beliefs on the gradient of an image, and the pattern of the factor.
fn diagonal_gradient(side: usize) -> Outcome {
    let image = SignalSpec::real([side, side]);
    let channel = Linear::of(FiniteDifference::new(&image, Boundary::Neumann)?);
    let specs = [channel.operator().input(), channel.operator().output()];
    let specs = specs.map(|spec| SignalSpec {
        structure: Structure::Diagonal,
        ..spec.clone()
    });
    let message = |spec: &SignalSpec| {
        let mut message = Gaussian::flat(spec);
        let drawn = normals(spec.len(), 3);
        for (a, u) in message.precision.data_mut().iter_mut().zip(&drawn) {
            *a = u.exp();
        }
        message.linear.copy_from_slice(&drawn);
        message
    };
    let mut site = Site::new(&channel, &specs, specs.iter().map(message).collect());
    let start = Instant::now();
    site.message(0)?;
    let first = start.elapsed().as_secs_f64();
    let start = Instant::now();
    site.message(0)?;
    site.message(1)?;
    let sweep = start.elapsed().as_secs_f64();
    println!(
        "  gradient, {side} x {side}, diagonal beliefs    {sweep:>8.3} s per sweep, the first message {first:.3} s"
    );
    Ok(())
}

fn main() -> Outcome {
    if std::env::args().any(|a| a == "diagonal") {
        [48, 128, 256].into_iter().try_for_each(diagonal_gradient)?;
        return Ok(());
    }
    if std::env::args().any(|a| a == "sparse") {
        sparse_matrix(20_000, 1e-2)?;
        return sparse_matrix(20_000, 1e-4);
    }
    heading("Operators (8 sweeps, one thread)");
    subsampled_fourier("subsampled Fourier, 1024 x 1024", &[1024, 1024])?;
    subsampled_fourier("subsampled Fourier, one axis of 2^20", &[1 << 20])?;
    deconvolution(2048)
}
