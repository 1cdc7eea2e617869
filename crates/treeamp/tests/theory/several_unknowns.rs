//! Phases and thresholds of trees with several signals, or several kinds of outputs, and students that plain sweeps do not settle.

use crate::common::limit_glm;
use treeamp::algorithms::state_evolution::phases::{
    Family, Phase, Search, algorithmic_threshold, information_threshold, informed_threshold,
    phase_report,
};
use treeamp::prelude::*;

fn sparse(rho: f64) -> Result<Fragment, RunError> {
    Ok(source(GaussBernoulli::new(rho, 0.0, 1.0)?.limit()))
}

/// $y = A x_1 + B x_2$ without noise: outputs must outnumber the unknowns of both signals, $\rho_1 + \rho_2 = 0.5$.
#[test]
fn two_signals_in_one_output() {
    let family = |alpha: f64| -> Result<Tree, RunError> {
        let one = sparse(0.2)? >> var("x1") >> LinearEnsemble::gaussian(alpha)? >> var("z1");
        let other = sparse(0.3)? >> var("x2") >> LinearEnsemble::gaussian(alpha)? >> var("z2");
        let model = (one + other) >> Sum::new(2)? >> var("y");
        Ok(model.build()?.expect("y")?)
    };
    let search = Search::between(0.05, 0.95);
    let found = information_threshold(&family, "x1", search).unwrap();
    assert!((found - 0.5).abs() < 1e-4, "{found}");
    let report = phase_report(&family(0.4).unwrap(), "x1").unwrap();
    assert_eq!(report.phase, Phase::Impossible);
    let report = phase_report(&family(0.55).unwrap(), "x1").unwrap();
    assert_eq!(report.phase, Phase::Hard);
    // from there on the uninformed start recovers both
    let found = algorithmic_threshold(&family, "x1", search.tolerance(1e-2)).unwrap();
    assert!(found > 0.55 && found < 0.9, "{found}");
}

/// Two binary signals behind one sign are one of twice the size: the thresholds of the perceptron, doubled.
#[test]
fn two_signals_are_one_of_twice_the_size() {
    let family = |alpha: f64| -> Result<Tree, RunError> {
        let signal = || -> Result<Fragment, RunError> { Ok(source(Binary::new(0.5)?.limit())) };
        let one = signal()? >> var("x1") >> LinearEnsemble::gaussian(alpha)? >> var("z1");
        let other = signal()? >> var("x2") >> LinearEnsemble::gaussian(alpha)? >> var("z2");
        let model =
            (one + other) >> Sum::new(2)? >> var("z") >> PiecewiseLinear::sign() >> var("y");
        Ok(model.build()?.expect("y")?)
    };
    let search = Search::between(2.0, 4.0).tolerance(2e-3);
    let found = information_threshold(&family, "x1", search).unwrap();
    assert!((found - 2.0 * 1.2446).abs() < 5e-3, "{found}");
    let found = algorithmic_threshold(&family, "x1", search).unwrap();
    assert!((found - 2.0 * 1.4926).abs() < 5e-3, "{found}");
}

/// A noiseless output beside others: what it tells exactly decides where the signal is recovered.
#[test]
fn noiseless_outputs_beside_others() {
    let family = |alpha: f64, discrete: bool| -> Result<Tree, RunError> {
        let seen = branch(LinearEnsemble::gaussian(0.3)?) >> var("z");
        let seen = if discrete {
            seen >> PiecewiseLinear::sign() >> var("y")
        } else {
            seen >> GaussianNoise::new(0.01)? >> var("y")
        };
        let exact = branch(LinearEnsemble::gaussian(alpha)?) >> var("w");
        let model = sparse(0.5)? >> var("x") >> (seen + exact);
        Ok(model.build()?.expect("y")?.expect("w")?)
    };
    for discrete in [false, true] {
        let report = |alpha: f64| phase_report(&family(alpha, discrete).unwrap(), "x").unwrap();
        assert_eq!(report(0.4).phase, Phase::Easy);
        assert_eq!(report(0.52).phase, Phase::Hard);
        assert_eq!(report(0.8).phase, Phase::Easy);
        let found = |alpha: f64| family(alpha, discrete);
        let found = information_threshold(&found, "x", Search::between(0.05, 0.95));
        let found = found.unwrap();
        assert!((found - 0.5).abs() < 1e-4, "{found}");
    }
}

