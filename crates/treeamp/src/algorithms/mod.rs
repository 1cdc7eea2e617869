//! The algorithms on the engine.

mod double_loop;
mod expectation_propagation;
pub mod state_evolution;

pub use expectation_propagation::{ExpectationPropagation, Posterior};
pub use state_evolution::{Evolution, MismatchedEvolution, Prediction, StateEvolution, Teacher};
