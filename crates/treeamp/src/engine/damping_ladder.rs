//! Constant steps, before the certain way of a run that steps which adapt have not settled.
//!
//! Sparse deconvolution with little noise swings so much at first that steps adapt to next to nothing, and stay
//! there; from the start again with a damping of 0.6 or 0.8 it settles in a hundred sweeps, where a double loop takes thousands
//! of evaluations, and to another fixed point. (A damping of 0.3 does the same for phase retrieval.)

use std::ops::ControlFlow;

use super::adaptive::Step;
use super::probe::Supervisor;
use super::run::Run;
use super::state::State;
use super::{Algorithm, Engine, Fallback, FallbackEnd, FallbackReport, Observer, Termination};

/// The dampings, and what they are called in a report.
const DAMPINGS: [(f64, &str); 3] = [
    (0.3, "constant damping of 0.3"),
    (0.6, "constant damping of 0.6"),
    (0.8, "constant damping of 0.8"),
];
/// Sweeps with each, at most, unless the residual creeps down.
const SWEEPS: usize = 200;

/// What came of constant steps.
pub(super) enum Constant<A: Algorithm> {
    /// One of them ended the run, in this state.
    Ended(Box<State<A>>, FallbackReport),
    /// None did, after so many sweeps. Of the states that they led to without diverging, the one that a full sweep moves least, and by how
    /// much.
    Unsettled(usize, Option<(Box<State<A>>, f64)>),
}

impl<A: Algorithm> Engine<'_, A> {
    /// Starts a run that has made so many sweeps again, with constant steps.
    pub(super) fn constant_steps(
        &self,
        sweeps: usize,
        observer: &mut impl Observer<A>,
    ) -> Constant<A> {
        // a fallback that was asked for comes at once, and one that starts from anywhere owes nothing to sweeps
        let tries = A::ON_DATA
            && !A::FALLS_BACK_FROM_ANYWHERE
            && self.options.fallback == Fallback::Automatic;
        let mut spent = 0;
        if !tries {
            return Constant::Unsettled(spent, None);
        }
        let mut best: Option<(Box<State<A>>, f64)> = None;
        for (damping, method) in DAMPINGS {
            let step = Step::constant(1.0 - damping);
            let Ok(run) = Run::constant(self, step, sweeps + spent) else {
                continue;
            };
            let (made, run, end) = self.follow(run, observer);
            spent += made;
            if let Some((end, residual)) = end {
                let report = FallbackReport::of_sweeps(method, (made, spent), residual, end);
                return Constant::Ended(Box::new(run.state), report);
            }
            let proper = run.trace.last().is_some_and(|r| r.improper == 0);
            let mut state = run.state;
            let residual = self.full_sweep_residual(&mut state).filter(|_| proper);
            if let Some(residual) = residual.filter(|r| best.as_ref().is_none_or(|b| *r < b.1)) {
                best = Some((Box::new(state), residual));
            }
        }
        Constant::Unsettled(spent, best)
    }

    /// The sweeps that were made, the state they led to, and how they ended, if at a fixed point or by an observer.
    fn follow<'r, 't>(
        &self,
        mut run: Run<'r, 't, A>,
        observer: &mut impl Observer<A>,
    ) -> (usize, Run<'r, 't, A>, Option<(FallbackEnd, f64)>) {
        let mut sweep = 0;
        while sweep < SWEEPS || run.creeps() {
            sweep += 1;
            let step = run.step(sweep, observer);
            let step = step.and_then(|step| match step {
                ControlFlow::Break(end) => run.confirm(end),
                ControlFlow::Continue(()) => Ok(step),
            });
            let last = run.trace.last().map_or(f64::INFINITY, |r| r.residual);
            let (end, residual) = match step {
                Ok(ControlFlow::Continue(())) => continue,
                Ok(ControlFlow::Break(Termination::Stopped(reason))) => {
                    (FallbackEnd::Stopped(reason), last)
                }
                Ok(ControlFlow::Break(Termination::Converged {
                    perfect_recovery: true,
                })) => (FallbackEnd::Recovered, last),
                Ok(ControlFlow::Break(Termination::Converged { .. })) => {
                    let mut supervisor = Supervisor {
                        engine: self,
                        state: &mut run.state,
                        observer: &mut *observer,
                        count: sweep,
                    };
                    match supervisor.confirmed(self.fallback_tolerance()) {
                        Some(residual) => (FallbackEnd::Stationary, residual),
                        None => continue,
                    }
                }
                _ => break,
            };
            return (sweep, run, Some((end, residual)));
        }
        self.restore(&mut run.state);
        (sweep, run, None)
    }
}

impl FallbackReport {
    /// More sweeps, this many of so many evaluations, that ended here.
    pub(super) fn of_sweeps(
        method: &'static str,
        (steps, evaluations): (usize, usize),
        residual: f64,
        end: FallbackEnd,
    ) -> Self {
        Self {
            method,
            steps,
            evaluations,
            residual,
            sweep_residual: Some(residual),
            free_energy: Vec::new(),
            descent: None,
            end,
            went_back: false,
        }
    }
}
