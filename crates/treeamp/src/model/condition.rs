//! Observations: a channel becomes its likelihood, or its output is pinned.

use std::sync::Arc;

use super::assemble::{LooseFactor, LooseVariable, assemble};
use super::tree::{Direction, Tree};
use crate::catalog::likelihoods::GaussianLikelihood;
use crate::error::ModelError;
use crate::separable::ObservedLaw;

impl Tree {
    /// The tree given that the leaf `variable` took these values. Decompositions are shared with
    /// the original, so conditioning again on other values costs nothing.
    ///
    /// # Errors
    /// An unknown name, a variable that is not a leaf, a second observation of the same variable,
    /// values of the wrong length, not finite, or outside what the channel can produce.
    pub fn condition(&self, variable: &str, values: &[f64]) -> Result<Tree, ModelError> {
        if self.observed.iter().any(|(name, _)| name == variable) {
            return Err(ModelError::AlreadyObserved {
                variable: variable.to_owned(),
            });
        }
        let index = self.variable(variable)?;
        let node = &self.variables[index];
        let [edge] = node.edges.as_slice() else {
            let names: Vec<String> = node
                .edges
                .iter()
                .map(|e| format!("`{}`", self.factors[self.edges[*e].factor].name))
                .collect();
            return Err(ModelError::NotALeaf {
                variable: variable.to_owned(),
                neighbours: names.join(", "),
            });
        };
        let producer = self.edges[*edge].factor;
        let refuse = |reason: String| ModelError::Observation {
            variable: variable.to_owned(),
            factor: self.factors[producer].name.clone(),
            reason,
        };
        check_values(values, node.spec.len()).map_err(refuse)?;
        let factor = &self.factors[producer];
        let likelihood = if factor.edges.len() - factor.inputs == 1 {
            factor.factor.observe(values).map_err(refuse)?
        } else {
            None
        };
        let (mut variables, mut factors) = self.loosen();
        if let Some(likelihood) = likelihood {
            let slot = &mut factors[producer];
            slot.factor = likelihood;
            slot.name = None;
            slot.outputs.clear();
            variables.remove(index);
            let ends = factors
                .iter_mut()
                .flat_map(|f| f.inputs.iter_mut().chain(&mut f.outputs));
            ends.filter(|v| **v > index).for_each(|v| *v -= 1);
        } else {
            let pin = GaussianLikelihood::new(0.0)?.observed(values.to_vec())?;
            factors.push(LooseFactor {
                name: None,
                factor: Arc::new(pin),
                inputs: vec![index],
                outputs: vec![],
            });
        }
        let mut observed = self.observed.clone();
        observed.push((variable.to_owned(), values.to_vec()));
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
                    name: Some(f.name.clone()),
                    factor: Arc::clone(&f.factor),
                    inputs: side(Direction::Backward),
                    outputs: side(Direction::Forward),
                }
            })
            .collect();
        (variables, factors)
    }
}

fn check_values(values: &[f64], expected: usize) -> Result<(), String> {
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
