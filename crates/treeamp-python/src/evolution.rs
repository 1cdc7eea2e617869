//! State evolution, Bayes-optimal and mismatched.

use std::sync::Arc;
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use treeamp::RunError;
use treeamp::algorithms::state_evolution::{BayesOptimal, ReplicaSymmetric};
use treeamp::prelude::{
    Evolution as NativeEvolution, MismatchedEvolution, StateEvolution, Termination,
    Tree as NativeTree,
};

use crate::error::{model_error, run_error_in, unless_raised};
use crate::options::RunOptions;
use crate::run::{Told, report_methods};
use crate::tree::Tree;
use crate::watch::{
    Plain, Visible, Watch, native_messages, objective, plain_messages, reported_objective, trace,
};

enum Kind {
    Matched(NativeEvolution<BayesOptimal>),
    Mismatched(NativeEvolution<ReplicaSymmetric>),
}

/// Reads a field of either kind of run.
macro_rules! either {
    ($run:expr, $e:ident => $body:expr) => {
        match $run {
            Kind::Matched($e) => $body,
            Kind::Mismatched($e) => $body,
        }
    };
}

/// A finished run of either kind.
struct EvolutionRun {
    kind: Kind,
    tree: Arc<NativeTree>,
    error: Option<PyErr>,
    seconds: f64,
}

/// The report of a state evolution.
#[pyclass(frozen, module = "treeamp._lib")]
pub struct Evolution {
    run: EvolutionRun,
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
    let kind = py.detach(|| -> Result<Kind, RunError> {
        if let Some(teacher) = &teacher {
            let mut theory = MismatchedEvolution::new(teacher, &tree)?
                .max_sweeps(options.max_sweeps)
                .tolerance(options.tolerance)
                .damping(options.damping)
                .initial(options.initial);
            if let Some(plain) = &warm {
                theory = theory.start_from(native_messages::<ReplicaSymmetric>(&tree, plain));
            }
            return theory.observed_by(&mut watch).map(Kind::Mismatched);
        }
        let mut theory = StateEvolution::new(&tree)?
            .max_sweeps(options.max_sweeps)
            .tolerance(options.tolerance)
            .damping(options.damping)
            .initial(options.initial);
        if let Some(plain) = &warm {
            theory = theory.start_from(native_messages::<BayesOptimal>(&tree, plain));
        }
        theory.observed_by(&mut watch).map(Kind::Matched)
    });
    let seconds = start.elapsed().as_secs_f64();
    let kind = kind.map_err(|e| run_error_in(&tree, &e))?;
    let error = watch.take_error(&tree, either!(&kind, e => e.termination()));
    let run = EvolutionRun {
        kind,
        tree,
        error,
        seconds,
    };
    Ok(Evolution { run })
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
    objective(py, &value.map_err(|e| run_error_in(&tree, &e))?)
}

impl Told for EvolutionRun {
    fn ended(&self) -> &Termination {
        either!(&self.kind, e => e.termination())
    }

    fn outside(&self) -> Option<&PyErr> {
        self.error.as_ref()
    }

    fn count(&self) -> usize {
        either!(&self.kind, e => e.report.sweeps)
    }

    fn residuals(&self) -> Vec<(usize, f64, usize)> {
        either!(&self.kind, e => trace(&e.report))
    }

    fn spreads(&self) -> Vec<Vec<f64>> {
        either!(&self.kind, e => e.report.variances.clone())
    }

    fn last_messages(&self) -> Vec<Plain> {
        match &self.kind {
            Kind::Matched(e) => {
                let messages = e.report.messages.iter().map(|(_, _, m)| m);
                plain_messages::<BayesOptimal>(&self.tree, messages)
            }
            Kind::Mismatched(e) => {
                let messages = e.report.messages.iter().map(|(_, _, m)| m);
                plain_messages::<ReplicaSymmetric>(&self.tree, messages)
            }
        }
    }

    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        either!(&self.kind, e => reported_objective(py, &e.report))
    }
}

report_methods!(Evolution {
    /// Predictions about a variable.
    fn variable<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
        let tree = &self.run.tree;
        let i = tree.variable(name).map_err(|e| model_error(&e))?;
        let spec = &tree.variables()[i].spec;
        match &self.run.kind {
            Kind::Matched(e) => {
                let p = e.report.marginal(name).map_err(|e| model_error(&e))?;
                <BayesOptimal as Visible>::shown(py, spec, p, false)
            }
            Kind::Mismatched(e) => {
                let p = e.report.marginal(name).map_err(|e| model_error(&e))?;
                <ReplicaSymmetric as Visible>::shown(py, spec, p, false)
            }
        }
    }

    /// Entropy of the measurements (mismatched: their cross-entropy), per component of the first variable.
    #[getter]
    fn entropy(&self) -> PyResult<f64> {
        let entropy = either!(&self.run.kind, e => e.entropy());
        unless_raised(&self.run.tree, entropy)
    }

    /// Mutual information with the measurements, per component of the first variable.
    #[getter]
    fn mutual_information(&self) -> PyResult<f64> {
        let information = match &self.run.kind {
            Kind::Matched(e) => e.information(&self.run.tree),
            Kind::Mismatched(_) => Err(RunError::NotDefined {
                what: "the mutual information".to_owned(),
                why: "teacher and student differ".to_owned(),
            }),
        };
        let information = information.and_then(|i| i.mutual_information());
        unless_raised(&self.run.tree, information)
    }
});
