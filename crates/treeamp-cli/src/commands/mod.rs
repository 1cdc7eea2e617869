//! One file per command.

pub mod check;
pub mod demo;
pub mod describe;
pub mod merge;
pub mod modules;
mod picture;
pub mod plot;
pub mod predict;
pub mod run;
pub mod sweep;
pub mod threshold;
