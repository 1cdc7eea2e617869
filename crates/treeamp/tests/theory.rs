//! State evolution: fixed points, thresholds and information against known values.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use treeamp::algorithms::state_evolution::phases::{
    Phase, Search, algorithmic_threshold, information_threshold, noiseless_linear_threshold,
    phase_report, weak_recovery,
};
use treeamp::prelude::*;

fn sparse(rho: f64) -> SeparablePrior<GaussBernoulli> {
    GaussBernoulli::new(rho, 0.0, 1.0).unwrap().limit()
}

fn glm(prior: impl Factor, alpha: f64, output: impl Factor) -> Result<Tree, RunError> {
    let model = source(prior)
        >> var("x")
        >> LinearEnsemble::gaussian(alpha)?
        >> var("z")
        >> output
        >> var("y");
    Ok(model.build()?.expect("y")?)
}

fn noise(delta: f64) -> GaussianNoise {
    GaussianNoise::new(delta).unwrap()
}

#[test]
fn sparse_regression_has_its_fixed_point() {
    let tree = glm(sparse(0.05), 0.2, noise(0.01)).unwrap();
    let evolution = StateEvolution::new(&tree).unwrap().fixed_point().unwrap();
    println!(
        "{} sweeps, {:?}",
        evolution.report.sweeps,
        evolution.overlaps("x").unwrap()
    );
    assert!((evolution.variance("x").unwrap() - 0.014_123_783_5).abs() < 1e-8);
    let information = evolution.information(&tree).unwrap();
    println!(
        "entropy {} {}",
        information.entropy,
        evolution.entropy().unwrap()
    );
    assert!((information.entropy - evolution.entropy().unwrap()).abs() < 1e-9);
}

#[test]
fn noiseless_compressed_sensing_thresholds() {
    for (rho, expected) in [(0.1, 0.20756), (0.25, 0.42008), (0.5, 0.68570)] {
        let alpha = noiseless_linear_threshold(&sparse(rho)).unwrap();
        println!("rho {rho}: {alpha:.6}, expected {expected}");
        assert!((alpha - expected).abs() < 1e-4);
    }
}

#[test]
fn thresholds_timing() {
    let start = std::time::Instant::now();
    let family = |alpha: f64| glm(sparse(0.25), alpha, noise(0.0));
    let a = algorithmic_threshold(&family, "x", Search::between(0.3, 0.6).tolerance(1e-3)).unwrap();
    println!("cs alg {a} in {:?}", start.elapsed());
    let it =
        information_threshold(&family, "x", Search::between(0.1, 0.6).tolerance(1e-3)).unwrap();
    println!("cs it {it} in {:?}", start.elapsed());
    let family = |alpha: f64| {
        glm(
            Binary::new(0.5).unwrap().limit(),
            alpha,
            PiecewiseLinear::sign(),
        )
    };
    let a = algorithmic_threshold(&family, "x", Search::between(1.3, 1.7).tolerance(1e-3)).unwrap();
    println!("perceptron alg {a} in {:?}", start.elapsed());
    let it =
        information_threshold(&family, "x", Search::between(1.1, 1.45).tolerance(1e-3)).unwrap();
    println!("perceptron it {it} in {:?}", start.elapsed());
    println!(
        "{}",
        weak_recovery(&family, "x", Search::between(0.1, 2.0)).unwrap_err()
    );
    let family = |alpha: f64| {
        glm(
            GaussianPrior::new(0.0, 1.0).unwrap().limit(),
            alpha,
            PiecewiseLinear::abs(),
        )
    };
    let w = weak_recovery(&family, "x", Search::between(0.2, 0.9).tolerance(1e-4)).unwrap();
    println!("pr weak {w} in {:?}", start.elapsed());
    let a = algorithmic_threshold(&family, "x", Search::between(1.0, 1.3).tolerance(1e-2)).unwrap();
    println!("pr alg {a} in {:?}", start.elapsed());
    let it =
        information_threshold(&family, "x", Search::between(0.5, 1.3).tolerance(1e-3)).unwrap();
    println!("pr it {it} in {:?}", start.elapsed());
    let report = phase_report(&glm(sparse(0.25), 0.35, noise(0.0)).unwrap(), "x").unwrap();
    assert_eq!(report.phase, Phase::Hard);
}