/// A hard phase that is narrower than the steps in which a wide range is looked at.
#[test]
fn a_narrow_hard_phase_is_found() {
    let family = |alpha: f64| -> Result<Tree, RunError> {
        let model = sparse(0.1)?
            >> var("x")
            >> LinearEnsemble::gaussian(alpha)?
            >> var("z")
            >> PiecewiseLinear::symmetric_door(0.67449)?
            >> var("y");
        Ok(model.build()?.expect("y")?)
    };
    let (wide, narrow) = (Search::between(0.1, 4.0), Search::between(1.04, 1.2));
    let found = information_threshold(&family, "x", wide).unwrap();
    let expected = information_threshold(&family, "x", narrow).unwrap();
    assert!((found - expected).abs() < 2e-4, "{found} {expected}");
    let start = informed_threshold(&family, "x", wide).unwrap();
    let end = algorithmic_threshold(&family, "x", wide).unwrap();
    assert!(start < found && found < end, "{start} {found} {end}");
}

/// A binary student of a sparse signal: plain sweeps are improper, damped ones settle.
#[test]
fn students_that_need_damping() {
    let tree = |prior: Fragment, noise: f64| -> Result<Tree, RunError> {
        limit_glm(prior, 0.6, GaussianNoise::new(noise)?)
    };
    let teacher = tree(sparse(0.1).unwrap(), 0.01).unwrap();
    let student = tree(source(Binary::new(0.5).unwrap().limit()), 0.05).unwrap();
    let theory = MismatchedEvolution::new(&teacher, &student).unwrap();
    let found = theory.fixed_point().unwrap();
    let damped = theory.clone().damping(0.5).fixed_point().unwrap();
    let (found, damped) = (found.mse("x").unwrap(), damped.mse("x").unwrap());
    assert!((found / damped - 1.0).abs() < 1e-7, "{found} {damped}");
    // as many sweeps as were asked for, and no more of another kind
    let plain = theory.clone().damping(Damping::None).run().unwrap();
    assert!(!plain.is_converged());
}

/// Ratios and ranks that cannot be are refused, with what they are of.
#[test]
fn ratios_and_ranks() {
    for ratio in [-1.0, 0.0, f64::NAN, f64::INFINITY] {
        let prior = GaussBernoulli::new(0.5, 0.0, 1.0).unwrap();
        let model = source(prior.limit_of(ratio)) >> var("x") >> GaussianNoise::new(0.1).unwrap();
        let error = (model >> var("y")).build().unwrap_err();
        assert!(
            matches!(&error, ModelError::Parameter { module, name: "ratio", .. } if module == "x"),
            "{error}"
        );
    }
    let error = Spectrum::from_nodes(vec![(1.0, 1.0)], 0.5).unwrap_err();
    assert!(
        matches!(&error, ModelError::Parameter { name: "nodes", .. }),
        "{error}"
    );
}

