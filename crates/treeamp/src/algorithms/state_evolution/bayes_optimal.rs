//! Bayes-optimal state evolution (algorithm 5): one number $\hat m$ per edge.

use std::f64::consts::TAU;

use super::teacher::{not_reached, requires, rule, weights};
use super::{Conjugate, Evolution, Prediction, Teacher};
use crate::belief::{OverlapFields, Overlaps, SignalSpec};
use crate::engine::{
    Algorithm, Damping, EdgeMessage, Engine, Initial, MissingRule, Observer, Options, Potential,
};
use crate::error::{FactorError, RunError};
use crate::factor::{Averaged, Factor, Incoming};
use crate::model::{Tree, Variable};

/// The precision that an informed start gives, in units of $1/\tau_0$.
pub(super) const INFORMED: f64 = 1e8;

/// The largest field that a variance of zero gives, in units of $1/\tau_0$.
pub(super) const CERTAIN: f64 = 1e10;

/// The algorithm: variance matching on average, teacher and student being the same.
#[derive(Debug, Clone)]
pub struct BayesOptimal {
    teacher: Teacher,
    factor_weights: Vec<f64>,
    variable_weights: Vec<f64>,
    /// Edges by factor and port.
    edges: Vec<Vec<usize>>,
}

impl BayesOptimal {
    fn new(tree: &Tree, teacher: Teacher) -> Self {
        let (factor_weights, variable_weights) = weights(tree);
        let edges = tree.factors().iter().map(|f| f.edges.clone()).collect();
        Self {
            teacher,
            factor_weights,
            variable_weights,
            edges,
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
        incoming: Incoming<'_, Conjugate>,
        target: usize,
        out: &mut Conjugate,
        _: &mut [f64],
    ) -> Result<(), FactorError> {
        let fields = self.fields(node, incoming);
        let own = incoming.get(target).0;
        let rule = rule(factor)?;
        let at = Averaged {
            fields: &fields,
            tau0_hat: &self.teacher.to_factor[node],
        };
        let tau_hat = self.teacher.to_variable[self.edges[node][target]];
        if let Some(a) = rule.extrinsic_precision(at, target)?
            && (a > 2.0 * tau_hat || tau_hat == 0.0)
        {
            out.0 = a - tau_hat;
            return Ok(());
        }
        if own == f64::INFINITY {
            // a known variable cannot learn more
            out.0 = 0.0;
            return Ok(());
        }
        let o = rule.overlaps(factor, at, target)?;
        // a variance that vanishes faster than the precision grows: a discrete signal is known. A
        // finite field keeps the entropies defined
        let certain = o.v * CERTAIN < o.tau0 && o.v * fields[target].a() < 1e-3;
        out.0 = if certain {
            CERTAIN / o.tau0
        } else if o.v < 0.5 * o.tau0 {
            1.0 / o.v - fields[target].a() - tau_hat
        } else {
            // keeps the digits of a small overlap, and an exact zero
            o.m / (o.v * o.tau0) - own
        };
        // a factor that adds nothing says so up to rounding
        let rounding = 1e-12 * (1.0 / o.tau0 + own);
        if out.0 < 0.0 && out.0 > -rounding {
            out.0 = 0.0;
        }
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
                "the prediction on `{}` has precision {a:e}",
                variable.name
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
            err: m * v / tau0,
            tau0,
        };
        Ok(())
    }

    fn factor_potential(
        &self,
        node: usize,
        factor: &dyn Factor,
        incoming: Incoming<'_, Conjugate>,
        _: &mut [f64],
    ) -> Result<Potential, FactorError> {
        let fields = self.fields(node, incoming);
        let at = Averaged {
            fields: &fields,
            tau0_hat: &self.teacher.to_factor[node],
        };
        let value = self.factor_weights[node] * rule(factor)?.potential(factor, at)?;
        Ok(Potential {
            value,
            excess: value,
        })
    }

    /// $\bar A_i = \frac12\hat m\tau_0 + \frac12\ln\frac{2\pi}{a}$, $a = 1/\tau_0 + \hat m$.
    fn variable_potential(
        &self,
        variable: &Variable,
        incoming: Incoming<'_, Conjugate>,
        _: &mut Conjugate,
    ) -> Potential {
        let m_hat: f64 = incoming.iter().map(|m| m.0).sum();
        let tau0 = self.teacher.tau0[variable.index];
        let value = 0.5 * m_hat * tau0 + 0.5 * (TAU / (1.0 / tau0 + m_hat)).ln();
        let value = self.variable_weights[variable.index] * value;
        Potential {
            value,
            excess: value,
        }
    }
}

