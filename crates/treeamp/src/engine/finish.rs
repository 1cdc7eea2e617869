//! After the last sweep: the report and its objective.

use super::end::LOOSE;
use super::fallback::{Handover, MORE_SWEEPS};
use super::state::State;
use super::vanishing::VANISHING;
use super::{
    Algorithm, Contradiction, ContradictionKind, Divergence, Engine, FallbackEnd, FallbackReport,
    Marginal, Messages, Objective, Observer, Potential, Report, SweepRecord, Term, Termination,
};
use crate::error::RunError;
use crate::factor::Incoming;
use crate::model::Direction;

/// An objective whose rounding may exceed this fraction of it is none.
const ROUNDED: f64 = 1e-3;

impl<A: Algorithm> Engine<'_, A> {
    pub(super) fn report(
        &self,
        mut state: State<A>,
        trace: Vec<SweepRecord>,
        variances: &[f64],
        mut termination: Termination,
        observer: &mut impl Observer<A>,
    ) -> Result<Report<A>, RunError> {
        let last = trace.last().map_or(f64::INFINITY, |r| r.residual);
        let ended = (trace.len(), last);
        let (fallback, no_fallback) =
            match self.fall_back(&mut state, ended, &mut termination, observer)? {
                Handover::Done(done) => (done, None),
                Handover::Refused(done, why) => (done, Some(why)),
            };
        state.release();
        let refuted = self.refuted(&state, trace.len(), &mut termination);
        let good = state.has_good || trace.iter().any(|r| r.improper == 0);
        let refuted = refuted.or_else(|| {
            let unfinished = unfinished::<A>(fallback.as_ref(), &termination);
            unfinished.filter(|_| good)
        });
        let objective = if let Some(error) = refuted {
            Err(error)
        } else if good {
            let perfect = Termination::Converged {
                perfect_recovery: true,
            };
            let small = VANISHING.max(LOOSE * self.options.tolerance);
            let vanishes = A::RECOVERS && termination.is_converged() && state.vanishes(small);
            if A::ON_DATA && (vanishes || termination == perfect) {
                self.settled_objective(&mut state, variances)
            } else {
                self.objective(&mut state)
            }
        } else {
            state.marginals.iter_mut().for_each(Marginal::forget);
            Err(RunError::NotReached {
                what: "a first good state".to_owned(),
                termination: termination.to_string(),
            })
        };
        let objective = objective.and_then(|objective| {
            let (objective, against) = allowed::<A>(objective);
            if let Some(factor) = against.filter(|_| termination.is_converged()) {
                let kind = ContradictionKind::Excluded;
                let found = Contradiction { factor, kind };
                termination = Termination::Diverging(Divergence::contradicted(found, trace.len()));
            }
            objective
        });
        let names = self
            .tree
            .variables()
            .iter()
            .map(|v| v.name.clone())
            .collect();
        let nodes = self.tree.factors().iter().zip(&state.workspaces);
        let sharp = state.attempt.sharp;
        let rounded = nodes.filter(|_| !sharp).filter_map(|(node, workspace)| {
            let width = self.algorithm.rounded(node.factor.as_ref(), workspace)?;
            Some((node.name.clone(), width))
        });
        let rounded = rounded.collect();
        let width = self.tree.variables().len();
        state.store.truncate(self.tree.edges().len());
        let ends = self.tree.edges().iter().map(|e| {
            let factor = self.tree.factors()[e.factor].name.clone();
            (factor, self.tree.variables()[e.variable].name.clone())
        });
        let edges = ends.zip(state.store).map(|((f, v), m)| (f, v, m)).collect();
        Ok(Report {
            names,
            elements: self
                .tree
                .variables()
                .iter()
                .map(|v| v.spec.element)
                .collect(),
            marginals: state.marginals,
            termination,
            sweeps: trace.len(),
            trace,
            variances: variances.chunks(width).map(<[f64]>::to_vec).collect(),
            messages: Messages { edges },
            restarted: None,
            fallback,
            no_fallback,
            rounded,
            objective,
        })
    }

    /// A settled run whose answer the algorithm refutes has not converged.
    fn refuted(
        &self,
        state: &State<A>,
        sweep: usize,
        termination: &mut Termination,
    ) -> Option<RunError> {
        if !termination.is_converged() {
            return None;
        }
        if let Some(found) = self.contradiction(state) {
            *termination = Termination::Diverging(Divergence::contradicted(found, sweep));
            return None;
        }
        let messages = &state.store[..self.tree.edges().len()];
        let error = self.algorithm.refutes(self.tree, messages, &self.options)?;
        let factor = match &error {
            RunError::Infeasible { factor, .. } => Some(factor.clone()),
            _ => None,
        };
        *termination = Termination::Diverging(Divergence {
            sweep,
            factor,
            variable: None,
            direction: None,
            reason: error.to_string(),
            contradicted: false,
        });
        Some(error)
    }

    /// $A = \sum_f A_f + \sum_x A_x - \sum_{(f,x)} A_x$ at the present messages.
    pub(super) fn objective(&self, state: &mut State<A>) -> Result<Objective, RunError> {
        let mut factors = Vec::new();
        let mut square_error = 0.0;
        for (f, node) in self.tree.factors().iter().enumerate() {
            self.plan.refresh(f, &mut state.store);
            let workspace = &mut state.workspaces[f];
            let mut context = self.context(f, &state.store, state.attempt, workspace);
            let Potential { value, excess } = self
                .algorithm
                .factor_potential(f, node.factor.as_ref(), &mut context)
                .map_err(|source| RunError::Factor {
                    factor: node.name.clone(),
                    source,
                })?;
            let factor = node.factor.as_ref();
            let error = self.algorithm.factor_potential_error(factor, &mut context);
            square_error += error * error;
            factors.push(Term {
                name: node.name.clone(),
                value,
                excess,
            });
        }
        let mut variables = Vec::new();
        for (i, variable) in self.tree.variables().iter().enumerate() {
            let incoming = Incoming::new(&state.store, &self.plan.at_variable[i]);
            let Potential { value, excess } = self.algorithm.variable_potential(
                variable,
                incoming,
                &mut state.scratch[state.class[i]],
            );
            variables.push(Term {
                name: variable.name.clone(),
                value,
                excess,
            });
        }
        let mut edges = Vec::new();
        for (e, edge) in self.tree.edges().iter().enumerate() {
            let variable = &self.tree.variables()[edge.variable];
            let slots = [e, self.plan.to_factor[e]];
            let incoming = Incoming::new(&state.store, &slots);
            let total = &mut state.scratch[state.class[edge.variable]];
            let Potential { value, excess } =
                self.algorithm.variable_potential(variable, incoming, total);
            let arrow = match edge.direction {
                Direction::Forward => "->",
                Direction::Backward => "<-",
            };
            let name = format!(
                "{} {arrow} {}",
                self.tree.factors()[edge.factor].name,
                variable.name
            );
            edges.push(Term {
                name,
                value,
                excess,
            });
        }
        let error = square_error.sqrt();
        let objective = Objective::new(factors, variables, edges, error);
        match objective.size() {
            Some(size) if size * f64::EPSILON > ROUNDED * objective.total.abs().max(1.0) => {
                // not one that is not defined, which is infinite: restarts rank this one last
                Err(RunError::NotReached {
                    what: "any digit of the objective".to_owned(),
                    termination: format!(
                        "its terms are as large as {size:.1e}, and rounding leaves next to nothing of their sum, {:.1e}",
                        objective.total
                    ),
                })
            }
            _ => Ok(objective),
        }
    }
}

