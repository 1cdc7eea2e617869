//! Where state evolution is a heuristic.
//!
//! It is exact in the limit when factors that are not Gaussian are separated by rotationally invariant
//! maps. A structured operator (gradient, convolution, Fourier) enters by its spectrum alone, and
//! factors that meet without such a map see fields that are not Gaussian.

use super::super::smooth_entries::seen_entries;
use crate::catalog::channels::Rotation;
use crate::factor::{Factor, downcast};
use crate::model::Tree;

/// Why predictions on a tree, thresholds among them, are a heuristic; empty where they are exact in the limit.
#[must_use]
pub fn heuristics(tree: &Tree) -> Vec<String> {
    let factors = tree.factors();
    let inseparable = seen_entries(tree).filter_map(|(node, other)| {
        let separable = other.factor.scalar().is_some();
        (!separable).then(|| {
            let (made, seen) = (&node.name, &other.name);
            format!("factor `{seen}`: the entries of `{made}` are seen by what is not separable")
        })
    });
    if !factors.iter().any(|f| is_curved(f.factor.as_ref())) {
        return inseparable.collect();
    }
    let operators = factors.iter().filter_map(|f| {
        let reason = f.factor.heuristic()?;
        Some(format!("factor `{}`: {reason}", f.name))
    });
    operators.chain(meetings(tree)).chain(inseparable).collect()
}

/// A separable law that is not Gaussian.
fn is_curved(factor: &dyn Factor) -> bool {
    let law = factor.scalar().is_some_and(|s| s.gaussian().is_none());
    law && factor.gaussian_average().is_none()
}

/// A map that can be drawn from a rotationally invariant ensemble, or a product of hidden matrices.
fn mixes(factor: &dyn Factor) -> bool {
    let linear = downcast::<Rotation>(factor).is_some() || factor.spectrum().is_some();
    let entries = factor.vanishing_port().is_some();
    entries || linear && factor.heuristic().is_none()
}

/// Groups of variables without a mixing map between them, that more than one such law touches.
fn meetings(tree: &Tree) -> impl Iterator<Item = String> + '_ {
    let mut group: Vec<usize> = (0..tree.variables().len()).collect();
    let ends = |f: usize| {
        tree.factors()[f]
            .edges
            .iter()
            .map(|e| tree.edges()[*e].variable)
    };
    for (f, node) in tree.factors().iter().enumerate() {
        // structured operators are named on their own
        if node.factor.spectrum().is_some() || mixes(node.factor.as_ref()) {
            continue;
        }
        let Some(first) = ends(f).next().map(|v| group[v]) else {
            continue;
        };
        for joined in ends(f).map(|v| group[v]).collect::<Vec<_>>() {
            let rename = group.iter_mut().filter(|g| **g == joined);
            rename.for_each(|g| *g = first);
        }
    }
    (0..group.len()).filter_map(move |g| {
        let curved = tree.factors().iter().enumerate().filter(|(f, node)| {
            is_curved(node.factor.as_ref()) && ends(*f).next().is_some_and(|v| group[v] == g)
        });
        let names: Vec<String> = curved.map(|(_, node)| format!("`{}`", node.name)).collect();
        (names.len() > 1).then(|| {
            let names = names.join(", ");
            format!(
                "factors {names}: not Gaussian, with no rotationally invariant map between them"
            )
        })
    })
}
