//! The inner problem of the double loop: the dual $-\sum_f A_f[\lambda_f]$ under
//! $\sum_f\lambda_{fx} = (n_x - 1)\theta_x$, and its gradient.

use crate::belief::{Gaussian, Message as _, Moments};
use crate::error::{FactorError, RunError};
use crate::factor::{Factor, Incoming, PosteriorRule};
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
    tree: &'t Tree,
    pub lambda: Vec<Gaussian>,
    theta: Vec<Gaussian>,
    moments: Vec<Moments>,
    work: Vec<Vec<f64>>,
    /// Variables that are not pinned and have more than one factor.
    free: Vec<usize>,
    /// What makes the curvature of the coordinates of a variable about one: for $a$ and for $b$.
    scales: Vec<(f64, f64)>,
    /// Evaluations of all moments.
    pub evaluations: usize,
    /// The scales have changed since this was last taken back.
    pub rescaled: bool,
    size: f64,
}

fn rule(factor: &dyn Factor) -> Result<&dyn PosteriorRule, FactorError> {
    let missing = || FactorError::Unsupported("no expectation propagation rule".to_owned());
    factor.posterior().ok_or_else(missing)
}

impl<'t> Dual<'t> {
    pub fn new(tree: &'t Tree, messages: &[Gaussian]) -> Result<Self, RunError> {
        let variables = tree.variables();
        let sum = |v: usize, but: Option<usize>| {
            let mut total = Gaussian::flat(&variables[v].spec);
            let edges = variables[v].edges.iter().filter(|e| Some(**e) != but);
            edges.for_each(|e| total.add_assign(&messages[*e]));
            total
        };
        let edges = tree.edges();
        let lambda: Vec<Gaussian> = (0..edges.len())
            .map(|e| sum(edges[e].variable, Some(e)))
            .collect();
        let theta: Vec<Gaussian> = (0..variables.len()).map(|v| sum(v, None)).collect();
        let free = |v: &usize| variables[*v].edges.len() > 1 && !theta[*v].is_pinned();
        let moments = edges
            .iter()
            .map(|e| Moments::zeros(&variables[e.variable].spec));
        let factors = 0..tree.factors().len();
        let work = factors.map(|f| {
            let ports = tree.port_specs(f);
            vec![0.0; tree.factors()[f].factor.workspace_len(&ports)]
        });
        let mut dual = Self {
            tree,
            moments: moments.collect(),
            work: work.collect(),
            free: (0..variables.len()).filter(free).collect(),
            scales: vec![(0.0, 0.0); variables.len()],
            lambda,
            theta,
            evaluations: 0,
            rescaled: true,
            size: 1.0,
        };
        dual.evaluate()
            .map_err(|(factor, source)| RunError::Factor { factor, source })?;
        dual.free_energy()?;
        dual.rescale();
        Ok(dual)
    }

    /// Coordinates: of all edges of a free variable but the last, $a$ and $b$.
    pub fn dimension(&self) -> usize {
        let count = |v: &usize| {
            let variable = &self.tree.variables()[*v];
            (variable.edges.len() - 1) * (1 + variable.spec.len())
        };
        self.free.iter().map(count).sum()
    }

