//! Conformance checks for any law, the catalogue's and yours.

pub mod averages;
pub mod complex_laws;
pub mod factors;
pub mod laws;
