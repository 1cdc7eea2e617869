//! What the runs of every algorithm share: the run itself, and how its report is read.

use std::sync::Arc;
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use treeamp::RunError;
use treeamp::engine::{Engine, Options, Report};
use treeamp::model::Tree as NativeTree;
use treeamp::prelude::{Termination, with_threads};

use crate::error::run_error_in;
use crate::options::RunOptions;
use crate::tree::Tree;
use crate::watch::{
    Plain, Trace, Visible, Watch, native_messages, objective, plain_messages, reported_objective,
    settling, trace,
};

/// A finished run: its report, and what stopped it from outside.
pub struct Run<A: Visible> {
    pub report: Report<A>,
    pub tree: Arc<NativeTree>,
    pub error: Option<PyErr>,
    pub seconds: f64,
}

/// The engine of an algorithm on a tree.
pub type Made<'t, A> = Result<Engine<'t, A>, RunError>;

impl<A: Visible> Run<A> {
    /// Runs with the interpreter free, from messages of an earlier run if there are any; `finish` reads more from
    /// the report.
    pub fn of<T: Send>(
        py: Python<'_>,
        tree: &Tree,
        given: (RunOptions<'_>, Option<Vec<Plain>>, Option<Py<PyAny>>),
        engine: impl FnOnce(&NativeTree, Options) -> Made<'_, A> + Send,
        finish: impl FnOnce(&Report<A>, &NativeTree) -> Result<T, RunError> + Send,
    ) -> PyResult<(Self, T)>
    where
        Report<A>: Send,
    {
        let (options, warm, callback) = given;
        let tree = Arc::clone(&tree.inner);
        let threads = options.threads();
        let options = options.native(&tree)?;
        let mut watch = Watch::new(callback);
        let start = Instant::now();
        let work = || {
            let mut engine = engine(&tree, options)?;
            if let Some(plain) = &warm {
                engine = engine.start_from(native_messages::<A>(&tree, plain));
            }
            let report = engine.run(&mut watch)?;
            let more = finish(&report, &tree)?;
            Ok((report, more))
        };
        let found = py.detach(|| match threads {
            Some(threads) => with_threads(threads, work),
            None => work(),
        });
        let seconds = start.elapsed().as_secs_f64();
        let (report, more) = found.map_err(|e| run_error_in(&tree, &e))?;
        let error = watch.take_error(&tree, &report.termination);
        let run = Self {
            report,
            tree,
            error,
            seconds,
        };
        Ok((run, more))
    }
}

/// The Bethe objective at given messages.
pub fn objective_of<'py, A: Visible>(
    py: Python<'py>,
    tree: &Tree,
    messages: Vec<Plain>,
    engine: impl FnOnce(&NativeTree) -> Made<'_, A> + Send,
) -> PyResult<Bound<'py, PyDict>> {
    let tree = Arc::clone(&tree.inner);
    let value = py.detach(|| {
        let messages = native_messages::<A>(&tree, &messages);
        engine(&tree)?.start_from(messages).initial_objective()
    });
    objective(py, &value.map_err(|e| run_error_in(&tree, &e))?)
}

/// What every report holds.
pub trait ReportView {
    fn ended(&self) -> &Termination;
    fn outside(&self) -> Option<&PyErr>;
    fn count(&self) -> usize;
    fn residuals(&self) -> Trace;
    fn spreads(&self) -> Vec<Vec<f64>>;
    fn last_messages(&self) -> Vec<Plain>;
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>>;

    fn settling<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>>;
}

impl<A: Visible> ReportView for Run<A> {
    fn ended(&self) -> &Termination {
        &self.report.termination
    }

    fn outside(&self) -> Option<&PyErr> {
        self.error.as_ref()
    }

    fn count(&self) -> usize {
        self.report.sweeps
    }

    fn residuals(&self) -> Trace {
        trace(&self.report)
    }

    fn spreads(&self) -> Vec<Vec<f64>> {
        self.report.variances.clone()
    }

    fn last_messages(&self) -> Vec<Plain> {
        let messages = self.report.messages.iter().map(|(_, _, m)| m);
        plain_messages::<A>(&self.tree, messages)
    }

    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        reported_objective(py, &self.report)
    }

    fn settling<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        settling(py, &self.report)
    }
}

/// The methods of a report: its own, and those that all have, read from its field `run`.
macro_rules! report_methods {
    ($class:ty { $($own:tt)* }) => {
        #[pymethods]
        impl $class {
            $($own)*

            /// Seconds spent in the library.
            #[getter]
            fn seconds(&self) -> f64 {
                self.run.seconds
            }

            /// A word and a sentence.
            #[getter]
            fn termination(&self) -> (&'static str, String) {
                $crate::watch::termination($crate::run::ReportView::ended(&self.run))
            }

            /// What stopped the run from outside, if anything did.
            #[getter]
            fn error(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
                $crate::watch::exception(py, $crate::run::ReportView::outside(&self.run))
            }

            /// Number of sweeps.
            #[getter]
            fn sweeps(&self) -> usize {
                $crate::run::ReportView::count(&self.run)
            }

            /// `(sweep, residual, improper, step)` of every sweep.
            #[getter]
            fn trace(&self) -> $crate::watch::Trace {
                $crate::run::ReportView::residuals(&self.run)
            }

            /// Average variances, one row per sweep and one column per variable.
            #[getter]
            fn variances(&self) -> Vec<Vec<f64>> {
                $crate::run::ReportView::spreads(&self.run)
            }

            /// The final messages.
            #[getter]
            fn messages(&self) -> Vec<$crate::watch::Plain> {
                $crate::run::ReportView::last_messages(&self.run)
            }

            /// How the run settled or did not.
            #[getter]
            fn settling<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
                $crate::run::ReportView::settling(&self.run, py)
            }

            /// The Bethe objective with its terms.
            #[getter]
            fn objective<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
                $crate::run::ReportView::value(&self.run, py)
            }
        }
    };
}

pub(crate) use report_methods;
