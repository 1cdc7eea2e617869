//! Mismatched state evolution, replica symmetric (algorithm 4): $(\hat m, \hat q, \hat\tau)$ per edge.
//! Teacher and student share the tree and may differ in any factor. A student with penalties in place of priors is a
//! maximum a posteriori estimator: its precisions are those of the zero-temperature limit.

use std::f64::consts::TAU;
use std::sync::Arc;

use super::alike::paired_teachers;
use super::conjugate::certain;
use super::divergence::check_pair;
use super::teacher::{check_second_moments, requires, rule, weights};
use super::theory::Theory;
use super::{BayesOptimal, Conjugate, Prediction, Teacher};
use crate::belief::{OverlapFields, Overlaps, SignalSpec};
use crate::engine::{Algorithm, Message, MissingRule, Potential};
use crate::error::{FactorError, RunError, brief};
use crate::factor::{Averaged, Context, EnsembleRule, Factor, Incoming, Workspace};
use crate::model::{Tree, Variable};

/// Distance from the Nishimori line, relative, that is rounding: averages are good to 1e-8.
const MATCHED: f64 = 1e-8;

/// Relative rounding of a difference of fields.
const ROUNDING: f64 = 1e-13;

/// The algorithm: moments of the student over data of the teacher.
#[derive(Debug, Clone)]
pub struct ReplicaSymmetric {
    moments: Teacher,
    /// The teacher's factors, node by node.
    teachers: Vec<Arc<dyn Factor>>,
    factor_weights: Vec<f64>,
    variable_weights: Vec<f64>,
    /// Edges by factor and port.
    edges: Vec<Vec<usize>>,
    /// The averages of factors that teacher and student share.
    optimal: BayesOptimal,
    /// The moments that the student expects; one with penalties, or with laws that have no second moment, expects none.
    own: Option<Teacher>,
    /// The student has no penalties.
    is_law: bool,
}

impl Theory for ReplicaSymmetric {
    fn teacher(&self) -> &Teacher {
        &self.moments
    }

    fn normalisation(&self) -> f64 {
        self.own.as_ref().map_or(0.0, |own| own.normalisation)
    }

    fn tilt(&self, edge: usize) -> f64 {
        self.own.as_ref().map_or(0.0, |own| own.to_variable[edge])
    }
}

/// The factors of a student without a theory, such as a loss in place of a likelihood.
fn check_student(student: &Tree) -> Result<(), RunError> {
    let missing = student.factors().iter().filter_map(|f| {
        let MissingRule(rule) = requires(f.factor.as_ref()).err()?;
        Some((f.name.clone(), rule))
    });
    let missing: Vec<(String, &'static str)> = missing.collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(RunError::MissingRules {
        algorithm: "mismatched state evolution (of the student)",
        missing,
    })
}

impl ReplicaSymmetric {
    /// Of a student on data of a teacher.
    pub(super) fn new(teacher: &Tree, student: &Tree) -> Result<Self, RunError> {
        check_pair(teacher, student)?;
        check_student(student)?;
        let mut rules = student.factors().iter().filter_map(|f| f.factor.ensemble());
        let is_law = rules.all(EnsembleRule::is_law);
        let own = if is_law && check_second_moments(student).is_ok() {
            Some(Teacher::new(student)?)
        } else {
            None
        };
        let (factor_weights, variable_weights) = weights(student);
        let moments = Teacher::new(teacher)?;
        Ok(Self {
            optimal: BayesOptimal::new(student, moments.clone()),
            moments,
            teachers: paired_teachers(teacher, student),
            factor_weights,
            variable_weights,
            edges: student.factors().iter().map(|f| f.edges.clone()).collect(),
            own,
            is_law,
        })
    }

    /// The student has no penalties.
    pub(super) fn is_law(&self) -> bool {
        self.is_law
    }

    /// What a factor that teacher and student share sends where its fields are on the Nishimori line, $\hat m = \hat q$ and
    /// $\hat\tau = \hat\tau_0$, but for rounding: as Bayes-optimal averages have it. The line maps to itself, and where it is not
    /// stable rounding would grow.
    fn matched(
        &self,
        node: usize,
        factor: &dyn Factor,
        incoming: Incoming<'_, OverlapFields>,
        target: usize,
    ) -> Result<Option<OverlapFields>, FactorError> {
        let on_line = |(f, t): (&OverlapFields, &f64)| {
            let scale = f.m_hat.abs() + t.abs();
            // infinite fields are aligned, though they have no difference
            let aligned =
                f.m_hat.total_cmp(&f.q_hat).is_eq() || (f.m_hat - f.q_hat).abs() <= MATCHED * scale;
            aligned && (f.tau_hat - t).abs() <= MATCHED * scale
        };
        let same = std::ptr::addr_eq(factor, Arc::as_ptr(&self.teachers[node]));
        let mut fields = incoming.iter().zip(&self.moments.to_factor[node]);
        if !same || !fields.all(on_line) {
            return Ok(None);
        }
        let fields: Vec<Conjugate> = incoming.iter().map(|f| Conjugate(f.m_hat)).collect();
        let ports: Vec<usize> = (0..fields.len()).collect();
        let mut out = Conjugate(0.0);
        let mut workspace = Workspace::none();
        let mut context = Context::new(Incoming::new(&fields, &ports), &mut workspace);
        self.optimal
            .update(node, factor, &mut context, target, &mut out)?;
        Ok(Some(OverlapFields {
            m_hat: out.0,
            q_hat: out.0,
            tau_hat: self.moments.to_variable[self.edges[node][target]],
        }))
    }
}

