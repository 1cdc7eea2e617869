//! Bayes-optimal state evolution of signals made of rows $x \in \mathbb R^r$: one positive semi-definite $r \times r$ matrix $\hat Q$ per edge.
//!
//! $V = (T_0^{-1} + \sum\hat Q)^{-1}$ and $Q = T_0 - V$ at a variable, with the teacher's second moment $T_0$ of a row. Of rows of one number
//! it is [`BayesOptimal`](super::BayesOptimal).

use std::f64::consts::TAU;

use super::evolution::OrderParameters;
use super::teacher::not_a_bayesian_network;
use super::theory::Theory;
use super::{BayesOptimal, Conjugate, Teacher};
use crate::belief::{RowMatrix, RowOverlaps, SignalSpec, Structure};
use crate::engine::{Algorithm, Marginal, Message, MissingRule, Potential};
use crate::error::{FactorError, RunError};
use crate::factor::{Context, Factor, Incoming, RowAveraged, RowEnsembleRule};
use crate::math::dense::{inverse_of, log_det_of};
use crate::model::{Direction, FactorNode, Tree, Variable};
use crate::separable::propagated;

/// $\hat Q$ on an edge, and the standard errors of its entries where they were averaged at random.
#[derive(Debug, Clone, PartialEq)]
pub struct RowField {
    /// $\hat Q$.
    pub q_hat: RowMatrix,
    /// Standard errors by entry.
    pub standard_error: RowMatrix,
}

impl RowField {
    /// A field that is known as it is.
    #[must_use]
    pub fn of(q_hat: RowMatrix) -> Self {
        let standard_error = RowMatrix::zeros(q_hat.dim());
        Self {
            q_hat,
            standard_error,
        }
    }

    /// The length of the rows of a signal.
    pub(super) fn rows_of(spec: &SignalSpec) -> usize {
        match spec.structure {
            Structure::Block { dim } => dim,
            _ => 1,
        }
    }
}

impl Message for RowField {
    fn copy_from(&mut self, other: &Self) {
        self.clone_from(other);
    }

    fn set_flat(&mut self) {
        self.q_hat.data_mut().fill(0.0);
        self.standard_error.data_mut().fill(0.0);
    }

    /// Fields add, and their errors by squares.
    fn add_assign(&mut self, other: &Self) {
        let pairs = self.q_hat.data_mut().iter_mut().zip(other.q_hat.data());
        pairs.for_each(|(x, y)| *x += y);
        let errors = self.standard_error.data_mut().iter_mut();
        let pairs = errors.zip(other.standard_error.data());
        pairs.for_each(|(x, y)| *x = x.hypot(*y));
    }

    fn blend(&mut self, previous: &Self, damping: f64) {
        let pairs = self.q_hat.data_mut().iter_mut().zip(previous.q_hat.data());
        pairs.for_each(|(x, y)| *x += damping * (y - *x));
    }

    fn components(&self) -> usize {
        self.q_hat.dim()
    }

    fn is_finite(&self) -> bool {
        self.q_hat.data().iter().all(|x| x.is_finite())
    }
}

/// What the theory predicts about the rows of one variable.
#[derive(Debug, Clone, PartialEq)]
pub struct RowPrediction(pub RowOverlaps);

impl OrderParameters for RowPrediction {
    type Overlaps = RowOverlaps;

    fn overlaps(&self) -> RowOverlaps {
        self.0.clone()
    }

    fn mse(&self) -> f64 {
        self.0.v.mean_diagonal()
    }
}

impl Marginal for RowPrediction {
    fn copy_from(&mut self, other: &Self) {
        self.clone_from(other);
    }

    fn forget(&mut self) {
        self.0.v.data_mut().fill(f64::INFINITY);
    }

    fn second_moment(&self) -> f64 {
        self.0.tau0.mean_diagonal()
    }

    fn variance(&self) -> f64 {
        self.0.v.mean_diagonal()
    }

    /// A thousandth of the signal is no rounding.
    fn errs(&self) -> bool {
        self.variance() > 1e-3 * self.second_moment()
    }

