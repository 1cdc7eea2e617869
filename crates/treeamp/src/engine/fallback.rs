//! The certain way to a fixed point, for runs that do not settle: a double loop on the Bethe objective, or a splitting of
//! convex energies.

use std::str::FromStr;

use super::damping_ladder::Constant;
use super::probe::{Supervisor, Watch as _};
use super::restart::AT_REST;
use super::state::State;
use super::sweep::Pass;
use super::{Algorithm, Damping, Engine, Observer, Options, Termination, Verdict};
use crate::error::RunError;

/// Sweeps after which a run that has not settled may be handed over, where it has [stalled](super::adaptive::Stall).
const PATIENCE: usize = 100;
/// Where there is no certain way, a run may go on for this many times the sweeps it was given.
const MORE: usize = 5;
/// A fallback that comes to its bound within so many evaluations begins once more, after the first sweeps.
const SOON: usize = 5000;
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
    /// At no answer, and why: the signal is contradicted, the free energy falls without bound as the variance of one variable vanishes
    /// and others do not ([`FallbackReport::descent`] is the certificate), or there is no minimiser.
    Rejected(Verdict),
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

impl FallbackEnd {
    fn is_unsettled(&self) -> bool {
        matches!(self, Self::Limit { .. } | Self::Rejected(_))
    }
}

impl std::fmt::Display for FallbackEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stationary => f.write_str("stationary point"),
            Self::Recovered => f.write_str("perfect recovery"),
            Self::Rejected(verdict) => write!(f, "{verdict}"),
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
            Termination::Diverging(_) | Termination::Rejected(_) => true,
            Termination::Converged { .. } => false,
            Termination::Stopped(_) | Termination::FallbackLimit { .. } => return false,
        };
        match self.options.fallback {
            Fallback::Forced => true,
            _ => unsettled && self.may_fall_back(state),
        }
    }

    /// A fallback may take over from the sweeps of this state.
    pub(super) fn may_fall_back(&self, state: &State<A>) -> bool {
        let startable = state.has_good || A::FALLS_BACK_FROM_ANYWHERE;
        match self.options.fallback {
            Fallback::Forced => true,
            Fallback::Automatic => state.step.is_some() && startable,
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
        let rejected = match &termination {
            Termination::Rejected(verdict) => Some(verdict.clone()),
            _ => None,
        };
        // constant steps would come to rest at the same state, at which nothing moves
        let constant = match rejected {
            Some(Verdict::NotStationary { .. }) => Constant::Unsettled(0, None),
            _ => self.constant_steps(sweeps, observer),
        };
        let (spent, best) = match constant {
            Constant::Ended(ended, done) => {
                *state = *ended;
                *termination = end_of(&done);
                return Ok(Handover::Done(Some(done)));
            }
            Constant::Unsettled(spent, best) => (spent, best),
        };
        let diverged = matches!(termination, Termination::Diverging(_));
        // the free energy that a certain method descends has no bound where the run collapsed
        if let Some(Verdict::Collapsed { .. }) = rejected
            && self.options.fallback == Fallback::Automatic
        {
            return Ok(Handover::Done(more));
        }
        if self.options.fallback == Fallback::Automatic
            && let Some(why) = self.algorithm.uncertain(self.tree)
        {
            if rejected.is_none() {
                self.keep_better(state, diverged, best);
            }
            return Ok(Handover::Refused(more, why));
        }
        // a contradiction tells more than a bound: unless the fallback settles, it stands, with its state
        let contradicted = matches!(rejected, Some(Verdict::Contradicted(_)));
        match self.take_over(state, (sweeps + spent, contradicted), observer) {
            Ok(mut done) => {
                done.evaluations += spent;
                if rejected.is_none() || !done.went_back {
                    *termination = end_of(&done);
                }
                if rejected.is_none() && matches!(done.end, FallbackEnd::Limit { .. }) {
                    done.went_back |= self.keep_better(state, diverged && done.went_back, best);
                }
                Ok(Handover::Done(Some(done)))
            }
            Err(error) if self.options.fallback == Fallback::Forced => Err(error),
            // one that starts from anywhere would have gone on: a factor that fails there is what the sweeps stumbled over
            Err(error) if A::FALLS_BACK_FROM_ANYWHERE && error.is_failed_factor() => Err(error),
            Err(error) => Ok(Handover::Refused(more, error)),
        }
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

    /// Takes the other one of two unsettled states if it is the better one: one that did not diverge is better than one that did, then
    /// the one that a full sweep moves less. Says whether it did.
    fn keep_better(
        &self,
        state: &mut State<A>,
        diverged: bool,
        other: Option<(Box<State<A>>, f64)>,
    ) -> bool {
        let Some((other, residual)) = other else {
            return false;
        };
        let here = self.full_sweep_residual(state);
        let better = diverged || here.is_none_or(|here| residual < here);
        if better {
            *state = *other;
        }
        better
    }

    /// How far a full sweep moves the moments; none where it cannot be made. The state stays.
    pub(super) fn full_sweep_residual(&self, state: &mut State<A>) -> Option<f64> {
        let messages = state.store[..self.tree.edges().len()].to_vec();
        let mut supervisor = Supervisor {
            engine: self,
            state,
            observer: &mut (),
            count: 0,
        };
        supervisor.sweep_residual(&messages)
    }

    /// The fallback from the last good state, to which it goes back if that is the better one.
    fn take_over(
        &self,
        state: &mut State<A>,
        (sweeps, contradicted): (usize, bool),
        observer: &mut impl Observer<A>,
    ) -> Result<FallbackReport, RunError> {
        self.restore(state);
        let before = state.store[..self.tree.edges().len()].to_vec();
        // a state at a contradicted signal leads nowhere: in its place, that after the first sweeps
        if contradicted && let Some(other) = self.after_first_sweeps()? {
            *state = other;
        }
        let mut messages = state.store[..before.len()].to_vec();
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
            && first.should_retry()
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
            done.went_back = done.is_worse_than(residual_before.flatten())
                || contradicted && done.end.is_unsettled();
            supervisor.state.has_good = true;
        }
        let stays = done.as_ref().is_ok_and(|done| !done.went_back);
        supervisor.take(if stays { &messages } else { &before });
        done
    }
}

impl FallbackReport {
    /// Contradicted, or stopped early: another start may succeed.
    fn should_retry(&self) -> bool {
        match self.end {
            FallbackEnd::Limit { .. } => self.evaluations < SOON,
            FallbackEnd::Rejected(Verdict::Contradicted(_)) => true,
            _ => false,
        }
    }

    /// It did not settle, and a full sweep moves its end more than the state before.
    fn is_worse_than(&self, before: Option<f64>) -> bool {
        let unsettled = match &self.end {
            FallbackEnd::Limit { .. } => true,
            FallbackEnd::Rejected(verdict) => matches!(verdict, Verdict::Contradicted(_)),
            _ => false,
        };
        let now = self.sweep_residual.unwrap_or(f64::INFINITY);
        unsettled && before.is_some_and(|before| before < now)
    }
}

/// How a run ended that its fallback has taken over.
fn end_of(done: &FallbackReport) -> Termination {
    match &done.end {
        FallbackEnd::Stationary => Termination::of(&Verdict::Settled),
        FallbackEnd::Recovered => Termination::of(&Verdict::ExactRecovery),
        FallbackEnd::Rejected(verdict) => Termination::of(verdict),
        FallbackEnd::Limit { bound, reached } => Termination::FallbackLimit {
            bound,
            reached: *reached,
        },
        FallbackEnd::Stopped(reason) => Termination::Stopped(reason.clone()),
    }
}
