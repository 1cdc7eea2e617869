//! The options of a run, and their checks.

use std::str::FromStr;

use super::Fallback;
use crate::belief::Message;
use crate::error::RunError;

/// How much of the previous message is kept: `new = (1 - d) new + d old`, on the messages from
/// factors to variables. $0 \le d < 1$.
///
/// With [`Fallback::Automatic`] a run on data that does not settle at a $d > 0$ given here, because it diverges or comes to its sweep
/// limit, starts again with adaptive damping.
/// No damping, steps, and all of them with [`Fallback::Forbidden`], are exactly those sweeps.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Damping {
    /// Found as the run goes: none while it settles by itself, more when it does not. A theory has none.
    #[default]
    Adaptive,
    /// None.
    None,
    /// The same on every edge.
    Constant(f64),
    /// Another one in every sweep, $1 - s$ with the steps $0 < s \le 1$ given here; the last stays.
    Steps(Vec<f64>),
    /// On the named edges, as (factor, variable, d); none elsewhere.
    PerEdge(Vec<(String, String, f64)>),
}

impl From<f64> for Damping {
    fn from(d: f64) -> Self {
        Self::Constant(d)
    }
}

/// `adaptive`, `none`, or a number in [0, 1).
impl FromStr for Damping {
    type Err = RunError;

    fn from_str(text: &str) -> Result<Self, RunError> {
        let constant = || text.parse().ok().filter(|d| (0.0..1.0).contains(d));
        match text {
            "adaptive" => Ok(Self::Adaptive),
            "none" => Ok(Self::None),
            _ => constant()
                .map(Self::Constant)
                .ok_or_else(|| RunError::Option {
                    option: "damping",
                    expected: "adaptive, none or a number in [0, 1)".to_owned(),
                    got: text.to_owned(),
                }),
        }
    }
}

/// A message given by hand: factor, variable, precision and linear part.
#[derive(Debug, Clone, PartialEq)]
pub struct EdgeMessage {
    /// Factor it comes from.
    pub factor: String,
    /// Variable it goes to.
    pub variable: String,
    /// Its precision.
    pub precision: f64,
    /// Its linear part, one number per component, or a single one for all.
    pub linear: Vec<f64>,
}

/// The messages before the first sweep, from factors to variables.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Initial {
    /// All flat.
    #[default]
    Flat,
    /// The same everywhere.
    Constant {
        /// Precision $a$.
        precision: f64,
        /// Every component of $b$.
        linear: f64,
    },
    /// Gaussian linear parts, from a seed.
    Noisy {
        /// Precision $a$.
        precision: f64,
        /// Mean of the components of $b$.
        mean: f64,
        /// Their standard deviation.
        std: f64,
        /// The seed; each edge has its own stream.
        seed: u64,
    },
    /// Given edge by edge; the others are flat. A forward message (from a factor to a variable it
    /// produces) is kept through the first sweep, so that it can be seen at all.
    Given(Vec<EdgeMessage>),
}

/// How a run is to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// At most this many sweeps.
    pub max_sweeps: usize,
    /// Converged when the residual falls below this; at zero the run goes on until its limit or an observer's word, and nothing takes
    /// over from it where the residual is below 1e-6.
    pub tolerance: f64,
    /// Variance below this fraction of the second moment, on every variable, is perfect recovery.
    pub perfect: f64,
    /// Maximum a posteriori: any point whose energy is within this fraction of the least one will do (the relative primal-dual gap of
    /// its certificate). Not said: $10^{-8}$, and places to $10^{-6}$ of their scale.
    pub gap: Option<f64>,
    /// Damping of the messages from factors to variables.
    pub damping: Damping,
    /// Messages before the first sweep.
    pub initial: Initial,
    /// Whether the fallback may take over from sweeps that do not settle.
    pub fallback: Fallback,
    /// Jumps ahead near a fixed point (Anderson acceleration), where that saves sweeps. With adaptive damping
    /// only: damping by hand leaves every sweep as it is.
    pub acceleration: bool,
    /// Messages keep precisions that are not negative: one that is becomes zero, its variable keeping the mean. Fixed
    /// points that have negative ones are not reached, and runs that are improper on their way to another are.
    /// Isotropic beliefs and, component by component, diagonal ones.
    pub positive: bool,
    /// Linear channels have exact messages, whatever [`Route`](crate::factor::Route) they were given.
    pub exact: bool,
    /// A diverging run goes back to its last good state, at the memory of one message per edge that can
    /// change. Not said: where no variable has more than $2^{18}$ numbers.
    pub rollback: Option<bool>,
    /// The most bytes that diagonal, block and full beliefs may take: messages and marginals of all variables, and
    /// the matrices that factors need for them.
    pub memory_limit: u64,
}

