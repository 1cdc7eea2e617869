//! A matrix that is kept elsewhere, known by its products and norms.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use treeamp::extend::*;
use treeamp::operator::{Dense, MatrixFree};
use treeamp::prelude::*;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn gaussian(rows: usize, cols: usize) -> Arc<Dense> {
    let rng = &mut ChaCha8Rng::seed_from_u64(5);
    let scale = 1.0 / (cols as f64).sqrt();
    let mut draw = || -> f64 { StandardNormal.sample(rng) };
    let w = Matrix::from_fn(rows, cols, |_, _| scale * draw()).unwrap();
    Arc::new(Dense::new(w))
}

/// The matrix by its products, which count how often they are asked for and of how many vectors.
fn kept(w: &Arc<Dense>, calls: &Arc<AtomicUsize>) -> Result<MatrixFree, ModelError> {
    let (rows, columns) = w.matrix().square_norms();
    let (to, from) = (Arc::clone(w), Arc::clone(w));
    let (first, second) = (Arc::clone(calls), Arc::clone(calls));
    let apply = move |z: &[f64], out: &mut [f64]| {
        first.fetch_add(1, Ordering::Relaxed);
        to.apply_to_each(z, out, &mut []);
    };
    let adjoint = move |x: &[f64], out: &mut [f64]| {
        second.fetch_add(1, Ordering::Relaxed);
        from.adjoint_of_each(x, out, &mut []);
    };
    MatrixFree::of_matrix("kept", rows, columns, apply, adjoint)
}

fn regression(channel: Linear, w: &Dense) -> Result<Tree, ModelError> {
    let w = w.matrix();
    let rng = &mut ChaCha8Rng::seed_from_u64(6);
    let mut draw = || -> f64 { StandardNormal.sample(rng) };
    let x: Vec<f64> = (0..w.cols())
        .map(|i| if i % 10 == 0 { draw() } else { 0.0 })
        .collect();
    let mut y = vec![0.0; w.rows()];
    w.apply(&x, 1, &mut y);
    y.iter_mut().for_each(|y| *y += 0.1 * draw());
    let prior = GaussBernoulli::new(0.1, 0.0, 1.0)?.iid(w.cols());
    let model = source(prior) >> var("x") >> channel >> var("z") >> GaussianNoise::new(0.01)?;
    (model >> var("y")).build()?.condition("y", &y)
}

#[test]
fn takes_the_route_for_independent_entries_with_two_products_a_sweep() -> Outcome {
    let w = gaussian(400, 800);
    for route in [Route::Iid, Route::IidOnly, Route::Auto] {
        let calls = Arc::new(AtomicUsize::new(0));
        let channel = Linear::of(kept(&w, &calls)?).by(route);
        let tree = regression(channel, &w)?;
        let report = ExpectationPropagation.on(&tree)?.run(&mut ())?;
        assert!(report.termination.is_converged(), "{}", report.termination);
        assert_eq!(report.routes[0].route, Route::Iid, "{:?}", report.routes);
        // beside two a sweep: the dot test, sums of rows, the certificate, and the evidence with its limit
        let beside = calls.load(Ordering::Relaxed) - 2 * report.sweeps;
        assert!(
            beside <= 2 + 1 + 10 + 2,
            "{beside} products beside those of {} sweeps",
            report.sweeps
        );

        let dense = Linear::new(w.matrix().clone())?.by(route);
        let same = ExpectationPropagation
            .on(&regression(dense, &w)?)?
            .run(&mut ())?;
        assert_eq!(report.sweeps, same.sweeps);
        let pairs = report.mean("x")?.iter().zip(same.mean("x")?);
        assert!(pairs.clone().all(|(r, s)| (r - s).abs() < 1e-9), "{route}");
        assert!((report.log_evidence()? - same.log_evidence()?).abs() < 1e-6);
    }
    Ok(())
}

#[test]
fn the_exact_route_solves_with_it() -> Outcome {
    let w = gaussian(60, 100);
    let calls = Arc::new(AtomicUsize::new(0));
    let tree = regression(Linear::of(kept(&w, &calls)?), &w)?;
    let report = ExpectationPropagation.on(&tree)?.run(&mut ())?;
    let dense = regression(Linear::new(w.matrix().clone())?, &w)?;
    let same = ExpectationPropagation.on(&dense)?.run(&mut ())?;
    let pairs = report.mean("x")?.iter().zip(same.mean("x")?);
    assert!(pairs.clone().all(|(r, s)| (r - s).abs() < 1e-6));
    Ok(())
}

#[test]
fn wrong_norms_and_products_are_refused() {
    let w = gaussian(3, 4);
    let (rows, columns) = w.matrix().square_norms();
    let none = |_: &[f64], out: &mut [f64]| out.fill(0.0);
    let ones = |_: &[f64], out: &mut [f64]| out.fill(1.0);
    let made = |rows: &[f64], columns: &[f64]| {
        MatrixFree::of_matrix("kept", rows.to_vec(), columns.to_vec(), none, none)
    };
    assert!(made(&rows, &columns).is_ok());
    let doubled: Vec<f64> = rows.iter().map(|n| 2.0 * n).collect();
    for (rows, columns, told) in [
        (&rows[..0], &columns[..], "at least one component"),
        (&[1.0, f64::NAN][..], &columns[..], "NaN at 1"),
        (&[1.0, -1.0][..], &columns[..], "-1 at 1"),
        (&doubled[..], &columns[..], "add up"),
    ] {
        let error = made(rows, columns).unwrap_err().to_string();
        assert!(error.contains("kept") && error.contains(told), "{error}");
    }
    let wrong = MatrixFree::of_matrix("kept", rows, columns, ones, none).unwrap_err();
    assert!(matches!(wrong, ModelError::Adjoint { .. }), "{wrong}");
}
