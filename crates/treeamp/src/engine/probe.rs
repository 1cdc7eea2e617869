//! What judges a state from outside of the sweeps: the probe of a verdict, and the watch of a fallback.

use std::ops::ControlFlow;

use super::state::State;
use super::sweep::{LATE, Pass};
use super::{Algorithm, Engine, Evidence, Marginal, Message, Observer, Options, Verdict};
use crate::error::RunError;
use crate::model::Tree;

/// A variance that one more sweep changes by less than this, relative to itself, rests.
pub(crate) const RESTING: f64 = 0.01;
/// A variance below this fraction of the second moment leaves no doubt about a signal.
pub(crate) const KNOWN: f64 = 1e-6;

/// Plain sweeps from a state with a variance that the residual hardly sees, and by how much they may move the moments: messages that were not
/// at rest lose the signal within a few. (A swing that damping holds back grows ninefold in each with the largest damping that is tried,
/// to 1e-3 from the tolerance.)
pub(crate) const PLAIN: usize = 4;
const LEAVES: f64 = 0.1;

/// A state at rest, lent to an algorithm that is to say what it is. Whatever is tried on the side, the state stays.
pub struct Probe<'p, 't, A: Algorithm> {
    pub(super) engine: &'p Engine<'t, A>,
    pub(super) state: &'p mut State<A>,
    /// Average variances of every variable after every sweep.
    pub(super) variances: &'p [f64],
    /// What led here.
    pub(super) led_by: LedBy,
    /// All variances have vanished.
    pub(super) recovered: bool,
    /// How far a plain sweep moves the moments, where one was needed to confirm the state.
    plain_residual: Option<f64>,
    /// The evidence, once it was asked for.
    pub(super) evidence: Option<Evidence>,
}

/// What led to a state at rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LedBy {
    /// Sweeps of the run.
    Sweeps,
    /// Sweeps of a fallback: their steps are short, their penalties smoothed or their precisions bounded.
    OtherSweeps,
    /// A certain method.
    Method,
}

/// A verdict, and beside it what it rests on.
pub(super) struct Certified {
    pub verdict: Verdict,
    /// Of a state that settled; of others if it was asked for on the way.
    pub evidence: Option<Evidence>,
    /// How far a plain sweep moves the moments, where one was needed to confirm the state.
    pub plain_residual: Option<f64>,
}

impl<A: Algorithm> Engine<'_, A> {
    /// Asks the algorithm what a state at rest is.
    pub(super) fn certify(
        &self,
        state: &mut State<A>,
        variances: &[f64],
        (led_by, recovered): (LedBy, bool),
    ) -> Result<Certified, RunError> {
        let mut probe = Probe {
            engine: self,
            state,
            variances,
            led_by,
            recovered,
            plain_residual: None,
            evidence: None,
        };
        let verdict = self.algorithm.certify(&mut probe)?;
        if verdict.is_settled() {
            probe.evidence();
        }
        Ok(Certified {
            verdict,
            evidence: probe.evidence,
            plain_residual: probe.plain_residual,
        })
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
        self.led_by != LedBy::Method && self.engine.may_fall_back(self.state)
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

    /// Plain sweeps leave a state where it is that sweeps led to. Where these had short steps, smoothed penalties or bounded precisions, a plain
    /// one must be at rest too. Where some variance is so small that the residual hardly sees it change (below a hundred tolerances, and
    /// $10^{-4}$ of the second moment), four must not lead away: a certainty that passes does so by at least a factor of two in each. A sweep that
    /// cannot be made says nothing.
    pub fn stays_in_plain_sweeps(&mut self) -> bool {
        let (engine, led_by) = (self.engine, self.led_by);
        if led_by == LedBy::Method {
            return true;
        }
        let mut supervisor = Supervisor {
            engine,
            state: &mut *self.state,
            observer: &mut (),
            before: 0,
            count: 0,
        };
        if led_by == LedBy::OtherSweeps && !self.recovered {
            self.plain_residual = supervisor.confirmed(engine.fallback_tolerance());
            if self.plain_residual.is_none() {
                return false;
            }
        }
        let small = super::stopping::unseen(engine.options.tolerance);
        !supervisor.state.vanishes(small) || supervisor.survives(PLAIN, LEAVES)
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

    /// What the state of these messages is, at which all variances have vanished; none where that cannot be told.
    fn verdict_of_recovery(&mut self, messages: &[M]) -> Option<Verdict>;

    /// The sweeps of all attempts that it takes over from; none where it was forced, and no work is too much.
    fn sweeps_before(&self) -> Option<usize>;
}

/// The run that handed over.
pub(super) struct Supervisor<'e, 't, A: Algorithm, O> {
    pub engine: &'e Engine<'t, A>,
    pub state: &'e mut State<A>,
    pub observer: &'e mut O,
    /// The sweeps of all attempts before.
    pub before: usize,
    /// These, and steps since.
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

    fn sweeps_before(&self) -> Option<usize> {
        (!self.engine.is_forced()).then_some(self.before)
    }

    fn verdict_of_recovery(&mut self, messages: &[A::Message]) -> Option<Verdict> {
        self.take(messages);
        let certified = self.engine.certify(self.state, &[], (LedBy::Method, true));
        certified.ok().map(|found| found.verdict)
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
