//! The fixed points at one point of a phase diagram, and which phase it is in.

use super::super::{BayesOptimal, Evolution, heuristics};
use super::dimension::margin;
use super::{FixedPoints, unknowns};
use crate::error::RunError;
use crate::model::Tree;

/// Which phase a point is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Uninformed and informed starts agree: expectation propagation is optimal.
    Easy,
    /// A better fixed point has the smaller entropy, and expectation propagation does not find it.
    Hard,
    /// The signal cannot be recovered: better fixed points have larger entropies, or noiseless
    /// outputs are fewer than the unknowns.
    Impossible,
}

/// One fixed point.
#[derive(Debug, Clone)]
pub struct FixedPoint {
    /// The predicted error of the signal.
    pub mse: f64,
    /// The entropy of the measurements; `None` where the fixed point has perfect recovery of a
    /// continuous signal through a noiseless output, and it diverges. For a model that is not a Bayesian network it is known
    /// up to a constant: two fixed points can be compared.
    pub entropy: Option<f64>,
    /// The state.
    pub evolution: Evolution<BayesOptimal>,
}

/// The fixed points at one point of a phase diagram.
#[derive(Debug, Clone)]
pub struct PhaseReport {
    /// What expectation propagation attains.
    pub uninformed: FixedPoint,
    /// Stable ones between the two, those with the largest errors first.
    pub between: Vec<FixedPoint>,
    /// What is reached from the solution.
    pub informed: FixedPoint,
    /// The error the data allow: that of the fixed point with the smallest entropy.
    pub mmse: f64,
    /// The phase.
    pub phase: Phase,
    /// Why all this is a heuristic; empty where it is exact in the limit.
    pub heuristics: Vec<String>,
}

/// The fixed points at one point, their entropies, and the phase, with the defaults of
/// [`FixedPoints`].
///
/// # Errors
/// An unknown signal, a factor without a rule, a fixed point that is not reached.
pub fn phase_report(tree: &Tree, signal: &str) -> Result<PhaseReport, RunError> {
    phase_report_at(tree, signal, &FixedPoints::default())
}

/// The fixed points at one point, reached with these options, their entropies, and the phase.
///
/// # Errors
/// An option out of range, an unknown signal, a factor without a rule, a fixed point that is not
/// reached.
pub fn phase_report_at(
    tree: &Tree,
    signal: &str,
    points: &FixedPoints,
) -> Result<PhaseReport, RunError> {
    let (low, high) = (
        points.uninformed(tree, &unknowns(tree, signal))?,
        points.informed(tree, &unknowns(tree, signal))?,
    );
    let tau0 = low.overlaps(signal)?.tau0;
    // the coefficient of ln(1/v): outputs against unknowns
    let margin = margin(tree, &low.teacher, signal)?;
    let point = |evolution: Evolution<BayesOptimal>| -> Result<FixedPoint, RunError> {
        let mse = evolution.mse(signal)?;
        let diverges = points.recovers(mse, tau0) && margin.is_some();
        let entropy = if diverges {
            None
        } else {
            Some(evolution.relative_information(tree)?.entropy)
        };
        Ok(FixedPoint {
            mse,
            entropy,
            evolution,
        })
    };
    let between = points.between(tree, &unknowns(tree, signal), signal, [&low, &high])?;
    let between = between.into_iter().map(point).collect::<Result<_, _>>()?;
    let (uninformed, informed) = (point(low)?, point(high)?);
    let mut report = PhaseReport {
        mmse: uninformed.mse,
        uninformed,
        between,
        informed,
        phase: Phase::Easy,
        heuristics: heuristics(tree),
    };
    let one = points.same(report.uninformed.mse, report.informed.mse, tau0);
    let recovered = points.recovers(report.uninformed.mse, tau0);
    let best = report.best(margin);
    let (phase, mmse) = match margin {
        // recovery is possible, even where its basin is too small for the informed start
        Some(m) if m > 0.0 && !recovered => (Phase::Hard, 0.0),
        Some(m) if m < 0.0 && one => (Phase::Impossible, report.uninformed.mse),
        _ if one => (Phase::Easy, report.informed.mse),
        _ if best.mse < report.uninformed.mse => (Phase::Hard, best.mse),
        _ => (Phase::Impossible, report.uninformed.mse),
    };
    (report.phase, report.mmse) = (phase, mmse);
    Ok(report)
}

impl PhaseReport {
    /// The fixed point that the data allow.
    #[must_use]
    pub fn allowed(&self) -> &FixedPoint {
        if self.phase == Phase::Impossible {
            return &self.uninformed;
        }
        let mut between = self.between.iter();
        between
            .find(|point| point.mse.total_cmp(&self.mmse).is_eq())
            .unwrap_or(&self.informed)
    }

    /// The fixed point with the smallest entropy. One that diverges is the smallest where outputs outnumber the unknowns, and
    /// else the largest.
    fn best(&self, margin: Option<f64>) -> &FixedPoint {
        let diverging = if margin.is_some_and(|m| m > 0.0) {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        };
        let entropy = |point: &FixedPoint| point.entropy.unwrap_or(diverging);
        let others = self.between.iter().chain([&self.informed]);
        others.fold(&self.uninformed, |best, other| {
            if entropy(other) < entropy(best) {
                other
            } else {
                best
            }
        })
    }
}
