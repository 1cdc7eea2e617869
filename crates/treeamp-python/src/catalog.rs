//! The modules by name: one line each.

use numpy::{
    Complex64, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArrayDyn, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use treeamp::catalog::channels::Region;
use treeamp::operator::{ComplexDense, Filter, Unitary};
use treeamp::prelude::*;

use crate::array::{matrix, pairs, slice};
use crate::error::{model_error, model_message};
use crate::factor::Factor as PyFactor;
use crate::paired::PairedDft;

/// The parameters of a module, in the order of its constructor.
struct Parameters<'a> {
    module: &'a str,
    values: Vec<Vec<f64>>,
}

impl Parameters<'_> {
    fn list(&self, index: usize) -> PyResult<&[f64]> {
        let missing = || model_message(format!("{}: parameter {index} is missing", self.module));
        Ok(self.values.get(index).ok_or_else(missing)?)
    }

    fn number(&self, index: usize) -> PyResult<f64> {
        let missing = || model_message(format!("{}: parameter {index} is empty", self.module));
        self.list(index)?.first().copied().ok_or_else(missing)
    }

    /// A number of variables; what does not fit is refused by the module.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn count(&self, index: usize) -> PyResult<usize> {
        Ok(self.number(index)?.max(0.0) as usize)
    }
}

/// A law on a shape, or in the limit of large sizes.
fn placed<P: IidLaw>(
    law: Result<P, ModelError>,
    shape: Option<Vec<usize>>,
    complex: bool,
) -> PyResult<PyFactor> {
    let law = law.map_err(|e| model_error(&e))?;
    if complex {
        let law = PartsPrior::new(law);
        return Ok(match shape {
            Some(shape) => PyFactor::complex(law.shaped(shape), &[true]),
            None => PyFactor::complex(law.limit(), &[true]),
        });
    }
    Ok(match shape {
        Some(shape) => PyFactor::new(law.shaped(shape)),
        None => PyFactor::new(law.limit()),
    })
}

fn checked<F: Factor>(factor: Result<F, ModelError>) -> PyResult<PyFactor> {
    factor.map(PyFactor::new).map_err(|e| model_error(&e))
}

/// A prior of the catalogue, on a shape or (`None`) in the limit; on both parts of complex components.
#[pyfunction]
#[pyo3(signature = (law, shape, parameters, complex=false))]
pub fn prior(
    law: &str,
    shape: Option<Vec<usize>>,
    parameters: Vec<Vec<f64>>,
    complex: bool,
) -> PyResult<PyFactor> {
    let p = Parameters {
        module: law,
        values: parameters,
    };
    match law {
        "gaussian" => placed(
            GaussianPrior::new(p.number(0)?, p.number(1)?),
            shape,
            complex,
        ),
        "gauss_bernoulli" => placed(
            GaussBernoulli::new(p.number(0)?, p.number(1)?, p.number(2)?),
            shape,
            complex,
        ),
        "gaussian_mixture" => placed(
            GaussianMixture::new(p.list(0)?, p.list(1)?, p.list(2)?),
            shape,
            complex,
        ),
        "binary" => placed(Binary::new(p.number(0)?), shape, complex),
        "exponential" => placed(Exponential::new(p.number(0)?), shape, complex),
        "positive" => placed(Positive::new(p.number(0)?, p.number(1)?), shape, complex),
        "interval" => placed(
            Interval::new(p.number(0)?, p.number(1)?, p.number(2)?, p.number(3)?),
            shape,
            complex,
        ),
        other => Err(model_message(format!("there is no prior `{other}`"))),
    }
}

/// A channel of the catalogue that takes numbers.
#[pyfunction]
#[pyo3(signature = (law, parameters))]
pub fn channel(law: &str, parameters: Vec<Vec<f64>>) -> PyResult<PyFactor> {
    let p = Parameters {
        module: law,
        values: parameters,
    };
    match law {
        "gaussian_noise" => checked(GaussianNoise::new(p.number(0)?)),
        "sign" => checked(Ok(PiecewiseLinear::sign())),
        "abs" => checked(Ok(PiecewiseLinear::abs())),
        "asymmetric_abs" => checked(PiecewiseLinear::asymmetric_abs(p.number(0)?)),
        "relu" => checked(Ok(PiecewiseLinear::relu())),
        "leaky_relu" => checked(PiecewiseLinear::leaky_relu(p.number(0)?)),
        "hard_tanh" => checked(Ok(PiecewiseLinear::hard_tanh())),
        "hard_sigmoid" => checked(PiecewiseLinear::hard_sigmoid(p.number(0)?)),
        "symmetric_door" => checked(PiecewiseLinear::symmetric_door(p.number(0)?)),
        "tanh" => checked(Ok(Activation::tanh())),
        "sigmoid" => checked(Ok(Activation::sigmoid())),
        "softplus" => checked(Ok(Activation::softplus())),
        "bias" => checked(Bias::new(p.list(0)?)),
        "sum" => checked(Sum::new(p.count(0)?)),
        "duplicate" => checked(Duplicate::new(p.count(0)?)),
        "modulus" => Ok(PyFactor::complex(Modulus, &[true, false])),
        "dft" => Ok(PyFactor::complex(Dft, &[false, true])),
        "paired_dft" => Ok(PyFactor::complex(PairedDft, &[false, true])),
        "complex_dft" => Ok(PyFactor::complex(Dft, &[true, true])),
        "laplacian" => checked(Ok(Convolution::laplacian())),
        "gaussian_blur" => checked(Ok(Convolution::new(Filter::GaussianBlur(
            p.list(0)?.to_vec(),
        )))),
        "real_dft" => checked(Ok(RealDft)),
        "mask" => checked(Ok(Mask::new(
            p.list(0)?.iter().map(|x| *x != 0.0).collect(),
        ))),
        "concatenate" => checked(Concatenate::along(p.count(0)?, p.count(1)?)),
        "gradient" => checked(Ok(Gradient::periodic())),
        other => Err(model_message(format!("there is no channel `{other}`"))),
    }
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

/// $x = W z$.
#[pyfunction]
pub fn linear(w: PyReadonlyArray2<'_, f64>) -> PyResult<PyFactor> {
    checked(Linear::new(matrix(&w)?))
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
) -> PyResult<PyFactor> {
    let w = ComplexMatrix::from_parts(&matrix(&re)?, &matrix(&im)?);
    let w = w.map_err(|e| model_error(&e))?;
    let channel = if unitary {
        Linear::of(Unitary::new(w).map_err(|e| model_error(&e))?)
    } else {
        Linear::of(ComplexDense::new(w))
    };
    Ok(PyFactor::complex(channel, &[true, true]))
}

/// Gaussian noise on both parts of a complex signal, observed (`None`: and not told).
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
    checked(Rotation::new(matrix(&r)?))
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
