//! The modules: one law per file, and the only list of them.

pub mod channels;
mod gaussian_tilt;
pub mod likelihoods;
pub mod priors;
