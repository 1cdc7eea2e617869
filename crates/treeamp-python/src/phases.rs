//! Phases: fixed points at one point of a diagram, critical ratios, landscapes, informations.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use treeamp::RunError;
use treeamp::algorithms::state_evolution::phases::{self, Family, FixedPoints, Phase, Search};
use treeamp::algorithms::state_evolution::{self as theory, Start};

use crate::array::flat;
use crate::error::{run_error, run_error_in};
use crate::evolution::Evolution;
use crate::factor::Factor;
use crate::tree::Tree;

/// How fixed points are reached and distinguished; the defaults are those of the library.
#[derive(FromPyObject)]
pub struct Points {
    #[pyo3(item)]
    push: Option<f64>,
    #[pyo3(item)]
    informed: Option<f64>,
    #[pyo3(item)]
    same: Option<f64>,
    #[pyo3(item)]
    recovered: Option<f64>,
    #[pyo3(item)]
    tolerance: Option<f64>,
    #[pyo3(item)]
    max_sweeps: Option<usize>,
}

impl Points {
    fn native(&self) -> FixedPoints {
        let default = FixedPoints::default();
        FixedPoints {
            push: self.push.unwrap_or(default.push),
            informed: self.informed.unwrap_or(default.informed),
            same: self.same.unwrap_or(default.same),
            recovered: self.recovered.unwrap_or(default.recovered),
            tolerance: self.tolerance.unwrap_or(default.tolerance),
            max_sweeps: self.max_sweeps.unwrap_or(default.max_sweeps),
        }
    }
}

/// Error, entropy of the measurements, and the run that ended there.
type Point = (f64, Option<f64>, Evolution);

/// The fixed points at one point of a phase diagram: `uninformed`, `between`, `informed` and the one that is `allowed`, the error
/// `mmse`, the `phase` and the `heuristics`.
#[pyfunction]
pub fn phase_report<'py>(
    py: Python<'py>,
    tree: &Tree,
    signal: &str,
    points: Points,
) -> PyResult<Bound<'py, PyDict>> {
    let tree = Arc::clone(&tree.inner);
    let points = points.native();
    let report = py.detach(|| phases::phase_report_at(&tree, signal, &points));
    let report = report.map_err(|e| run_error_in(&tree, &e))?;
    let point = |p: &phases::FixedPoint| -> Point {
        let evolution = Evolution::of(p.evolution.clone(), Arc::clone(&tree));
        (p.mse, p.entropy, evolution)
    };
    let phase = match report.phase {
        Phase::Easy => "easy",
        Phase::Hard => "hard",
        Phase::Impossible => "impossible",
    };
    let data = PyDict::new(py);
    data.set_item("phase", phase)?;
    data.set_item("mmse", report.mmse)?;
    data.set_item("uninformed", point(&report.uninformed))?;
    let between: Vec<Point> = report.between.iter().map(point).collect();
    data.set_item("between", between)?;
    data.set_item("informed", point(&report.informed))?;
    data.set_item("allowed", point(report.allowed()))?;
    data.set_item("heuristics", report.heuristics)?;
    Ok(data)
}

