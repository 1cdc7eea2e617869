//! What Python sees of a run: the state after a sweep, and the report at the end.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use treeamp::algorithms::state_evolution::{
    BayesOptimal, BayesOptimalRows, Conjugate, Prediction, ReplicaSymmetric, RowField,
    RowPrediction,
};
use treeamp::algorithms::{ExpectationPropagation, MaximumAPosteriori, Mode};
use treeamp::belief::{Form, Gaussian, Moments, OverlapFields, SignalSpec, Structure, SymMatrix};
use treeamp::engine::{Algorithm, Descent, EvidenceLimit, Messages, Objective, Report, Term};
use treeamp::model::Tree;
use treeamp::prelude::{Observer, RowMatrix, SweepView, Termination};

use crate::array::{freeze, shaped};
use crate::error::{keep, named, node_of, raised, run_error};

/// How long a run may go on before it asks whether it was interrupted.
const PATIENCE: Duration = Duration::from_millis(20);
/// Interval between progress messages to the logger `treeamp`.
const SILENCE: Duration = Duration::from_secs(3);

/// A message as numbers: `precision` and `linear` of a Gaussian; $\hat m$; or $\hat m, \hat q, \hat\tau$.
pub type Plain = (String, String, Vec<f64>, Vec<f64>);

/// An algorithm whose state Python can read, and whose messages it can give back.
pub trait Visible: Algorithm {
    /// What is known about a variable.
    fn shown<'py>(
        py: Python<'py>,
        spec: &SignalSpec,
        marginal: &Self::Marginal,
        frozen: bool,
    ) -> PyResult<Bound<'py, PyDict>>;
    /// The numbers of a message.
    fn plain(message: &Self::Message) -> (Vec<f64>, Vec<f64>);
    /// A message from its numbers.
    fn message(spec: &SignalSpec, numbers: &[f64], linear: &[f64]) -> Self::Message;
}

impl Visible for ExpectationPropagation {
    fn shown<'py>(
        py: Python<'py>,
        spec: &SignalSpec,
        marginal: &Moments,
        frozen: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let mean = shaped(py, spec, &marginal.mean)?;
        if frozen {
            freeze(&mean);
        }
        let data = PyDict::new(py);
        data.set_item("r", mean)?;
        data.set_item("v", marginal.average_variance())?;
        covariances(&data, spec, &marginal.variance)?;
        Ok(data)
    }

    fn plain(message: &Gaussian) -> (Vec<f64>, Vec<f64>) {
        gaussian_numbers(message)
    }

    fn message(spec: &SignalSpec, numbers: &[f64], linear: &[f64]) -> Gaussian {
        gaussian(spec, numbers, linear)
    }
}

/// What beliefs that are not isotropic know besides: `variances` of the components, `covariance` of blocks.
fn covariances(data: &Bound<'_, PyDict>, spec: &SignalSpec, v: &SymMatrix) -> PyResult<()> {
    if v.structure() == Structure::Isotropic {
        return Ok(());
    }
    let py = data.py();
    let diagonal: Vec<f64> = v.diagonal().collect();
    data.set_item("variances", shaped(py, spec, &diagonal)?)?;
    let Some(dim) = v.structure().block_dim(v.dim()) else {
        return Ok(());
    };
    let blocks = SignalSpec::real([v.dim() / dim, dim, dim]);
    let whole = SignalSpec::real([dim, dim]);
    let full = v.structure() == Structure::Full;
    let matrix = shaped(py, if full { &whole } else { &blocks }, v.data())?;
    data.set_item("covariance", matrix)
}

/// Precision, then for every dense block whether it is in moment form; linear part.
fn gaussian_numbers(message: &Gaussian) -> (Vec<f64>, Vec<f64>) {
    let mut numbers = message.precision.data().to_vec();
    let forms = (0..message.block_count()).map(|k| message.form(k));
    numbers.extend(forms.map(|f| f64::from(u8::from(f == Form::Moments))));
    (numbers, message.linear.clone())
}

