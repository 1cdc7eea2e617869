//! Errors of the library as the exceptions of `treeamp.errors`, with their message; and exceptions that
//! user code raised while the library called it.

use std::cell::RefCell;

use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use treeamp::{FactorError, ModelError, RunError};

static MODEL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static FACTOR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static RUN: PyOnceLock<Py<PyType>> = PyOnceLock::new();

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

pub fn run_error(error: &RunError) -> PyErr {
    let node = match error {
        RunError::Factor { factor, .. } => Some(factor.clone()),
        _ => None,
    };
    if let Some((name, source)) = raised() {
        return named(source, &node.unwrap_or(name));
    }
    match error {
        RunError::Model(error) => model_error(error),
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
