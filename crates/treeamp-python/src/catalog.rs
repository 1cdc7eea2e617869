//! The modules by name, and those that take matrices and arrays.

use numpy::{
    Complex64, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArrayDyn, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use treeamp::catalog::channels::Region;
use treeamp::catalog::{
    self, Argument, Arguments, ArrayArgument, Module, Parameter, ParameterKind, Role, Signals,
};
use treeamp::extend::Factor;
use treeamp::operator::{ComplexDense, Filter, Unitary};
use treeamp::prelude::*;

use crate::array::{matrix, narrow_matrix, pairs, shared_matrix, slice, widened};
use crate::error::{model_error, model_error_of, model_message};
use crate::factor::Factor as PyFactor;
use crate::paired::PairedDft;

/// Name, role, names of parameters, what it supports.
type Entry = (&'static str, String, Vec<&'static str>, Vec<&'static str>);

/// An argument of a module: numbers, one or more, or an array of them, or a word.
#[derive(FromPyObject)]
pub enum Given {
    Word(String),
    Numbers(Vec<f64>),
    /// A shape, and numbers row by row.
    Array(Vec<usize>, Vec<f64>),
}

/// A count or an axis; what does not fit is refused by the module.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(x: f64) -> usize {
    x.max(0.0) as usize
}

/// An argument under the name that it has in Python.
type Named = (String, Given);

/// The names of the library and of Python, where they differ.
type Names = Vec<(&'static str, String)>;

/// The plain value of a parameter.
fn argument(module: &Module, parameter: &Parameter, (name, given): Named) -> PyResult<Argument> {
    let wrong = |got: String| {
        let (module, kind) = (module.name, parameter.kind);
        model_message(format!("{module}: `{name}` must be a {kind}, got {got}"))
    };
    let array = |shape, values| {
        Argument::Array(ArrayArgument {
            shape,
            values,
            complex: false,
        })
    };
    Ok(match (parameter.kind, given) {
        (ParameterKind::Choice(_), Given::Word(word)) => Argument::Word(word),
        (_, Given::Word(word)) => return Err(wrong(word)),
        (ParameterKind::Numbers, Given::Numbers(x)) => Argument::Numbers(x),
        (ParameterKind::Mask, Given::Numbers(x)) => array(vec![x.len()], x),
        (ParameterKind::Numbers | ParameterKind::Mask, Given::Array(shape, x)) => array(shape, x),
        (_, Given::Array(shape, _)) => return Err(wrong(format!("an array of shape {shape:?}"))),
        (ParameterKind::Shape, Given::Numbers(x)) => {
            Argument::Shape(x.into_iter().map(whole).collect())
        }
        (kind, Given::Numbers(x)) => match (kind, x.as_slice()) {
            (ParameterKind::Number, [x]) => Argument::Number(*x),
            (ParameterKind::Count | ParameterKind::Axis, [x]) => Argument::Count(whole(*x)),
            _ => return Err(wrong(format!("{x:?}"))),
        },
    })
}

/// The module of a name and its arguments, in the order of its parameters, without the size; and what these are called.
fn looked_up(
    what: &str,
    law: &str,
    roles: &[Role],
    given: Vec<Named>,
) -> PyResult<(&'static Module, Arguments, Names)> {
    let found = catalog::module(law).filter(|m| roles.contains(&m.role));
    let none = || model_message(format!("there is no {what} `{law}`"));
    let module = found.ok_or_else(none)?;
    let own = module.parameters.iter();
    let own: Vec<&Parameter> = own.filter(|p| p.kind != ParameterKind::Size).collect();
    if own.len() != given.len() {
        let (expected, got) = (own.len(), given.len());
        let text = format!("{law}: expected {expected} parameters, got {got}");
        return Err(model_message(text));
    }
    let (mut arguments, mut names) = (Arguments::new(), Names::new());
    for (parameter, given) in own.into_iter().zip(given) {
        if given.0 != parameter.name {
            names.push((parameter.name, given.0.clone()));
        }
        arguments = arguments.with(parameter.name, argument(module, parameter, given)?);
    }
    Ok((module, arguments, names))
}

/// Makes a module; the catalogue says whether its signal is complex. Errors use the names of Python.
fn made(
    module: &Module,
    arguments: &Arguments,
    names: &Names,
    complex: Vec<bool>,
) -> PyResult<PyFactor> {
    let names: Vec<_> = names.iter().map(|(old, new)| (*old, &**new)).collect();
    let inner = module.make(arguments);
    let inner = inner.map_err(|e| model_error_of(&e, &names))?;
    Ok(PyFactor { inner, complex })
}

fn checked<F: Factor>(factor: Result<F, ModelError>) -> PyResult<PyFactor> {
    factor.map(PyFactor::new).map_err(|e| model_error(&e))
}

/// A prior or a penalty of the catalogue, on a shape or (`None`) in the limit; a real law on both parts of complex
/// components with `complex`.
#[pyfunction]
#[pyo3(signature = (law, shape, parameters, complex=false))]
pub fn prior(
    law: &str,
    shape: Option<Vec<usize>>,
    parameters: Vec<Named>,
    complex: bool,
) -> PyResult<PyFactor> {
    let roles = [Role::Prior, Role::Penalty];
    let (module, arguments, names) = looked_up("prior", law, &roles, parameters)?;
    let arguments = match shape {
        Some(shape) => arguments.sized(shape),
        None => arguments.in_the_limit(1.0),
    };
    if complex && module.signals == Signals::Real {
        return made(module, &arguments.on_parts(), &names, vec![true]);
    }
    let is_complex = module.signals == Signals::Complex;
    let ports = if is_complex { vec![true] } else { Vec::new() };
    made(module, &arguments, &names, ports)
}

/// A channel of the catalogue that takes numbers and words, or a law of outputs alone.
#[pyfunction]
#[pyo3(signature = (law, parameters))]
pub fn channel(law: &str, parameters: Vec<Named>) -> PyResult<PyFactor> {
    let roles = [Role::Channel, Role::Likelihood, Role::Loss];
    let (module, arguments, names) = looked_up("channel", law, &roles, parameters)?;
    let ports = match module.signals {
        Signals::Any | Signals::Real | Signals::Rows => Vec::new(),
        Signals::Complex => vec![true, true],
        Signals::ComplexToReal => vec![true, false],
        Signals::ToComplex => vec![false, true],
    };
    made(module, &arguments, &names, ports)
}

/// Name, role and parameters of every module of the catalogue, and what it supports.
#[pyfunction]
pub fn modules() -> PyResult<Vec<Entry>> {
    let entry = |m: &Module| {
        let parameters = m.parameters.iter().map(|p| p.name).collect();
        let supports = m.supports().map_err(|e| model_error(&e))?;
        Ok((m.name, m.role.to_string(), parameters, supports))
    };
    catalog::modules().map(entry).collect()
}

/// The Fourier transform of a real signal below a law on its coefficients.
#[pyfunction]
pub fn paired_dft() -> PyFactor {
    PyFactor::complex(PairedDft, &[false, true])
}

/// A piecewise linear activation from `(start, end, offset, slope)` of its regions.
#[pyfunction]
pub fn piecewise(name: &str, regions: Vec<(f64, f64, f64, f64)>) -> PyResult<PyFactor> {
    let regions: Vec<Region> = regions
        .into_iter()
        .map(|(start, end, offset, slope)| Region {
            start,
            end,
            offset,
            slope,
        })
        .collect();
    checked(PiecewiseLinear::new(name, &regions))
}

/// A matrix with entries of 64 or 32 bits.
#[derive(FromPyObject)]
pub enum EitherMatrix<'py> {
    Wide(PyReadonlyArray2<'py, f64>),
    Narrow(PyReadonlyArray2<'py, f32>),
}

/// $x = W z$.
#[pyfunction]
pub fn linear(w: EitherMatrix<'_>, route: &str) -> PyResult<PyFactor> {
    let route = self::route(route)?;
    // the exact route decomposes a matrix of 64 bits by columns, as recorded runs have; the other one needs no copy
    let w = match (w, route) {
        (EitherMatrix::Narrow(w), Route::Exact) => widened(&w, "W")?,
        (EitherMatrix::Narrow(w), _) => narrow_matrix(&w, "W")?,
        (EitherMatrix::Wide(w), Route::Exact) => matrix(&w, "W")?,
        (EitherMatrix::Wide(w), _) => shared_matrix(&w, "W")?,
    };
    checked(Linear::new(w).map(|channel| channel.by(route)))
}

/// A route by its word.
pub fn route(word: &str) -> PyResult<Route> {
    word.parse().map_err(|e| model_error(&e))
}

/// $x_n = \sum_m h_m z_{n-m}$, circular, the origin of the kernel at index 0 of every axis.
#[pyfunction]
pub fn convolution(kernel: PyReadonlyArrayDyn<'_, f64>) -> PyResult<PyFactor> {
    let shape = kernel.shape().to_vec();
    let entries: Vec<f64> = kernel.as_array().iter().copied().collect();
    checked(Ok(Convolution::new(Filter::Kernel { shape, entries })))
}

/// The same of a complex signal with a complex kernel, given by its parts.
#[pyfunction]
pub fn complex_convolution(
    re: PyReadonlyArrayDyn<'_, f64>,
    im: PyReadonlyArrayDyn<'_, f64>,
) -> PyResult<PyFactor> {
    let shape = re.shape().to_vec();
    if im.shape() != shape {
        let (re, im) = (re.shape(), im.shape());
        let text = format!("convolution: parts of a kernel of shapes {re:?} and {im:?}");
        return Err(model_message(text));
    }
    let (re, im) = (re.as_array(), im.as_array());
    let entries = re.iter().zip(im.iter());
    let entries = entries.map(|(re, im)| Complex64::new(*re, *im)).collect();
    let channel = Convolution::new(Filter::ComplexKernel { shape, entries });
    Ok(PyFactor::complex(channel, &[true, true]))
}

/// $x = W z$ with a complex matrix, given by its parts; `unitary` checks that it is.
#[pyfunction]
pub fn complex_linear(
    re: PyReadonlyArray2<'_, f64>,
    im: PyReadonlyArray2<'_, f64>,
    unitary: bool,
    route: &str,
) -> PyResult<PyFactor> {
    let route = self::route(route)?;
    let name = if unitary { "U" } else { "W" };
    let w = ComplexMatrix::from_parts(&matrix(&re, name)?, &matrix(&im, name)?);
    let w = w.map_err(|e| model_error(&e))?;
    let channel = if unitary {
        let unitary = Unitary::new(w);
        Linear::of(unitary.map_err(|e| model_error_of(&e, &[("matrix", "U")]))?)
    } else {
        Linear::of(ComplexDense::new(w)).by(route)
    };
    Ok(PyFactor::complex(channel, &[true, true]))
}

/// Gaussian noise on both parts of a complex signal, observed (`None`: without values, for theory).
#[pyfunction]
#[pyo3(signature = (variance, y))]
pub fn complex_gaussian_likelihood(
    variance: f64,
    y: Option<PyReadonlyArray1<'_, f64>>,
) -> PyResult<PyFactor> {
    let law = GaussianLikelihood::new(variance).map_err(|e| model_error(&e))?;
    let law = PartsLikelihood::new(law);
    match &y {
        Some(y) => {
            let observed = law.observed(pairs(slice(y)?));
            let observed = observed.map_err(|e| model_error(&e))?;
            Ok(PyFactor::complex(observed, &[true]))
        }
        None => Ok(PyFactor::complex(law.unspecified(), &[true])),
    }
}

/// The same components in another shape.
#[pyfunction]
pub fn reshape(shape: Vec<usize>) -> PyResult<PyFactor> {
    checked(Ok(Reshape::to(shape)))
}

/// $x = R z$ with $R^T R = 1$.
#[pyfunction]
pub fn rotation(r: PyReadonlyArray2<'_, f64>) -> PyResult<PyFactor> {
    let rotation = Rotation::new(matrix(&r, "R")?);
    rotation
        .map(PyFactor::new)
        .map_err(|e| model_error_of(&e, &[("matrix", "R")]))
}

/// A linear channel in the limit: `gaussian`, `orthogonal`, or `eigenvalues` of $W^T W$.
#[pyfunction]
pub fn linear_ensemble(law: &str, alpha: f64, eigenvalues: Vec<f64>) -> PyResult<PyFactor> {
    match law {
        "gaussian" => checked(LinearEnsemble::gaussian(alpha)),
        "orthogonal" => checked(LinearEnsemble::orthogonal(alpha)),
        _ => checked(Spectrum::from_eigenvalues(&eigenvalues, alpha).map(LinearEnsemble::new)),
    }
}

/// A linear channel in the limit, by places and weights of the spectrum of $W^T W$.
#[pyfunction]
pub fn spectrum_ensemble(alpha: f64, nodes: Vec<(f64, f64)>) -> PyResult<PyFactor> {
    checked(Spectrum::from_nodes(nodes, alpha).map(LinearEnsemble::new))
}