fn gaussian(spec: &SignalSpec, numbers: &[f64], linear: &[f64]) -> Gaussian {
    let mut message = Gaussian::flat(spec);
    let stored = message.precision.data().len();
    for (entry, a) in message.precision.data_mut().iter_mut().zip(numbers) {
        *entry = *a;
    }
    for k in 0..message.block_count() {
        if numbers.get(stored + k).is_some_and(|form| *form != 0.0) {
            *message.block_mut(k).0 = Form::Moments;
        }
    }
    message.linear = linear.to_vec();
    message
}

impl Visible for MaximumAPosteriori {
    fn shown<'py>(
        py: Python<'py>,
        spec: &SignalSpec,
        mode: &Mode,
        frozen: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let place = shaped(py, spec, &mode.point)?;
        if frozen {
            freeze(&place);
        }
        let data = PyDict::new(py);
        data.set_item("r", place)?;
        data.set_item("v", mode.inverse_curvature)?;
        Ok(data)
    }

    fn plain(message: &Gaussian) -> (Vec<f64>, Vec<f64>) {
        gaussian_numbers(message)
    }

    fn message(spec: &SignalSpec, numbers: &[f64], linear: &[f64]) -> Gaussian {
        gaussian(spec, numbers, linear)
    }
}

fn prediction<'py>(py: Python<'py>, p: &Prediction) -> PyResult<Bound<'py, PyDict>> {
    let o = p.0;
    let data = PyDict::new(py);
    let values = [
        ("v", o.v),
        ("a", 1.0 / o.v),
        ("m", o.m),
        ("q", o.q()),
        ("tau", o.tau0),
        ("mse", o.mse()),
    ];
    for (name, value) in values {
        data.set_item(name, value)?;
    }
    Ok(data)
}

impl Visible for BayesOptimal {
    fn shown<'py>(
        py: Python<'py>,
        _: &SignalSpec,
        marginal: &Prediction,
        _: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        prediction(py, marginal)
    }

    fn plain(message: &Conjugate) -> (Vec<f64>, Vec<f64>) {
        (vec![message.0], vec![])
    }

    fn message(_: &SignalSpec, numbers: &[f64], _: &[f64]) -> Conjugate {
        Conjugate(numbers.first().copied().unwrap_or(0.0))
    }
}

impl Visible for ReplicaSymmetric {
    fn shown<'py>(
        py: Python<'py>,
        _: &SignalSpec,
        marginal: &Prediction,
        _: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        prediction(py, marginal)
    }

    fn plain(message: &OverlapFields) -> (Vec<f64>, Vec<f64>) {
        (vec![message.m_hat, message.q_hat, message.tau_hat], vec![])
    }

    fn message(_: &SignalSpec, numbers: &[f64], _: &[f64]) -> OverlapFields {
        let at = |i: usize| numbers.get(i).copied().unwrap_or(0.0);
        OverlapFields {
            m_hat: at(0),
            q_hat: at(1),
            tau_hat: at(2),
        }
    }
}

/// Numbers per component, averages of diagonals, and the matrices of a row: `q_matrix`, `covariance`, and the standard errors of the first.
impl Visible for BayesOptimalRows {
    fn shown<'py>(
        py: Python<'py>,
        _: &SignalSpec,
        marginal: &RowPrediction,
        _: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let o = &marginal.0;
        let data = PyDict::new(py);
        let v = o.v.mean_diagonal();
        let q = o.q.mean_diagonal();
        let values = [
            ("v", v),
            ("a", 1.0 / v),
            ("m", q),
            ("q", q),
            ("tau", o.tau0.mean_diagonal()),
            ("mse", v),
        ];
        for (name, value) in values {
            data.set_item(name, value)?;
        }
        let matrices = [
            ("q_matrix", &o.q),
            ("covariance", &o.v),
            ("tau_matrix", &o.tau0),
            ("standard_error", &o.standard_error),
        ];
        for (name, matrix) in matrices {
            let square = SignalSpec::real([matrix.dim(), matrix.dim()]);
            data.set_item(name, shaped(py, &square, matrix.data())?)?;
        }
        Ok(data)
    }

    fn plain(message: &RowField) -> (Vec<f64>, Vec<f64>) {
        (message.q_hat.data().to_vec(), vec![])
    }

    fn message(spec: &SignalSpec, numbers: &[f64], _: &[f64]) -> RowField {
        let dim = spec.structure.block_dim(1).unwrap_or(1);
        let at = |i: usize, j: usize| numbers.get(i * dim + j).copied().unwrap_or(0.0);
        RowField::of(RowMatrix::from_fn(dim, at))
    }
}

