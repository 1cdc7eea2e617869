//! State evolution: fixed points, thresholds and information against known values.

use crate::common::{glm, limit_glm};
use treeamp::algorithms::state_evolution::phases::{
    Family, FixedPoints, Phase, Search, algorithmic_threshold, information_threshold,
    informed_threshold, noiseless_linear_threshold, phase_report, phase_report_at, weak_recovery,
};
use treeamp::extend::SeparablePrior;
use treeamp::prelude::*;

fn sparse(rho: f64) -> SeparablePrior<GaussBernoulli> {
    GaussBernoulli::new(rho, 0.0, 1.0).unwrap().limit()
}

fn noise(delta: f64) -> GaussianNoise {
    GaussianNoise::new(delta).unwrap()
}

#[test]
fn sparse_regression_has_its_fixed_point() {
    let tree = limit_glm(sparse(0.05), 0.2, noise(0.01)).unwrap();
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

/// Binary signs: the data determine the signal from 1.245 on, and expectation propagation finds it
/// from 1.4926 on. Odd outputs have no weak-recovery transition.
#[test]
fn perceptron_thresholds() {
    let family = |alpha: f64| {
        limit_glm(
            Binary::new(0.5).unwrap().limit(),
            alpha,
            PiecewiseLinear::sign(),
        )
    };
    let search = Search::between(1.3, 1.7).tolerance(1e-8);
    let algorithmic = algorithmic_threshold(&family, "x", search).unwrap();
    println!("perceptron: algorithmic {algorithmic:.8}");
    assert!((algorithmic - 1.4926).abs() < 1e-4, "{algorithmic}");
    // what is iterated agrees
    let phase = |alpha: f64| phase_report(&family(alpha).unwrap(), "x").unwrap().phase;
    assert_eq!(phase(algorithmic - 2e-3), Phase::Hard);
    assert_eq!(phase(algorithmic + 2e-3), Phase::Easy);
    let search = Search::between(1.1, 1.45).tolerance(5e-4);
    let information = information_threshold(&family, "x", search).unwrap();
    println!("perceptron: information-theoretic {information:.4}");
    assert!(information > 1.243 && information < 1.250, "{information}");
    let report = phase_report(&family(1.35).unwrap(), "x").unwrap();
    assert_eq!(report.phase, Phase::Hard);
    // the recovered phase has the entropy of the signal
    assert!((report.informed.entropy.unwrap() - 2.0_f64.ln()).abs() < 1e-4);
}

/// The density above which noiseless compressed sensing at a ratio of 0.8 fails: a parameter that makes the model harder.
#[test]
fn thresholds_of_a_density() {
    let family = |rho: f64| limit_glm(sparse(rho), 0.8, GaussianNoise::new(0.0)?);
    let search = Search::between(0.05, 0.95);
    let algorithmic = algorithmic_threshold(&family, "x", search).unwrap();
    // at that density the ratio above which it is easy is 0.8
    let ratio = noiseless_linear_threshold(&sparse(algorithmic)).unwrap();
    assert!((ratio - 0.8).abs() < 2e-4, "{algorithmic} {ratio}");
    for threshold in [information_threshold, informed_threshold] {
        let found = threshold(&family, "x", search).unwrap();
        assert!((found - 0.8).abs() < 1e-3, "{found}");
    }
}

/// A transition that does not exist is said not to, with the factor that is the reason.
#[test]
fn weak_recovery_says_why_there_is_none() {
    let text = |family: &dyn Fn(f64) -> Result<Tree, RunError>| {
        let search = Search::between(0.1, 2.0);
        let error = weak_recovery(family, "x", search).unwrap_err();
        error.to_string()
    };
    let binary = || Binary::new(0.5).unwrap().limit();
    let odd = text(&|alpha| limit_glm(binary(), alpha, PiecewiseLinear::sign()));
    assert!(
        odd.contains("weak-recovery transition is not defined"),
        "{odd}"
    );
    assert!(odd.contains("is not even in `z`"), "{odd}");
    let biased = || GaussBernoulli::new(0.6, 0.01, 1.0).unwrap().limit();
    let mean = text(&|alpha| limit_glm(biased(), alpha, PiecewiseLinear::abs()));
    assert!(mean.contains("`x` has a mean under its prior"), "{mean}");
    assert!(!mean.contains("not even"), "{mean}");
    // even output, no mean: there is one, above this range
    let none = text(&|alpha| limit_glm(binary(), 0.1 * alpha, PiecewiseLinear::abs()));
    assert!(
        none.contains("not yet recovered at the upper end"),
        "{none}"
    );
}

/// One fixed point at every ratio: there is no informed threshold, neither in the range nor above it.
#[test]
fn no_informed_threshold() {
    let family = |alpha: f64| {
        let prior = GaussianPrior::new(0.0, 1.0).unwrap().limit();
        limit_glm(prior, alpha, GaussianNoise::new(0.1).unwrap())
    };
    let search = Search::between(0.2, 3.0).tolerance(1e-2);
    let error = informed_threshold(&family, "x", search).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, RunError::NotDefined { .. }), "{text}");
    assert!(text.contains("lead to one fixed point"), "{text}");
}

