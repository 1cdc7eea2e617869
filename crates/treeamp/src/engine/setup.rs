//! The engine and the options of its runs.

use super::start::check_memory;
use super::{Algorithm, Damping, Fallback, Initial, Messages, Objective, Options, Plan, Report};
use crate::error::RunError;
use crate::model::Tree;

/// Runs an algorithm on a tree.
///
/// **Improper laws.** A factor-to-variable precision may be negative. What must be proper is each
/// factor's tilted law and each variable's belief. When a tilted law is not, that update is skipped
/// and the edge keeps its message; when a belief is not, the variable keeps its last moments. Either
/// is counted in the trace, a sweep with such an event never counts as converged, and ten of them
/// in a row end the run as diverging. Where the step adapts, the sweep is taken back and the step cut until every law is
/// proper, if need be with the step before it.
///
/// **Residual.** Of a variable: the larger of the root mean square change of its mean over
/// $\sqrt\tau$ and the change of its variance over $\tau$, where $\tau$ is its second moment, the
/// smaller of the one after the first sweep and the present one. Of a sweep: the largest of all.
#[derive(Debug)]
pub struct Engine<'t, A: Algorithm> {
    pub(super) tree: &'t Tree,
    pub(super) algorithm: A,
    pub(super) plan: Plan,
    pub(super) options: Options,
    pub(super) warm: Option<Messages<A::Message>>,
}

impl<'t, A: Algorithm> Engine<'t, A> {
    /// Plans a run.
    ///
    /// # Errors
    /// Whatever [`Plan::new`] finds.
    pub fn new(tree: &'t Tree, algorithm: A) -> Result<Self, RunError> {
        Self::with_options(tree, algorithm, Options::default())
    }

    /// Plans a run with these options: a memory limit above the default must be known to the planner.
    ///
    /// # Errors
    /// Whatever [`Plan::new`] finds; beliefs beyond the memory limit.
    pub fn with_options(tree: &'t Tree, algorithm: A, options: Options) -> Result<Self, RunError> {
        check_memory(tree, &options)?;
        let plan = Plan::new(tree, &algorithm)?;
        Ok(Self {
            tree,
            algorithm,
            plan,
            options,
            warm: None,
        })
    }

    /// Checks what a plan checks, without the work of [`prepare`](crate::factor::Factor::prepare): it answers at once at any size.
    ///
    /// # Errors
    /// Missing rules, unsupported beliefs, beliefs beyond the memory limit.
    pub fn check(tree: &Tree, algorithm: &A, options: &Options) -> Result<(), RunError> {
        check_memory(tree, options)?;
        Plan::check(tree, algorithm)
    }

    /// Sets all options at once.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// The options as they are now.
    #[must_use]
    pub fn chosen_options(&self) -> &Options {
        &self.options
    }

    /// At most this many sweeps (200).
    #[must_use]
    pub fn max_sweeps(mut self, n: usize) -> Self {
        self.options.max_sweeps = n;
        self
    }

    /// Converged when the residual falls below this (1e-6).
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.options.tolerance = tolerance;
        self
    }

    /// Relative primal-dual gap at which a point is a minimiser (maximum a posteriori).
    #[must_use]
    pub fn gap(mut self, gap: f64) -> Self {
        self.options.gap = Some(gap);
        self
    }

    /// Damping of the messages (adaptive).
    #[must_use]
    pub fn damping(mut self, damping: impl Into<Damping>) -> Self {
        self.options.damping = damping.into();
        self
    }

    /// Messages before the first sweep (flat).
    #[must_use]
    pub fn initial(mut self, initial: Initial) -> Self {
        self.options.initial = initial;
        self
    }

    /// Whether a run with adaptive damping jumps ahead near its fixed point (yes).
    #[must_use]
    pub fn acceleration(mut self, acceleration: bool) -> Self {
        self.options.acceleration = acceleration;
        self
    }

    /// Whether linear channels have exact messages whatever route they were given (no).
    #[must_use]
    pub fn exact(mut self, exact: bool) -> Self {
        self.options.exact = exact;
        self
    }

    /// Whether a diverging run goes back to its last good state (yes, unless a variable has more than
    /// $2^{18}$ numbers). Without a way back it saves the memory of one message per edge, and reports
    /// the state it ended in.
    #[must_use]
    pub fn rollback(mut self, rollback: bool) -> Self {
        self.options.rollback = Some(rollback);
        self
    }

    /// The most bytes that diagonal, block and full beliefs may take (2 GiB). The planner has checked the default by now: to
    /// go beyond it, plan [`with_options`](Self::with_options).
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.options.memory_limit = bytes;
        self
    }

    /// Whether the fallback may take over from sweeps that do not settle (automatic).
    #[must_use]
    pub fn fallback(mut self, fallback: Fallback) -> Self {
        self.options.fallback = fallback;
        self
    }

    /// Starts from the final messages of an earlier run, matched by the names of their ends; edges
    /// that the earlier tree did not have start as the options say.
    #[must_use]
    pub fn warm_start(self, report: &Report<A>) -> Self {
        self.start_from(report.messages.clone())
    }

    /// Starts from these messages, as [`warm_start`](Self::warm_start).
    #[must_use]
    pub fn start_from(mut self, messages: Messages<A::Message>) -> Self {
        self.warm = Some(messages);
        self
    }

    /// The objective at the messages the run would start from, without a sweep.
    ///
    /// # Errors
    /// An option out of range, or a factor that cannot compute its potential.
    pub fn initial_objective(&self) -> Result<Objective, RunError> {
        self.options.check()?;
        self.objective(&mut self.start()?)
    }
}
