//! The convex problem of a tree: its factors in two colours, the links between them, and the precisions these start with.
//!
//! A quadratic energy of one variable needs no link of its own: it is a belief $(a_0, b_0)$ that another factor of that
//! variable carries, or the variable itself where three factors or more are left.

use crate::belief::{Gaussian, Message as _};
use crate::engine::graph::first_message;
use crate::factor::PosteriorRule;
use crate::math::spectrum::Spectrum;
use crate::model::{Tree, Variable};

/// One side of a link: the edge of a factor, or the variable itself, which holds its copies together.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    Factor { edge: usize },
    Variable,
}

/// A copy of a variable between a red and a black end.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub variable: usize,
    /// Red and black.
    pub ends: [End; 2],
    pub start: usize,
    pub len: usize,
    /// The precision on it, and what the quadratic energies of the tree make of it: its unit.
    pub rho: f64,
    pub unit: f64,
}

impl Link {
    /// What turns mean squares into the square of the norm of $\rho$.
    pub fn weight(&self) -> f64 {
        self.rho * self.len as f64
    }

    pub fn of<'a>(&self, x: &'a [f64]) -> &'a [f64] {
        &x[self.start..self.start + self.len]
    }

    pub fn of_mut<'a>(&self, x: &'a mut [f64]) -> &'a mut [f64] {
        &mut x[self.start..self.start + self.len]
    }
}

/// The links of a tree.
pub(super) struct Layout {
    pub links: Vec<Link>,
    /// The link of every edge, and the side on which its factor is.
    pub link_of: Vec<Option<(usize, usize)>>,
    /// What the quadratic energies of every variable say together, if they do not have links.
    pub base: Vec<Option<Gaussian>>,
    /// The edges whose factor carries that.
    pub carries: Vec<bool>,
    /// The edges of those quadratic energies themselves.
    pub absorbed: Vec<bool>,
}

impl Layout {
    pub fn new(tree: &Tree) -> Self {
        let edges = tree.edges().len();
        let mut layout = Self {
            links: Vec::new(),
            link_of: vec![None; edges],
            base: Vec::new(),
            carries: vec![false; edges],
            absorbed: vec![false; edges],
        };
        for variable in tree.variables() {
            layout.absorb(tree, variable);
        }
        let colour = layout.colours(tree);
        for variable in tree.variables() {
            layout.link(tree, variable, &colour);
        }
        let units = units(tree, known(&layout.base));
        for link in &mut layout.links {
            (link.rho, link.unit) = (units[link.variable], units[link.variable]);
        }
        layout
    }

    /// The edges of a variable that are left.
    fn rest<'a>(&'a self, variable: &'a Variable) -> impl Iterator<Item = usize> + Clone + 'a {
        let edges = variable.edges.iter().copied();
        edges.filter(|e| !self.absorbed[*e])
    }

    /// Takes quadratic energies of this variable alone together. If they say nothing, and there is but one other factor,
    /// they keep their link: that factor may need one.
    fn absorb(&mut self, tree: &Tree, variable: &Variable) {
        let mut base = Gaussian::flat(&variable.spec);
        let mut own = Vec::new();
        for e in &variable.edges {
            let node = tree.factor_at(*e);
            let constant = node
                .factor
                .posterior()
                .is_some_and(PosteriorRule::is_constant);
            if node.edges.len() > 1 || !constant {
                continue;
            }
            if let Some(said) = first_message(node.factor.as_ref(), variable) {
                base.add_assign(&said);
                own.push(*e);
            }
        }
        let proper = base.precision.scalar() > 0.0;
        if !proper && variable.edges.len() < own.len() + 2 {
            own.clear();
        }
        own.iter().for_each(|e| self.absorbed[*e] = true);
        self.base.push((proper && !own.is_empty()).then_some(base));
    }

