//! The pictures of runs, sweeps and phase diagrams.

pub mod curve;
pub mod landscape;
pub mod phases;
pub mod run;
