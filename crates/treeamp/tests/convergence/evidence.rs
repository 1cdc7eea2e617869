//! Evidences where variances vanish: finite of a discrete signal, refused where a density diverges.

use super::*;
use treeamp::engine::EvidenceLimit;

pub fn perceptron(n: usize, m: usize, seed: u64) -> (Tree, Vec<f64>) {
    let model = glm(
        Binary::new(0.5).unwrap().iid(n),
        linear(m, n, seed),
        PiecewiseLinear::sign(),
    );
    drawn(model, seed)
}

const PERFECT: Termination = Termination::Converged {
    perfect_recovery: true,
};

/// One signal of $2^N$ explains the signs: $p(y) = 2^{-N}$.
#[test]
fn evidence_of_a_recovered_binary_signal() {
    for (n, m) in [(100, 350), (300, 800)] {
        let (posterior, x) = perceptron(n, m, 1);
        let report = ExpectationPropagation
            .on(&posterior)
            .unwrap()
            .damping(0.2)
            .tolerance(0.0)
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
    let model = glm(
        GaussBernoulli::new(0.6, 0.01, 1.0).unwrap().iid(n),
        linear(300, n, 2),
        PiecewiseLinear::abs(),
    );
    let (posterior, _) = drawn(model, 2);
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

/// A sparse signal of 100 entries seen through 70 measurements with this much noise.
fn measured(noise: f64, seed: u64) -> Tree {
    let model = glm(
        GaussBernoulli::new(0.2, 0.0, 1.0).unwrap().iid(100),
        linear(70, 100, seed),
        GaussianNoise::new(noise).unwrap(),
    );
    drawn(model, seed).0
}

/// Runs that meet the tolerance of the moments on the way to a perfect recovery have no evidence either: the number only
/// told when they stopped. With a little noise there is one, and the same at any tolerance.
#[test]
fn evidence_where_variances_vanish() {
    for seed in 0..3 {
        let noiseless = run(&measured(0.0, seed), Damping::default());
        assert!(noiseless.termination.is_converged());
        let error = noiseless.log_evidence().unwrap_err().to_string();
        assert!(error.contains("diverges"), "{error}");
        let noisy = measured(1e-10, seed);
        let evidence = |tolerance: f64| {
            let engine = ExpectationPropagation.on(&noisy).unwrap();
            let report = engine.tolerance(tolerance).run(&mut ()).unwrap();
            assert!(report.termination.is_converged(), "{}", report.termination);
            report.log_evidence().unwrap()
        };
        let (loose, tight) = (evidence(1e-6), evidence(1e-10));
        println!("{loose} {tight}");
        // two sweeps that agree to 1e-6, and what the rest adds to that
        assert!((loose / tight - 1.0).abs() < 1e-5, "{loose} {tight}");
    }
}

/// The symmetric door with signs of equal odds: every run that a push sends to one of the two signals has the evidence
/// of that one among $2^N$, also where the next sweep would underflow (seed 1).
#[test]
fn evidence_of_a_pushed_door() {
    let n = 200;
    for seed in if full() { 0..12 } else { 0..4 } {
        let model = glm(
            Binary::new(0.5).unwrap().iid(n),
            linear(500, n, seed),
            PiecewiseLinear::symmetric_door(1.0).unwrap(),
        );
        let (posterior, x) = drawn(model, seed);
        let engine = ExpectationPropagation.on(&posterior).unwrap();
        let start = treeamp::algorithms::push(&posterior, 0.3, seed).unwrap();
        let report = engine.initial(start).run(&mut ()).unwrap();
        let error = treeamp::metrics::mse_up_to_sign(report.mean("x").unwrap(), &x).unwrap();
        let evidence = report.log_evidence().unwrap();
        println!("seed {seed}: error {error:.1e}, {evidence}");
        if error < 1e-9 {
            let exact = -(n as f64) * std::f64::consts::LN_2;
            assert!((evidence / exact - 1.0).abs() < 1e-6, "{seed}: {evidence}");
        }
    }
}

/// Beside the verdict stands whether the evidence has a limit: it has one where there is noise or the signal is discrete, the density of noiseless
/// continuous outputs diverges, and what collapses depends on the width at which it is evaluated.
#[test]
fn the_limit_of_the_evidence_stands_beside_the_verdict() {
    let ends = |tree: &Tree| {
        let report = run(tree, Damping::default());
        let limit = report.evidence_limit.clone().unwrap();
        assert_eq!(limit.exists(), report.log_evidence().is_ok());
        (report.verdict().unwrap().kind(), limit)
    };
    assert_eq!(ends(&measured(0.01, 0)), ("settled", EvidenceLimit::Finite));
    let (perceptron, _) = perceptron(100, 350, 1);
    let found = ends(&perceptron);
    assert_eq!(found, ("exact_recovery", EvidenceLimit::Finite));
    let (verdict, limit) = ends(&measured(0.0, 0));
    assert_eq!((verdict, limit.kind()), ("exact_recovery", "diverging"));
    let (verdict, limit) = ends(&suite::case("sparse gradient 2d", 0).posterior);
    assert_eq!(verdict, "collapsed");
    let vanishing = |l: &EvidenceLimit| matches!(l, EvidenceLimit::DependsOnWidth { variable, .. } if variable == "z");
    assert!(vanishing(&limit), "{limit:?}");
    // a run that has not come to rest has neither
    let engine = ExpectationPropagation.on(&perceptron).unwrap();
    let report = engine.max_sweeps(2).run(&mut ()).unwrap();
    assert!(report.verdict().is_none() && report.evidence_limit.is_none());
}
