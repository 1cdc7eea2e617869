//! Maximum a posteriori estimation.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use treeamp::prelude::{MaximumAPosteriori, Minimum as NativeMinimum, Solution};

use crate::array::shaped;
use crate::error::model_error;
use crate::options::RunOptions;
use crate::run::{Run, objective_of, report_methods};
use crate::tree::Tree;
use crate::watch::Plain;

/// The report of a maximum a posteriori estimation.
#[pyclass(frozen, module = "treeamp._lib")]
pub struct Minimum {
    run: Run<MaximumAPosteriori>,
    solution: Solution,
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
    let given = (options, warm, callback);
    let (run, solution) = Run::of(
        py,
        tree,
        given,
        |tree, options| Ok(MaximumAPosteriori.on(tree)?.options(options)),
        NativeMinimum::solution_so_far,
    )?;
    Ok(Minimum { run, solution })
}

/// The Bethe objective, minus the energy, at given messages.
#[pyfunction]
pub fn energy_objective_at<'py>(
    py: Python<'py>,
    tree: &Tree,
    messages: Vec<Plain>,
) -> PyResult<Bound<'py, PyDict>> {
    objective_of(py, tree, messages, |tree| MaximumAPosteriori.on(tree))
}

report_methods!(Minimum {
    /// The place of a variable and its curvature.
    fn variable<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
        let (report, tree) = (&self.run.report, &self.run.tree);
        let mode = report.marginal(name).map_err(|e| model_error(&e))?;
        let place = self.solution.point(name).map_err(|e| model_error(&e))?;
        let index = tree.variable(name).map_err(|e| model_error(&e))?;
        let data = PyDict::new(py);
        data.set_item("r", shaped(py, &tree.variables()[index].spec, place)?)?;
        data.set_item("v", mode.inverse_curvature)?;
        Ok(data)
    }

    /// The energy of every factor at the minimiser.
    #[getter]
    fn energies(&self) -> Vec<(String, f64)> {
        self.solution.energies.clone()
    }
});
