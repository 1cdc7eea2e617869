//! The errors of the library: [`ModelError`], [`FactorError`], [`RunError`]. Each names the factor
//! or variable, what was expected and what came.

use thiserror::Error;

/// The error of a constructor parameter out of range, for the constructors of modules.
#[must_use]
pub fn parameter(
    module: &str,
    name: &'static str,
    expected: impl Into<String>,
    got: impl std::fmt::Display,
) -> ModelError {
    let got = got.to_string();
    // -1e-300 is three hundred zeros
    let long = got.len() > LONGEST;
    let short = got.parse::<f64>().ok().filter(|_| long);
    ModelError::Parameter {
        module: module.to_owned(),
        name,
        expected: expected.into(),
        got: short.map_or(got, |x| format!("{x:e}")),
    }
}

/// A number for a message, with four or five digits.
pub(crate) fn brief(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return x.to_string();
    }
    if (1e-3..1e5).contains(&x.abs()) {
        let digits = format!("{x:.5}");
        return digits
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned();
    }
    format!("{x:.3e}")
}

/// Digits of a number that are shown as they are.
const LONGEST: usize = 24;

/// A model that cannot be built, conditioned or sampled.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A parameter out of its range.
    #[error("{module}: parameter `{name}` must be {expected}, got {got}")]
    Parameter {
        /// The module's catalogue name.
        module: String,
        /// The parameter's name.
        name: &'static str,
        /// What would have been right.
        expected: String,
        /// What was given.
        got: String,
    },
    /// An operator whose adjoint is not its adjoint.
    #[error(
        "operator `{operator}` fails the dot test: expected <Wz, x> = <z, Wᵀx>, got {forward:e} and {backward:e}"
    )]
    Adjoint {
        /// The operator.
        operator: String,
        /// $\langle W z, x\rangle$.
        forward: f64,
        /// $\langle z, W^T x\rangle$.
        backward: f64,
    },
    /// An operator whose products with vectors of order one are infinite.
    #[error(
        "operator `{operator}`: the dot test expected finite products with vectors of order one, got an overflow; scale it down"
    )]
    Overflow {
        /// The operator.
        operator: String,
    },
    /// A penalty whose derivative is not that of its proximal map.
    #[error(
        "penalty `{penalty}`: the derivative of its proximal map at step {step} and point {point} must be {expected} (by differences), got {got}"
    )]
    Derivative {
        /// The penalty.
        penalty: String,
        /// The step $t$.
        step: f64,
        /// The point $u$.
        point: f64,
        /// The central difference.
        expected: f64,
        /// The derivative given.
        got: f64,
    },
    /// A proximal map that does not minimise.
    #[error(
        "penalty `{penalty}`: its proximal map at step {step} and point {point} must minimise the energy, got {got}, where {better} is lower"
    )]
    Proximal {
        /// The penalty.
        penalty: String,
        /// The step $t$.
        step: f64,
        /// The point $u$.
        point: f64,
        /// The place given.
        got: f64,
        /// A better one.
        better: f64,
    },
    /// A proximal map that is that of no convex energy.
    #[error(
        "penalty `{penalty}`: its proximal map at step {step} must rise by between 0 and {} from point {from} to {to}, got {rise}: expected a convex energy, or `not_convex`",
        to - from
    )]
    NotConvex {
        /// The penalty.
        penalty: String,
        /// The step $t$.
        step: f64,
        /// A point $u$.
        from: f64,
        /// The next one.
        to: f64,
        /// What the map rises by.
        rise: f64,
    },
    /// A proximal map that leads where the energy is infinite.
    #[error(
        "penalty `{penalty}`: its proximal map at step {step} and point {point} must lead where the energy is finite, got {got}, where it is {energy}"
    )]
    ProximalEnergy {
        /// The penalty.
        penalty: String,
        /// The step $t$.
        step: f64,
        /// The point $u$.
        point: f64,
        /// The place given.
        got: f64,
        /// The energy there.
        energy: f64,
    },
    /// Two pieces of a declaration that do not fit end to end.
    #[error(
        "cannot chain {left} >> {right}: the left side offers {offered}, the right side takes {taken}"
    )]
    Chain {
        /// What stands left of `>>`.
        left: String,
        /// What stands right of `>>`.
        right: String,
        /// The open ends of the left side.
        offered: String,
        /// The open ends of the right side.
        taken: String,
    },
    /// A declaration with an end that leads nowhere.
    #[error("factor `{factor}` has an open {side}: expected a variable there, got nothing")]
    OpenEnd {
        /// The factor.
        factor: String,
        /// `input` or `output`.
        side: &'static str,
    },
    /// A factor wired to the wrong number of variables.
    #[error("factor `{factor}` takes {expected} {side}, got {got}")]
    Arity {
        /// The factor.
        factor: String,
        /// `inputs` or `outputs`.
        side: &'static str,
        /// What the factor takes.
        expected: usize,
        /// What it was given.
        got: usize,
    },
    /// The model has no variable.
    #[error(
        "the model is empty: expected at least one variable and one factor, got {variables} and {factors}"
    )]
    Empty {
        /// Number of variables.
        variables: usize,
        /// Number of factors.
        factors: usize,
    },
    /// Two variables of the same name.
    #[error("variable `{variable}` is declared twice: names must be unique")]
    DuplicateVariable {
        /// The name.
        variable: String,
    },
    /// A variable asked for as what it is not.
    #[error("variable `{variable}` is {got}: expected a {expected} one")]
    Element {
        /// The variable.
        variable: String,
        /// What was asked for.
        expected: crate::belief::Element,
        /// What it is.
        got: crate::belief::Element,
    },
    /// Two factors of the same given name.
    #[error("factor `{factor}` is declared twice: names must be unique")]
    DuplicateFactor {
        /// The name.
        factor: String,
    },
    /// A name that the model does not have.
    #[error("there is no variable `{variable}`: the model has {known}")]
    UnknownVariable {
        /// The name asked for.
        variable: String,
        /// The names there are.
        known: String,
    },
    /// A variable that no factor touches, or that no factor produces.
    #[error("variable `{variable}` dangles: expected {expected}, got {got}")]
    Dangling {
        /// The variable.
        variable: String,
        /// What it needs.
        expected: &'static str,
        /// What it has.
        got: String,
    },
    /// The factor graph has a cycle.
    #[error("the factor graph has a cycle through {path}: expected a tree")]
    Cycle {
        /// The nodes of the cycle.
        path: String,
    },
    /// The factor graph falls apart.
    #[error(
        "the factor graph is disconnected: expected one tree, got `{one}` and `{other}` with no path between them"
    )]
    Disconnected {
        /// A node of one part.
        one: String,
        /// A node of another part.
        other: String,
    },
    /// A shape that does not fit.
    #[error(
        "shape mismatch at factor `{factor}`, variable `{variable}`: expected {expected}, got {got}"
    )]
    Shape {
        /// The factor.
        factor: String,
        /// The variable.
        variable: String,
        /// The shape the factor wants.
        expected: String,
        /// The shape that came.
        got: String,
    },
    /// A variable with no components.
    #[error("variable `{variable}` is empty: expected at least one component, got shape {shape}")]
    EmptyVariable {
        /// The variable.
        variable: String,
        /// Its shape.
        shape: String,
    },
    /// Blocks that do not fill the rows of a variable.
    #[error(
        "blocks of {dim} do not divide the rows of variable `{variable}`: expected a divisor of {row}, for shape {shape}"
    )]
    BlockSize {
        /// The variable.
        variable: String,
        /// The size of a block.
        dim: usize,
        /// Real numbers in a row, along the last axis.
        row: usize,
        /// Its shape.
        shape: String,
    },
    /// A variable that no memory can hold.
    #[error(
        "variable `{variable}` is too large: expected a shape that fits in memory, got {shape}"
    )]
    TooLarge {
        /// The variable.
        variable: String,
        /// Its shape.
        shape: String,
    },
    /// An observation of something that is not a leaf.
    #[error(
        "cannot observe `{variable}`: expected a leaf (one factor, which produces it), got a variable between {neighbours}"
    )]
    NotALeaf {
        /// The variable.
        variable: String,
        /// Its factors.
        neighbours: String,
    },
    /// A second observation of the same variable.
    #[error(
        "`{variable}` is observed already: expected a hidden variable, got one conditioned on before"
    )]
    AlreadyObserved {
        /// The variable.
        variable: String,
    },
    /// An observation of the wrong length or outside what the factor can produce.
    #[error("observation of `{variable}` through factor `{factor}`: {reason}")]
    Observation {
        /// The variable.
        variable: String,
        /// The factor that produces it.
        factor: String,
        /// What was expected and what came.
        reason: String,
    },
    /// A model that cannot be drawn from forwards.
    #[error("cannot sample: {reason}")]
    CannotSample {
        /// Which node, and why.
        reason: String,
    },
}

