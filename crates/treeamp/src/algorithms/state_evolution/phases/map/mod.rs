//! The map $s \mapsto s'$ of a tree: with the knowledge $s$ of a signal its prior and the rest of the tree send back $s'$.
//!
//! It is monotone, and its fixed points are those of state evolution: the uninformed start climbs to the first, the informed one comes down to
//! the last, and stable and unstable ones alternate between them. Every threshold is a question to it: whether the first is the last, or
//! lies at recovery, or which there are. Where the tree is a signal seen through matrices of independent entries the answers are read off a
//! [curve](Curve); elsewhere starts are iterated.

mod between;
mod curve;
mod star;

use std::ops::ControlFlow;

pub use curve::noiseless_linear_threshold;
pub(super) use curve::{Curve, Curves};
pub(in super::super) use star::{Branch, Noise, Star};

use super::super::{BayesOptimal, Evolution, StateEvolution};
use super::dimension::margin;
use super::{FixedPoints, unknowns};
use crate::engine::SweepView;
use crate::error::RunError;
use crate::model::Tree;

/// Relative changes of a sweep at which starts from both ends are compared for the first time.
const ROUGH: f64 = 1e-5;

/// The map of one signal of a tree.
pub(super) struct SignalMap<'t> {
    tree: &'t Tree,
    signal: &'t str,
    curve: Option<Curve>,
}

impl<'t> SignalMap<'t> {
    pub fn new(tree: &'t Tree, signal: &'t str, curves: &Curves) -> Result<Self, RunError> {
        Ok(Self {
            tree,
            signal,
            curve: curves.of(tree, signal)?,
        })
    }

    /// The ratio at which a given knowledge is a fixed point, where a tree has one that is not a rank.
    pub fn ratio_curve(&self) -> Option<&Curve> {
        let star = Star::of(self.tree, self.tree.variable(self.signal).ok()?)?;
        self.curve.as_ref().filter(|_| !star.is_noiseless_linear())
    }

    /// By how many outputs outnumber the unknowns ([`margin`]).
    pub fn margin(&self) -> Result<Option<f64>, RunError> {
        let teacher = StateEvolution::new(self.tree)?.teacher().clone();
        margin(self.tree, &teacher, self.signal)
    }

    /// The uninformed start recovers the signal.
    pub fn recovers(&self, points: &FixedPoints) -> Result<bool, RunError> {
        if let Some(recovers) = self.curve.as_ref().and_then(Curve::recovers) {
            return Ok(recovers);
        }
        let low = points.uninformed(self.tree, &unknowns(self.tree, self.signal))?;
        Ok(points.recovers(low.mse(self.signal)?, low.overlaps(self.signal)?.tau0))
    }

    /// The uninformed and the informed start lead to one fixed point; and the error of the former if it was iterated.
    ///
    /// The errors of the former fall to that of the first fixed point, and those of the latter rise to that of the last, so that all fixed points
    /// are one when the two have met: neither need be followed to its end.
    pub fn agrees(&self, points: &FixedPoints) -> Result<(bool, Option<f64>), RunError> {
        if let Some(curve) = &self.curve {
            return Ok((curve.agrees(), None));
        }
        let rough = points.tolerance(points.tolerance.max(ROUGH));
        let low = rough.uninformed(self.tree, &unknowns(self.tree, self.signal))?;
        let (error, tau0) = (low.mse(self.signal)?, low.overlaps(self.signal)?.tau0);
        let meets = |mse: f64| points.same(mse, error, tau0);
        let high = self.informed_until(&rough, &meets)?;
        if meets(high.mse(self.signal)?) {
            return Ok((true, Some(error)));
        }
        let low = self.continued(points, low)?;
        let high = self.continued(points, high)?;
        let (error, other) = (low.mse(self.signal)?, high.mse(self.signal)?);
        Ok((points.same(error, other, tau0), Some(error)))
    }

    /// The informed start, until its error is such.
    fn informed_until(
        &self,
        points: &FixedPoints,
        enough: &dyn Fn(f64) -> bool,
    ) -> Result<Evolution<BayesOptimal>, RunError> {
        let signals = unknowns(self.tree, self.signal);
        let theory = points.theory(self.tree)?;
        let theory = theory.starting_with(&signals, points.informed)?;
        let mut met = false;
        let evolution = theory.observed_by(&mut |view: &SweepView<'_, BayesOptimal>| {
            met = view
                .marginal(self.signal)
                .is_some_and(|p| enough(p.0.mse()));
            if met {
                ControlFlow::Break("it has met the uninformed start".to_owned())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        if met {
            return Ok(evolution);
        }
        evolution.reached()
    }

    /// The fixed point of a run that was ended early.
    fn continued(
        &self,
        points: &FixedPoints,
        evolution: Evolution<BayesOptimal>,
    ) -> Result<Evolution<BayesOptimal>, RunError> {
        let theory = points.theory(self.tree)?;
        theory.start_from(evolution.report.messages).fixed_point()
    }
}
