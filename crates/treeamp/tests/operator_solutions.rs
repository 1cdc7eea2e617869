//! Iterative solutions against dense ones, what a sweep costs in transforms, filters against their
//! definitions, and errors.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use std::sync::Arc;

use common::normals;
use rand::RngExt as _;
use treeamp::belief::SignalSpec;
use treeamp::catalog::channels::IterativeOptions;
use treeamp::operator::{
    Boundary, CircularConvolution, Composition, DiagonalScaling, Filter, FiniteDifference,
    LanczosOptions, LinearOperator, MatrixFree, SparseMatrix, Stack, SubSampledDft, SubSampling,
    applied, estimated_spectrum,
};
use treeamp::prelude::*;

/// A sparse matrix with `per_row` entries of variance `1/per_row` in every row.
fn sparse(rows: usize, cols: usize, per_row: usize, seed: u64) -> SparseMatrix {
    let mut rng = common::rng(seed);
    let entries = normals(rows * per_row, seed + 1);
    let scale = 1.0 / (per_row as f64).sqrt();
    let triplets: Vec<(usize, usize, f64)> = (0..rows * per_row)
        .map(|k| (k / per_row, rng.random_range(0..cols), scale * entries[k]))
        .collect();
    SparseMatrix::from_triplets(rows, cols, &triplets).unwrap()
}

fn matrix_of(operator: &dyn LinearOperator) -> Matrix {
    let n = operator.input().len();
    let columns: Vec<Vec<f64>> = (0..n)
        .map(|j| {
            let mut unit = vec![0.0; n];
            unit[j] = 1.0;
            applied(operator, &unit)
        })
        .collect();
    Matrix::from_fn(operator.output().len(), n, |i, j| columns[j][i]).unwrap()
}

/// A Gaussian signal through noise: the exact posterior, by iteration and by the dense matrix.
fn compare(name: &str, operator: impl LinearOperator) {
    let w = matrix_of(&operator);
    let (n, m) = (operator.input().len(), operator.output().len());
    assert!(operator.singular_system().unwrap().is_none());
    let y = normals(m, 3);
    let shape = operator.input().shape.clone();
    let run = |channel: Linear, shape: Vec<usize>| {
        let model = (source(GaussianPrior::new(0.2, 1.5).unwrap().shaped(shape))
            >> var("x")
            >> channel
            >> var("z")
            >> GaussianLikelihood::new(0.3)
                .unwrap()
                .observed(y.clone())
                .unwrap())
        .build()
        .unwrap();
        ExpectationPropagation
            .on(&model)
            .unwrap()
            .run(&mut ())
            .unwrap()
    };
    let ours = run(Linear::of(operator), shape);
    let exact = run(Linear::new(w).unwrap(), vec![n]);
    for variable in ["x", "z"] {
        let means =
            common::relative_gap(ours.mean(variable).unwrap(), exact.mean(variable).unwrap());
        let ratio = ours.variance(variable).unwrap() / exact.variance(variable).unwrap() - 1.0;
        println!("{name}, {variable}: means {means:.1e}, variance off by {ratio:.1e}");
        assert!(
            means < 1e-6 && ratio.abs() < 0.02,
            "{name}, {variable}: {means:e} {ratio:e}"
        );
    }
    let (ours, exact) = (ours.log_evidence().unwrap(), exact.log_evidence().unwrap());
    println!("{name}: evidence {ours:.3}, exact {exact:.3}");
    assert!(
        (ours - exact).abs() < 0.02 * n as f64,
        "{name}: {ours} {exact}"
    );
}

#[test]
fn iterative_solutions_agree_with_dense_ones() {
    compare("sparse, wide", sparse(400, 600, 8, 1));
    compare("sparse, tall", sparse(200, 120, 6, 2));
    let image = SignalSpec::real([24, 25]);
    compare(
        "gradient",
        FiniteDifference::new(&image, Boundary::Neumann).unwrap(),
    );
    let small = SignalSpec::real([9, 10]);
    compare(
        "gradient",
        FiniteDifference::new(&small, Boundary::Zero).unwrap(),
    );
    let blur = CircularConvolution::new(&image, &Filter::GaussianBlur(vec![1.0])).unwrap();
    let some: Vec<bool> = (0..600).map(|i| (7 * i) % 5 < 3).collect();
    let mask = SubSampling::new(&image, &some).unwrap();
    compare(
        "mask of a blur",
        Composition::new(vec![Arc::new(blur), Arc::new(mask)]).unwrap(),
    );
    let line = SignalSpec::real([600]);
    let scale =
        DiagonalScaling::new(&line, (0..600).map(|i| 0.1 + f64::from(i % 7)).collect()).unwrap();
    let stack = Stack::new(vec![Arc::new(sparse(200, 600, 5, 4)), Arc::new(scale)]).unwrap();
    compare("stack", stack);
    let kernel = [0.5, -0.3, 0.2];
    let shifted = move |z: &[f64], out: &mut [f64], sign: usize| {
        let n = z.len();
        for (i, o) in out.iter_mut().enumerate() {
            *o = kernel
                .iter()
                .enumerate()
                .map(|(k, h)| h * z[(i + n - sign * k + (1 - sign) * k) % n])
                .sum();
        }
    };
    let free = MatrixFree::new(
        "kernel",
        &line,
        &line,
        move |z, o| shifted(z, o, 1),
        move |x, o| shifted(x, o, 0),
    );
    compare("matrix-free", free.unwrap());
}

