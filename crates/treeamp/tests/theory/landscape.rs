//! The free entropy against the error of a signal.

use crate::common::limit_glm;
use treeamp::algorithms::state_evolution::phases::phase_report;
use treeamp::algorithms::state_evolution::{Place, landscape};
use treeamp::prelude::*;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// The perceptron in its hard phase: the maxima of the landscape are the two fixed points, and its heights there less the
/// entropies; its slope has the sign of (what the rest answers) - (what the prior is told).
#[test]
fn a_landscape_has_its_maxima_at_the_fixed_points() -> Outcome {
    let tree = limit_glm(Binary::new(0.5)?.limit(), 1.35, PiecewiseLinear::sign())?;
    let places = landscape(&tree, "x", 200)?;
    let report = phase_report(&tree, "x")?;
    // the uninformed fixed point: an inner maximum
    let inner = |w: &&[Place]| {
        w[1].free_entropy > w[0].free_entropy && w[1].free_entropy > w[2].free_entropy
    };
    let tops: Vec<Place> = places.windows(3).filter(inner).map(|w| w[1]).collect();
    assert_eq!(tops.len(), 1, "{tops:?}");
    let low = &report.uninformed;
    // neighbouring places differ by a few percent, and the height is flat there
    assert!(
        (tops[0].mse / low.mse).ln().abs() < 0.1,
        "{} {}",
        tops[0].mse,
        low.mse
    );
    let entropy = low.entropy.ok_or("no entropy")?;
    assert!((tops[0].free_entropy + entropy).abs() < 1e-3);
    // perfect recovery of a discrete signal: the last place. A sign leaves an entropy of order of
    // the remaining error's root
    let last = places.last().ok_or("empty")?;
    let entropy = report.informed.entropy.ok_or("no entropy")?;
    assert!(
        (last.free_entropy + entropy).abs() < 2.0 * last.mse.sqrt(),
        "{} {entropy}",
        last.free_entropy
    );
    for w in places.windows(2) {
        let (gap, next) = (w[0].answer - w[0].knowledge, w[1].answer - w[1].knowledge);
        if gap.signum() == next.signum() && w[1].mse > 1e-4 {
            let rise = w[1].free_entropy - w[0].free_entropy;
            assert!(rise * gap > 0.0, "{w:?}");
        }
    }
    Ok(())
}

#[test]
fn a_landscape_is_refused_where_there_is_none() -> Outcome {
    let tree = limit_glm(
        GaussianPrior::new(0.0, 1.0)?.limit(),
        0.8,
        GaussianNoise::new(0.1)?,
    )?;
    assert!(matches!(
        landscape(&tree, "x", 1),
        Err(RunError::Option {
            option: "places",
            ..
        })
    ));
    let missing = landscape(&tree, "z", 10).expect_err("z has no prior");
    assert!(missing.to_string().contains("`z`"), "{missing}");
    assert!(landscape(&tree, "w", 10).is_err());
    let gaussian = landscape(&tree, "x", 10).expect_err("nothing varies");
    assert!(gaussian.to_string().contains("not Gaussian"), "{gaussian}");
    Ok(())
}

/// Sparse phase retrieval, as in `models/phase_retrieval.toml`: the slope is that of the map all along, and no place leaps.
#[test]
fn a_landscape_of_absolute_values_is_smooth() -> Outcome {
    let prior = GaussBernoulli::new(0.6, 0.01, 1.0)?;
    let tree = limit_glm(prior.limit(), 1.2, PiecewiseLinear::abs())?;
    let places = landscape(&tree, "x", 100)?;
    for w in places.windows(2) {
        let [p, q] = [w[0], w[1]];
        // dφ/dv = -½(answer - knowledge), by the trapezoidal rule
        let slope = |p: Place| 0.5 * (p.answer - p.knowledge);
        let rise = q.free_entropy - p.free_entropy;
        let expected = 0.5 * (slope(p) + slope(q)) * (p.mse - q.mse);
        let scale = 0.5 * (slope(p).abs() + slope(q).abs()) * (p.mse - q.mse);
        assert!((rise - expected).abs() < 0.1 * scale + 1e-3, "{p:?} {q:?}");
    }
    Ok(())
}

/// Two experts, as in `models/committee.toml`: while the error of one is large the other is known or not, and the free entropy has a curve
/// for each. They cross, and where the second state ends the curve that is left goes on from that of the informed start.
#[test]
fn a_landscape_has_a_curve_for_each_state_of_the_rest() -> Outcome {
    let expert = |k: usize| -> Result<_, RunError> {
        Ok(source(Binary::new(0.5)?.limit())
            >> var(&format!("x{k}"))
            >> LinearEnsemble::gaussian(3.0)?
            >> var(&format!("z{k}"))
            >> PiecewiseLinear::sign()
            >> var(&format!("h{k}")))
    };
    let sum = expert(1)? + expert(2)? >> Sum::new(2)? >> var("s");
    let jittered = sum >> GaussianNoise::new(0.01)? >> var("u");
    let model = jittered >> PiecewiseLinear::sign() >> var("y");
    let places = landscape(&model.build()?.expect("y")?, "x1", 12)?;
    let two = places.iter().take_while(|p| p.informed.is_some()).count();
    assert!(0 < two && two < places.len(), "{places:?}");
    assert!(places[two..].iter().all(|p| p.informed.is_none()));
    let informed = |p: &Place| p.informed.unwrap_or(p.free_entropy);
    // at the error of the prior nothing is the likelier state, and near the end knowledge is
    let (first, last) = (&places[0], &places[two - 1]);
    assert!(informed(first) < first.free_entropy, "{first:?}");
    assert!(informed(last) > last.free_entropy, "{last:?}");
    // one curve without a leap: it rises at every place
    for w in places.windows(2) {
        let rise = informed(&w[1]) - informed(&w[0]);
        assert!((0.0..0.1).contains(&rise), "{w:?}");
    }
    Ok(())
}
