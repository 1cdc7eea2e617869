//! Attempts at a fixed point, as data: what is tried, in which order, and after what.

use super::conditions::PATIENCE;
use super::{Algorithm, Damping, Engine, Fallback, Options};
use crate::belief::Structure;

/// Constant dampings that are tried where steps which adapt do not settle a run. Sparse deconvolution with little noise swings so much at
/// first that steps adapt to next to nothing, and stay there; from the start again with a damping of 0.6 or 0.8 it settles in a hundred
/// sweeps, where a double loop takes thousands of evaluations. A damping of 0.3 does the same for phase retrieval.
const DAMPINGS: [(f64, &str); 3] = [
    (0.3, "constant damping of 0.3"),
    (0.6, "constant damping of 0.6"),
    (0.8, "constant damping of 0.8"),
];
/// Where there is no certain way, or where the residual of a constant damping creeps down, sweeps go on for this many times their limit.
const MORE: usize = 5;
/// Sweeps over which the residual must fall: of adaptive ones, which need some to find their step, and of others.
const STRETCH: usize = 50;
const SHORT_STRETCH: usize = 25;
/// Starts with steps of 1/2, 1/4, ... of a run that is improper from its first sweep on.
const HALVINGS: i32 = 4;
/// The width over which penalties are smoothed where a run with sharp ones does not settle, relative to their input. Narrow ones are slow:
/// precisions grow until next to nothing moves. Among Gaussian factors the minimiser, and whether precisions are found at all, is the same from 0.25 to
/// 1; variances are those of the smoothed penalty, and grow with the width.
pub(crate) const SMOOTHING: f64 = 0.5;
/// Sweeps before a fallback that is forced: every factor has heard from all others.
pub(super) const FIRST_SWEEPS: usize = 2;

/// One attempt at a fixed point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Attempt {
    pub(super) after: After,
    pub(super) patience: Patience,
    /// Where it starts.
    pub start: Origin,
    /// How it goes on.
    pub method: Method,
    /// The width over which penalties are smoothed, relative to their input ([`Request::smoothing`](crate::factor::Request::smoothing)).
    pub smoothing: Option<f64>,
    /// Messages keep precisions that are not negative ([`Options::positive`](super::Options::positive)).
    pub positive: bool,
}

/// How long sweeps that make no progress go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Patience {
    /// The least residual of so many sweeps must be below that of the ones before.
    pub stretch: usize,
    /// Where it is not, they make way for the next attempt after so many sweeps; none: they go on to their limit.
    pub least: Option<usize>,
    /// While the residual creeps down they go on, to this number.
    pub creeping: usize,
}

/// Where an attempt starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// At the messages that the options say.
    Initial,
    /// Where the sweeps had led.
    Reached,
    /// Where the first two sweeps lead.
    FirstSweeps,
}

/// How an attempt goes on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    /// By sweeps, at most so many.
    Sweeps {
        /// The part of the new messages that they take.
        steps: Steps,
        /// The bound.
        limit: usize,
    },
    /// By the certain method of the algorithm: a double loop, or a splitting of convex energies.
    Certain,
}

/// The part of the new messages that sweeps take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Steps {
    /// What the damping of the options leaves.
    Given,
    /// It adapts, and begins with this.
    Adaptive(f64),
    /// This, always.
    Constant(f64),
}

/// What must have come before an attempt for it to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// Nothing: it is the first.
    Nothing,
    /// The damping of the options did not settle the run.
    Given,
    /// The run was improper from its first sweep on.
    BadStart,
    /// Sweeps with steps that adapt did not settle it.
    Sweeps,
    /// The same, and there is a certain method, or it is forced.
    SweepsForCertain,
    /// The certain method was not to begin where the sweeps had led, or was contradicted there.
    FarOrContradicted,
}

impl After {
    fn is_fallback(self) -> bool {
        !matches!(self, Self::Nothing | Self::Given | Self::BadStart)
    }
}

impl Attempt {
    fn sweeps(after: After, steps: Steps, limit: usize) -> Self {
        let helps = after.is_fallback();
        Self {
            after,
            patience: Patience {
                stretch: if helps { SHORT_STRETCH } else { STRETCH },
                least: helps.then_some(0),
                creeping: if helps {
                    MORE * Options::default().max_sweeps
                } else {
                    0
                },
            },
            start: Origin::Initial,
            method: Method::Sweeps { steps, limit },
            smoothing: None,
            positive: false,
        }
    }

    fn certain(after: After, start: Origin) -> Self {
        Self {
            start,
            method: Method::Certain,
            ..Self::sweeps(after, Steps::Given, 0)
        }
    }

    /// It takes over from the sweeps of a run, and is reported as its fallback.
    pub(super) fn is_fallback(&self) -> bool {
        self.after.is_fallback()
    }

    /// It follows sweeps with the damping of the options, and observers see it from 1 on.
    pub(super) fn starts_again(&self) -> bool {
        self.after == After::Given
    }

    /// By sweeps with the damping of the options.
    pub(super) fn has_given_steps(&self) -> bool {
        matches!(
            self.method,
            Method::Sweeps {
                steps: Steps::Given,
                ..
            }
        )
    }