/// Closed formulas are used by the general calls: tight tolerances cost nothing.
#[test]
fn thresholds_without_iteration_are_sharp() {
    let rho = 0.5;
    let exact = noiseless_linear_threshold(&sparse(rho)).unwrap();
    let iid = |alpha: f64| limit_glm(sparse(rho), alpha, noise(0.0));
    let orthogonal = |alpha: f64| -> Result<Tree, RunError> {
        let model = glm(sparse(rho), LinearEnsemble::orthogonal(alpha)?, noise(0.0));
        Ok(model.build()?.expect("y")?)
    };
    let search = Search::between(0.05, 0.95).tolerance(1e-8);
    // from a spectrum it is the rank that counts
    for family in [&iid as &Family<'_>, &orthogonal] {
        let algorithmic = algorithmic_threshold(family, "x", search).unwrap();
        assert!((algorithmic - exact).abs() < 2e-8, "{algorithmic} {exact}");
        let information = information_threshold(family, "x", search).unwrap();
        assert!((information - rho).abs() < 1e-8, "{information}");
        let informed = informed_threshold(family, "x", search.tolerance(1e-4)).unwrap();
        assert!((informed - rho).abs() < 1e-4, "{informed}");
        // and what is iterated agrees on either side
        let phase = |alpha: f64| phase_report(&family(alpha).unwrap(), "x").unwrap().phase;
        assert_eq!(phase(exact - 0.01), Phase::Hard);
        assert_eq!(phase(exact + 0.01), Phase::Easy);
    }
    // ReLU: half the outputs are numbers, the others signs
    let relu = |alpha: f64| limit_glm(sparse(rho), alpha, PiecewiseLinear::relu());
    let search = Search::between(0.1, 3.0).tolerance(1e-8);
    let information = information_threshold(&relu, "x", search).unwrap();
    assert!((information - 2.0 * rho).abs() < 1e-8, "{information}");
    let gaussian = || GaussianPrior::new(0.0, 1.0).unwrap().limit();
    let abs = |alpha: f64| limit_glm(gaussian(), alpha, PiecewiseLinear::abs());
    let weak = weak_recovery(&abs, "x", search).unwrap();
    // averages are good to 1e-9, and the growth with them
    assert!((weak - 0.5).abs() < 2e-8, "{weak}");
}

