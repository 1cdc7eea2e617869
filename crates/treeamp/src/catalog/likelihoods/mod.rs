//! Likelihoods.
