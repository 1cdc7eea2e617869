//! The certain way to a fixed point, for runs that do not settle: a double loop on the Bethe objective, or a splitting of
//! convex energies.

use std::str::FromStr;

use super::constant::Constant;
use super::restart::AT_REST;
use super::state::State;
use super::sweep::Pass;
use super::watch::{Supervisor, Watch as _};
use super::{Algorithm, Damping, Divergence, Engine, Observer, Options, Termination};
use crate::error::RunError;

/// Sweeps after which a run that has not settled may be handed over, where it has [stalled](super::adaptive::Stall).
const PATIENCE: usize = 100;
/// Where there is no certain way, a run may go on for this many times the sweeps it was given.
const MORE: usize = 5;
/// The bound of a fallback that comes to be certain of a signal which a factor contradicts: it begins once more, after the
/// first sweeps.
pub(crate) const CONTRADICTED: &str = "steps, certain of a signal that a factor contradicts";
/// One that comes to any other bound within so many evaluations does, too.
const SOON: usize = 5000;
/// Variances below this fraction of the second moment leave no doubt about a signal.
const CERTAIN: f64 = 1e-12;
/// What sweeps beyond those that were asked for are called.
pub(super) const MORE_SWEEPS: &str = "more sweeps";
/// Sweeps before a forced one: every factor has heard from all others.
const FIRST_SWEEPS: usize = 2;

/// Whether the fallback may take over from the sweeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fallback {
    /// When an adaptively damped run diverges; after 100, 150, ... sweeps when the residual of the last 50 has not
    /// fallen to half of what it was in the 50 before; and when it has not settled after
    /// [`max_sweeps`](super::Options::max_sweeps), if that is at least 100: a shorter run just ends. The run first starts
    /// again with constant dampings of 0.3, 0.6 and 0.8, of at most 200 sweeps each (1000 while the residual creeps down), and if
    /// none settles it the fallback takes over from where the first sweeps had led. Where there is no certain way (a penalty beside
    /// factors that are not Gaussian, beliefs that are neither isotropic nor diagonal without one), sweeps go on before that, for up to
    /// five times as many, and
    /// [`Report::no_fallback`](super::Report::no_fallback) says why.
    #[default]
    Automatic,
    /// After the first two sweeps, whatever the damping.
    Forced,
    /// Never.
    Forbidden,
}

/// `automatic`, `forced` or `forbidden`.
impl FromStr for Fallback {
    type Err = RunError;

    fn from_str(text: &str) -> Result<Self, RunError> {
        match text {
            "automatic" => Ok(Self::Automatic),
            "forced" => Ok(Self::Forced),
            "forbidden" => Ok(Self::Forbidden),
            _ => Err(RunError::Option {
                option: "fallback",
                expected: "automatic, forced or forbidden".to_owned(),
                got: text.to_owned(),
            }),
        }
    }
}

/// How a fallback ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FallbackEnd {
    /// At a stationary point, which is a fixed point of the sweeps.
    Stationary,
    /// All variances vanished: perfect recovery.
    Recovered,
    /// The free energy falls without bound as the variance of one variable vanishes and others do not:
    /// [`FallbackReport::descent`] is the certificate.
    Unbounded,
    /// The energy falls without bound: there is no minimiser.
    NoMinimum {
        /// The factor whose energy falls.
        factor: String,
        /// Its variable.
        variable: String,
    },
    /// Constraints that do not hold together: there is no point with a finite energy.
    Infeasible {
        /// The factor whose energy is not finite where the others meet.
        factor: String,
    },
    /// It reached a bound first.
    Limit {
        /// What is bounded: steps, evaluations, the accuracy of its arithmetic.
        bound: &'static str,
        /// How many there were.
        reached: usize,
    },
    /// An observer stopped it, for this reason.
    Stopped(String),
}

impl std::fmt::Display for FallbackEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stationary => f.write_str("stationary point"),
            Self::Recovered => f.write_str("perfect recovery"),
            Self::Unbounded => f.write_str("the free energy falls without bound"),
            Self::NoMinimum { factor, variable } => write!(
                f,
                "the energy of factor `{factor}` falls without bound along variable `{variable}`"
            ),
            Self::Infeasible { factor } => {
                write!(
                    f,
                    "infeasible: the energy of factor `{factor}` is not finite"
                )
            }
            Self::Limit { bound, reached } => write!(f, "bound reached: {reached} {bound}"),
            Self::Stopped(reason) => write!(f, "stopped: {reason}"),
        }
    }
}

