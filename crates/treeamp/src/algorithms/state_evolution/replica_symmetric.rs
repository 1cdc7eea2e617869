//! Mismatched state evolution, replica symmetric (algorithm 4): $(\hat m, \hat q, \hat\tau)$ per edge.
//! Teacher and student share the tree and may differ in any factor.

use std::f64::consts::TAU;
use std::sync::Arc;

use super::heuristic::heuristics;
use super::teacher::{requires, rule, weights};
use super::{Evolution, Prediction, Teacher};
use crate::belief::{OverlapFields, Overlaps, SignalSpec};
use crate::engine::{
    Algorithm, Damping, Engine, Initial, Message, Messages, MissingRule, Objective, Observer,
    Options, Potential, Term,
};
use crate::error::{FactorError, RunError};
use crate::factor::{Averaged, Factor, Incoming};
use crate::model::{Tree, Variable};

/// The algorithm: moments of the student over data of the teacher.
#[derive(Debug, Clone)]
pub struct ReplicaSymmetric {
    moments: Teacher,
    /// The teacher's factors, node by node.
    teachers: Vec<Arc<dyn Factor>>,
    factor_weights: Vec<f64>,
    variable_weights: Vec<f64>,
}

impl Algorithm for ReplicaSymmetric {
    type Message = OverlapFields;
    type Marginal = Prediction;
    const NAME: &'static str = "mismatched state evolution";

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

    /// An aligned start: $\hat m = \hat q$ = `precision`.
    fn constant(
        &self,
        _: &SignalSpec,
        precision: f64,
        _: &mut dyn FnMut() -> f64,
    ) -> OverlapFields {
        OverlapFields {
            m_hat: precision,
            q_hat: precision,
            tau_hat: 0.0,
        }
    }

    fn update(
        &self,
        node: usize,
        factor: &dyn Factor,
        incoming: Incoming<'_, OverlapFields>,
        target: usize,
        out: &mut OverlapFields,
        _: &mut [f64],
    ) -> Result<(), FactorError> {
        let fields: Vec<OverlapFields> = incoming.iter().copied().collect();
        let at = Averaged {
            fields: &fields,
            tau0_hat: &self.moments.to_factor[node],
        };
        let rule = rule(factor)?;
        let o = rule.overlaps(self.teachers[node].as_ref(), at, target)?;
        if !(o.v > 0.0) {
            return Err(FactorError::Unsupported(
                "a student that is certain has no mismatched state evolution: give it some noise"
                    .to_owned(),
            ));
        }
        let own = fields[target];
        let a = 1.0 / o.v;
        let extrinsic = rule.extrinsic_precision(at, target)?.unwrap_or(a - own.a());
        out.m_hat = a * o.m / o.tau0 - own.m_hat;
        out.q_hat = a * a * o.err - own.q_hat;
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
                "the prediction on `{}` has precision {a:e}",
                variable.name
            )));
        }
        let m = total.m_hat * tau0 / a;
        out.0 = Overlaps {
            m,
            v: 1.0 / a,
            err: total.q_hat / (a * a),
            tau0,
        };
        Ok(())
    }

    fn factor_potential(
        &self,
        node: usize,
        factor: &dyn Factor,
        incoming: Incoming<'_, OverlapFields>,
        _: &mut [f64],
    ) -> Result<Potential, FactorError> {
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

/// State evolution of a student on data of another teacher.
#[derive(Debug, Clone)]
pub struct MismatchedEvolution<'t> {
    student: &'t Tree,
    algorithm: ReplicaSymmetric,
    /// The student's own $A_N$.
    normalisation: f64,
    options: Options,
    warm: Option<Messages<OverlapFields>>,
}

impl<'t> MismatchedEvolution<'t> {
    /// Prepares the theory of `student` on data of `teacher`: the trees must be the same, their
    /// factors may differ.
    ///
    /// # Errors
    /// Trees that differ, factors that cannot face each other, a factor without an ensemble rule.
    pub fn new(teacher: &Tree, student: &'t Tree) -> Result<Self, RunError> {
        check_pair(teacher, student)?;
        let (factor_weights, variable_weights) = weights(student);
        let algorithm = ReplicaSymmetric {
            moments: Teacher::new(teacher)?,
            teachers: teacher
                .factors()
                .iter()
                .map(|f| Arc::clone(&f.factor))
                .collect(),
            factor_weights,
            variable_weights,
        };
        let options = Options {
            max_sweeps: 2000,
            tolerance: 1e-9,
            ..Options::default()
        };
        let normalisation = Teacher::new(student)?.normalisation;
        Ok(Self {
            student,
            algorithm,
            normalisation,
            options,
            warm: None,
        })
    }

    /// At most this many sweeps (2000).
    #[must_use]
    pub fn max_sweeps(mut self, n: usize) -> Self {
        self.options.max_sweeps = n;
        self
    }

    /// Converged when predictions change by less than this, relative (1e-9).
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.options.tolerance = tolerance;
        self
    }

    /// Damping of the messages (none).
    #[must_use]
    pub fn damping(mut self, damping: impl Into<Damping>) -> Self {
        self.options.damping = damping.into();
        self
    }

    /// Messages before the first sweep (zero).
    #[must_use]
    pub fn initial(mut self, initial: Initial) -> Self {
        self.options.initial = initial;
        self
    }

    /// Starts from the messages of an earlier run, matched by the names of their ends.
    #[must_use]
    pub fn start_from(mut self, messages: Messages<OverlapFields>) -> Self {
        self.warm = Some(messages);
        self
    }

    /// Runs it. A fixed point that was not reached is said in the termination.
    ///
    /// # Errors
    /// An option out of range, or a factor that fails for good.
    pub fn run(&self) -> Result<Evolution<ReplicaSymmetric>, RunError> {
        self.observed_by(&mut ())
    }

    /// Runs it under an observer.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn observed_by(
        &self,
        observer: &mut impl Observer<ReplicaSymmetric>,
    ) -> Result<Evolution<ReplicaSymmetric>, RunError> {
        let report = self.engine()?.run(observer)?;
        Ok(Evolution {
            report,
            teacher: self.algorithm.moments.clone(),
            normalisation: self.normalisation,
            heuristics: heuristics(self.student),
        })
    }
}

