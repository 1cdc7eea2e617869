//! One message-passing engine: it owns the loop, an [`Algorithm`] owns the meaning of messages.

mod acceleration;
mod adaptive;
mod algorithm;
mod bethe;
mod conditions;
mod cost;
mod driver;
mod evidence_limit;
mod fallback;
pub(crate) mod graph;
mod ladder;
mod observer;
mod options;
mod outcome;
mod plan;
mod probe;
mod report;
mod report_builder;
mod route;
mod run;
mod setup;
mod start;
mod state;
mod stopping;
mod sweep;
mod take_over;
mod verdict;

pub use crate::belief::Message;
pub use algorithm::{Algorithm, Marginal, MissingRule, Potential};
pub use bethe::{Objective, Term};
pub use cost::Estimate;
pub use fallback::{Bound, Descent, Fallback, FallbackEnd, FallbackReport};
pub use ladder::{Attempt, Method, Origin, Steps};
pub use observer::{EveryN, Observer, Progress, SweepView};
pub use options::{Damping, EdgeMessage, Initial, Options};
pub use plan::Plan;
pub use probe::{Probe, Watch};
pub use report::{Attempted, Divergence, Messages, Report, SweepRecord, Termination};
pub use setup::Engine;
pub use verdict::{Contradiction, ContradictionKind, Evidence, EvidenceLimit, Verdict};

pub(crate) use ladder::SMOOTHING;
pub(crate) use options::TOLERANCE;
pub(crate) use probe::{KNOWN, PLAIN, RESTING};
pub(crate) use start::START_STREAM;