/// A direction along which the free energy falls without bound: the variance $v$ of one variable vanishes at its mean,
/// and $F \approx c + s\ln v$. It was measured from one place to another on the way; the mean is that of the report.
#[derive(Debug, Clone, PartialEq)]
pub struct Descent {
    /// The variable.
    pub variable: String,
    /// $s = dF/d\ln v > 0$, in nats.
    pub slope: f64,
    /// Variance and free energy where it was first measured.
    pub from: (f64, f64),
    /// Variance and free energy where it was last measured.
    pub to: (f64, f64),
}

/// What a fallback did.
#[derive(Debug, Clone, PartialEq)]
pub struct FallbackReport {
    /// What it is: a constant damping, a double loop, a splitting, or more sweeps.
    pub method: &'static str,
    /// Its steps: the outer ones of a double loop.
    pub steps: usize,
    /// Evaluations of the moments, or modes, of all factors: each costs about a sweep. Those of constant dampings that were
    /// tried before are among them.
    pub evaluations: usize,
    /// Its own residual: the larger of the last relative change of the moments and of the disagreement between factors.
    pub residual: f64,
    /// The residual of a full sweep from where it ended, as of any other run; none where no sweep can be made.
    pub sweep_residual: Option<f64>,
    /// The Bethe free energy after every outer step that was kept; only of a double loop. It does not increase: a step that
    /// would is taken back, and the problem before it is solved on, whose value so far was then none. Values of which rounding
    /// leaves nothing are left out.
    pub free_energy: Vec<f64>,
    /// Where the free energy falls without bound. Also of a signal that is recovered: the density of its noiseless
    /// continuous outputs is infinite.
    pub descent: Option<Descent>,
    /// How it ended.
    pub end: FallbackEnd,
    /// It ended at a bound, farther from a fixed point than the sweeps had been (by the residual of a full sweep), and
    /// the report holds their state.
    pub went_back: bool,
}

/// What came of handing a run over.
pub(super) enum Handover {
    /// The fallback, or more sweeps, or nothing was needed.
    Done(Option<FallbackReport>),
    /// There is none for this tree, and why.
    Refused(Option<FallbackReport>, RunError),
}

