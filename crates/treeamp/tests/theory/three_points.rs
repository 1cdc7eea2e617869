//! Signals whose values lie in groups: one fixed point knows nothing, one the groups, one the values.

use crate::common::limit_glm;
use treeamp::algorithms::state_evolution::phases::{
    Phase, Search, information_threshold, phase_report,
};
use treeamp::algorithms::state_evolution::{Start, landscape, mutual_information};
use treeamp::prelude::*;

/// Two groups of two near values each.
fn groups(alpha: f64) -> Tree {
    let prior = GaussianMixture::new(&[0.25; 4], &[-1.01, -0.99, 0.99, 1.01], &[1e-10; 4]).unwrap();
    limit_glm(prior.limit(), alpha, GaussianNoise::new(1e-6).unwrap()).unwrap()
}

#[test]
fn the_middle_one_is_found_and_compared() {
    for (alpha, phase, start) in [
        (0.05, Phase::Impossible, Start::Uninformed),
        (0.15, Phase::Impossible, Start::Uninformed),
        (0.17, Phase::Hard, Start::Between),
        (0.3, Phase::Hard, Start::Between),
        (0.5, Phase::Easy, Start::Either),
    ] {
        let tree = groups(alpha);
        let report = phase_report(&tree, "x").unwrap();
        assert_eq!(report.phase, phase, "{alpha}");
        let three = alpha > 0.12 && alpha < 0.4;
        assert_eq!(report.between.len(), usize::from(three), "{alpha}");
        let about = mutual_information(&tree, "x").unwrap();
        assert_eq!(about.start, start, "{alpha}");
        // no more than there is to know: four values, and next to nothing of the deviations 1e-5
        assert!(about.value <= 4.0_f64.ln() + 1e-3, "{alpha}: {about:?}");
        if three {
            // within a group, the values are at most 0.01 from its centre
            let mse = report.between[0].mse;
            assert!(mse < 1.01e-4 && mse > 1e-5, "{alpha}: {mse}");
        }
        // the landscape knows nothing of starts; its highest place is near the fixed point that the data allow
        let places = landscape(&tree, "x", 400).unwrap();
        let best = places
            .iter()
            .max_by(|p, q| p.free_entropy.total_cmp(&q.free_entropy));
        let best = best.unwrap();
        let entropy = report.allowed().entropy.unwrap();
        assert!(best.free_entropy <= -entropy + 1e-6, "{alpha}: {best:?}");
        if alpha < 0.4 {
            assert!(
                (best.mse / report.mmse).ln().abs() < 0.1,
                "{alpha}: {best:?}"
            );
        }
    }
}

/// Where the groups become known the entropies of the first two cross: `0.15` and `0.17` of the test above enclose it, and the landscape,
/// whose two maxima are as high as each other.
#[test]
fn the_first_threshold_is_that_of_the_groups() {
    let family = |alpha: f64| Ok(groups(alpha));
    let search = Search::between(0.05, 0.5);
    let found = information_threshold(&family, "x", search).unwrap();
    assert!(found > 0.15 && found < 0.17, "{found}");
    let places = landscape(&groups(found), "x", 400).unwrap();
    let highest = |known: bool| {
        let side = places.iter().filter(|p| (p.mse < 0.01) == known);
        side.map(|p| p.free_entropy)
            .fold(f64::NEG_INFINITY, f64::max)
    };
    // slopes of the heights in alpha are about 1 to 4: the search's 1e-4, and the distance to the nearest place
    assert!((highest(true) - highest(false)).abs() < 2e-3);
}

/// Signs of signs: with many outputs the hidden signs are known, and a signal of as many behind them is that of a perceptron at ratio one, which is
/// impossible. Recovery has the entropy of the signal, whatever the averages next to certainty leave of their digits.
#[test]
fn recovery_behind_a_hidden_layer_has_the_entropy_of_the_signal() {
    let two = |alpha: f64, hidden: f64| -> Result<Tree, RunError> {
        let model = source(Binary::new(0.5)?.limit())
            >> var("x")
            >> LinearEnsemble::gaussian(hidden)?
            >> var("u")
            >> PiecewiseLinear::sign()
            >> var("h")
            >> LinearEnsemble::gaussian(alpha)?
            >> var("z")
            >> PiecewiseLinear::sign()
            >> var("y");
        Ok(model.build()?.expect("y")?)
    };
    for alpha in [0.5, 0.97, 1.1, 3.0] {
        let report = phase_report(&two(alpha, 1.0).unwrap(), "x").unwrap();
        let entropy = report.informed.entropy.unwrap();
        // fields of recovered signals are finite, and averages are good to 1e-8
        assert!((entropy - 2.0_f64.ln()).abs() < 1e-6, "{alpha}: {entropy}");
        assert_eq!(report.phase, Phase::Impossible, "{alpha}");
    }
    // from the perceptron's own threshold on, where hidden signs are known
    assert_eq!(
        phase_report(&two(3.0, 1.3).unwrap(), "x").unwrap().phase,
        Phase::Hard
    );
}