/// Every variable with what is known about it.
pub fn marginals<'py, A: Visible>(
    py: Python<'py>,
    tree: &Tree,
    values: &[A::Marginal],
    frozen: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for (variable, value) in tree.variables().iter().zip(values) {
        all.set_item(&variable.name, A::shown(py, &variable.spec, value, frozen)?)?;
    }
    Ok(all)
}

/// The messages in the order of the tree's edges, as numbers.
pub fn plain_messages<'a, A: Visible>(
    tree: &Tree,
    messages: impl Iterator<Item = &'a A::Message>,
) -> Vec<Plain>
where
    A::Message: 'a,
{
    let ends = tree.edges().iter().map(|e| {
        let factor = tree.factors()[e.factor].name.clone();
        (factor, tree.variables()[e.variable].name.clone())
    });
    ends.zip(messages)
        .map(|((factor, variable), message)| {
            let (numbers, linear) = A::plain(message);
            (factor, variable, numbers, linear)
        })
        .collect()
}

/// Messages from numbers; those of edges or sizes that the tree does not have are dropped by the engine.
pub fn native_messages<A: Visible>(tree: &Tree, plain: &[Plain]) -> Messages<A::Message> {
    let edges = plain
        .iter()
        .filter_map(|(factor, variable, numbers, linear)| {
            let spec = &tree.variables()[tree.variable(variable).ok()?].spec;
            let message = A::message(spec, numbers, linear);
            Some((factor.clone(), variable.clone(), message))
        });
    Messages::new(edges.collect())
}

/// The state of a run after a sweep, for a callback.
#[pyclass(frozen, module = "treeamp._lib")]
pub struct Snapshot {
    /// Number of sweeps done.
    #[pyo3(get)]
    sweep: usize,
    /// Largest relative change of a variable's moments.
    #[pyo3(get)]
    residual: f64,
    /// Updates that were skipped because a law was improper.
    #[pyo3(get)]
    improper: usize,
    /// The fallback has taken over.
    #[pyo3(get)]
    fallback: bool,
    /// The part of the new messages that was taken, where steps adapt.
    #[pyo3(get)]
    step: f64,
    /// What is known about every variable.
    #[pyo3(get)]
    variables: Py<PyDict>,
    messages: Vec<Plain>,
}

#[pymethods]
impl Snapshot {
    /// The messages from factors to variables.
    #[getter]
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.messages.clone())
    }
}

/// Watches a run for Python: interrupts, and a callback if there is one.
pub struct Watch {
    callback: Option<Py<PyAny>>,
    start: Instant,
    asked: Instant,
    logged: Instant,
    pub error: Option<PyErr>,
}

impl Watch {
    pub fn new(callback: Option<Py<PyAny>>) -> Self {
        let _ = raised();
        let now = Instant::now();
        Self {
            callback,
            start: now,
            asked: now,
            logged: now,
            error: None,
        }
    }

    fn stop(&mut self, error: PyErr, reason: &str) -> ControlFlow<String> {
        self.error = Some(error);
        ControlFlow::Break(reason.to_owned())
    }

    /// Logs how far the run is, if it has been silent for long.
    fn log<A: Algorithm>(&mut self, py: Python<'_>, view: &SweepView<'_, A>) -> PyResult<()> {
        if self.logged.elapsed() < SILENCE {
            return Ok(());
        }
        self.logged = Instant::now();
        let text = "%s in %.0f s, residual %.1e";
        let sweeps = match view.sweep {
            1 => "1 sweep".to_owned(),
            n => format!("{n} sweeps"),
        };
        let seconds = self.start.elapsed().as_secs_f64();
        let logging = py.import("logging")?;
        let logger = logging.call_method1("getLogger", ("treeamp",))?;
        logger.call_method1("info", (text, sweeps, seconds, view.residual))?;
        Ok(())
    }

