//! After the last sweep: the report and its objective.

use super::outcome::{Sweeps, Walk};
use super::state::State;
use super::{
    Algorithm, Bound, Engine, FallbackEnd, FallbackReport, Marginal, Messages, Objective,
    Potential, Report, Term, Termination,
};
use crate::belief::SignalSpec;
use crate::error::RunError;
use crate::factor::Incoming;
use crate::model::{Direction, FactorNode};

/// An objective whose rounding may exceed this fraction of it is none.
const ROUNDED: f64 = 1e-3;

impl<A: Algorithm> Engine<'_, A> {
    /// Reports where a run ended.
    pub(super) fn report(
        &self,
        sweeps: Sweeps<A>,
        walk: Walk<A>,
        restarted: Option<Termination>,
    ) -> Report<A> {
        let Sweeps {
            mut state,
            trace,
            variances,
            certified,
            termination,
            ..
        } = sweeps;
        let (fallback, no_fallback) = (walk.fallback, walk.no_fallback);
        state.release();
        // a fallback that went back, or another state that was taken, leaves the end of another one
        let certified = certified.filter(|c| Termination::of(&c.verdict) == termination);
        let evidence = certified.and_then(|c| c.evidence);
        let evidence_limit = evidence.as_ref().map(|e| e.limit.clone());
        let good = state.has_good || trace.iter().any(|r| r.improper == 0);
        let objection = match &termination {
            Termination::Rejected(verdict) => verdict.objection(),
            _ => unfinished::<A>(fallback.as_ref(), &termination),
        };
        let objective = if !good {
            state.marginals.iter_mut().for_each(Marginal::forget);
            Err(RunError::NotReached {
                what: "a first good state".to_owned(),
                termination: termination.to_string(),
            })
        } else if let Some(error) = objection {
            Err(error)
        } else if let Some(evidence) = evidence {
            evidence.objective
        } else {
            self.objective(&mut state).and_then(allowed::<A>)
        };
        let names = self
            .tree
            .variables()
            .iter()
            .map(|v| v.name.clone())
            .collect();
        let nodes = self.tree.factors().iter().zip(&state.workspaces);
        let notes = nodes.filter_map(|(node, workspace)| {
            let rule = node.factor.posterior()?;
            let note = rule
                .note(workspace)
                .or_else(|| A::HAS_VARIANCES.then(|| self.averaged(node)).flatten())?;
            Some((node.name.clone(), note))
        });
        let notes = notes.collect();
        let width = self.tree.variables().len();
        state.store.truncate(self.tree.edges().len());
        let ends = self.tree.edges().iter().map(|e| {
            let factor = self.tree.factors()[e.factor].name.clone();
            (factor, self.tree.variables()[e.variable].name.clone())
        });
        let edges = ends.zip(state.store).map(|((f, v), m)| (f, v, m)).collect();
        Report {
            names,
            elements: self
                .tree
                .variables()
                .iter()
                .map(|v| v.spec.element)
                .collect(),
            marginals: state.marginals,
            termination,
            evidence_limit,
            sweeps: trace.len(),
            trace,
            variances: variances.chunks(width).map(<[f64]>::to_vec).collect(),
            messages: Messages { edges },
            attempts: walk.attempts,
            restarted,
            fallback,
            no_fallback,
            routes: Vec::new(),
            notes,
            objective,
        }
    }

    /// A note on an isotropic belief whose one variance hides very unequal ones.
    fn averaged(&self, node: &FactorNode) -> Option<String> {
        let at = |e: &usize| &self.tree.variables()[self.tree.edges()[*e].variable];
        let ports: Vec<SignalSpec> = node.edges.iter().map(|e| at(e).spec.clone()).collect();
        let (port, what) = node.factor.posterior()?.averaged(&ports)?;
        let name = &at(node.edges.get(port)?).name;
        Some(format!(
            "{what} of `{name}`: its one variance is the average of both kinds, which diagonal beliefs tell apart"
        ))
    }

    /// $A = \sum_f A_f + \sum_x A_x - \sum_{(f,x)} A_x$ at the present messages.
    pub(super) fn objective(&self, state: &mut State<A>) -> Result<Objective, RunError> {
        let mut factors = Vec::new();
        let mut square_error = 0.0;
        for (f, node) in self.tree.factors().iter().enumerate() {
            self.plan.refresh(f, &mut state.store);
            let workspace = &mut state.workspaces[f];
            let mut context = self.context(f, &state.store, state.adjusted.request, workspace);
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

/// An objective on data, unless a factor excludes the present state.
fn allowed<A: Algorithm>(objective: Objective) -> Result<Objective, RunError> {
    match objective.excluding_factor() {
        Some(factor) if A::ON_DATA && A::RECOVERS => Err(RunError::NotReached {
            what: "a signal that every factor allows".to_owned(),
            termination: format!("the log-partition of `{factor}` is -infinity"),
        }),
        _ => Ok(objective),
    }
}

/// A double loop that ended on its way has no evidence: its free energy is one where factors agree. Nor has a run that
/// diverged, or went back to where its sweeps had been: that is no fixed point.
fn unfinished<A: Algorithm>(
    fallback: Option<&FallbackReport>,
    termination: &Termination,
) -> Option<RunError> {
    let not_reached = |what: &str, termination: String| RunError::NotReached {
        what: what.to_owned(),
        termination,
    };
    if fallback.is_some_and(|f| f.reverted) {
        let ended = format!("{termination}, and the report holds the state before the fallback");
        return Some(not_reached("a fixed point", ended));
    }
    if A::RECOVERS && A::ON_DATA && matches!(termination, Termination::Diverging(_)) {
        return Some(not_reached("a fixed point", termination.to_string()));
    }
    // of a splitting the energy is one wherever it ended, and sweeps have the evidence of their state
    let done = fallback.filter(|_| A::RECOVERS)?;
    let unfinished = matches!(done.end, FallbackEnd::Limit { bound, .. } if bound != Bound::Sweeps);
    let what = "a stationary point of the Bethe free energy";
    unfinished.then(|| not_reached(what, done.end.to_string()))
}
