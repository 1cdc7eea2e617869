//! Runs that settle, and what they say when they end.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::float_cmp)]

mod common;

use treeamp::prelude::*;

fn linear(rows: usize, cols: usize, seed: u64) -> Linear {
    Linear::new(common::gaussian_matrix(rows, cols, seed)).unwrap()
}

/// A model with its output drawn from it and observed.
fn observed(model: Fragment, seed: u64) -> (Tree, Vec<f64>) {
    let model = model.build().unwrap();
    let sample = model.sample(seed).unwrap();
    let posterior = model.condition("y", sample.get("y").unwrap()).unwrap();
    (posterior, sample.get("x").unwrap().to_vec())
}

fn perceptron(n: usize, m: usize, seed: u64) -> (Tree, Vec<f64>) {
    let model = source(Binary::new(0.5).unwrap().iid(n))
        >> var("x")
        >> linear(m, n, seed)
        >> var("z")
        >> PiecewiseLinear::sign()
        >> var("y");
    observed(model, seed)
}

const PERFECT: Termination = Termination::Converged {
    perfect_recovery: true,
};

/// One signal of $2^N$ explains the signs: $p(y) = 2^{-N}$.
#[test]
fn evidence_of_a_recovered_binary_signal() {
    for (n, m) in [(100, 300), (300, 700)] {
        let (posterior, x) = perceptron(n, m, 1);
        let report = ExpectationPropagation
            .on(&posterior)
            .unwrap()
            .damping(0.2)
            .run(&mut ())
            .unwrap();
        assert_eq!(report.termination, PERFECT);
        assert!(common::mse(report.mean("x").unwrap(), &x) < 1e-12);
        let evidence = report.log_evidence().unwrap();
        let exact = -(n as f64) * std::f64::consts::LN_2;
        println!("{n}: {} sweeps, {evidence}, exact {exact}", report.sweeps);
        // a recovery that claims variances of 1e-14 leaves the mass of other signals below that
        assert!((evidence / exact - 1.0).abs() < 1e-9, "{evidence} {exact}");
    }
}

/// A noiseless continuous output of a recovered signal has no finite density.
#[test]
fn no_evidence_where_the_density_diverges() {
    let n = 200;
    let model = source(GaussBernoulli::new(0.6, 0.01, 1.0).unwrap().iid(n))
        >> var("x")
        >> linear(300, n, 2)
        >> var("z")
        >> PiecewiseLinear::abs()
        >> var("y");
    let (posterior, _) = observed(model, 2);
    let engine = ExpectationPropagation.on(&posterior).unwrap().damping(0.3);
    let noisy = Initial::Noisy {
        precision: 0.0,
        mean: 0.0,
        std: 0.1,
        seed: 0,
    };
    let report = engine.initial(noisy).run(&mut ()).unwrap();
    assert_eq!(report.termination, PERFECT);
    // infinite, or not defined because it does not settle: never a number
    match report.log_evidence() {
        Ok(evidence) => assert_eq!(evidence, f64::INFINITY),
        Err(error) => assert!(error.to_string().contains("diverges"), "{error}"),
    }
}
