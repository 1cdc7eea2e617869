//! Maximum a posteriori estimation.

use std::sync::Arc;
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use treeamp::prelude::{
    MaximumAPosteriori, Minimum as NativeMinimum, Solution, Tree as NativeTree,
};

use crate::array::shaped;
use crate::error::{model_error, run_error};
use crate::options::RunOptions;
use crate::tree::Tree;
use crate::watch::{
    Plain, Watch, exception, native_messages, objective, plain_messages, reported_objective,
    termination, trace,
};

/// The report of a maximum a posteriori estimation.
#[pyclass(frozen, module = "treeamp._lib")]
pub struct Minimum {
    report: NativeMinimum,
    solution: Solution,
    tree: Arc<NativeTree>,
    error: Option<PyErr>,
    /// Seconds spent in the library.
    #[pyo3(get)]
    seconds: f64,
}

/// Minimises the energy of a tree with the interpreter free. `warm` holds messages of an earlier run.
#[pyfunction]
#[pyo3(signature = (tree, options, warm=None, callback=None))]
pub fn maximum_a_posteriori(
    py: Python<'_>,
    tree: &Tree,
    options: RunOptions<'_>,
    warm: Option<Vec<Plain>>,
    callback: Option<Py<PyAny>>,
) -> PyResult<Minimum> {
    let tree = Arc::clone(&tree.inner);
    let options = options.native(&tree)?;
    let mut watch = Watch::new(callback);
    let start = Instant::now();
    let found = py.detach(|| {
        let mut engine = MaximumAPosteriori.on(&tree)?.options(options);
        if let Some(plain) = &warm {
            engine = engine.start_from(native_messages::<MaximumAPosteriori>(&tree, plain));
        }
        let report = engine.run(&mut watch)?;
        let solution = report.solution_so_far(&tree)?;
        Ok((report, solution))
    });
    let seconds = start.elapsed().as_secs_f64();
    let (report, solution) = found.map_err(|e| run_error(&e))?;
    let error = watch.take_error(&report.termination);
    Ok(Minimum {
        report,
        solution,
        tree,
        error,
        seconds,
    })
}

/// The Bethe objective, minus the energy, at given messages.
#[pyfunction]
pub fn energy_objective_at<'py>(
    py: Python<'py>,
    tree: &Tree,
    messages: Vec<Plain>,
) -> PyResult<Bound<'py, PyDict>> {
    let tree = Arc::clone(&tree.inner);
    let value = py.detach(|| {
        let messages = native_messages::<MaximumAPosteriori>(&tree, &messages);
        let engine = MaximumAPosteriori.on(&tree)?.start_from(messages);
        engine.initial_objective()
    });
    objective(py, &value.map_err(|e| run_error(&e))?)
}

#[pymethods]
impl Minimum {
    /// The place of a variable and its curvature.
    fn variable<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
        let mode = self.report.marginal(name).map_err(|e| model_error(&e))?;
        let place = self.solution.place(name).map_err(|e| model_error(&e))?;
        let index = self.tree.variable(name).map_err(|e| model_error(&e))?;
        let data = PyDict::new(py);
        let spec = &self.tree.variables()[index].spec;
        data.set_item("r", shaped(py, spec, place)?)?;
        data.set_item("v", mode.curvature)?;
        Ok(data)
    }

    /// The energy of every factor at the minimiser.
    #[getter]
    fn energies(&self) -> Vec<(String, f64)> {
        self.solution.energies.clone()
    }

    /// A word and a sentence.
    #[getter]
    fn termination(&self) -> (&'static str, String) {
        termination(&self.report.termination)
    }

    /// What stopped the run from outside, if anything did.
    #[getter]
    fn error(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        exception(py, self.error.as_ref())
    }

    /// Number of sweeps.
    #[getter]
    fn sweeps(&self) -> usize {
        self.report.sweeps
    }

    /// `(sweep, residual, improper)` of every sweep.
    #[getter]
    fn trace(&self) -> Vec<(usize, f64, usize)> {
        trace(&self.report)
    }

    /// Curvatures, one row per sweep and one column per variable.
    #[getter]
    fn variances(&self) -> Vec<Vec<f64>> {
        self.report.variances.clone()
    }

    /// The final messages.
    #[getter]
    fn messages(&self) -> Vec<Plain> {
        let messages = self.report.messages.iter().map(|(_, _, m)| m);
        plain_messages::<MaximumAPosteriori>(&self.tree, messages)
    }

    /// The Bethe objective, minus the least energy, with its terms.
    #[getter]
    fn objective<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        reported_objective(py, &self.report)
    }
}
