//! Whether a signal that a run is certain of agrees with every factor.
//!
//! A factor under Gaussian messages of variance $w\tau$ at given means has the probability, or the density,
//! $e^{A_f}$. As $w$ falls it rises, or stays, where the factor allows the means; where it does not, it falls as
//! $e^{-d^2/2w\tau}$ with the distance $d$ from what it allows. Means that are known to $v$ only may be that far from where they
//! are allowed, and a noise of about $v$ may explain more: there the fall does not go on as $1/w$ from far above $v$ to far below.

use crate::belief::{Gaussian, Moments};
use crate::engine::{Contradiction, ContradictionKind};
use crate::factor::{Context, Incoming};
use crate::model::{FactorNode, Tree};
use crate::scalar::ScalarView;

/// The widest: far above the rounding of a mean, whose square is 1e-30, and far below what tells signals apart. But no closer to
/// the variance than that, all relative to the second moment.
const WIDEST: f64 = 1e-8;
const ABOVE: f64 = 1e3;
/// From one width to the next.
const NARROWER: f64 = 0.01;
/// The third width is this fraction of the variance, but no less than that.
const BELOW: f64 = 0.1;
const FINEST: f64 = 1e-18;
/// A fall by this many nats between the first two widths is a contradiction; a component at an edge loses none.
const FALL: f64 = 3.0;
/// And it must grow to so many times itself between the last two, which are $10^4$ times narrower.
const GROWTH: f64 = 30.0;

/// Standard deviations of $\chi^2$ beyond which a misfit is not chance. A noise that is set too small by a tenth stays within them up to 40,000
/// observations; one by a factor of two does not from 800 on.
const IMPLAUSIBLE: f64 = 20.0;

/// The first factor that does not allow these means. One whose log-partition is not to be had there does not count.
pub(super) fn contradicting_factor(tree: &Tree, marginals: &[Moments]) -> Option<Contradiction> {
    let excluded = excludes(tree, marginals).map(|f| (f, ContradictionKind::Excluded));
    let implausible = || {
        // among Gaussian factors there is but one answer, and it is exact
        let other = |n: &FactorNode| n.factor.scalar().is_some_and(|s| s.gaussian().is_none());
        tree.factors().iter().find(|n| other(n))?;
        let mut nodes = tree.factors().iter();
        let found = nodes.find(|node| is_implausible(tree, node, marginals))?;
        Some((found.name.clone(), ContradictionKind::Implausible))
    };
    let (factor, kind) = excluded.or_else(implausible)?;
    Some(Contradiction { factor, kind })
}

/// Gaussian noise of variance $\Delta$ for which $\chi^2 = \sum(x - z)^2/(\Delta + v)$, of mean $n$ and variance $2n$, is beyond chance; $v$ is what the run
/// itself leaves open.
fn is_implausible(tree: &Tree, node: &FactorNode, marginals: &[Moments]) -> bool {
    let scalar = node.factor.scalar().and_then(ScalarView::gaussian);
    let noise = scalar.map(|(_, variance)| variance).filter(|v| *v > 0.0);
    let rule = node.factor.proximal().filter(|_| node.inputs > 0);
    let (Some(noise), Some(rule)) = (noise, rule) else {
        return false;
    };
    let known = |e: &usize| &marginals[tree.edges()[*e].variable];
    let open: f64 = node.edges.iter().map(|e| known(e).average_variance()).sum();
    let means = node.edges.iter().map(|e| known(e).mean.as_slice());
    let means: Vec<&[f64]> = means.collect();
    let n = means[0].len() as f64;
    let chi = 2.0 * rule.energy(&means) * noise / (noise + open);
    chi > n + IMPLAUSIBLE * (2.0 * n).sqrt()
}

fn excludes(tree: &Tree, marginals: &[Moments]) -> Option<String> {
    let fractions = marginals.iter().map(fraction);
    let known = fractions.fold(0.0, f64::max);
    let (wide, thin) = (WIDEST.max(ABOVE * known), FINEST.max(BELOW * known));
    let widths = [wide, NARROWER * wide, thin, NARROWER * thin];
    let narrow = widths.map(|width| -> Vec<Gaussian> {
        let edges = tree.edges().iter();
        edges
            .map(|e| belief(tree, e.variable, &marginals[e.variable], width))
            .collect()
    });
    let against = |f: &usize| {
        let node = &tree.factors()[*f];
        if is_noisy(node) {
            return false;
        }
        let Some(rule) = node.factor.posterior() else {
            return false;
        };
        let mut workspace = tree.workspace(*f);
        let mut value = |messages: &[Gaussian]| {
            let incoming = Incoming::new(messages, &node.edges);
            rule.excess(&mut Context::new(incoming, &mut workspace))
                .ok()
        };
        let mut fall = |wide: usize| Some(value(&narrow[wide])? - value(&narrow[wide + 1])?);
        let Some(first) = fall(0).filter(|fall| *fall > FALL) else {
            return false;
        };
        first == f64::INFINITY || fall(2).is_none_or(|fall| !(fall <= GROWTH * first))
    };
    let found = (0..tree.factors().len()).find(against)?;
    Some(tree.factors()[found].name.clone())
}

/// Gaussian noise, however little of it, excludes nothing.
fn is_noisy(node: &FactorNode) -> bool {
    let scalar = node.factor.scalar().and_then(ScalarView::gaussian);
    let average = node.factor.gaussian_average();
    scalar.is_some_and(|(_, variance)| variance > 0.0)
        || average.and_then(|law| law.least_noise()).is_some()
}

/// The variance relative to the second moment.
fn fraction(known: &Moments) -> f64 {
    let tau = known.second_moment();
    if tau > 0.0 {
        known.average_variance() / tau
    } else {
        0.0
    }
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