    /// A first sweep that is improper ends it: the next one begins with a smaller step.
    pub(super) fn restarts_if_improper(&self) -> bool {
        let last = 0.5_f64.powi(HALVINGS);
        let adapts = matches!(self.method, Method::Sweeps { steps: Steps::Adaptive(first), .. } if first > last);
        adapts && !self.is_fallback()
    }

    /// What it is called in a report.
    pub(super) fn name(&self) -> &'static str {
        let constant = |size: f64| {
            DAMPINGS
                .iter()
                .find(|(d, _)| (1.0 - d).to_bits() == size.to_bits())
        };
        match self.method {
            Method::Certain => "certain method",
            Method::Sweeps { .. } if self.positive => "positive precisions",
            Method::Sweeps { .. } if self.smoothing.is_some() => "smoothed penalties",
            Method::Sweeps { steps, .. } => match steps {
                Steps::Given => "damping as given",
                Steps::Adaptive(first) if first < 1.0 => "adaptive damping, smaller first steps",
                Steps::Adaptive(_) => "adaptive damping",
                Steps::Constant(size) => constant(size).map_or("constant damping", |(_, n)| *n),
            },
        }
    }
}

impl<A: Algorithm> Engine<'_, A> {
    /// What is tried, in this order, until a run settles.
    pub(super) fn ladder(&self) -> Vec<Attempt> {
        let options = &self.options;
        let (limit, patience) = (self.sweep_limit(), self.patience());
        let automatic = options.fallback == Fallback::Automatic;
        let adapts = options.damping == Damping::Adaptive;
        let followed = automatic && (adapts || options.damping.is_constant());
        let dampings = || DAMPINGS.iter().filter(|_| followed && A::TRIES_DAMPINGS);
        let constant = |after, damping: f64, limit| {
            Attempt::sweeps(after, Steps::Constant(1.0 - damping), limit)
        };
        if !A::ON_DATA {
            let mut ladder = vec![Attempt::sweeps(After::Nothing, Steps::Given, limit)];
            if !adapts && followed && A::TRIES_DAMPINGS {
                ladder.push(constant(After::Given, 0.0, limit));
            }
            ladder.extend(dampings().map(|(d, _)| constant(After::Given, *d, limit)));
            if options.fallback == Fallback::Forced {
                let after = After::SweepsForCertain;
                ladder.push(Attempt::certain(after, Origin::Reached));
            }
            return ladder;
        }
        let mut ladder = Vec::new();
        if !adapts {
            ladder.push(Attempt::sweeps(After::Nothing, Steps::Given, limit));
        }
        if adapts || followed {
            let after = if adapts { After::Nothing } else { After::Given };
            let adaptive = |after, first| Attempt {
                patience,
                ..Attempt::sweeps(after, Steps::Adaptive(first), limit)
            };
            ladder.push(adaptive(after, 1.0));
            ladder.extend((1..=HALVINGS).map(|k| adaptive(After::BadStart, 0.5_f64.powi(k))));
        }
        let adaptive = || Attempt::sweeps(After::Sweeps, Steps::Adaptive(1.0), limit);
        if followed && self.algorithm.smooths(self.tree) {
            ladder.push(Attempt {
                smoothing: Some(SMOOTHING),
                ..adaptive()
            });
        }
        if followed && self.is_diagonal() {
            ladder.push(Attempt {
                positive: true,
                ..adaptive()
            });
        }
        ladder.extend(
            dampings().map(|(d, _)| constant(After::Sweeps, *d, Options::default().max_sweeps)),
        );
        if options.fallback != Fallback::Forbidden {
            let after = After::SweepsForCertain;
            ladder.push(Attempt::certain(after, Origin::Reached));
        }
        if automatic {
            let after = After::FarOrContradicted;
            ladder.push(Attempt::certain(after, Origin::FirstSweeps));
        }
        ladder
    }

    /// The first attempt ends after this many sweeps, if not before.
    fn sweep_limit(&self) -> usize {
        let limit = self.options.max_sweeps;
        let adapts = A::ON_DATA && self.options.damping == Damping::Adaptive;
        let goes_on = adapts
            && self.options.tolerance > 0.0
            && limit >= PATIENCE
            && self.algorithm.uncertain(self.tree).is_some();
        match self.options.fallback {
            Fallback::Forced => FIRST_SWEEPS.min(limit),
            Fallback::Automatic if goes_on => limit.saturating_mul(MORE),
            _ => limit,
        }
    }

    /// Adaptive sweeps without progress make way for a certain method, where there is one. One that starts from anywhere may come at once.
    fn patience(&self) -> Patience {
        let from_anywhere = self.algorithm.certain_from_anywhere(self.tree);
        let certain = self.algorithm.uncertain(self.tree).is_none();
        let least = if from_anywhere { 0 } else { PATIENCE };
        Patience {
            stretch: if from_anywhere {
                SHORT_STRETCH
            } else {
                STRETCH
            },
            least: (self.options.fallback == Fallback::Automatic && certain).then_some(least),
            creeping: 0,
        }
    }

    /// Some variable has a belief for each of its components.
    fn is_diagonal(&self) -> bool {
        let mut variables = self.tree.variables().iter();
        variables.any(|v| v.spec.structure == Structure::Diagonal)
    }
}
