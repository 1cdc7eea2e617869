//! What a run leaves: marginals, trace, messages, and how it ended.

use super::{
    Algorithm, Attempt, Bound, EdgeMessage, EvidenceLimit, FallbackReport, Objective, Verdict,
};
use crate::belief::Element;
use crate::error::{ModelError, RunError};
use crate::factor::RouteReport;
use crate::model::{Direction, Tree};

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Termination {
    /// The residual fell below the tolerance, or every variable is recovered exactly. On data, a run that is all but certain has
    /// stayed there for a few sweeps, and no factor contradicts it.
    Converged {
        /// Every variance fell below a fraction of the signal's second moment (1e-14, or far below the least
        /// noise in theory), and on data the means are at rest and no factor contradicts them: perfect recovery. (There may be other
        /// signals that no factor contradicts.)
        perfect_recovery: bool,
    },
    /// The sweep limit came first. A bounded oscillation ends here.
    SweepLimit,
    /// A fallback took over, and came to its bound before it came to a fixed point.
    FallbackLimit {
        /// What is bounded: steps, evaluations, the accuracy of its arithmetic.
        bound: Bound,
        /// How many there were.
        reached: usize,
    },
    /// The run diverged; the report holds the last good state.
    Diverging(Divergence),
    /// The run came to rest at a state that is no answer: contradicted, collapsed, not stationary, unbounded or infeasible. The report holds
    /// that state.
    Rejected(Verdict),
    /// An observer stopped it.
    Stopped(String),
}

impl Termination {
    /// That of a run whose state at rest has this verdict.
    pub(super) fn of(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Settled | Verdict::ExactRecovery => Self::Converged {
                perfect_recovery: *verdict == Verdict::ExactRecovery,
            },
            other => Self::Rejected(other.clone()),
        }
    }

    /// The run ended at a fixed point.
    #[must_use]
    pub fn is_converged(&self) -> bool {
        matches!(self, Self::Converged { .. })
    }
}

impl std::fmt::Display for Termination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Converged {
                perfect_recovery: true,
            } => f.write_str("converged (perfect recovery)"),
            Self::Converged {
                perfect_recovery: false,
            } => f.write_str("converged"),
            Self::SweepLimit => f.write_str("sweep limit reached"),
            Self::FallbackLimit { bound, reached } => {
                write!(f, "bound of the fallback reached: {reached} {bound}")
            }
            Self::Diverging(d) => write!(f, "{d}"),
            Self::Rejected(verdict) => write!(f, "{verdict}"),
            Self::Stopped(reason) => write!(f, "stopped: {reason}"),
        }
    }
}

/// An attempt at a fixed point, and what it came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempted {
    /// What was tried.
    pub attempt: Attempt,
    /// Its name: the damping, or the certain method.
    pub name: &'static str,
    /// Its sweeps, or evaluations of all factors.
    pub evaluations: usize,
    /// How far a full sweep moves the moments where it ended.
    pub residual: f64,
    /// How it ended.
    pub end: Termination,
}

/// Where and why a run diverged.
#[derive(Debug, Clone, PartialEq)]
pub struct Divergence {
    /// The sweep in which it happened, counted from 1.
    pub sweep: usize,
    /// The factor, when one edge is to blame.
    pub factor: Option<String>,
    /// The variable.
    pub variable: Option<String>,
    /// The direction of the message.
    pub direction: Option<Direction>,
    /// What was seen.
    pub reason: String,
}

impl std::fmt::Display for Divergence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "diverging in sweep {}", self.sweep)?;
        if let Some(variable) = &self.variable {
            write!(f, " at variable `{variable}`")?;
        }
        if let Some(factor) = &self.factor {
            write!(f, ", factor `{factor}`")?;
        }
        if let Some(direction) = self.direction {
            write!(f, " ({direction} message)")?;
        }
        write!(f, ": {}", self.reason)
    }
}

/// One line of the trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SweepRecord {
    /// The sweep, counted from 1.
    pub sweep: usize,
    /// The largest relative change of a variable's moments; infinite after the first sweep.
    pub residual: f64,
    /// Updates that were skipped because a tilted law or a belief was improper.
    pub improper: usize,
    /// The part of the new messages that was taken, on the most damped edge.
    pub step: f64,
}

/// The messages from factors to variables, by the names of their ends: a state to start from.
#[derive(Debug, Clone)]
pub struct Messages<M> {
    pub(super) edges: Vec<(String, String, M)>,
}

impl<M> Messages<M> {
    /// Messages given by hand, as (factor, variable, message).
    #[must_use]
    pub fn new(edges: Vec<(String, String, M)>) -> Self {
        Self { edges }
    }

