//! What judges a state from outside of the sweeps: the probe of a verdict, and the watch of a fallback.

use std::ops::ControlFlow;

use super::state::State;
use super::sweep::{LATE, Pass};
use super::{Algorithm, Engine, Marginal, Message, Objective, Observer, Options, Verdict};
use crate::error::RunError;
use crate::model::Tree;

/// A variance that one more sweep changes by less than this, relative to itself, rests.
pub(crate) const RESTING: f64 = 0.01;
/// A variance below this fraction of the second moment leaves no doubt about a signal.
pub(crate) const KNOWN: f64 = 1e-6;

/// A state at rest, lent to an algorithm that is to say what it is. Whatever is tried on the side, the state stays.
pub struct Probe<'p, 't, A: Algorithm> {
    pub(super) engine: &'p Engine<'t, A>,
    pub(super) state: &'p mut State<A>,
    /// Average variances of every variable after every sweep.
    pub(super) variances: &'p [f64],
    /// Sweeps led here, and not a fallback.
    pub(super) by_sweeps: bool,
    /// All variances have vanished.
    pub(super) recovered: bool,
    /// The evidence, once it was asked for.
    pub(super) evidence: Option<Result<Objective, RunError>>,
}

/// A verdict, and the evidence if that was asked for on the way.
pub(super) struct Certified {
    pub verdict: Verdict,
    pub evidence: Option<Result<Objective, RunError>>,
}

impl<'t, A: Algorithm> Engine<'t, A> {
    /// Asks the algorithm what a state at rest is.
    pub(super) fn certify(
        &self,
        state: &mut State<A>,
        variances: &[f64],
        (by_sweeps, recovered): (bool, bool),
    ) -> Result<Certified, RunError> {
        let mut probe = self.probe(state, variances, (by_sweeps, recovered));
        let verdict = self.algorithm.certify(&mut probe)?;
        let evidence = probe.evidence.take();
        Ok(Certified { verdict, evidence })
    }

    pub(super) fn probe<'p>(
        &'p self,
        state: &'p mut State<A>,
        variances: &'p [f64],
        (by_sweeps, recovered): (bool, bool),
    ) -> Probe<'p, 't, A> {
        Probe {
            engine: self,
            state,
            variances,
            by_sweeps,
            recovered,
            evidence: None,
        }
    }
}

impl<'t, A: Algorithm> Probe<'_, 't, A> {
    /// The tree.
    #[must_use]
    pub fn tree(&self) -> &'t Tree {
        self.engine.tree
    }

    /// The options of the run.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.engine.options
    }

    /// The messages from factors to variables, by edge.
    #[must_use]
    pub fn messages(&self) -> &[A::Message] {
        &self.state.store[..self.state.damping.len()]
    }

    /// What is known about every variable.
    #[must_use]
    pub fn marginals(&self) -> &[A::Marginal] {
        &self.state.marginals
    }

    /// Sweeps led here, and a fallback may still take over from them.
    #[must_use]
    pub fn may_fall_back(&self) -> bool {
        self.by_sweeps && self.engine.may_fall_back(self.state)
    }

    /// Sweeps led here, and not a fallback.
    #[must_use]
    pub fn by_sweeps(&self) -> bool {
        self.by_sweeps
    }

    /// The verdict where nothing speaks against the state.
    #[must_use]
    pub fn settled(&self) -> Verdict {
        if self.recovered {
            Verdict::ExactRecovery
        } else {
            Verdict::Settled
        }
    }

    /// Every variance is below this fraction of the second moment.
    #[must_use]
    pub fn is_known(&self, fraction: f64) -> bool {
        self.state.perfect(fraction)
    }

    /// The variable with the smallest variance relative to its second moment.
    #[must_use]
    pub fn sharpest_variable(&self) -> &'t str {
        let fraction = |i: usize| self.state.marginals[i].variance() / self.state.size(i);
        let all = self.engine.tree.variables().iter();
        let least = all.min_by(|v, w| fraction(v.index).total_cmp(&fraction(w.index)));
        least.map_or("", |v| v.name.as_str())
    }

    /// Some variance is so small that the residual hardly sees it change: below a hundred tolerances, and $10^{-4}$ of the second moment.
    #[must_use]
    pub fn hides_movement(&self) -> bool {
        self.state
            .vanishes(super::stopping::unseen(self.engine.options.tolerance))
    }

    /// So many plain sweeps leave the state where it is: none moves the moments by more than this. One that cannot be made says nothing.
    pub fn survives(&mut self, sweeps: usize, most: f64) -> bool {
        let mut supervisor = Supervisor {
            engine: self.engine,
            state: &mut *self.state,
            observer: &mut (),
            count: 0,
        };
        supervisor.survives(sweeps, most)
    }
}