/// A function of the library that finds one.
type Threshold = fn(&Family<'_>, &str, Search) -> Result<f64, RunError>;

/// The critical ratio between `low` and `high` of a family, a function from the ratio to a tree.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
pub fn threshold(
    py: Python<'_>,
    family: Py<PyAny>,
    signal: &str,
    kind: &str,
    low: f64,
    high: f64,
    tolerance: Option<f64>,
    points: Points,
) -> PyResult<f64> {
    let find: Threshold = match kind {
        "algorithmic" => phases::algorithmic_threshold,
        "information" => phases::information_threshold,
        "informed" => phases::informed_threshold,
        "weak" => phases::weak_recovery,
        other => {
            let text = "`kind` must be 'algorithmic', 'information', 'informed' or 'weak'";
            return Err(PyValueError::new_err(format!("{text}, got '{other}'")));
        }
    };
    let mut search = Search::between(low, high).points(points.native());
    search.tolerance = tolerance.unwrap_or(search.tolerance);
    // what the family raised, which ends the search
    let raised: Mutex<Option<PyErr>> = Mutex::new(None);
    let slot = || raised.lock().unwrap_or_else(PoisonError::into_inner);
    let found = py.detach(|| {
        let member = |ratio: f64| {
            let made = Python::attach(|py| {
                if let Some(error) = slot().as_ref() {
                    return Err(error.clone_ref(py));
                }
                py.check_signals()?;
                let tree = family.bind(py).call1((ratio,))?;
                Ok(tree.cast::<Tree>()?.get().inner.as_ref().clone())
            });
            made.map_err(|error: PyErr| {
                let why = error.to_string();
                *slot() = Some(error);
                RunError::NotDefined {
                    what: "the model".to_owned(),
                    why,
                }
            })
        };
        find(&member, signal, search)
    });
    let error = slot().take();
    match error {
        Some(error) => Err(error),
        None => found.map_err(|e| run_error(&e)),
    }
}

type Column<'py> = Bound<'py, PyArray1<f64>>;

/// The free entropy against the error of a signal: errors, free entropies, what the prior receives, what the rest sends, and the free
/// entropies of another state of the rest (NaN where there is none).
#[pyfunction]
pub fn landscape<'py>(
    py: Python<'py>,
    tree: &Tree,
    signal: &str,
    places: usize,
) -> PyResult<[Column<'py>; 5]> {
    let tree = Arc::clone(&tree.inner);
    let found = py.detach(|| theory::landscape(&tree, signal, places));
    let places = found.map_err(|e| run_error_in(&tree, &e))?;
    let column = |read: fn(&theory::Place) -> f64| flat(py, places.iter().map(read).collect());
    Ok([
        column(|p| p.mse),
        column(|p| p.free_entropy),
        column(|p| p.knowledge),
        column(|p| p.answer),
        column(|p| p.informed.unwrap_or(f64::NAN)),
    ])
}

/// $I(x_i; y)$ of one variable: its value, the start that leads there, and the same formula at what sweeps attain.
#[pyfunction]
pub fn mutual_information(
    py: Python<'_>,
    tree: &Tree,
    variable: &str,
    points: Points,
) -> PyResult<(f64, &'static str, f64)> {
    let tree = Arc::clone(&tree.inner);
    let points = points.native();
    let found = py.detach(|| theory::mutual_information_at(&tree, variable, &points));
    let found = found.map_err(|e| run_error_in(&tree, &e))?;
    let start = match found.start {
        Start::Either => "either",
        Start::Uninformed => "uninformed",
        Start::Between => "between",
        Start::Informed => "informed",
    };
    Ok((found.value, start, found.attained))
}

/// Why the theory of a tree is a heuristic, factor by factor.
#[pyfunction]
pub fn heuristics(tree: &Tree) -> Vec<String> {
    theory::heuristics(&tree.inner)
}

/// The algorithmic threshold of noiseless linear measurements of a prior.
#[pyfunction]
pub fn noiseless_linear_threshold(py: Python<'_>, prior: &Factor) -> PyResult<f64> {
    let prior = Arc::clone(&prior.inner);
    let found = py.detach(|| phases::noiseless_linear_threshold(prior.as_ref()));
    found.map_err(|e| run_error(&e))
}

/// The least ratio of noiseless measurements at which the l1 minimiser recovers a signal.
#[pyfunction]
pub fn l1_threshold(rho: f64) -> PyResult<f64> {
    phases::l1_threshold(rho).map_err(|e| run_error(&e))
}

/// The largest number of non-zero components per measurement that the l1 minimiser recovers.
#[pyfunction]
pub fn l1_transition(delta: f64) -> PyResult<f64> {
    phases::l1_transition(delta).map_err(|e| run_error(&e))
}
