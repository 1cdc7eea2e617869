//! The certain way to a fixed point, for runs that do not settle: a double loop on the Bethe objective, or a splitting of
//! convex energies.

use std::ops::ControlFlow;

use super::state::State;
use super::sweep::Pass;
use super::{Algorithm, Damping, Divergence, Engine, Message, Observer, SweepView, Termination};
use crate::error::RunError;

/// Sweeps after which a run that has not settled is handed over.
const PATIENCE: usize = 200;
/// Where there is no certain way, a run may go on for this many times the sweeps it was given.
const MORE: usize = 5;
/// A sweep that is not one of the first.
const LATE: usize = usize::MAX;
/// Sweeps before a forced one: every factor has heard from all others.
pub(super) const FIRST_SWEEPS: usize = 2;

/// Whether the fallback may take over from the sweeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fallback {
    /// When an adaptively damped run diverges, or has not settled after 200 sweeps. Where there is no certain way (a
    /// penalty among Bayesian factors, beliefs that are not isotropic), sweeps go on for up to five times
    /// [`max_sweeps`](super::Options::max_sweeps), if that is at least 200.
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
    /// The free energy falls without bound as the variance of one variable vanishes and others do not:
    /// [`FallbackReport::descent`] is the certificate.
    Unbounded,
    /// It reached a bound first.
    Limit {
        /// What is bounded: steps, evaluations, the accuracy of its arithmetic.
        bound: &'static str,
        /// How many there were.
        reached: usize,
    },
    /// An observer stopped it, for this reason.
    Stopped(String),
}

impl std::fmt::Display for FallbackEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stationary => f.write_str("stationary point"),
            Self::Recovered => f.write_str("perfect recovery"),
            Self::Unbounded => f.write_str("the free energy falls without bound"),
            Self::Limit { bound, reached } => write!(f, "bound reached: {reached} {bound}"),
            Self::Stopped(reason) => write!(f, "stopped: {reason}"),
        }
    }
}

/// A direction along which the free energy falls without bound: the variance $v$ of one variable vanishes at its mean,
/// and $F \approx c + s\ln v$. It was measured from one place to another on the way; the mean is that of the report.
#[derive(Debug, Clone, PartialEq)]
pub struct Descent {
    /// The variable.
    pub variable: String,
    /// $s = dF/d\ln v > 0$, in nats.
    pub slope: f64,
    /// Variance and free energy where it was first measured.
    pub from: (f64, f64),
    /// Variance and free energy where it was last measured.
    pub to: (f64, f64),
}

/// What a fallback did.
#[derive(Debug, Clone, PartialEq)]
pub struct FallbackReport {
    /// What it is: a double loop, a splitting, or more sweeps.
    pub method: &'static str,
    /// Its steps: the outer ones of a double loop.
    pub steps: usize,
    /// Evaluations of the moments, or modes, of all factors: each costs about a sweep.
    pub evaluations: usize,
    /// Its own residual: the larger of the last relative change of the moments and of the disagreement between factors.
    pub residual: f64,
    /// The residual of a full sweep from where it ended, as of any other run; none where no sweep can be made.
    pub sweep_residual: Option<f64>,
    /// The Bethe free energy after every outer step that was kept, which does not increase; only of a double loop.
    pub free_energy: Vec<f64>,
    /// Where the free energy falls without bound. Also of a signal that is recovered: the density of its noiseless
    /// continuous outputs is infinite.
    pub descent: Option<Descent>,
    /// How it ended.
    pub end: FallbackEnd,
}

/// Who watches a fallback: the observer of the run, and its sweeps.
pub trait Watch<M> {
    /// Called after every step, with the messages by edge and the fallback's residual; `Break` ends it.
    fn after_step(&mut self, messages: &[M], residual: f64) -> ControlFlow<String>;

    /// The residual of a full sweep from these messages; none where it cannot be made.
    fn sweep_residual(&mut self, messages: &[M]) -> Option<f64>;
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

    fn sweep_residual(&mut self, messages: &[A::Message]) -> Option<f64> {
        self.take(messages);
        let none = vec![0.0; self.state.damping.len()];
        let damping = std::mem::replace(&mut self.state.damping, none);
        let pass = self.engine.sweep(self.state, LATE);
        self.state.damping = damping;
        let residual = self.state.residual();
        self.take(messages);
        match pass {
            Ok(Pass::Done { improper: 0, .. }) if residual.is_finite() => Some(residual),
            _ => None,
        }
    }
}

impl<A: Algorithm> Engine<'_, A> {
    /// The fallback is to come after this many sweeps, if at all.
    pub(super) fn sweep_limit(&self) -> usize {
        let limit = self.options.max_sweeps;
        let adapts = A::ON_DATA && self.options.damping == Damping::Adaptive;
        match self.options.fallback {
            Fallback::Forced => FIRST_SWEEPS,
            Fallback::Automatic
                if adapts && limit >= PATIENCE && !self.algorithm.is_certain(self.tree) =>
            {
                limit.saturating_mul(MORE)
            }
            _ => limit,
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

    /// What sweeps beyond those that were asked for did, if there were any.
    fn more_sweeps(
        &self,
        sweeps: usize,
        residual: f64,
        termination: &Termination,
    ) -> Option<FallbackReport> {
        let more = sweeps.saturating_sub(self.options.max_sweeps);
        let end = match termination {
            Termination::Converged {
                perfect_recovery: true,
            } => FallbackEnd::Recovered,
            Termination::Converged { .. } => FallbackEnd::Stationary,
            Termination::Stopped(reason) => FallbackEnd::Stopped(reason.clone()),
            _ => FallbackEnd::Limit {
                bound: "sweeps",
                reached: sweeps,
            },
        };
        let report = FallbackReport {
            method: "more sweeps",
            steps: more,
            evaluations: more,
            residual,
            sweep_residual: Some(residual),
            free_energy: Vec::new(),
            descent: None,
            end,
        };
        (more > 0 && self.options.fallback != Fallback::Forced).then_some(report)
    }

    /// Hands a run that did not settle over to its fallback, and says how that ended.
    pub(super) fn fall_back(
        &self,
        state: &mut State<A>,
        (sweeps, residual): (usize, f64),
        termination: &mut Termination,
        observer: &mut impl Observer<A>,
    ) -> Result<Option<FallbackReport>, RunError> {
        if !self.hands_over(state, sweeps, termination) {
            return Ok(self.more_sweeps(sweeps, residual, termination));
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
                Ok(self.more_sweeps(sweeps, residual, termination))
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
        FallbackEnd::Unbounded => Termination::Diverging(Divergence {
            sweep: sweeps,
            factor: None,
            variable: done.descent.as_ref().map(|d| d.variable.clone()),
            direction: None,
            reason: "the Bethe free energy falls without bound as its variance vanishes".to_owned(),
        }),
        FallbackEnd::Limit { .. } => Termination::SweepLimit,
        FallbackEnd::Stopped(reason) => Termination::Stopped(reason.clone()),
    }
}
