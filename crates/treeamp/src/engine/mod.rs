//! One message-passing engine: it owns the loop, an [`Algorithm`] owns the meaning of messages.

mod acceleration;
mod adaptive;
mod algorithm;
mod bethe;
mod constant;
mod end;
mod fallback;
mod finish;
pub(crate) mod graph;
mod observer;
mod options;
mod plan;
mod report;
mod restart;
mod run;
mod setup;
mod start;
mod state;
mod sweep;
mod vanishing;
mod watch;

pub use crate::belief::Message;
pub use algorithm::{Algorithm, Marginal, MissingRule, Potential};
pub use bethe::{Objective, Term};
pub use fallback::{Descent, Fallback, FallbackEnd, FallbackReport};
pub use observer::{EveryN, Observer, Progress, SweepView};
pub use options::{Damping, EdgeMessage, Initial, Options};
pub use plan::Plan;
pub use report::{
    Contradiction, ContradictionKind, Divergence, Messages, Report, SweepRecord, Termination,
};
pub use setup::Engine;
pub use watch::Watch;

pub(crate) use fallback::CONTRADICTED;
pub(crate) use start::START_STREAM;
pub(crate) use watch::RESTING;
