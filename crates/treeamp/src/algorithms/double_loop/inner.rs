//! The inner problem of the double loop: the dual $-\sum_f A_f[\lambda_f]$ under
//! $\sum_f\lambda_{fx} = (n_x - 1)\theta_x$, and its gradient.

use crate::belief::{Gaussian, Message as _, Moments};
use crate::engine::graph::Graph;
use crate::error::{FactorError, RunError};
use crate::factor::{Context, Incoming, Workspace, posterior};
use crate::model::Tree;

/// Scales are renewed when one has changed by more than this, in the logarithm.
const KEPT_SCALES: f64 = 0.5;
/// Factors agree relative to the second moment of a variable, or to its variance times this if that is smaller.
const FINE: f64 = 1e6;
/// Trials of a step before it is given up.
pub(super) const TRIALS: usize = 25;

/// The dual: cavities $\lambda$ by edge, beliefs $\theta$ by variable, and the moments that each factor
/// gives the variables around it.
#[derive(Clone)]
pub(super) struct Dual<'t> {
    pub(super) tree: &'t Tree,
    pub lambda: Vec<Gaussian>,
    pub(super) theta: Vec<Gaussian>,
    pub(super) moments: Vec<Moments>,
    workspaces: Vec<Workspace>,
    /// Variables that are not pinned and have more than one factor.
    pub(super) free: Vec<usize>,
    /// What makes the curvature of the coordinates of a variable about one, for every precision it has: for $a$ and
    /// for $b$.
    scales: Vec<Vec<(f64, f64)>>,
    /// Evaluations of all moments.
    pub evaluations: usize,
    /// The scales have changed since this was last taken back.
    pub rescaled: bool,
    size: f64,
}

/// One pair per precision: a single one of an isotropic belief, one per component of a diagonal one.
fn lambda_scales(theta: &[Gaussian]) -> Vec<Vec<(f64, f64)>> {
    let blank = |t: &Gaussian| vec![(0.0, 0.0); t.precision.data().len()];
    theta.iter().map(blank).collect()
}

/// How many components share a precision.
pub(super) fn shared(belief: &Gaussian) -> usize {
    belief.len() / belief.precision.data().len().max(1)
}

impl<'t> Dual<'t> {
    pub fn new(tree: &'t Tree, messages: &[Gaussian]) -> Result<Self, RunError> {
        let variables = tree.variables();
        let (edges, graph) = (tree.edges(), Graph::new(tree, messages));
        let lambda: Vec<Gaussian> = (0..edges.len()).map(|e| graph.cavity(e)).collect();
        let theta: Vec<Gaussian> = (0..variables.len()).map(|v| graph.belief(v)).collect();
        let free = |v: &usize| variables[*v].edges.len() > 1 && !theta[*v].is_pinned();
        let moments = edges
            .iter()
            .map(|e| Moments::zeros(&variables[e.variable].spec));
        let mut dual = Self {
            tree,
            moments: moments.collect(),
            workspaces: tree.workspaces(),
            free: (0..variables.len()).filter(free).collect(),
            scales: lambda_scales(&theta),
            lambda,
            theta,
            evaluations: 0,
            rescaled: true,
            size: 1.0,
        };
        dual.begin()?;
        Ok(dual)
    }

    /// The first moments, from cavities that are proper.
    fn begin(&mut self) -> Result<(), RunError> {
        let finite = |v: &usize| {
            self.theta[*v]
                .precision
                .data()
                .iter()
                .all(|a| a.is_finite())
        };
        if let Some(v) = self.free.iter().find(|v| !finite(v)) {
            return Err(RunError::NotDefined {
                what: "a double loop".to_owned(),
                why: format!(
                    "some components of variable `{}` are known exactly, and others are not",
                    self.tree.variables()[*v].name
                ),
            });
        }
        let mut first = self.evaluate();
        if matches!(&first, Err((_, error)) if error.is_recoverable()) {
            self.share_equally();
            first = self.evaluate();
        }
        first.map_err(|(factor, source)| RunError::Factor { factor, source })?;
        self.free_energy()?;
        self.rescale();
        Ok(())
    }

