//! Mismatched state evolution, replica symmetric (algorithm 4): $(\hat m, \hat q, \hat\tau)$ per edge.
//! Teacher and student share the tree and may differ in any factor. A student with penalties in place of priors is a
//! maximum a posteriori estimator: its precisions are those of the zero-temperature limit.

use std::f64::consts::TAU;
use std::sync::Arc;

use super::alike::faced;
use super::conjugate::certain;
use super::divergence::check_pair;
use super::evolution::noiseless_output;
use super::heuristic::heuristics;
use super::teacher::{not_a_bayesian_network, not_reached, requires, rule, weights};
use super::theory::{INFORMED, active, check_initial, check_start, least_noise};
use super::{BayesOptimal, Conjugate, Evolution, Prediction, Teacher};
use crate::belief::{OverlapFields, Overlaps, SignalSpec};
use crate::engine::{
    Algorithm, Damping, EdgeMessage, Engine, Fallback, Initial, Message, Messages, MissingRule,
    Objective, Observer, Options, Potential, Report, Termination,
};
use crate::error::{FactorError, RunError};
use crate::factor::{Averaged, Context, Factor, Incoming, Workspace};
use crate::model::{Tree, Variable};

/// Distance from the Nishimori line, relative, that is rounding: averages are good to 1e-8.
const MATCHED: f64 = 1e-8;

/// Relative rounding of a difference of fields.
const ROUNDING: f64 = 1e-13;

/// Adaptive damping of the theory: these are tried one after the other while sweeps do not settle.
const DAMPINGS: [f64; 4] = [0.0, 0.3, 0.6, 0.8];
/// So many sweeps are enough to say so.
const LONG: usize = 100;
/// A residual below this is at rest where no tolerance is given.
const AT_REST: f64 = 1e-6;

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
}

impl ReplicaSymmetric {
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

