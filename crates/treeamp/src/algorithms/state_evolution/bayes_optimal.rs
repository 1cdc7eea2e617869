//! Bayes-optimal state evolution (algorithm 5): one number $\hat m$ per edge.

use std::f64::consts::TAU;

use super::teacher::{requires, rule, weights};
use super::theory::Theory;
use super::{Conjugate, Prediction, Teacher};
use crate::belief::{OverlapFields, Overlaps, SignalSpec};
use crate::engine::{Algorithm, MissingRule, Potential};
use crate::error::{FactorError, brief};
use crate::factor::{Averaged, Context, Factor, Incoming};
use crate::model::{Tree, Variable};

/// The field that a variance of zero gives, in units of $1/\tau_0$: as good as known next to any noise.
pub(super) const CERTAIN: f64 = 1e32;

/// An infinite field counts as this much in potentials, in units of $1/\tau_0$: the terms that it makes infinite cancel,
/// up to the inverse of this.
pub(super) const KNOWN: f64 = 1e60;

/// The largest field at which averages are taken, in units of $1/\tau_0$. Beyond, $a v$ stays what it is there.
const SHARPEST: f64 = 1e18;
/// A field next to which averages have digits left for what is added to it.
const PLAIN: f64 = 1e6;

/// The algorithm: variance matching on average, teacher and student being the same.
#[derive(Debug, Clone)]
pub struct BayesOptimal {
    teacher: Teacher,
    factor_weights: Vec<f64>,
    variable_weights: Vec<f64>,
    /// Edges by factor and port.
    edges: Vec<Vec<usize>>,
    /// Relative size and $\tau_0$ by factor and port.
    ports: Vec<Vec<(f64, f64)>>,
}

impl Theory for BayesOptimal {
    fn teacher(&self) -> &Teacher {
        &self.teacher
    }
}

impl BayesOptimal {
    pub(super) fn new(tree: &Tree, teacher: Teacher) -> Self {
        let (factor_weights, variable_weights) = weights(tree);
        let edges: Vec<Vec<usize>> = tree.factors().iter().map(|f| f.edges.clone()).collect();
        let port = |(e, weight): (&usize, f64)| {
            let variable = tree.edges()[*e].variable;
            (variable_weights[variable] / weight, teacher.tau0[variable])
        };
        let ports = edges.iter().zip(&factor_weights);
        let ports = ports
            .map(|(p, w)| p.iter().map(|e| port((e, *w))).collect())
            .collect();
        Self {
            teacher,
            factor_weights,
            variable_weights,
            edges,
            ports,
        }
    }

    fn fields(&self, node: usize, incoming: Incoming<'_, Conjugate>) -> Vec<OverlapFields> {
        let tilts = incoming.iter().zip(&self.teacher.to_factor[node]);
        tilts
            .map(|(m, tau_hat)| OverlapFields {
                m_hat: m.0,
                q_hat: m.0,
                tau_hat: *tau_hat,
            })
            .collect()
    }

    /// The fields that a factor sent last.
    fn sent(&self, node: usize, sent: Incoming<'_, Conjugate>) -> Vec<OverlapFields> {
        let edges = sent.iter().zip(&self.edges[node]);
        edges
            .map(|(m, e)| OverlapFields {
                m_hat: m.0,
                q_hat: m.0,
                tau_hat: self.teacher.to_variable[*e],
            })
            .collect()
    }

    /// The fields cut at what averages can take, and how much larger the precision at `target` is.
    fn averageable(
        &self,
        node: usize,
        mut fields: Vec<OverlapFields>,
        target: usize,
        sharpest: f64,
    ) -> (Vec<OverlapFields>, f64) {
        let whole = fields[target].a();
        for (field, (_, tau0)) in fields.iter_mut().zip(&self.ports[node]) {
            field.m_hat = field.m_hat.min(sharpest / tau0);
            field.q_hat = field.m_hat;
        }
        let cut = fields[target].a();
        // exactly one unless it was cut
        let scale = if whole > cut { whole / cut } else { 1.0 };
        (fields, scale)
    }
}

impl BayesOptimal {
    /// The extrinsic field towards `target` from averages, with fields of at most `sharpest` in units of $1/\tau_0$.
    fn extrinsic(
        &self,
        node: usize,
        factor: &dyn Factor,
        fields: Vec<OverlapFields>,
        target: usize,
        sharpest: f64,
    ) -> Result<f64, FactorError> {
        let (own, tau_hat) = (
            fields[target].m_hat,
            self.teacher.to_variable[self.edges[node][target]],
        );
        let (fields, larger) = self.averageable(node, fields, target, sharpest);
        // beyond the largest field, a v stays what it is there
        let scale = if sharpest < SHARPEST { 1.0 } else { larger };
        let at = Averaged {
            fields: &fields,
            tau0_hat: &self.teacher.to_factor[node],
        };
        let o = rule(factor)?.overlaps(factor, at, target)?;
        // a variance that vanishes faster than the precision grows: a discrete signal is known. A
        // finite field keeps the entropies defined
        let a = fields[target].a();
        let certain = o.v * CERTAIN < o.tau0 && o.v * a < 1e-3;
        let known = CERTAIN / o.tau0;
        if certain && known == f64::INFINITY {
            let what = format!("a second moment of {:e} is too small for averages", o.tau0);
            return Err(FactorError::Failed(what));
        }
        let extrinsic = if certain {
            known
        } else if o.v < 0.5 * o.tau0 {
            scale * (1.0 / o.v - a) - tau_hat
        } else {
            // keeps the digits of a small overlap, and an exact zero
            o.m / o.v / o.tau0 - own
        };
        // a factor that adds nothing says so up to rounding
        let rounding = 1e-12 * (1.0 / o.tau0 + own);
        let nothing = extrinsic < 0.0 && extrinsic > -rounding;
        Ok(if nothing { 0.0 } else { extrinsic })
    }
}

