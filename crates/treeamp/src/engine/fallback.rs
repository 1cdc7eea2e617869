//! The certain way to a fixed point, for runs that do not settle: a double loop on the Bethe objective, or a splitting of
//! convex energies.

use std::str::FromStr;

use super::{Termination, Verdict};
use crate::error::RunError;

/// What sweeps beyond those that were asked for are called.
pub(super) const MORE_SWEEPS: &str = "more sweeps";

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

/// What a fallback is bounded by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bound {
    /// Sweeps.
    Sweeps,
    /// Evaluations of all factors.
    Evaluations,
    /// Steps of an outer loop.
    Steps,
    /// Steps of an outer loop that do not come near a fixed point, in five times the work of the sweeps before.
    NoProgress,
    /// Steps of an outer loop whose inner problem is not solved well enough for the next one.
    Unsolved,
    /// Steps of an outer loop after which the arithmetic has no digits left.
    Digits,
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Sweeps => "sweeps",
            Self::Evaluations => "evaluations",
            Self::Steps => "outer steps",
            Self::NoProgress => "outer steps without progress",
            Self::Unsolved => {
                "steps, where the inner problem is not solved well enough for the next one"
            }
            Self::Digits => "steps, where the arithmetic has no digits left",
        })
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
        bound: Bound,
        /// How many there were.
        reached: usize,
    },
    /// An observer stopped it, for this reason.
    Stopped(String),
}

impl FallbackEnd {
    /// That of sweeps which ended at a fixed point, or by an observer's word.
    pub(super) fn of_settled(end: &Termination) -> Option<Self> {
        match end {
            Termination::Converged {
                perfect_recovery: true,
            } => Some(Self::Recovered),
            Termination::Converged { .. } => Some(Self::Stationary),
            Termination::Stopped(reason) => Some(Self::Stopped(reason.clone())),
            _ => None,
        }
    }

    /// That of so many sweeps which did not settle.
    pub(super) fn at_sweeps(reached: usize) -> Self {
        Self::Limit {
            bound: Bound::Sweeps,
            reached,
        }
    }

    pub(super) fn is_unsettled(&self) -> bool {
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
    pub reverted: bool,
    /// The width over which penalties were smoothed, relative to their input: variances beside them refer to the smoothed ones, means to the
    /// penalties themselves.
    pub smoothing: Option<f64>,
}

impl FallbackReport {
    /// Sweeps, this many of so many evaluations, that ended here.
    pub(super) fn of_sweeps(
        method: &'static str,
        (steps, evaluations): (usize, usize),
        residual: f64,
        end: FallbackEnd,
    ) -> Self {
        Self {
            method,
            steps,
            evaluations,
            residual,
            sweep_residual: Some(residual),
            free_energy: Vec::new(),
            descent: None,
            end,
            reverted: false,
            smoothing: None,
        }
    }

    /// It ended at a signal that a factor contradicts: another start may succeed.
    pub(super) fn is_contradicted(&self) -> bool {
        matches!(self.end, FallbackEnd::Rejected(Verdict::Contradicted(_)))
    }

    /// It did not settle, and a full sweep moves its end more than the state before.
    pub(super) fn is_worse_than(&self, before: Option<f64>) -> bool {
        let unsettled = matches!(self.end, FallbackEnd::Limit { .. }) || self.is_contradicted();
        let now = self.sweep_residual.unwrap_or(f64::INFINITY);
        unsettled && before.is_some_and(|before| before < now)
    }

    /// How a run ended that it has taken over.
    pub(super) fn termination(&self) -> Termination {
        match &self.end {
            FallbackEnd::Stationary => Termination::of(&Verdict::Settled),
            FallbackEnd::Recovered => Termination::of(&Verdict::ExactRecovery),
            FallbackEnd::Rejected(verdict) => Termination::of(verdict),
            FallbackEnd::Limit { bound, reached } => Termination::FallbackLimit {
                bound: *bound,
                reached: *reached,
            },
            FallbackEnd::Stopped(reason) => Termination::Stopped(reason.clone()),
        }
    }
}
