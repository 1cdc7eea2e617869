//! The inner problem of the double loop: the dual $-\sum_f A_f[\lambda_f]$ under
//! $\sum_f\lambda_{fx} = (n_x - 1)\theta_x$, and its gradient.

use crate::belief::{Gaussian, Message as _, Moments};
use crate::engine::graph::Graph;
use crate::error::{FactorError, RunError};
use crate::factor::{Context, Incoming, PosteriorRule, Workspace, posterior};
use crate::model::Tree;

/// Scales are renewed when one has changed by more than this, in the logarithm.
const KEPT_SCALES: f64 = 0.5;
/// And when a mean has moved from its centre by more than this, squared, in units of its variance.
const KEPT_CENTRES: f64 = 1.0;
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
    /// Variables that are not pinned and have more than one factor whose message changes.
    pub(super) free: Vec<usize>,
    /// Edges to the only factor around its variable whose message changes. The others are Gaussian: their messages are the cavity,
    /// whatever that factor says, and the variable needs no tangent.
    absorbed: Vec<usize>,
    /// $\ln c$ of the Gaussian factors $c\,e^{-\frac12 ax^2 + bx}$ around those, all together.
    constant: f64,
    /// What makes the curvature of the coordinates of a variable about one, for every precision it has: for $a$ and
    /// for $b - a\mu$.
    scales: Vec<Vec<(f64, f64)>>,
    /// The means $\mu$, by variable, that coordinates are taken around: without them the curvatures along $a$ and $b$ of a
    /// component whose mean is far beyond its deviation are as good as parallel.
    centres: Vec<Vec<f64>>,
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
        let changing = |v: usize| {
            let edges = variables[v].edges.iter().copied();
            edges.filter(|e| !is_gaussian(tree, *e)).collect::<Vec<_>>()
        };
        let shared = |v: &usize| variables[*v].edges.len() > 1 && !theta[*v].is_pinned();
        let all = || (0..variables.len()).filter(shared);
        let free = all().filter(|v| changing(*v).len() != 1).collect();
        let alone = all().map(changing).filter(|edges| edges.len() == 1);
        let absorbed: Vec<usize> = alone.flatten().collect();
        let moments = edges
            .iter()
            .map(|e| Moments::zeros(&variables[e.variable].spec));
        let mut dual = Self {
            tree,
            moments: moments.collect(),
            workspaces: tree.workspaces(),
            free,
            absorbed,
            constant: 0.0,
            scales: lambda_scales(&theta),
            centres: theta.iter().map(|t| vec![0.0; t.len()]).collect(),
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
        self.constant = self.gaussian_constants()?;
        let mut first = self.evaluate();
        if matches!(&first, Err((_, error)) if error.is_recoverable()) {
            self.share();
            first = self.evaluate();
        }
        first.map_err(|(factor, source)| RunError::Factor { factor, source })?;
        self.free_energy()?;
        self.rescale();
        Ok(())
    }

    /// Starts the inner problem from cavities that are equal parts of the belief, far from improper ones. Those of sweeps that
    /// swing may be next to them, where curvatures have no bound.
    ///
    /// # Errors
    /// A factor that fails there.
    pub fn share_equally(&mut self) -> Result<(), RunError> {
        self.share();
        let first = self.evaluate();
        first.map_err(|(factor, source)| RunError::Factor { factor, source })?;
        self.rescale();
        Ok(())
    }

    /// $\lambda_{fx} = (1 - 1/n_x)\,\theta_x$.
    fn share(&mut self) {
        for v in &self.free {
            let (edges, theta) = (&self.tree.variables()[*v].edges, &self.theta[*v]);
            let flat = Gaussian::flat(&self.tree.variables()[*v].spec);
            for e in edges {
                self.lambda[*e].copy_from(theta);
                self.lambda[*e].blend(&flat, 1.0 / edges.len() as f64);
            }
        }
    }

    /// Coordinates: of all edges of a free variable but the last, $a$ and $b - a\mu$.
    pub fn dimension(&self) -> usize {
        let count = |v: &usize| {
            let theta = &self.theta[*v];
            let edges = &self.tree.variables()[*v].edges;
            (edges.len() - 1) * (theta.precision.data().len() + theta.len())
        };
        self.free.iter().map(count).sum()
    }

    /// $\sum\ln c$ over the Gaussian factors of absorbed variables, $\ln c = A_f[\lambda] - A[m_f + \lambda]$ at any proper $\lambda$.
    fn gaussian_constants(&mut self) -> Result<f64, RunError> {
        let mut sum = 0.0;
        for absorbed in &self.absorbed {
            let variable = self.tree.variable_at(*absorbed);
            for e in variable.edges.iter().filter(|e| *e != absorbed) {
                let f = self.tree.edges()[*e].factor;
                let node = &self.tree.factors()[f];
                let failed = |source| RunError::Factor {
                    factor: node.name.clone(),
                    source,
                };
                let rule = posterior(node.factor.as_ref()).map_err(failed)?;
                let mut message = Gaussian::flat(&variable.spec);
                let flat = [message.clone()];
                let mut context = Context::new(Incoming::new(&flat, &[0]), &mut self.workspaces[f]);
                rule.message(&mut context, 0, &mut message)
                    .map_err(failed)?;
                let widest = |most: f64, a: &f64| most.max(a.abs());
                let mut proper = [Gaussian::flat(&variable.spec)];
                proper[0].set_precision(1.0 + message.precision.data().iter().fold(0.0, widest));
                message.add_assign(&proper[0]);
                let mut context =
                    Context::new(Incoming::new(&proper, &[0]), &mut self.workspaces[f]);
                let value = rule.log_partition(&mut context).map_err(failed)?;
                sum += value - message.log_partition();
            }
        }
        Ok(sum)
    }

    /// The factor has no coordinates: it is Gaussian, and what it says is in the cavities of absorbed variables.
    fn is_absorbed(&self, f: usize) -> bool {
        let e = self.tree.factors()[f].edges[0];
        let variable = self.tree.edges()[e].variable;
        let at = |a: &usize| self.tree.edges()[*a].variable == variable;
        is_gaussian(self.tree, e) && self.absorbed.iter().any(at)
    }

    /// The moments at every edge of a free variable, from its factor.
    pub fn evaluate(&mut self) -> Result<(), (String, FactorError)> {
        self.evaluations += 1;
        self.evaluate_where(|dual, e| !dual.absorbed.contains(&e))
    }

    /// The moments of absorbed variables.
    pub fn evaluate_absorbed(&mut self) -> Result<(), (String, FactorError)> {
        self.evaluate_where(|dual, e| dual.absorbed.contains(&e))
    }

    fn evaluate_where(
        &mut self,
        wanted: impl Fn(&Self, usize) -> bool,
    ) -> Result<(), (String, FactorError)> {
        for (f, node) in self.tree.factors().iter().enumerate() {
            if self.is_absorbed(f) {
                continue;
            }
            let blame = |e: FactorError| (node.name.clone(), e);
            let rule = posterior(node.factor.as_ref()).map_err(blame)?;
            let ports: Vec<bool> = node.edges.iter().map(|e| wanted(self, *e)).collect();
            let incoming = Incoming::new(&self.lambda, &node.edges);
            let mut context = Context::new(incoming, &mut self.workspaces[f]);
            for (port, e) in node.edges.iter().enumerate().filter(|(p, _)| ports[*p]) {
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
        let mut energy = -self.constant;
        self.size = 1.0 + self.constant.abs();
        for (f, node) in self.tree.factors().iter().enumerate() {
            if self.is_absorbed(f) {
                continue;
            }
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
                ((n as f64).sqrt() * var, (2.0 * var).sqrt())
            };
            // as long as they are about right, what was learnt in them stays
            let mut scales = self.scales[*v].iter().enumerate();
            let moved = |(i, (r, c)): (usize, (&f64, &f64))| {
                (r - c).powi(2) > KEPT_CENTRES * m.variance.data()[i / n]
            };
            let mut centres = m.mean.iter().zip(&self.centres[*v]).enumerate();
            if scales.any(|(g, s)| (wanted(g).1 / s.1).ln().abs() > KEPT_SCALES)
                || centres.any(moved)
            {
                self.scales[*v] = (0..self.scales[*v].len()).map(wanted).collect();
                self.centres[*v].copy_from_slice(&m.mean);
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
            let centres = &self.centres[*v];
            let size = shared(&self.theta[*v]);
            for e in &edges[..edges.len() - 1] {
                let own = &self.moments[*e];
                let (mut gaps, mut dv) = (0.0, 0.0);
                let (first, rest) = out[k..].split_at_mut(scales.len());
                for (g, (sa, sb)) in scales.iter().enumerate() {
                    let mut squares = 0.0;
                    for i in g * size..(g + 1) * size {
                        let (r, s) = (own.mean[i], last.mean[i]);
                        squares += (r - s) * (r + s - 2.0 * centres[i]);
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
            let centres = &self.centres[*v];
            for e in &edges[..edges.len() - 1] {
                let (first, rest) = direction[k..].split_at(scales.len());
                for (edge, sign) in [(*e, t), (last, -t)] {
                    let Gaussian {
                        precision, linear, ..
                    } = &mut self.lambda[edge];
                    for (g, (sa, sb)) in scales.iter().enumerate() {
                        let da = sign * first[g] / sa;
                        precision.data_mut()[g] += da;
                        for i in g * size..(g + 1) * size {
                            linear[i] += sign * rest[i] / sb + da * centres[i];
                        }
                    }
                }
                k += scales.len() + self.lambda[*e].len();
            }
        }
    }

    /// The variance of a variable, the largest that a factor around it gives, and over its second moment.
    fn variance(&self, v: usize) -> (f64, f64) {
        let moments = self.computed(v).map(|e| &self.moments[e]);
        let each = moments.map(|m| (m.average_variance(), m.second_moment()));
        each.fold((0.0, 0.0), |(most, fraction), (v, tau)| {
            (most.max(v), fraction.max(v / tau))
        })
    }

    /// The edges of a variable whose moments are computed.
    fn computed(&self, v: usize) -> impl Iterator<Item = usize> + '_ {
        let edges = &self.tree.variables()[v].edges;
        let absorbed = edges.iter().find(|e| self.absorbed.contains(e));
        edges
            .iter()
            .copied()
            .filter(move |e| absorbed.is_none_or(|a| a == e))
    }

    /// Variables with more than one factor that are not pinned.
    pub fn unknown(&self) -> impl Iterator<Item = usize> + '_ {
        let absorbed = self.absorbed.iter().map(|e| self.tree.edges()[*e].variable);
        self.free.iter().copied().chain(absorbed)
    }

    /// The unknown variable with the smallest variance relative to its second moment: its number, variance and that
    /// fraction; and the largest such fraction.
    pub fn smallest_variance(&self) -> Option<(usize, f64, f64, f64)> {
        let each = || self.unknown().map(|v| (v, self.variance(v)));
        let (v, (variance, fraction)) = each().min_by(|x, y| x.1.1.total_cmp(&y.1.1))?;
        let largest = each().map(|x| x.1.1).fold(0.0, f64::max);
        Some((v, variance, fraction, largest))
    }

    /// The messages $\theta_x - \lambda_{fx}$, and to absorbed variables those of their factor.
    ///
    /// # Errors
    /// The factor that cannot compute its message.
    pub fn messages_into(&mut self, messages: &mut [Gaussian]) -> Result<(), RunError> {
        for e in &self.absorbed {
            let f = self.tree.edges()[*e].factor;
            let node = &self.tree.factors()[f];
            let incoming = Incoming::new(&self.lambda, &node.edges);
            let mut context = Context::new(incoming, &mut self.workspaces[f]);
            let port = node.edges.iter().position(|o| o == e).unwrap_or(0);
            posterior(node.factor.as_ref())
                .and_then(|rule| rule.message(&mut context, port, &mut messages[*e]))
                .map_err(|source| RunError::Factor {
                    factor: node.name.clone(),
                    source,
                })?;
        }
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
        Ok(())
    }
}

/// The factor of an edge is Gaussian, and has no other: its message never changes.
fn is_gaussian(tree: &Tree, e: usize) -> bool {
    let node = tree.factor_at(e);
    let rule = node.factor.posterior();
    node.edges.len() == 1 && rule.is_some_and(PosteriorRule::is_constant)
}

fn subtract(out: &mut [f64], x: &[f64], y: &[f64]) {
    out.iter_mut()
        .zip(x.iter().zip(y))
        .for_each(|(o, (x, y))| *o = x - y);
}
