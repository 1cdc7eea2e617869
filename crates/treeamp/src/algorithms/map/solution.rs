//! The minimiser as a point of the whole tree, and its energy.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::MaximumAPosteriori;
use crate::belief::{Gaussian, Message as _, Moments};
use crate::engine::Report;
use crate::error::{ModelError, RunError};
use crate::factor::{Factor, Incoming, ProximalRule};
use crate::model::{Direction, Tree};

/// A place for every variable, such that channels give what they take, and the energy of every factor there.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    names: Vec<String>,
    places: Vec<Vec<f64>>,
    /// The energy of every factor, by name.
    pub energies: Vec<(String, f64)>,
}

impl Solution {
    /// The place of a variable, row-major.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`].
    pub fn place(&self, variable: &str) -> Result<&[f64], ModelError> {
        let index = self.names.iter().position(|n| n == variable);
        let unknown = || ModelError::UnknownVariable {
            variable: variable.to_owned(),
            known: self.names.join(", "),
        };
        index.map(|i| self.places[i].as_slice()).ok_or_else(unknown)
    }

    /// $E(x) = \sum_k E_k(x_k)$.
    #[must_use]
    pub fn energy(&self) -> f64 {
        self.energies.iter().map(|(_, e)| e).sum()
    }
}

impl Report<MaximumAPosteriori> {
    /// The minimiser of the tree that was run on. A variable with a penalty is where that penalty has its mode: zeros of a
    /// sparse signal are zeros, and constraints hold. The output of a channel without noise is computed from its inputs.
    ///
    /// # Errors
    /// Another tree, a penalty without a mode at the final messages, or constraints that cannot hold together.
    pub fn solution(&self, tree: &Tree) -> Result<Solution, RunError> {
        for variable in tree.variables() {
            let (expected, got) = (variable.spec.len(), self.minimiser(&variable.name)?.len());
            if expected != got {
                return Err(RunError::NotDefined {
                    what: "the solution".to_owned(),
                    why: format!(
                        "expected the tree of the run, got one where `{}` has {expected} numbers in place of {got}",
                        variable.name
                    ),
                });
            }
        }
        let mut places: Vec<Option<Vec<f64>>> = vec![None; tree.variables().len()];
        for f in tree.order() {
            self.place_outputs(tree, *f, &mut places)?;
        }
        let names: Vec<String> = tree.variables().iter().map(|v| v.name.clone()).collect();
        let found = places.into_iter().zip(&names).map(|(place, name)| {
            let own = |name| self.minimiser(name).map(<[f64]>::to_vec);
            place.map_or_else(|| own(name), Ok)
        });
        let places = found.collect::<Result<Vec<_>, ModelError>>()?;
        let mut energies = Vec::new();
        for node in tree.factors() {
            let at = |e: &usize| places[tree.edges()[*e].variable].as_slice();
            let ports: Vec<&[f64]> = node.edges.iter().map(at).collect();
            let rule = node.factor.proximal();
            let energy = rule.map_or(f64::NAN, |r| r.energy(&ports));
            if !energy.is_finite() {
                return Err(RunError::NotDefined {
                    what: "the minimiser".to_owned(),
                    why: format!(
                        "expected a point of finite energy, got {energy} at factor `{}`: its constraint does not hold together \
                         with the others",
                        node.name
                    ),
                });
            }
            energies.push((node.name.clone(), energy));
        }
        Ok(Solution {
            names,
            places,
            energies,
        })
    }

    /// The outputs of factor `f`, whose inputs are placed.
    fn place_outputs(
        &self,
        tree: &Tree,
        f: usize,
        places: &mut [Option<Vec<f64>>],
    ) -> Result<(), RunError> {
        let node = &tree.factors()[f];
        let variable = |e: &usize| tree.edges()[*e].variable;
        let (inputs, outputs) = node.edges.split_at(node.inputs);
        let determined = node.factor.proximal().filter(|r| r.determines_outputs());
        if let (Some(_), Some(generator)) = (determined, node.factor.generator()) {
            for v in inputs.iter().map(variable) {
                if places[v].is_none() {
                    places[v] = Some(self.own_place(tree, v)?);
                }
            }
            let taken: Vec<&[f64]> = inputs
                .iter()
                .map(|e| places[variable(e)].as_deref().unwrap_or_default())
                .collect();
            let blank = |e: &usize| vec![0.0; tree.variables()[variable(e)].spec.len()];
            let mut given: Vec<Vec<f64>> = outputs.iter().map(blank).collect();
            // it draws nothing
            generator.sample(&taken, &mut given, &mut ChaCha8Rng::seed_from_u64(0));
            for (e, place) in outputs.iter().zip(given) {
                places[variable(e)].get_or_insert(place);
            }
            return Ok(());
        }
        for v in outputs.iter().map(variable) {
            let determined = tree.variables()[v].edges.iter().any(|e| {
                let edge = tree.edges()[*e];
                let rule = tree.factors()[edge.factor].factor.proximal();
                edge.direction == Direction::Forward
                    && rule.is_some_and(ProximalRule::determines_outputs)
            });
            if !determined && places[v].is_none() {
                places[v] = Some(self.own_place(tree, v)?);
            }
        }
        Ok(())
    }

    /// The mode of the penalty at a variable, or the mode of all messages.
    fn own_place(&self, tree: &Tree, v: usize) -> Result<Vec<f64>, RunError> {
        let variable = &tree.variables()[v];
        let penalty = variable.edges.iter().find(|e| {
            let rule = tree.factors()[tree.edges()[**e].factor].factor.proximal();
            rule.is_some_and(ProximalRule::is_penalty)
        });
        let place = self.minimiser(&variable.name)?;
        let Some(e) = penalty else {
            return Ok(place.to_vec());
        };
        let node = &tree.factors()[tree.edges()[*e].factor];
        let factor: &dyn Factor = node.factor.as_ref();
        let mut cavity = Gaussian::flat(&variable.spec);
        for other in variable.edges.iter().filter(|o| *o != e) {
            let other = &tree.factors()[tree.edges()[*other].factor].name;
            if let Some(message) = self.messages.get(other, &variable.name) {
                cavity.add_assign(message);
            }
        }
        let mut mode = Moments::zeros(&variable.spec);
        let mut work = vec![0.0; factor.workspace_len(std::slice::from_ref(&variable.spec))];
        let store = [cavity];
        let found = factor
            .proximal()
            .map(|r| r.mode(Incoming::new(&store, &[0]), 0, &mut mode, &mut work));
        // a cavity that says nothing has no mode of its own: the belief stands
        match found {
            Some(Ok(())) => Ok(mode.mean),
            _ => Ok(place.to_vec()),
        }
    }
}
