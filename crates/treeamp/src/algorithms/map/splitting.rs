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

use super::agreement::{energies_agree, energy_gap};
use super::balance::change;
use super::links::{End, Layout, Link};
use super::pace::Pace;
use super::rest::{Rest, TIGHTER};
use super::rule;
use super::slopes::slopes_agree;
use crate::belief::{Gaussian, Message as _, Moments, mean_square};
use crate::engine::{FallbackEnd, FallbackReport, Options, Watch};
use crate::error::{FactorError, RunError};
use crate::factor::{Incoming, ProximalRule};
use crate::model::{Edge, Tree};

/// Evaluations of all modes after which it gives up.
const LIMIT: usize = 50_000;
/// The splitting may end at this multiple of the tolerance of the sweeps: it measures how far two factors disagree on a
/// place, they a change from one sweep to the next.
const COARSER: f64 = 10.0;
/// Where the energy of the minimiser is not yet the objective, it goes on to this fraction of the tolerance, and again, down
/// to the rounding of a solve.
const FINEST: f64 = 1e-13;
/// Energy and objective that differ by more than this fraction of the energies are not at a minimiser, whatever the residual.
const NO_MINIMISER: f64 = 1e-6;
/// A link whose squared norm is below this fraction of the whole is measured by the whole.
const FAINT: f64 = 1e-4;
/// Progress is a residual below this fraction of the best.
const PROGRESS: f64 = 0.9;
/// Who watches is told about so many first steps, and then about one in so many.
const WATCHED: usize = 10;

struct Splitting<'t> {
    tree: &'t Tree,
    layout: Layout,
    store: Vec<Gaussian>,
    modes: Vec<Moments>,
    work: Vec<Vec<f64>>,
    /// State, modes of both colours, and what the black ones saw.
    s: Vec<f64>,
    u: Vec<f64>,
    t: Vec<f64>,
    w: Vec<f64>,
    /// The residual $w - u$, the plain step $s + w - u$, and $w$ of the step before.
    gap: Vec<f64>,
    plain: Vec<f64>,
    before: Vec<f64>,
    evaluations: usize,
}

/// Where a full sweep moves by more than this, relative, slopes are lost in the rounding of precisions that ran away.
const MOVES: f64 = 1e-2;

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
    let warm = messages.iter().any(|m| !m.is_flat());
    let mut report = attempt(tree, messages, options, watch, false)?;
    // sweeps that went astray leave precisions that are of no use: once more without them, and then with ever smaller ones
    for (needed, reduces) in [(warm, false), (true, true)] {
        if !needed || !matches!(report.end, FallbackEnd::Limit { .. }) {
            continue;
        }
        let flat = |e: &Edge| Gaussian::flat(&tree.variables()[e.variable].spec);
        let mut cold: Vec<Gaussian> = tree.edges().iter().map(flat).collect();
        let mut next = attempt(tree, &mut cold, options, watch, reduces)?;
        next.steps += report.steps;
        next.evaluations += report.evaluations;
        messages.clone_from_slice(&cold);
        report = next;
    }
    Ok(report)
}

/// One splitting, at the precisions of the messages.
fn attempt(
    tree: &Tree,
    messages: &mut [Gaussian],
    options: &Options,
    watch: &mut dyn Watch<Gaussian>,
    reduces: bool,
) -> Result<FallbackReport, RunError> {
    let mut splitting = Splitting::new(tree, messages);
    let mut pace = Pace::new(splitting.weights(), reduces);
    let (mut rest, goal) = (Rest::default(), COARSER * options.tolerance);
    let mut tolerance = goal;
    let end = loop {
        let end = splitting.run((&mut pace, &mut rest), tolerance, messages, watch)?;
        splitting.messages_into(messages)?;
        let settled = end == FallbackEnd::Stationary;
        let agree = || energies_agree(tree, messages) && slopes_agree(tree, messages);
        if settled && tolerance >= FINEST && !agree() {
            tolerance *= TIGHTER;
            continue;
        }
        // a small residual next to an energy that is not the objective, or to slopes that do not cancel, is no minimiser; one that
        // is not feasible is refuted with the name of its factor later
        let gap = energy_gap(tree, messages);
        let moves = watch.sweep_residual(messages).is_some_and(|r| r > MOVES);
        let rests = gap <= NO_MINIMISER && slopes_agree(tree, messages) && !moves;
        let is_minimiser = pace.last <= goal && (rests || gap.is_infinite());
        break match end {
            FallbackEnd::Stopped(_) => end,
            _ if is_minimiser => FallbackEnd::Stationary,
            FallbackEnd::Limit { .. } => end,
            _ => splitting.limit(),
        };
    };
    Ok(FallbackReport {
        method: "splitting",
        steps: pace.steps,
        evaluations: splitting.evaluations,
        residual: pace.last,
        sweep_residual: watch.sweep_residual(messages),
        free_energy: Vec::new(),
        descent: None,
        went_back: false,
        end,
    })
}

