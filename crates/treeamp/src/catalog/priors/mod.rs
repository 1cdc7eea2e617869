//! Priors.