impl Algorithm for ReplicaSymmetric {
    type Message = OverlapFields;
    type Marginal = Prediction;
    const NAME: &'static str = "mismatched state evolution";
    const TRIES_DAMPINGS: bool = true;

    fn requires(&self, factor: &dyn Factor) -> Result<(), MissingRule> {
        requires(factor)
    }

    fn flat(&self, _: &SignalSpec) -> OverlapFields {
        OverlapFields::default()
    }

    fn blank(&self, _: &SignalSpec) -> Prediction {
        Prediction(Overlaps {
            m: 0.0,
            v: 0.0,
            err: 0.0,
            tau0: 0.0,
        })
    }

    /// An aligned start: $\hat m = \hat q$ = `precision`, and $\hat\tau$ in place of the linear part.
    fn constant(
        &self,
        _: &SignalSpec,
        precision: f64,
        tau_hat: &mut dyn FnMut() -> f64,
    ) -> OverlapFields {
        OverlapFields {
            m_hat: precision,
            q_hat: precision,
            tau_hat: tau_hat(),
        }
    }

    /// A precision that the student assumes: $\hat\tau$, with nothing seen of the teacher.
    fn centred(&self, _: &SignalSpec, precision: f64) -> OverlapFields {
        OverlapFields {
            m_hat: 0.0,
            q_hat: 0.0,
            tau_hat: precision,
        }
    }

    fn update(
        &self,
        node: usize,
        factor: &dyn Factor,
        context: &mut Context<'_, OverlapFields>,
        target: usize,
        out: &mut OverlapFields,
    ) -> Result<(), FactorError> {
        let incoming = context.incoming;
        if let Some(sent) = context.sent {
            let fields: Vec<OverlapFields> = incoming.iter().copied().collect();
            let sent: Vec<OverlapFields> = sent.iter().copied().collect();
            let at = Averaged {
                fields: &fields,
                tau0_hat: &self.moments.to_factor[node],
            };
            if let Some(field) = rule(factor)?.recursion(at, &sent, target)? {
                *out = field;
                return Ok(());
            }
        }
        if let Some(field) = self.matched(node, factor, incoming, target)? {
            *out = field;
            return Ok(());
        }
        let fields: Vec<OverlapFields> = incoming.iter().copied().collect();
        let at = Averaged {
            fields: &fields,
            tau0_hat: &self.moments.to_factor[node],
        };
        let (rule, own) = (rule(factor)?, fields[target]);
        if own.a() == f64::INFINITY {
            *out = rule.towards_known(at, target)?.unwrap_or_default();
            return Ok(());
        }
        let o = rule.overlaps(self.teachers[node].as_ref(), at, target)?;
        if let Some(field) = certain(&o, own.a(), rule.is_law())? {
            *out = field;
            return Ok(());
        }
        let a = 1.0 / o.v;
        let extrinsic = rule.extrinsic_precision(at, target)?.unwrap_or(a - own.a());
        out.m_hat = a * o.m / o.tau0 - own.m_hat;
        let seen = a * a * o.err;
        out.q_hat = seen - own.q_hat;
        // noise that is not there is a difference of equal numbers
        if out.q_hat.abs() <= ROUNDING * (seen + own.q_hat.abs()) {
            out.q_hat = 0.0;
        }
        out.tau_hat = extrinsic - out.q_hat;
        Ok(())
    }

    fn marginal(
        &self,
        variable: &Variable,
        incoming: Incoming<'_, OverlapFields>,
        total: &mut OverlapFields,
        out: &mut Prediction,
    ) -> Result<(), FactorError> {
        *total = OverlapFields::default();
        incoming.iter().for_each(|m| total.add_assign(m));
        let (a, tau0) = (total.a(), self.moments.tau0[variable.index]);
        if !(a > 0.0) {
            return Err(FactorError::Improper(format!(
                "the prediction on `{}` has precision {}",
                variable.name,
                brief(a)
            )));
        }
        let (m, err) = if a == f64::INFINITY {
            (tau0, 0.0)
        } else {
            (total.m_hat * tau0 / a, total.q_hat / (a * a))
        };
        out.0 = Overlaps {
            m,
            v: 1.0 / a,
            err,
            tau0,
        };
        Ok(())
    }

    fn factor_potential(
        &self,
        node: usize,
        factor: &dyn Factor,
        context: &mut Context<'_, OverlapFields>,
    ) -> Result<Potential, FactorError> {
        let incoming = context.incoming;
        let fields: Vec<OverlapFields> = incoming.iter().copied().collect();
        let at = Averaged {
            fields: &fields,
            tau0_hat: &self.moments.to_factor[node],
        };
        let value = rule(factor)?.potential(self.teachers[node].as_ref(), at)?;
        let value = self.factor_weights[node] * value;
        Ok(Potential {
            value,
            excess: value,
        })
    }

    /// $\bar A_i = \frac{\hat m^2\tau_0 + \hat q}{2a} + \frac12\ln\frac{2\pi}{a}$.
    fn variable_potential(
        &self,
        variable: &Variable,
        incoming: Incoming<'_, OverlapFields>,
        total: &mut OverlapFields,
    ) -> Potential {
        *total = OverlapFields::default();
        incoming.iter().for_each(|m| total.add_assign(m));
        let (a, tau0) = (total.a(), self.moments.tau0[variable.index]);
        let value = 0.5 * (total.m_hat.powi(2) * tau0 + total.q_hat) / a + 0.5 * (TAU / a).ln();
        let value = self.variable_weights[variable.index] * value;
        Potential {
            value,
            excess: value,
        }
    }
}
