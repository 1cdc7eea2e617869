//! Penalties among Gaussian factors. At a fixed point of expectation propagation the mean is the minimiser of all energies, whatever the
//! precisions are: a splitting finds it, and messages that are tangent to energies there have it as their means.

use std::ops::ControlFlow;

use crate::algorithms::minimiser::point::Solution;
use crate::algorithms::minimiser::{Settings, minimise};
use crate::algorithms::penalties::{is_laplace, means, penalties, slope};
use crate::belief::{Gaussian, Moments, SignalSpec, Structure};
use crate::engine::graph::Graph;
use crate::engine::{FallbackEnd, FallbackReport, Options, SMOOTHING, TOLERANCE, Verdict, Watch};
use crate::error::{FactorError, RunError};
use crate::factor::{Context, Incoming, Workspace, posterior};
use crate::model::{Edge, Tree};

/// Rounds in which precisions come to agree with curvatures at the minimiser, to the default tolerance.
const ROUNDS: usize = 60;
/// Without an active coordinate, a precision grows by this every round, and in all.
const GROWTH: f64 = 10.0;
const LARGEST: f64 = 1e4;

/// The minimiser of a tree of Gaussian factors and convex penalties, by splitting, and messages that have it as their means. Their
/// precisions are those of the curvatures there: of the penalties, else of the smoothed ones, or of the splitting where neither come to agree.
///
/// # Errors
/// A factor that fails.
pub(in crate::algorithms) fn settle(
    tree: &Tree,
    messages: &mut [Gaussian],
    options: &Options,
    watch: &mut dyn Watch<Gaussian>,
) -> Result<FallbackReport, RunError> {
    settle_with(tree, messages, options, watch, SMOOTHING)
}

/// The same with this width of smoothed penalties.
fn settle_with(
    tree: &Tree,
    messages: &mut [Gaussian],
    options: &Options,
    watch: &mut dyn Watch<Gaussian>,
    width: f64,
) -> Result<FallbackReport, RunError> {
    let twin = tree.isotropic();
    let flat = |e: &Edge| Gaussian::flat(&twin.variables()[e.variable].spec);
    let mut found: Vec<Gaussian> = twin.edges().iter().map(flat).collect();
    let mut outer = Outer {
        before: messages.to_vec(),
        watch,
    };
    let mut report = minimise(&twin, &mut found, Settings::new(options.gap), &mut outer)?;
    if report.end != FallbackEnd::Stationary {
        return Ok(report);
    }
    let best = Solution::of(&twin, &found)?;
    let tangent = |e: usize| Tangent::new(&twin, &found, best.places(), e);
    let all = (0..tree.edges().len()).map(tangent);
    all.for_each(|t| t.write(&mut messages[t.edge]));
    let mut pass = GaussianPass::new(tree, penalties(tree).map(tangent).collect());
    pass.relay(messages)?;
    report.smoothing = pass.refine(messages, width);
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

    fn verdict_of_recovery(&mut self, _: &[Gaussian]) -> Option<Verdict> {
        None
    }

    fn sweeps_before(&self) -> Option<usize> {
        self.watch.sweeps_before()
    }
}

/// A message that is tangent to an energy at the minimiser.
pub(in crate::algorithms) struct Tangent {
    edge: usize,
    precision: f64,
    place: Vec<f64>,
    slope: Vec<f64>,
}

impl Tangent {
    /// The one of messages on an edge, at the place of its variable; a pin has the precision of the others.
    fn new(tree: &Tree, messages: &[Gaussian], places: &[Vec<f64>], edge: usize) -> Self {
        let place = places[tree.edges()[edge].variable].clone();
        let others = Graph::new(tree, messages).cavity(edge);
        let slope = slope(&messages[edge], &others, &place);
        let finite = |m: &Gaussian| Some(m.precision.scalar()).filter(|a| a.is_finite());
        let precision = finite(&messages[edge]).or_else(|| finite(&others));
        Self {
            edge,
            precision: precision.unwrap_or(1.0),
            place,
            slope,
        }
    }

