//! The loop: forward and backward passes until the moments settle.

use super::start::check_memory;
use super::state::State;
use super::{
    Algorithm, Damping, Divergence, Fallback, Initial, Marginal, Message, Messages, Objective,
    Observer, Options, Plan, Report, SweepRecord, Termination,
};
use crate::error::{FactorError, RunError};
use crate::factor::Incoming;
use crate::model::Tree;

/// A residual this many times its minimum is a divergence.
const GROWTH_LIMIT: f64 = 1000.0;
/// The minimum counts as at least this: leaving a symmetric point slowly is not divergence.
const GROWTH_FLOOR: f64 = 1e-3;
/// Consecutive sweeps with an improper tilted law or belief after which the run gives up.
const IMPROPER_LIMIT: usize = 10;
/// Times that an adaptive run which has been improper from its first sweep on starts again.
const ATTEMPTS: i32 = 2;

/// Runs an algorithm on a tree.
///
/// **Improper laws.** A factor-to-variable precision may be negative. What must be proper is each
/// factor's tilted law and each variable's belief. When a tilted law is not, that update is skipped
/// and the edge keeps its message; when a belief is not, the variable keeps its last moments. Either
/// is counted in the trace, a sweep with such an event never counts as converged, and ten of them
/// in a row end the run as diverging.
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

/// What one pass over the steps found.
pub(super) enum Pass {
    Done {
        improper: usize,
        first: Option<Divergence>,
    },
    Broken(Divergence),
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

    /// Runs until convergence, divergence, the sweep limit, or an observer's word.
    ///
    /// # Errors
    /// An option out of range, or a factor that fails for good. Divergence is not an error: the
    /// report says so and holds the last good state.
    pub fn run(&self, observer: &mut impl Observer<A>) -> Result<Report<A>, RunError> {
        self.options.check()?;
        let mut state = self.start()?;
        let capacity = self.sweep_limit().min(4096);
        let mut trace: Vec<SweepRecord> = Vec::with_capacity(capacity);
        let width = self.tree.variables().len();
        let mut variances: Vec<f64> = Vec::with_capacity(capacity * width);
        let mut smallest = f64::INFINITY;
        let mut improper_run = 0;
        let mut attempts = 0;
        let mut termination = Termination::SweepLimit;
        for sweep in 1..=self.sweep_limit() {
            if let Damping::Steps(steps) = &self.options.damping {
                state.damping.fill(1.0 - steps[sweep.min(steps.len()) - 1]);
            }
            state.note();
            let (improper, first) = match self.sweep(&mut state, sweep)? {
                Pass::Broken(_) if state.judge(f64::INFINITY, true).back => {
                    self.remake(&mut state);
                    continue;
                }
                Pass::Broken(divergence) => {
                    self.restore(&mut state);
                    termination = Termination::Diverging(divergence);
                    break;
                }
                Pass::Done { improper, first } => (improper, first),
            };
            let residual = state.residual();
            let judgement = state.judge(residual, improper > 0);
            let residual = judgement.residual;
            trace.push(SweepRecord {
                sweep,
                residual,
                improper,
            });
            if judgement.back {
                self.remake(&mut state);
            }
            variances.extend(state.marginals.iter().map(Marginal::variance));
            if judgement.back {
                continue;
            }
            improper_run = if improper > 0 { improper_run + 1 } else { 0 };
            if improper_run >= IMPROPER_LIMIT && attempts < ATTEMPTS && state.never_settled() {
                // there is nothing to go back to: once more from the start, with smaller steps
                attempts += 1;
                state = self.start()?;
                state.begin_with(0.5_f64.powi(attempts));
                improper_run = 0;
                continue;
            }
            if let Some(mut divergence) = first.filter(|_| improper_run >= IMPROPER_LIMIT) {
                divergence.reason =
                    format!("improper for {improper_run} sweeps: {}", divergence.reason);
                self.restore(&mut state);
                termination = Termination::Diverging(divergence);
                break;
            }
            if residual > GROWTH_LIMIT * smallest.max(GROWTH_FLOOR) && residual.is_finite() {
                self.restore(&mut state);
                termination = Termination::Diverging(self.outgrown(&state, sweep, residual));
                break;
            }
            // a variable that kept its moments for want of a belief has not settled
            if improper == 0 {
                smallest = smallest.min(residual);
                state.keep();
            }
            let full_residual = state.full_residual(residual);
            if improper > 0 && state.retreats(improper_run) {
                self.restore(&mut state);
            } else {
                state.adapt(residual, improper > 0, judgement.jumped);
            }
            let beyond = sweep > self.options.max_sweeps;
            let view = self.view(&state, sweep, residual, beyond);
            if let std::ops::ControlFlow::Break(reason) = observer.after_sweep(&view) {
                termination = Termination::Stopped(reason);
                break;
            }
            // after the first sweep the sources have not yet heard what is known
            let perfect_recovery = A::RECOVERS && sweep > 1 && state.perfect(self.options.perfect);
            let settled = !judgement.jumped && full_residual < self.options.tolerance;
            if improper == 0 && (perfect_recovery || settled) {
                termination = Termination::Converged { perfect_recovery };
                break;
            }
            state.jump(judgement, self.options.tolerance);
        }
        self.report(state, trace, &variances, termination, observer)
    }