/// Who watches a fallback: the observer of the run, and its sweeps.
pub trait Watch<M> {
    /// Called after every step, with the messages by edge and the fallback's residual; `Break` ends it.
    fn after_step(&mut self, messages: &[M], residual: f64) -> ControlFlow<String>;

    /// The residual of a full sweep from these messages; none where it cannot be made.
    fn sweep_residual(&mut self, messages: &[M]) -> Option<f64>;

    /// A full sweep from these messages, which become what it leaves, and its residual; none, and the messages as they
    /// were, where it cannot be made.
    fn sweep(&mut self, messages: &mut [M]) -> Option<f64>;
}

/// The run that handed over.
pub(super) struct Supervisor<'e, 't, A: Algorithm, O> {
    pub engine: &'e Engine<'t, A>,
    pub state: &'e mut State<A>,
    pub observer: &'e mut O,
    /// Sweeps, and steps since.
    pub count: usize,
}

impl<A: Algorithm, O: Observer<A>> Supervisor<'_, '_, A, O> {
    /// The run is where these messages are.
    fn take(&mut self, messages: &[A::Message]) {
        self.engine.put(messages, self.state);
    }
}

impl<A: Algorithm, O: Observer<A>> Watch<A::Message> for Supervisor<'_, '_, A, O> {
    fn after_step(&mut self, messages: &[A::Message], residual: f64) -> ControlFlow<String> {
        self.take(messages);
        self.count += 1;
        let view = self.engine.view(self.state, self.count, residual, true);
        self.observer.after_sweep(&view)
    }

    fn sweep_residual(&mut self, messages: &[A::Message]) -> Option<f64> {
        let residual = self.swept(messages);
        self.take(messages);
        residual
    }

    fn sweep(&mut self, messages: &mut [A::Message]) -> Option<f64> {
        let residual = self.swept(messages)?;
        for (message, slot) in messages.iter_mut().zip(&self.state.store) {
            message.copy_from(slot);
        }
        Some(residual)
    }
}

impl<A: Algorithm, O: Observer<A>> Supervisor<'_, '_, A, O> {
    /// The residual of a full sweep from where the run is, where that is below the tolerance and no variance is on its way
    /// to nothing. The run stays there.
    pub fn confirmed(&mut self, tolerance: f64) -> Option<f64> {
        let messages = self.state.store[..self.state.damping.len()].to_vec();
        let variances = |s: &State<A>| s.marginals.iter().map(Marginal::variance).collect();
        let before: Vec<f64> = variances(self.state);
        let residual = self.swept(&messages);
        let after: Vec<f64> = variances(self.state);
        self.take(&messages);
        let mut pairs = before.iter().zip(after);
        let rest = pairs.all(|(v, w)| (w - v).abs() <= RESTING * v);
        residual.filter(|r| *r < tolerance && rest)
    }

    /// So many plain sweeps from where the run is leave it there: none moves it by more than this. One that cannot be made says
    /// nothing. The run stays there.
    pub fn survives(&mut self, sweeps: usize, most: f64) -> bool {
        let messages = self.state.store[..self.state.damping.len()].to_vec();
        let mut next = messages.clone();
        let stays = (0..sweeps).all(|_| self.sweep(&mut next).is_none_or(|moved| moved < most));
        self.take(&messages);
        stays
    }

    /// The run after a full sweep from these messages, and its residual if it is one.
    fn swept(&mut self, messages: &[A::Message]) -> Option<f64> {
        self.take(messages);
        let none = vec![0.0; self.state.damping.len()];
        let damping = std::mem::replace(&mut self.state.damping, none);
        let pass = self.engine.sweep(self.state, LATE);
        self.state.damping = damping;
        let residual = self.state.residual();
        match pass {
            Ok(Pass::Done { improper: 0, .. }) if residual.is_finite() => Some(residual),
            _ => None,
        }
    }
}