    fn update(
        &self,
        node: usize,
        factor: &dyn Factor,
        context: &mut Context<'_, OverlapFields>,
        target: usize,
        out: &mut OverlapFields,
    ) -> Result<(), FactorError> {
        let incoming = context.incoming;
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
                "the prediction on `{}` has precision {a:e}",
                variable.name
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

/// State evolution of a student on data of another teacher.
#[derive(Debug, Clone)]
pub struct MismatchedEvolution<'t> {
    student: &'t Tree,
    algorithm: ReplicaSymmetric,
    /// The moments that the student expects; a student with penalties expects none.
    own: Option<Teacher>,
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
        let cold = student.factors().iter().any(|node| {
            let rule = node.factor.ensemble();
            rule.is_some_and(|r| !r.is_law())
        });
        let (factor_weights, variable_weights) = weights(student);
        let moments = Teacher::new(teacher)?;
        let algorithm = ReplicaSymmetric {
            optimal: BayesOptimal::new(student, moments.clone()),
            moments,
            teachers: faced(teacher, student),
            factor_weights,
            variable_weights,
            edges: student.factors().iter().map(|f| f.edges.clone()).collect(),
        };
        let mut options = Options {
            max_sweeps: 2000,
            tolerance: 1e-9,
            ..Options::default()
        };
        if cold && let Some(noise) = least_noise(student, &algorithm.moments) {
            options.initial = active(noise * algorithm.moments.tau0[0]);
        }
        Ok(Self {
            student,
            algorithm,
            own: if cold {
                None
            } else {
                Some(Teacher::new(student)?)
            },
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

    /// Damping of the messages (adaptive: none, and where sweeps diverge, or go to and fro for 100 of them or more, again with a
    /// constant one of 0.3, 0.6 or 0.8. The fixed point is the same, but for a student that is far from the teacher expectation
    /// propagation may need the damping too). A run that does not settle at a number given here goes on as an adaptive one.
    #[must_use]
    pub fn damping(mut self, damping: impl Into<Damping>) -> Self {
        self.options.damping = damping.into();
        self
    }

    /// Whether other dampings may be tried (automatic); forbidden, sweeps are those of the damping given, or of none.
    #[must_use]
    pub fn fallback(mut self, fallback: Fallback) -> Self {
        self.options.fallback = fallback;
        self
    }

    /// Messages before the first sweep: their precisions are $\hat m = \hat q$, their linear parts $\hat\tau$ (zero; $\hat m = \hat q = 1/\Delta$ with the least noise
    /// $\Delta$ of its outputs for a student with penalties).
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

    /// Starts from near-perfect knowledge of the teacher's values of the given variables.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`](crate::error::ModelError::UnknownVariable).
    pub fn informed(self, variables: &[&str]) -> Result<Self, RunError> {
        let starts: Vec<(&str, f64)> = variables
            .iter()
            .map(|v| {
                let index = self.student.variable(v)?;
                Ok((*v, INFORMED / self.algorithm.moments.tau0[index]))
            })
            .collect::<Result<_, RunError>>()?;
        self.starting_from(&starts)
    }

    /// Starts with $\hat m = \hat q$ given on all messages into the named variables, and the $\hat\tau$ that the student
    /// expects there.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`](crate::error::ModelError::UnknownVariable), or a field that is
    /// negative or not finite.
    pub fn starting_from(mut self, starts: &[(&str, f64)]) -> Result<Self, RunError> {
        let mut messages = Vec::new();
        for (name, m_hat) in starts {
            check_start(name, *m_hat)?;
            let variable = &self.student.variables()[self.student.variable(name)?];
            for e in &variable.edges {
                let edge = self.student.edges()[*e];
                messages.push(EdgeMessage {
                    factor: self.student.factors()[edge.factor].name.clone(),
                    variable: variable.name.clone(),
                    precision: *m_hat,
                    linear: vec![self.own.as_ref().map_or(0.0, |own| own.to_variable[*e])],
                });
            }
        }
        self.options.initial = Initial::Given(messages);
        Ok(self)
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
        let mut report = self.engine(&self.options)?.run(observer)?;
        for damping in self.other_dampings() {
            if !self.is_restless(&report) {
                break;
            }
            let mut options = self.options.clone();
            options.damping = (*damping).into();
            let mut again = self.engine(&options)?.run(observer)?;
            if !self.is_restless(&again) {
                let given = self.options.damping.is_constant();
                again.restarted = Some(report.termination).filter(|_| given);
                report = again;
            }
        }
        Ok(Evolution {
            report,
            teacher: self.algorithm.moments.clone(),
            normalisation: self.own.as_ref().map_or(0.0, |own| own.normalisation),
            heuristics: heuristics(self.student),
            noiseless_output: noiseless_output(self.student),
            unnormalised: not_a_bayesian_network(self.student),
        })
    }

    /// What to try where the damping of the options does not settle the run.
    fn other_dampings(&self) -> &'static [f64] {
        match &self.options.damping {
            _ if self.options.fallback != Fallback::Automatic => &[],
            Damping::Adaptive => &DAMPINGS[1..],
            given if given.is_constant() => &DAMPINGS,
            _ => &[],
        }
    }

    /// A run whose sweeps go to and fro, or away, though there may be a fixed point.
    fn is_restless(&self, report: &Report<ReplicaSymmetric>) -> bool {
        match report.termination {
            Termination::Diverging(_) => true,
            Termination::SweepLimit => {
                let rests = self.options.tolerance <= 0.0 && report.residual() < AT_REST;
                self.options.max_sweeps >= LONG && !rests
            }
            _ => false,
        }
    }

    fn engine(&self, options: &Options) -> Result<Engine<'t, ReplicaSymmetric>, RunError> {
        check_initial(&options.initial)?;
        let engine = Engine::new(self.student, self.algorithm.clone())?;
        let engine = engine.options(options.clone());
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
        self.engine(&self.options)?.initial_objective()
    }

    /// Runs it, and insists on a fixed point.
    ///
    /// # Errors
    /// [`RunError::NotReached`] when the run ends without one.
    pub fn fixed_point(&self) -> Result<Evolution<ReplicaSymmetric>, RunError> {
        let evolution = self.run()?;
        if evolution.is_converged() {
            return Ok(evolution);
        }
        Err(not_reached(
            "a fixed point of mismatched state evolution",
            evolution.termination(),
        ))
    }
}