/// State evolution of a tree whose student knows the teacher.
///
/// ```
/// use treeamp::prelude::*;
/// let model = (source(GaussBernoulli::new(0.5, 0.0, 1.0)?.limit()) >> var("x")
///     >> LinearEnsemble::gaussian(0.8)? >> var("z")
///     >> GaussianNoise::new(0.01)? >> var("y")).build()?.expect("y")?;
/// let evolution = StateEvolution::new(&model)?.run()?;
/// assert!(evolution.mse("x")? < 0.25 * 0.5); // a quarter of the prior's error
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct StateEvolution<'t> {
    tree: &'t Tree,
    teacher: Teacher,
    options: Options,
}

impl<'t> StateEvolution<'t> {
    /// Prepares the theory of a tree: checks the rules and finds the teacher's second moments.
    ///
    /// # Errors
    /// A factor without an ensemble rule, or second moments that are not reached.
    pub fn new(tree: &'t Tree) -> Result<Self, RunError> {
        let options = Options {
            max_sweeps: 2000,
            tolerance: 1e-9,
            ..Options::default()
        };
        Ok(Self {
            tree,
            teacher: Teacher::new(tree)?,
            options,
        })
    }

    /// The teacher's second moments.
    #[must_use]
    pub fn teacher(&self) -> &Teacher {
        &self.teacher
    }

    /// At most this many sweeps (2000).
    #[must_use]
    pub fn max_sweeps(mut self, n: usize) -> Self {
        self.options.max_sweeps = n;
        self
    }

    /// Converged when variances change by less than this, relative (1e-9).
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

    /// Messages before the first sweep, their precisions being $\hat m$ (zero: uninformed).
    #[must_use]
    pub fn initial(mut self, initial: Initial) -> Self {
        self.options.initial = initial;
        self
    }

    /// Starts from near-perfect knowledge of the given variables.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`](crate::error::ModelError::UnknownVariable).
    pub fn informed(self, variables: &[&str]) -> Result<Self, RunError> {
        let starts: Vec<(&str, f64)> = variables
            .iter()
            .map(|v| {
                let index = self.tree.variable(v)?;
                Ok((*v, INFORMED / self.teacher.tau0[index]))
            })
            .collect::<Result<_, RunError>>()?;
        self.starting_from(&starts)
    }

    /// Starts with $\hat m$ given on all messages into the named variables.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`](crate::error::ModelError::UnknownVariable), or a field that is
    /// not finite.
    pub fn starting_from(mut self, starts: &[(&str, f64)]) -> Result<Self, RunError> {
        let mut messages = Vec::new();
        for (name, m_hat) in starts {
            let variable = &self.tree.variables()[self.tree.variable(name)?];
            for edge in variable.edges.iter().map(|e| self.tree.edges()[*e]) {
                messages.push(EdgeMessage {
                    factor: self.tree.factors()[edge.factor].name.clone(),
                    variable: variable.name.clone(),
                    precision: *m_hat,
                    linear: vec![0.0],
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
    pub fn run(&self) -> Result<Evolution<BayesOptimal>, RunError> {
        self.observed_by(&mut ())
    }

    /// Runs it under an observer.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn observed_by(
        &self,
        observer: &mut impl Observer<BayesOptimal>,
    ) -> Result<Evolution<BayesOptimal>, RunError> {
        let algorithm = BayesOptimal::new(self.tree, self.teacher.clone());
        let engine = Engine::new(self.tree, algorithm)?.options(self.options.clone());
        let report = engine.run(observer)?;
        Ok(Evolution {
            report,
            teacher: self.teacher.clone(),
            normalisation: self.teacher.normalisation,
        })
    }

    /// Runs it, and insists on a fixed point.
    ///
    /// # Errors
    /// [`RunError::NotReached`] when the run ends without one.
    pub fn fixed_point(&self) -> Result<Evolution<BayesOptimal>, RunError> {
        let evolution = self.run()?;
        if evolution.is_converged() {
            return Ok(evolution);
        }
        Err(not_reached(
            "a fixed point of state evolution",
            evolution.termination(),
        ))
    }
}
