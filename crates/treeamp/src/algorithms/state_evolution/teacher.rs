//! Second moments of the teacher's signals (algorithm 3): a message $\hat\tau_0$ per edge, such that
//! every factor and variable agree on $\tau_0 = E x_0^2$.
//!
//! A Bayesian network is done in one forward pass, with $\hat\tau_0 = 1/\tau_0$ forwards and 0 backwards;
//! other trees iterate, and have a normalisation $A_N^{(0)}$.

use std::f64::consts::TAU;

use super::Conjugate;
use crate::belief::SignalSpec;
use crate::engine::{Algorithm, Engine, Marginal, MissingRule, Options, Potential, Termination};
use crate::error::{FactorError, RunError};
use crate::factor::{Context, EnsembleRule, Factor, Incoming};
use crate::model::{Direction, Tree, Variable};

/// $\tau_0$ of one variable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SecondMoment(pub f64);

impl Marginal for SecondMoment {
    fn copy_from(&mut self, other: &Self) {
        *self = *other;
    }

    fn forget(&mut self) {
        self.0 = f64::INFINITY;
    }

    fn second_moment(&self) -> f64 {
        self.0
    }

    fn variance(&self) -> f64 {
        self.0
    }

    fn change(&self, previous: &Self, _: f64) -> f64 {
        (self.0 - previous.0).abs() / self.0
    }
}

/// The algorithm for the teacher's second moments.
#[derive(Debug, Clone)]
pub struct TeacherMoments {
    /// Size of each factor's reference port, relative to the first variable.
    factor_weights: Vec<f64>,
    variable_weights: Vec<f64>,
    inputs: Vec<usize>,
}

impl TeacherMoments {
    fn new(tree: &Tree) -> Self {
        let (factor_weights, variable_weights) = weights(tree);
        let inputs = tree.factors().iter().map(|f| f.inputs).collect();
        Self {
            factor_weights,
            variable_weights,
            inputs,
        }
    }
}

/// Sizes of factors (their reference port) and variables, relative to the first variable.
pub(super) fn weights(tree: &Tree) -> (Vec<f64>, Vec<f64>) {
    let reference = tree.variables()[0].spec.relative_size();
    let size = |v: usize| tree.variables()[v].spec.relative_size() / reference;
    let factors = tree
        .factors()
        .iter()
        .map(|f| {
            let port = f.factor.ensemble().map_or(0, EnsembleRule::reference);
            size(tree.edges()[f.edges[port]].variable)
        })
        .collect();
    (factors, (0..tree.variables().len()).map(size).collect())
}

pub(super) fn rule(factor: &dyn Factor) -> Result<&dyn EnsembleRule, FactorError> {
    factor
        .ensemble()
        .ok_or_else(|| FactorError::Unsupported("no state evolution rule".to_owned()))
}

pub(super) fn requires(factor: &dyn Factor) -> Result<(), MissingRule> {
    factor
        .ensemble()
        .map(|_| ())
        .ok_or(MissingRule("state evolution (ensemble)"))
}

impl Algorithm for TeacherMoments {
    type Message = Conjugate;
    type Marginal = SecondMoment;
    const NAME: &'static str = "state evolution (teacher moments)";

    fn requires(&self, factor: &dyn Factor) -> Result<(), MissingRule> {
        requires(factor)
    }

    fn flat(&self, _: &SignalSpec) -> Conjugate {
        Conjugate(0.0)
    }

    fn blank(&self, _: &SignalSpec) -> SecondMoment {
        SecondMoment(0.0)
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
        let tilts: Vec<f64> = incoming.iter().map(|m| m.0).collect();
        let inputs = self.inputs[node];
        // a conditional law whose outputs nobody tilts integrates to one
        if target < inputs && tilts[inputs..].iter().all(|t| *t == 0.0) {
            out.0 = 0.0;
            return Ok(());
        }
        let tau = rule(factor)?.second_moment(&tilts, target)?;
        if tau == 0.0 {
            let what =
                "the teacher's signal is zero (second moment 0), and nothing is left to predict";
            return Err(FactorError::Failed(what.to_owned()));
        }
        if !(tau > 0.0 && tau.is_finite()) {
            let what = format!("the teacher's second moment is {tau:e}");
            return Err(FactorError::Improper(what));
        }
        out.0 = 1.0 / tau - tilts[target];
        Ok(())
    }

    fn marginal(
        &self,
        variable: &Variable,
        incoming: Incoming<'_, Conjugate>,
        _: &mut Conjugate,
        out: &mut SecondMoment,
    ) -> Result<(), FactorError> {
        let total: f64 = incoming.iter().map(|m| m.0).sum();
        if total > 0.0 {
            out.0 = 1.0 / total;
            return Ok(());
        }
        Err(FactorError::Improper(format!(
            "the teacher's `{}` has no second moment: precision {total:e}",
            variable.name
        )))
    }

