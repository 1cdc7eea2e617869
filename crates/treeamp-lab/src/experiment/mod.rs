//! Experiments with a model file: an instance of it, inference, prediction, and the rows of a sweep.

mod error;
mod infer;
mod instance;
mod metric;
mod predict;
mod rows;

pub use error::ExperimentError;
pub use infer::{Inference, RunOptions, infer};
pub use instance::{Instance, instance, theory, theory_student};
pub use metric::Metric;
pub use predict::{Forecast, ForecastRow, predict};
pub use rows::{Source, row};
