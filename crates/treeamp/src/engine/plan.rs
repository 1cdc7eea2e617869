//! The plan of a run: what can be checked and sized before the first sweep.

use super::graph::first_message;
use super::{Algorithm, Message};
use crate::belief::Structure;
use crate::error::{RefusedBelief, RunError};
use crate::factor::{Incoming, PosteriorRule};
use crate::model::{Direction, Tree};

/// One update: factor `factor` writes to its port `port`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub factor: usize,
    pub port: usize,
    pub edge: usize,
}

/// Schedule and slots. Slot `e` holds the message from the factor to the variable of edge `e`;
/// further slots hold cavities that are not simply another message.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(super) steps: Vec<Step>,
    /// For each factor, the slot of the message that reaches each port.
    pub(super) incoming: Vec<Vec<usize>>,
    /// For each factor, the cavities to refresh before it computes: (slot, edge).
    pub(super) cavities: Vec<Vec<(usize, usize)>>,
    /// For each variable, the slots of the messages that reach it.
    pub(super) at_variable: Vec<Vec<usize>>,
    /// For each edge, the slot of the message from the variable to the factor.
    pub(super) to_factor: Vec<usize>,
    /// For each slot, the variable whose size it has.
    pub(super) slot_variable: Vec<usize>,
    /// Variables that sweeps need not follow: of their factors one skips what nobody reads, and the messages of the others are constant.
    pub(super) unread: Vec<bool>,
}

impl Plan {
    /// Checks every factor and belief, does the work of [`prepare`](crate::factor::Factor::prepare),
    /// and lays out slots.
    ///
    /// # Errors
    /// Missing rules (all of them at once), unsupported beliefs, a failed preparation.
    pub fn new<A: Algorithm>(tree: &Tree, algorithm: &A) -> Result<Self, RunError> {
        Self::check(tree, algorithm)?;
        for node in tree.factors() {
            node.factor.prepare().map_err(|source| RunError::Factor {
                factor: node.name.clone(),
                source,
            })?;
        }
        Ok(Self {
            unread: unread(tree, algorithm),
            ..Self::layout(tree)
        })
    }

    /// The checks alone: nothing is decomposed, and nothing laid out.
    ///
    /// # Errors
    /// Missing rules (all of them at once), unsupported beliefs.
    pub fn check<A: Algorithm>(tree: &Tree, algorithm: &A) -> Result<(), RunError> {
        check_rules(tree, algorithm)?;
        check_algorithm_beliefs(tree, algorithm)?;
        check_beliefs(tree)
    }

    fn layout(tree: &Tree) -> Self {
        let edges = tree.edges();
        let mut slot_variable: Vec<usize> = edges.iter().map(|e| e.variable).collect();
        // with two factors at a variable the cavity is the other message: no slot of its own
        let mut owns_cavity = vec![false; edges.len()];
        let to_factor: Vec<usize> = (0..edges.len())
            .map(|e| {
                let others = &tree.variables()[edges[e].variable].edges;
                if others.len() == 2 {
                    return if others[0] == e { others[1] } else { others[0] };
                }
                owns_cavity[e] = true;
                slot_variable.push(edges[e].variable);
                slot_variable.len() - 1
            })
            .collect();
        let factors = tree.factors();
        let incoming = factors
            .iter()
            .map(|f| f.edges.iter().map(|e| to_factor[*e]).collect())
            .collect();
        let cavities = factors
            .iter()
            .map(|f| {
                let owned = f.edges.iter().filter(|e| owns_cavity[**e]);
                owned.map(|e| (to_factor[*e], *e)).collect()
            })
            .collect();
        let pass = |direction: Direction| {
            tree.order().iter().flat_map(move |f| {
                let edges = tree.factors()[*f].edges.iter().enumerate();
                edges
                    .filter(move |(_, e)| tree.edges()[**e].direction == direction)
                    .map(move |(port, edge)| Step {
                        factor: *f,
                        port,
                        edge: *edge,
                    })
            })
        };
        let mut steps: Vec<Step> = pass(Direction::Forward).collect();
        let backward: Vec<Step> = pass(Direction::Backward).collect();
        steps.extend(backward.into_iter().rev());
        Self {
            steps,
            incoming,
            cavities,
            at_variable: tree.variables().iter().map(|v| v.edges.clone()).collect(),
            to_factor,
            slot_variable,
            unread: vec![false; tree.variables().len()],
        }
    }

    /// Refreshes the cavities that factor `factor` reads: sums of the other messages.
    pub(super) fn refresh<M: Message>(&self, factor: usize, store: &mut [M]) {
        for (slot, edge) in &self.cavities[factor] {
            let variable = self.slot_variable[*slot];
            // the cavity slots lie behind the message slots
            let (messages, cavities) = store.split_at_mut(self.to_factor.len());
            let cavity = &mut cavities[slot - messages.len()];
            cavity.set_flat();
            for other in self.at_variable[variable].iter().filter(|e| *e != edge) {
                cavity.add_assign(&messages[*other]);
            }
        }
    }

