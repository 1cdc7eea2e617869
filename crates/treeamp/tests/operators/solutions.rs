//! Iterative solutions against dense ones, what a sweep costs in transforms, filters against their
//! definitions, and errors.

use std::sync::Arc;

use super::three_taps;
use crate::common::{self, chain, glm, matrix_of, normals, seen};
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

/// A Gaussian signal through noise: the exact posterior, by iteration and by the dense matrix. `exact` is
/// the size up to which all eigenvalues are computed: 0 leaves everything to probes, as on operators of
/// any size.
fn compare(name: &str, operator: impl LinearOperator, exact: usize) {
    let w = matrix_of(&operator);
    let (n, m) = (operator.input().len(), operator.output().len());
    assert!(operator.singular_system().unwrap().is_none());
    // known eigenvalues leave nothing to estimate
    let estimated = exact == 0 && operator.known_spectrum().is_none();
    let shape = operator.input().shape.clone();
    let mut options = IterativeOptions::default();
    options.lanczos.exact = exact;
    let iterative = Linear::of(operator).iterative(options).unwrap();
    let dense = Linear::new(w).unwrap();
    for noise in [0.3, 1e-2, 1e-4, 1e-6] {
        let run = |channel: &Linear, shape: &[usize]| {
            let y = normals(m, 3);
            let seen = seen(noise, &y);
            let prior = GaussianPrior::new(0.2, 1.5).unwrap().shaped(shape.to_vec());
            let model = chain(prior, channel.clone(), seen);
            let model = model.build().unwrap();
            let engine = ExpectationPropagation.on(&model).unwrap();
            engine.run(&mut ()).unwrap()
        };
        let (ours, theirs) = (run(&iterative, &shape), run(&dense, &[n]));
        for variable in ["x", "z"] {
            let [one, other] = [&ours, &theirs].map(|r| r.mean(variable).unwrap());
            let means = common::relative_gap(one, other);
            let [one, other] = [&ours, &theirs].map(|r| r.variance(variable).unwrap());
            let ratio = one / other - 1.0;
            println!("{name} at {noise:e}, {variable}: means {means:.1e}, variance {ratio:.1e}");
            let allowed = if estimated { 0.02 } else { 1e-9 };
            assert!(
                means < 1e-6 && ratio.abs() < allowed,
                "{name} at {noise:e}, {variable}: {means:e} {ratio:e}"
            );
        }
        let [one, other] = [&ours, &theirs].map(|r| r.log_evidence().unwrap());
        let error = ours.log_evidence_error().unwrap();
        println!("{name} at {noise:e}: evidence {one:.3} ± {error:.3}, exact {other:.3}");
        assert!(theirs.log_evidence_error().unwrap() == 0.0);
        let allowed = if estimated {
            let bound = evidence_error(&dense, 1.0 / 1.5, 1.0 / noise);
            // a standard error from 32 probes is itself known to an eighth
            assert!(
                error > 0.0 && error < 1.5 * bound,
                "{name} at {noise:e}: {error} {bound}"
            );
            4.0 * error
        } else {
            // a sum of up to 4e8 that rounds at 1e-15, a mean known to 1e-10
            assert!(error == 0.0);
            1e-3
        };
        assert!(
            (one - other).abs() < allowed,
            "{name} at {noise:e}: {one} ± {error}, {other}"
        );
    }
}

