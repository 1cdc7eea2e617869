//! One file per command.

pub mod demo;
