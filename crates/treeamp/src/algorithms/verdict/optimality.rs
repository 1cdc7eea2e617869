//! Whether expectation propagation with penalties is at a fixed point. The slope that a message of a penalty stands for is there one of
//! its energy at the mean: $g = az - b \in \partial E(z)$. Where precisions have grown nothing moves any more, there or not.

use crate::algorithms::map::among_gaussians::GaussianPass;
use crate::algorithms::penalties::{has_minimiser, means, penalties, slope};
use crate::belief::{Gaussian, Moments, SignalSpec, mean_square};
use crate::engine::graph::{Graph, alone};
use crate::engine::{KNOWN, TOLERANCE};
use crate::error::FactorError;
use crate::factor::{PosteriorRule, proximal};
use crate::model::Tree;

/// The scale of a variable that vanishes, as a fraction of the largest one of the tree.
const FAINT: f64 = 1e-3;

/// Why these messages, at rest, are at no fixed point: they have a mean that changes in one more pass around the penalties, or
/// leave over some of the slope of a penalty.
pub(super) fn not_optimal(tree: &Tree, messages: &[Gaussian]) -> Option<String> {
    penalties(tree).next()?;
    let before = means(tree, messages)?;
    let largest = messages.iter().filter_map(place_square);
    let faint = FAINT * largest.fold(0.0, f64::max).sqrt();
    let mut passed = messages.to_vec();
    let mut places = before.clone();
    let modes = has_minimiser(tree);
    if modes
        && GaussianPass::new(tree, Vec::new())
            .relay(&mut passed)
            .is_ok()
    {
        places = means(tree, &passed)?;
    }
    for (variable, (x, y)) in tree.variables().iter().zip(before.iter().zip(&places)) {
        let scale = mean_square(x).max(mean_square(y)).sqrt().max(faint);
        let gap = distance(x, y) / scale;
        if gap > TOLERANCE {
            let name = &variable.name;
            let why = format!("one more pass moves the mean of `{name}` by {gap:.1e} of its scale");
            return Some(why);
        }
    }
    let quadratic = quadratic_energy(tree, messages, &places);
    for e in penalties(tree) {
        // a discrete signal that is known leaves its penalty no slope to take
        if !modes && is_known(tree, messages, e) {
            continue;
        }
        let place = &places[tree.edges()[e].variable];
        // without a mode there is nothing to compare
        let gap = violation(tree, &passed, e, place, (faint, quadratic)).ok();
        if let Some(gap) = gap.filter(|gap| !(*gap <= TOLERANCE)) {
            return Some(format!(
                "{gap:.1e} of the slope of the penalty `{}` is left over at the mean of `{}`",
                tree.factor_at(e).name,
                tree.variable_at(e).name
            ));
        }
    }
    None
}

/// The variance of the variable behind an edge has vanished next to its mean.
fn is_known(tree: &Tree, messages: &[Gaussian], edge: usize) -> bool {
    let moments = Graph::new(tree, messages).moments(tree.edges()[edge].variable);
    moments.map_or(true, |m| m.average_variance() <= KNOWN * m.second_moment())
}

/// The root of the mean square of a difference.
fn distance(x: &[f64], y: &[f64]) -> f64 {
    let gaps = x.iter().zip(y).map(|(x, y)| (x - y).powi(2));
    (gaps.sum::<f64>() / x.len() as f64).sqrt()
}

/// The mean square of the place that a message alone prefers, if it prefers one.
fn place_square(message: &Gaussian) -> Option<f64> {
    let mut moments = Moments::like(message);
    message.moments_into(&mut moments).ok()?;
    Some(mean_square(&moments.mean)).filter(|s| s.is_finite())
}

/// $\sum\frac12 a\|x\|^2$ over messages that never change.
fn quadratic_energy(tree: &Tree, messages: &[Gaussian], places: &[Vec<f64>]) -> f64 {
    let each = tree.edges().iter().zip(messages).map(|(edge, message)| {
        let rule = tree.factors()[edge.factor].factor.posterior();
        let (a, x) = (message.precision.mean_diagonal(), &places[edge.variable]);
        let constant = rule.is_some_and(PosteriorRule::is_constant) && a.is_finite();
        if constant && !message.has_moments() {
            0.5 * a.abs() * x.len() as f64 * mean_square(x)
        } else {
            0.0
        }
    });
    each.sum()
}

/// How far $\mathrm{prox}_{E/c}(z + g/c)$ is from $z$, relative to the scale of $z$, with $c$ such that $cz$ and $g$ are of one size:
/// zero if and only if $g \in \partial E(z)$, for whatever precisions. It counts as much as $g$ does next to quadratic energies: where
/// there is next to no slope, what is left of it is rounding.
fn violation(
    tree: &Tree,
    messages: &[Gaussian],
    e: usize,
    place: &[f64],
    (faint, quadratic): (f64, f64),
) -> Result<f64, FactorError> {
    let cavity = Graph::new(tree, messages).cavity(e);
    let slope = slope(&messages[e], &cavity, place);
    let (force, scale) = (mean_square(&slope).sqrt(), mean_square(place).sqrt());
    let scale = scale.max(faint);
    if !(force > 0.0 && scale > 0.0) {
        return Ok(0.0);
    }
    let c = force / scale;
    let mut variable = tree.variable_at(e).clone();
    variable.spec = SignalSpec::real(variable.spec.shape);
    let mut at = Gaussian::flat(&variable.spec);
    at.precision.set_scalar(c);
    for (b, (z, g)) in at.linear.iter_mut().zip(place.iter().zip(&slope)) {
        *b = c * z + g;
    }
    let factor = tree.factor_at(e).factor.as_ref();
    // others have slopes that are those of no mode
    if !proximal(factor)?.is_convex() {
        return Ok(0.0);
    }
    let mode = alone(factor, &variable, at).mode(0)?;
    let work = force * scale * place.len() as f64;
    Ok(distance(&mode.mean, place) / scale * work / (work + quadratic))
}
