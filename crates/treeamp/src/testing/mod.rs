//! Conformance checks.
