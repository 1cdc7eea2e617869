//! Penalties written in Python, whole arrays at a time.

use std::fmt;
use std::sync::Arc;

use numpy::PyReadonlyArrayDyn;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use treeamp::belief::SignalSpec;
use treeamp::extend::{Penalty, Tilted};
use treeamp::prelude::{CustomPenalty, PenaltyLaw};

use crate::array::{freeze, shaped};
use crate::error::{keep, model_error, raised};
use crate::factor::Factor;

/// A penalty by its functions of arrays: `proximal(t, u)`, `derivative(t, u)`, `energy(x)`.
#[derive(Clone)]
struct PythonPenalty {
    name: Arc<str>,
    proximal: Arc<Py<PyAny>>,
    derivative: Arc<Py<PyAny>>,
    energy: Arc<Py<PyAny>>,
    convex: bool,
}

/// The same Python objects.
impl PartialEq for PythonPenalty {
    fn eq(&self, other: &Self) -> bool {
        self.proximal.is(other.proximal.as_ref())
            && self.derivative.is(other.derivative.as_ref())
            && self.energy.is(other.energy.as_ref())
            && self.convex == other.convex
    }
}

impl fmt::Debug for PythonPenalty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PythonPenalty {}", self.name)
    }
}

impl PythonPenalty {
    /// What a function raises is kept for the end of the run.
    fn kept<T>(&self, answer: PyResult<T>) -> Option<T> {
        answer.map_err(|error| keep(&self.name, error)).ok()
    }
}

/// The numbers of an array of this length.
fn numbers(answer: &Bound<'_, PyAny>, len: usize) -> PyResult<Vec<f64>> {
    let array: PyReadonlyArrayDyn<'_, f64> = answer.extract()?;
    let values: Vec<f64> = array.as_array().iter().copied().collect();
    if values.len() == len {
        return Ok(values);
    }
    let text = format!("expected {len} components, got {}", values.len());
    Err(PyValueError::new_err(text))
}

impl Penalty for PythonPenalty {
    fn name(&self) -> &str {
        &self.name
    }

    fn proximal(&self, shape: &[usize], a: f64, b: &[f64], mode: &mut [f64]) -> f64 {
        if !(a > 0.0) {
            return f64::INFINITY;
        }
        let place: Vec<f64> = b.iter().map(|b| b / a).collect();
        let answer = Python::attach(|py| -> PyResult<f64> {
            let u = shaped(py, &SignalSpec::real(shape), &place)?;
            freeze(&u);
            let p = self.proximal.bind(py).call1((1.0 / a, &u))?;
            mode.copy_from_slice(&numbers(&p, mode.len())?);
            let slopes = self.derivative.bind(py).call1((1.0 / a, &u))?;
            let slopes = numbers(&slopes, mode.len())?;
            Ok(slopes.iter().sum::<f64>() / (a * mode.len() as f64))
        });
        let v = self.kept(answer).unwrap_or(f64::INFINITY);
        if v.is_nan() { f64::INFINITY } else { v }
    }

    fn energy(&self, shape: &[usize], x: &[f64]) -> f64 {
        let answer = Python::attach(|py| {
            let x = shaped(py, &SignalSpec::real(shape), x)?;
            freeze(&x);
            self.energy.bind(py).call1((x,))?.extract()
        });
        self.kept(answer).unwrap_or(f64::NAN)
    }

    fn is_convex(&self) -> bool {
        self.convex
    }

    fn component(&self, _: usize, a: f64, b: f64) -> Option<Tilted> {
        let mut mode = [0.0];
        let variance = Penalty::proximal(self, &[1], a, &[b], &mut mode);
        if !(variance < f64::INFINITY) {
            return Some(Tilted::divergent(0.0));
        }
        let [mean] = mode;
        Some(Tilted {
            log_z: mean * (b - 0.5 * a * mean) - Penalty::energy(self, &[1], &mode),
            mean,
            variance,
        })
    }
}

/// A penalty from Python functions, on a shape or (`None`) in the limit.
#[pyfunction]
#[pyo3(signature = (name, shape, proximal, derivative, energy, convex=true))]
pub fn custom_penalty(
    name: &str,
    shape: Option<Vec<usize>>,
    proximal: Py<PyAny>,
    derivative: Py<PyAny>,
    energy: Py<PyAny>,
    convex: bool,
) -> Factor {
    let law = PythonPenalty {
        name: name.into(),
        proximal: Arc::new(proximal),
        derivative: Arc::new(derivative),
        energy: Arc::new(energy),
        convex,
    };
    match shape {
        Some(shape) => Factor::new(law.shaped(shape)),
        None => Factor::new(law.limit()),
    }
}

/// Compares the derivative and the energy of a penalty, functions of numbers, with its proximal map.
#[pyfunction]
pub fn check_penalty(
    name: &str,
    proximal: Py<PyAny>,
    derivative: Py<PyAny>,
    energy: Py<PyAny>,
) -> PyResult<()> {
    let map = |function: Py<PyAny>| {
        let name = name.to_owned();
        move |t: f64, u: f64| -> f64 {
            let answer = Python::attach(|py| function.bind(py).call1((t, u))?.extract());
            answer.unwrap_or_else(|error| {
                keep(&name, error);
                f64::NAN
            })
        }
    };
    let of = map(energy);
    let penalty = CustomPenalty::new(name, map(proximal), map(derivative), move |x| of(1.0, x));
    let _ = raised();
    let checked = penalty.check();
    match raised() {
        Some((_, error)) => Err(error),
        None => checked.map_err(|e| model_error(&e)),
    }
}