/// The estimate is a function of its seed, and close to the truth.
#[test]
fn spectra_are_estimated_from_a_seed() {
    let w = sparse(700, 600, 6, 5);
    let exact = Spectrum::of(&matrix_of(&w)).unwrap();
    let options = LanczosOptions::default();
    let one = estimated_spectrum(&w, options).unwrap();
    assert_eq!(one, estimated_spectrum(&w, options).unwrap());
    let other = estimated_spectrum(&w, LanczosOptions { seed: 1, ..options }).unwrap();
    assert_ne!(one, other);
    for gamma in [0.1, 1.0, 10.0, 1000.0] {
        // 256 probes of 600 signs: relative errors of some thousandths
        for s in [&one, &other] {
            let gaps = [
                s.shannon(gamma) / exact.shannon(gamma),
                s.eta(gamma) / exact.eta(gamma),
            ];
            assert!(
                gaps.iter().all(|g| (g - 1.0).abs() < 0.02),
                "{gamma}: {gaps:?}"
            );
        }
    }
}

/// Counts the transforms of `sweeps` sweeps on a model.
fn transforms(model: &Tree, sweeps: usize, count: impl Fn() -> usize) -> Vec<usize> {
    let mut seen = vec![count()];
    let mut watch = |_: &SweepView<'_, ExpectationPropagation>| {
        seen.push(count());
        std::ops::ControlFlow::Continue(())
    };
    let engine = ExpectationPropagation.on(model).unwrap().tolerance(0.0);
    engine.max_sweeps(sweeps).run(&mut watch).unwrap();
    seen.windows(2).map(|w| w[1] - w[0]).collect()
}

/// At most four transforms per sweep, whatever stands on either side.
#[test]
fn a_sweep_costs_at_most_four_transforms() {
    let image = SignalSpec::real([8, 12]);
    let sparse = || GaussBernoulli::new(0.2, 0.0, 1.0).unwrap();
    let blur =
        Arc::new(CircularConvolution::new(&image, &Filter::GaussianBlur(vec![0.5])).unwrap());
    let model = |likelihood: bool| {
        let chain = source(sparse().shaped([8, 12]))
            >> var("x")
            >> Linear::shared(blur.clone())
            >> var("z");
        let y: Vec<f64> = normals(96, 1).iter().map(|y| y.abs()).collect();
        let tree = if likelihood {
            chain >> GaussianLikelihood::new(0.1).unwrap().observed(y).unwrap()
        } else {
            chain
                >> PiecewiseLinear::relu()
                >> var("a")
                >> GaussianLikelihood::new(0.1).unwrap().observed(y).unwrap()
        };
        tree.build().unwrap()
    };
    let counts = transforms(&model(true), 6, || blur.transforms());
    assert!(
        counts[1..].iter().all(|c| *c == 4),
        "a constant output message: {counts:?}"
    );
    let counts = transforms(&model(false), 6, || blur.transforms());
    assert!(
        counts[1..].iter().all(|c| *c == 4),
        "a changing output message: {counts:?}"
    );
    let line = SignalSpec::real([60]);
    let mask: Vec<bool> = (0..60).map(|i| (i * i) % 7 < 3).collect();
    let dft = Arc::new(SubSampledDft::new(&line, &mask).unwrap());
    let y = applied(dft.as_ref(), &normals(60, 2));
    let likelihood = GaussianLikelihood::new(0.01).unwrap().observed(y).unwrap();
    let model = (source(sparse().iid(60))
        >> var("x")
        >> Linear::shared(dft.clone())
        >> var("z")
        >> Reshape::parts()
        >> var("p")
        >> Reshape::to([2 * mask.iter().filter(|m| **m).count()])
        >> var("q")
        >> likelihood)
        .build()
        .unwrap();
    let counts = transforms(&model, 6, || dft.transforms());
    assert!(counts[1..].iter().all(|c| *c == 2), "{counts:?}");
}