    /// One forward and one backward pass, then the marginals.
    pub(super) fn sweep(&self, state: &mut State<A>, sweep: usize) -> Result<Pass, RunError> {
        let mut improper = 0;
        let mut first = None;
        for step in &self.plan.steps {
            if sweep == 1 && state.held[step.edge] {
                continue;
            }
            let node = &self.tree.factors()[step.factor];
            let variable = self.tree.edges()[step.edge].variable;
            self.plan.refresh(step.factor, &mut state.store);
            let out = &mut state.scratch[state.class[variable]];
            let result = self.algorithm.update(
                step.factor,
                node.factor.as_ref(),
                self.plan.at_factor(step.factor, &state.store),
                step.port,
                out,
                &mut state.work[step.factor],
            );
            let cavity = &state.store[self.plan.to_factor[step.edge]];
            let certain = cavity.overwhelms(&state.store[step.edge]);
            match result {
                // Told (almost) exactly where its variable is, a factor has nothing to add. What it said before is
                // kept: the certainty may rest on it, and next to it the message cancels in the objective.
                Ok(()) if certain && out.is_flat() => {}
                Ok(()) if out.is_finite() => {
                    self.options.lift(out, cavity);
                    out.blend(&state.store[step.edge], state.damping[step.edge]);
                    std::mem::swap(out, &mut state.store[step.edge]);
                }
                Ok(()) => {
                    return Ok(Pass::Broken(self.blame(
                        step.edge,
                        sweep,
                        &"a message is not finite",
                    )));
                }
                Err(error) if error.is_recoverable() => {
                    improper += 1;
                    if first.is_none() {
                        first = Some(self.blame(step.edge, sweep, &error));
                    }
                }
                // exact statements that the run itself produced, by underflow, are no one's fault
                Err(error @ FactorError::Contradiction(_)) if sweep > 2 => {
                    return Ok(Pass::Broken(self.blame(step.edge, sweep, &error)));
                }
                Err(source) => {
                    return Err(RunError::Factor {
                        factor: node.name.clone(),
                        source,
                    });
                }
            }
        }
        for (i, variable) in self.tree.variables().iter().enumerate() {
            match self.marginal(state, i) {
                Ok(()) => {
                    state.accept(i);
                    self.recycle(state, i);
                }
                Err(error) if error.is_recoverable() => {
                    improper += 1;
                    state.changes[i] = 0.0;
                    if first.is_none() {
                        let mut divergence = self.blame(variable.edges[0], sweep, &error);
                        divergence.factor = None;
                        divergence.direction = None;
                        first = Some(divergence);
                    }
                }
                Err(source) => {
                    let factor = format!("(variable) {}", variable.name);
                    return Err(RunError::Factor { factor, source });
                }
            }
        }
        Ok(Pass::Done { improper, first })
    }

    /// The marginal of variable `i` at the present messages, into its class's spare.
    fn marginal(&self, state: &mut State<A>, i: usize) -> Result<(), FactorError> {
        let incoming = Incoming::new(&state.store, &self.plan.at_variable[i]);
        let (total, out) = (
            &mut state.scratch[state.class[i]],
            &mut state.spare[state.class[i]],
        );
        let variable = &self.tree.variables()[i];
        self.algorithm.marginal(variable, incoming, total, out)
    }

    /// Back to the last good messages and the marginals they make.
    pub(super) fn restore(&self, state: &mut State<A>) {
        state.restore();
        if !state.has_good || !self.rolls_back() {
            return;
        }
        self.remake(state);
    }

    /// The marginals of the present messages.
    pub(super) fn remake(&self, state: &mut State<A>) {
        for i in 0..state.marginals.len() {
            if self.marginal(state, i).is_ok() {
                std::mem::swap(&mut state.spare[state.class[i]], &mut state.marginals[i]);
                self.recycle(state, i);
            }
        }
    }

    /// The spare of variable `i` has been taken: what is left of it is scratch again.
    fn recycle(&self, state: &mut State<A>, i: usize) {
        let class = state.class[i];
        self.algorithm
            .recycle(&mut state.spare[class], &mut state.scratch[class]);
    }

    fn outgrown(&self, state: &State<A>, sweep: usize, residual: f64) -> Divergence {
        Divergence {
            reason: format!("the residual {residual:.2e} is over {GROWTH_LIMIT} times its minimum"),
            sweep,
            variable: state.worst().map(|i| self.tree.variables()[i].name.clone()),
            factor: None,
            direction: None,
        }
    }

    fn blame(&self, edge: usize, sweep: usize, reason: &impl ToString) -> Divergence {
        let edge = self.tree.edges()[edge];
        Divergence {
            sweep,
            factor: Some(self.tree.factors()[edge.factor].name.clone()),
            variable: Some(self.tree.variables()[edge.variable].name.clone()),
            direction: Some(edge.direction),
            reason: reason.to_string(),
        }
    }
}