    /// $b = az - g$ at precision $a$.
    fn write(&self, message: &mut Gaussian) {
        message.set_precision(self.precision);
        let parts = message.linear.iter_mut().zip(&self.place).zip(&self.slope);
        parts.for_each(|((b, z), g)| *b = self.precision * z - g);
    }
}

/// The Gaussian factors around penalties that are held.
pub(in crate::algorithms) struct GaussianPass<'t> {
    tree: &'t Tree,
    held: Vec<Tangent>,
    workspaces: Vec<Workspace>,
}

impl<'t> GaussianPass<'t> {
    pub fn new(tree: &'t Tree, held: Vec<Tangent>) -> Self {
        let workspaces = tree.workspaces();
        Self {
            tree,
            held,
            workspaces,
        }
    }

    /// Messages of the penalties, tangent to their energies, and of everything else: one pass forth and back is exact.
    pub fn relay(&mut self, messages: &mut [Gaussian]) -> Result<(), RunError> {
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
        let cavities = Graph::new(self.tree, messages).cavities(f);
        let ports: Vec<usize> = (0..cavities.len()).collect();
        let incoming = Incoming::new(&cavities, &ports);
        let mut context = Context::new(incoming, &mut self.workspaces[f]);
        let out = &mut messages[node.edges[port]];
        posterior(node.factor.as_ref())?.message(&mut context, port, out)
    }

    /// Brings precisions to agree with curvatures, $a = 1/v - a_{\text{cavity}}$, at places and slopes that stay. Where sharp penalties have
    /// no such precisions (fewer than half of the differences of an image are free, and precisions grow without end), those of ones smoothed over this width,
    /// whose width is returned. Where neither do, precisions stay as they are.
    fn refine(&mut self, messages: &mut [Gaussian], width: f64) -> Option<f64> {
        let alone =
            |h: &Tangent| self.tree.variable_at(h.edge).spec.structure != Structure::Isotropic;
        if self.held.iter().any(alone) {
            return None;
        }
        let before = messages.to_vec();
        let first: Vec<f64> = self.held.iter().map(|h| h.precision).collect();
        for smoothing in [None, Some(width)] {
            if self.agree(messages, &first, smoothing) {
                return smoothing;
            }
            messages.clone_from_slice(&before);
            let held = self.held.iter_mut().zip(&first);
            held.for_each(|(held, precision)| held.precision = *precision);
        }
        None
    }

    fn agree(&mut self, messages: &mut [Gaussian], first: &[f64], smoothing: Option<f64>) -> bool {
        for _ in 0..ROUNDS {
            let mut change = 0.0_f64;
            for (k, first) in first.iter().enumerate() {
                let Some(next) = self.curvature(k, messages, LARGEST * first, smoothing) else {
                    return false;
                };
                let held = &mut self.held[k];
                change = change.max((next / held.precision).ln().abs());
                held.precision = (next * held.precision).sqrt();
            }
            if self.relay(messages).is_err() || means(self.tree, messages).is_none() {
                return false;
            }
            if change < TOLERANCE {
                return true;
            }
        }
        false
    }