    /// The largest change of an entry of $V$, relative to its diagonal.
    fn change(&self, previous: &Self, _: f64) -> f64 {
        let (v, before) = (&self.0.v, &previous.0.v);
        let scale = |i: usize| v.get(i, i).max(before.get(i, i));
        let change = |i: usize, j: usize| {
            let gap = (v.get(i, j) - before.get(i, j)).abs();
            gap / (scale(i) * scale(j)).sqrt()
        };
        let pairs = (0..v.dim()).flat_map(|i| (0..v.dim()).map(move |j| (i, j)));
        pairs.fold(0.0, |largest: f64, (i, j)| largest.max(change(i, j)))
    }
}

/// The algorithm: matching of covariances on average, teacher and student being the same.
#[derive(Debug, Clone)]
pub struct BayesOptimalRows {
    teacher: Teacher,
    /// $T_0$ and $T_0^{-1}$ of every variable.
    tau0: Vec<(RowMatrix, RowMatrix)>,
    /// $T_0$ by factor and port.
    ports: Vec<Vec<RowMatrix>>,
    factor_weights: Vec<f64>,
    variable_weights: Vec<f64>,
    /// The theory of components, for factors that have only that and touch no rows.
    components: BayesOptimal,
    /// Which factors these are.
    of_components: Vec<bool>,
}

impl Theory for BayesOptimalRows {
    fn teacher(&self) -> &Teacher {
        &self.teacher
    }
}

const NAME: &str = "state evolution of rows";

fn rule(factor: &dyn Factor) -> Result<&dyn RowEnsembleRule, FactorError> {
    let missing = || FactorError::Unsupported("no state evolution rule for rows".to_owned());
    factor.row_ensemble().ok_or_else(missing)
}

/// A channel or an output of components alone, such as the entries of a product of rows: it has a rule for these.
fn is_of_components(tree: &Tree, node: &FactorNode) -> bool {
    let one = |e: &usize| RowField::rows_of(&tree.variable_at(*e).spec) == 1;
    let factor = node.factor.as_ref();
    let has_rule = factor.row_ensemble().is_none() && factor.ensemble().is_some();
    has_rule && node.inputs > 0 && node.edges.iter().all(one)
}

/// $T_0$ of an output from those of the inputs.
fn second_moment(
    node: &FactorNode,
    inputs: &[RowMatrix],
    target: usize,
) -> Result<RowMatrix, FactorError> {
    let factor = node.factor.as_ref();
    match (factor.row_ensemble(), factor.ensemble()) {
        (None, Some(rule)) if inputs.iter().all(|t| t.dim() == 1) => {
            let known = inputs.iter().map(|t| 1.0 / t.get(0, 0));
            let outputs = node.edges.len() - inputs.len();
            let tilts: Vec<f64> = known.chain(std::iter::repeat_n(0.0, outputs)).collect();
            let tau0 = rule.second_moment(&tilts, target)?;
            Ok(RowMatrix::identity(1, tau0))
        }
        _ => rule(factor)?.second_moment(inputs, target),
    }
}

/// The teacher's $T_0$ of every variable, forwards along the tree.
fn second_moments(tree: &Tree) -> Result<Vec<RowMatrix>, RunError> {
    let mut found: Vec<RowMatrix> = tree
        .variables()
        .iter()
        .map(|_| RowMatrix::zeros(0))
        .collect();
    for f in tree.order() {
        let node = &tree.factors()[*f];
        let variable = |e: &usize| tree.edges()[*e].variable;
        let (inputs, outputs) = node.edges.split_at(node.inputs);
        let inputs: Vec<RowMatrix> = inputs.iter().map(|e| found[variable(e)].clone()).collect();
        for (k, e) in outputs.iter().enumerate() {
            let moment = second_moment(node, &inputs, node.inputs + k).map_err(|source| {
                RunError::Factor {
                    factor: node.name.clone(),
                    source,
                }
            })?;
            found[variable(e)] = moment;
        }
    }
    Ok(found)
}

