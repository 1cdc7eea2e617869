//! The modes of both colours of a tree, which make one step of the splitting, and the messages that belong to them.

use super::links::{End, Layout, Link};
use crate::belief::{Gaussian, Message as _, Moments, mean_square};
use crate::engine::graph::Graph;
use crate::error::{FactorError, RunError};
use crate::factor::{Context, Incoming, Workspace, proximal};
use crate::model::Tree;

/// A link whose squared norm is below this fraction of the whole is measured by the whole.
const FAINT: f64 = 1e-4;

/// The problem of a tree, and a state of its splitting.
pub(super) struct Problem<'t> {
    pub tree: &'t Tree,
    pub layout: Layout,
    store: Vec<Gaussian>,
    modes: Vec<Moments>,
    workspaces: Vec<Workspace>,
    /// State, modes of both colours, and what the black ones saw.
    pub s: Vec<f64>,
    pub u: Vec<f64>,
    pub t: Vec<f64>,
    pub w: Vec<f64>,
    /// The residual $w - u$, the plain step $s + w - u$, and $w$ of the step before.
    pub gap: Vec<f64>,
    pub plain: Vec<f64>,
    pub before: Vec<f64>,
    pub evaluations: usize,
}

impl<'t> Problem<'t> {
    pub fn new(tree: &'t Tree, messages: &[Gaussian]) -> Self {
        let layout = Layout::new(tree);
        let size = layout.links.iter().map(|l| l.len).sum();
        let edges = 0..tree.edges().len();
        let seen = edges.clone().map(|e| {
            let variable = tree.variable_at(e);
            let base = layout.base[variable.index].clone();
            let flat = || Gaussian::flat(&variable.spec);
            base.filter(|_| layout.carries[e]).unwrap_or_else(flat)
        });
        let zeros = || vec![0.0; size];
        let mut problem = Self {
            store: seen.collect(),
            modes: edges
                .map(|e| Moments::zeros(&tree.variable_at(e).spec))
                .collect(),
            workspaces: tree.workspaces(),
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
        problem.start(messages);
        problem
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
            let mut context = Context::new(incoming, &mut self.workspaces[f]);
            for (port, e) in node.edges.iter().enumerate() {
                let Some((l, _)) = link_of(*e) else { continue };
                let mode = &mut self.modes[*e];
                proximal(node.factor.as_ref())
                    .and_then(|r| r.mode(&mut context, port, mode))
                    .map_err(|source| blame(&node.name, source))?;
                layout.links[l].of_mut(to).copy_from_slice(&mode.mean);
            }
        }
        layout.hold_together(side, from, to);
        Ok(())
    }

    /// One evaluation of both colours. Gives $\|w - u\|_\rho$, and the largest disagreement on a link, relative to
    /// its scale.
    pub fn evaluate(&mut self) -> Result<(f64, f64), RunError> {
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

    /// Every variable where its channel has it, and elsewhere where the messages meet: constraints of channels hold there.
    pub fn at_channels(&self, messages: &[Gaussian]) -> Vec<Vec<f64>> {
        let mut places = Graph::new(self.tree, messages).places();
        let is_channel = |end: End| match end {
            End::Factor { edge } => self.tree.factor_at(edge).edges.len() > 1,
            End::Variable => false,
        };
        for link in &self.layout.links {
            let side = link.ends.iter().position(|end| is_channel(*end));
            let from = [&self.u, &self.w][side.unwrap_or(0)];
            places[link.variable].copy_from_slice(link.of(from));
        }
        places
    }

    /// The precision of every component.
    pub fn precisions(&self) -> impl Iterator<Item = f64> + '_ {
        let each = |l: &Link| std::iter::repeat_n(l.rho, l.len);
        self.layout.links.iter().flat_map(each)
    }

    /// Messages with the precisions of the links, tangent to the energies at their modes; those to variables with one
    /// factor are what that factor says.
    pub fn messages_into(&mut self, messages: &mut [Gaussian]) -> Result<(), RunError> {
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
            let mut context = Context::new(incoming, &mut self.workspaces[f]);
            for (port, e) in node.edges.iter().enumerate() {
                if self.layout.link_of[*e].is_none() {
                    let out = &mut messages[*e];
                    proximal(node.factor.as_ref())
                        .and_then(|r| r.mode_message(&mut context, port, out))
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