    /// The message of a factor to a variable.
    #[must_use]
    pub fn get(&self, factor: &str, variable: &str) -> Option<&M> {
        self.edges
            .iter()
            .find(|(f, v, _)| f == factor && v == variable)
            .map(|(_, _, m)| m)
    }

    /// All messages with the names of their ends.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &M)> {
        self.edges
            .iter()
            .map(|(f, v, m)| (f.as_str(), v.as_str(), m))
    }
}

/// The result of a run.
#[derive(Debug, Clone)]
pub struct Report<A: Algorithm> {
    pub(super) names: Vec<String>,
    pub(super) elements: Vec<Element>,
    pub(super) marginals: Vec<A::Marginal>,
    /// How it ended.
    pub termination: Termination,
    /// Whether the log-evidence has a limit at the state of the verdict; none where the run did not come to rest, or its verdict needed none.
    pub evidence_limit: Option<EvidenceLimit>,
    /// Sweeps done.
    pub sweeps: usize,
    /// One record per sweep.
    pub trace: Vec<SweepRecord>,
    /// Average variances, one row per sweep and one column per variable in the tree's order; NaN where nobody
    /// [looked](super::Observer::looks) at a variable.
    pub variances: Vec<Vec<f64>>,
    /// The final messages, to start another run from.
    pub messages: Messages<A::Message>,
    /// Everything that was tried, in order.
    pub attempts: Vec<Attempted>,
    /// How the sweeps with the damping that was given ended, if they did not settle and the report is that of another attempt.
    pub restarted: Option<Termination>,
    /// What the fallback did, if it took over from the sweeps.
    pub fallback: Option<FallbackReport>,
    /// Why none could take over from sweeps that did not settle, where one was to.
    pub no_fallback: Option<RunError>,
    /// The routes that linear channels took, where they were given a choice, and why.
    pub routes: Vec<RouteReport>,
    /// What factors have to say of the run, with their names: such as a start of their own, away from a fixed point that knows nothing, or an
    /// isotropic belief on components of which a channel sees only some.
    pub notes: Vec<(String, String)>,
    /// The Bethe objective with its decomposition, or why it could not be computed.
    pub objective: Result<Objective, RunError>,
}

impl<A: Algorithm> Report<A> {
    /// The names of the variables.
    #[must_use]
    pub fn variables(&self) -> &[String] {
        &self.names
    }

    /// What is known about a variable.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`].
    pub fn marginal(&self, variable: &str) -> Result<&A::Marginal, ModelError> {
        let index = self
            .names
            .iter()
            .position(|n| n == variable)
            .ok_or_else(|| {
                let names: Vec<String> = self.names.iter().map(|n| format!("`{n}`")).collect();
                ModelError::UnknownVariable {
                    variable: variable.to_owned(),
                    known: names.join(", "),
                }
            })?;
        Ok(&self.marginals[index])
    }

    /// What a variable is made of.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`].
    pub fn element(&self, variable: &str) -> Result<Element, ModelError> {
        self.marginal(variable)?;
        let index = self.names.iter().position(|n| n == variable);
        Ok(index.map_or(Element::Real, |i| self.elements[i]))
    }

    /// What the state is at which the run came to rest; none where it did not.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        match &self.termination {
            Termination::Converged {
                perfect_recovery: true,
            } => Some(Verdict::ExactRecovery),
            Termination::Converged { .. } => Some(Verdict::Settled),
            Termination::Rejected(verdict) => Some(verdict.clone()),
            _ => None,
        }
    }

    /// The residual of the last sweep.
    #[must_use]
    pub fn residual(&self) -> f64 {
        self.trace.last().map_or(f64::INFINITY, |r| r.residual)
    }
}

/// The edge a hand-given message belongs to.
pub(super) fn find_edge(tree: &Tree, factor: &str, variable: &str) -> Result<usize, RunError> {
    tree.edge(factor, variable).ok_or_else(|| {
        let known: Vec<String> = tree
            .edges()
            .iter()
            .map(|e| {
                let (f, v) = (
                    &tree.factors()[e.factor].name,
                    &tree.variables()[e.variable].name,
                );
                format!("{f} - {v}")
            })
            .collect();
        RunError::UnknownEdge {
            factor: factor.to_owned(),
            variable: variable.to_owned(),
            known: known.join(", "),
        }
    })
}

/// Checks the length of a hand-given message: one number per component, or one for all.
pub(super) fn check_len(message: &EdgeMessage, expected: usize) -> Result<(), RunError> {
    if message.linear.len() == expected || message.linear.len() == 1 {
        return Ok(());
    }
    Err(RunError::MessageLen {
        factor: message.factor.clone(),
        variable: message.variable.clone(),
        expected,
        got: message.linear.len(),
    })
}