/// The largest standard error of $\frac12\mathrm{tr}\ln(a_z + a_x A)$ from 32 probes: a probe of random signs has the
/// variance $2\sum_{i\ne j}L_{ij}^2 \le 2\sum_k(l_k - \bar l)^2$.
fn evidence_error(dense: &Linear, az: f64, ax: f64) -> f64 {
    let values = dense.decomposition().unwrap().singular_values();
    let logs: Vec<f64> = values.iter().map(|s| (az + ax * s * s).ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let square: f64 = logs.iter().map(|l| (l - mean).powi(2)).sum();
    0.5 * (2.0 * square / 32.0).sqrt()
}

/// The gradient with a zero beyond the last entry, as functions with a known spectrum.
fn gradient_by_functions(image: &SignalSpec) -> MatrixFree {
    let known = Arc::new(FiniteDifference::new(image, Boundary::Zero).unwrap());
    let spectrum = Spectrum::of(&matrix_of(known.as_ref())).unwrap();
    let (output, same) = (known.output().clone(), known.clone());
    let forward = move |z: &[f64], out: &mut [f64]| known.apply(z, out, &mut []);
    let backward = move |x: &[f64], out: &mut [f64]| same.adjoint(x, out, &mut []);
    let operator = MatrixFree::new("gradient", image, &output, forward, backward);
    operator.unwrap().with_spectrum(spectrum).unwrap()
}

fn mask_of_a_blur(image: &SignalSpec) -> Composition {
    let blur = CircularConvolution::new(image, &Filter::GaussianBlur(vec![1.0])).unwrap();
    let some: Vec<bool> = (0..image.len()).map(|i| (7 * i) % 5 < 3).collect();
    let mask = SubSampling::new(image, &some).unwrap();
    Composition::new(vec![Arc::new(blur), Arc::new(mask)]).unwrap()
}

/// With all eigenvalues, as operators of up to 2048 numbers have them.
#[test]
fn iterative_solutions_agree_with_dense_ones() {
    const ALL: usize = 2048;
    compare("sparse, wide", sparse(400, 600, 8, 1), ALL);
    compare("sparse, tall", sparse(900, 600, 8, 1), ALL);
    compare("sparse, square", sparse(500, 500, 6, 2), ALL);
    let image = SignalSpec::real([24, 25]);
    compare("gradient, zero", gradient_by_functions(&image), ALL);
    compare("mask of a blur", mask_of_a_blur(&image), ALL);
    let line = SignalSpec::real([600]);
    let scales = (0..600).map(|i| 0.1 + f64::from(i % 7)).collect();
    let scale = DiagonalScaling::new(&line, scales).unwrap();
    let stack = Stack::new(vec![Arc::new(sparse(200, 600, 5, 4)), Arc::new(scale)]).unwrap();
    compare("stack", stack, ALL);
    compare("matrix-free", three_taps(&line), ALL);
}

/// With probes alone, as larger operators are solved. The square sparse matrix has eigenvalues down to
/// zero, so that at little noise a handful of modes carries the variance.
#[test]
fn estimated_variances_agree_with_dense_ones() {
    compare("sparse, wide", sparse(400, 600, 8, 1), 0);
    compare("sparse, tall", sparse(900, 600, 8, 1), 0);
    let n = if std::env::var_os("TREEAMP_FULL").is_some() {
        500
    } else {
        260
    };
    compare("sparse, square", sparse(n, n, 6, 2), 0);
    let image = SignalSpec::real([24, 25]);
    compare("gradient, zero", gradient_by_functions(&image), 0);
    compare("mask of a blur", mask_of_a_blur(&image), 0);
    compare("matrix-free", three_taps(&SignalSpec::real([600])), 0);
}

/// Probes that are too few, or steps that are: the error is measured, and said.
#[test]
fn inaccurate_estimates_are_errors() {
    let run = |lanczos: LanczosOptions| {
        let options = IterativeOptions {
            lanczos,
            ..IterativeOptions::default()
        };
        let channel = Linear::of(sparse(500, 500, 6, 2))
            .iterative(options)
            .unwrap();
        let seen = GaussianLikelihood::new(1e-4).unwrap();
        let seen = seen.observed(normals(500, 3)).unwrap();
        let prior = GaussianPrior::new(0.2, 1.5).unwrap().iid(500);
        let model = chain(prior, channel, seen).build().unwrap();
        let engine = ExpectationPropagation.on(&model).unwrap();
        engine.run(&mut ()).map(|_| ()).map_err(|e| e.to_string())
    };
    let default = LanczosOptions {
        exact: 0,
        ..LanczosOptions::default()
    };
    let error = run(LanczosOptions {
        probes: 4,
        ..default
    })
    .unwrap_err();
    assert!(
        error.contains("`sparse`") && error.contains("random probes"),
        "{error}"
    );
    let error = run(LanczosOptions {
        steps: 30,
        ..default
    })
    .unwrap_err();
    assert!(
        error.contains("Lanczos rules") && error.contains("30 steps"),
        "{error}"
    );
    assert!(
        error.contains("`LanczosOptions::exact` of at least 500"),
        "{error}"
    );
    let rough = LanczosOptions {
        probes: 4,
        accuracy: 0.9,
        ..default
    };
    assert_eq!(run(rough), Ok(()));
}

/// Condition numbers that no probe resolves: below twice the size of `exact` all eigenvalues are computed instead.
#[test]
fn an_ill_conditioned_operator_is_rescued() {
    let n = 300;
    let line = SignalSpec::real([n]);
    let decades = |total: f64, step: usize| {
        let entry = |i: usize| 10_f64.powf(-total * ((i * step) % n) as f64 / n as f64);
        (0..n).map(entry).collect::<Vec<f64>>()
    };
    let run = |exact: usize| {
        let parts: Vec<Arc<dyn LinearOperator>> = vec![
            Arc::new(DiagonalScaling::new(&line, decades(6.0, 1)).unwrap()),
            Arc::new(FiniteDifference::new(&line, Boundary::Neumann).unwrap()),
            Arc::new(DiagonalScaling::new(&SignalSpec::real([1, n]), decades(4.0, 7919)).unwrap()),
        ];
        let mut options = IterativeOptions::default();
        options.lanczos.exact = exact;
        let channel = Linear::of(Composition::new(parts).unwrap());
        let model = glm(
            GaussianPrior::new(0.0, 1.0).unwrap().iid(n),
            channel.iterative(options).unwrap(),
            GaussianNoise::new(1e-8).unwrap(),
        )
        .build()
        .unwrap();
        let y = model.sample(0).unwrap().get("y").unwrap().to_vec();
        let model = model.condition("y", &y).unwrap();
        let report = ExpectationPropagation.on(&model).unwrap();
        let report = report.run(&mut ()).unwrap();
        assert!(report.termination.is_converged(), "{}", report.termination);
        (
            report.variance("x").unwrap(),
            report.log_evidence().unwrap(),
        )
    };
    // the same eigenvalues, computed at once or for want of an estimate
    assert_eq!(run(n), run(n / 2));
}

/// The estimate is a function of its seed, and close to the truth.
#[test]
fn spectra_are_estimated_from_a_seed() {
    let w = sparse(700, 600, 6, 5);
    let exact = Spectrum::of(&matrix_of(&w)).unwrap();
    let options = LanczosOptions {
        exact: 0,
        probes: 256,
        ..LanczosOptions::default()
    };
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
            chain >> seen(0.1, &y)
        } else {
            chain >> PiecewiseLinear::relu() >> var("a") >> seen(0.1, &y)
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
    for boundary in [Boundary::Periodic, Boundary::Neumann, Boundary::Zero] {
        let gradient = Arc::new(FiniteDifference::new(&image, boundary).unwrap());
        let model = source(sparse().shaped([8, 12]))
            >> var("x")
            >> Linear::shared(gradient.clone())
            >> var("z")
            >> seen(0.1, &normals(192, 1));
        let counts = transforms(&model.build().unwrap(), 6, || gradient.transforms());
        assert!(
            counts[1..].iter().all(|c| *c == 4),
            "{boundary:?}: {counts:?}"
        );
    }
    let line = SignalSpec::real([60]);
    let mask: Vec<bool> = (0..60).map(|i| (i * i) % 7 < 3).collect();
    let dft = Arc::new(SubSampledDft::new(&line, &mask).unwrap());
    let y = applied(dft.as_ref(), &normals(60, 2));
    let likelihood = seen(0.01, &y);
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
        chain(
            GaussianPrior::new(0.0, 1.0).unwrap().iid(300),
            channel,
            seen(noise, &normals(300, 8)),
        )
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