/// Convolution, not correlation, and the filters by their definitions in space.
#[test]
fn filters_are_what_they_say() {
    let line = SignalSpec::real([6]);
    let kernel = Filter::Kernel {
        shape: vec![3],
        entries: vec![1.0, 2.0, 3.0],
    };
    let mut unit = vec![0.0; 6];
    unit[4] = 1.0;
    let close = |x: &[f64], y: &[f64]| x.iter().zip(y).all(|(x, y)| (x - y).abs() < 1e-14);
    let out = applied(&CircularConvolution::new(&line, &kernel).unwrap(), &unit);
    // the kernel runs forwards from the place of the unit
    assert!(close(&out, &[3.0, 0.0, 0.0, 0.0, 1.0, 2.0]), "{out:?}");
    let kernel = Filter::CentredKernel {
        shape: vec![3],
        entries: vec![1.0, 2.0, 3.0],
    };
    let out = applied(&CircularConvolution::new(&line, &kernel).unwrap(), &unit);
    assert!(close(&out, &[0.0, 0.0, 0.0, 1.0, 2.0, 3.0]), "{out:?}");
    let image = SignalSpec::real([5, 4]);
    let z = normals(20, 9);
    let at = |i: usize, j: usize| z[4 * (i % 5) + j % 4];
    let laplacian = applied(
        &CircularConvolution::new(&image, &Filter::Laplacian).unwrap(),
        &z,
    );
    let difference = Filter::Differential { axis: 1 };
    let difference = applied(&CircularConvolution::new(&image, &difference).unwrap(), &z);
    let gradient = applied(
        &FiniteDifference::new(&image, Boundary::Periodic).unwrap(),
        &z,
    );
    for (i, j) in (0..20).map(|k| (k / 4, k % 4)) {
        let sum = at(i + 1, j) + at(i + 4, j) + at(i, j + 1) + at(i, j + 3) - 4.0 * at(i, j);
        assert!((laplacian[4 * i + j] - sum).abs() < 1e-13);
        assert!((difference[4 * i + j] - (at(i, j + 1) - at(i, j))).abs() < 1e-13);
        assert!((gradient[4 * i + j] - (at(i + 1, j) - at(i, j))).abs() < 1e-13);
        assert!((gradient[20 + 4 * i + j] - (at(i, j + 1) - at(i, j))).abs() < 1e-13);
    }
    // a blur of width σ adds σ² to the variance of a bump
    let line = SignalSpec::real([64]);
    let mut unit = vec![0.0; 64];
    unit[32] = 1.0;
    let blur = Filter::GaussianBlur(vec![3.0]);
    let out = applied(&CircularConvolution::new(&line, &blur).unwrap(), &unit);
    let spread: f64 = out
        .iter()
        .enumerate()
        .map(|(i, h)| h * (i as f64 - 32.0).powi(2))
        .sum();
    assert!(
        (out.iter().sum::<f64>() - 1.0).abs() < 1e-13 && (spread - 9.0).abs() < 1e-6,
        "{spread}"
    );
}

/// Wrong adjoints, iterations that do not converge, exact outputs where there is no decomposition.
#[test]
fn failures_are_typed() {
    let line = SignalSpec::real([5]);
    let wrong = MatrixFree::new(
        "shift",
        &line,
        &line,
        |z, o| {
            o.iter_mut()
                .enumerate()
                .for_each(|(i, o)| *o = z[(i + 1) % 5]);
        },
        |x, o| o.copy_from_slice(x),
    );
    let error = wrong.unwrap_err();
    assert!(
        matches!(&error, ModelError::Adjoint { operator, .. } if operator == "shift"),
        "{error}"
    );
    let nan = MatrixFree::new(
        "nan",
        &line,
        &line,
        |_, o| o.fill(f64::NAN),
        |_, o| o.fill(f64::NAN),
    );
    assert!(matches!(nan.unwrap_err(), ModelError::Adjoint { .. }));
    let options = IterativeOptions {
        max_iterations: 2,
        ..IterativeOptions::default()
    };
    let channel = Linear::of(sparse(300, 300, 5, 7))
        .iterative(options)
        .unwrap();
    let tree = |channel: Linear, noise: f64| {
        (source(GaussianPrior::new(0.0, 1.0).unwrap().iid(300))
            >> var("x")
            >> channel
            >> var("z")
            >> GaussianLikelihood::new(noise)
                .unwrap()
                .observed(normals(300, 8))
                .unwrap())
        .build()
        .unwrap()
    };
    let error = ExpectationPropagation
        .on(&tree(channel, 1e-4))
        .unwrap()
        .run(&mut ())
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("`sparse`")
            && text.contains("conjugate gradients")
            && text.contains("2 iterations"),
        "{text}"
    );
    let channel = Linear::of(sparse(300, 300, 5, 7));
    let error = ExpectationPropagation
        .on(&tree(channel, 0.0))
        .unwrap()
        .run(&mut ())
        .unwrap_err();
    assert!(error.to_string().contains("known exactly"), "{error}");
    let zero = IterativeOptions {
        tolerance: 0.0,
        ..IterativeOptions::default()
    };
    assert!(Linear::of(sparse(3, 3, 1, 7)).iterative(zero).is_err());
    assert!(SparseMatrix::from_triplets(2, 2, &[(2, 0, 1.0)]).is_err());
    assert!(SparseMatrix::from_triplets(2, 2, &[(0, 2, 1.0)]).is_err());
    assert!(SparseMatrix::from_triplets(2, 2, &[(0, 1, f64::NAN)]).is_err());
    let real = DiagonalScaling::complex(&line, vec![num_complex::Complex64::I; 5]);
    assert!(real.is_err());
}
