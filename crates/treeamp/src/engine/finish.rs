//! After the last sweep: the report and its objective.

use super::state::State;
use super::{
    Algorithm, Engine, Marginal, Messages, Objective, Potential, Report, SweepRecord, Term,
    Termination,
};
use crate::error::RunError;
use crate::factor::Incoming;
use crate::model::Direction;

impl<A: Algorithm> Engine<'_, A> {
    pub(super) fn report(
        &self,
        mut state: State<A>,
        trace: Vec<SweepRecord>,
        variances: &[f64],
        termination: Termination,
    ) -> Report<A> {
        let objective = if state.has_good || trace.iter().any(|r| r.improper == 0) {
            self.objective(&mut state)
        } else {
            state.marginals.iter_mut().for_each(Marginal::forget);
            Err(RunError::NotReached {
                what: "a first good state".to_owned(),
                termination: termination.to_string(),
            })
        };
        let names = self
            .tree
            .variables()
            .iter()
            .map(|v| v.name.clone())
            .collect();
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
            sweeps: trace.len(),
            trace,
            variances: variances.chunks(width).map(<[f64]>::to_vec).collect(),
            messages: Messages { edges },
            objective,
        }
    }

    /// $A = \sum_f A_f + \sum_x A_x - \sum_{(f,x)} A_x$ at the present messages.
    pub(super) fn objective(&self, state: &mut State<A>) -> Result<Objective, RunError> {
        let mut factors = Vec::new();
        for (f, node) in self.tree.factors().iter().enumerate() {
            self.plan.refresh(f, &mut state.store);
            let incoming = self.plan.at_factor(f, &state.store);
            let work = &mut state.work[f];
            let Potential { value, excess } = self
                .algorithm
                .factor_potential(f, node.factor.as_ref(), incoming, work)
                .map_err(|source| RunError::Factor {
                    factor: node.name.clone(),
                    source,
                })?;
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
        Ok(Objective::new(factors, variables, edges))
    }
}
