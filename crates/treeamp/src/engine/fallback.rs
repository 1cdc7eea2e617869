//! The certain way to a fixed point, for runs that do not settle: a double loop on the Bethe objective, or a splitting of
//! convex energies.

use std::ops::ControlFlow;

use super::state::State;
use super::{Algorithm, Divergence, Engine, Message, Observer, SweepView, Termination};
use crate::error::RunError;

/// Sweeps after which a run that has not settled is handed over.
const PATIENCE: usize = 200;
/// Sweeps before a forced one: every factor has heard from all others.
pub(super) const FIRST_SWEEPS: usize = 2;

/// Whether the fallback may take over from the sweeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fallback {
    /// When an adaptively damped run diverges, or has not settled after 200 sweeps.
    #[default]
    Automatic,
    /// After the first two sweeps, whatever the damping.
    Forced,
    /// Never.
    Forbidden,
}

/// How a fallback ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FallbackEnd {
    /// At a stationary point, which is a fixed point of the sweeps.
    Stationary,
    /// All variances vanished: perfect recovery.
    Recovered,
    /// The free energy falls without bound as the variance of this variable vanishes.
    Unbounded {
        /// The variable.
        variable: String,
    },
    /// Its limit of steps came first.
    Limit,
    /// An observer stopped it, for this reason.
    Stopped(String),
}

/// What a fallback did.
#[derive(Debug, Clone, PartialEq)]
pub struct FallbackReport {
    /// What it is: a double loop, a splitting.
    pub method: &'static str,
    /// Its steps: the outer ones of a double loop.
    pub steps: usize,
    /// Evaluations of the moments, or modes, of all factors: each costs about a sweep.
    pub evaluations: usize,
    /// Its own residual: the larger of the last relative change of the moments and of the disagreement between factors.
    pub residual: f64,
    /// The Bethe free energy after every outer step that was kept, which does not increase; empty for a splitting.
    pub free_energy: Vec<f64>,
    /// How it ended.
    pub end: FallbackEnd,
}

/// Who watches a fallback: the observer of the run.
pub trait Watch<M> {
    /// Called after every step, with the messages by edge and the fallback's residual; `Break` ends it.
    fn after_step(&mut self, messages: &[M], residual: f64) -> ControlFlow<String>;
}

/// The run that handed over.
struct Supervisor<'e, 't, A: Algorithm, O> {
    engine: &'e Engine<'t, A>,
    state: &'e mut State<A>,
    observer: &'e mut O,
    /// Sweeps, and steps since.
    count: usize,
}

impl<A: Algorithm, O: Observer<A>> Supervisor<'_, '_, A, O> {
    /// The run is where these messages are.
    fn take(&mut self, messages: &[A::Message]) {
        for (slot, message) in self.state.store.iter_mut().zip(messages) {
            slot.copy_from(message);
        }
        self.engine.remake(self.state);
    }
}

impl<A: Algorithm, O: Observer<A>> Watch<A::Message> for Supervisor<'_, '_, A, O> {
    fn after_step(&mut self, messages: &[A::Message], residual: f64) -> ControlFlow<String> {
        self.take(messages);
        self.count += 1;
        self.observer.after_sweep(&SweepView {
            sweep: self.count,
            fallback: true,
            residual,
            tree: self.engine.tree,
            marginals: &self.state.marginals,
            store: &self.state.store[..messages.len()],
        })
    }
}

impl<A: Algorithm> Engine<'_, A> {
    /// The fallback is to come after this many sweeps, if at all.
    pub(super) fn sweep_limit(&self) -> usize {
        match self.options.fallback {
            Fallback::Forced => FIRST_SWEEPS,
            _ => self.options.max_sweeps,
        }
    }

    /// The run is to be handed over.
    fn hands_over(&self, state: &State<A>, sweeps: usize, termination: &Termination) -> bool {
        let unsettled = match termination {
            Termination::SweepLimit => sweeps >= PATIENCE,
            Termination::Diverging(_) => true,
            Termination::Converged { .. } => {
                let messages = &state.store[..self.tree.edges().len()];
                self.algorithm.doubts(self.tree, messages)
            }
            Termination::Stopped(_) => return false,
        };
        let startable = state.has_good || A::FALLS_BACK_FROM_ANYWHERE;
        match self.options.fallback {
            Fallback::Forced => true,
            Fallback::Automatic => state.step.is_some() && unsettled && startable,
            Fallback::Forbidden => false,
        }
    }

    /// Hands a run that did not settle over to its fallback, and says how that ended.
    pub(super) fn fall_back(
        &self,
        state: &mut State<A>,
        sweeps: usize,
        termination: &mut Termination,
        observer: &mut impl Observer<A>,
    ) -> Result<Option<FallbackReport>, RunError> {
        if !self.hands_over(state, sweeps, termination) {
            return Ok(None);
        }
        self.restore(state);
        let before = state.store[..self.tree.edges().len()].to_vec();
        let mut messages = before.clone();
        let mut supervisor = Supervisor {
            engine: self,
            state,
            observer,
            count: sweeps,
        };
        let done =
            self.algorithm
                .fall_back(self.tree, &mut messages, &self.options, &mut supervisor);
        match done {
            Ok(done) => {
                supervisor.take(&messages);
                supervisor.state.has_good = true;
                *termination = ended(&done, sweeps);
                Ok(Some(done))
            }
            Err(error) if self.options.fallback == Fallback::Forced => Err(error),
            // the report says how the sweeps ended
            Err(_) => {
                supervisor.take(&before);
                Ok(None)
            }
        }
    }
}

/// How a run ended that its fallback has taken over.
fn ended(done: &FallbackReport, sweeps: usize) -> Termination {
    match &done.end {
        FallbackEnd::Stationary => Termination::Converged {
            perfect_recovery: false,
        },
        FallbackEnd::Recovered => Termination::Converged {
            perfect_recovery: true,
        },
        FallbackEnd::Unbounded { variable } => Termination::Diverging(Divergence {
            sweep: sweeps,
            factor: None,
            variable: Some(variable.clone()),
            direction: None,
            reason: "the Bethe free energy falls without bound as its variance vanishes".to_owned(),
        }),
        FallbackEnd::Limit => Termination::SweepLimit,
        FallbackEnd::Stopped(reason) => Termination::Stopped(reason.clone()),
    }
}
