//! The links between the two colours of a tree, and the precisions they start with.

use crate::belief::Gaussian;
use crate::model::Tree;

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
    /// The precision on it.
    pub rho: f64,
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

/// The copies of a variable that is a node of this side become their mean, weighted by $\rho$.
pub(super) fn hold_together(links: &[Link], side: usize, from: &[f64], to: &mut [f64]) {
    let own = |l: &&Link| matches!(l.ends[side], End::Variable);
    for link in links.iter().filter(own) {
        let copies = || {
            links
                .iter()
                .filter(own)
                .filter(|l| l.variable == link.variable)
        };
        let total: f64 = copies().map(|l| l.rho).sum();
        for i in 0..link.len {
            let sum: f64 = copies().map(|l| l.rho * from[l.start + i]).sum();
            to[link.start + i] = sum / total;
        }
    }
}

/// The precision of a link: what the sweeps found, the geometric mean of both directions.
fn precision(forward: f64, backward: f64) -> f64 {
    let proper = |a: f64| a > 0.0 && a.is_finite();
    match (proper(forward), proper(backward)) {
        (true, true) => (forward * backward).sqrt(),
        (true, false) => forward,
        (false, true) => backward,
        (false, false) => 1.0,
    }
}

/// The links, and for every edge its link and side.
pub(super) fn links(
    tree: &Tree,
    messages: &[Gaussian],
) -> (Vec<Link>, Vec<Option<(usize, usize)>>) {
    let colour = colours(tree);
    let (mut links, mut link_of) = (Vec::new(), vec![None; tree.edges().len()]);
    let mut start = 0;
    for variable in tree.variables() {
        let edges = &variable.edges;
        let others = |e: usize| -> f64 {
            let others = edges.iter().filter(|o| **o != e);
            others.map(|o| messages[*o].precision.scalar()).sum()
        };
        let held = edges.len() > 2;
        let ends: &[usize] = match edges.len() {
            0 | 1 => &[],
            2 => &edges[..1],
            _ => edges,
        };
        for e in ends {
            let side = colour[tree.edges()[*e].factor];
            let far = if held {
                End::Variable
            } else {
                link_of[edges[1]] = Some((links.len(), 1 - side));
                End::Factor { edge: edges[1] }
            };
            link_of[*e] = Some((links.len(), side));
            let near = End::Factor { edge: *e };
            links.push(Link {
                variable: variable.index,
                ends: if side == 0 { [near, far] } else { [far, near] },
                start,
                len: variable.spec.len(),
                rho: precision(messages[*e].precision.scalar(), others(*e)),
            });
            start += variable.spec.len();
        }
    }
    (links, link_of)
}

/// A colour for every factor: neighbours through a variable with two factors differ, those around a variable with more
/// have the same.
fn colours(tree: &Tree) -> Vec<usize> {
    let mut colour: Vec<Option<usize>> = vec![None; tree.factors().len()];
    for root in 0..colour.len() {
        let mut open = vec![(root, 0)];
        while let Some((f, c)) = open.pop() {
            if colour[f].is_some() {
                continue;
            }
            colour[f] = Some(c);
            for e in &tree.factors()[f].edges {
                let edges = &tree.variables()[tree.edges()[*e].variable].edges;
                let next = if edges.len() == 2 { 1 - c } else { c };
                let around = edges.iter().map(|o| (tree.edges()[*o].factor, next));
                open.extend(around.filter(|(g, _)| *g != f));
            }
        }
    }
    colour.into_iter().map(|c| c.unwrap_or(0)).collect()
}