    /// The moments at every edge, from its factor.
    pub fn evaluate(&mut self) -> Result<(), (String, FactorError)> {
        self.evaluations += 1;
        for (f, node) in self.tree.factors().iter().enumerate() {
            let blame = |e: FactorError| (node.name.clone(), e);
            let rule = rule(node.factor.as_ref()).map_err(blame)?;
            let incoming = Incoming::new(&self.lambda, &node.edges);
            for (port, e) in node.edges.iter().enumerate() {
                let out = &mut self.moments[*e];
                rule.moments(incoming, port, out, &mut self.work[f])
                    .map_err(blame)?;
                let v = out.average_variance();
                if !(v >= 0.0 && v.is_finite() && out.mean.iter().all(|r| r.is_finite())) {
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
            let value = rule(node.factor.as_ref())
                .and_then(|r| r.log_partition(incoming, &mut self.work[f]))
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

    fn rescale(&mut self) {
        for v in &self.free {
            let m = &self.moments[self.tree.variables()[*v].edges[0]];
            let (n, var) = (
                m.mean.len() as f64,
                m.average_variance().max(f64::MIN_POSITIVE),
            );
            let square: f64 = m.mean.iter().map(|r| r * r).sum();
            let b = (2.0 * var).sqrt();
            // as long as they are about right, what was learnt in them stays
            if (b / self.scales[*v].1).ln().abs() > KEPT_SCALES {
                let a = (n * var * var + 2.0 * var * square).sqrt();
                self.scales[*v] = (a, b);
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
            let (sa, sb) = self.scales[*v];
            let n = last.mean.len() as f64;
            for e in &edges[..edges.len() - 1] {
                let own = &self.moments[*e];
                let dv = own.average_variance() - last.average_variance();
                let (mut squares, mut gaps) = (0.0, 0.0);
                for (i, (r, s)) in own.mean.iter().zip(&last.mean).enumerate() {
                    let gap = r - s;
                    squares += gap * (r + s);
                    gaps += gap * gap;
                    out[k + 1 + i] = gap / sb;
                }
                out[k] = -0.5 * (squares + n * dv) / sa;
                k += 1 + own.mean.len();
                // where a variance vanishes, moments must agree at its scale for the free energy to be one
                let fine = Some(FINE * last.average_variance()).filter(|x| *x > 0.0);
                let tau = last.second_moment().min(fine.unwrap_or(f64::INFINITY));
                worst = worst.max((gaps / n / tau).sqrt()).max(dv.abs() / tau);
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
            let (sa, sb) = self.scales[*v];
            for e in &edges[..edges.len() - 1] {
                for (edge, sign) in [(*e, t), (last, -t)] {
                    let lambda = &mut self.lambda[edge];
                    lambda.precision.data_mut()[0] += sign * direction[k] / sa;
                    let parts = lambda.linear.iter_mut().zip(&direction[k + 1..]);
                    parts.for_each(|(b, d)| *b += sign * d / sb);
                }
                k += 1 + self.lambda[*e].len();
            }
        }
    }

    /// The beliefs with the present moments, averaged over the factors, and the relative change of the
    /// moments from those of $\theta$.
    fn agreed(&self) -> (Vec<Gaussian>, f64) {
        let mut change = 0.0_f64;
        let mut target = self.theta.clone();
        for v in &self.free {
            let (goal, old) = (&mut target[*v], &self.theta[*v]);
            let edges = &self.tree.variables()[*v].edges;
            let count = edges.len() as f64;
            let variances = edges.iter().map(|e| self.moments[*e].average_variance());
            let var = variances.sum::<f64>() / count;
            let (a, mut gaps, mut square) = (old.precision.scalar(), 0.0, 0.0);
            for i in 0..goal.len() {
                let r = edges.iter().map(|e| self.moments[*e].mean[i]).sum::<f64>() / count;
                gaps += (r - old.linear[i] / a).powi(2);
                square += r * r;
                goal.linear[i] = r / var;
            }
            goal.precision.set_scalar(1.0 / var);
            let n = goal.len() as f64;
            let tau = square / n + var;
            let means = (gaps / n / tau).sqrt();
            change = change.max(means).max((var - 1.0 / a).abs() / tau);
        }
        (target, change)
    }

    /// $\theta$ at `t` times the way to `target`, and $\lambda$ with it, in equal parts.
    fn place(&mut self, from: &(Vec<Gaussian>, Vec<Gaussian>), target: &[Gaussian], t: f64) {
        for v in &self.free {
            let edges = &self.tree.variables()[*v].edges;
            let part = t * (edges.len() - 1) as f64 / edges.len() as f64;
            let (goal, old) = (&target[*v], &from.1[*v]);
            let da = goal.precision.scalar() - old.precision.scalar();
            let theta = &mut self.theta[*v];
            theta.precision.set_scalar(old.precision.scalar() + t * da);
            for (i, b) in theta.linear.iter_mut().enumerate() {
                *b = old.linear[i] + t * (goal.linear[i] - old.linear[i]);
            }
            for e in edges {
                let (lambda, start) = (&mut self.lambda[*e], &from.0[*e]);
                lambda
                    .precision
                    .set_scalar(start.precision.scalar() + part * da);
                for (i, b) in lambda.linear.iter_mut().enumerate() {
                    *b = start.linear[i] + part * (goal.linear[i] - old.linear[i]);
                }
            }
        }
    }

    /// $\theta$ towards the beliefs with the present moments, `reach` times as far; a step that leaves an
    /// improper law is halved. The relative change of the moments that the plain step asks for.
    pub fn outer_step(&mut self, reach: f64) -> Result<f64, RunError> {
        let (target, change) = self.agreed();
        let kept = (self.lambda.clone(), self.theta.clone());
        let mut t = reach;
        for _ in 0..TRIALS {
            self.place(&kept, &target, t);
            let belief = |v: &usize| self.theta[*v].precision.scalar() > 0.0;
            let proper = self.free.iter().all(belief);
            match self.evaluate() {
                Ok(()) if proper => {
                    self.rescale();
                    return Ok(change);
                }
                Err((factor, source)) if !source.is_recoverable() => {
                    return Err(RunError::Factor { factor, source });
                }
                _ => t *= 0.5,
            }
        }
        (self.lambda, self.theta) = kept;
        self.evaluate()
            .map_err(|(factor, source)| RunError::Factor { factor, source })?;
        Ok(change)
    }

    /// What the tangents add to the Bethe free energy of the present moments: $\sum_x (n_x - 1)\,\mathrm{KL}(q_x\|\theta_x)$
    /// between Gaussian beliefs.
    pub fn tangent_gap(&self) -> f64 {
        let (target, _) = self.agreed();
        let each = |v: &usize| {
            let (q, old) = (&target[*v], &self.theta[*v]);
            let (aq, a) = (q.precision.scalar(), old.precision.scalar());
            let pairs = q.linear.iter().zip(&old.linear);
            let square: f64 = pairs.map(|(x, y)| (x / aq - y / a).powi(2)).sum();
            let ratio = a / aq;
            let count = self.tree.variables()[*v].edges.len() as f64;
            0.5 * (count - 1.0) * (q.len() as f64 * (ratio - 1.0 - ratio.ln()) + a * square)
        };
        self.free.iter().map(each).sum()
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

    /// The messages $\theta_x - \lambda_{fx}$.
    pub fn messages_into(&self, messages: &mut [Gaussian]) {
        for v in &self.free {
            for e in &self.tree.variables()[*v].edges {
                let (theta, lambda, out) = (&self.theta[*v], &self.lambda[*e], &mut messages[*e]);
                let a = theta.precision.scalar() - lambda.precision.scalar();
                out.precision.set_scalar(a);
                for i in 0..out.len() {
                    out.linear[i] = theta.linear[i] - lambda.linear[i];
                }
            }
        }
    }
}
