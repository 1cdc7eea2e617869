//! Penalties without an active coordinate: their curvature is zero, and they pin their variables.

use super::agreement::{AGREEMENT, energy_gap};
use crate::belief::{Gaussian, Message as _, Moments};
use crate::error::FactorError;
use crate::factor::Incoming;
use crate::model::Tree;

/// The mode of the penalty of an edge next to what all others say; `None` if the factor is no penalty.
fn mode(tree: &Tree, messages: &[Gaussian], e: usize) -> Option<Result<Moments, FactorError>> {
    let edge = tree.edges()[e];
    let factor = tree.factors()[edge.factor].factor.as_ref();
    let rule = factor.proximal().filter(|r| r.is_penalty())?;
    let variable = &tree.variables()[edge.variable];
    let mut store = [Gaussian::flat(&variable.spec)];
    let others = variable.edges.iter().filter(|o| **o != e);
    others.for_each(|o| store[0].add_assign(&messages[*o]));
    let mut mode = Moments::zeros(&variable.spec);
    let mut work = vec![0.0; factor.workspace_len(std::slice::from_ref(&variable.spec))];
    let found = rule.mode(Incoming::new(&store, &[0]), 0, &mut mode, &mut work);
    Some(found.map(|()| mode))
}

/// A penalty has no active coordinate.
pub(super) fn idle(tree: &Tree, messages: &[Gaussian]) -> bool {
    let idle = |e| mode(tree, messages, e).is_some_and(|m| m.map_or(true, |m| is_idle(&m)));
    (0..tree.edges().len()).any(idle)
}

fn is_idle(mode: &Moments) -> bool {
    mode.average_variance() == 0.0
}

/// At a minimiser, pins every variable whose penalty has no active coordinate where that has its mode, if energy and objective
/// agree as well as before.
pub(super) fn pin(tree: &Tree, messages: &mut [Gaussian]) {
    let mut pinned = messages.to_vec();
    for (e, edge) in tree.edges().iter().enumerate() {
        let Some(Ok(mode)) = mode(tree, messages, e) else {
            continue;
        };
        let edges = &tree.variables()[edge.variable].edges;
        if is_idle(&mode) && !edges.iter().any(|o| pinned[*o].is_pinned()) {
            pinned[e].precision.set_scalar(f64::INFINITY);
            pinned[e].linear.copy_from_slice(&mode.mean);
        }
    }
    let limit = AGREEMENT.max(energy_gap(tree, messages));
    if energy_gap(tree, &pinned) <= limit {
        messages.clone_from_slice(&pinned);
    }
}