/// Two gibibytes.
const MEMORY_LIMIT: u64 = 2 << 30;

/// The default tolerance, relative to the scale of what is compared: also of comparisons that have none of their own.
pub(crate) const TOLERANCE: f64 = 1e-6;

impl Default for Options {
    fn default() -> Self {
        Self {
            max_sweeps: 200,
            tolerance: TOLERANCE,
            perfect: 1e-14,
            gap: None,
            damping: Damping::Adaptive,
            initial: Initial::Flat,
            fallback: Fallback::Automatic,
            acceleration: true,
            positive: false,
            exact: false,
            rollback: None,
            memory_limit: MEMORY_LIMIT,
        }
    }
}

impl Options {
    /// Lifts a message to a precision that is not negative, if that is wanted.
    pub(super) fn lift<M: Message>(&self, message: &mut M, cavity: &M) {
        if self.positive {
            message.lift(cavity);
        }
    }

    /// Checks the ranges.
    ///
    /// # Errors
    /// [`RunError::Option`] naming the option.
    pub fn check(&self) -> Result<(), RunError> {
        if self.max_sweeps == 0 {
            return refuse("max_sweeps", "at least 1", "0".into());
        }
        if !(self.tolerance >= 0.0 && self.tolerance.is_finite()) {
            let got = self.tolerance.to_string();
            return refuse("tolerance", "finite and not negative", got);
        }
        if !(self.perfect >= 0.0 && self.perfect < 1.0) {
            return refuse("perfect", "in [0, 1)", self.perfect.to_string());
        }
        if let Some(gap) = self.gap.filter(|gap| !(*gap > 0.0 && *gap < 1.0)) {
            return refuse("gap", "in (0, 1)", gap.to_string());
        }
        self.damping.check()?;
        self.initial.check()
    }
}

fn refuse(option: &'static str, expected: &str, got: String) -> Result<(), RunError> {
    Err(RunError::Option {
        option,
        expected: expected.to_owned(),
        got,
    })
}

impl Damping {
    /// It keeps the same part of some message in every sweep.
    pub(crate) fn is_constant(&self) -> bool {
        match self {
            Self::Constant(d) => *d > 0.0,
            Self::PerEdge(edges) => edges.iter().any(|(_, _, d)| *d > 0.0),
            Self::Adaptive | Self::None | Self::Steps(_) => false,
        }
    }

    fn check(&self) -> Result<(), RunError> {
        let outside = |d: &f64| !(0.0..1.0).contains(d);
        match self {
            Self::Constant(d) if outside(d) => refuse("damping", "in [0, 1)", d.to_string()),
            Self::PerEdge(edges) => match edges.iter().find(|(_, _, d)| outside(d)) {
                Some((f, v, d)) => {
                    let got = format!("{d} on the edge {f} - {v}");
                    refuse("damping", "in [0, 1)", got)
                }
                None => Ok(()),
            },
            Self::Steps(steps) if steps.is_empty() => {
                refuse("damping.steps", "at least one step", "none".into())
            }
            Self::Steps(steps) => match steps.iter().find(|s| !(**s > 0.0 && **s <= 1.0)) {
                Some(s) => refuse("damping.steps", "in (0, 1]", s.to_string()),
                None => Ok(()),
            },
            Self::Adaptive | Self::None | Self::Constant(_) => Ok(()),
        }
    }
}

impl Initial {
    fn check(&self) -> Result<(), RunError> {
        let numbers: Vec<f64> = match self {
            Self::Flat => vec![],
            Self::Constant { precision, linear } => vec![*precision, *linear],
            Self::Noisy {
                precision,
                mean,
                std,
                ..
            } => vec![*precision, *mean, *std],
            Self::Given(edges) => edges
                .iter()
                .flat_map(|e| e.linear.iter().chain(std::iter::once(&e.precision)))
                .copied()
                .collect(),
        };
        if let Some(x) = numbers.iter().find(|x| !x.is_finite()) {
            return refuse("initial", "finite messages", x.to_string());
        }
        match self {
            Self::Noisy { std, .. } if *std < 0.0 => {
                refuse("initial.std", "not negative", std.to_string())
            }
            _ => Ok(()),
        }
    }
}
