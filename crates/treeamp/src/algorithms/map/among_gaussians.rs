//! Penalties in expectation propagation. At a fixed point the slope that a message of a penalty stands for is one of its energy
//! at the mean: $g = az - b \in \partial E(z)$. Where all other factors are Gaussian, that makes the mean the minimiser of all
//! energies, whatever the precisions are, and a splitting finds it.

use std::ops::ControlFlow;

use super::agreement::solution_of;
use super::splitting::split;
use crate::belief::{Gaussian, Message as _, Moments, SignalSpec, Structure, mean_square};
use crate::engine::{FallbackEnd, FallbackReport, Options, Watch};
use crate::error::{FactorError, RunError};
use crate::factor::{Incoming, PosteriorRule};
use crate::model::{Edge, Tree, Variable};

/// How far a mean may be from optimal, as a fraction of the slope of its penalty.
const OPTIMAL: f64 = 1e-6;
/// The scale of a variable that vanishes, as a fraction of the largest one of the tree.
const FAINT: f64 = 1e-3;
/// The tolerance of the splitting.
const TOLERANCE: f64 = 1e-12;
/// Rounds in which precisions come to agree with curvatures at the minimiser, and the change at which they do.
const ROUNDS: usize = 60;
const AGREE: f64 = 1e-6;
/// Without an active coordinate, a precision grows by this every round, and in all.
const GROWTH: f64 = 10.0;
const LARGEST: f64 = 1e4;

/// The factor of an edge is a penalty, whose moments are a mode and its curvature.
fn is_laplace(tree: &Tree, edge: usize) -> bool {
    let factor = &tree.factors()[tree.edges()[edge].factor].factor;
    factor.posterior().is_some_and(PosteriorRule::is_laplace)
}

fn penalties(tree: &Tree) -> impl Iterator<Item = usize> + '_ {
    (0..tree.edges().len()).filter(|e| is_laplace(tree, *e))
}

fn variable(tree: &Tree, edge: usize) -> &Variable {
    &tree.variables()[tree.edges()[edge].variable]
}

fn cavity(tree: &Tree, messages: &[Gaussian], edge: usize) -> Gaussian {
    let variable = variable(tree, edge);
    let mut cavity = Gaussian::flat(&variable.spec);
    let others = variable.edges.iter().filter(|o| **o != edge);
    others.for_each(|o| cavity.add_assign(&messages[*o]));
    cavity
}

/// There are penalties, all of them convex, and all other factors are Gaussian: means are modes.
pub(in crate::algorithms) fn has_minimiser(tree: &Tree) -> bool {
    let fine = |f: &dyn crate::factor::Factor| {
        let laplace = f.posterior().is_some_and(PosteriorRule::is_laplace);
        let constant = f.posterior().is_some_and(PosteriorRule::is_constant);
        let rule = f.proximal();
        rule.is_some_and(|r| r.is_convex() && (laplace || constant || !r.is_penalty()))
    };
    let mut factors = tree.factors().iter();
    factors.all(|n| fine(n.factor.as_ref())) && penalties(tree).next().is_some()
}