impl<'t> MismatchedEvolution<'t> {
    fn engine(&self) -> Result<Engine<'t, ReplicaSymmetric>, RunError> {
        let engine = Engine::new(self.student, self.algorithm.clone())?;
        let engine = engine.options(self.options.clone());
        Ok(match &self.warm {
            Some(messages) => engine.start_from(messages.clone()),
            None => engine,
        })
    }

    /// The free entropy at the messages a run would start from, without a sweep.
    ///
    /// # Errors
    /// An option out of range, or a potential that cannot be computed.
    pub fn initial_free_entropy(&self) -> Result<Objective, RunError> {
        self.engine()?.initial_objective()
    }
}

/// Teacher and student share variables, wiring and sizes, and every pair of factors can be averaged.
fn check_pair(teacher: &Tree, student: &Tree) -> Result<(), RunError> {
    let differ = |reason: String| RunError::Mismatch { reason };
    let (tv, sv) = (teacher.variables(), student.variables());
    if tv.len() != sv.len() || teacher.factors().len() != student.factors().len() {
        return Err(differ(format!(
            "expected the same tree, got {} variables and {} factors against {} and {}",
            tv.len(),
            teacher.factors().len(),
            sv.len(),
            student.factors().len()
        )));
    }
    for (t, s) in tv.iter().zip(sv) {
        if t.name != s.name || !t.spec.same_signal(&s.spec) {
            let (t, s) = (
                format!("`{}` {}", t.name, t.spec),
                format!("`{}` {}", s.name, s.spec),
            );
            return Err(differ(format!(
                "expected the same variables, got {t} against {s}"
            )));
        }
    }
    for (t, s) in teacher.factors().iter().zip(student.factors()) {
        let ends = |tree: &Tree, edges: &[usize]| -> Vec<usize> {
            edges.iter().map(|e| tree.edges()[*e].variable).collect()
        };
        if t.inputs != s.inputs || ends(teacher, &t.edges) != ends(student, &s.edges) {
            let what = format!(
                "factors `{}` and `{}` are wired differently",
                t.name, s.name
            );
            return Err(differ(what));
        }
        if let Some(rule) = s.factor.ensemble()
            && !rule.pairs_with(t.factor.as_ref())
        {
            let what = format!("student `{}` cannot face teacher `{}`", s.name, t.name);
            return Err(differ(what));
        }
    }
    Ok(())
}

impl Evolution<ReplicaSymmetric> {
    /// The Kullback-Leibler terms of the mismatched decomposition, one per factor: how much the local
    /// student's evidence differs from the local teacher's,
    /// $K_k = [\bar A_k^{(0)}(\hat m^2/\hat q) - A_k^{(0)}] - [\bar A_k - A_k]$, per component of the factor's reference
    /// port. Zero when they are the same.
    ///
    /// # Errors
    /// When a potential cannot be computed.
    pub fn divergences(&self, teacher: &Tree, student: &Tree) -> Result<Vec<Term>, RunError> {
        check_pair(teacher, student)?;
        let to_variable: Vec<OverlapFields> =
            self.report.messages.iter().map(|(_, _, m)| *m).collect();
        let mut terms = Vec::new();
        for (k, (t, s)) in teacher.factors().iter().zip(student.factors()).enumerate() {
            let tau0_hat = &self.teacher.to_factor[k];
            let fields: Vec<OverlapFields> = s
                .edges
                .iter()
                .map(|e| {
                    let mut sum = OverlapFields::default();
                    let others = &student.variables()[student.edges()[*e].variable].edges;
                    others
                        .iter()
                        .filter(|o| *o != e)
                        .for_each(|o| sum.add_assign(&to_variable[*o]));
                    sum
                })
                .collect();
            let local: Vec<OverlapFields> = fields
                .iter()
                .zip(tau0_hat)
                .map(|(f, tau_hat)| {
                    let snr = if f.q_hat > 0.0 {
                        f.m_hat * f.m_hat / f.q_hat
                    } else {
                        0.0
                    };
                    OverlapFields {
                        m_hat: snr,
                        q_hat: snr,
                        tau_hat: *tau_hat,
                    }
                })
                .collect();
            let student_tilts: Vec<f64> = fields.iter().map(|f| f.tau_hat).collect();
            let (teacher_factor, student_factor) = (t.factor.as_ref(), s.factor.as_ref());
            let value = (|| {
                let (own, other) = (rule(teacher_factor)?, rule(student_factor)?);
                let matched = own.potential(
                    teacher_factor,
                    Averaged {
                        fields: &local,
                        tau0_hat,
                    },
                )? - own.prior_potential(tau0_hat)?;
                let mismatched = other.potential(
                    teacher_factor,
                    Averaged {
                        fields: &fields,
                        tau0_hat,
                    },
                )? - other.prior_potential(&student_tilts)?;
                Ok(matched - mismatched)
            })()
            .map_err(|source| RunError::Factor {
                factor: s.name.clone(),
                source,
            })?;
            terms.push(Term {
                name: s.name.clone(),
                value,
                excess: value,
            });
        }
        Ok(terms)
    }
}