/// A little noise: two transitions where fixed points meet, from both sides of each, with and without a closed
/// formula.
#[test]
fn noisy_transitions_agree_with_iteration() {
    let iid = |alpha: f64| limit_glm(sparse(0.25), alpha, noise(1e-6));
    let orthogonal = |alpha: f64| -> Result<Tree, RunError> {
        let model = glm(
            sparse(0.25),
            LinearEnsemble::orthogonal(alpha)?,
            noise(1e-6),
        );
        Ok(model.build()?.expect("y")?)
    };
    // iterated for the second, whose threshold is a little lower
    for (family, tolerance) in [(&iid as &Family<'_>, 1e-8), (&orthogonal, 2e-3)] {
        let search = Search::between(0.15, 0.6).tolerance(tolerance);
        let informed = informed_threshold(family, "x", search).unwrap();
        let algorithmic = algorithmic_threshold(family, "x", search).unwrap();
        println!("noisy: informed {informed:.6}, algorithmic {algorithmic:.6}");
        // without noise these are 0.25 and 0.42008
        assert!(informed > 0.25 && informed < 0.3, "{informed}");
        assert!((algorithmic - 0.42008).abs() < 3e-3, "{algorithmic}");
        let one = |alpha: f64| {
            let report = phase_report(&family(alpha).unwrap(), "x").unwrap();
            (report.uninformed.mse / report.informed.mse - 1.0).abs() < 1e-3
        };
        assert!(one(informed - 4e-3) && !one(informed + 4e-3));
        assert!(!one(algorithmic - 4e-3) && one(algorithmic + 4e-3));
    }
}

/// Options of the fixed points are the user's.
#[test]
fn phases_take_options() {
    let tree = limit_glm(sparse(0.25), 0.35, noise(1e-6)).unwrap();
    let points = FixedPoints::default();
    let short = phase_report_at(&tree, "x", &points.max_sweeps(2)).unwrap_err();
    assert!(matches!(short, RunError::NotReached { .. }), "{short}");
    let family = |alpha: f64| limit_glm(sparse(0.25), alpha, noise(1e-6));
    let search = Search::between(0.2, 0.6).max_sweeps(2);
    let short = information_threshold(&family, "x", search).unwrap_err();
    assert!(matches!(short, RunError::NotReached { .. }), "{short}");
    // a start that knows little is not informed
    let report = |points: FixedPoints| phase_report_at(&tree, "x", &points).unwrap();
    assert_eq!(report(points).phase, Phase::Hard);
    assert_eq!(report(points.knowledge(1e-3)).phase, Phase::Easy);
    // with a coarse enough eye all points are one
    assert_eq!(report(points.same_below(1e6)).phase, Phase::Easy);
    for (points, name) in [
        (points.knowledge(-1.0), "informed"),
        (points.push(f64::NAN), "push"),
        (points.same_below(0.0), "same"),
        (points.recovered_below(f64::INFINITY), "recovered"),
        (points.tolerance(0.0), "tolerance"),
        (points.max_sweeps(0), "max_sweeps"),
    ] {
        let text = phase_report_at(&tree, "x", &points)
            .unwrap_err()
            .to_string();
        assert!(text.contains(&format!("`{name}`")), "{text}");
    }
}

/// Noiseless measurements of a sparse signal: as many as non-zeros suffice in principle.
#[test]
fn compressed_sensing_phases() {
    let family = |alpha: f64| limit_glm(sparse(0.25), alpha, noise(0.0));
    let search = Search::between(0.1, 0.6).tolerance(1e-3);
    let information = information_threshold(&family, "x", search).unwrap();
    assert!((information - 0.25).abs() < 1e-3, "{information}");
    let search = Search::between(0.3, 0.6).tolerance(1e-3);
    let algorithmic = algorithmic_threshold(&family, "x", search).unwrap();
    assert!((algorithmic - 0.42008).abs() < 1.5e-3, "{algorithmic}");
    let phase = |alpha: f64| phase_report(&family(alpha).unwrap(), "x").unwrap().phase;
    assert_eq!(phase(0.2), Phase::Impossible);
    // just above the information threshold the basin of recovery is tiny
    assert_eq!(phase(0.2505), Phase::Hard);
    assert_eq!(phase(0.35), Phase::Hard);
    assert_eq!(phase(0.5), Phase::Easy);
}

/// Real phase retrieval with a Gaussian signal leaves the symmetric point at one half.
#[test]
fn phase_retrieval_weak_recovery() {
    let prior = || GaussianPrior::new(0.0, 1.0).unwrap().limit();
    let family = |alpha: f64| limit_glm(prior(), alpha, PiecewiseLinear::abs());
    let search = Search::between(0.3, 0.8).tolerance(1e-3);
    let weak = weak_recovery(&family, "x", search).unwrap();
    assert!((weak - 0.5).abs() < 1e-3, "{weak}");
    let search = Search::between(0.6, 1.3).tolerance(1e-3);
    let information = information_threshold(&family, "x", search).unwrap();
    assert!((information - 1.0).abs() < 1e-3, "{information}");
    // from zero messages the symmetric point is returned, exactly
    let tree = family(1.2).unwrap();
    let evolution = StateEvolution::new(&tree).unwrap().fixed_point().unwrap();
    assert!((evolution.mse("x").unwrap() - 1.0).abs() < 1e-12);
    assert!(evolution.overlaps("x").unwrap().m.abs() < 1e-15);
}

/// Real phase retrieval with a Gaussian signal becomes easy at 1.1285.
#[test]
fn phase_retrieval_algorithmic_threshold() {
    let prior = || GaussianPrior::new(0.0, 1.0).unwrap().limit();
    let family = |alpha: f64| limit_glm(prior(), alpha, PiecewiseLinear::abs());
    let search = Search::between(0.6, 1.5).tolerance(1e-8);
    let algorithmic = algorithmic_threshold(&family, "x", search).unwrap();
    println!("phase retrieval: algorithmic {algorithmic:.8}");
    assert!((algorithmic - 1.1285).abs() < 1e-4, "{algorithmic}");
}

/// Noiseless outputs without a hard phase: the signal is recovered as soon as the numbers that are seen outnumber it, and that is the threshold.
#[test]
fn continuous_transitions_have_a_threshold() {
    let family = |alpha: f64| -> Result<Tree, RunError> {
        limit_glm(
            GaussianPrior::new(0.0, 1.0)?.limit(),
            alpha,
            PiecewiseLinear::relu(),
        )
    };
    // half of the outputs are zero
    let found = algorithmic_threshold(&family, "x", Search::between(0.3, 6.0)).unwrap();
    assert!((found - 2.0).abs() < 1e-4, "{found}");
    let recovered = |alpha: f64| {
        let tree = family(alpha).unwrap();
        let predicted = StateEvolution::new(&tree).unwrap().fixed_point().unwrap();
        predicted.mse("x").unwrap()
    };
    assert!(recovered(2.1) < 1e-7);
    assert!(recovered(1.9) > 1e-3);
}

/// An activation seen through noise has a curve as well: the noisy hard phase of a sparse signal, as fixed points have it.
#[test]
fn activations_behind_noise_agree_with_iteration() {
    let family = |alpha: f64| -> Result<Tree, RunError> {
        let model = source(GaussBernoulli::new(0.1, 0.0, 1.0)?.limit())
            >> var("x")
            >> LinearEnsemble::gaussian(alpha)?
            >> var("z")
            >> PiecewiseLinear::leaky_relu(0.5)?
            >> var("h")
            >> GaussianNoise::new(1e-6)?
            >> var("y");
        Ok(model.build()?.expect("y")?)
    };
    let search = Search::between(0.05, 0.6);
    let edges = [
        informed_threshold(&family, "x", search).unwrap(),
        algorithmic_threshold(&family, "x", search).unwrap(),
    ];
    assert!(edges[0] < edges[1]);
    let differ = |alpha: f64| {
        let tree = family(alpha).unwrap();
        let at = |knowledge: f64| {
            let theory = StateEvolution::new(&tree).unwrap().max_sweeps(20_000);
            let theory = theory.starting_with(&["x"], knowledge).unwrap();
            theory.fixed_point().unwrap().mse("x").unwrap()
        };
        at(0.0) > 1.01 * at(1e8)
    };
    // iterations a hundredth away from either edge
    for (edge, inside) in [(edges[0], 1.0), (edges[1], -1.0)] {
        assert!(differ(edge + 0.01 * inside), "{edge}");
        assert!(!differ(edge - 0.01 * inside), "{edge}");
    }
}
