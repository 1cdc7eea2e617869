//! Expectation propagation.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use treeamp::belief::SignalSpec;
use treeamp::prelude::{ExpectationPropagation, Posterior as NativePosterior, Tree as NativeTree};

use crate::array::shaped;
use crate::error::model_error;
use crate::options::RunOptions;
use crate::run::{Run, objective_of, report_methods};
use crate::tree::Tree;
use crate::watch::{Plain, Visible};

/// The report of an expectation propagation.
#[pyclass(frozen, module = "treeamp._lib")]
pub struct Posterior {
    run: Run<ExpectationPropagation>,
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
    let (run, ()) = Run::of(
        py,
        tree,
        (options, warm, callback),
        |tree, options| ExpectationPropagation.on_with(tree, options),
        |_, _| Ok(()),
    )?;
    Ok(Posterior { run })
}

/// The Bethe objective at given messages.
#[pyfunction]
pub fn objective_at<'py>(
    py: Python<'py>,
    tree: &Tree,
    messages: Vec<Plain>,
) -> PyResult<Bound<'py, PyDict>> {
    objective_of(py, tree, messages, |tree| ExpectationPropagation.on(tree))
}

impl Posterior {
    /// The report of one of several runs.
    pub fn new(report: NativePosterior, tree: Arc<NativeTree>, seconds: f64) -> Self {
        let run = Run {
            report,
            tree,
            error: None,
            seconds,
        };
        Self { run }
    }
}

report_methods!(Posterior {
    /// `r` and `v` of a variable; `inclusion` where its prior has a point mass at zero.
    fn variable<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
        let (report, tree) = (&self.run.report, &self.run.tree);
        let moments = report.marginal(name).map_err(|e| model_error(&e))?;
        let index = tree.variable(name).map_err(|e| model_error(&e))?;
        let spec = &tree.variables()[index].spec;
        let shown = <ExpectationPropagation as Visible>::shown(py, spec, moments, false)?;
        let inclusion = report.inclusion(tree, name).map_err(|e| model_error(&e))?;
        if let Some(inclusion) = inclusion {
            let real = SignalSpec::real(spec.shape.clone());
            shown.set_item("inclusion", shaped(py, &real, &inclusion)?)?;
        }
        Ok(shown)
    }
});
