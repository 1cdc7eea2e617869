//! The options of a run, as Python gives them.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use treeamp::prelude::{Damping, EdgeMessage, Initial, Options as NativeOptions};

use crate::array::slice;

/// How much of the previous message is kept.
#[derive(FromPyObject)]
pub enum GivenDamping {
    /// On every edge.
    Everywhere(f64),
    /// On the named edges.
    PerEdge(Vec<(String, String, f64)>),
}

/// The messages before the first sweep.
#[derive(FromPyObject)]
pub enum GivenInitial<'py> {
    /// Precision, mean and deviation of the linear part, seed.
    Noisy(f64, f64, f64, u64),
    /// Precision and linear part.
    Constant(f64, f64),
    /// Factor, variable, precision, linear part.
    PerEdge(Vec<(String, String, f64, PyReadonlyArray1<'py, f64>)>),
}

/// What a run is told.
#[derive(FromPyObject)]
pub struct RunOptions<'py> {
    #[pyo3(item)]
    max_sweeps: usize,
    #[pyo3(item)]
    tolerance: f64,
    #[pyo3(item)]
    damping: Option<GivenDamping>,
    #[pyo3(item)]
    initial: Option<GivenInitial<'py>>,
}

impl RunOptions<'_> {
    pub fn native(&self) -> PyResult<NativeOptions> {
        let damping = match &self.damping {
            None => Damping::None,
            Some(GivenDamping::Everywhere(d)) => Damping::Constant(*d),
            Some(GivenDamping::PerEdge(edges)) => Damping::PerEdge(edges.clone()),
        };
        let initial = match &self.initial {
            None => Initial::Flat,
            Some(GivenInitial::Constant(precision, linear)) => Initial::Constant {
                precision: *precision,
                linear: *linear,
            },
            Some(GivenInitial::Noisy(precision, mean, std, seed)) => Initial::Noisy {
                precision: *precision,
                mean: *mean,
                std: *std,
                seed: *seed,
            },
            Some(GivenInitial::PerEdge(edges)) => Initial::Given(
                edges
                    .iter()
                    .map(|(factor, variable, precision, linear)| {
                        Ok(EdgeMessage {
                            factor: factor.clone(),
                            variable: variable.clone(),
                            precision: *precision,
                            linear: slice(linear)?.to_vec(),
                        })
                    })
                    .collect::<PyResult<_>>()?,
            ),
        };
        Ok(NativeOptions {
            max_sweeps: self.max_sweeps,
            tolerance: self.tolerance,
            damping,
            initial,
            ..NativeOptions::default()
        })
    }
}
