//! The modules by name: one line each.

use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use treeamp::catalog::channels::Region;
use treeamp::prelude::*;

use crate::array::matrix;
use crate::error::{model_error, model_message};
use crate::factor::Factor as PyFactor;

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
fn placed<P: IidLaw>(law: Result<P, ModelError>, shape: Option<Vec<usize>>) -> PyResult<PyFactor> {
    let law = law.map_err(|e| model_error(&e))?;
    Ok(match shape {
        Some(shape) => PyFactor::new(law.shaped(shape)),
        None => PyFactor::new(law.limit()),
    })
}

fn checked<F: Factor>(factor: Result<F, ModelError>) -> PyResult<PyFactor> {
    factor.map(PyFactor::new).map_err(|e| model_error(&e))
}

/// A prior of the catalogue, on a shape or (`None`) in the limit.
#[pyfunction]
#[pyo3(signature = (law, shape, parameters))]
pub fn prior(
    law: &str,
    shape: Option<Vec<usize>>,
    parameters: Vec<Vec<f64>>,
) -> PyResult<PyFactor> {
    let p = Parameters {
        module: law,
        values: parameters,
    };
    match law {
        "gaussian" => placed(GaussianPrior::new(p.number(0)?, p.number(1)?), shape),
        "gauss_bernoulli" => placed(
            GaussBernoulli::new(p.number(0)?, p.number(1)?, p.number(2)?),
            shape,
        ),
        "gaussian_mixture" => placed(
            GaussianMixture::new(p.list(0)?, p.list(1)?, p.list(2)?),
            shape,
        ),
        "binary" => placed(Binary::new(p.number(0)?), shape),
        "exponential" => placed(Exponential::new(p.number(0)?), shape),
        "positive" => placed(Positive::new(p.number(0)?, p.number(1)?), shape),
        "interval" => placed(
            Interval::new(p.number(0)?, p.number(1)?, p.number(2)?, p.number(3)?),
            shape,
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
