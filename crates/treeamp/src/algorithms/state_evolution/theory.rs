//! State evolution of a tree, ready to run: options, starts, runs. One builder for every theory: whether the student knows the teacher or not, and
//! whatever its order parameters are.

use super::evolution::{OrderParameters, noiseless_output};
use super::heuristic::heuristics;
use super::teacher::not_a_bayesian_network;
use super::{BayesOptimal, BayesOptimalRows, Evolution, ReplicaSymmetric, RowField, Teacher};
use crate::belief::RowMatrix;
use crate::engine::{
    Algorithm, Damping, EdgeMessage, Engine, Fallback, Initial, Messages, Objective, Observer,
    Options,
};
use crate::error::RunError;
use crate::model::Tree;
use crate::scalar::{OutputMeasure, ScalarView};

/// The precision that an informed start gives, in units of $1/\tau_0$.
pub(super) const INFORMED: f64 = 1e8;

/// What the uninformed start of rows knows, $\hat Q\tau_0$: nothing at all may be a fixed point that units with a symmetry never leave.
const PUSH: f64 = 1e-3;

/// Variances below this fraction of the least noise are perfect recovery.
const BELOW_NOISE: f64 = 1e-6;

/// A theory: an algorithm of the engine whose marginals are order parameters of a teacher and a student.
pub trait Theory: Algorithm<Marginal: OrderParameters> + Clone {
    /// The teacher's second moments.
    fn teacher(&self) -> &Teacher;

    /// The log-normalisation of the student's law.
    fn normalisation(&self) -> f64 {
        self.teacher().normalisation
    }

    /// The $\hat\tau$ that the student expects on an edge, beside the $\hat m$ that it is given.
    fn tilt(&self, _edge: usize) -> f64 {
        0.0
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
pub type StateEvolution<'t> = EvolutionBuilder<'t, BayesOptimal>;

/// State evolution of a student on data of another teacher.
pub type MismatchedEvolution<'t> = EvolutionBuilder<'t, ReplicaSymmetric>;

/// State evolution of a tree whose signals are made of rows $x \in \mathbb R^r$ with block beliefs: overlaps are $r \times r$ matrices.
///
/// ```
/// use treeamp::prelude::*;
/// let rows = MixtureRow::gaussian(&[0.0, 0.0], &[1.0, 0.0, 0.0, 1.0])?;
/// let model = (source(rows.limit()) >> var("w").block(2)
///     >> LinearEnsemble::gaussian(3.0)? >> var("z").block(2)
///     >> SignCommittee::new(2)?.channel() >> var("y")).build()?.expect("y")?;
/// let evolution = RowEvolution::new(&model)?.fixed_point()?;
/// let q = evolution.overlaps("w")?.q;
/// assert!(q.get(0, 0) - q.get(0, 1) > 0.1); // the units have specialised
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type RowEvolution<'t> = EvolutionBuilder<'t, BayesOptimalRows>;

/// A theory of a tree, its options and its start.
#[derive(Debug, Clone)]
pub struct EvolutionBuilder<'t, A: Theory> {
    /// The student's.
    tree: &'t Tree,
    algorithm: A,
    options: Options,
    warm: Option<Messages<A::Message>>,
}

impl<'t> EvolutionBuilder<'t, BayesOptimal> {
    /// Prepares the theory of a tree: checks the rules and finds the teacher's second moments.
    ///
    /// # Errors
    /// A factor without an ensemble rule, or second moments that are not reached.
    pub fn new(tree: &'t Tree) -> Result<Self, RunError> {
        let teacher = Teacher::new(tree)?;
        let noise = least_noise(tree, &teacher).unwrap_or(1.0);
        let mut theory = Self::of(tree, BayesOptimal::new(tree, teacher));
        theory.options.perfect = theory.options.perfect.min(BELOW_NOISE * noise);
        Ok(theory)
    }
}

impl<'t> EvolutionBuilder<'t, ReplicaSymmetric> {
    /// Prepares the theory of `student` on data of `teacher`: the trees must be the same, their
    /// factors may differ.
    ///
    /// # Errors
    /// Trees that differ, factors that cannot face each other, a factor without an ensemble rule.
    pub fn new(teacher: &Tree, student: &'t Tree) -> Result<Self, RunError> {
        let algorithm = ReplicaSymmetric::new(teacher, student)?;
        let noise = least_noise(student, algorithm.teacher());
        let start = noise.filter(|_| !algorithm.is_law());
        let mut theory = Self::of(student, algorithm);
        if let Some(noise) = start {
            theory.options.initial = active(noise * theory.teacher().tau0[0]);
        }
        Ok(theory)
    }
}

impl<'t> EvolutionBuilder<'t, BayesOptimalRows> {
    /// Prepares the theory of a tree of rows: checks the rules and finds the teacher's second moments.
    ///
    /// # Errors
    /// A factor without a [`RowEnsembleRule`](crate::factor::RowEnsembleRule), a tree that is no Bayesian network, or rows whose second
    /// moment is singular.
    pub fn new(tree: &'t Tree) -> Result<Self, RunError> {
        let algorithm = BayesOptimalRows::new(tree)?;
        let mut theory = Self::of(tree, algorithm);
        theory.options.initial = Initial::Constant {
            precision: PUSH / theory.teacher().tau0[0],
            linear: 0.0,
        };
        Ok(theory)
    }

