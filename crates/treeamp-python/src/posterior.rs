//! Expectation propagation.

use std::sync::Arc;
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use treeamp::belief::Moments;
use treeamp::prelude::{ExpectationPropagation, Posterior as NativePosterior, Tree as NativeTree};

use crate::error::{model_error, run_error};
use crate::options::RunOptions;
use crate::tree::Tree;
use crate::watch::{
    Plain, Visible, Watch, exception, native_messages, objective, plain_messages,
    reported_objective, termination, trace,
};

/// The report of an expectation propagation.
#[pyclass(frozen, module = "treeamp._lib")]
pub struct Posterior {
    report: NativePosterior,
    tree: Arc<NativeTree>,
    error: Option<PyErr>,
    /// Seconds spent in the library.
    #[pyo3(get)]
    seconds: f64,
}

/// Runs expectation propagation with the interpreter free. `warm` holds messages of an earlier run.
#[pyfunction]
#[pyo3(signature = (tree, options, warm=None, callback=None))]
pub fn expectation_propagation(
    py: Python<'_>,
    tree: &Tree,
    options: RunOptions<'_>,
    warm: Option<Vec<Plain>>,
    callback: Option<Py<PyAny>>,
) -> PyResult<Posterior> {
    let tree = Arc::clone(&tree.inner);
    let options = options.native(&tree)?;
    let mut watch = Watch::new(callback);
    let start = Instant::now();
    let report = py.detach(|| {
        let mut engine = ExpectationPropagation.on_with(&tree, options)?;
        if let Some(plain) = &warm {
            engine = engine.start_from(native_messages::<ExpectationPropagation>(&tree, plain));
        }
        engine.run(&mut watch)
    });
    let seconds = start.elapsed().as_secs_f64();
    let report = report.map_err(|e| run_error(&e))?;
    let error = watch.take_error(&report.termination);
    Ok(Posterior {
        report,
        tree,
        error,
        seconds,
    })
}

/// The Bethe objective at given messages.
#[pyfunction]
pub fn objective_at<'py>(
    py: Python<'py>,
    tree: &Tree,
    messages: Vec<Plain>,
) -> PyResult<Bound<'py, PyDict>> {
    let tree = Arc::clone(&tree.inner);
    let value = py.detach(|| {
        let messages = native_messages::<ExpectationPropagation>(&tree, &messages);
        let engine = ExpectationPropagation.on(&tree)?.start_from(messages);
        engine.initial_objective()
    });
    objective(py, &value.map_err(|e| run_error(&e))?)
}

impl Posterior {
    /// The report of one of several runs.
    pub fn new(report: NativePosterior, tree: Arc<NativeTree>, seconds: f64) -> Self {
        Self {
            report,
            tree,
            error: None,
            seconds,
        }
    }

    fn marginal(&self, variable: &str) -> PyResult<&Moments> {
        self.report.marginal(variable).map_err(|e| model_error(&e))
    }
}

#[pymethods]
impl Posterior {
    /// `r` and `v` of a variable.
    fn variable<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
        let moments = self.marginal(name)?;
        let index = self.tree.variable(name).map_err(|e| model_error(&e))?;
        let spec = &self.tree.variables()[index].spec;
        <ExpectationPropagation as Visible>::shown(py, spec, moments, false)
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

    /// Average variances, one row per sweep and one column per variable.
    #[getter]
    fn variances(&self) -> Vec<Vec<f64>> {
        self.report.variances.clone()
    }

    /// The final messages.
    #[getter]
    fn messages(&self) -> Vec<Plain> {
        let messages = self.report.messages.iter().map(|(_, _, m)| m);
        plain_messages::<ExpectationPropagation>(&self.tree, messages)
    }

    /// The Bethe objective with its terms.
    #[getter]
    fn objective<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        reported_objective(py, &self.report)
    }
}