/// Why these messages, at rest, are at no fixed point: they have a mean that changes in one more pass around the penalties, or
/// leave over some of the slope of a penalty.
pub(in crate::algorithms) fn not_optimal(tree: &Tree, messages: &[Gaussian]) -> Option<RunError> {
    penalties(tree).next()?;
    let before = means(tree, messages)?;
    let largest = messages.iter().filter_map(place_square);
    let faint = FAINT * largest.fold(0.0, f64::max).sqrt();
    let mut passed = messages.to_vec();
    let mut places = before.clone();
    if has_minimiser(tree) && Around::new(tree, Vec::new()).relay(&mut passed).is_ok() {
        places = means(tree, &passed)?;
    }
    for (variable, (x, y)) in tree.variables().iter().zip(before.iter().zip(&places)) {
        let scale = mean_square(x).max(mean_square(y)).sqrt().max(faint);
        let gap = distance(x, y) / scale;
        if gap > OPTIMAL {
            let name = &variable.name;
            let why = format!("one more pass moves the mean of `{name}` by {gap:.1e} of its scale");
            return Some(unreached(why));
        }
    }
    let quadratic = quadratic_energy(tree, messages, &places);
    for e in penalties(tree) {
        let place = &places[tree.edges()[e].variable];
        // without a mode there is nothing to compare
        let gap = violation(tree, &passed, e, place, (faint, quadratic)).ok();
        if let Some(gap) = gap.filter(|gap| !(*gap <= OPTIMAL)) {
            let (variable, factor) = (variable(tree, e), tree.edges()[e].factor);
            return Some(unreached(format!(
                "the mean of `{}` is at rest, but {gap:.1e} of the slope of its penalty `{}` is left over",
                variable.name,
                tree.factors()[factor].name
            )));
        }
    }
    None
}

fn unreached(termination: String) -> RunError {
    let what = "a fixed point".to_owned();
    RunError::NotReached { what, termination }
}

/// The root of the mean square of a difference.
fn distance(x: &[f64], y: &[f64]) -> f64 {
    let gaps = x.iter().zip(y).map(|(x, y)| (x - y).powi(2));
    (gaps.sum::<f64>() / x.len() as f64).sqrt()
}

/// The means of all beliefs, if they are.
fn means(tree: &Tree, messages: &[Gaussian]) -> Option<Vec<Vec<f64>>> {
    let mean = |variable: &Variable| {
        let mut total = Gaussian::flat(&variable.spec);
        let edges = variable.edges.iter();
        edges.for_each(|e| total.add_assign(&messages[*e]));
        let mut moments = Moments::zeros(&variable.spec);
        total.moments_into(&mut moments).ok()?;
        Some(moments.mean)
    };
    tree.variables().iter().map(mean).collect()
}

/// The mean square of the place that a message alone prefers, if it prefers one.
fn place_square(message: &Gaussian) -> Option<f64> {
    let spec = SignalSpec {
        structure: message.structure(),
        ..SignalSpec::real([message.len()])
    };
    let mut moments = Moments::zeros(&spec);
    message.moments_into(&mut moments).ok()?;
    Some(mean_square(&moments.mean)).filter(|s| s.is_finite())
}