    /// The view of the messages at a factor.
    pub(super) fn at_factor<'a, M>(&'a self, factor: usize, store: &'a [M]) -> Incoming<'a, M> {
        Incoming::new(store, &self.incoming[factor])
    }
}

/// For every variable, whether sweeps may pass it over.
fn unread<A: Algorithm>(tree: &Tree, algorithm: &A) -> Vec<bool> {
    let of = |edge: &usize| &tree.factor_at(*edge).factor;
    let variables = tree.variables().iter();
    let passed_over = variables.map(|v| {
        let is_constant = |e: &&usize| algorithm.is_constant(of(e).as_ref());
        let (constant, others): (Vec<&usize>, Vec<&usize>) = v.edges.iter().partition(is_constant);
        let skips = |e: usize| algorithm.skips_unread(of(&e).as_ref(), tree.edges()[e].port);
        matches!(others[..], [e] if skips(*e)) && !constant.is_empty()
    });
    passed_over.collect()
}

fn check_rules<A: Algorithm>(tree: &Tree, algorithm: &A) -> Result<(), RunError> {
    let missing: Vec<(String, &'static str)> = tree
        .factors()
        .iter()
        .filter_map(|node| {
            let rule = algorithm.requires(node.factor.as_ref()).err()?;
            Some((node.name.clone(), rule.0))
        })
        .collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(RunError::MissingRules {
            algorithm: A::NAME,
            missing,
        })
    }
}

fn check_algorithm_beliefs<A: Algorithm>(tree: &Tree, algorithm: &A) -> Result<(), RunError> {
    let refused = |s: Structure| s != Structure::Isotropic && !algorithm.takes(s);
    match tree.variables().iter().find(|v| refused(v.spec.structure)) {
        None => Ok(()),
        Some(v) => Err(RunError::AlgorithmBelief {
            algorithm: A::NAME,
            variable: v.name.clone(),
            structure: v.spec.structure.to_string(),
        }),
    }
}

fn check_beliefs(tree: &Tree) -> Result<(), RunError> {
    let mut refused = Vec::new();
    let exact = exact_ends(tree);
    for (f, node) in tree.factors().iter().enumerate() {
        let ports = tree.port_specs(f);
        let known = (0..ports.len()).filter(|p| exact.get(node.edges[*p]) == Some(&true));
        let checked = node.factor.check_beliefs(&ports);
        let checked = known.fold(checked, |ok, p| {
            ok.and_then(|()| node.factor.check_exact(&ports, p))
        });
        if let Err(error) = checked {
            let edge = node.edges[error.port.min(node.edges.len() - 1)];
            let variable = &tree.variables()[tree.edges()[edge].variable];
            refused.push(RefusedBelief {
                factor: node.name.clone(),
                variable: variable.name.clone(),
                structure: variable.spec.structure.to_string(),
                supported: error.supported,
            });
        }
    }
    if refused.is_empty() {
        return Ok(());
    }
    Err(RunError::Belief { refused })
}

/// For every edge, whether other factors tell its variable exactly: an observation without noise, or one behind channels
/// that pass it on. Empty where all beliefs are isotropic or diagonal, which take that.
fn exact_ends(tree: &Tree) -> Vec<bool> {
    let simple = |s: Structure| matches!(s, Structure::Isotropic | Structure::Diagonal);
    if tree.variables().iter().all(|v| simple(v.spec.structure)) {
        return Vec::new();
    }
    let count = tree.edges().len();
    let mut informed: Vec<bool> = (0..count).map(|e| is_observed_exactly(tree, e)).collect();
    let hears = |informed: &[bool], e: usize| {
        let edges = &tree.variables()[tree.edges()[e].variable].edges;
        edges.iter().any(|o| *o != e && informed[*o])
    };
    // until no further edge follows
    loop {
        let before = informed.clone();
        for (f, node) in tree.factors().iter().enumerate() {
            let ports = tree.port_specs(f);
            for (from, e) in node.edges.iter().enumerate() {
                if !hears(&before, *e) {
                    continue;
                }
                for (to, other) in node.edges.iter().enumerate() {
                    let passes = || node.factor.passes_exact(&ports, from, to);
                    informed[*other] |= to != from && !informed[*other] && passes();
                }
            }
        }
        if informed == before {
            return (0..count).map(|e| hears(&informed, e)).collect();
        }
    }
}

/// The factor of an edge is an observation without noise.
fn is_observed_exactly(tree: &Tree, edge: usize) -> bool {
    let (variable, node) = (tree.variable_at(edge), tree.factor_at(edge));
    let rule = node.factor.posterior();
    if node.edges.len() != 1 || !rule.is_some_and(PosteriorRule::is_constant) {
        return false;
    }
    // one number tells as much as a matrix
    let mut variable = variable.clone();
    variable.spec.structure = Structure::Isotropic;
    first_message(node.factor.as_ref(), &variable).is_some_and(|said| said.is_pinned())
}
