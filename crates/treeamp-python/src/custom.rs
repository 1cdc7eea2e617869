//! Factors written in Python: whole arrays, one entry into the interpreter per update.

use std::fmt;
use std::sync::Arc;

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rand::Rng;
use treeamp::FactorError;
use treeamp::belief::{Gaussian, Moments, SignalSpec};
use treeamp::error::ShapeError;
use treeamp::factor::{
    Arity, Context, EnsembleRule, Factor as AnyFactor, GenerativeRule, PosteriorRule,
    message_from_moments,
};
use treeamp::prelude::{IidLaw, ObservedLaw};
use treeamp::scalar::{Landmark, OutputMeasure, ScalarView};

use crate::array::{freeze, shaped, slice};
use crate::custom_law::{Function, PythonLikelihood, PythonPrior};
use crate::error::keep;
use crate::factor::Factor;

/// A prior or likelihood given as Python functions.
struct Custom {
    name: String,
    /// The signal: of a prior what it gives, of a likelihood what it takes; `None` in the limit.
    shape: Option<Vec<usize>>,
    is_prior: bool,
    /// `(a, b) -> (r, v)`.
    moments: Option<Py<PyAny>>,
    /// `(a, b) -> A`.
    log_partition: Option<Py<PyAny>>,
    /// `(seed) -> x`.
    sample: Option<Py<PyAny>>,
    /// Its twin for averages.
    theory: Option<Arc<dyn AnyFactor>>,
    /// `(tau) -> H[y | z]` of a likelihood, averaged over $z \sim N(0, \tau)$.
    noise_entropy: Option<Py<PyAny>>,
}

/// What state evolution needs of a custom factor.
#[derive(FromPyObject)]
pub struct Theory {
    /// `(a, b) -> (A, r, v)`, or `(a, b, y) -> (A, r, v)`.
    #[pyo3(item)]
    law: Py<PyAny>,
    /// Centres and widths of a prior.
    #[pyo3(item)]
    landmarks: Vec<(f64, f64)>,
    /// The outputs of a likelihood with finitely many.
    #[pyo3(item)]
    outputs: Option<Vec<f64>>,
    /// $\varphi$ of a likelihood $y = \varphi(z)$ that is nowhere flat.
    #[pyo3(item)]
    map: Option<Py<PyAny>>,
    /// `(tau) -> H[y | z]`.
    #[pyo3(item)]
    noise_entropy: Option<Py<PyAny>>,
}

/// A factor from Python functions: a prior on `shape`, or the likelihood of a signal of `shape`.
#[pyfunction]
#[pyo3(signature = (name, is_prior, shape, moments=None, log_partition=None, sample=None, theory=None))]
pub fn custom(
    name: String,
    is_prior: bool,
    shape: Option<Vec<usize>>,
    moments: Option<Py<PyAny>>,
    log_partition: Option<Py<PyAny>>,
    sample: Option<Py<PyAny>>,
    theory: Option<Theory>,
) -> Factor {
    let mut theory = theory;
    let noise_entropy = theory.as_mut().and_then(|t| t.noise_entropy.take());
    let theory = theory.map(|t| twin(&name, is_prior, shape.as_deref(), t));
    Factor::new(Custom {
        name,
        shape,
        is_prior,
        moments,
        log_partition,
        sample,
        theory,
        noise_entropy,
    })
}

fn twin(name: &str, is_prior: bool, shape: Option<&[usize]>, theory: Theory) -> Arc<dyn AnyFactor> {
    let law = Function::new(name, theory.law);
    if is_prior {
        let landmark = |(place, width): (f64, f64)| Landmark::spread(place, width);
        let landmarks = theory.landmarks.into_iter().map(landmark).collect();
        let prior = PythonPrior { law, landmarks };
        return match shape {
            Some(shape) => Arc::new(prior.shaped(shape)),
            None => Arc::new(prior.limit()),
        };
    }
    let outputs = theory
        .outputs
        .map_or_else(OutputMeasure::smooth, OutputMeasure::Finite);
    let map = theory.map.map(|map| Function::new(name, map));
    Arc::new(PythonLikelihood { law, outputs, map }.unspecified())
}

fn copy(from: &[f64], to: &mut [f64]) -> PyResult<()> {
    if from.len() == to.len() {
        to.copy_from_slice(from);
        return Ok(());
    }
    let text = format!("expected {} components, got {}", to.len(), from.len());
    Err(PyValueError::new_err(text))
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Custom {}", self.name)
    }
}