    fn link(&mut self, tree: &Tree, variable: &Variable, colour: &[usize]) {
        let rest: Vec<usize> = self.rest(variable).collect();
        let ports = |e: usize| tree.factors()[tree.edges()[e].factor].edges.len();
        if rest.len() <= 2 && self.base[variable.index].is_some() {
            // channels have their solutions by formula
            if let Some(e) = rest.iter().copied().max_by_key(|e| ports(*e)) {
                self.carries[e] = true;
            }
        }
        let ends: &[usize] = match rest.len() {
            0 | 1 => &[],
            2 => &rest[..1],
            _ => &rest,
        };
        for e in ends {
            let side = colour[tree.edges()[*e].factor];
            let far = if rest.len() > 2 {
                End::Variable
            } else {
                self.link_of[rest[1]] = Some((self.links.len(), 1 - side));
                End::Factor { edge: rest[1] }
            };
            self.link_of[*e] = Some((self.links.len(), side));
            let near = End::Factor { edge: *e };
            self.links.push(Link {
                variable: variable.index,
                ends: if side == 0 { [near, far] } else { [far, near] },
                start: self.links.last().map_or(0, |l| l.start + l.len),
                len: variable.spec.len(),
                rho: 1.0,
                unit: 1.0,
            });
        }
    }

    /// A colour for every factor: neighbours through a variable with two factors differ, those around a variable with more
    /// have the same.
    fn colours(&self, tree: &Tree) -> Vec<usize> {
        let mut colour: Vec<Option<usize>> = vec![None; tree.factors().len()];
        for root in 0..colour.len() {
            let mut open = vec![(root, 0)];
            while let Some((f, c)) = open.pop() {
                if colour[f].is_some() {
                    continue;
                }
                colour[f] = Some(c);
                for e in tree.factors()[f]
                    .edges
                    .iter()
                    .filter(|e| !self.absorbed[**e])
                {
                    let rest = self.rest(&tree.variables()[tree.edges()[*e].variable]);
                    let next = if rest.clone().count() == 2 { 1 - c } else { c };
                    let around = rest.map(|o| (tree.edges()[o].factor, next));
                    open.extend(around.filter(|(g, _)| *g != f));
                }
            }
        }
        colour.into_iter().map(|c| c.unwrap_or(0)).collect()
    }

    /// The copies of a variable that is a node of this side become their mean, weighted by $\rho$ and with what the variable
    /// has of its own.
    pub fn hold_together(&self, side: usize, from: &[f64], to: &mut [f64]) {
        let own = |l: &&Link| matches!(l.ends[side], End::Variable);
        for link in self.links.iter().filter(own) {
            let copies = || {
                let same = self.links.iter().filter(own);
                same.filter(|l| l.variable == link.variable)
            };
            let base = self.base[link.variable].as_ref();
            if let Some(pin) = base.filter(|b| b.is_pinned()) {
                link.of_mut(to).copy_from_slice(&pin.linear);
                continue;
            }
            let own = base.map_or(0.0, |b| b.precision.scalar());
            let total: f64 = own + copies().map(|l| l.rho).sum::<f64>();
            for i in 0..link.len {
                let sum: f64 = copies().map(|l| l.rho * from[l.start + i]).sum();
                to[link.start + i] = (sum + base.map_or(0.0, |b| b.linear[i])) / total;
            }
        }
    }
}

fn proper(a: f64) -> bool {
    a > 0.0 && a.is_finite()
}

/// The precision that quadratic energies give every variable; zero where there are none.
fn known(base: &[Option<Gaussian>]) -> Vec<f64> {
    let of = |b: &Option<Gaussian>| b.as_ref().map_or(0.0, |b| b.precision.scalar());
    base.iter().map(of).collect()
}

/// A precision in the units of every variable: what is known of it, or of its neighbour through a channel, which changes units by its mean
/// eigenvalue. One where nothing is known at all.
fn units(tree: &Tree, mut known: Vec<f64>) -> Vec<f64> {
    for _ in 0..tree.variables().len() {
        for node in tree.factors() {
            let [input, output] = node.edges[..] else {
                continue;
            };
            let [input, output] = [input, output].map(|e| tree.edges()[e].variable);
            let mean = node.factor.spectrum().map_or(1.0, Spectrum::mean);
            if !proper(known[input]) && proper(known[output]) {
                known[input] = mean * known[output];
            } else if !proper(known[output]) && proper(known[input]) {
                known[output] = known[input] / mean;
            }
        }
    }
    let one = |a: f64| if proper(a) { a } else { 1.0 };
    known.into_iter().map(one).collect()
}
