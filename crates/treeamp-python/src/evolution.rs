//! State evolution, Bayes-optimal and mismatched.

use std::sync::Arc;
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use treeamp::RunError;
use treeamp::algorithms::state_evolution::{
    BayesOptimal, BayesOptimalRows, Information, ReplicaSymmetric,
};
use treeamp::belief::Structure;
use treeamp::engine::Initial;
use treeamp::prelude::{
    Evolution as NativeEvolution, MismatchedEvolution, RowEvolution, StateEvolution, Termination,
    Tree as NativeTree,
};

use crate::error::{model_error, run_error_in, unless_raised};
use crate::options::RunOptions;
use crate::run::{ReportView, report_methods};
use crate::tree::Tree;
use crate::watch::{
    Plain, Trace, Visible, Watch, native_messages, objective, plain_messages, reported_objective,
    settling, terms, trace,
};

enum Kind {
    Matched(NativeEvolution<BayesOptimal>),
    /// Of rows, whose overlaps are matrices.
    Rows(NativeEvolution<BayesOptimalRows>),
    Mismatched(NativeEvolution<ReplicaSymmetric>),
}

/// Reads a field of either kind of run.
macro_rules! either {
    ($run:expr, $e:ident => $body:expr) => {
        match $run {
            Kind::Matched($e) => $body,
            Kind::Rows($e) => $body,
            Kind::Mismatched($e) => $body,
        }
    };
}

/// A finished run of either kind.
struct EvolutionRun {
    kind: Kind,
    tree: Arc<NativeTree>,
    /// The teacher's, where it is another one.
    teacher: Option<Arc<NativeTree>>,
    error: Option<PyErr>,
    seconds: f64,
}

/// The report of a state evolution.
#[pyclass(frozen, module = "treeamp._lib")]
pub struct Evolution {
    run: EvolutionRun,
}

/// Beliefs are one matrix per row.
fn has_rows(tree: &NativeTree) -> bool {
    let blocks = Structure::Block { dim: 0 };
    let mut variables = tree.variables().iter();
    variables.any(|v| v.spec.structure.same_kind(blocks))
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
                .fallback(options.fallback)
                .initial(options.initial);
            if let Some(plain) = &warm {
                theory = theory.start_from(native_messages::<ReplicaSymmetric>(&tree, plain));
            }
            return theory.observed_by(&mut watch).map(Kind::Mismatched);
        }
        if has_rows(&tree) {
            let mut theory = RowEvolution::new(&tree)?
                .max_sweeps(options.max_sweeps)
                .tolerance(options.tolerance)
                .damping(options.damping);
            // units that are alike stay alike: without a start of one's own it is a push
            if options.initial != Initial::Flat {
                theory = theory.initial(options.initial);
            }
            if let Some(plain) = &warm {
                theory = theory.start_from(native_messages::<BayesOptimalRows>(&tree, plain));
            }
            return theory.observed_by(&mut watch).map(Kind::Rows);
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
        teacher,
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
        if has_rows(&tree) {
            let messages = native_messages::<BayesOptimalRows>(&tree, &messages);
            let theory = RowEvolution::new(&tree)?;
            return theory.start_from(messages).initial_free_entropy();
        }
        let messages = native_messages::<BayesOptimal>(&tree, &messages);
        let theory = StateEvolution::new(&tree)?;
        theory.start_from(messages).initial_free_entropy()
    });
    objective(py, &value.map_err(|e| run_error_in(&tree, &e))?)
}

impl Evolution {
    /// A fixed point that something else has found.
    pub fn of(evolution: NativeEvolution<BayesOptimal>, tree: Arc<NativeTree>) -> Self {
        let run = EvolutionRun {
            kind: Kind::Matched(evolution),
            tree,
            teacher: None,
            error: None,
            seconds: 0.0,
        };
        Self { run }
    }
}

/// The terms of an information, and its noise.
fn information<'py>(py: Python<'py>, i: &Information) -> PyResult<Bound<'py, PyDict>> {
    let data = PyDict::new(py);
    data.set_item("entropy", i.entropy)?;
    data.set_item("factors", terms(&i.factors))?;
    data.set_item("variables", terms(&i.variables))?;
    data.set_item("edges", terms(&i.edges))?;
    data.set_item("noise", i.noise.clone())?;
    Ok(data)
}

impl EvolutionRun {
    /// Entropies at the fixed point of one model.
    fn information(&self, what: &str) -> Result<Information, RunError> {
        match &self.kind {
            Kind::Matched(e) => e.information(&self.tree),
            Kind::Rows(_) => Err(RunError::NotDefined {
                what: what.to_owned(),
                why: "informations of rows are not available".to_owned(),
            }),
            Kind::Mismatched(_) => Err(RunError::NotDefined {
                what: what.to_owned(),
                why: "teacher and student differ".to_owned(),
            }),
        }
    }
}

impl ReportView for EvolutionRun {
    fn ended(&self) -> &Termination {
        either!(&self.kind, e => e.termination())
    }

    fn outside(&self) -> Option<&PyErr> {
        self.error.as_ref()
    }

    fn count(&self) -> usize {
        either!(&self.kind, e => e.report.sweeps)
    }

    fn residuals(&self) -> Trace {
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
            Kind::Rows(e) => {
                let messages = e.report.messages.iter().map(|(_, _, m)| m);
                plain_messages::<BayesOptimalRows>(&self.tree, messages)
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

    fn settling<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        either!(&self.kind, e => settling(py, &e.report))
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
            Kind::Rows(e) => {
                let p = e.report.marginal(name).map_err(|e| model_error(&e))?;
                <BayesOptimalRows as Visible>::shown(py, spec, p, false)
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
        let information = self.run.information("the mutual information");
        let information = information.and_then(|i| i.mutual_information());
        unless_raised(&self.run.tree, information)
    }

    /// Entropies of factors, variables, edges and noise.
    #[getter]
    fn information<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = self.run.information("the information");
        information(py, &unless_raised(&self.run.tree, found)?)
    }

    /// How much the evidence of every factor of the student differs from the teacher's.
    #[getter]
    fn divergences(&self) -> PyResult<Vec<(String, f64)>> {
        let found = match (&self.run.kind, &self.run.teacher) {
            (Kind::Mismatched(e), Some(teacher)) => e.divergences(teacher, &self.run.tree),
            _ => Err(RunError::NotDefined {
                what: "the divergence of every factor".to_owned(),
                why: "expected a teacher and a student, got one model".to_owned(),
            }),
        };
        unless_raised(&self.run.tree, found).map(|found| terms(&found))
    }

    /// Why the prediction is a heuristic; empty where it is exact in the limit.
    #[getter]
    fn heuristics(&self) -> Vec<String> {
        either!(&self.run.kind, e => e.heuristics.clone())
    }

    /// The log-normalisation of the student's law.
    #[getter]
    fn normalisation(&self) -> f64 {
        either!(&self.run.kind, e => e.normalisation)
    }

    /// Second moments of the teacher's variables.
    #[getter]
    fn teacher_moments(&self) -> Vec<f64> {
        either!(&self.run.kind, e => e.teacher.tau0.clone())
    }

    /// The first continuous output without noise.
    #[getter]
    fn noiseless_output(&self) -> Option<String> {
        either!(&self.run.kind, e => e.noiseless_output.clone())
    }

    /// Why the law is not normalised by its factors.
    #[getter]
    fn unnormalised(&self) -> Option<String> {
        either!(&self.run.kind, e => e.unnormalised.clone())
    }
});