impl<'t> Splitting<'t> {
    fn new(tree: &'t Tree, messages: &[Gaussian]) -> Self {
        let layout = Layout::new(tree, messages);
        let size = layout.links.iter().map(|l| l.len).sum();
        let variable = |e: usize| &tree.variables()[tree.edges()[e].variable];
        let edges = 0..tree.edges().len();
        let work = (0..tree.factors().len()).map(|f| {
            let ports = tree.port_specs(f);
            vec![0.0; tree.factors()[f].factor.workspace_len(&ports)]
        });
        let seen = edges.clone().map(|e| {
            let base = layout.base[variable(e).index].clone();
            let flat = || Gaussian::flat(&variable(e).spec);
            base.filter(|_| layout.carries[e]).unwrap_or_else(flat)
        });
        let zeros = || vec![0.0; size];
        let mut splitting = Self {
            store: seen.collect(),
            modes: edges.map(|e| Moments::zeros(&variable(e).spec)).collect(),
            work: work.collect(),
            s: zeros(),
            u: zeros(),
            t: zeros(),
            w: zeros(),
            gap: zeros(),
            plain: zeros(),
            before: zeros(),
            tree,
            layout,
            evaluations: 0,
        };
        splitting.start(messages);
        splitting
    }

    /// $s = x + g/\rho$ with the slope $g$ of the red energy that the messages imply.
    fn start(&mut self, messages: &[Gaussian]) {
        for link in &self.layout.links {
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
        let layout = &self.layout;
        for (f, node) in self.tree.factors().iter().enumerate() {
            let link_of = |e: usize| layout.link_of[e].filter(|(_, s)| *s == side);
            for e in &node.edges {
                let Some((l, _)) = link_of(*e) else { continue };
                let (link, message) = (&layout.links[l], &mut self.store[*e]);
                message.precision.set_scalar(link.rho);
                let parts = message.linear.iter_mut().zip(link.of(from));
                parts.for_each(|(b, s)| *b = link.rho * s);
                if let Some(base) = layout.base[link.variable]
                    .as_ref()
                    .filter(|_| layout.carries[*e])
                {
                    message.add_assign(base);
                }
            }
            let incoming = Incoming::new(&self.store, &node.edges);
            for (port, e) in node.edges.iter().enumerate() {
                let Some((l, _)) = link_of(*e) else { continue };
                let mode = &mut self.modes[*e];
                rule(node.factor.as_ref())
                    .and_then(|r| r.mode(incoming, port, mode, &mut self.work[f]))
                    .map_err(|source| blame(&node.name, source))?;
                layout.links[l].of_mut(to).copy_from_slice(&mode.mean);
            }
        }
        layout.hold_together(side, from, to);
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
        for i in 0..self.s.len() {
            self.gap[i] = self.w[i] - self.u[i];
            self.plain[i] = self.s[i] + self.gap[i];
        }
        let scale = |link: &Link| {
            let squares = [&self.s, &self.u, &self.w].map(|x| mean_square(link.of(x)));
            link.weight() * squares.into_iter().fold(0.0, f64::max)
        };
        let total: f64 = self.layout.links.iter().map(scale).sum();
        let (mut norm, mut worst) = (0.0, 0.0_f64);
        for link in &self.layout.links {
            let gap = link.weight() * mean_square(link.of(&self.gap));
            norm += gap;
            // 0/0 where everything is zero
            let own = scale(link).max(FAINT * total);
            worst = worst.max((gap / own).sqrt().max(0.0));
        }
        Ok((norm.sqrt(), worst))
    }

    fn weights(&self) -> Vec<f64> {
        let each = |l: &Link| std::iter::repeat_n(l.rho, l.len);
        self.layout.links.iter().flat_map(each).collect()
    }

    /// Runs until the disagreement is below the tolerance, or its limit or a standstill comes. Tells who watches about the
    /// first ten steps and every tenth: their messages cost about as much as a step.
    fn run(
        &mut self,
        (pace, rest): (&mut Pace, &mut Rest),
        tolerance: f64,
        messages: &mut [Gaussian],
        watch: &mut dyn Watch<Gaussian>,
    ) -> Result<FallbackEnd, RunError> {
        while self.evaluations < LIMIT && pace.goes_on(self.evaluations) {
            let (norm, worst) = self.evaluate()?;
            if pace.rejects(norm, &self.gap, &mut self.s) {
                continue;
            }
            pace.steps += 1;
            pace.last = worst;
            if pace.steps <= WATCHED || pace.steps.is_multiple_of(WATCHED) {
                self.messages_into(messages)?;
                if let ControlFlow::Break(reason) = watch.after_step(messages, worst) {
                    return Ok(FallbackEnd::Stopped(reason));
                }
            }
            if worst < PROGRESS * pace.mark {
                (pace.mark, pace.since) = (worst, self.evaluations);
            }
            if rest.looks(worst) {
                self.messages_into(messages)?;
                rest.note(self.tree, messages, worst);
            }
            if rest.is_reached(worst, tolerance, pace.is_balanced()) {
                return Ok(FallbackEnd::Stationary);
            }
            if pace.balances() {
                let (changed, reduced) = self.balance(pace);
                if reduced {
                    // disagreements before and after do not compare
                    *rest = Rest::default();
                }
                pace.restart(self.weights(), self.evaluations, changed);
                continue;
            }
            self.before.copy_from_slice(&self.w);
            let slow = pace.is_slow(self.evaluations);
            pace.advance(&mut self.s, (&self.gap, &self.plain), norm, slow);
        }
        self.evaluate()?;
        Ok(self.limit())
    }

    fn limit(&self) -> FallbackEnd {
        FallbackEnd::Limit {
            bound: "evaluations",
            reached: self.evaluations,
        }
    }

    /// Brings the relative residuals of places, $w - u$, and of slopes, $w - w_{\text{before}}$, together by a change of $\rho$
    /// that leaves places and slopes as they are, or makes $\rho$ smaller at a standstill. Whether there was a change, and
    /// of that kind.
    fn balance(&mut self, pace: &mut Pace) -> (bool, bool) {
        let of = |link: &Link| {
            let seen = (link.of(&self.s), link.of(&self.u));
            change(seen, link.of(&self.w), link.of(&self.before))
        };
        let changes: Vec<Option<f64>> = self.layout.links.iter().map(of).collect();
        let reduction = pace.reduction();
        let changed = reduction.is_some() || changes.iter().any(Option::is_some);
        for (link, change) in self.layout.links.iter_mut().zip(changes) {
            let change = reduction.or(change).unwrap_or(1.0);
            link.rho *= change;
            let s = link.of_mut(&mut self.s).iter_mut();
            for (s, (new, x)) in s.zip(link.of(&self.plain).iter().zip(link.of(&self.w))) {
                *s = x + (new - x) / change;
            }
        }
        (changed, reduction.is_some())
    }

    /// Messages with the precisions of the links, tangent to the energies at their modes; those to variables with one
    /// factor are what that factor says.
    fn messages_into(&mut self, messages: &mut [Gaussian]) -> Result<(), RunError> {
        for (e, message) in messages.iter_mut().enumerate() {
            let Some((l, side)) = self.layout.link_of[e] else {
                continue;
            };
            let link = &self.layout.links[l];
            let (mode, seen) = if side == 0 {
                (link.of(&self.u), link.of(&self.s))
            } else {
                (link.of(&self.w), link.of(&self.t))
            };
            message.precision.set_scalar(link.rho);
            let parts = message.linear.iter_mut().zip(mode.iter().zip(seen));
            parts.for_each(|(b, (x, s))| *b = link.rho * (2.0 * x - s));
            // the slope of what it carried is not its own
            let base = self.layout.base[link.variable].as_ref();
            if let Some(base) = base.filter(|b| self.layout.carries[e] && !b.is_pinned()) {
                let a = base.precision.scalar();
                let parts = message.linear.iter_mut().zip(mode.iter().zip(&base.linear));
                parts.for_each(|(b, (x, own))| *b += a * x - own);
            }
        }
        for (f, node) in self.tree.factors().iter().enumerate() {
            let incoming = Incoming::new(&self.store, &node.edges);
            for (port, e) in node.edges.iter().enumerate() {
                if self.layout.link_of[*e].is_none() {
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