    /// Starts with $\hat Q$ given on all messages into the named variables.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`](crate::error::ModelError::UnknownVariable), a matrix of another size than the rows, or one that
    /// has a negative eigenvalue.
    pub fn starting_from_rows(mut self, starts: &[(&str, RowMatrix)]) -> Result<Self, RunError> {
        let mut messages = Vec::new();
        for (name, q_hat) in starts {
            let variable = &self.tree.variables()[self.tree.variable(name)?];
            let dim = RowField::rows_of(&variable.spec);
            if q_hat.dim() != dim || !q_hat.is_covariance() {
                return Err(RunError::Option {
                    option: "initial",
                    expected: format!("a {dim} x {dim} matrix without negative eigenvalues"),
                    got: format!("{:?} on {name}", q_hat.data()),
                });
            }
            for e in &variable.edges {
                let factor = self.tree.edges()[*e].factor;
                messages.push((
                    self.tree.factors()[factor].name.clone(),
                    variable.name.clone(),
                    RowField::of(q_hat.clone()),
                ));
            }
        }
        self.warm = Some(Messages::new(messages));
        Ok(self)
    }
}

impl<'t, A: Theory> EvolutionBuilder<'t, A> {
    fn of(tree: &'t Tree, algorithm: A) -> Self {
        Self {
            tree,
            algorithm,
            options: Options {
                max_sweeps: 2000,
                tolerance: 1e-9,
                ..Options::default()
            },
            warm: None,
        }
    }

