//! Whether a signal that a run is certain of agrees with every factor.
//!
//! A factor under Gaussian messages of variance $\epsilon\tau$ at given means has the probability, or the density,
//! $e^{A_f}$. As $\epsilon$ falls it rises, or stays, where the factor allows the means; where it does not, it falls as
//! $e^{-d^2/2\epsilon\tau}$ with the distance $d$ from what it allows.

use crate::belief::{Gaussian, Moments};
use crate::factor::Incoming;
use crate::model::Tree;

/// The two widths: far above the rounding of a mean, whose square is 1e-30, and far below what tells signals apart.
const WIDTHS: [f64; 2] = [1e-8, 1e-10];
/// A fall by this many nats is a contradiction; a component at an edge loses none.
const FALL: f64 = 3.0;

/// The first factor that does not allow these means. One whose log-partition is not to be had there does not count.
pub(super) fn contradicts(tree: &Tree, marginals: &[Moments]) -> Option<String> {
    let narrow = WIDTHS.map(|width| -> Vec<Gaussian> {
        let edges = tree.edges().iter();
        edges
            .map(|e| belief(tree, e.variable, &marginals[e.variable], width))
            .collect()
    });
    let against = |f: &usize| {
        let node = &tree.factors()[*f];
        let Some(rule) = node.factor.posterior() else {
            return false;
        };
        let mut work = vec![0.0; node.factor.workspace_len(&tree.port_specs(*f))];
        let mut value = |messages: &[Gaussian]| {
            rule.excess(Incoming::new(messages, &node.edges), &mut work)
                .ok()
        };
        match (value(&narrow[0]), value(&narrow[1])) {
            (Some(wide), Some(thin)) => thin < wide - FALL || thin == f64::NEG_INFINITY,
            _ => false,
        }
    };
    let found = (0..tree.factors().len()).find(against)?;
    Some(tree.factors()[found].name.clone())
}

/// A Gaussian of this variance, relative to the second moment, at the means.
fn belief(tree: &Tree, variable: usize, known: &Moments, width: f64) -> Gaussian {
    let mut belief = Gaussian::flat(&tree.variables()[variable].spec);
    let tau = known.second_moment();
    let a = if tau > 0.0 {
        1.0 / (width * tau)
    } else {
        1.0 / width
    };
    belief.set_precision(a);
    let pairs = belief.linear.iter_mut().zip(&known.mean);
    pairs.for_each(|(b, r)| *b = a * r);
    belief
}
