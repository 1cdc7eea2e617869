//! The certain way to a fixed point, for runs that do not settle: a double loop on the Bethe objective.

use super::state::State;
use super::{Algorithm, Divergence, Engine, Termination};
use crate::error::RunError;

/// Sweeps after which a run that has not settled is handed over.
const PATIENCE: usize = 200;
/// Sweeps before a forced one: every factor has heard from all others.
pub(super) const FIRST_SWEEPS: usize = 2;

/// Whether the double loop may take over from the sweeps.
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

/// How a double loop ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum DoubleLoopEnd {
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
}

/// What a double loop did.
#[derive(Debug, Clone, PartialEq)]
pub struct DoubleLoop {
    /// Outer steps.
    pub outer_steps: usize,
    /// Evaluations of the moments of all factors: each costs about a sweep.
    pub evaluations: usize,
    /// The larger of the last relative change of the moments and of the disagreement between factors.
    pub residual: f64,
    /// The Bethe free energy after every outer step that was kept: it does not increase.
    pub free_energy: Vec<f64>,
    /// How it ended.
    pub end: DoubleLoopEnd,
}

impl<A: Algorithm> Engine<'_, A> {
    /// The double loop is to come after this many sweeps, if at all.
    pub(super) fn sweep_limit(&self) -> usize {
        match self.options.fallback {
            Fallback::Forced => FIRST_SWEEPS,
            _ => self.options.max_sweeps,
        }
    }

    /// Hands a run that did not settle over to the double loop, and says how that ended.
    pub(super) fn fall_back(
        &self,
        state: &mut State<A>,
        sweeps: usize,
        termination: &mut Termination,
    ) -> Result<Option<DoubleLoop>, RunError> {
        let unsettled = match termination {
            Termination::SweepLimit => sweeps >= PATIENCE,
            Termination::Diverging(_) => true,
            Termination::Converged { .. } => {
                let messages = &state.store[..self.tree.edges().len()];
                self.algorithm.doubts(self.tree, messages)
            }
            Termination::Stopped(_) => false,
        };
        let forced = self.options.fallback == Fallback::Forced;
        let automatic = self.options.fallback == Fallback::Automatic && state.step.is_some();
        let startable = state.has_good || A::FALLS_BACK_FROM_ANYWHERE;
        if !(forced || (automatic && unsettled && startable)) {
            return Ok(None);
        }
        self.restore(state);
        let edges = self.tree.edges().len();
        let messages = &mut state.store[..edges];
        let done = match self
            .algorithm
            .double_loop(self.tree, messages, &self.options)
        {
            Ok(done) => done,
            Err(error) if forced => return Err(error),
            // the report says how the sweeps ended
            Err(_) => return Ok(None),
        };
        self.remake(state);
        state.has_good = true;
        *termination = match &done.end {
            DoubleLoopEnd::Stationary => Termination::Converged {
                perfect_recovery: false,
            },
            DoubleLoopEnd::Recovered => Termination::Converged {
                perfect_recovery: true,
            },
            DoubleLoopEnd::Unbounded { variable } => Termination::Diverging(Divergence {
                sweep: sweeps,
                factor: None,
                variable: Some(variable.clone()),
                direction: None,
                reason: "the Bethe free energy falls without bound as its variance vanishes"
                    .to_owned(),
            }),
            DoubleLoopEnd::Limit => Termination::SweepLimit,
        };
        Ok(Some(done))
    }
}
