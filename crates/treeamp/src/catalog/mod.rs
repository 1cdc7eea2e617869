//! The modules: one law per file, and the only list of them.

pub mod channels;
pub mod likelihoods;
pub mod priors;