    /// What user code raised, named after its node.
    pub fn take_error(&mut self, tree: &Tree, termination: &Termination) -> Option<PyErr> {
        let suspect = match termination {
            Termination::Diverging(d) => d.factor.as_deref(),
            Termination::Rejected(verdict) => verdict.factor(),
            _ => None,
        };
        if let Some((law, error)) = raised() {
            return Some(named(error, &node_of(tree, &law, suspect)));
        }
        self.error.take()
    }
}

impl<A: Visible> Observer<A> for Watch {
    fn after_sweep(&mut self, view: &SweepView<'_, A>) -> ControlFlow<String> {
        if let Some((name, error)) = raised() {
            keep(&name, error);
            return ControlFlow::Break("a factor raised an exception".to_owned());
        }
        if self.callback.is_none() && self.asked.elapsed() < PATIENCE {
            return ControlFlow::Continue(());
        }
        Python::attach(|py| {
            self.asked = Instant::now();
            if let Err(error) = py.check_signals() {
                return self.stop(error, "interrupted");
            }
            if let Err(error) = self.log(py, view) {
                return self.stop(error, "the logger raised an exception");
            }
            let Some(callback) = &self.callback else {
                return ControlFlow::Continue(());
            };
            let answer =
                snapshot(py, view).and_then(|s| callback.bind(py).call1((s,))?.is_truthy());
            match answer {
                Ok(false) => ControlFlow::Continue(()),
                Ok(true) => ControlFlow::Break("the callback said so".to_owned()),
                Err(error) => self.stop(error, "the callback raised an exception"),
            }
        })
    }

    fn looks(&self) -> bool {
        self.callback.is_some()
    }
}

fn snapshot<A: Visible>(py: Python<'_>, view: &SweepView<'_, A>) -> PyResult<Snapshot> {
    Ok(Snapshot {
        sweep: view.sweep,
        residual: view.residual,
        improper: view.improper,
        fallback: view.fallback,
        step: view.step,
        variables: marginals::<A>(py, view.tree, view.marginals(), true)?.unbind(),
        messages: plain_messages::<A>(view.tree, view.messages().iter()),
    })
}

/// How a run ended: a word, a sentence.
pub fn termination(t: &Termination) -> (&'static str, String) {
    let word = match t {
        Termination::Converged { .. } => "converged",
        Termination::SweepLimit => "sweep_limit",
        Termination::FallbackLimit { .. } => "fallback_limit",
        Termination::Diverging(_) => "diverging",
        Termination::Rejected(verdict) => verdict.kind(),
        _ => "stopped",
    };
    (word, t.to_string())
}

/// `(sweep, residual, improper, step)` of every sweep.
pub type Trace = Vec<(usize, f64, usize, f64)>;

/// The trace of a report.
pub fn trace<A: Algorithm>(report: &Report<A>) -> Trace {
    let records = report.trace.iter();
    let numbers = records.map(|r| (r.sweep, r.residual, r.improper, r.step));
    numbers.collect()
}

/// Names and values of terms.
pub fn terms(terms: &[Term]) -> Vec<(String, f64)> {
    terms.iter().map(|t| (t.name.clone(), t.value)).collect()
}

/// The objective with its terms.
pub fn objective<'py>(py: Python<'py>, o: &Objective) -> PyResult<Bound<'py, PyDict>> {
    let data = PyDict::new(py);
    data.set_item("total", o.total)?;
    data.set_item("error", o.error)?;
    data.set_item("factors", terms(&o.factors))?;
    data.set_item("variables", terms(&o.variables))?;
    data.set_item("edges", terms(&o.edges))?;
    Ok(data)
}

/// The objective of a report, or the error why there is none.
pub fn reported_objective<'py, A: Algorithm>(
    py: Python<'py>,
    report: &Report<A>,
) -> PyResult<Bound<'py, PyDict>> {
    match &report.objective {
        Ok(o) => objective(py, o),
        Err(error) => Err(run_error(error)),
    }
}

