//! Stable fixed points between the uninformed and the informed one.
//!
//! State evolution is monotone, so nothing lies outside the two extreme fixed points, but between them there may be more
//! (a signal whose values lie in groups has one that knows the groups, and one that knows the values). Where the map has a
//! [curve](super::Curve) their places are read off it, and one run leads to each. Else they are looked for from starts with a knowledge between
//! those of the extremes: of two runs that pass the same error in the same direction the second goes where the first one went, and need not be
//! followed there.

use std::ops::ControlFlow;

use super::super::super::{BayesOptimal, Evolution, StateEvolution};
use super::super::FixedPoints;
use super::Curves;
use crate::engine::SweepView;
use crate::error::RunError;
use crate::model::Tree;

/// Starts per factor of ten in the knowledge, and at most this many, where no curve tells the places: each costs a run, and a fixed point whose basin is
/// narrower than their distance is missed.
const PER_DECADE: f64 = 1.0;
const MOST: f64 = 10.0;
/// Errors nearer than this, relative, to a known fixed point have it as their end.
const NEARBY: f64 = 1e-2;
/// Sweeps of a start that show it rather than where it leads.
const FIRST: usize = 3;

/// Errors between two fixed points that a run went through on its way.
struct Trajectory {
    from: f64,
    to: f64,
}

impl Trajectory {
    /// Went through this error in this direction.
    fn covers(&self, before: f64, now: f64) -> bool {
        let within = now <= self.from.max(self.to) && now >= self.from.min(self.to);
        within && (now - before) * (self.to - self.from) > 0.0
    }
}

impl FixedPoints {
    /// The fixed points between two that differ, those with the largest errors of `signal` first. Nothing is said of a start that
    /// does not settle: it may be the edge between two of them.
    pub(in super::super::super) fn between(
        &self,
        tree: &Tree,
        signals: &[&str],
        signal: &str,
        [low, high]: [&Evolution<BayesOptimal>; 2],
    ) -> Result<Vec<Evolution<BayesOptimal>>, RunError> {
        let (worst, best) = (low.mse(signal)?, high.mse(signal)?);
        let tau0 = low.overlaps(signal)?.tau0;
        if self.same(worst, best, tau0) {
            return Ok(Vec::new());
        }
        let starts = match Curves::default().of(tree, signal)? {
            Some(curve) => curve.between(),
            None => self.starts([worst, best], tau0),
        };
        let mut known = vec![worst, best];
        let (mut trajectories, mut found) = (Vec::new(), Vec::new());
        for knowledge in starts {
            let mut follower = Follower::new(signal, &known, &trajectories);
            let evolution = StateEvolution::new(tree)?
                .max_sweeps(self.max_sweeps)
                .tolerance(self.tolerance)
                .starting_with(signals, knowledge)?
                .observed_by(&mut |view: &SweepView<'_, BayesOptimal>| follower.watch(view))?;
            trajectories.extend(follower.trajectory());
            if evolution.is_converged() {
                let mse = evolution.mse(signal)?;
                if !known.iter().any(|other| self.same(mse, *other, tau0)) {
                    known.push(mse);
                    found.push((mse, evolution));
                }
            }
        }
        found.sort_by(|x, y| y.0.total_cmp(&x.0));
        Ok(found.into_iter().map(|(_, evolution)| evolution).collect())
    }

    /// Evenly spread in the logarithm, between what leaves the one error and what leaves the other.
    fn starts(&self, [worst, best]: [f64; 2], tau0: f64) -> Vec<f64> {
        let least = (tau0 / worst).max(self.push).ln();
        let most = (tau0 / best).min(self.informed).ln();
        let decades = (most - least).max(0.0) / std::f64::consts::LN_10;
        let starts = (PER_DECADE * decades).ceil().clamp(2.0, MOST);
        let share = |k: &f64| (least + (most - least) * k / starts).exp();
        let middles = std::iter::successors(Some(0.5), |k| Some(k + 1.0));
        let middles = middles.take_while(|k| *k < starts);
        middles.map(|k| share(&k)).collect()
    }
}

/// A run that is followed until it is known where it goes.
struct Follower<'a> {
    signal: &'a str,
    known: &'a [f64],
    trajectories: &'a [Trajectory],
    errors: Vec<f64>,
}

impl<'a> Follower<'a> {
    fn new(signal: &'a str, known: &'a [f64], trajectories: &'a [Trajectory]) -> Self {
        Self {
            signal,
            known,
            trajectories,
            errors: Vec::new(),
        }
    }

    fn watch(&mut self, view: &SweepView<'_, BayesOptimal>) -> ControlFlow<String> {
        let before = self.errors.last().copied();
        let now = view.marginal(self.signal).map_or(f64::NAN, |p| p.0.mse());
        self.errors.push(now);
        let Some(before) = before.filter(|_| view.sweep > FIRST) else {
            return ControlFlow::Continue(());
        };
        // on its way to it, so near that nothing else is between
        let arrives = |known: &f64| {
            (now - known).abs() < NEARBY * known.max(now)
                && (now - known).abs() < (before - known).abs()
        };
        if self.known.iter().any(arrives) || self.trajectories.iter().any(|p| p.covers(before, now))
        {
            return ControlFlow::Break("its end is known".to_owned());
        }
        ControlFlow::Continue(())
    }

    /// What it went through after its first sweeps.
    fn trajectory(&self) -> Option<Trajectory> {
        let from = *self.errors.get(FIRST)?;
        let to = *self.errors.last()?;
        Some(Trajectory { from, to })
    }
}