/// An evidence on data, unless a factor does not allow what the run is certain of.
fn allowed<A: Algorithm>(objective: Objective) -> (Result<Objective, RunError>, Option<String>) {
    let mut factors = objective.factors.iter();
    let against = factors.find(|term| term.value == f64::NEG_INFINITY);
    let Some(term) = against.filter(|_| A::ON_DATA && A::RECOVERS) else {
        return (Ok(objective), None);
    };
    let error = RunError::NotReached {
        what: "a signal that every factor allows".to_owned(),
        termination: format!("the log-partition of `{}` is -infinity", term.name),
    };
    (Err(error), Some(term.name.clone()))
}

/// A double loop that ended on its way has no evidence: its free energy is one where factors agree. Nor has a run that
/// diverged, or went back to where its sweeps had been: that is no fixed point. An energy without a lower bound has no least value.
fn unfinished<A: Algorithm>(
    fallback: Option<&FallbackReport>,
    termination: &Termination,
) -> Option<RunError> {
    if let Some(FallbackEnd::NoMinimum { factor, variable }) = fallback.map(|f| &f.end) {
        return Some(RunError::NoMinimum {
            factor: factor.clone(),
            variable: variable.clone(),
        });
    }
    if let Some(FallbackEnd::Infeasible { factor }) = fallback.map(|f| &f.end) {
        return Some(RunError::Infeasible {
            factor: factor.clone(),
            energy: f64::INFINITY,
        });
    }
    let not_reached = |what: &str, termination: String| RunError::NotReached {
        what: what.to_owned(),
        termination,
    };
    if fallback.is_some_and(|f| f.went_back) {
        let ended = format!("{termination}, and the report holds the state before the fallback");
        return Some(not_reached("a fixed point", ended));
    }
    if A::RECOVERS && A::ON_DATA && matches!(termination, Termination::Diverging(_)) {
        return Some(not_reached("a fixed point", termination.to_string()));
    }
    // of a splitting the energy is one wherever it ended
    let done = fallback.filter(|f| A::RECOVERS && f.method != MORE_SWEEPS)?;
    let unfinished = matches!(done.end, FallbackEnd::Limit { .. } | FallbackEnd::Unbounded);
    let what = "a stationary point of the Bethe free energy";
    unfinished.then(|| not_reached(what, done.end.to_string()))
}
