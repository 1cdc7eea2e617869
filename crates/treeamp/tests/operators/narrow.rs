//! Matrices with entries of 32 bits, and threads.

use std::sync::Arc;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use treeamp::operator::MatrixFree;
use treeamp::prelude::*;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn gaussian(rows: usize, cols: usize) -> Matrix {
    let rng = &mut ChaCha8Rng::seed_from_u64(9);
    let scale = 1.0 / (cols as f64).sqrt();
    let mut entry = |_, _| -> f64 {
        let x: f64 = StandardNormal.sample(rng);
        scale * x
    };
    Matrix::from_fn(rows, cols, &mut entry).unwrap()
}

/// The run of a sparse regression with this matrix on observations made with the one in 64 bits, and its mean squared error.
fn regression(w: Matrix, wide: &Matrix, noise: f64, route: Route) -> (Posterior, f64) {
    let n = w.cols();
    let x: Vec<f64> = (0..n)
        .map(|i| if i % 10 == 0 { (i as f64).sin() } else { 0.0 })
        .collect();
    let mut y = vec![0.0; w.rows()];
    wide.apply(&x, 1, &mut y);
    let rng = &mut ChaCha8Rng::seed_from_u64(3);
    for y in &mut y {
        let e: f64 = StandardNormal.sample(rng);
        *y += noise.sqrt() * e;
    }
    let prior = GaussBernoulli::new(0.1, 0.0, 0.5).unwrap().iid(n);
    let model = source(prior) >> var("x") >> Linear::new(w).unwrap().by(route) >> var("z");
    let model = (model >> GaussianNoise::new(noise).unwrap() >> var("y"))
        .build()
        .unwrap();
    let tree = model.condition("y", &y).unwrap();
    let report = ExpectationPropagation
        .on(&tree)
        .unwrap()
        .run(&mut ())
        .unwrap();
    assert!(report.termination.is_converged(), "{}", report.termination);
    let mean = report.mean("x").unwrap();
    let error = mean
        .iter()
        .zip(&x)
        .map(|(a, b)| (a - b).powi(2))
        .sum::<f64>()
        / n as f64;
    (report, error)
}

/// Half the bytes, and errors within 0.05 dB of those with all of them, down to -60 dB.
#[test]
fn half_the_bytes_find_the_same_signal() -> Outcome {
    let wide = gaussian(300, 600);
    let narrow = wide.narrow()?;
    assert!(narrow.is_narrow() && !wide.is_narrow());
    for route in [Route::Iid, Route::Exact] {
        for noise in [1e-2, 1e-6] {
            let (_, error) = regression(wide.clone(), &wide, noise, route);
            let (_, other) = regression(narrow.clone(), &wide, noise, route);
            let decibel = 10.0 * (other / error).log10();
            assert!(decibel.abs() < 0.05, "{route}, noise {noise}: {decibel} dB");
        }
    }
    Ok(())
}

#[test]
fn what_32_bits_cannot_hold_is_refused() {
    let large = Matrix::from_rows(2, 2, &[1.0, 0.0, -1e39, 1.0]).unwrap();
    let error = large.narrow().unwrap_err().to_string();
    assert!(error.contains("at row 1, column 0"), "{error}");
    let error = Matrix::shared_narrow(1, 2, Arc::new(vec![1.0_f32, f32::NAN])).unwrap_err();
    assert!(
        error.to_string().contains("NaN at row 0, column 1"),
        "{error}"
    );
    assert!(Matrix::shared_narrow(1, 3, Arc::new(vec![1.0_f32, 2.0])).is_err());
}

/// The same bits with one thread and with three, by both routes; the matrix is large enough for threads.
#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let wide = gaussian(600, 1000);
    for w in [wide.clone(), wide.narrow().unwrap()] {
        for route in [Route::Iid, Route::Exact] {
            let run = |threads| {
                let (report, error) =
                    with_threads(threads, || regression(w.clone(), &wide, 1e-2, route));
                (error.to_bits(), report.log_evidence().unwrap().to_bits())
            };
            assert_eq!(run(1), run(3), "{route}");
        }
    }
}

/// The product of a matrix of 32 bits, each of its entries summed one after the other in 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "this is what is tried")]
fn product(rows: usize, z: &[f64], out: &mut [f64], entry: &dyn Fn(usize, usize) -> f32) {
    for (i, out) in (0..rows).zip(out) {
        let sum = z.iter().enumerate();
        let sum = sum.fold(0.0_f32, |sum, (j, z)| sum + entry(i, j) * *z as f32);
        *out = f64::from(sum);
    }
}

/// The operator of a matrix in 32 bits, whose adjoint has `wrong(i, j)` more at every entry.
fn in_32_bits(
    w: &Matrix,
    wrong: impl Fn(usize, usize, f32) -> f32 + Send + Sync + 'static,
) -> Result<MatrixFree, ModelError> {
    let (rows, cols) = (w.rows(), w.cols());
    #[expect(clippy::cast_possible_truncation, reason = "this is what is tried")]
    let entries: Vec<f32> = (0..rows * cols)
        .map(|k| w.get(k / cols, k % cols) as f32)
        .collect();
    let entries = Arc::new(entries);
    let same = Arc::clone(&entries);
    let apply = move |z: &[f64], out: &mut [f64]| {
        product(rows, z, out, &|i, j| entries[cols * i + j]);
    };
    let adjoint = move |x: &[f64], out: &mut [f64]| {
        let entry = |j, i| {
            let own = same[cols * i + j];
            own + wrong(i, j, own)
        };
        product(cols, x, out, &entry);
    };
    let (input, output) = (SignalSpec::real([cols]), SignalSpec::real([rows]));
    MatrixFree::new("narrow", &input, &output, apply, adjoint)
}

/// What 32 bits round is let through, of any size, and an adjoint that is wrong by a thousandth, or at one entry, is not.
#[test]
fn the_dot_test_allows_for_the_rounding_of_32_bits_and_no_more() {
    for (rows, cols) in [
        (1, 1),
        (1, 500),
        (500, 1),
        (30, 60),
        (500, 1000),
        (2000, 1000),
    ] {
        let w = gaussian(rows, cols);
        in_32_bits(&w, |_, _, _| 0.0).unwrap_or_else(|e| panic!("{rows} x {cols}: {e}"));
        for size in [1e-3, -1e-3] {
            let error = in_32_bits(&w, move |_, _, own| size * own).expect_err("a wrong scale");
            assert!(matches!(error, ModelError::Adjoint { .. }), "{error}");
        }
        let one = move |i, j, _| {
            if (i, j) == (rows / 2, cols / 2) {
                0.1
            } else {
                0.0
            }
        };
        let error = in_32_bits(&w, one).expect_err("a wrong entry");
        assert!(matches!(error, ModelError::Adjoint { .. }), "{error}");
    }
}
