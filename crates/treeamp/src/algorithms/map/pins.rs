//! Penalties without an active coordinate: their curvature is zero, and they pin their variables.

use crate::algorithms::minimiser::certificate::{Certificate, ENERGY};
use crate::belief::{Gaussian, Moments};
use crate::engine::graph::{Graph, alone};
use crate::error::FactorError;
use crate::model::Tree;

/// The mode of the penalty of an edge next to what all others say; `None` if the factor is no penalty.
fn mode(tree: &Tree, messages: &[Gaussian], e: usize) -> Option<Result<Moments, FactorError>> {
    let (variable, factor) = (tree.variable_at(e), tree.factor_at(e).factor.as_ref());
    factor.proximal().filter(|r| r.is_penalty())?;
    let cavity = Graph::new(tree, messages).cavity(e);
    Some(alone(factor, variable, cavity).mode(0))
}

/// A penalty has no active coordinate.
pub(in crate::algorithms) fn idle(tree: &Tree, messages: &[Gaussian]) -> bool {
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
    let gap =
        |messages: &[Gaussian]| Certificate::of(tree, messages).map_or(f64::INFINITY, |c| c.gap);
    if gap(&pinned) <= gap(messages).max(0.5 * ENERGY) {
        messages.clone_from_slice(&pinned);
    }
}