    /// Cavities that are equal parts of the belief, $\lambda_{fx} = (1 - 1/n_x)\,\theta_x$: proper where those that the sweeps
    /// left are not.
    fn share_equally(&mut self) {
        for v in &self.free {
            let (edges, theta) = (&self.tree.variables()[*v].edges, &self.theta[*v]);
            let flat = Gaussian::flat(&self.tree.variables()[*v].spec);
            for e in edges {
                self.lambda[*e].copy_from(theta);
                self.lambda[*e].blend(&flat, 1.0 / edges.len() as f64);
            }
        }
    }

    /// Coordinates: of all edges of a free variable but the last, $a$ and $b$.
    pub fn dimension(&self) -> usize {
        let count = |v: &usize| {
            let theta = &self.theta[*v];
            let edges = &self.tree.variables()[*v].edges;
            (edges.len() - 1) * (theta.precision.data().len() + theta.len())
        };
        self.free.iter().map(count).sum()
    }

    /// The moments at every edge, from its factor.
    pub fn evaluate(&mut self) -> Result<(), (String, FactorError)> {
        self.evaluations += 1;
        for (f, node) in self.tree.factors().iter().enumerate() {
            let blame = |e: FactorError| (node.name.clone(), e);
            let rule = posterior(node.factor.as_ref()).map_err(blame)?;
            let incoming = Incoming::new(&self.lambda, &node.edges);
            let mut context = Context::new(incoming, &mut self.workspaces[f]);
            for (port, e) in node.edges.iter().enumerate() {
                let out = &mut self.moments[*e];
                rule.moments(&mut context, port, out).map_err(blame)?;
                let v = out.average_variance();
                let negative = out.variance.data().iter().any(|v| *v < 0.0);
                if negative || !(v.is_finite() && out.mean.iter().all(|r| r.is_finite())) {
                    return Err(blame(FactorError::Improper(format!(
                        "its variance is {v:e}"
                    ))));
                }
            }
        }
        Ok(())
    }

    /// $F = -\sum_f A_f[\lambda_f] + \sum_x (n_x - 1) A_x[\theta_x]$.
    pub fn free_energy(&mut self) -> Result<f64, RunError> {
        let mut energy = 0.0;
        self.size = 1.0;
        for (f, node) in self.tree.factors().iter().enumerate() {
            let incoming = Incoming::new(&self.lambda, &node.edges);
            let mut context = Context::new(incoming, &mut self.workspaces[f]);
            let value = posterior(node.factor.as_ref())
                .and_then(|r| r.log_partition(&mut context))
                .map_err(|source| RunError::Factor {
                    factor: node.name.clone(),
                    source,
                })?;
            energy -= value;
            self.size += value.abs();
        }
        for v in &self.free {
            let n = self.tree.variables()[*v].edges.len() as f64;
            energy += (n - 1.0) * self.theta[*v].log_partition();
        }
        Ok(energy)
    }

    /// The size of the terms of the free energy, which its rounding is relative to.
    pub fn scale(&self) -> f64 {
        self.size
    }

    pub(super) fn rescale(&mut self) {
        for v in &self.free {
            let m = &self.moments[self.tree.variables()[*v].edges[0]];
            let n = shared(&self.theta[*v]);
            let wanted = |g: usize| {
                let var = m.variance.data()[g].max(f64::MIN_POSITIVE);
                let square: f64 = m.mean[g * n..(g + 1) * n].iter().map(|r| r * r).sum();
                let a = (n as f64 * var * var + 2.0 * var * square).sqrt();
                (a, (2.0 * var).sqrt())
            };
            // as long as they are about right, what was learnt in them stays
            let mut scales = self.scales[*v].iter().enumerate();
            if scales.any(|(g, s)| (wanted(g).1 / s.1).ln().abs() > KEPT_SCALES) {
                self.scales[*v] = (0..self.scales[*v].len()).map(wanted).collect();
                self.rescaled = true;
            }
        }
    }

