//! One sweep: a forward and a backward pass over the messages, then the marginals.

use super::plan::Step;
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

/// A message on an edge, or the marginal of a variable.
#[derive(Clone, Copy)]
enum Place {
    Message(usize),
    Marginal(usize),
}

/// Why a message or a marginal was not taken.
enum Fault {
    NotFinite,
    Factor(FactorError),
}

impl From<FactorError> for Fault {
    fn from(error: FactorError) -> Self {
        Self::Factor(error)
    }
}

/// Faults of a sweep that goes on: how many, and the first of them.
#[derive(Default)]
struct Faults {
    improper: usize,
    first: Option<Divergence>,
}

impl<A: Algorithm> Engine<'_, A> {
    /// One forward and one backward pass, then the marginals.
    pub(super) fn sweep(&self, state: &mut State<A>, sweep: usize) -> Result<Pass, RunError> {
        let mut faults = Faults::default();
        for step in &self.plan.steps {
            if self.passes_over(step, state) {
                continue;
            }
            if let Err(fault) = self.send(step, state) {
                let place = (Place::Message(step.edge), sweep);
                if let Some(broken) = self.judge(fault, place, &mut faults)? {
                    return Ok(Pass::Broken(broken));
                }
            }
        }
        for i in 0..state.marginals.len() {
            if state.attention.passes_over(i) {
                continue;
            }
            if let Err(error) = self.marginal(state, i) {
                let place = (Place::Marginal(i), sweep);
                if let Some(broken) = self.judge(error.into(), place, &mut faults)? {
                    return Ok(Pass::Broken(broken));
                }
                state.changes[i] = 0.0;
            } else {
                state.accept(i);
                self.recycle(state, i);
            }
        }
        state.first = false;
        Ok(Pass::Done {
            improper: faults.improper,
            first: faults.first,
        })
    }

    /// A message that stays as it is: one that was given, in the first sweep; a constant one to a variable that sweeps do not follow, once
    /// all of it was sent.
    fn passes_over(&self, step: &Step, state: &State<A>) -> bool {
        let given = state.first && state.held[step.edge];
        let sent = state.attention.sent[step.edge] && !state.attention.looks;
        given || sent && self.is_sent_once(step)
    }

    fn is_sent_once(&self, step: &Step) -> bool {
        let factor = self.tree.factors()[step.factor].factor.as_ref();
        let variable = self.tree.edges()[step.edge].variable;
        self.plan.unread[variable] && self.algorithm.is_constant(factor)
    }

    /// What sweeps pass over, at the messages of now: the state is complete after it, and stays so in further sweeps. The same
    /// whether somebody looked before.
    pub(super) fn look(&self, state: &mut State<A>) {
        state.attention.looks = true;
        if state.first || !state.attention.unread.contains(&true) {
            return;
        }
        for step in &self.plan.steps {
            let variable = self.tree.edges()[step.edge].variable;
            if state.attention.unread[variable] && !self.is_sent_once(step) {
                // one that cannot be sent stays as it is, as in a sweep
                let _ = self.send(step, state);
            }
        }
        self.remake(state);
    }

    /// One message, damped.
    fn send(&self, step: &Step, state: &mut State<A>) -> Result<(), Fault> {
        let (f, edge) = (step.factor, step.edge);
        let factor = self.tree.factors()[f].factor.as_ref();
        self.plan.refresh(f, &mut state.store);
        let out = &mut state.scratch[state.class[self.tree.edges()[edge].variable]];
        let workspace = &mut state.workspaces[f];
        let mut request = state.adjusted.request;
        let variable = self.tree.edges()[edge].variable;
        let passed_over = state.attention.passes_over(variable);
        request.unread = passed_over && self.algorithm.skips_unread(factor, step.port);
        let mut context = self.context(f, &state.store, request, workspace);
        self.algorithm
            .update(f, factor, &mut context, step.port, out)?;
        if request.unread {
            return Ok(());
        }
        let cavity = &state.store[self.plan.to_factor[edge]];
        // Where its variable is known (almost) exactly, the message of a factor is lost in rounding. The one before is
        // kept: the certainty may rest on it, and next to it the message cancels in the objective.
        if out.is_flat() && cavity.overwhelms(&state.store[edge]) {
            return Ok(());
        }
        if !out.is_finite() {
            return Err(Fault::NotFinite);
        }
        self.options.lift(out, cavity);
        if state.adjusted.bounded {
            out.bound(cavity);
        }
        // of the messages to a variable that sweeps do not follow only the constant ones are heard
        let unheard = state.attention.unread[variable] && !self.is_sent_once(step);
        let damping = if unheard { 0.0 } else { state.damping[edge] };
        out.blend(&state.store[edge], damping);
        std::mem::swap(out, &mut state.store[edge]);
        state.attention.sent[edge] |= damping <= 0.0;
        Ok(())
    }

    /// What follows from a fault: the sweep goes on without the message or marginal, or it is broken and the divergence is returned.
    fn judge(
        &self,
        fault: Fault,
        (place, sweep): (Place, usize),
        faults: &mut Faults,
    ) -> Result<Option<Divergence>, RunError> {
        match fault {
            Fault::NotFinite if sweep == LATE => {
                faults.improper += 1;
                Ok(None)
            }
            Fault::NotFinite => {
                let reason = "a message is not finite";
                Ok(Some(self.blame(place, sweep, &reason)))
            }
            Fault::Factor(error) if error.is_recoverable() => {
                faults.improper += 1;
                let first = &mut faults.first;
                first.get_or_insert_with(|| self.blame(place, sweep, &error));
                Ok(None)
            }
            Fault::Factor(error) if produced(&error, sweep) => {
                Ok(Some(self.blame(place, sweep, &error)))
            }
            Fault::Factor(source) => Err(RunError::Factor {
                factor: self.name(place),
                source,
            }),
        }
    }

    fn name(&self, place: Place) -> String {
        match place {
            Place::Message(edge) => self.tree.factor_at(edge).name.clone(),
            Place::Marginal(i) => format!("(variable) {}", self.tree.variables()[i].name),
        }
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
        state.attention.sent.fill(false);
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

    fn blame(&self, place: Place, sweep: usize, reason: &impl ToString) -> Divergence {
        let (variable, edge) = match place {
            Place::Message(edge) => (self.tree.edges()[edge].variable, Some(edge)),
            Place::Marginal(i) => (i, None),
        };
        Divergence {
            sweep,
            factor: edge.map(|e| self.tree.factor_at(e).name.clone()),
            variable: Some(self.tree.variables()[variable].name.clone()),
            direction: edge.map(|e| self.tree.edges()[e].direction),
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