/// A shape that a factor cannot take; the tree adds the names.
#[derive(Debug, Clone, PartialEq)]
pub struct ShapeError {
    /// The port, inputs first.
    pub port: usize,
    /// What the factor wants there.
    pub expected: String,
    /// What came.
    pub got: String,
}

/// What can go wrong while a factor computes.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum FactorError {
    /// The tilted law cannot be normalised. Recoverable: a smaller step may keep it proper.
    #[error("its tilted law is improper: {0}")]
    Improper(String),
    /// Two exact statements that contradict each other.
    #[error("contradiction: {0}")]
    Contradiction(String),
    /// The factor has no rule for this situation.
    #[error("{0}")]
    Unsupported(String),
    /// A decomposition or inner iteration failed.
    #[error("{0}")]
    Failed(String),
}

impl FactorError {
    /// A smaller step could mend it.
    #[must_use]
    pub fn is_recoverable(&self) -> bool {
        matches!(self, Self::Improper(_))
    }
}

impl RunError {
    /// A factor that failed, for good.
    pub(crate) fn is_failed_factor(&self) -> bool {
        let failed = |source: &FactorError| matches!(source, FactorError::Failed(_));
        matches!(self, Self::Factor { source, .. } if failed(source))
    }
}

/// A belief that a factor cannot handle.
#[derive(Debug, Clone, PartialEq)]
pub struct RefusedBelief {
    /// The factor.
    pub factor: String,
    /// The variable.
    pub variable: String,
    /// The belief asked for.
    pub structure: String,
    /// What the factor supports.
    pub supported: String,
}

