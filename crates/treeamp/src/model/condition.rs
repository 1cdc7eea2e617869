//! Observations: a channel becomes its likelihood, or its output is pinned.

use std::sync::Arc;

use super::assemble::{LooseFactor, LooseVariable, assemble};
use super::tree::{Direction, Tree};
use crate::belief::{Element, SignalSpec};
use crate::catalog::likelihoods::GaussianLikelihood;
use crate::error::ModelError;
use crate::factor::Factor;
use crate::scalar::Elem;
use crate::separable::ObservedLaw;

impl Tree {
    /// The tree given that the leaf `variable` took these values. Decompositions are shared with
    /// the original, so conditioning again on other values costs nothing.
    ///
    /// # Errors
    /// An unknown name, a variable that is not a leaf, a second observation of the same variable,
    /// values of the wrong length, not finite, or outside what the channel can produce, complex values
    /// of a real variable. A complex variable takes complex numbers, or their interleaved parts; one of pairs
    /// ([`SignalSpec::pairs`]) a number per pair, or the whole symmetric matrix, whose diagonal is not used.
    pub fn condition<E: Elem>(&self, variable: &str, values: &[E]) -> Result<Tree, ModelError> {
        let (index, producer) = self.leaf(variable)?;
        let refuse = |reason: String| self.refused(variable, producer, reason);
        let spec = &self.variables[index].spec;
        if E::ELEMENT == Element::Complex && spec.element == Element::Real {
            return Err(refuse("expected real values, got complex ones".to_owned()));
        }
        let values = E::storage(values);
        let packed = pairs_of(values, spec).map_err(refuse)?;
        let values = packed.as_deref().unwrap_or(values);
        check_values(values, E::ELEMENT, spec).map_err(refuse)?;
        let likelihood = match self.single_output(producer) {
            Some(factor) => factor.observe(values).map_err(refuse)?,
            None => None,
        };
        let pin = || {
            let pin = GaussianLikelihood::new(0.0)?.observed(values.to_vec())?;
            Ok(Arc::new(pin) as Arc<dyn Factor>)
        };
        self.replaced(index, producer, likelihood, pin, values.to_vec())
    }

    /// The tree given that the leaf `variable` is observed, whatever its value: for theory only.
    ///
    /// # Errors
    /// An unknown name, a variable that is not a leaf, a second observation of the same variable, a
    /// channel without a likelihood.
    pub fn expect(&self, variable: &str) -> Result<Tree, ModelError> {
        let (index, producer) = self.leaf(variable)?;
        let refuse = |reason: String| self.refused(variable, producer, reason);
        let likelihood = match self.single_output(producer) {
            Some(factor) => factor.observe_unspecified().map_err(refuse)?,
            None => None,
        };
        let pin = || Ok(Arc::new(GaussianLikelihood::new(0.0)?.unspecified()) as Arc<dyn Factor>);
        self.replaced(index, producer, likelihood, pin, Vec::new())
    }

    /// The same tree with `variable` also observed through Gaussian noise, for theory.
    pub(crate) fn with_pseudo_observation(
        &self,
        variable: &str,
        noise_variance: f64,
    ) -> Result<Tree, ModelError> {
        let index = self.variable(variable)?;
        let (variables, mut factors) = self.loosen();
        let factor = Arc::new(GaussianLikelihood::new(noise_variance)?.unspecified());
        factors.push(LooseFactor {
            name: None,
            factor,
            inputs: vec![index],
            outputs: vec![],
        });
        assemble(&variables, factors, self.observed.clone())
    }

    /// The same tree without its likelihoods, but for the last one, which sees `variable`.
    pub(crate) fn without_observations(&self, variable: &str) -> Result<Tree, ModelError> {
        self.variable(variable)?;
        let (variables, factors) = self.loosen();
        let last = factors.len() - 1;
        let kept = factors.into_iter().enumerate();
        let kept = kept
            .filter(|(k, f)| *k == last || !f.outputs.is_empty())
            .map(|(_, f)| f);
        assemble(&variables, kept.collect(), Vec::new())
    }

    /// The index of a variable that can be observed, and the factor that produces it.
    fn leaf(&self, variable: &str) -> Result<(usize, usize), ModelError> {
        if self.observed.iter().any(|(name, _)| name == variable) {
            return Err(ModelError::AlreadyObserved {
                variable: variable.to_owned(),
            });
        }
        let index = self.variable(variable)?;
        let edges = &self.variables[index].edges;
        let [edge] = edges.as_slice() else {
            let name = |e: &usize| format!("`{}`", self.factors[self.edges[*e].factor].name);
            let names: Vec<String> = edges.iter().map(name).collect();
            return Err(ModelError::NotALeaf {
                variable: variable.to_owned(),
                neighbours: names.join(", "),
            });
        };
        Ok((index, self.edges[*edge].factor))
    }