impl BayesOptimalRows {
    pub(super) fn new(tree: &Tree) -> Result<Self, RunError> {
        let factors = tree.factors();
        let of_components: Vec<bool> = factors.iter().map(|f| is_of_components(tree, f)).collect();
        let lacking = factors.iter().zip(&of_components);
        let lacking = lacking
            .filter(|(f, of_components)| !**of_components && f.factor.row_ensemble().is_none());
        let lacking = lacking.map(|(f, _)| f);
        let missing: Vec<_> = lacking.map(|f| (f.name.clone(), MISSING.0)).collect();
        if !missing.is_empty() {
            return Err(RunError::MissingRules {
                algorithm: NAME,
                missing,
            });
        }
        if let Some(why) = not_a_bayesian_network(tree) {
            return Err(RunError::NotDefined {
                what: NAME.to_owned(),
                why,
            });
        }
        let moments = second_moments(tree)?;
        let port = |e: &usize| moments[tree.edges()[*e].variable].clone();
        let ports = factors
            .iter()
            .map(|f| f.edges.iter().map(port).collect())
            .collect();
        let size = |v: &Variable| v.spec.relative_size() / tree.variables()[0].spec.relative_size();
        let variable_weights: Vec<f64> = tree
            .variables()
            .iter()
            .map(|v| size(v) / RowField::rows_of(&v.spec) as f64)
            .collect();
        let factor_weights = factors
            .iter()
            .map(|f| {
                let port = f
                    .factor
                    .row_ensemble()
                    .map_or(0, RowEnsembleRule::reference);
                variable_weights[tree.edges()[f.edges[port]].variable]
            })
            .collect();
        let teacher = scalar_teacher(tree, &moments);
        let inverted = |(t, v): (RowMatrix, &Variable)| match inverse_of(t.as_mat()) {
            Ok(inverse) => {
                let inverse = RowMatrix::from_mat(inverse.as_ref());
                Ok((t, inverse))
            }
            Err(source) => Err(RunError::Factor {
                factor: v.name.clone(),
                source,
            }),
        };
        let tau0 = moments.into_iter().zip(tree.variables()).map(inverted);
        Ok(Self {
            components: BayesOptimal::new(tree, teacher.clone()),
            of_components,
            teacher,
            tau0: tau0.collect::<Result<_, _>>()?,
            ports,
            factor_weights,
            variable_weights,
        })
    }

    fn at<'a>(&'a self, node: usize, q_hat: &'a [RowMatrix]) -> RowAveraged<'a> {
        RowAveraged {
            q_hat,
            tau0: &self.ports[node],
        }
    }
}

/// Second moments per component, for what asks for one number.
fn scalar_teacher(tree: &Tree, moments: &[RowMatrix]) -> Teacher {
    let tau0: Vec<f64> = moments.iter().map(RowMatrix::mean_diagonal).collect();
    let from = |e: usize, direction: Direction| {
        let edge = &tree.edges()[e];
        let sent = edge.direction == direction;
        if sent { 1.0 / tau0[edge.variable] } else { 0.0 }
    };
    let count = tree.edges().len();
    let to_factor = |edges: &Vec<usize>| {
        let each = edges.iter();
        each.map(|e| from(*e, Direction::Backward)).collect()
    };
    Teacher {
        to_variable: (0..count).map(|e| from(e, Direction::Forward)).collect(),
        to_factor: tree.factors().iter().map(|f| to_factor(&f.edges)).collect(),
        tau0,
        normalisation: 0.0,
    }
}

const MISSING: MissingRule = MissingRule("state evolution of rows (row_ensemble)");

fn fields(incoming: Incoming<'_, RowField>) -> Vec<RowMatrix> {
    incoming.iter().map(|m| m.q_hat.clone()).collect()
}

/// Calls `f` with the messages at a factor of components as numbers.
fn on_components<T>(
    context: &mut Context<'_, RowField>,
    f: impl FnOnce(&mut Context<'_, Conjugate>) -> Result<T, FactorError>,
) -> Result<T, FactorError> {
    let numbers = |fields: Incoming<'_, RowField>| -> Vec<Conjugate> {
        fields
            .iter()
            .map(|m| Conjugate(m.q_hat.get(0, 0)))
            .collect()
    };
    let incoming = numbers(context.incoming);
    let sent = context.sent.map(numbers);
    let slots: Vec<usize> = (0..incoming.len()).collect();
    f(&mut Context {
        incoming: Incoming::new(&incoming, &slots),
        sent: sent.as_deref().map(|sent| Incoming::new(sent, &slots)),
        request: context.request,
        workspace: &mut *context.workspace,
    })
}

impl Algorithm for BayesOptimalRows {
    type Message = RowField;
    type Marginal = RowPrediction;
    const NAME: &'static str = NAME;

    fn takes(&self, structure: Structure) -> bool {
        matches!(structure, Structure::Block { .. })
    }