/// Why an algorithm cannot run on a model. Found before the first sweep.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum RunError {
    /// Factors without the rule that the algorithm needs.
    #[error("{algorithm} cannot run: {}", list_missing(.missing))]
    MissingRules {
        /// The algorithm.
        algorithm: &'static str,
        /// Pairs of factor and missing rule.
        missing: Vec<(String, &'static str)>,
    },
    /// Beliefs that factors cannot handle, all of them.
    #[error("{}", list_refused(.refused))]
    Belief {
        /// The factors that refuse, each with its first such variable.
        refused: Vec<RefusedBelief>,
    },
    /// A belief that an algorithm cannot handle.
    #[error(
        "{algorithm} does not support {structure} beliefs on variable `{variable}`: expected isotropic ones"
    )]
    AlgorithmBelief {
        /// The algorithm.
        algorithm: &'static str,
        /// The variable.
        variable: String,
        /// The belief asked for.
        structure: String,
    },
    /// Beliefs that do not fit in memory.
    #[error(
        "{structure} beliefs on variable `{variable}` of shape {shape} do not fit in memory: the beliefs of the run \
         would take {bytes} bytes, expected at most {limit} (option `memory_limit`)"
    )]
    Memory {
        /// The variable whose beliefs take most.
        variable: String,
        /// Their structure.
        structure: String,
        /// Its shape.
        shape: String,
        /// What messages, marginals and the matrices of factors would take.
        bytes: u128,
        /// The limit.
        limit: u64,
    },
    /// A variable without a size, where data are needed.
    #[error("variable `{variable}` exists only in the limit: expected a shape, got a ratio")]
    LimitOnly {
        /// The variable.
        variable: String,
    },
    /// A teacher and a student that do not share a tree.
    #[error("teacher and student differ: {reason}")]
    Mismatch {
        /// Where they differ.
        reason: String,
    },
    /// A teacher without a finite second moment, which every error is measured by.
    #[error(
        "`{variable}` of factor `{factor}` ({law}) has no finite second moment: expected a teacher with one; such a law can be a student's"
    )]
    NoSecondMoment {
        /// The factor.
        factor: String,
        /// Its variable.
        variable: String,
        /// The parameters of its law.
        law: String,
    },
    /// A quantity that the model does not have.
    #[error("{what} is not defined: {why}")]
    NotDefined {
        /// The quantity.
        what: String,
        /// Why.
        why: String,
    },
    /// An information that is negative, which none is: its averages have no digits left.
    #[error(
        "the information {of} comes out as {value:e} nats, below zero: its averages have no digits left, and no value is given"
    )]
    NegativeInformation {
        /// Whose it is.
        of: String,
        /// What came out.
        value: f64,
    },
    /// A quantity without a limit as the variance of a variable vanishes, and others do not: a number would only tell where a
    /// run was stopped.
    #[error("{what} has no limit as the variance of `{variable}` vanishes: {why}")]
    WithoutLimit {
        /// The quantity.
        what: String,
        /// The variable.
        variable: String,
        /// What was seen.
        why: String,
    },
    /// A transition that the range does not hold.
    #[error("{what} is not defined: {}", outside(*.low, *.high, *.holds))]
    NoTransition {
        /// The transition.
        what: String,
        /// The smallest ratio of the range.
        low: f64,
        /// The largest.
        high: f64,
        /// What lies beyond the transition holds in the range already; else it lies above the range.
        holds: bool,
    },
    /// Energies without a common point where all are finite.
    #[error(
        "infeasible: expected a point where every energy is finite, got {energy} at factor `{factor}`: its constraint does not hold together with the others"
    )]
    Infeasible {
        /// The factor.
        factor: String,
        /// Its energy.
        energy: f64,
    },
    /// Energies without a lower bound.
    #[error(
        "no minimiser: expected energies with a lower bound, got one of factor `{factor}` that falls without bound along variable `{variable}`"
    )]
    NoMinimum {
        /// The factor.
        factor: String,
        /// Its variable.
        variable: String,
    },
    /// A fixed point that an answer depends on was not reached.
    #[error("could not reach {what}: {termination}")]
    NotReached {
        /// What was sought.
        what: String,
        /// How the run ended.
        termination: String,
    },
    /// An option out of range.
    #[error("option `{option}` must be {expected}, got {got}")]
    Option {
        /// The option.
        option: &'static str,
        /// What would have been right.
        expected: String,
        /// What was given.
        got: String,
    },
    /// An edge that the tree does not have.
    #[error(
        "there is no edge between factor `{factor}` and variable `{variable}`: the model has {known}"
    )]
    UnknownEdge {
        /// The factor.
        factor: String,
        /// The variable.
        variable: String,
        /// The edges there are.
        known: String,
    },
    /// A message of the wrong size.
    #[error("message {factor} -> {variable}: expected {expected} components, got {got}")]
    MessageLen {
        /// The factor.
        factor: String,
        /// The variable.
        variable: String,
        /// Components of the variable.
        expected: usize,
        /// Components given.
        got: usize,
    },
    /// A message of another structure than its variable's.
    #[error("message {factor} -> {variable}: expected a {expected} belief, got a {got} one")]
    MessageBelief {
        /// The factor.
        factor: String,
        /// The variable.
        variable: String,
        /// The structure of the variable's beliefs.
        expected: String,
        /// What was given.
        got: String,
    },
    /// A factor failed while it prepared or computed.
    #[error("factor `{factor}`: {source}")]
    Factor {
        /// The factor.
        factor: String,
        /// What happened.
        source: FactorError,
    },
    /// The model itself is wrong.
    #[error(transparent)]
    Model(#[from] ModelError),
}