    fn refused(&self, variable: &str, producer: usize, reason: String) -> ModelError {
        let factor = self.factors[producer].name.clone();
        ModelError::Observation {
            variable: variable.to_owned(),
            factor,
            reason,
        }
    }

    /// The module of a factor with one output, which alone can turn into a likelihood.
    fn single_output(&self, factor: usize) -> Option<&dyn Factor> {
        let node = &self.factors[factor];
        (node.edges.len() - node.inputs == 1).then_some(node.factor.as_ref())
    }

    /// The tree with the producer replaced by its likelihood, or else with the variable pinned.
    fn replaced(
        &self,
        index: usize,
        producer: usize,
        likelihood: Option<Arc<dyn Factor>>,
        pin: impl Fn() -> Result<Arc<dyn Factor>, ModelError>,
        values: Vec<f64>,
    ) -> Result<Tree, ModelError> {
        let (mut variables, mut factors) = self.loosen();
        if let Some(likelihood) = likelihood {
            let slot = &mut factors[producer];
            slot.factor = likelihood;
            if !self.factors[producer].named {
                slot.name = None;
            }
            slot.outputs.clear();
            variables.remove(index);
            let ends = factors
                .iter_mut()
                .flat_map(|f| f.inputs.iter_mut().chain(&mut f.outputs));
            ends.filter(|v| **v > index).for_each(|v| *v -= 1);
        } else {
            let factor = pin()?;
            factors.push(LooseFactor {
                name: None,
                factor,
                inputs: vec![index],
                outputs: vec![],
            });
        }
        let mut observed = self.observed.clone();
        observed.push((self.variables[index].name.clone(), values));
        assemble(&variables, factors, observed)
    }

    /// The nodes and wires it was assembled from.
    fn loosen(&self) -> (Vec<LooseVariable>, Vec<LooseFactor>) {
        let variables = self
            .variables
            .iter()
            .map(|v| LooseVariable {
                name: v.name.clone(),
                structure: v.spec.structure,
            })
            .collect();
        let factors = self
            .factors
            .iter()
            .map(|f| {
                let side = |direction| {
                    let edges = f.edges.iter().map(|e| self.edges[*e]);
                    edges
                        .filter(|e| e.direction == direction)
                        .map(|e| e.variable)
                        .collect()
                };
                LooseFactor {
                    name: f.named.then(|| f.name.clone()),
                    factor: Arc::clone(&f.factor),
                    inputs: side(Direction::Backward),
                    outputs: side(Direction::Forward),
                }
            })
            .collect();
        (variables, factors)
    }
}

/// How far apart the two entries of a pair may be, relative to the largest, to count as one observation.
const ASYMMETRY: f64 = 1e-9;

/// The pairs $i < j$ of a whole symmetric matrix, where it is given as that.
fn pairs_of(values: &[f64], spec: &SignalSpec) -> Result<Option<Vec<f64>>, String> {
    let Some(n) = spec.pairs else { return Ok(None) };
    if values.len() == spec.len() {
        return Ok(None);
    }
    if values.len() != n * n {
        return Err(format!(
            "expected {} values, one per pair i < j of {n}, or a symmetric {n} x {n} matrix, got {} values",
            spec.len(),
            values.len()
        ));
    }
    let scale = values.iter().fold(0.0, |s: f64, y| s.max(y.abs()));
    let mut pairs = Vec::with_capacity(spec.len());
    for i in 0..n {
        for j in i + 1..n {
            let (y, other) = (values[i * n + j], values[j * n + i]);
            if (y - other).abs() > ASYMMETRY * scale {
                return Err(format!(
                    "expected a symmetric matrix, got {y} at ({i}, {j}) and {other} at ({j}, {i})"
                ));
            }
            pairs.push(y);
        }
    }
    Ok(Some(pairs))
}

fn check_values(values: &[f64], given: Element, spec: &SignalSpec) -> Result<(), String> {
    let expected = spec.len();
    if values.len() != expected && spec.element == Element::Complex {
        return Err(format!(
            "expected {} complex values, or {expected} interleaved parts of them, got {} {given} ones",
            spec.count(),
            values.len() / if given == Element::Complex { 2 } else { 1 }
        ));
    }
    if values.len() != expected {
        return Err(format!("expected {expected} values, got {}", values.len()));
    }
    match values.iter().position(|y| !y.is_finite()) {
        Some(i) => Err(format!(
            "expected finite values, got {} at index {i}",
            values[i]
        )),
        None => Ok(()),
    }
}
