//! Scalar laws given as Python functions, for state evolution: one number at a time.

use std::fmt;
use std::sync::Arc;

use pyo3::prelude::*;
use rand::Rng;
use treeamp::scalar::{Landmark, OutputMeasure, ScalarLikelihood, ScalarPrior, Tilted};

use treeamp::prelude::Activation;

use crate::error::keep;
use crate::factor::Factor;

/// A Python function that any number of laws may hold.
#[derive(Clone)]
pub struct Function {
    pub name: Arc<str>,
    pub call: Arc<Py<PyAny>>,
}

impl Function {
    pub fn new(name: &str, call: Py<PyAny>) -> Self {
        Self {
            name: name.into(),
            call: Arc::new(call),
        }
    }

    /// $A, r, v$; an exception is kept for the end of the run.
    fn tilted(&self, arguments: &[f64]) -> Tilted {
        let answer: PyResult<(f64, f64, f64)> = Python::attach(|py| {
            let tuple = pyo3::types::PyTuple::new(py, arguments)?;
            self.call.bind(py).call1(tuple)?.extract()
        });
        let (log_z, mean, variance) = answer.unwrap_or_else(|error| {
            keep(&self.name, error);
            (f64::NAN, f64::NAN, f64::NAN)
        });
        Tilted {
            log_z,
            mean,
            variance,
        }
    }
}

/// The same Python object.
impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.call.is(other.call.as_ref())
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function {}", self.name)
    }
}

/// The channel $x = \varphi(z)$ of a function of one number.
#[pyfunction]
pub fn activation(name: &str, function: Py<PyAny>) -> Factor {
    let name = name.to_owned();
    let raised_in = name.clone();
    let map = move |z: f64| {
        let answer = Python::attach(|py| function.bind(py).call1((z,))?.extract());
        answer.unwrap_or_else(|error| {
            keep(&raised_in, error);
            f64::NAN
        })
    };
    Factor::new(Activation::new(name, Arc::new(map)))
}

/// A prior $(a, b) \mapsto (A, r, v)$.
#[derive(Debug, Clone, PartialEq)]
pub struct PythonPrior {
    pub law: Function,
    /// Centre and width of the law and of its parts.
    pub landmarks: Vec<Landmark>,
}

impl ScalarPrior for PythonPrior {
    const NAME: &'static str = "custom";

    fn tilted(&self, a: f64, b: f64) -> Tilted {
        self.law.tilted(&[a, b])
    }

    /// Draws go through the factor, whole arrays at a time.
    fn sample(&self, _: &mut dyn Rng) -> f64 {
        f64::NAN
    }

    /// Not known from $A$: pins are refused by the factor before this is asked.
    fn log_density(&self, _: f64) -> f64 {
        f64::NAN
    }

    fn landmarks(&self) -> Vec<Landmark> {
        self.landmarks.clone()
    }
}

/// A likelihood $(a, b, y) \mapsto (A, r, v)$ with finitely many outputs, or $y = \varphi(z)$.
#[derive(Debug, Clone, PartialEq)]
pub struct PythonLikelihood {
    pub law: Function,
    pub outputs: OutputMeasure,
    /// $\varphi$, when the output is a function of $z$.
    pub map: Option<Function>,
}

impl ScalarLikelihood for PythonLikelihood {
    const NAME: &'static str = "custom";
    type Output = f64;

    fn tilted(&self, y: f64, a: f64, b: f64) -> Tilted {
        self.law.tilted(&[a, b, y])
    }

    /// Draws go through the factor, whole arrays at a time.
    fn sample(&self, _: f64, _: &mut dyn Rng) -> f64 {
        f64::NAN
    }

    fn log_density(&self, _: f64, _: f64) -> f64 {
        f64::NAN
    }

    fn check(&self, y: f64) -> Result<(), String> {
        if let OutputMeasure::Finite(values) = &self.outputs
            && !values
                .iter()
                .any(|v| (v - y).abs() <= 1e-9 * v.abs().max(1.0))
        {
            return Err(format!("expected one of {values:?}, got {y}"));
        }
        Ok(())
    }

    fn outputs(&self) -> Option<OutputMeasure> {
        Some(self.outputs.clone())
    }

    fn map(&self, z: f64) -> Option<f64> {
        let map = self.map.as_ref()?;
        let value = Python::attach(|py| map.call.bind(py).call1((z,))?.extract());
        Some(value.unwrap_or_else(|error| {
            keep(&map.name, error);
            f64::NAN
        }))
    }
}
