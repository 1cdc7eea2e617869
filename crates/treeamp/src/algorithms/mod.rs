//! The algorithms on the engine.

mod double_loop;
mod expectation_propagation;
mod inclusion;
mod map;
mod minimiser;
mod penalties;
mod smooth_entries;
mod starts;
pub mod state_evolution;
mod verdict;

pub use expectation_propagation::{ExpectationPropagation, Posterior};
pub use map::{MaximumAPosteriori, Minimum, Mode};
pub use minimiser::point::Solution;
pub use starts::{FixedPoint, RestartReport, Restarts, Start, near, push, spectral_estimate};
pub use state_evolution::{
    Evolution, MismatchedEvolution, Prediction, RowEvolution, StateEvolution, Teacher,
};