/// $g = az - b$ of the message on an edge, or what all others leave over, $b - az$: the one of the smaller precision has more
/// digits.
fn slope(message: &Gaussian, cavity: &Gaussian, place: &[f64]) -> Vec<f64> {
    let of = |m: &Gaussian, sign: f64| -> Vec<f64> {
        let entry = |(i, z): (usize, &f64)| {
            let a = match m.structure() {
                Structure::Isotropic => m.precision.scalar(),
                _ => m.precision.data()[i],
            };
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
    let slope = slope(&messages[e], &cavity(tree, messages, e), place);
    let (force, scale) = (mean_square(&slope).sqrt(), mean_square(place).sqrt());
    let scale = scale.max(faint);
    if !(force > 0.0 && scale > 0.0) {
        return Ok(0.0);
    }
    let c = force / scale;
    let spec = SignalSpec::real(variable(tree, e).spec.shape.clone());
    let mut at = Gaussian::flat(&spec);
    at.precision.set_scalar(c);
    for (b, (z, g)) in at.linear.iter_mut().zip(place.iter().zip(&slope)) {
        *b = c * z + g;
    }
    let node = &tree.factors()[tree.edges()[e].factor];
    // others have slopes that are those of no mode
    if !super::rule(node.factor.as_ref())?.is_convex() {
        return Ok(0.0);
    }
    let mut work = vec![0.0; node.factor.workspace_len(std::slice::from_ref(&spec))];
    let mut mode = Moments::zeros(&spec);
    let (store, ports) = ([at], [0]);
    let incoming = Incoming::new(&store, &ports);
    super::rule(node.factor.as_ref())?.mode(incoming, 0, &mut mode, &mut work)?;
    let work = force * scale * place.len() as f64;
    Ok(distance(&mode.mean, place) / scale * work / (work + quadratic))
}

/// The minimiser of a tree of Gaussian factors and convex penalties, by splitting, and messages that have it as their means. Their
/// precisions are those of the curvatures there, or of the splitting where these do not come to agree.
///
/// # Errors
/// A factor that fails.
pub(in crate::algorithms) fn settle(
    tree: &Tree,
    messages: &mut [Gaussian],
    options: &Options,
    watch: &mut dyn Watch<Gaussian>,
) -> Result<FallbackReport, RunError> {
    let twin = tree.isotropic();
    let flat = |e: &Edge| Gaussian::flat(&twin.variables()[e.variable].spec);
    let mut found: Vec<Gaussian> = twin.edges().iter().map(flat).collect();
    let cold = Options {
        tolerance: TOLERANCE,
        ..options.clone()
    };
    let mut outer = Outer {
        before: messages.to_vec(),
        watch,
    };
    let mut report = split(&twin, &mut found, &cold, &mut outer)?;
    if report.end != FallbackEnd::Stationary {
        return Ok(report);
    }
    let best = solution_of(&twin, &found)?;
    let tangent = |e: usize| {
        let place = best.places()[twin.edges()[e].variable].clone();
        let others = cavity(&twin, &found, e);
        let slope = slope(&found[e], &others, &place);
        let own = found[e].precision.scalar();
        let finite = |a: f64| a.is_finite().then_some(a);
        let precision = finite(own).or_else(|| finite(others.precision.scalar()));
        Tangent {
            edge: e,
            precision: precision.unwrap_or(1.0),
            place,
            slope,
        }
    };
    let all = (0..tree.edges().len()).map(tangent);
    all.for_each(|t| t.write(&mut messages[t.edge]));
    let mut around = Around::new(tree, penalties(tree).map(tangent).collect());
    around.relay(messages)?;
    around.refine(messages);
    report.sweep_residual = watch.sweep_residual(messages);
    Ok(report)
}

/// Tells the observer of a run about steps on its isotropic twin: where the run was.
struct Outer<'w> {
    before: Vec<Gaussian>,
    watch: &'w mut dyn Watch<Gaussian>,
}

impl Watch<Gaussian> for Outer<'_> {
    fn after_step(&mut self, _: &[Gaussian], residual: f64) -> ControlFlow<String> {
        self.watch.after_step(&self.before, residual)
    }

    fn sweep_residual(&mut self, _: &[Gaussian]) -> Option<f64> {
        None
    }

    fn sweep(&mut self, _: &mut [Gaussian]) -> Option<f64> {
        None
    }
}

/// A message that is tangent to an energy at the minimiser.
struct Tangent {
    edge: usize,
    precision: f64,
    place: Vec<f64>,
    slope: Vec<f64>,
}

impl Tangent {
    /// $b = az - g$ at precision $a$.
    fn write(&self, message: &mut Gaussian) {
        message.set_precision(self.precision);
        let parts = message.linear.iter_mut().zip(&self.place).zip(&self.slope);
        parts.for_each(|((b, z), g)| *b = self.precision * z - g);
    }
}

/// The Gaussian factors around penalties that are held.
struct Around<'t> {
    tree: &'t Tree,
    held: Vec<Tangent>,
    work: Vec<Vec<f64>>,
}

impl<'t> Around<'t> {
    fn new(tree: &'t Tree, held: Vec<Tangent>) -> Self {
        let work = |f: usize| {
            let ports = tree.port_specs(f);
            vec![0.0; tree.factors()[f].factor.workspace_len(&ports)]
        };
        let work = (0..tree.factors().len()).map(work).collect();
        Self { tree, held, work }
    }

