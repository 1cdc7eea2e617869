//! The certain way to a minimiser of convex energies: Douglas-Rachford splitting at frozen precisions.
//!
//! A tree has two colours. With a precision $\rho$ on every link between a red and a black factor, and
//! $G = \sum_{\text{red}} E_k$, $H = \sum_{\text{black}} E_k$ (a variable with three factors or more is a factor of its own
//! that holds its copies together),
//!
//! $$u = \mathrm{prox}_G(s),\qquad w = \mathrm{prox}_H(2u - s),\qquad s \leftarrow s + (w - u):$$
//!
//! the messages of a sweep, $b' = 2\rho u - b$, at precisions that stay, and half a step. The map is averaged in the norm
//! of $\rho$, so that $w - u \to 0$ for any convex energies that have a minimiser. Precisions change a few times to balance
//! both residuals, and Anderson acceleration may take a step only while residuals fall fast enough to be summed.

use std::ops::ControlFlow;

use super::links::{End, Link, hold_together, links};
use super::pace::Pace;
use super::rule;
use crate::belief::{Gaussian, Message as _, Moments, mean_square};
use crate::engine::{FallbackEnd, FallbackReport, Options, Watch};
use crate::error::{FactorError, RunError};
use crate::factor::{Incoming, ProximalRule};
use crate::model::Tree;

/// Evaluations of all modes after which it gives up.
const LIMIT: usize = 50_000;
/// The splitting goes on to this fraction of the tolerance of the sweeps.
const FRACTION: f64 = 0.1;
/// A link whose squared norm is below this fraction of the whole is measured by the whole.
const FAINT: f64 = 1e-4;
/// Residuals this far apart are brought together, by at most this much at a time.
const IMBALANCE: f64 = 2.0;
const MOST: f64 = 10.0;
/// Residuals are relative to places and slopes, neither of which counts for less than this fraction of the other.
const FLOOR: f64 = 1e-3;
/// Progress is a residual below this fraction of the best.
const PROGRESS: f64 = 0.9;
/// Evaluations without progress after which it ends: iterative solutions of channels have their own accuracy.
const STALLED: usize = 2000;

struct Splitting<'t> {
    tree: &'t Tree,
    links: Vec<Link>,
    /// The link of every edge, and the side on which its factor is.
    link_of: Vec<Option<(usize, usize)>>,
    store: Vec<Gaussian>,
    modes: Vec<Moments>,
    work: Vec<Vec<f64>>,
    /// State, modes of both colours, and what the black ones saw.
    s: Vec<f64>,
    u: Vec<f64>,
    t: Vec<f64>,
    w: Vec<f64>,
    evaluations: usize,
}

/// Runs the splitting from the messages of a run, by edge, and leaves there messages at the minimiser.
///
/// # Errors
/// An energy that is not convex, or a factor that fails.
pub(super) fn split(
    tree: &Tree,
    messages: &mut [Gaussian],
    options: &Options,
    watch: &mut dyn Watch<Gaussian>,
) -> Result<FallbackReport, RunError> {
    for node in tree.factors() {
        if !node.factor.proximal().is_some_and(ProximalRule::is_convex) {
            return Err(RunError::NotDefined {
                what: "a certain fallback".to_owned(),
                why: format!("the energy of factor `{}` is not convex", node.name),
            });
        }
    }
    let mut splitting = Splitting::new(tree, messages);
    let (end, residual, steps) = splitting.run(messages, options.tolerance, watch)?;
    Ok(FallbackReport {
        method: "splitting",
        steps,
        evaluations: splitting.evaluations,
        residual,
        sweep_residual: watch.sweep_residual(messages),
        free_energy: Vec::new(),
        descent: None,
        end,
    })
}

impl<'t> Splitting<'t> {
    fn new(tree: &'t Tree, messages: &[Gaussian]) -> Self {
        let (links, link_of) = links(tree, messages);
        let size = links.iter().map(|l| l.len).sum();
        let spec = |e: usize| &tree.variables()[tree.edges()[e].variable].spec;
        let edges = 0..tree.edges().len();
        let work = (0..tree.factors().len()).map(|f| {
            let ports = tree.port_specs(f);
            vec![0.0; tree.factors()[f].factor.workspace_len(&ports)]
        });
        let mut splitting = Self {
            store: edges.clone().map(|e| Gaussian::flat(spec(e))).collect(),
            modes: edges.map(|e| Moments::zeros(spec(e))).collect(),
            work: work.collect(),
            s: vec![0.0; size],
            u: vec![0.0; size],
            t: vec![0.0; size],
            w: vec![0.0; size],
            tree,
            links,
            link_of,
            evaluations: 0,
        };
        splitting.start(messages);
        splitting
    }

