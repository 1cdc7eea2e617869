//! A fallback under way, as the run sees it: its observer is told, and sweeps are made for it.

use std::ops::ControlFlow;

use super::state::State;
use super::sweep::{LATE, Pass};
use super::{Algorithm, Engine, Marginal, Message, Observer};

/// A variance that one more sweep changes by less than this, relative to itself, rests.
pub(crate) const RESTING: f64 = 0.01;

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
    pub fn take(&mut self, messages: &[A::Message]) {
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
