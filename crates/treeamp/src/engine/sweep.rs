//! One sweep: a forward and a backward pass over the messages, then the marginals.

use super::state::State;
use super::{Algorithm, Divergence, Engine, Message};
use crate::error::{FactorError, RunError};
use crate::factor::{Context, Incoming, Request, Workspace};

/// The number of a sweep after a run: messages that are not finite are left out of it, and counted as improper.
pub(super) const LATE: usize = usize::MAX;

/// What one pass over the steps found.
pub(super) enum Pass {
    Done {
        improper: usize,
        first: Option<Divergence>,
    },
    Broken(Divergence),
}

impl<A: Algorithm> Engine<'_, A> {
    /// One forward and one backward pass, then the marginals.
    pub(super) fn sweep(&self, state: &mut State<A>, sweep: usize) -> Result<Pass, RunError> {
        let mut improper = 0;
        let mut first = None;
        for step in &self.plan.steps {
            if state.first && state.held[step.edge] {
                continue;
            }
            let node = &self.tree.factors()[step.factor];
            let variable = self.tree.edges()[step.edge].variable;
            self.plan.refresh(step.factor, &mut state.store);
            let out = &mut state.scratch[state.class[variable]];
            let workspace = &mut state.workspaces[step.factor];
            let mut context =
                self.context(step.factor, &state.store, state.adjusted.request, workspace);
            let result = self.algorithm.update(
                step.factor,
                node.factor.as_ref(),
                &mut context,
                step.port,
                out,
            );
            let cavity = &state.store[self.plan.to_factor[step.edge]];
            let certain = cavity.overwhelms(&state.store[step.edge]);
            match result {
                // Where its variable is known (almost) exactly, the message of a factor is lost in rounding. The one before is
                // kept: the certainty may rest on it, and next to it the message cancels in the objective.
                Ok(()) if certain && out.is_flat() => {}
                Ok(()) if out.is_finite() => {
                    self.options.lift(out, cavity);
                    if state.adjusted.bounded {
                        out.bound(cavity);
                    }
                    out.blend(&state.store[step.edge], state.damping[step.edge]);
                    std::mem::swap(out, &mut state.store[step.edge]);
                }
                Ok(()) if sweep == LATE => improper += 1,
                Ok(()) => {
                    return Ok(Pass::Broken(self.blame(
                        step.edge,
                        sweep,
                        &"a message is not finite",
                    )));
                }
                Err(error) if error.is_recoverable() => {
                    improper += 1;
                    if first.is_none() {
                        first = Some(self.blame(step.edge, sweep, &error));
                    }
                }
                Err(error) if produced(&error, sweep) => {
                    return Ok(Pass::Broken(self.blame(step.edge, sweep, &error)));
                }
                Err(source) => {
                    return Err(RunError::Factor {
                        factor: node.name.clone(),
                        source,
                    });
                }
            }
        }
        for (i, variable) in self.tree.variables().iter().enumerate() {
            match self.marginal(state, i) {
                Ok(()) => {
                    state.accept(i);
                    self.recycle(state, i);
                }
                Err(error) if error.is_recoverable() => {
                    improper += 1;
                    state.changes[i] = 0.0;
                    if first.is_none() {
                        let mut divergence = self.blame(variable.edges[0], sweep, &error);
                        divergence.factor = None;
                        divergence.direction = None;
                        first = Some(divergence);
                    }
                }
                Err(error) if produced(&error, sweep) => {
                    let mut divergence = self.blame(variable.edges[0], sweep, &error);
                    divergence.factor = None;
                    divergence.direction = None;
                    return Ok(Pass::Broken(divergence));
                }
                Err(source) => {
                    let factor = format!("(variable) {}", variable.name);
                    return Err(RunError::Factor { factor, source });
                }
            }
        }
        state.first = false;
        Ok(Pass::Done { improper, first })
    }

    /// What a factor computes from; its cavities are fresh.
    pub(super) fn context<'s>(
        &'s self,
        factor: usize,
        store: &'s [A::Message],
        request: Request,
        workspace: &'s mut Workspace,
    ) -> Context<'s, A::Message> {
        Context {
            incoming: self.plan.at_factor(factor, store),
            // the messages of a factor are in the slots of its edges
            sent: Some(Incoming::new(store, &self.tree.factors()[factor].edges)),
            request,
            workspace,
        }
    }

    /// The marginal of variable `i` at the present messages, into its class's spare.
    fn marginal(&self, state: &mut State<A>, i: usize) -> Result<(), FactorError> {
        let incoming = Incoming::new(&state.store, &self.plan.at_variable[i]);
        let (total, out) = (
            &mut state.scratch[state.class[i]],
            &mut state.spare[state.class[i]],
        );
        let variable = &self.tree.variables()[i];
        self.algorithm.marginal(variable, incoming, total, out)
    }

    /// Back to the last good messages and the marginals they make.
    pub(super) fn restore(&self, state: &mut State<A>) {
        state.restore();
        if !state.has_good || !self.rolls_back() {
            return;
        }
        self.remake(state);
    }

    /// The run is where these messages are.
    pub(super) fn put(&self, messages: &[A::Message], state: &mut State<A>) {
        for (slot, message) in state.store.iter_mut().zip(messages) {
            slot.copy_from(message);
        }
        self.remake(state);
    }

    /// The marginals of the present messages.
    pub(super) fn remake(&self, state: &mut State<A>) {
        for i in 0..state.marginals.len() {
            if self.marginal(state, i).is_ok() {
                std::mem::swap(&mut state.spare[state.class[i]], &mut state.marginals[i]);
                self.recycle(state, i);
            }
        }
    }

    /// The spare of variable `i` has been taken: what is left of it is scratch again.
    fn recycle(&self, state: &mut State<A>, i: usize) {
        let class = state.class[i];
        self.algorithm
            .recycle(&mut state.spare[class], &mut state.scratch[class]);
    }

    fn blame(&self, edge: usize, sweep: usize, reason: &impl ToString) -> Divergence {
        let edge = self.tree.edges()[edge];
        Divergence {
            sweep,
            factor: Some(self.tree.factors()[edge.factor].name.clone()),
            variable: Some(self.tree.variables()[edge.variable].name.clone()),
            direction: Some(edge.direction),
            reason: reason.to_string(),
        }
    }
}

/// Exact statements that the run itself produced, by underflow, are no errors: those of the model are known by the second
/// sweep. A factor may have no rule for them.
fn produced(error: &FactorError, sweep: usize) -> bool {
    let exact = matches!(
        error,
        FactorError::Contradiction(_) | FactorError::Unsupported(_)
    );
    exact && sweep > 2
}