impl<A: Algorithm> Engine<'_, A> {
    /// The fallback is to come after this many sweeps, if at all.
    pub(super) fn sweep_limit(&self) -> usize {
        let limit = self.options.max_sweeps;
        let adapts = A::ON_DATA && self.options.damping == Damping::Adaptive;
        let ends = self.options.tolerance > 0.0;
        match self.options.fallback {
            Fallback::Forced => FIRST_SWEEPS.min(limit),
            Fallback::Automatic
                if adapts
                    && ends
                    && limit >= PATIENCE
                    && self.algorithm.uncertain(self.tree).is_some() =>
            {
                limit.saturating_mul(MORE)
            }
            _ => limit,
        }
    }

    /// The tolerance of what takes over: a run that is not to end by itself has none.
    pub(super) fn fallback_tolerance(&self) -> f64 {
        if self.ends_by_itself() {
            self.options.tolerance
        } else {
            AT_REST
        }
    }

    /// There is a tolerance, or the fallback was asked for, or it has one of its own.
    fn ends_by_itself(&self) -> bool {
        self.options.tolerance > 0.0
            || self.options.fallback == Fallback::Forced
            || A::FALLS_BACK_FROM_ANYWHERE
    }

    /// A run that is not to end by itself has come to rest.
    fn rests(&self, residual: f64) -> bool {
        !self.ends_by_itself() && residual < AT_REST
    }

    /// The run is to be handed over.
    fn hands_over(
        &self,
        state: &State<A>,
        (sweeps, residual): (usize, f64),
        termination: &Termination,
    ) -> bool {
        let unsettled = match termination {
            // a shorter run just ends
            Termination::SweepLimit => {
                let long = sweeps >= PATIENCE || A::FALLS_BACK_FROM_ANYWHERE;
                long && self.options.max_sweeps >= PATIENCE && !self.rests(residual)
            }
            Termination::Diverging(_) => true,
            Termination::Converged { .. } => {
                let messages = &state.store[..self.tree.edges().len()];
                self.algorithm.doubts(self.tree, messages, &self.options)
            }
            Termination::Stopped(_) | Termination::FallbackLimit { .. } => return false,
        };
        let startable = state.has_good || A::FALLS_BACK_FROM_ANYWHERE;
        match self.options.fallback {
            Fallback::Forced => true,
            Fallback::Automatic => state.step.is_some() && unsettled && startable,
            Fallback::Forbidden => false,
        }
    }

    /// The sweeps of this run have made no progress for so long that its fallback is to come before their limit. One
    /// that has none goes on: it may still settle.
    pub(super) fn gives_up(&self, state: &mut State<A>, sweep: usize, residual: f64) -> bool {
        let certain = self.algorithm.uncertain(self.tree).is_none();
        if self.options.fallback != Fallback::Automatic || state.step.is_none() || !certain {
            return false;
        }
        // one that starts from anywhere owes nothing to the sweeps
        A::FALLS_BACK_FROM_ANYWHERE
            || state.has_good
                && sweep >= PATIENCE
                && !self.rests(residual)
                && self.objective(state).is_ok()
    }

    /// What sweeps beyond those that were asked for did, if there were any.
    fn more_sweeps(
        &self,
        sweeps: usize,
        residual: f64,
        termination: &Termination,
    ) -> Option<FallbackReport> {
        let more = sweeps.saturating_sub(self.options.max_sweeps);
        let end = match termination {
            Termination::Converged {
                perfect_recovery: true,
            } => FallbackEnd::Recovered,
            Termination::Converged { .. } => FallbackEnd::Stationary,
            Termination::Stopped(reason) => FallbackEnd::Stopped(reason.clone()),
            _ => FallbackEnd::Limit {
                bound: "sweeps",
                reached: sweeps,
            },
        };
        let report = FallbackReport::of_sweeps(MORE_SWEEPS, (more, more), residual, end);
        (more > 0 && self.options.fallback != Fallback::Forced).then_some(report)
    }

    /// Hands a run that did not settle over to its fallback, and says how that ended.
    pub(super) fn fall_back(
        &self,
        state: &mut State<A>,
        (sweeps, residual): (usize, f64),
        termination: &mut Termination,
        observer: &mut impl Observer<A>,
    ) -> Result<Handover, RunError> {
        let full = state.full_residual(residual);
        let more = self.more_sweeps(sweeps, full, termination);
        if !self.hands_over(state, (sweeps, full), termination) {
            return Ok(Handover::Done(more));
        }
        // constant steps would come to the same rest as the sweeps whose end is doubted
        let constant = if termination.is_converged() {
            Constant::Unsettled(0)
        } else {
            self.constant_steps(sweeps, observer)
        };
        let spent = match constant {
            Constant::Ended(ended, done) => {
                *state = *ended;
                *termination = end_of(&done, sweeps);
                return Ok(Handover::Done(Some(done)));
            }
            Constant::Unsettled(spent) => spent,
        };
        if self.options.fallback == Fallback::Automatic
            && let Some(why) = self.algorithm.uncertain(self.tree)
        {
            return Ok(Handover::Refused(more, why));
        }
        match self.take_over(state, sweeps + spent, observer) {
            Ok(mut done) => {
                done.evaluations += spent;
                // that a factor contradicts what the run was certain of tells more than a bound
                let told = matches!(termination, Termination::Diverging(d) if d.contradicted);
                if !(told && done.went_back) {
                    *termination = end_of(&done, sweeps);
                }
                Ok(Handover::Done(Some(done)))
            }
            Err(error) if self.options.fallback == Fallback::Forced => Err(error),
            // one that starts from anywhere would have gone on: a factor that fails there is what the sweeps stumbled over
            Err(error) if A::FALLS_BACK_FROM_ANYWHERE && error.is_failed_factor() => Err(error),
            Err(error) => Ok(Handover::Refused(more, error)),
        }
    }

    /// A state that is certain of what a factor contradicts leads nowhere: in its place, that after the first sweeps.
    fn leave_contradiction(&self, state: &mut State<A>) -> Result<(), RunError> {
        let contradicts = self.algorithm.contradicts(self.tree, &state.marginals);
        if contradicts.is_some()
            && let Some(other) = self.after_first_sweeps()?
        {
            *state = other;
        }
        Ok(())
    }

    /// The state after the first sweeps, if it is a good one.
    fn after_first_sweeps(&self) -> Result<Option<State<A>>, RunError> {
        let mut state = self.start()?;
        for sweep in 1..=FIRST_SWEEPS {
            if let Pass::Done { improper: 0, .. } = self.sweep(&mut state, sweep)? {
                state.residual();
                state.keep();
            }
        }
        Ok(Some(state).filter(|state| state.has_good))
    }

    /// The fallback from the last good state, to which it goes back if that is the better one.
    fn take_over(
        &self,
        state: &mut State<A>,
        sweeps: usize,
        observer: &mut impl Observer<A>,
    ) -> Result<FallbackReport, RunError> {
        self.restore(state);
        if A::ON_DATA && state.perfect(CERTAIN) {
            self.leave_contradiction(state)?;
        }
        let before = state.store[..self.tree.edges().len()].to_vec();
        let mut messages = before.clone();
        let mut supervisor = Supervisor {
            engine: self,
            state,
            observer,
            count: sweeps,
        };
        // one that starts from anywhere owes nothing to the sweeps
        let residual_before =
            (!A::FALLS_BACK_FROM_ANYWHERE).then(|| supervisor.sweep_residual(&before));
        let options = Options {
            tolerance: self.fallback_tolerance(),
            ..self.options.clone()
        };
        let mut done =
            self.algorithm
                .fall_back(self.tree, &mut messages, &options, &mut supervisor);
        if let Ok(first) = &done
            && first.came_to_nothing()
            && self.options.fallback == Fallback::Automatic
            && let Some(other) = self.after_first_sweeps()?
        {
            let spent = (first.steps, first.evaluations);
            messages.clone_from_slice(&other.store[..before.len()]);
            done = self
                .algorithm
                .fall_back(self.tree, &mut messages, &options, &mut supervisor);
            if let Ok(done) = &mut done {
                done.steps += spent.0;
                done.evaluations += spent.1;
            }
        }
        if let Ok(done) = &mut done {
            done.went_back = done.is_worse_than(residual_before.flatten());
            supervisor.state.has_good = true;
        }
        let stays = done.as_ref().is_ok_and(|done| !done.went_back);
        supervisor.take(if stays { &messages } else { &before });
        done
    }
}