fn outside(low: f64, high: f64, holds: bool) -> String {
    if holds {
        format!(
            "none between {low} and {high}: already recovered at the lower end of the range; try a smaller LOW"
        )
    } else {
        format!(
            "none up to {high}: not yet recovered at the upper end of the range; try a larger HIGH"
        )
    }
}

fn list_refused(refused: &[RefusedBelief]) -> String {
    let parts: Vec<String> = refused
        .iter()
        .map(|r| {
            let RefusedBelief {
                factor,
                variable,
                structure,
                supported,
            } = r;
            format!(
                "factor `{factor}` does not support {structure} beliefs on variable `{variable}`: \
                 expected one of {supported}"
            )
        })
        .collect();
    parts.join("; ")
}

/// The rule that maximum a posteriori estimation asks of each factor.
pub(crate) const PROXIMAL: &str = "maximum a posteriori (proximal)";

fn list_missing(missing: &[(String, &'static str)]) -> String {
    let parts: Vec<String> = missing
        .iter()
        .map(|(f, rule)| format!("factor `{f}` has no {rule} rule"))
        .collect();
    let listed = parts.join("; ");
    if missing.iter().any(|(_, rule)| *rule == PROXIMAL) {
        format!("{listed}: the energy is not convex, or not known to be with these parameters")
    } else {
        listed
    }
}