    fn factor_potential(
        &self,
        node: usize,
        factor: &dyn Factor,
        context: &mut Context<'_, Conjugate>,
    ) -> Result<Potential, FactorError> {
        let incoming = context.incoming;
        let tilts: Vec<f64> = incoming.iter().map(|m| m.0).collect();
        let value = self.factor_weights[node] * rule(factor)?.prior_potential(&tilts)?;
        Ok(Potential {
            value,
            excess: value,
        })
    }

    fn variable_potential(
        &self,
        variable: &Variable,
        incoming: Incoming<'_, Conjugate>,
        _: &mut Conjugate,
    ) -> Potential {
        let total: f64 = incoming.iter().map(|m| m.0).sum();
        let value = self.variable_weights[variable.index] * 0.5 * (TAU / total).ln();
        Potential {
            value,
            excess: value,
        }
    }
}

/// What the theory needs to know about a teacher: second moments and their conjugates.
#[derive(Debug, Clone, PartialEq)]
pub struct Teacher {
    /// $\tau_0$ of every variable, in the tree's order.
    pub tau0: Vec<f64>,
    /// $\hat\tau_0$ from factor to variable, by edge.
    pub to_variable: Vec<f64>,
    /// $\hat\tau_0$ from variable to factor, by factor and port.
    pub to_factor: Vec<Vec<f64>>,
    /// $A_N^{(0)} = \frac1N\ln Z_N^{(0)}$ per component of the first variable; 0 for a Bayesian network.
    pub normalisation: f64,
}

impl Teacher {
    /// Runs algorithm 3 on a tree.
    ///
    /// # Errors
    /// A factor without an ensemble rule, a law without a second moment, or moments that are not reached.
    pub fn new(tree: &Tree) -> Result<Self, RunError> {
        check_second_moments(tree)?;
        let options = Options {
            max_sweeps: 5000,
            tolerance: 1e-13,
            ..Options::default()
        };
        let engine = Engine::new(tree, TeacherMoments::new(tree))?.options(options);
        let report = engine.run(&mut ())?;
        if !report.termination.is_converged() {
            return Err(not_reached(
                "the teacher's second moments",
                &report.termination,
            ));
        }
        let to_variable: Vec<f64> = report.messages.iter().map(|(_, _, m)| m.0).collect();
        let cavity = |e: usize| -> f64 { tree.others(e).map(|o| to_variable[o]).sum() };
        let to_factor = tree
            .factors()
            .iter()
            .map(|f| f.edges.iter().map(|e| cavity(*e)).collect())
            .collect();
        let tau0 = tree
            .variables()
            .iter()
            .map(|v| report.marginal(&v.name).map(|m| m.0))
            .collect::<Result<Vec<f64>, _>>()?;
        let normalisation = if not_a_bayesian_network(tree).is_none() {
            0.0
        } else {
            report
                .objective
                .as_ref()
                .map(|o| o.total)
                .map_err(Clone::clone)?
        };
        Ok(Self {
            tau0,
            to_variable,
            to_factor,
            normalisation,
        })
    }
}

/// Whether a tree can be a teacher: the priors of a Bayesian network have finite second moments. In other trees a law may have one together with
/// the other factors of its variable.
///
/// # Errors
/// [`RunError::NoSecondMoment`], of the first prior that has none.
pub fn check_second_moments(tree: &Tree) -> Result<(), RunError> {
    if not_a_bayesian_network(tree).is_some() {
        return Ok(());
    }
    let mut factors = tree.factors().iter();
    let Some(node) = factors.find(|f| f.factor.start_precision().is_some()) else {
        return Ok(());
    };
    Err(RunError::NoSecondMoment {
        factor: node.name.clone(),
        variable: tree.variable_at(node.edges[0]).name.clone(),
        law: node.factor.summary(),
    })
}

/// Why a tree is not a Bayesian network, where every variable has one source: one that two factors produce, or none. The law is
/// then the product of its factors divided by a constant that none of them knows: state evolution approximates it
/// (the normalisation of [`Teacher`]), and entropies are not defined.
#[must_use]
pub fn not_a_bayesian_network(tree: &Tree) -> Option<String> {
    tree.variables().iter().find_map(|v| {
        let edges = v.edges.iter().map(|e| tree.edges()[*e]);
        let sources = edges.filter(|e| e.direction == Direction::Forward);
        let names: Vec<String> = sources
            .map(|e| format!("`{}`", tree.factors()[e.factor].name))
            .collect();
        let from = match names.len() {
            1 => return None,
            0 => "no factor".to_owned(),
            _ => names.join(" and "),
        };
        let name = &v.name;
        Some(format!(
            "the model is not a Bayesian network: `{name}` comes from {from}"
        ))
    })
}

pub(super) fn not_reached(what: &str, termination: &Termination) -> RunError {
    RunError::NotReached {
        what: what.to_owned(),
        termination: termination.to_string(),
    }
}
