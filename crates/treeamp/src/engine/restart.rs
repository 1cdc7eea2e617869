//! A run that does not settle with the damping it was given starts again with an adaptive one.

use super::{Algorithm, Damping, Engine, Fallback, Observer, Options, Report, Termination};
use crate::error::RunError;

/// A run of so many sweeps was meant to reach a fixed point; shorter ones look at single sweeps.
const LONG: usize = 200;
/// So many sweeps at its end show whether it was getting there: their least residual next to that of the sweeps before.
const LAST: usize = 100;
const NO_PROGRESS: f64 = 0.5;
/// A residual below this is at rest, and what is left of it rounding.
pub(super) const AT_REST: f64 = 1e-6;

impl<A: Algorithm> Engine<'_, A> {
    /// Runs until convergence, divergence, the sweep limit, or an observer's word.
    ///
    /// With a damping above zero and [`Fallback::Automatic`], a run on data that diverges, or ends at a limit of 200 sweeps or more
    /// and came no nearer to a fixed point in the last 100, starts again with [`Damping::Adaptive`]. The report is then that of the
    /// second run, [`Report::restarted`] says how the first one ended, and observers see sweeps from 1 on again.
    ///
    /// # Errors
    /// An option out of range, or a factor that fails for good. Divergence is not an error: the
    /// report says so and holds the last good state.
    pub fn run(&self, observer: &mut impl Observer<A>) -> Result<Report<A>, RunError> {
        self.options.check()?;
        let first = self.attempt(observer)?;
        if !self.should_restart(&first) {
            return Ok(first);
        }
        let options = Options {
            damping: Damping::Adaptive,
            ..self.options.clone()
        };
        let adaptive = Engine {
            tree: self.tree,
            algorithm: self.algorithm.clone(),
            plan: self.plan.clone(),
            options,
            warm: self.warm.clone(),
        };
        let mut second = adaptive.attempt(observer)?;
        second.restarted = Some(first.termination);
        Ok(second)
    }

    fn should_restart(&self, report: &Report<A>) -> bool {
        A::ON_DATA
            && self.options.fallback == Fallback::Automatic
            && self.options.damping.is_constant()
            && match report.termination {
                Termination::Diverging(_) => true,
                Termination::SweepLimit => self.stagnates(report),
                _ => false,
            }
    }

    /// A long run whose last sweeps came no nearer to a fixed point than those before.
    fn stagnates(&self, report: &Report<A>) -> bool {
        if report.sweeps < LONG {
            return false;
        }
        let (before, last) = report.trace.split_at(report.trace.len() - LAST);
        let [before, last] = [before, last].map(|part| {
            let residuals = part.iter().map(|record| record.residual);
            residuals.fold(f64::INFINITY, f64::min)
        });
        last > (NO_PROGRESS * before).max(AT_REST.max(self.options.tolerance))
    }
}
