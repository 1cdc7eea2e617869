//! Outputs of vanishing entries ([`Factor::vanishing_port`]): what sees them must have two derivatives at zero.

use crate::error::{FactorError, RunError};
use crate::factor::Factor;
use crate::model::{FactorNode, Tree};
use crate::scalar::{Landmark, OutputMeasure, Piece};

/// Refuses a factor that sees vanishing entries through a step, a knee or no noise.
///
/// # Errors
/// [`RunError::Factor`], which names the factor that makes the entries and the one that sees them.
pub(super) fn smooth_entries(tree: &Tree) -> Result<(), RunError> {
    for (node, other) in seen_entries(tree) {
        if let Some(why) = rough(other.factor.as_ref()) {
            return Err(RunError::Factor {
                factor: node.name.clone(),
                source: FactorError::Unsupported(format!(
                    "its entries are seen through `{}`: expected an output whose log-likelihood is twice differentiable at zero, got {why}",
                    other.name
                )),
            });
        }
    }
    Ok(())
}

/// Factors that make vanishing entries, and factors that see them.
pub(super) fn seen_entries(tree: &Tree) -> impl Iterator<Item = (&FactorNode, &FactorNode)> {
    let nodes = tree.factors().iter();
    nodes
        .filter_map(|node| Some((node, node.edges[node.factor.vanishing_port()?])))
        .flat_map(move |(node, edge)| {
            let others = tree.others(edge);
            others.map(move |other| (node, tree.factor_at(other)))
        })
}

/// Why a log-likelihood has no second derivative at zero.
fn rough(factor: &dyn Factor) -> Option<&'static str> {
    let law = factor.scalar()?;
    let noiseless = match law.outputs() {
        Some(OutputMeasure::PushForward { noise_variance, .. }) => noise_variance == 0.0,
        Some(OutputMeasure::Modulus) => true,
        _ => false,
    };
    if noiseless {
        return Some("one without noise");
    }
    // an output of finitely many values that jumps from one to another
    if let Some(OutputMeasure::Finite(values)) = law.outputs() {
        let jump = |l: &Landmark| l.place == 0.0 && l.width == 0.0;
        if values
            .iter()
            .any(|y| law.landmarks(Some(*y)).iter().any(jump))
        {
            return Some("one without noise");
        }
    }
    let pieces = law.pieces();
    let bends = |pair: &[Piece]| {
        let (left, right) = (pair[0], pair[1]);
        left.end == 0.0 && (left.slope, left.offset) != (right.slope, right.offset)
    };
    pieces
        .windows(2)
        .any(bends)
        .then_some("a function with a step or a knee there")
}
