//! Observers: they see a run after every sweep, and after every step of its fallback, and may stop it. They cannot change it.

use std::io::Write;
use std::ops::ControlFlow;

use super::state::State;
use super::{Algorithm, Engine, Marginal};
use crate::model::Tree;

/// The state after a sweep, read only.
#[derive(Debug)]
pub struct SweepView<'a, A: Algorithm> {
    /// Number of sweeps done; with a fallback, and of its steps since.
    pub sweep: usize,
    /// The fallback has taken over.
    pub fallback: bool,
    /// The residual: the largest relative change of a variable's moments; of a fallback, its own.
    pub residual: f64,
    /// Updates of the sweep that were skipped because a tilted law or a belief was improper: where there are some, what has
    /// not changed need not have settled.
    pub improper: usize,
    /// The part of the new messages that the sweep took, $1 - d$ at damping $d$, adaptive or given; with damping by edge, on the most
    /// damped one. The moments would have changed by about `1 / step` times as much in a full step.
    pub step: f64,
    /// The tree.
    pub tree: &'a Tree,
    pub(super) marginals: &'a [A::Marginal],
    /// The messages from factors to variables, by edge.
    pub(super) store: &'a [A::Message],
}

impl<'a, A: Algorithm> SweepView<'a, A> {
    /// The same after a sweep that skipped so many updates, and took a step of this size.
    pub(super) fn of_sweep(self, improper: usize, step: f64) -> Self {
        Self {
            improper,
            step,
            ..self
        }
    }

    /// The residual that a full step would have had.
    #[must_use]
    pub fn full_residual(&self) -> f64 {
        self.residual / self.step
    }

    /// What is known about a variable now.
    #[must_use]
    pub fn marginal(&self, variable: &str) -> Option<&'a A::Marginal> {
        self.tree
            .variable(variable)
            .ok()
            .map(|i| &self.marginals[i])
    }

    /// What is known about every variable now, in the tree's order.
    #[must_use]
    pub fn marginals(&self) -> &'a [A::Marginal] {
        self.marginals
    }

    /// The messages from factors to variables now, in the order of the tree's edges.
    #[must_use]
    pub fn messages(&self) -> &'a [A::Message] {
        self.store
    }
}

impl<A: Algorithm> Engine<'_, A> {
    /// What an observer sees of a state.
    pub(super) fn view<'a>(
        &'a self,
        state: &'a State<A>,
        sweep: usize,
        residual: f64,
        fallback: bool,
    ) -> SweepView<'a, A> {
        SweepView {
            sweep,
            fallback,
            residual,
            improper: 0,
            step: 1.0,
            tree: self.tree,
            marginals: &state.marginals,
            store: &state.store[..self.tree.edges().len()],
        }
    }
}

/// Something that watches a run.
pub trait Observer<A: Algorithm> {
    /// Called after every sweep, and after every step of a fallback; `Break` ends the run with that reason.
    fn after_sweep(&mut self, view: &SweepView<'_, A>) -> ControlFlow<String>;

    /// It reads moments or messages. Those of a variable that nothing else reads, such as a low-rank matrix behind Gaussian noise, are made after every
    /// sweep for an observer that looks, and only at the end of a run otherwise.
    fn looks(&self) -> bool {
        true
    }
}

/// Nobody watches.
impl<A: Algorithm> Observer<A> for () {
    fn after_sweep(&mut self, _: &SweepView<'_, A>) -> ControlFlow<String> {
        ControlFlow::Continue(())
    }

    fn looks(&self) -> bool {
        false
    }
}

/// Any closure watches.
impl<A: Algorithm, F: FnMut(&SweepView<'_, A>) -> ControlFlow<String>> Observer<A> for F {
    fn after_sweep(&mut self, view: &SweepView<'_, A>) -> ControlFlow<String> {
        self(view)
    }
}

/// Calls another observer every `n` sweeps.
#[derive(Debug)]
pub struct EveryN<O> {
    n: usize,
    inner: O,
}

impl<O> EveryN<O> {
    /// Every `n` sweeps (at least 1).
    pub fn new(n: usize, inner: O) -> Self {
        Self { n: n.max(1), inner }
    }
}

impl<A: Algorithm, O: Observer<A>> Observer<A> for EveryN<O> {
    fn after_sweep(&mut self, view: &SweepView<'_, A>) -> ControlFlow<String> {
        if view.sweep.is_multiple_of(self.n) {
            self.inner.after_sweep(view)
        } else {
            ControlFlow::Continue(())
        }
    }

    fn looks(&self) -> bool {
        self.inner.looks()
    }
}

/// Writes one line per sweep: residual and variances. The library itself never prints.
#[derive(Debug)]
pub struct Progress<W> {
    out: W,
}

impl<W: Write> Progress<W> {
    /// Progress lines to `out`, for instance `std::io::stderr()`.
    pub fn new(out: W) -> Self {
        Self { out }
    }
}

impl<A: Algorithm, W: Write> Observer<A> for Progress<W> {
    fn after_sweep(&mut self, view: &SweepView<'_, A>) -> ControlFlow<String> {
        let variables = view.tree.variables().iter().zip(view.marginals);
        let variances: Vec<String> = variables
            .map(|(x, m)| format!("{} {:.3e}", x.name, m.variance()))
            .collect();
        let line = format!(
            "sweep {:4}  residual {:.2e}  variance: {}",
            view.sweep,
            view.residual,
            variances.join(", ")
        );
        match writeln!(self.out, "{line}") {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(format!("progress could not be written: {error}")),
        }
    }
}
