//! Checks of scalar laws.
