//! State evolution, Bayes-optimal and mismatched.

use std::sync::Arc;
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use treeamp::algorithms::state_evolution::{BayesOptimal, ReplicaSymmetric};
use treeamp::prelude::{
    Evolution as NativeEvolution, MismatchedEvolution, StateEvolution, Termination,
    Tree as NativeTree,
};
use treeamp::{ModelError, RunError};

use crate::error::{model_error, run_error};
use crate::options::RunOptions;
use crate::tree::Tree;
use crate::watch::{
    Plain, Visible, Watch, exception, native_messages, objective, plain_messages,
    reported_objective, termination, trace,
};

enum Run {
    Matched(NativeEvolution<BayesOptimal>),
    Mismatched(NativeEvolution<ReplicaSymmetric>),
}

/// Reads a field of either kind of run.
macro_rules! either {
    ($run:expr, $e:ident => $body:expr) => {
        match $run {
            Run::Matched($e) => $body,
            Run::Mismatched($e) => $body,
        }
    };
}

/// The report of a state evolution.
#[pyclass(frozen, module = "treeamp._lib")]
pub struct Evolution {
    run: Run,
    tree: Arc<NativeTree>,
    error: Option<PyErr>,
    /// Seconds spent in the library.
    #[pyo3(get)]
    seconds: f64,
}

/// Runs state evolution with the interpreter free: Bayes-optimal, or of a student on a teacher's data.
#[pyfunction]
#[pyo3(signature = (tree, options, teacher=None, warm=None, callback=None))]
pub fn state_evolution(
    py: Python<'_>,
    tree: &Tree,
    options: RunOptions<'_>,
    teacher: Option<&Tree>,
    warm: Option<Vec<Plain>>,
    callback: Option<Py<PyAny>>,
) -> PyResult<Evolution> {
    let tree = Arc::clone(&tree.inner);
    let teacher = teacher.map(|t| Arc::clone(&t.inner));
    let options = options.native(&tree)?;
    let mut watch = Watch::new(callback);
    let start = Instant::now();
    let run = py.detach(|| -> Result<Run, RunError> {
        if let Some(teacher) = &teacher {
            let mut theory = MismatchedEvolution::new(teacher, &tree)?
                .max_sweeps(options.max_sweeps)
                .tolerance(options.tolerance)
                .damping(options.damping)
                .initial(options.initial);
            if let Some(plain) = &warm {
                theory = theory.start_from(native_messages::<ReplicaSymmetric>(&tree, plain));
            }
            return theory.observed_by(&mut watch).map(Run::Mismatched);
        }
        let mut theory = StateEvolution::new(&tree)?
            .max_sweeps(options.max_sweeps)
            .tolerance(options.tolerance)
            .damping(options.damping)
            .initial(options.initial);
        if let Some(plain) = &warm {
            theory = theory.start_from(native_messages::<BayesOptimal>(&tree, plain));
        }
        theory.observed_by(&mut watch).map(Run::Matched)
    });
    let seconds = start.elapsed().as_secs_f64();
    let run = run.map_err(|e| run_error(&e))?;
    let error = watch.take_error(end(&run));
    Ok(Evolution {
        run,
        tree,
        error,
        seconds,
    })
}

/// The averaged Bethe objective at given messages, and the normalisation that makes it an entropy.
#[pyfunction]
#[pyo3(signature = (tree, messages, teacher=None))]
pub fn evolution_objective_at<'py>(
    py: Python<'py>,
    tree: &Tree,
    messages: Vec<Plain>,
    teacher: Option<&Tree>,
) -> PyResult<Bound<'py, PyDict>> {
    let tree = Arc::clone(&tree.inner);
    let teacher = teacher.map(|t| Arc::clone(&t.inner));
    let value = py.detach(|| {
        if let Some(teacher) = &teacher {
            let messages = native_messages::<ReplicaSymmetric>(&tree, &messages);
            let theory = MismatchedEvolution::new(teacher, &tree)?;
            return theory.start_from(messages).initial_free_entropy();
        }
        let messages = native_messages::<BayesOptimal>(&tree, &messages);
        let theory = StateEvolution::new(&tree)?;
        theory.start_from(messages).initial_free_entropy()
    });
    objective(py, &value.map_err(|e| run_error(&e))?)
}

fn end(run: &Run) -> &Termination {
    either!(run, e => e.termination())
}

fn index(tree: &NativeTree, name: &str) -> Result<usize, ModelError> {
    tree.variable(name)
}

#[pymethods]
impl Evolution {
    /// Predictions about a variable.
    fn variable<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
        let i = index(&self.tree, name).map_err(|e| model_error(&e))?;
        let spec = &self.tree.variables()[i].spec;
        match &self.run {
            Run::Matched(e) => {
                let p = e.report.marginal(name).map_err(|e| model_error(&e))?;
                <BayesOptimal as Visible>::shown(py, spec, p, false)
            }
            Run::Mismatched(e) => {
                let p = e.report.marginal(name).map_err(|e| model_error(&e))?;
                <ReplicaSymmetric as Visible>::shown(py, spec, p, false)
            }
        }
    }

    /// A word and a sentence.
    #[getter]
    fn termination(&self) -> (&'static str, String) {
        termination(end(&self.run))
    }

    /// What stopped the run from outside, if anything did.
    #[getter]
    fn error(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        exception(py, self.error.as_ref())
    }

    /// Number of sweeps.
    #[getter]
    fn sweeps(&self) -> usize {
        either!(&self.run, e => e.report.sweeps)
    }

    /// `(sweep, residual, improper)` of every sweep.
    #[getter]
    fn trace(&self) -> Vec<(usize, f64, usize)> {
        either!(&self.run, e => trace(&e.report))
    }

    /// Variances, one row per sweep and one column per variable.
    #[getter]
    fn variances(&self) -> Vec<Vec<f64>> {
        either!(&self.run, e => e.report.variances.clone())
    }

    /// The final messages.
    #[getter]
    fn messages(&self) -> Vec<Plain> {
        match &self.run {
            Run::Matched(e) => {
                let messages = e.report.messages.iter().map(|(_, _, m)| m);
                plain_messages::<BayesOptimal>(&self.tree, messages)
            }
            Run::Mismatched(e) => {
                let messages = e.report.messages.iter().map(|(_, _, m)| m);
                plain_messages::<ReplicaSymmetric>(&self.tree, messages)
            }
        }
    }

    /// The averaged Bethe objective per component of the first variable, with its terms.
    #[getter]
    fn objective<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        either!(&self.run, e => reported_objective(py, &e.report))
    }

    /// Entropy of the measurements (mismatched: their cross-entropy), per component of the first variable.
    #[getter]
    fn entropy(&self) -> PyResult<f64> {
        either!(&self.run, e => e.entropy()).map_err(|e| run_error(&e))
    }

    /// Mutual information with the measurements, per component of the first variable.
    #[getter]
    fn mutual_information(&self) -> PyResult<f64> {
        let information = match &self.run {
            Run::Matched(e) => e.information(&self.tree),
            Run::Mismatched(_) => Err(RunError::NotDefined {
                what: "the mutual information".to_owned(),
                why: "teacher and student differ".to_owned(),
            }),
        };
        information
            .and_then(|i| i.mutual_information())
            .map_err(|e| run_error(&e))
    }
}
