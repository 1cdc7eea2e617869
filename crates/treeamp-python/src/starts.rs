//! Where a run starts, and runs from several places.

use std::sync::Arc;
use std::time::Instant;

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use treeamp::algorithms::{Restarts, push as native_push, spectral_estimate as native_estimate};
use treeamp::belief::Element;
use treeamp::operator::{ComplexDense, Dense};
use treeamp::prelude::{ComplexMatrix, Initial};

use crate::array::{flat, halves, matrix, slice};
use crate::error::{model_error, run_error_in};
use crate::options::{GivenInitial, RunOptions};
use crate::posterior::Posterior;
use crate::tree::Tree;
use crate::watch::Watch;

type Message<'py> = (String, String, f64, Bound<'py, PyArray1<f64>>);

/// First messages that lean to a random side: factor, variable, precision, linear part.
#[pyfunction]
pub fn push<'py>(
    py: Python<'py>,
    tree: &Tree,
    strength: f64,
    seed: u64,
) -> PyResult<Vec<Message<'py>>> {
    let tree = Arc::clone(&tree.inner);
    let initial = py.detach(|| native_push(&tree, strength, seed));
    let Initial::Given(messages) = initial.map_err(|e| run_error_in(&tree, &e))? else {
        return Ok(Vec::new());
    };
    let given = messages.into_iter().map(|m| {
        let spec = tree
            .variable(&m.variable)
            .map(|i| &tree.variables()[i].spec);
        let complex = spec.is_ok_and(|s| s.element == Element::Complex);
        let linear = if complex { halves(&m.linear) } else { m.linear };
        (m.factor, m.variable, m.precision, flat(py, linear))
    });
    Ok(given.collect())
}

/// A fixed point and the starts that led there.
type Found = (Posterior, Vec<String>);

/// Expectation propagation from the plain start, if `plain`, from pushes, and from starts by name: the fixed points, the best
/// first, and the runs that did not settle.
#[pyfunction]
pub fn restarts(
    py: Python<'_>,
    tree: &Tree,
    options: RunOptions<'_>,
    plain: bool,
    seeds: Vec<u64>,
    strength: f64,
    starts: Vec<(String, GivenInitial<'_>)>,
) -> PyResult<(Vec<Found>, Vec<Found>)> {
    let tree = Arc::clone(&tree.inner);
    let options = options.native(&tree)?;
    let starts = starts
        .iter()
        .map(|(name, given)| Ok((name, given.native(&tree)?)))
        .collect::<PyResult<Vec<_>>>()?;
    let mut watch = Watch::new(None);
    let start = Instant::now();
    let report = py.detach(|| {
        let mut runs = Restarts::new(&tree).options(options).strength(strength);
        if plain {
            runs = runs.plain();
        }
        runs = runs.pushes(seeds);
        for (name, initial) in starts {
            runs = runs.from(name, initial);
        }
        runs.observed_by(&mut watch)
    });
    let seconds = start.elapsed().as_secs_f64();
    let report = report.map_err(|e| run_error_in(&tree, &e))?;
    let ended = report.unsettled.last().map(|(_, p)| &p.termination);
    if let Some(error) = ended.and_then(|t| watch.take_error(&tree, t)) {
        return Err(error);
    }
    let made = |report| Posterior::new(report, Arc::clone(&tree), seconds);
    let points = report.fixed_points.into_iter().map(|point| {
        let starts = point.starts.iter().map(ToString::to_string).collect();
        (made(point.posterior), starts)
    });
    let unsettled = report.unsettled.into_iter();
    Ok((
        points.collect(),
        unsettled
            .map(|(start, report)| (made(report), vec![start.to_string()]))
            .collect(),
    ))
}

/// An estimate of $x$ from $y = |Wx|$, real (`im` is `None`) or complex, all real parts first.
#[pyfunction]
#[pyo3(signature = (re, im, y, seed))]
pub fn spectral_estimate<'py>(
    py: Python<'py>,
    re: PyReadonlyArray2<'py, f64>,
    im: Option<PyReadonlyArray2<'py, f64>>,
    y: PyReadonlyArray1<'py, f64>,
    seed: u64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (w, y) = (matrix(&re, "W")?, slice(&y)?.to_vec());
    let Some(im) = im else {
        let found = py.detach(|| native_estimate(&Dense::new(w), &y, seed));
        return Ok(flat(py, found.map_err(|e| model_error(&e))?));
    };
    let w = ComplexMatrix::from_parts(&w, &matrix(&im, "W")?).map_err(|e| model_error(&e))?;
    let found = py.detach(|| native_estimate(&ComplexDense::new(w), &y, seed));
    Ok(flat(py, halves(&found.map_err(|e| model_error(&e))?)))
}
