//! Experiments with a model file: an instance of it, inference, prediction, and the rows of a sweep.

mod alignment;
mod error;
mod infer;
mod instance;
mod metric;
mod minimise;
mod predict;
mod rows;

pub use alignment::Alignment;
pub use error::ExperimentError;
pub use infer::{End, Inference, RunOptions, infer, infer_on};
pub use instance::{
    Instance, Observed, bayes_optimal_theory, instance, outline, theory, theory_student,
};
pub use metric::Metric;
pub use minimise::{Minimisation, minimise};
pub use predict::{
    Branch, BySweep, Forecast, ForecastRow, TheoryStep, has_rows, predict, predict_by_sweep,
    predict_watched,
};
pub use rows::{Source, cell_seed, phase_name, row, symmetric_point};
