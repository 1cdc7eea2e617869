//! The algorithms on the engine.

mod expectation_propagation;

pub use expectation_propagation::{ExpectationPropagation, Posterior};