    /// The teacher's second moments.
    #[must_use]
    pub fn teacher(&self) -> &Teacher {
        self.algorithm.teacher()
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

    /// Damping of the messages (adaptive). A Bayes-optimal theory settles by itself, and adaptive is none. A mismatched one is run without, and
    /// where sweeps diverge, or go to and fro for 100 of them or more, again with a constant one of 0.3, 0.6 or 0.8: the fixed point is the same,
    /// but for a student that is far from the teacher expectation propagation may need the damping too. A run that does not settle at a number
    /// given here goes on as an adaptive one.
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

    /// Messages before the first sweep: their precisions are $\hat m = \hat q$, their linear parts $\hat\tau$ of a mismatched theory (zero: uninformed; $\hat m
    /// = \hat q = 1/\Delta$ with the least noise $\Delta$ of its outputs for a student with penalties).
    #[must_use]
    pub fn initial(mut self, initial: Initial) -> Self {
        self.options.initial = initial;
        self
    }

    /// Starts from the messages of an earlier run, matched by the names of their ends.
    #[must_use]
    pub fn start_from(mut self, messages: Messages<A::Message>) -> Self {
        self.warm = Some(messages);
        self
    }

    /// Starts from near-perfect knowledge of the teacher's values of the given variables, $\hat m\tau_0 = 10^8$.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`](crate::error::ModelError::UnknownVariable).
    pub fn informed(self, variables: &[&str]) -> Result<Self, RunError> {
        self.starting_with(variables, INFORMED)
    }

    /// Starts with $\hat m = s/\tau_0$ on all messages into the named variables: the same knowledge $s$ of
    /// each, whatever its size.
    ///
    /// # Errors
    /// As [`starting_from`](Self::starting_from).
    pub fn starting_with(self, variables: &[&str], knowledge: f64) -> Result<Self, RunError> {
        let starts: Vec<(&str, f64)> = variables
            .iter()
            .map(|v| {
                let index = self.tree.variable(v)?;
                Ok((*v, knowledge / self.teacher().tau0[index]))
            })
            .collect::<Result<_, RunError>>()?;
        self.starting_from(&starts)
    }

    /// Starts with $\hat m$ given on all messages into the named variables, and the $\hat\tau$ that the student expects there.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`](crate::error::ModelError::UnknownVariable), or a field that is
    /// negative or not finite.
    pub fn starting_from(mut self, starts: &[(&str, f64)]) -> Result<Self, RunError> {
        let mut messages = Vec::new();
        for (name, m_hat) in starts {
            check_start(name, *m_hat)?;
            let variable = &self.tree.variables()[self.tree.variable(name)?];
            for e in &variable.edges {
                let factor = self.tree.edges()[*e].factor;
                messages.push(EdgeMessage {
                    factor: self.tree.factors()[factor].name.clone(),
                    variable: variable.name.clone(),
                    precision: *m_hat,
                    linear: vec![self.algorithm.tilt(*e)],
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
    pub fn run(&self) -> Result<Evolution<A>, RunError> {
        self.observed_by(&mut ())
    }

    /// Runs it under an observer.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn observed_by(&self, observer: &mut impl Observer<A>) -> Result<Evolution<A>, RunError> {
        let report = self.engine(&self.options)?.run(observer)?;
        Ok(Evolution {
            report,
            teacher: self.teacher().clone(),
            normalisation: self.algorithm.normalisation(),
            heuristics: heuristics(self.tree),
            noiseless_output: noiseless_output(self.tree),
            unnormalised: not_a_bayesian_network(self.tree),
        })
    }

    fn engine(&self, options: &Options) -> Result<Engine<'t, A>, RunError> {
        check_initial(&options.initial)?;
        let engine = Engine::new(self.tree, self.algorithm.clone())?;
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
    pub fn fixed_point(&self) -> Result<Evolution<A>, RunError> {
        self.run()?.reached()
    }
}

/// The least positive noise of an output or a channel, relative to the second moment of its input.
pub(super) fn least_noise(tree: &Tree, teacher: &Teacher) -> Option<f64> {
    let noises = tree
        .factors()
        .iter()
        .filter(|f| f.inputs > 0)
        .filter_map(|f| {
            let output = f.factor.scalar().and_then(ScalarView::outputs);
            let noise = match (output, f.factor.gaussian_average()) {
                (Some(OutputMeasure::PushForward { noise_variance, .. }), _) => noise_variance,
                (_, Some(law)) => law.least_noise()?,
                _ => return None,
            };
            let tau0 = teacher.tau0[tree.edges()[f.edges[0]].variable];
            (noise > 0.0).then(|| noise / tau0)
        });
    noises.reduce(f64::min)
}

/// The start of a student at zero temperature, as if its noise were all that it did not know. From nothing a penalty may have no active
/// coordinate, and then nothing to say; a convex student has one fixed point, whatever the start.
fn active(noise: f64) -> Initial {
    Initial::Constant {
        precision: 1.0 / noise,
        linear: 0.0,
    }
}

/// Refuses initial messages whose fields are not those of a signal that is seen.
fn check_initial(initial: &Initial) -> Result<(), RunError> {
    match initial {
        Initial::Constant { precision, .. } | Initial::Noisy { precision, .. } => {
            check_start("every variable", *precision)
        }
        Initial::Given(messages) => messages
            .iter()
            .try_for_each(|m| check_start(&m.variable, m.precision)),
        Initial::Flat => Ok(()),
    }
}

/// A field $\hat m$ is the precision of what is seen of a signal.
fn check_start(variable: &str, m_hat: f64) -> Result<(), RunError> {
    if m_hat >= 0.0 && m_hat.is_finite() {
        return Ok(());
    }
    Err(RunError::Option {
        option: "initial",
        expected: "a finite precision that is not negative".to_owned(),
        got: format!("{m_hat} on {variable}"),
    })
}
