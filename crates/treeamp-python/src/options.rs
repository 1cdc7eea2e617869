//! The options of a run, as Python gives them.

use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use treeamp::belief::Element;
use treeamp::prelude::{Damping, EdgeMessage, Fallback, Initial, Options as NativeOptions, Tree};

use crate::array::{pairs, slice};

/// How much of the previous message is kept.
#[derive(FromPyObject)]
pub enum GivenDamping {
    /// On every edge.
    Everywhere(f64),
    /// `adaptive`: as the run needs it.
    Named(String),
    /// On the named edges.
    PerEdge(Vec<(String, String, f64)>),
    /// The part of the new message that is taken, sweep by sweep.
    Steps(Vec<f64>),
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

/// The options of a run.
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
    #[pyo3(item)]
    fallback: String,
    #[pyo3(item)]
    acceleration: bool,
    #[pyo3(item)]
    positive: bool,
    #[pyo3(item)]
    exact: bool,
    #[pyo3(item)]
    perfect: Option<f64>,
    #[pyo3(item)]
    gap: Option<f64>,
    #[pyo3(item)]
    rollback: Option<bool>,
    #[pyo3(item)]
    memory_limit: Option<u64>,
    #[pyo3(item)]
    threads: Option<usize>,
}

impl RunOptions<'_> {
    /// The options of a run on `tree`.
    pub fn native(&self, tree: &Tree) -> PyResult<NativeOptions> {
        let default = NativeOptions::default();
        Ok(NativeOptions {
            max_sweeps: self.max_sweeps,
            tolerance: self.tolerance,
            damping: self.damping()?,
            initial: match &self.initial {
                None => Initial::Flat,
                Some(given) => given.native(tree)?,
            },
            fallback: self.fallback()?,
            acceleration: self.acceleration,
            positive: self.positive,
            exact: self.exact,
            perfect: self.perfect.unwrap_or(default.perfect),
            gap: self.gap,
            rollback: self.rollback,
            memory_limit: self.memory_limit.unwrap_or(default.memory_limit),
        })
    }

    /// The threads of the run; all cores where none are given.
    pub fn threads(&self) -> Option<usize> {
        self.threads
    }

    fn damping(&self) -> PyResult<Damping> {
        Ok(match &self.damping {
            None => Damping::Adaptive,
            Some(GivenDamping::Everywhere(d)) => Damping::Constant(*d),
            Some(GivenDamping::Named(name)) if name == "adaptive" => Damping::Adaptive,
            Some(GivenDamping::Named(name)) => {
                let text =
                    format!("`damping` must be a number, a list or 'adaptive', got '{name}'");
                return Err(PyTypeError::new_err(text));
            }
            Some(GivenDamping::Steps(steps)) => Damping::Steps(steps.clone()),
            Some(GivenDamping::PerEdge(edges)) => Damping::PerEdge(edges.clone()),
        })
    }

    fn fallback(&self) -> PyResult<Fallback> {
        match self.fallback.as_str() {
            "automatic" => Ok(Fallback::Automatic),
            "forced" => Ok(Fallback::Forced),
            "forbidden" => Ok(Fallback::Forbidden),
            other => {
                let text = "`fallback` must be 'automatic', 'forced' or 'forbidden'";
                Err(PyValueError::new_err(format!("{text}, got '{other}'")))
            }
        }
    }
}

impl GivenInitial<'_> {
    /// As the library has it; a complex signal comes with all its real parts first.
    pub fn native(&self, tree: &Tree) -> PyResult<Initial> {
        Ok(match self {
            Self::Constant(precision, linear) => Initial::Constant {
                precision: *precision,
                linear: *linear,
            },
            Self::Noisy(precision, mean, std, seed) => Initial::Noisy {
                precision: *precision,
                mean: *mean,
                std: *std,
                seed: *seed,
            },
            Self::PerEdge(edges) => Initial::Given(
                edges
                    .iter()
                    .map(|(factor, variable, precision, linear)| {
                        let linear = slice(linear)?;
                        let spec = tree.variable(variable).map(|i| &tree.variables()[i].spec);
                        let complex = spec.is_ok_and(|s| s.element == Element::Complex);
                        Ok(EdgeMessage {
                            factor: factor.clone(),
                            variable: variable.clone(),
                            precision: *precision,
                            linear: if complex && linear.len() > 1 {
                                pairs(linear)
                            } else {
                                linear.to_vec()
                            },
                        })
                    })
                    .collect::<PyResult<_>>()?,
            ),
        })
    }
}
