//! Whether factors agree on slopes: at a minimiser, those of all energies of a variable add up to zero.
//!
//! With large precisions factors agree on places whatever their slopes are: sweeps whose precisions run away stop moving
//! anywhere. What slopes leave over, $g = \sum_k \nabla E_k(x_k^*)$, could lower the energy by $\|g\|\,\|x\|$ at most on the way
//! along the scale of the signal.

use super::rule;
use crate::belief::{Gaussian, Message as _, Moments};
use crate::error::FactorError;
use crate::factor::{Incoming, PosteriorRule};
use crate::model::{Tree, Variable};

/// Slopes agree when what they leave over is below this fraction of the energies: places are then within this of their scale,
/// where the energy is as stiff as its quadratic part.
const AGREEMENT: f64 = 1e-6;
/// $b - ax$ rounds to this fraction of $ax$.
const ROUNDING: f64 = 1e-13;

/// The slopes of all factors cancel.
pub(super) fn slopes_agree(tree: &Tree, messages: &[Gaussian]) -> bool {
    slope_gap(tree, messages).is_ok_and(|gap| gap <= AGREEMENT)
}

/// $\sum_x\|g_x\|\,\|x\|$ over the energies at the modes and $\frac12 a\|x\|^2$ of constant messages.
///
/// # Errors
/// A factor without a mode.
fn slope_gap(tree: &Tree, messages: &[Gaussian]) -> Result<f64, FactorError> {
    let (mut gap, mut scale) = (0.0, 0.0);
    let modes = modes(tree, messages)?;
    for variable in tree.variables() {
        let cavities = variable
            .edges
            .iter()
            .map(|e| cavity(variable, messages, *e));
        let cavities: Vec<Gaussian> = cavities.collect();
        let square = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
        let (mut left, mut rounding, mut size) = (vec![0.0; variable.spec.len()], 0.0, 0.0_f64);
        for (e, cavity) in variable.edges.iter().zip(&cavities) {
            let (a, mode) = (cavity.precision.scalar(), &modes[*e].mean);
            let parts = left.iter_mut().zip(cavity.linear.iter().zip(mode));
            parts.for_each(|(g, (b, x))| *g += b - a * x);
            rounding += ROUNDING * a.abs() * square(mode).sqrt();
            size = size.max(square(mode));
            let factor = &tree.factors()[tree.edges()[*e].factor].factor;
            if factor.posterior().is_some_and(PosteriorRule::is_constant) {
                scale += 0.5 * messages[*e].precision.scalar().abs() * square(mode);
            }
        }
        // an exact place has any slope
        if !cavities.iter().any(Gaussian::is_pinned) {
            gap += (square(&left).sqrt() - rounding).max(0.0) * size.sqrt();
        }
    }
    for node in tree.factors() {
        let places: Vec<&[f64]> = node
            .edges
            .iter()
            .map(|e| modes[*e].mean.as_slice())
            .collect();
        let energy = rule(node.factor.as_ref())?.energy(&places);
        // a constraint that modes leave by a rounding has no energy to compare with
        scale += Some(energy.abs()).filter(|e| e.is_finite()).unwrap_or(0.0);
    }
    // both are zero where everything is
    Ok(if gap == 0.0 { 0.0 } else { gap / scale })
}

fn cavity(variable: &Variable, messages: &[Gaussian], edge: usize) -> Gaussian {
    let mut cavity = Gaussian::flat(&variable.spec);
    let others = variable.edges.iter().filter(|o| **o != edge);
    others.for_each(|o| cavity.add_assign(&messages[*o]));
    cavity
}

/// The mode of every factor at every edge, at its cavities.
fn modes(tree: &Tree, messages: &[Gaussian]) -> Result<Vec<Moments>, FactorError> {
    let variable = |e: usize| &tree.variables()[tree.edges()[e].variable];
    let blank = |e: usize| Moments::zeros(&variable(e).spec);
    let mut modes: Vec<Moments> = (0..tree.edges().len()).map(blank).collect();
    for (f, node) in tree.factors().iter().enumerate() {
        let cavities = node
            .edges
            .iter()
            .map(|e| cavity(variable(*e), messages, *e));
        let cavities: Vec<Gaussian> = cavities.collect();
        let ports: Vec<usize> = (0..cavities.len()).collect();
        let incoming = Incoming::new(&cavities, &ports);
        let mut work = vec![0.0; node.factor.workspace_len(&tree.port_specs(f))];
        for (port, e) in node.edges.iter().enumerate() {
            rule(node.factor.as_ref())?.mode(incoming, port, &mut modes[*e], &mut work)?;
        }
    }
    Ok(modes)
}
