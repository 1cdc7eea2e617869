//! Errors of the library as the exceptions of `treeamp.errors`, with their message; and exceptions that
//! user code raised while the library called it.

use std::cell::RefCell;

use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use treeamp::model::Tree;
use treeamp::{FactorError, ModelError, RunError};

static MODEL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static FACTOR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static RUN: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static MISMATCH: PyOnceLock<Py<PyType>> = PyOnceLock::new();

thread_local! {
    /// What user code raised, until the library has returned. A run stays on its thread.
    static RAISED: RefCell<Option<(String, PyErr)>> = const { RefCell::new(None) };
}

fn raise(cell: &PyOnceLock<Py<PyType>>, class: &str, message: String) -> PyErr {
    Python::attach(|py| match cell.import(py, "treeamp.errors", class) {
        Ok(class) => PyErr::from_type(class.clone(), message),
        Err(_) => PyRuntimeError::new_err(message),
    })
}

pub fn model_error(error: &ModelError) -> PyErr {
    raise(&MODEL, "ModelError", error.to_string())
}

/// The same with the names that parameters have in Python, as (name in the library, name in Python).
pub fn model_error_of(error: &ModelError, names: &[(&str, &str)]) -> PyErr {
    let ModelError::Parameter {
        module,
        name,
        expected,
        got,
    } = error
    else {
        return model_error(error);
    };
    let called = |word: &str| {
        let known = names.iter().find(|(inner, _)| *inner == word);
        known.map_or(word, |(_, outer)| outer).to_owned()
    };
    // what was expected may speak of the other parameters
    let words = |text: &str| {
        let ends = |c: char| !(c.is_alphanumeric() || c == '_');
        let parts = text.split_inclusive(ends);
        let word = |part: &str| match part.char_indices().last() {
            Some((at, c)) if ends(c) => called(&part[..at]) + &part[at..],
            _ => called(part),
        };
        parts.map(word).collect::<String>()
    };
    model_message(format!(
        "{module}: parameter `{}` must be {}, got {}",
        called(name),
        words(expected),
        words(got)
    ))
}

pub fn model_message(message: String) -> PyErr {
    raise(&MODEL, "ModelError", message)
}

/// The error of one factor asked alone.
pub fn factor_error(name: &str, error: &FactorError) -> PyErr {
    match raised() {
        Some((_, source)) => named(source, name),
        None => raise(&FACTOR, "FactorError", format!("factor `{name}`: {error}")),
    }
}

/// The error of a run on a tree; what user code raised is named after its node.
pub fn run_error_in(tree: &Tree, error: &RunError) -> PyErr {
    let suspect = match error {
        RunError::Factor { factor, .. } => Some(factor.as_str()),
        _ => None,
    };
    match raised() {
        Some((law, source)) => named(source, &node_of(tree, &law, suspect)),
        None => run_error(error),
    }
}

/// What was computed, unless user code raised meanwhile.
pub fn unless_raised<T>(tree: &Tree, result: Result<T, RunError>) -> PyResult<T> {
    match raised() {
        Some((law, source)) => Err(named(source, &node_of(tree, &law, None))),
        None => result.map_err(|e| run_error(&e)),
    }
}

/// The node whose module raised: the suspect if it is of that module, else the only node that is.
pub fn node_of(tree: &Tree, law: &str, suspect: Option<&str>) -> String {
    let mut nodes = tree.factors().iter().filter(|n| n.factor.name() == law);
    let (first, is_only) = (nodes.next(), nodes.next().is_none());
    let of_law = |name: &&str| {
        let mut all = tree.factors().iter();
        all.any(|n| n.name == **name && n.factor.name() == law)
    };
    let suspect = suspect.filter(of_law);
    let only = first.filter(|_| is_only).map(|n| n.name.as_str());
    suspect.or(only).unwrap_or(law).to_owned()
}

/// What an option of the library is called in Python.
fn in_python(option: &str) -> &str {
    match option {
        "tolerance" => "tol",
        "max_sweeps" => "max_iter",
        "damping.steps" => "steps",
        "initial" => "initializer",
        same => same,
    }
}

pub fn run_error(error: &RunError) -> PyErr {
    if let Some((law, source)) = raised() {
        return named(source, &law);
    }
    match error {
        RunError::Option {
            option,
            expected,
            got,
        } => {
            let name = in_python(option);
            let message = format!("`{name}` must be {expected}, got {got}");
            raise(&RUN, "RunError", message)
        }
        RunError::Model(error) => model_error(error),
        RunError::Mismatch { .. } => raise(&MISMATCH, "MismatchError", error.to_string()),
        other => raise(&RUN, "RunError", other.to_string()),
    }
}

/// Keeps the first exception that user code of factor `name` raised.
pub fn keep(name: &str, error: PyErr) {
    RAISED.with(|slot| {
        slot.borrow_mut().get_or_insert((name.to_owned(), error));
    });
}

/// Takes what user code raised.
pub fn raised() -> Option<(String, PyErr)> {
    RAISED.with(|slot| slot.borrow_mut().take())
}

/// The exception with the node's name: as a note, or before Python 3.11 as the same attribute.
pub fn named(error: PyErr, node: &str) -> PyErr {
    Python::attach(|py| {
        let note = format!("raised in factor `{node}`");
        let value = error.value(py);
        let noted = value.call_method1(intern!(py, "add_note"), (&note,));
        if noted.is_err() {
            let _ = value.setattr(intern!(py, "__notes__"), vec![note]);
        }
    });
    error
}
