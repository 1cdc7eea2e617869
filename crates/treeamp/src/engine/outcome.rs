//! What attempts come to, and which of two states is the better one.
//!
//! What settled, or was stopped by an observer, comes first; then a state at a bound, the one nearer to a fixed point by the residual of a full
//! step; then one that diverged or was rejected. Evidences do not decide: those of unsettled states are noise (they differed by up to 1e6
//! nats between states that are equally far from a fixed point), and the first attempt that settles ends the walk.

use super::probe::Certified;
use super::state::State;
use super::{Algorithm, Attempt, Attempted, FallbackReport, SweepRecord, Termination, Verdict};
use crate::error::RunError;

/// What the sweeps of an attempt came to.
pub(super) struct Sweeps<A: Algorithm> {
    pub state: State<A>,
    pub trace: Vec<SweepRecord>,
    /// Of every variable after every sweep.
    pub variances: Vec<f64>,
    pub certified: Option<Certified>,
    pub termination: Termination,
    /// How far a full sweep would move the moments of the state, relative to the signal.
    pub distance: f64,
    /// The first sweep was improper, and another attempt begins with a smaller step.
    pub bad_start: bool,
}

impl<A: Algorithm> Sweeps<A> {
    pub fn verdict(&self) -> Option<&Verdict> {
        match &self.termination {
            Termination::Rejected(verdict) => Some(verdict),
            _ => None,
        }
    }

    pub fn is_contradicted(&self) -> bool {
        matches!(self.verdict(), Some(Verdict::Contradicted(_)))
    }

    /// Later sweeps that ended no better than the ones before. Of two that diverged or were rejected the later ones count.
    pub fn stay_behind(&self, first: &Self) -> bool {
        match (&first.termination, &self.termination) {
            (_, Termination::Converged { .. } | Termination::Stopped(_))
            | (Termination::Diverging(_) | Termination::Rejected(_), _) => false,
            (_, Termination::Diverging(_) | Termination::Rejected(_)) => true,
            _ => first.distance <= self.distance,
        }
    }
}

/// What the attempts so far came to.
pub(super) struct Walk<A: Algorithm> {
    /// Sweeps with the damping of the options, where others followed them.
    pub given: Option<Sweeps<A>>,
    /// The sweeps that the report tells of; fallbacks leave their state there.
    pub sweeps: Option<Sweeps<A>>,
    /// Of the states that fallbacks by sweeps led to without diverging, the one that a full sweep moves least, and by how much.
    pub best: Option<(Box<State<A>>, f64)>,
    /// Sweeps that observers have seen, of attempts with one numbering.
    pub seen: usize,
    /// Evaluations of fallbacks.
    pub spent: usize,
    pub fallback: Option<FallbackReport>,
    pub no_fallback: Option<RunError>,
    pub attempts: Vec<Attempted>,
    /// A fallback is forced: sweeps that settle are not the end.
    forced: bool,
    /// An attempt settled, or an observer stopped it.
    pub over: bool,
}

impl<A: Algorithm> Walk<A> {
    pub fn new(forced: bool) -> Self {
        Self {
            forced,
            given: None,
            sweeps: None,
            best: None,
            seen: 0,
            spent: 0,
            fallback: None,
            no_fallback: None,
            attempts: Vec::new(),
            over: false,
        }
    }

    pub fn main(&self) -> Option<&Sweeps<A>> {
        self.sweeps.as_ref().or(self.given.as_ref())
    }

    pub fn main_mut(&mut self) -> Option<&mut Sweeps<A>> {
        self.sweeps.as_mut().or(self.given.as_mut())
    }

    /// Writes an attempt down, which may be the last.
    pub fn note(
        &mut self,
        (attempt, name): (Attempt, &'static str),
        evaluations: usize,
        residual: f64,
        end: &Termination,
    ) {
        let settled = end.is_converged() && (attempt.is_fallback() || !self.forced);
        self.over = settled || matches!(end, Termination::Stopped(_));
        self.attempts.push(Attempted {
            attempt,
            name,
            evaluations,
            residual,
            end: end.clone(),
        });
    }

    /// Keeps a state that did not settle, if a full sweep moves it less than those before.
    pub fn offer(&mut self, state: State<A>, residual: f64) {
        if self
            .best
            .as_ref()
            .is_none_or(|(_, least)| residual < *least)
        {
            self.best = Some((Box::new(state), residual));
        }
    }
}
