//! Noiseless continuous outputs: dimensions of what is unknown and of what is seen.
//!
//! Near perfect recovery of all that is unknown the entropy of the measurements behaves like $(d - \sum_k\alpha_k d_k)\frac12\ln\frac1v$ with the dimension $d$
//! of the signal and $d_k$ of the outputs: recovery is a stable fixed point, and the true one, where the outputs
//! outnumber the unknowns.

use super::super::Teacher;
use crate::error::{FactorError, RunError};
use crate::model::{Direction, FactorNode, Tree};

/// $\sum_k\alpha_k d_k - d$ per component of the signal, exactly, with the dimensions of all signals that have a prior; `None` when no output is
/// continuous and without noise, or when other outputs tell what these do not.
pub(super) fn margin(
    tree: &Tree,
    teacher: &Teacher,
    signal: &str,
) -> Result<Option<f64>, RunError> {
    let (surplus, others) = surplus(tree, teacher, signal)?;
    Ok(surplus.filter(|margin| *margin > 0.0 || !others))
}

/// The same whatever other outputs tell, and whether there are any.
pub(super) fn surplus(
    tree: &Tree,
    teacher: &Teacher,
    signal: &str,
) -> Result<(Option<f64>, bool), RunError> {
    let index = tree.variable(signal)?;
    let (mut seen, mut unknown) = (0.0, 0.0);
    let (mut any, mut others) = (false, false);
    for (k, node) in tree.factors().iter().enumerate() {
        let variable = tree.edges()[node.edges[0]].variable;
        let is_likelihood = node.inputs == node.edges.len();
        if is_noise(node) {
            return Ok((None, true));
        }
        if is_likelihood && !node.factor.is_noiseless() {
            others = true;
        } else if is_likelihood {
            any = true;
            let d = 1.0 - unknown_dimension(node, &teacher.to_factor[k])?;
            seen += capacity(tree, variable).min(size(tree, variable) * d);
        } else if node.inputs == 0 {
            unknown += size(tree, variable) * unknown_dimension(node, &teacher.to_factor[k])?;
        }
    }
    let margin = (seen - unknown) / size(tree, index);
    Ok((any.then_some(margin), others))
}

fn size(tree: &Tree, variable: usize) -> f64 {
    tree.variables()[variable].spec.relative_size()
}

/// A channel that adds noise of its own.
fn is_noise(node: &FactorNode) -> bool {
    let law = node.factor.gaussian_average();
    law.and_then(|law| law.least_noise()).is_some()
}

/// How many dimensions a variable can have: no more than the ranks of the linear channels before it that
/// lose some of their input.
fn capacity(tree: &Tree, variable: usize) -> f64 {
    let whole = size(tree, variable);
    let edges = tree.variables()[variable]
        .edges
        .iter()
        .map(|e| tree.edges()[*e]);
    let Some(edge) = edges
        .into_iter()
        .find(|e| e.direction == Direction::Forward)
    else {
        return whole;
    };
    let node = &tree.factors()[edge.factor];
    match node.factor.spectrum() {
        Some(spectrum) if spectrum.rank() < 1.0 => {
            let input = tree.edges()[node.edges[0]].variable;
            let rank = spectrum.rank() * size(tree, input);
            whole.min(rank).min(capacity(tree, input))
        }
        _ => whole,
    }
}

fn unknown_dimension(node: &FactorNode, tau0_hat: &[f64]) -> Result<f64, RunError> {
    let failed = |source: FactorError| RunError::Factor {
        factor: node.name.clone(),
        source,
    };
    match node.factor.ensemble() {
        Some(rule) => rule.unknown_dimension(tau0_hat, 0).map_err(failed),
        None => Ok(1.0),
    }
}