    /// $s = x + g/\rho$ with the slope $g$ of the red energy that the messages imply.
    fn start(&mut self, messages: &[Gaussian]) {
        for link in &self.links {
            let edges = &self.tree.variables()[link.variable].edges;
            let mut total = self.store[edges[0]].clone();
            edges.iter().for_each(|e| total.add_assign(&messages[*e]));
            let (a, scale) = (total.precision.scalar(), total.mean_scale());
            let known = |end: End| match end {
                End::Factor { edge } => Some(&messages[edge]).filter(|m| !m.is_pinned()),
                End::Variable => None,
            };
            // the slope of the factor that sent (a, b) is a x - b
            let own = known(link.ends[0]).map(|m| (m, 1.0));
            let slope = own.or_else(|| known(link.ends[1]).map(|m| (m, -1.0)));
            for (i, s) in link.of_mut(&mut self.s).iter_mut().enumerate() {
                let x = if a > 0.0 {
                    total.linear[i] * scale
                } else {
                    0.0
                };
                let g = slope.map_or(0.0, |(m, sign)| {
                    sign * (m.precision.scalar() * x - m.linear[i])
                });
                *s = x + g / link.rho;
            }
        }
    }

    /// The modes of one colour, from the state or from its reflection.
    fn half(&mut self, side: usize) -> Result<(), RunError> {
        let (from, to) = if side == 0 {
            (&self.s, &mut self.u)
        } else {
            (&self.t, &mut self.w)
        };
        for (f, node) in self.tree.factors().iter().enumerate() {
            let linked = |e: &&usize| self.link_of[**e].is_some_and(|(_, s)| s == side);
            if !node.edges.iter().any(|e| linked(&e)) {
                continue;
            }
            for e in node.edges.iter().filter(linked) {
                let link = &self.links[self.link_of[*e].map_or(0, |(l, _)| l)];
                let message = &mut self.store[*e];
                message.precision.set_scalar(link.rho);
                let parts = message.linear.iter_mut().zip(link.of(from));
                parts.for_each(|(b, s)| *b = link.rho * s);
            }
            let incoming = Incoming::new(&self.store, &node.edges);
            for (port, e) in node.edges.iter().enumerate().filter(|(_, e)| linked(e)) {
                let mode = &mut self.modes[*e];
                rule(node.factor.as_ref())
                    .and_then(|r| r.mode(incoming, port, mode, &mut self.work[f]))
                    .map_err(|source| blame(&node.name, source))?;
                let link = &self.links[self.link_of[*e].map_or(0, |(l, _)| l)];
                link.of_mut(to).copy_from_slice(&mode.mean);
            }
        }
        hold_together(&self.links, side, from, to);
        Ok(())
    }

    /// One evaluation of both colours. Gives $\|w - u\|_\rho$, and the largest disagreement on a link, relative to
    /// its scale.
    fn evaluate(&mut self) -> Result<(f64, f64), RunError> {
        self.evaluations += 1;
        self.half(0)?;
        for ((t, u), s) in self.t.iter_mut().zip(&self.u).zip(&self.s) {
            *t = 2.0 * u - s;
        }
        self.half(1)?;
        let scale = |link: &Link| {
            let squares = [&self.s, &self.u, &self.w].map(|x| mean_square(link.of(x)));
            link.weight() * squares.into_iter().fold(0.0, f64::max)
        };
        let total: f64 = self.links.iter().map(scale).sum();
        let (mut norm, mut worst) = (0.0, 0.0_f64);
        for link in &self.links {
            let gap = link.weight() * mean_gap(link.of(&self.u), link.of(&self.w));
            norm += gap;
            // 0/0 where everything is zero
            let own = scale(link).max(FAINT * total);
            worst = worst.max((gap / own).sqrt().max(0.0));
        }
        Ok((norm.sqrt(), worst))
    }

    fn weights(&self) -> Vec<f64> {
        let each = |l: &Link| std::iter::repeat_n(l.rho, l.len);
        self.links.iter().flat_map(each).collect()
    }

