//! Whether factors agree on slopes: at a minimiser, those of all energies of a variable add up to zero.
//!
//! With large precisions factors agree on places whatever their slopes are: sweeps whose precisions run away stop moving
//! anywhere. What slopes leave over, $g = \sum_k \nabla E_k(x_k^*)$, could lower the energy by $\|g\|\,\|x\|$ at most on the way
//! along the scale of the signal; for what a channel makes of it, along what that makes of a signal of its scale with other signs: the gradient of
//! an image may be zero, and is not as soon as the image moves.

use super::solution::scrambled;
use crate::belief::{Gaussian, Moments};
use crate::engine::graph::Graph;
use crate::error::{FactorError, RunError};
use crate::factor::{PosteriorRule, proximal};
use crate::model::Tree;

/// Slopes agree when what they leave over is below this fraction of the energies: places are then within this of their scale,
/// where the energy is as stiff as its quadratic part.
const AGREEMENT: f64 = 1e-6;
/// $b - ax$ rounds to this fraction of $ax$.
const ROUNDING: f64 = 1e-13;
/// Slopes that may be more than this fraction of the energies, with their rounding and along all that places may become, say nothing.
const RESOLVED: f64 = 1e-3;

/// The slopes of all factors cancel.
pub(super) fn slopes_agree(tree: &Tree, messages: &[Gaussian]) -> bool {
    Gap::of(tree, messages).is_ok_and(|gap| gap.left <= AGREEMENT && gap.hidden <= RESOLVED)
}

/// What is left to say of a run at rest whose slopes do not cancel.
pub(super) fn disagreement(tree: &Tree, messages: &[Gaussian]) -> Option<RunError> {
    // without a mode there is nothing to compare
    let Gap { left, hidden } = Gap::of(tree, messages).ok()?;
    let why = if !(left <= AGREEMENT) {
        format!("slopes that do not cancel could lower the energy by {left:.1e} of it")
    } else if !(hidden <= RESOLVED) {
        "precisions have grown until slopes are lost beside them".to_owned()
    } else {
        return None;
    };
    Some(RunError::NotReached {
        what: "a minimiser".to_owned(),
        termination: format!("messages are at rest, but {why}"),
    })
}

/// What slopes leave over along the places, and what they and their rounding could hide along all that places may become, as fractions
/// of the energies.
struct Gap {
    left: f64,
    hidden: f64,
}

impl Gap {
    /// $\sum_x\|g_x\|\,\|x\|$ over the energies at the modes and $\frac12 a\|x\|^2$ of constant messages.
    ///
    /// # Errors
    /// A factor without a mode.
    fn of(tree: &Tree, messages: &[Gaussian]) -> Result<Self, FactorError> {
        let (graph, modes) = (Graph::new(tree, messages), modes(tree, messages)?);
        let (mut left, mut far) = (0.0, 0.0);
        for (variable, reach) in tree.variables().iter().zip(reaches(tree, messages)) {
            let cavities = variable.edges.iter().map(|e| graph.cavity(*e));
            let cavities: Vec<Gaussian> = cavities.collect();
            // an exact place has any slope
            if cavities.iter().any(Gaussian::is_pinned) {
                continue;
            }
            let (mut slope, mut rounding, mut size) =
                (vec![0.0; variable.spec.len()], 0.0, 0.0_f64);
            for (e, cavity) in variable.edges.iter().zip(&cavities) {
                let (a, mode) = (cavity.precision.scalar(), &modes[*e].mean);
                let parts = slope.iter_mut().zip(cavity.linear.iter().zip(mode));
                parts.for_each(|(g, (b, x))| *g += b - a * x);
                rounding += ROUNDING * a.abs() * square(mode).sqrt();
                size = size.max(square(mode));
            }
            let over = (square(&slope).sqrt() - rounding).max(0.0);
            left += over * size.sqrt();
            far += (over + rounding) * size.max(reach).sqrt();
        }
        let scale = scale(tree, messages, &modes)?;
        // both are zero where everything is
        let fraction = |x: f64| if x == 0.0 { 0.0 } else { x / scale };
        Ok(Self {
            left: fraction(left),
            hidden: fraction(far),
        })
    }
}

fn square(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum()
}

/// The energies at the modes and $\frac12 a\|x\|^2$ of constant messages.
fn scale(tree: &Tree, messages: &[Gaussian], modes: &[Moments]) -> Result<f64, FactorError> {
    let mut scale = 0.0;
    for node in tree.factors() {
        let places = node.edges.iter().map(|e| modes[*e].mean.as_slice());
        let energy = proximal(node.factor.as_ref())?.energy(&places.collect::<Vec<_>>());
        // a constraint that modes leave by a rounding has no energy to compare with
        scale += Some(energy.abs()).filter(|e| e.is_finite()).unwrap_or(0.0);
        let rule = node.factor.posterior();
        if rule.is_some_and(PosteriorRule::is_constant) {
            let quadratic =
                |e: &usize| messages[*e].precision.scalar().abs() * square(&modes[*e].mean);
            scale += 0.5 * node.edges.iter().map(quadratic).sum::<f64>();
        }
    }
    Ok(scale)
}

/// How far every variable may go, squared: as far as channels bring it when signals change the signs of half their components.
fn reaches(tree: &Tree, messages: &[Gaussian]) -> Vec<f64> {
    let beliefs = Graph::new(tree, messages).places();
    let moved = scrambled(tree, &beliefs);
    let squares = moved.iter().map(|x| square(x));
    squares
        .map(|s| if s.is_finite() { s } else { 0.0 })
        .collect()
}

/// The mode of every factor at every edge, at its cavities.
fn modes(tree: &Tree, messages: &[Gaussian]) -> Result<Vec<Moments>, FactorError> {
    let blank = |e: usize| Moments::zeros(&tree.variable_at(e).spec);
    let mut modes: Vec<Moments> = (0..tree.edges().len()).map(blank).collect();
    for (f, node) in tree.factors().iter().enumerate() {
        let mut site = Graph::new(tree, messages).site(f);
        for (port, e) in node.edges.iter().enumerate() {
            modes[*e] = site.mode(port)?;
        }
    }
    Ok(modes)
}
