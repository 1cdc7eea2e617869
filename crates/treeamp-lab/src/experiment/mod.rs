//! Experiments with a model file: an instance of it, inference, prediction, and the rows of a sweep.

mod error;
mod infer;
mod instance;
mod metric;
mod minimise;
mod predict;
mod rows;

pub use error::ExperimentError;
pub use infer::{End, Inference, RunOptions, infer, infer_on};
pub use instance::{Instance, Observed, instance, theory, theory_student};
pub use metric::Metric;
pub use minimise::{Minimisation, minimise};
pub use predict::{Forecast, ForecastRow, predict, predict_by_sweep};
pub use rows::{Source, cell_seed, phase_name, row};