impl Custom {
    /// Calls a function at the incoming message, `b` being read only and of the signal's shape.
    fn call<T>(
        &self,
        function: Option<&Py<PyAny>>,
        x: &Gaussian,
        missing: &str,
        read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T, FactorError> {
        let function = function.ok_or_else(|| FactorError::Unsupported(missing.to_owned()))?;
        Python::attach(|py| {
            let shape = self.shape.clone().unwrap_or_else(|| vec![x.len()]);
            let b = shaped(py, &SignalSpec::real(shape), &x.linear)?;
            freeze(&b);
            read(&function.bind(py).call1((x.precision.scalar(), b))?)
        })
        .map_err(|error| {
            let text = error.to_string();
            keep(&self.name, error);
            FactorError::Failed(text)
        })
    }

    /// Writes the means and returns the average variance.
    fn fill(&self, x: &Gaussian, mean: &mut [f64]) -> Result<f64, FactorError> {
        let missing = "it has no mean and variance";
        let v = self.call(self.moments.as_ref(), x, missing, |answer| {
            let (r, v): (PyReadonlyArray1<'_, f64>, f64) = answer.extract()?;
            copy(slice(&r)?, mean)?;
            Ok(v)
        })?;
        if v < 0.0 || v.is_nan() {
            return Err(FactorError::Improper(format!("its variance is {v:e}")));
        }
        Ok(v)
    }
}

impl AnyFactor for Custom {
    fn name(&self) -> &str {
        &self.name
    }

    fn arity(&self) -> Arity {
        let outputs = usize::from(self.is_prior);
        Arity {
            inputs: 1 - outputs,
            outputs,
        }
    }

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        let own = match &self.shape {
            Some(shape) => SignalSpec::real(shape.clone()),
            None => SignalSpec::limit(1.0),
        };
        if self.is_prior {
            return Ok(vec![own]);
        }
        if self.shape.is_none() || inputs[0].len() == own.len() {
            return Ok(vec![]);
        }
        let expected = format!("{} components, one per observation", own.len());
        Err(ShapeError {
            port: 0,
            expected,
            got: format!("shape {}", inputs[0]),
        })
    }

    fn posterior(&self) -> Option<&dyn PosteriorRule> {
        self.moments.as_ref().map(|_| self as &dyn PosteriorRule)
    }

    fn ensemble(&self) -> Option<&dyn EnsembleRule> {
        self.theory.as_ref()?.ensemble()
    }

    fn noise_entropy(&self) -> Option<f64> {
        self.noise_entropy_at(1.0)
    }

    fn noise_entropy_at(&self, tau: f64) -> Option<f64> {
        let function = self.noise_entropy.as_ref()?;
        let answer = Python::attach(|py| function.bind(py).call1((tau,))?.extract());
        Some(answer.unwrap_or_else(|error| {
            keep(&self.name, error);
            f64::NAN
        }))
    }

    fn scalar(&self) -> Option<&dyn ScalarView> {
        self.theory.as_ref()?.scalar()
    }

    fn generator(&self) -> Option<&dyn GenerativeRule> {
        let draws = self.is_prior && self.sample.is_some();
        draws.then_some(self as &dyn GenerativeRule)
    }
}

impl PosteriorRule for Custom {
    fn log_partition(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
        let incoming = context.incoming;
        let x = incoming.get(0);
        if x.is_pinned() {
            let why = "its log-density at a known place is not known";
            return Err(FactorError::Unsupported(why.to_owned()));
        }
        let missing = "it has no log-partition";
        self.call(self.log_partition.as_ref(), x, missing, |answer| {
            answer.extract()
        })
    }

    fn moments(
        &self,
        context: &mut Context<'_>,
        _: usize,
        out: &mut Moments,
    ) -> Result<(), FactorError> {
        let incoming = context.incoming;
        let x = incoming.get(0);
        if x.is_pinned() {
            out.mean.copy_from_slice(&x.linear);
            out.variance.set_scalar(0.0);
            return Ok(());
        }
        let v = self.fill(x, &mut out.mean)?;
        out.variance.set_scalar(v);
        Ok(())
    }

    fn message(
        &self,
        context: &mut Context<'_>,
        _: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        let incoming = context.incoming;
        let x = incoming.get(0);
        if x.is_pinned() {
            out.set_flat();
            return Ok(());
        }
        let v = self.fill(x, &mut out.linear)?;
        out.precision.set_scalar(v);
        message_from_moments(x, out)
    }
}

impl GenerativeRule for Custom {
    /// What a function raises is kept for the end of the draw.
    fn sample(&self, _: &[&[f64]], outputs: &mut [Vec<f64>], rng: &mut dyn Rng) {
        let Some(function) = &self.sample else { return };
        let drawn = Python::attach(|py| -> PyResult<()> {
            let answer = function.bind(py).call1((rng.next_u64(),))?;
            let values: PyReadonlyArray1<'_, f64> = answer.extract()?;
            copy(slice(&values)?, &mut outputs[0])
        });
        if let Err(error) = drawn {
            keep(&self.name, error);
            outputs[0].fill(f64::NAN);
        }
    }
}