impl Algorithm for BayesOptimal {
    type Message = Conjugate;
    type Marginal = Prediction;
    const NAME: &'static str = "state evolution";

    fn requires(&self, factor: &dyn Factor) -> Result<(), MissingRule> {
        requires(factor)
    }

    fn flat(&self, _: &SignalSpec) -> Conjugate {
        Conjugate(0.0)
    }

    fn blank(&self, _: &SignalSpec) -> Prediction {
        Prediction(Overlaps {
            m: 0.0,
            v: 0.0,
            err: 0.0,
            tau0: 0.0,
        })
    }

    fn constant(&self, _: &SignalSpec, precision: f64, _: &mut dyn FnMut() -> f64) -> Conjugate {
        Conjugate(precision)
    }

    fn update(
        &self,
        node: usize,
        factor: &dyn Factor,
        context: &mut Context<'_, Conjugate>,
        target: usize,
        out: &mut Conjugate,
    ) -> Result<(), FactorError> {
        let incoming = context.incoming;
        let fields = self.fields(node, incoming);
        let own = incoming.get(target).0;
        let rule = rule(factor)?;
        let at = Averaged {
            fields: &fields,
            tau0_hat: &self.teacher.to_factor[node],
        };
        if let Some(sent) = context.sent {
            let sent: Vec<OverlapFields> = self.sent(node, sent);
            if let Some(field) = rule.recursion(at, &sent, target)? {
                out.0 = field.m_hat;
                return Ok(());
            }
        }
        let tau_hat = self.teacher.to_variable[self.edges[node][target]];
        // a small difference is better taken from the overlap, unless much is known already
        let much = own * self.ports[node][target].1 > 1.0;
        if let Some(a) = rule.extrinsic_precision(at, target)?
            && (a > 2.0 * tau_hat || tau_hat == 0.0 || much)
        {
            out.0 = a - tau_hat;
            return Ok(());
        }
        if own == f64::INFINITY {
            // a known variable cannot learn more
            out.0 = 0.0;
            return Ok(());
        }
        let extrinsic = self.extrinsic(node, factor, fields.clone(), target, SHARPEST)?;
        out.0 = if extrinsic < 0.0 && much {
            // next to so much the difference is below the accuracy of averages: what is said to less is no more than that
            let less = self.extrinsic(node, factor, fields, target, PLAIN)?;
            less.max(0.0)
        } else {
            extrinsic
        };
        Ok(())
    }

    fn marginal(
        &self,
        variable: &Variable,
        incoming: Incoming<'_, Conjugate>,
        _: &mut Conjugate,
        out: &mut Prediction,
    ) -> Result<(), FactorError> {
        let m_hat: f64 = incoming.iter().map(|m| m.0).sum();
        let tau0 = self.teacher.tau0[variable.index];
        let a = 1.0 / tau0 + m_hat;
        if !(a > 0.0) {
            return Err(FactorError::Improper(format!(
                "the prediction on `{}` has precision {}",
                variable.name,
                brief(a)
            )));
        }
        let v = 1.0 / a;
        let m = if m_hat == f64::INFINITY {
            tau0
        } else {
            tau0 * m_hat * v
        };
        // E(r - c x0)² = m - m²/τ0 = m v/τ0
        out.0 = Overlaps {
            m,
            v,
            err: m * (v / tau0),
            tau0,
        };
        Ok(())
    }

    /// $\bar A_k = \sum_i\frac12\alpha_i\hat m_i\tau_i + A^{(0)}_k - H_k$, the signal terms left out of the excess.
    fn factor_potential(
        &self,
        node: usize,
        factor: &dyn Factor,
        context: &mut Context<'_, Conjugate>,
    ) -> Result<Potential, FactorError> {
        let incoming = context.incoming;
        let mut fields = self.fields(node, incoming);
        let ports = &self.ports[node];
        let mut signal = 0.0;
        for (field, (size, tau0)) in fields.iter_mut().zip(ports) {
            signal += 0.5 * size * field.m_hat * tau0;
            field.m_hat = field.m_hat.min(KNOWN / tau0);
            field.q_hat = field.m_hat;
        }
        let at = Averaged {
            fields: &fields,
            tau0_hat: &self.teacher.to_factor[node],
        };
        let rule = rule(factor)?;
        let entropy = rule.entropic_potential(factor, at, ports)?;
        let excess = rule.prior_potential(at.tau0_hat)? - entropy;
        let weight = self.factor_weights[node];
        Ok(Potential {
            value: weight * (excess + signal),
            excess: weight * excess,
        })
    }

    /// The signal terms $\frac12\hat m\tau_0$ cancel over the tree, and are left out of the excess.
    ///
    /// $\bar A_i = \frac12\hat m\tau_0 + \frac12\ln\frac{2\pi}{a}$, $a = 1/\tau_0 + \hat m$.
    fn variable_potential(
        &self,
        variable: &Variable,
        incoming: Incoming<'_, Conjugate>,
        _: &mut Conjugate,
    ) -> Potential {
        let m_hat: f64 = incoming.iter().map(|m| m.0).sum();
        let tau0 = self.teacher.tau0[variable.index];
        let weight = self.variable_weights[variable.index];
        let excess = 0.5 * (TAU / (1.0 / tau0 + m_hat.min(KNOWN / tau0))).ln();
        Potential {
            value: weight * (excess + 0.5 * m_hat * tau0),
            excess: weight * excess,
        }
    }
}
