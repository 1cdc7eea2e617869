//! A run that does not settle with the damping it was given starts again with an adaptive one.

use super::{Algorithm, Damping, Engine, Fallback, Observer, Options, Report, Termination};
use crate::error::RunError;

/// A residual below this is at rest, and what is left of it rounding.
pub(super) const AT_REST: f64 = 1e-6;
/// A run of so many sweeps was meant to reach a fixed point; shorter ones look at single sweeps.
const LONG: usize = 200;

impl<A: Algorithm> Engine<'_, A> {
    /// Runs until convergence, divergence, the sweep limit, or an observer's word.
    ///
    /// With a damping above zero and [`Fallback::Automatic`], a run on data that does not settle, because it diverges or comes to its
    /// sweep limit, starts again with [`Damping::Adaptive`], and observers see sweeps from 1 on again. The report is that of the second
    /// run, and [`Report::restarted`] says how the first one ended; where neither settles it is that of the run nearer to a fixed point,
    /// by the residual of a full step. A run without a tolerance was asked for its sweeps: it starts again where it diverges, and where 200
    /// of them or more have not come to rest, below 1e-6.
    ///
    /// Where linear channels take approximate message passing ([`Route`](crate::factor::Route)), a run that does not settle, or whose end the
    /// exact route would not confirm, is made again by that one, and observers see sweeps from 1 on again ([`Report::routes`]).
    ///
    /// # Errors
    /// An option out of range, or a factor that fails for good. Divergence is not an error: the
    /// report says so and holds the last good state.
    pub fn run(&self, observer: &mut impl Observer<A>) -> Result<Report<A>, RunError> {
        self.options.check()?;
        self.by_route(observer)
    }

    /// A run, and another one with adaptive damping where the first does not settle.
    pub(super) fn run_with_restart(
        &self,
        observer: &mut impl Observer<A>,
    ) -> Result<Report<A>, RunError> {
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
        if stays_behind(&second, &first) {
            return Ok(first);
        }
        second.restarted = Some(first.termination);
        Ok(second)
    }

    fn should_restart(&self, report: &Report<A>) -> bool {
        A::ON_DATA
            && self.options.fallback == Fallback::Automatic
            && self.options.damping.is_constant()
            && match report.termination {
                Termination::Diverging(_) | Termination::Rejected(_) => true,
                Termination::SweepLimit => {
                    let moves = report.sweeps >= LONG && distance(report) >= AT_REST;
                    self.options.tolerance > 0.0 || moves
                }
                _ => false,
            }
    }
}

/// The second run did not settle either, and ended farther from a fixed point than the first.
fn stays_behind<A: Algorithm>(second: &Report<A>, first: &Report<A>) -> bool {
    let ended = match (&first.termination, &second.termination) {
        (_, Termination::Converged { .. } | Termination::Stopped(_))
        | (Termination::Diverging(_) | Termination::Rejected(_), _) => return false,
        (_, Termination::Diverging(_) | Termination::Rejected(_)) => return true,
        (_, Termination::SweepLimit | Termination::FallbackLimit { .. }) => distance(second),
    };
    distance(first) <= ended
}

/// How far a full sweep would move the moments, relative to the signal.
fn distance<A: Algorithm>(report: &Report<A>) -> f64 {
    let of_fallback = report.fallback.as_ref().filter(|done| !done.went_back);
    let of_sweeps = || {
        let last = report.trace.last();
        last.map_or(f64::INFINITY, |record| record.residual / record.step)
    };
    of_fallback.map_or_else(of_sweeps, |done| {
        done.sweep_residual.unwrap_or(f64::INFINITY)
    })
}
