//! When an attempt follows those before it, and when sweeps make way for the next one.

use super::ladder::After;
use super::options::TOLERANCE;
use super::outcome::{Sweeps, Walk};
use super::state::State;
use super::stopping::SWINGING;
use super::{Algorithm, Attempt, Engine, Fallback, Method, Options, Termination, Verdict};

/// Sweeps after which a run that has not settled may be handed over: a shorter one just ends.
pub(super) const PATIENCE: usize = 100;

impl<A: Algorithm> Engine<'_, A> {
    /// Whether an attempt is to be made after what came before.
    pub(super) fn wants(&self, attempt: &Attempt, walk: &Walk<A>) -> bool {
        let Some(last) = walk.main() else {
            return attempt.after == After::Nothing;
        };
        match attempt.after {
            After::Nothing => true,
            After::Given => self.should_restart(last),
            After::BadStart => last.bad_start,
            After::Sweeps => {
                // other steps would come to rest at the same state, at which nothing moves
                let moves = !matches!(last.verdict(), Some(Verdict::NotStationary { .. }));
                moves && !self.algorithm.certain_from_anywhere(self.tree) && self.hands_over(last)
            }
            After::SweepsForCertain => {
                self.wants_certain(last) && (self.is_forced() || self.is_near(last))
            }
            After::FarOrContradicted => {
                let tried = walk.attempts.last().map(|a| a.attempt.method);
                match &walk.fallback {
                    Some(done) if tried == Some(Method::Certain) => done.is_contradicted(),
                    _ => !self.is_near(last) && self.wants_certain(last),
                }
            }
        }
    }

    /// The certain method may start from where these sweeps led: not from where a run that swings happens to be when it is given up, for from there it
    /// goes to any fixed point. One that starts from anywhere does not care.
    fn is_near(&self, made: &Sweeps<A>) -> bool {
        let near = made.distance < SWINGING && !made.is_contradicted();
        near || self.algorithm.certain_from_anywhere(self.tree)
    }

    /// A certain method is to take over. The free energy that it descends has no bound where the run collapsed.
    fn wants_certain(&self, made: &Sweeps<A>) -> bool {
        let collapsed = matches!(made.verdict(), Some(Verdict::Collapsed { .. }));
        self.hands_over(made) && (self.is_forced() || !collapsed)
    }

    /// Sweeps with the damping of the options did not settle, and were to. Without a tolerance a run of fewer sweeps than the default was asked
    /// for just these.
    fn should_restart(&self, made: &Sweeps<A>) -> bool {
        match made.termination {
            Termination::Diverging(_) | Termination::Rejected(_) => true,
            Termination::SweepLimit => {
                let count = made.trace.len();
                let ends = self.options.tolerance > 0.0;
                let meant = if A::ON_DATA {
                    ends || count >= Options::default().max_sweeps
                } else {
                    count >= PATIENCE
                };
                meant && (ends || made.distance >= TOLERANCE)
            }
            _ => false,
        }
    }

    /// Other attempts take over from these sweeps.
    fn hands_over(&self, made: &Sweeps<A>) -> bool {
        if self.is_forced() {
            return !matches!(made.termination, Termination::Stopped(_));
        }
        let unsettled = match made.termination {
            Termination::SweepLimit => {
                let long =
                    made.trace.len() >= PATIENCE || self.algorithm.certain_from_anywhere(self.tree);
                long && self.options.max_sweeps >= PATIENCE && !self.rests(made.distance)
            }
            Termination::Diverging(_)
            | Termination::Rejected(_)
            | Termination::FallbackLimit { .. } => true,
            Termination::Converged { .. } | Termination::Stopped(_) => false,
        };
        unsettled && self.may_fall_back(&made.state)
    }

    pub(super) fn is_forced(&self) -> bool {
        self.options.fallback == Fallback::Forced
    }

    /// The tolerance of what takes over: a run that is not to end by itself has none.
    pub(super) fn fallback_tolerance(&self) -> f64 {
        if self.ends_by_itself() {
            self.options.tolerance
        } else {
            TOLERANCE
        }
    }

    /// There is a tolerance, or the fallback was asked for, or it has one of its own.
    fn ends_by_itself(&self) -> bool {
        self.options.tolerance > 0.0
            || self.is_forced()
            || self.algorithm.certain_from_anywhere(self.tree)
    }

    /// A run that is not to end by itself has come to rest, by the default tolerance.
    fn rests(&self, residual: f64) -> bool {
        !self.ends_by_itself() && residual < TOLERANCE
    }

    /// A fallback may take over from the sweeps of this state.
    pub(super) fn may_fall_back(&self, state: &State<A>) -> bool {
        let startable = state.has_good || self.algorithm.certain_from_anywhere(self.tree);
        match self.options.fallback {
            Fallback::Forced => true,
            Fallback::Automatic => state.step.is_some() && startable,
            Fallback::Forbidden => false,
        }
    }

    /// What would come after sweeps without progress can start from this state. A method that starts from anywhere does not use it.
    pub(super) fn may_give_way(&self, state: &mut State<A>, residual: f64) -> bool {
        self.algorithm.certain_from_anywhere(self.tree)
            || state.has_good && !self.rests(residual) && self.objective(state).is_ok()
    }
}