    /// Leaves the messages of its last step, and tells who watches about each.
    fn run(
        &mut self,
        messages: &mut [Gaussian],
        tolerance: f64,
        watch: &mut dyn Watch<Gaussian>,
    ) -> Result<(FallbackEnd, f64, usize), RunError> {
        let mut pace = Pace::new(self.weights(), &self.w);
        while self.evaluations < LIMIT && self.evaluations < pace.since + STALLED {
            let (norm, worst) = self.evaluate()?;
            if let Some(back) = pace.rejects(norm) {
                self.s = back;
                continue;
            }
            pace.steps += 1;
            self.messages_into(messages)?;
            if let ControlFlow::Break(reason) = watch.after_step(messages, worst) {
                return Ok((FallbackEnd::Stopped(reason), worst, pace.steps));
            }
            if worst <= FRACTION * tolerance {
                return Ok((FallbackEnd::Stationary, worst, pace.steps));
            }
            if worst < PROGRESS * pace.best {
                (pace.best, pace.since) = (worst, self.evaluations);
            }
            let g: Vec<f64> = self.w.iter().zip(&self.u).map(|(w, u)| w - u).collect();
            let step: Vec<f64> = self.s.iter().zip(&g).map(|(s, g)| s + g).collect();
            if pace.balances() {
                self.balance(&pace.before, &step);
                pace.restart(self.weights());
                continue;
            }
            pace.before.clone_from(&self.w);
            self.s = pace.next(&self.s, &g, step, norm);
        }
        let end = if pace.best <= tolerance {
            FallbackEnd::Stationary
        } else {
            FallbackEnd::Limit {
                bound: "evaluations",
                reached: self.evaluations,
            }
        };
        Ok((end, pace.best, pace.steps))
    }

    /// Brings the relative residuals of places, $w - u$, and of slopes, $w - w_{\text{before}}$, together by a change of $\rho$
    /// that leaves places and slopes as they are.
    fn balance(&mut self, before: &[f64], step: &[f64]) {
        for link in &mut self.links {
            let (u, w) = (link.of(&self.u), link.of(&self.w));
            let (size, slope) = (
                mean_square(u).max(mean_square(w)),
                mean_gap(link.of(&self.s), u),
            );
            let floor = FLOOR * FLOOR * size.max(slope);
            let places = mean_gap(u, w) / size.max(floor);
            let slopes = mean_gap(w, link.of(before)) / slope.max(floor);
            let ratio = (places / slopes).sqrt();
            let change = if ratio.is_finite() && ratio > 0.0 {
                ratio.clamp(1.0 / MOST, MOST)
            } else {
                1.0
            };
            let change = if change.max(1.0 / change) > IMBALANCE {
                change
            } else {
                1.0
            };
            link.rho *= change;
            let new = link.of(step).to_vec();
            let places = w.to_vec();
            let s = link.of_mut(&mut self.s).iter_mut();
            for (s, (new, x)) in s.zip(new.iter().zip(&places)) {
                *s = x + (new - x) / change;
            }
        }
    }

    /// Messages with the precisions of the links, tangent to the energies at their modes; those to variables with one
    /// factor are what that factor says.
    fn messages_into(&mut self, messages: &mut [Gaussian]) -> Result<(), RunError> {
        for (e, message) in messages.iter_mut().enumerate() {
            let Some((l, side)) = self.link_of[e] else {
                continue;
            };
            let link = &self.links[l];
            let (mode, seen) = if side == 0 {
                (link.of(&self.u), link.of(&self.s))
            } else {
                (link.of(&self.w), link.of(&self.t))
            };
            message.precision.set_scalar(link.rho);
            let parts = message.linear.iter_mut().zip(mode.iter().zip(seen));
            parts.for_each(|(b, (x, s))| *b = link.rho * (2.0 * x - s));
        }
        for (f, node) in self.tree.factors().iter().enumerate() {
            let incoming = Incoming::new(&self.store, &node.edges);
            for (port, e) in node.edges.iter().enumerate() {
                if self.link_of[*e].is_none() {
                    let (out, work) = (&mut messages[*e], &mut self.work[f]);
                    rule(node.factor.as_ref())
                        .and_then(|r| r.mode_message(incoming, port, out, work))
                        .map_err(|source| blame(&node.name, source))?;
                }
            }
        }
        Ok(())
    }
}

fn blame(factor: &str, source: FactorError) -> RunError {
    RunError::Factor {
        factor: factor.to_owned(),
        source,
    }
}

fn mean_gap(x: &[f64], y: &[f64]) -> f64 {
    let square: f64 = x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum();
    square / x.len() as f64
}