    /// Messages of the penalties, tangent to their energies, and of everything else: one pass forth and back is exact.
    fn relay(&mut self, messages: &mut [Gaussian]) -> Result<(), RunError> {
        for held in &self.held {
            held.write(&mut messages[held.edge]);
        }
        let tree = self.tree;
        let (forth, back) = (tree.order().iter(), tree.order().iter().rev());
        for (f, outputs) in forth.map(|f| (*f, true)).chain(back.map(|f| (*f, false))) {
            let node = &tree.factors()[f];
            for (port, e) in node.edges.iter().enumerate() {
                if (port >= node.inputs) == outputs && !is_laplace(tree, *e) {
                    let sent = self.send(f, port, messages);
                    sent.map_err(|source| RunError::Factor {
                        factor: node.name.clone(),
                        source,
                    })?;
                }
            }
        }
        Ok(())
    }

    fn send(
        &mut self,
        f: usize,
        port: usize,
        messages: &mut [Gaussian],
    ) -> Result<(), FactorError> {
        let node = &self.tree.factors()[f];
        let cavities = node.edges.iter().map(|e| cavity(self.tree, messages, *e));
        let cavities: Vec<Gaussian> = cavities.collect();
        let ports: Vec<usize> = (0..cavities.len()).collect();
        let none = || FactorError::Unsupported("no expectation propagation rule".to_owned());
        let rule = node.factor.posterior().ok_or_else(none)?;
        let out = &mut messages[node.edges[port]];
        rule.message(
            Incoming::new(&cavities, &ports),
            port,
            out,
            &mut self.work[f],
        )
    }

    /// Brings precisions to agree with curvatures, $a = 1/v - a_{\text{cavity}}$, at places and slopes that stay. Where that has no end,
    /// they stay as they are.
    fn refine(&mut self, messages: &mut [Gaussian]) {
        let alone =
            |h: &Tangent| variable(self.tree, h.edge).spec.structure != Structure::Isotropic;
        if self.held.iter().any(alone) {
            return;
        }
        let before = messages.to_vec();
        let first: Vec<f64> = self.held.iter().map(|h| h.precision).collect();
        for _ in 0..ROUNDS {
            let mut change = 0.0_f64;
            for k in 0..self.held.len() {
                let bound = LARGEST * first[k];
                let Some(next) = self.curvature(k, messages, bound) else {
                    messages.clone_from_slice(&before);
                    return;
                };
                let held = &mut self.held[k];
                change = change.max((next / held.precision).ln().abs());
                held.precision = (next * held.precision).sqrt();
            }
            if self.relay(messages).is_err() || means(self.tree, messages).is_none() {
                break;
            }
            if change < AGREE {
                return;
            }
        }
        messages.clone_from_slice(&before);
    }

    /// The precision of a penalty at the present cavity; none where it is not positive.
    fn curvature(&mut self, k: usize, messages: &[Gaussian], bound: f64) -> Option<f64> {
        let held = &self.held[k];
        let mut at = cavity(self.tree, messages, held.edge);
        let a = at.precision.mean_diagonal();
        if !(a > 0.0 && a.is_finite()) {
            return None;
        }
        let spec = SignalSpec::real(variable(self.tree, held.edge).spec.shape.clone());
        at = Gaussian::flat(&spec);
        at.precision.set_scalar(a);
        for (b, (z, g)) in at.linear.iter_mut().zip(held.place.iter().zip(&held.slope)) {
            *b = a * z + g;
        }
        let f = self.tree.edges()[held.edge].factor;
        let rule = self.tree.factors()[f].factor.proximal()?;
        let mut mode = Moments::zeros(&spec);
        let (store, ports) = ([at], [0]);
        let work = &mut self.work[f];
        rule.mode(Incoming::new(&store, &ports), 0, &mut mode, work)
            .ok()?;
        let v = mode.average_variance();
        let next = if v > 0.0 {
            1.0 / v - a
        } else {
            (GROWTH * held.precision).min(bound)
        };
        (next > 0.0 && next.is_finite()).then_some(next)
    }
}