    /// The precision of a penalty at the present cavity; none where it is not positive.
    fn curvature(
        &mut self,
        k: usize,
        messages: &[Gaussian],
        bound: f64,
        smoothing: Option<f64>,
    ) -> Option<f64> {
        let held = &self.held[k];
        let mut at = Graph::new(self.tree, messages).cavity(held.edge);
        let a = at.precision.mean_diagonal();
        if !(a > 0.0 && a.is_finite()) {
            return None;
        }
        let spec = SignalSpec::real(self.tree.variable_at(held.edge).spec.shape.clone());
        at = Gaussian::flat(&spec);
        at.precision.set_scalar(a);
        for (b, (z, g)) in at.linear.iter_mut().zip(held.place.iter().zip(&held.slope)) {
            *b = a * z + g;
        }
        let f = self.tree.edges()[held.edge].factor;
        let rule = self.tree.factors()[f].factor.proximal()?;
        let mut mode = Moments::zeros(&spec);
        let (store, ports) = ([at], [0]);
        let mut context = Context::new(Incoming::new(&store, &ports), &mut self.workspaces[f]);
        if smoothing.is_some() {
            context.request.smoothing = smoothing;
            let mut out = Gaussian::flat(&spec);
            let rule = self.tree.factors()[f].factor.posterior()?;
            rule.message(&mut context, 0, &mut out).ok()?;
            let next = out.precision.scalar();
            return (next > 0.0 && next.is_finite()).then_some(next);
        }
        rule.mode(&mut context, 0, &mut mode).ok()?;
        let v = mode.average_variance();
        let next = if v > 0.0 {
            1.0 / v - a
        } else {
            (GROWTH * held.precision).min(bound)
        };
        (next > 0.0 && next.is_finite()).then_some(next)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::prelude::*;

    /// Sees nothing.
    struct Nobody;

    impl Watch<Gaussian> for Nobody {
        fn after_step(&mut self, _: &[Gaussian], _: f64) -> ControlFlow<String> {
            ControlFlow::Continue(())
        }

        fn sweep_residual(&mut self, _: &[Gaussian]) -> Option<f64> {
            None
        }

        fn sweep(&mut self, _: &mut [Gaussian]) -> Option<f64> {
            None
        }

        fn verdict_of_recovery(&mut self, _: &[Gaussian]) -> Option<Verdict> {
            None
        }

        fn sweeps_before(&self) -> Option<usize> {
            None
        }
    }

    /// Two levels and noise of variance 0.01, whose differences have strength $\lambda$.
    fn image(strength: f64) -> Tree {
        let side = 12;
        let level = |i: usize| f64::from(u8::from(i % side < 5 && i / side < 7));
        let noise = |i: usize| 0.1 * (12.9898 * i as f64).sin() * std::f64::consts::SQRT_2;
        let y: Vec<f64> = (0..side * side).map(|i| level(i) + noise(i)).collect();
        let seen = GaussianLikelihood::new(0.01).unwrap().observed(y).unwrap();
        let jumps = L1::new(strength).unwrap().shaped([2, side, side]);
        let x = GaussianPrior::new(0.0, 1.0).unwrap().shaped([side, side]);
        let model = source(x)
            >> var("x")
            >> (branch(seen) + (branch(Gradient::periodic()) + jumps >> var("z")));
        model.build().unwrap()
    }

    /// The end with penalties smoothed over a width, and mean and variance of the image.
    fn smoothed(tree: &Tree, width: f64) -> (FallbackReport, Moments) {
        let flat = |e: &Edge| Gaussian::flat(&tree.variables()[e.variable].spec);
        let mut messages: Vec<Gaussian> = tree.edges().iter().map(flat).collect();
        let options = Options::default();
        let report = settle_with(tree, &mut messages, &options, &mut Nobody, width).unwrap();
        let mut moments = Moments::zeros(&tree.variables()[0].spec);
        let belief = Graph::new(tree, &messages).belief(0);
        belief.moments_into(&mut moments).unwrap();
        (report, moments)
    }

    /// From a quarter to one the width decides neither about the minimiser nor about which precisions are found: those of the penalty, of the smoothed
    /// one, or of the splitting. Variances are those of the smoothed penalty, and grow with its width, by less than it does.
    #[test]
    fn the_width_of_smoothed_penalties_decides_about_variances_alone() {
        let mut found = Vec::new();
        for strength in [3.0, 10.0, 30.0] {
            let tree = image(strength);
            let (report, at) = smoothed(&tree, SMOOTHING);
            found.push(report.smoothing);
            for width in [0.5 * SMOOTHING, 2.0 * SMOOTHING] {
                let (other, moments) = smoothed(&tree, width);
                assert_eq!(other.end, report.end);
                assert_eq!(other.smoothing, report.smoothing.map(|_| width));
                let apart = moments
                    .mean
                    .iter()
                    .zip(&at.mean)
                    .map(|(x, y)| (x - y).abs());
                assert!(apart.fold(0.0, f64::max) < 1e-9);
                let grown = (moments.average_variance() / at.average_variance()).ln();
                let wider = report.smoothing.map_or(0.0, |_| (width / SMOOTHING).ln());
                assert!(grown * wider >= 0.0 && grown.abs() <= wider.abs());
            }
        }
        assert_eq!(found, [None, Some(SMOOTHING), None]);
    }
}