    /// The gradient of $\sum_f A_f$ in scaled coordinates, and how far the factors disagree, relative.
    pub fn gradient(&self, out: &mut [f64]) -> f64 {
        let (mut k, mut worst) = (0, 0.0_f64);
        for v in &self.free {
            let edges = &self.tree.variables()[*v].edges;
            let last = &self.moments[edges[edges.len() - 1]];
            let (scales, n) = (&self.scales[*v], last.mean.len() as f64);
            let size = shared(&self.theta[*v]);
            for e in &edges[..edges.len() - 1] {
                let own = &self.moments[*e];
                let (mut gaps, mut dv) = (0.0, 0.0);
                let (first, rest) = out[k..].split_at_mut(scales.len());
                for (g, (sa, sb)) in scales.iter().enumerate() {
                    let mut squares = 0.0;
                    for i in g * size..(g + 1) * size {
                        let (r, s) = (own.mean[i], last.mean[i]);
                        squares += (r - s) * (r + s);
                        gaps += (r - s) * (r - s);
                        rest[i] = (r - s) / sb;
                    }
                    let apart = size as f64 * (own.variance.data()[g] - last.variance.data()[g]);
                    first[g] = -0.5 * (squares + apart) / sa;
                    dv += apart.abs() / n;
                }
                k += scales.len() + own.mean.len();
                // where a variance vanishes, moments must agree at its scale for the free energy to be one
                let fine = Some(FINE * last.average_variance()).filter(|x| *x > 0.0);
                let tau = last.second_moment().min(fine.unwrap_or(f64::INFINITY));
                worst = worst.max((gaps / n / tau).sqrt()).max(dv / tau);
            }
        }
        worst
    }

    /// Moves $\lambda$ along a direction in scaled coordinates, within the constraint.
    pub fn shift(&mut self, direction: &[f64], t: f64) {
        let mut k = 0;
        for v in &self.free {
            let edges = &self.tree.variables()[*v].edges;
            let last = edges[edges.len() - 1];
            let (scales, size) = (&self.scales[*v], shared(&self.theta[*v]));
            for e in &edges[..edges.len() - 1] {
                let (first, rest) = direction[k..].split_at(scales.len());
                for (edge, sign) in [(*e, t), (last, -t)] {
                    let Gaussian {
                        precision, linear, ..
                    } = &mut self.lambda[edge];
                    let parts = linear.chunks_mut(size).zip(rest.chunks(size));
                    let parts = precision.data_mut().iter_mut().zip(parts).zip(first);
                    for (((a, (b, db)), da), (sa, sb)) in parts.zip(scales) {
                        *a += sign * da / sa;
                        b.iter_mut().zip(db).for_each(|(b, d)| *b += sign * d / sb);
                    }
                }
                k += scales.len() + self.lambda[*e].len();
            }
        }
    }

    /// The variance of a variable, the largest that a factor around it gives, and over its second moment.
    fn variance(&self, v: usize) -> (f64, f64) {
        let edges = &self.tree.variables()[v].edges;
        let moments = edges.iter().map(|e| &self.moments[*e]);
        let each = moments.map(|m| (m.average_variance(), m.second_moment()));
        each.fold((0.0, 0.0), |(most, fraction), (v, tau)| {
            (most.max(v), fraction.max(v / tau))
        })
    }

    /// The free variable with the smallest variance relative to its second moment: its number, variance and that
    /// fraction; and the largest such fraction.
    pub fn smallest_variance(&self) -> Option<(usize, f64, f64, f64)> {
        let each = || self.free.iter().map(|v| (*v, self.variance(*v)));
        let (v, (variance, fraction)) = each().min_by(|x, y| x.1.1.total_cmp(&y.1.1))?;
        let largest = each().map(|x| x.1.1).fold(0.0, f64::max);
        Some((v, variance, fraction, largest))
    }

    /// What the first factor around each variable says of it.
    pub fn marginals(&self) -> Vec<Moments> {
        let variables = self.tree.variables().iter();
        variables
            .map(|v| self.moments[v.edges[0]].clone())
            .collect()
    }

    /// The messages $\theta_x - \lambda_{fx}$.
    pub fn messages_into(&self, messages: &mut [Gaussian]) {
        for v in &self.free {
            for e in &self.tree.variables()[*v].edges {
                let (theta, lambda, out) = (&self.theta[*v], &self.lambda[*e], &mut messages[*e]);
                subtract(
                    out.precision.data_mut(),
                    theta.precision.data(),
                    lambda.precision.data(),
                );
                subtract(&mut out.linear, &theta.linear, &lambda.linear);
            }
        }
    }
}

fn subtract(out: &mut [f64], x: &[f64], y: &[f64]) {
    out.iter_mut()
        .zip(x.iter().zip(y))
        .for_each(|(o, (x, y))| *o = x - y);
}