/// Hard phases that are narrow next to the range that is searched: noise before a sign, and a matrix whose curve has no formula.
#[test]
fn narrow_hard_phases_of_noisy_outputs() {
    let perceptron = |alpha: f64| -> Result<Tree, RunError> {
        let model = source(Binary::new(0.5)?.limit())
            >> var("x")
            >> LinearEnsemble::gaussian(alpha)?
            >> var("z")
            >> GaussianNoise::new(0.01)?
            >> var("w")
            >> PiecewiseLinear::sign()
            >> var("y");
        Ok(model.build()?.expect("y")?)
    };
    let orthogonal = |alpha: f64| -> Result<Tree, RunError> {
        let model = sparse(0.1)?
            >> var("x")
            >> LinearEnsemble::orthogonal(alpha)?
            >> var("z")
            >> GaussianNoise::new(1e-4)?
            >> var("y");
        Ok(model.build()?.expect("y")?)
    };
    let cases: [(&Family<'_>, [f64; 2], [f64; 2]); 2] = [
        (&perceptron, [0.1, 20.0], [1.4, 1.7]),
        (&orthogonal, [0.02, 3.0], [0.1, 0.3]),
    ];
    for (family, wide, near) in cases {
        let thresholds = |[low, high]: [f64; 2]| {
            let search = Search::between(low, high).tolerance(1e-3);
            [
                informed_threshold(family, "x", search).unwrap(),
                information_threshold(family, "x", search).unwrap(),
                algorithmic_threshold(family, "x", search).unwrap(),
            ]
        };
        let (found, expected) = (thresholds(wide), thresholds(near));
        assert!(found[0] < found[1] && found[1] < found[2], "{found:?}");
        for (x, y) in found.iter().zip(expected) {
            // both are to 1e-3
            assert!((x - y).abs() < 2e-3, "{found:?} {expected:?}");
        }
    }
    // the fixed points themselves, inside the window and on both sides of it
    let phase = |alpha: f64| {
        phase_report(&perceptron(alpha).unwrap(), "x")
            .unwrap()
            .phase
    };
    assert_eq!(phase(1.40), Phase::Easy);
    assert_eq!(phase(1.50), Phase::Impossible);
    assert_eq!(phase(1.56), Phase::Hard);
    assert_eq!(phase(1.62), Phase::Easy);
}

/// A signal behind two matrices, each of half the outputs, is that behind one: next to the noise at which the hard phase ends it is 2e-4 and 5e-5 wide
/// in the ratio, and beyond there is none.
#[test]
fn two_halves_have_the_thresholds_of_the_whole() {
    let whole = |alpha: f64, noise: f64| -> Result<Tree, RunError> {
        let prior = GaussBernoulli::new(0.1, 0.0, 1.0)?;
        limit_glm(prior.limit(), alpha, GaussianNoise::new(noise)?)
    };
    let halves = |alpha: f64, noise: f64| -> Result<Tree, RunError> {
        let half = |k: usize| -> Result<Fragment, RunError> {
            let z = branch(LinearEnsemble::gaussian(0.5 * alpha)?) >> var(&format!("z{k}"));
            Ok(z >> GaussianNoise::new(noise)? >> var(&format!("y{k}")))
        };
        let model = sparse(0.1)? >> var("x") >> (half(1)? + half(2)?);
        Ok(model.build()?.expect("y1")?.expect("y2")?)
    };
    for (noise, hard) in [(6.2e-4, true), (6.35e-4, true), (6.5e-4, false)] {
        let search = Search::between(0.1, 0.6).tolerance(1e-5);
        let (one, two) = (|a: f64| whole(a, noise), |a: f64| halves(a, noise));
        for threshold in [algorithmic_threshold, informed_threshold] {
            match (threshold(&one, "x", search), threshold(&two, "x", search)) {
                (Ok(expected), Ok(found)) if hard => {
                    assert!(
                        (found - expected).abs() < 1e-5,
                        "{noise}: {found} {expected}"
                    );
                }
                (Err(_), Err(_)) if !hard => {}
                other => panic!("{noise}: {other:?}"),
            }
        }
    }
}

/// The same hard phase where starts are iterated, of three noises in a row that no curve is read off: between places of a scan the error leaps by
/// little more than it changes elsewhere.
#[test]
fn small_jumps_are_found_between_the_places_of_a_scan() -> Result<(), RunError> {
    let noise = |share: f64| GaussianNoise::new(share * 6.35e-4);
    let family = |alpha: f64| -> Result<Tree, RunError> {
        let z = sparse(0.1)? >> var("x") >> LinearEnsemble::gaussian(alpha)? >> var("z");
        let noisy = z >> noise(0.2)? >> var("u") >> noise(0.3)? >> var("w");
        let model = noisy >> noise(0.5)? >> var("y");
        Ok(model.build()?.expect("y")?)
    };
    let search = Search::between(0.1, 0.6).tolerance(1e-5);
    let found = algorithmic_threshold(&family, "x", search)?;
    assert!((found - 0.217_087).abs() < 1.1e-5, "{found}");
    Ok(())
}
