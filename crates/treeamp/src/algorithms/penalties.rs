//! Penalties in a tree, whose moments are a mode and its curvature, and the slopes that their messages stand for.

use crate::belief::Gaussian;
use crate::engine::graph::Graph;
use crate::factor::PosteriorRule;
use crate::model::Tree;

/// The factor of an edge is a penalty, whose moments are a mode and its curvature.
pub(super) fn is_laplace(tree: &Tree, edge: usize) -> bool {
    let factor = &tree.factor_at(edge).factor;
    factor.posterior().is_some_and(PosteriorRule::is_laplace)
}

pub(super) fn penalties(tree: &Tree) -> impl Iterator<Item = usize> + '_ {
    (0..tree.edges().len()).filter(|e| is_laplace(tree, *e))
}

/// There are penalties, all of them convex, and all other factors are Gaussian: means are modes.
pub(super) fn has_minimiser(tree: &Tree) -> bool {
    let fine = |f: &dyn crate::factor::Factor| {
        let laplace = f.posterior().is_some_and(PosteriorRule::is_laplace);
        let constant = f.posterior().is_some_and(PosteriorRule::is_constant);
        let rule = f.proximal();
        rule.is_some_and(|r| r.is_convex() && (laplace || constant || !r.is_penalty()))
    };
    let mut factors = tree.factors().iter();
    factors.all(|n| fine(n.factor.as_ref())) && penalties(tree).next().is_some()
}

/// The means of all beliefs, if they are.
pub(super) fn means(tree: &Tree, messages: &[Gaussian]) -> Option<Vec<Vec<f64>>> {
    let graph = Graph::new(tree, messages);
    let mean = |v: usize| graph.moments(v).ok().map(|m| m.mean);
    (0..tree.variables().len()).map(mean).collect()
}

/// $g = az - b$ of the message on an edge, or what all others leave over, $b - az$: the one of the smaller precision has more
/// digits.
pub(super) fn slope(message: &Gaussian, cavity: &Gaussian, place: &[f64]) -> Vec<f64> {
    let of = |m: &Gaussian, sign: f64| -> Vec<f64> {
        // penalties take no dense beliefs
        let a = m.precision.by_component();
        let entry = |(i, z): (usize, &f64)| {
            let a = a.map_or(f64::NAN, |a| a(i));
            sign * (a * z - m.linear[i])
        };
        place.iter().enumerate().map(entry).collect()
    };
    let size = |m: &Gaussian| m.precision.mean_diagonal().abs();
    if size(message) <= size(cavity) {
        of(message, 1.0)
    } else {
        of(cavity, -1.0)
    }
}
