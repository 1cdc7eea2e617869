//! The outer step of the double loop: $\theta_x$ becomes the belief with the moments that the factors agree on.

use super::inner::{Dual, TRIALS, shared};
use crate::belief::Gaussian;
use crate::error::RunError;

impl Dual<'_> {
    /// The beliefs with the present moments, averaged over the factors, and the relative change of the
    /// moments from those of $\theta$.
    fn agreed(&self) -> (Vec<Gaussian>, f64) {
        let mut change = 0.0_f64;
        let mut target = self.theta.clone();
        for v in &self.free {
            let (goal, old) = (&mut target[*v], &self.theta[*v]);
            let edges = &self.tree.variables()[*v].edges;
            let (count, size) = (edges.len() as f64, shared(old));
            let (mut gaps, mut square, mut variances, mut moved) = (0.0, 0.0, 0.0, 0.0);
            for (g, a) in old.precision.data().iter().enumerate() {
                let each = edges.iter().map(|e| self.moments[*e].variance.data()[g]);
                let var = each.sum::<f64>() / count;
                for i in g * size..(g + 1) * size {
                    let r = edges.iter().map(|e| self.moments[*e].mean[i]).sum::<f64>() / count;
                    gaps += (r - old.linear[i] / a).powi(2);
                    square += r * r;
                    goal.linear[i] = r / var;
                }
                goal.precision.data_mut()[g] = 1.0 / var;
                variances += var * size as f64;
                moved += (var - 1.0 / a).abs() * size as f64;
            }
            let n = goal.len() as f64;
            let tau = (square + variances) / n;
            let means = (gaps / n / tau).sqrt();
            change = change.max(means).max(moved / n / tau);
        }
        (target, change)
    }

    /// $\theta$ at `t` times the way to `target`, and $\lambda$ with it, in equal parts.
    fn place(&mut self, from: &(Vec<Gaussian>, Vec<Gaussian>), target: &[Gaussian], t: f64) {
        for v in &self.free {
            let edges = &self.tree.variables()[*v].edges;
            let part = t * (edges.len() - 1) as f64 / edges.len() as f64;
            let (goal, old) = (&target[*v], &from.1[*v]);
            towards(&mut self.theta[*v], old, t, (goal, old));
            for e in edges {
                towards(&mut self.lambda[*e], &from.0[*e], part, (goal, old));
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
            let belief = |v: &usize| self.theta[*v].precision.data().iter().all(|a| *a > 0.0);
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
            let count = self.tree.variables()[*v].edges.len() as f64;
            0.5 * (count - 1.0) * twice_divergence(q, old)
        };
        self.free.iter().map(each).sum()
    }
}

/// `start` and `t` times the way from `old` to `goal`.
fn towards(out: &mut Gaussian, start: &Gaussian, t: f64, (goal, old): (&Gaussian, &Gaussian)) {
    let step = |out: &mut [f64], start: &[f64], goal: &[f64], old: &[f64]| {
        for (i, x) in out.iter_mut().enumerate() {
            *x = start[i] + t * (goal[i] - old[i]);
        }
    };
    let parts = [start, goal, old].map(|g| g.precision.data());
    step(out.precision.data_mut(), parts[0], parts[1], parts[2]);
    step(&mut out.linear, &start.linear, &goal.linear, &old.linear);
}

/// $2\,\mathrm{KL}(q\|p) = \sum_i a_p/a_q - 1 - \ln(a_p/a_q) + a_p (m_q - m_p)^2$ between Gaussian beliefs.
fn twice_divergence(q: &Gaussian, p: &Gaussian) -> f64 {
    let size = shared(q);
    let pairs = q.linear.chunks(size).zip(p.linear.chunks(size));
    let precisions = q.precision.data().iter().zip(p.precision.data());
    let each = precisions.zip(pairs).map(|((aq, ap), (bq, bp))| {
        let means = bq.iter().zip(bp).map(|(x, y)| (x / aq - y / ap).powi(2));
        let ratio = ap / aq;
        size as f64 * (ratio - 1.0 - ratio.ln()) + ap * means.sum::<f64>()
    });
    each.sum()
}