/// How a run settled or did not: how a first one ended that started again, what took over from the sweeps, why nothing could, what was
/// tried, which routes linear channels took, where it diverged, whether the signal was recovered.
pub fn settling<'py, A: Algorithm>(
    py: Python<'py>,
    report: &Report<A>,
) -> PyResult<Bound<'py, PyDict>> {
    let data = PyDict::new(py);
    if let Some(before) = &report.restarted {
        data.set_item("restarted", termination(before))?;
    }
    if let Some(f) = &report.fallback {
        let entry = PyDict::new(py);
        entry.set_item("method", f.method)?;
        entry.set_item("end", f.end.to_string())?;
        entry.set_item("steps", f.steps)?;
        entry.set_item("evaluations", f.evaluations)?;
        entry.set_item("residual", f.residual)?;
        entry.set_item("sweep_residual", f.sweep_residual)?;
        entry.set_item("reverted", f.reverted)?;
        entry.set_item("smoothing", f.smoothing)?;
        entry.set_item(
            "descent",
            f.descent.as_ref().map(|d| descent(py, d)).transpose()?,
        )?;
        entry.set_item("free_energy", f.free_energy.clone())?;
        data.set_item("fallback", entry)?;
    }
    if let Some(reason) = &report.no_fallback {
        data.set_item("no_fallback", reason.to_string())?;
    }
    let routes = report.routes.iter();
    let routes: Vec<_> = routes
        .map(|r| (&r.factor, r.route.word(), &r.why))
        .collect();
    data.set_item("routes", routes)?;
    data.set_item("notes", &report.notes)?;
    let tried = report.attempts.iter().map(|a| {
        let entry = PyDict::new(py);
        entry.set_item("attempt", a.name)?;
        entry.set_item("smoothing", a.attempt.smoothing)?;
        entry.set_item("evaluations", a.evaluations)?;
        entry.set_item("residual", a.residual)?;
        entry.set_item("end", a.end.to_string())?;
        Ok(entry)
    });
    data.set_item("attempts", tried.collect::<PyResult<Vec<_>>>()?)?;
    data.set_item("divergence", divergence(py, &report.termination)?)?;
    data.set_item("verdict", verdict(py, report)?)?;
    let perfect = Termination::Converged {
        perfect_recovery: true,
    };
    data.set_item("perfect_recovery", report.termination == perfect)?;
    Ok(data)
}

/// Where the free energy falls without bound.
fn descent<'py>(py: Python<'py>, d: &Descent) -> PyResult<Bound<'py, PyDict>> {
    let data = PyDict::new(py);
    data.set_item("variable", &d.variable)?;
    data.set_item("slope", d.slope)?;
    data.set_item("from", d.from)?;
    data.set_item("to", d.to)?;
    Ok(data)
}

/// Where and why a run diverged, or `None`.
pub fn divergence<'py>(py: Python<'py>, t: &Termination) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Termination::Diverging(d) = t else {
        return Ok(None);
    };
    let data = PyDict::new(py);
    data.set_item("sweep", d.sweep)?;
    data.set_item("factor", &d.factor)?;
    data.set_item("variable", &d.variable)?;
    data.set_item("direction", d.direction.map(|d| d.to_string()))?;
    data.set_item("reason", &d.reason)?;
    Ok(Some(data))
}

/// What the state is at which a run came to rest, or `None` where it did not.
fn verdict<'py, A: Algorithm>(
    py: Python<'py>,
    report: &Report<A>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(verdict) = report.verdict() else {
        return Ok(None);
    };
    let data = PyDict::new(py);
    data.set_item("kind", verdict.kind())?;
    data.set_item("factor", verdict.factor())?;
    data.set_item("variable", verdict.variable())?;
    data.set_item("reason", verdict.to_string())?;
    let limit = report.evidence_limit.as_ref();
    data.set_item("evidence_limit", limit.map(EvidenceLimit::kind))?;
    Ok(Some(data))
}

/// An exception as an object, or `None`.
pub fn exception(py: Python<'_>, error: Option<&PyErr>) -> PyResult<Py<PyAny>> {
    match error {
        Some(error) => error.clone_ref(py).into_value(py).into_py_any(py),
        None => Ok(py.None()),
    }
}
