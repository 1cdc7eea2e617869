//! The ports of a module: which are complex, what fits them, and what its rules need besides messages.

use std::sync::Arc;

use numpy::{PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use treeamp::FactorError;
use treeamp::belief::{Element, Gaussian, SignalSpec};
use treeamp::factor::{EnsembleRule, Factor as AnyFactor, PosteriorRule, Site};

use crate::array::{halves, pairs, signal};
use crate::error::{factor_error, model_message, named, raised};
use crate::factor::Factor;

/// A factor for the signals at its ports, those signals, and the messages that come in.
type AtPorts = (Arc<dyn AnyFactor>, Vec<SignalSpec>, Vec<Gaussian>);
/// An array of any number of axes.
pub type Shaped<'py> = PyReadonlyArrayDyn<'py, f64>;

impl Factor {
    pub fn is_complex(&self, port: usize) -> bool {
        self.complex.get(port).copied().unwrap_or(false)
    }

    pub fn name(&self) -> &str {
        self.inner.name()
    }

    pub fn missing(&self, rule: &str) -> PyErr {
        model_message(format!("factor `{}` has no {rule} rule", self.name()))
    }

    pub fn rule<'a>(&self, bound: &'a Arc<dyn AnyFactor>) -> PyResult<&'a dyn PosteriorRule> {
        let rule = bound.posterior();
        rule.ok_or_else(|| self.missing("expectation propagation (posterior)"))
    }

    /// What a rule answered, unless user code raised meanwhile.
    pub fn or_raise<T>(&self, answer: Result<T, FactorError>) -> PyResult<T> {
        match raised() {
            Some((_, source)) => Err(named(source, self.name())),
            None => answer.map_err(|e| factor_error(self.name(), &e)),
        }
    }

    pub fn wrong(&self, port: usize, expected: &str, got: &str) -> PyErr {
        let name = self.name();
        model_message(format!(
            "factor `{name}`, port {port}: expected {expected}, got {got}"
        ))
    }

    /// The components at a port as Python has them.
    pub fn parts(&self, port: usize, values: Vec<f64>) -> Vec<f64> {
        if self.is_complex(port) {
            halves(&values)
        } else {
            values
        }
    }

    /// The factor for signals of given shapes, as a tree would hold it.
    pub fn bound(&self, inputs: &[SignalSpec]) -> PyResult<Arc<dyn AnyFactor>> {
        let bound = self.inner.bind(inputs);
        let bound = bound.map_err(|e| self.wrong(e.port, &e.expected, &e.got))?;
        Ok(bound.unwrap_or_else(|| Arc::clone(&self.inner)))
    }

    pub fn average(&self) -> PyResult<&dyn EnsembleRule> {
        let rule = self.inner.ensemble();
        rule.ok_or_else(|| self.missing("state evolution (ensemble)"))
    }

    /// Messages of the shapes given, checked against what the factor takes and gives.
    pub fn incoming(&self, messages: &[(f64, Shaped<'_>)]) -> PyResult<AtPorts> {
        self.check_ports(&[messages.len()], 0)?;
        let shapes = messages.iter().map(|(_, b)| b.shape()).enumerate();
        let specs: PyResult<Vec<SignalSpec>> = shapes
            .map(|(port, shape)| signal(shape, self.is_complex(port)))
            .collect();
        let specs = specs?;
        let inputs = self.inner.arity().inputs;
        let bound = self.bound(&specs[..inputs])?;
        let outputs = bound.output_specs(&specs[..inputs]);
        let outputs = outputs.map_err(|e| self.wrong(e.port, &e.expected, &e.got))?;
        for (port, (expected, got)) in outputs.iter().zip(&specs[inputs..]).enumerate() {
            if expected.ratio.is_none() && expected.len() != got.len() {
                let (expected, got) = (format!("shape {expected}"), format!("shape {got}"));
                return Err(self.wrong(inputs + port, &expected, &got));
            }
        }
        let read = |((a, b), spec): (&(f64, Shaped<'_>), &SignalSpec)| {
            let mut message = Gaussian::flat(spec);
            message.precision.set_scalar(*a);
            let values = b.as_slice();
            let values = values.map_err(|_| PyValueError::new_err("expected contiguous arrays"))?;
            if spec.element == Element::Complex {
                message.linear = pairs(values);
            } else {
                message.linear.copy_from_slice(values);
            }
            Ok(message)
        };
        let read: PyResult<_> = messages.iter().zip(&specs).map(read).collect();
        Ok((bound, specs, read?))
    }

    /// Refuses lists that are not one per port, and ports that are not there.
    pub fn check_ports(&self, lists: &[usize], port: usize) -> PyResult<()> {
        let arity = self.inner.arity();
        let ports = arity.inputs + arity.outputs;
        if port < ports && lists.iter().all(|n| *n == ports) {
            return Ok(());
        }
        let text = format!(
            "factor `{}` has {ports} ports, got {lists:?} and {port}",
            self.name()
        );
        Err(model_message(text))
    }

    /// The factor with messages at its ports, ready to answer.
    pub fn site<'a>(
        &self,
        bound: &'a Arc<dyn AnyFactor>,
        specs: &[SignalSpec],
        messages: Vec<Gaussian>,
    ) -> PyResult<Site<'a>> {
        self.or_raise(bound.prepare())?;
        self.rule(bound)?;
        Ok(Site::new(bound.as_ref(), specs, messages))
    }
}