    /// Which factors lack what they need is known since the theory was made.
    fn requires(&self, _: &dyn Factor) -> Result<(), MissingRule> {
        Ok(())
    }

    fn flat(&self, spec: &SignalSpec) -> RowField {
        RowField::of(RowMatrix::zeros(RowField::rows_of(spec)))
    }

    fn blank(&self, spec: &SignalSpec) -> RowPrediction {
        let zero = RowMatrix::zeros(RowField::rows_of(spec));
        RowPrediction(RowOverlaps {
            q: zero.clone(),
            v: zero.clone(),
            tau0: zero.clone(),
            standard_error: zero,
        })
    }

    fn constant(&self, spec: &SignalSpec, precision: f64, _: &mut dyn FnMut() -> f64) -> RowField {
        RowField::of(RowMatrix::identity(RowField::rows_of(spec), precision))
    }

    fn update(
        &self,
        node: usize,
        factor: &dyn Factor,
        context: &mut Context<'_, RowField>,
        target: usize,
        out: &mut RowField,
    ) -> Result<(), FactorError> {
        if self.of_components[node] {
            let mut field = Conjugate(0.0);
            on_components(context, |context| {
                self.components
                    .update(node, factor, context, target, &mut field)
            })?;
            *out = RowField::of(RowMatrix::identity(1, field.0));
            return Ok(());
        }
        let (q_hat, rule) = (fields(context.incoming), rule(factor)?);
        let at = self.at(node, &q_hat);
        let sent = context.sent.map(fields);
        let recursion = sent.map_or(Ok(None), |sent| rule.recursion(at, &sent, target))?;
        let estimate = match recursion {
            Some(estimate) => estimate,
            None => rule.field(at, target)?,
        };
        out.q_hat = estimate.value;
        out.standard_error = estimate.standard_error;
        Ok(())
    }

    fn marginal(
        &self,
        variable: &Variable,
        incoming: Incoming<'_, RowField>,
        total: &mut RowField,
        out: &mut RowPrediction,
    ) -> Result<(), FactorError> {
        total.set_flat();
        incoming.iter().for_each(|m| total.add_assign(m));
        let (tau0, inverse) = &self.tau0[variable.index];
        let q_hat = total.q_hat.as_mat();
        let improper = |_| {
            FactorError::Improper(format!(
                "the prediction on `{}` has a precision that is not positive definite",
                variable.name
            ))
        };
        let v = inverse_of((inverse.as_mat() + q_hat).as_ref()).map_err(improper)?;
        let seen = tau0.as_mat() * q_hat * &v;
        out.0 = RowOverlaps {
            q: RowMatrix::from_mat(seen.as_ref()),
            standard_error: propagated(&v, &total.standard_error),
            v: RowMatrix::from_mat(v.as_ref()),
            tau0: tau0.clone(),
        };
        Ok(())
    }

    fn factor_potential(
        &self,
        node: usize,
        factor: &dyn Factor,
        context: &mut Context<'_, RowField>,
    ) -> Result<Potential, FactorError> {
        if self.of_components[node] {
            return on_components(context, |context| {
                let found = self.components.factor_potential(node, factor, context)?;
                Ok(Potential {
                    value: found.excess,
                    ..found
                })
            });
        }
        let q_hat = fields(context.incoming);
        let value = self.factor_weights[node] * rule(factor)?.potential(self.at(node, &q_hat))?;
        Ok(Potential {
            value,
            excess: value,
        })
    }

    /// $\frac12\ln\det 2\pi V$; the signal terms $\frac12\operatorname{tr}\hat Q T_0$ cancel over the tree, and are left out.
    fn variable_potential(
        &self,
        variable: &Variable,
        incoming: Incoming<'_, RowField>,
        total: &mut RowField,
    ) -> Potential {
        total.set_flat();
        incoming.iter().for_each(|m| total.add_assign(m));
        let (_, inverse) = &self.tau0[variable.index];
        let precision = inverse.as_mat() + total.q_hat.as_mat();
        let log_det = log_det_of(precision.as_ref()).unwrap_or(f64::NAN);
        let volume = total.q_hat.dim() as f64 * TAU.ln();
        let value = 0.5 * self.variable_weights[variable.index] * (volume - log_det);
        Potential {
            value,
            excess: value,
        }
    }
}