impl FallbackReport {
    /// It was certain of what a factor contradicts, or soon had no way to go on: from elsewhere there may be one.
    fn came_to_nothing(&self) -> bool {
        match self.end {
            FallbackEnd::Limit { bound, .. } => bound == CONTRADICTED || self.evaluations < SOON,
            _ => false,
        }
    }

    /// It reached a bound first, and a full sweep moves more than it did before.
    fn is_worse_than(&self, before: Option<f64>) -> bool {
        let bound = matches!(self.end, FallbackEnd::Limit { .. });
        let now = self.sweep_residual.unwrap_or(f64::INFINITY);
        bound && before.is_some_and(|before| before < now)
    }
}

/// How a run ended that its fallback has taken over.
fn end_of(done: &FallbackReport, sweeps: usize) -> Termination {
    match &done.end {
        FallbackEnd::Stationary => Termination::Converged {
            perfect_recovery: false,
        },
        FallbackEnd::Recovered => Termination::Converged {
            perfect_recovery: true,
        },
        FallbackEnd::Unbounded => Termination::Diverging(Divergence {
            sweep: sweeps,
            factor: None,
            variable: done.descent.as_ref().map(|d| d.variable.clone()),
            direction: None,
            reason: "the Bethe free energy falls without bound as its variance vanishes".to_owned(),
            contradicted: false,
        }),
        FallbackEnd::Limit { bound, reached } => Termination::FallbackLimit {
            bound,
            reached: *reached,
        },
        FallbackEnd::Infeasible { factor } => Termination::Diverging(Divergence {
            sweep: sweeps,
            factor: Some(factor.clone()),
            variable: None,
            direction: None,
            reason: "infeasible: its energy is not finite where the other factors meet".to_owned(),
            contradicted: false,
        }),
        FallbackEnd::NoMinimum { factor, variable } => Termination::Diverging(Divergence {
            sweep: sweeps,
            factor: Some(factor.clone()),
            variable: Some(variable.clone()),
            direction: None,
            reason: "the energy falls without bound, there is no minimiser".to_owned(),
            contradicted: false,
        }),
        FallbackEnd::Stopped(reason) => Termination::Stopped(reason.clone()),
    }
}
