//! A point of the whole tree that satisfies its channels, and its energy.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::algorithms::map::MaximumAPosteriori;
use crate::belief::{Gaussian, mean_square};
use crate::engine::Report;
use crate::engine::graph::{Graph, alone};
use crate::error::{ModelError, RunError};
use crate::factor::ProximalRule;
use crate::model::{Direction, FactorNode, Tree, Variable};

/// A value for every variable that satisfies all channels, and the energy of every factor there.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    names: Vec<String>,
    places: Vec<Vec<f64>>,
    /// The energy of every factor, by name.
    pub energies: Vec<(String, f64)>,
}

impl Solution {
    /// The value of a variable, row-major.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`].
    pub fn point(&self, variable: &str) -> Result<&[f64], ModelError> {
        let index = self.names.iter().position(|n| n == variable);
        let unknown = || ModelError::UnknownVariable {
            variable: variable.to_owned(),
            known: self.names.join(", "),
        };
        index.map(|i| self.places[i].as_slice()).ok_or_else(unknown)
    }

    /// $E(x) = \sum_k E_k(x_k)$: of a prior $\ln p(x^*) - \ln p(x)$ with its mode $x^*$, which is zero at best; of Gaussian noise $|y - z|^2/2\Delta$; of
    /// other likelihoods $-\ln p(y \mid z)$ as it stands; losses and penalties as they are written. It differs from $-\ln p(x, y)$ by
    /// constants of the model: compare energies of one model only.
    #[must_use]
    pub fn energy(&self) -> f64 {
        self.energies.iter().map(|(_, e)| e).sum()
    }

    /// The point of messages by edge.
    ///
    /// # Errors
    /// Constraints that do not hold together.
    pub(in crate::algorithms) fn of(tree: &Tree, messages: &[Gaussian]) -> Result<Self, RunError> {
        let places = Graph::new(tree, messages).places();
        placed(tree, &messages.iter().collect::<Vec<_>>(), &places)
    }

    pub(in crate::algorithms) fn places(&self) -> &[Vec<f64>] {
        &self.places
    }

    /// The energy of every factor where some variables have other places. Outputs of channels follow.
    pub(super) fn energies_from(&self, tree: &Tree, places: Vec<Option<Vec<f64>>>) -> Vec<f64> {
        let mut placing = PrimalPoint {
            tree,
            messages: &[],
            beliefs: &self.places,
            places,
        };
        tree.order().iter().for_each(|f| placing.place_outputs(*f));
        let places = placing.finish();
        energies_at(tree, &places).map(|(_, e)| e).collect()
    }

    /// $\sum_k|E_k(x + \delta) - E_k(x)|$, where $\delta$ is this fraction of the scale of every variable that no channel makes
    /// of others, with signs that do not repeat.
    pub(super) fn change_of_energies(&self, tree: &Tree, fraction: f64) -> f64 {
        let moved = |(place, free): (&Vec<f64>, bool)| {
            let step = fraction * mean_square(place).sqrt();
            let all = place.iter().enumerate().map(|(i, x)| x + step * sign(i));
            free.then(|| all.collect())
        };
        let places = self.places.iter().zip(undetermined(tree)).map(moved);
        let there = self.energies_from(tree, places.collect());
        let pairs = there.iter().zip(&self.energies);
        let changes = pairs.map(|(there, (_, here))| (there - here).abs());
        changes.filter(|change| change.is_finite()).sum()
    }
}

impl Report<MaximumAPosteriori> {
    /// The minimiser of the tree that was run on. A variable with a penalty is where that penalty has its mode: zeros of a
    /// sparse signal are zeros, and constraints hold. The output of a channel without noise is computed from its inputs,
    /// also where it has a penalty of its own: differences of an image that are zero are so up to the rounding of its pixels, and exactly
    /// zero in [`minimiser`](Self::minimiser) where none of them is active.
    ///
    /// # Errors
    /// A run that did not converge, another tree, or constraints that do not hold together.
    pub fn solution(&self, tree: &Tree) -> Result<Solution, RunError> {
        if !self.termination.is_converged() {
            return Err(RunError::NotReached {
                what: "a minimiser".to_owned(),
                termination: self.termination.to_string(),
            });
        }
        self.solution_so_far(tree)
    }

    /// The same wherever the run ended, settled or not: its energy is no lower than the least.
    ///
    /// # Errors
    /// Another tree, or constraints that do not hold together.
    pub fn solution_so_far(&self, tree: &Tree) -> Result<Solution, RunError> {
        for variable in tree.variables() {
            let (expected, got) = (variable.spec.len(), self.minimiser(&variable.name)?.len());
            if expected != got {
                let what = format!(
                    "one where `{}` has {expected} numbers in place of {got}",
                    variable.name
                );
                return Err(other_tree(&what));
            }
        }
        let mut messages = Vec::with_capacity(tree.edges().len());
        for edge in tree.edges() {
            let factor = &tree.factors()[edge.factor].name;
            let message = self
                .messages
                .get(factor, &tree.variables()[edge.variable].name);
            let other = || other_tree(&format!("one with a factor `{factor}` of its own"));
            messages.push(message.ok_or_else(other)?);
        }
        let marginal = |v: usize| {
            self.minimiser(&tree.variables()[v].name)
                .map(<[f64]>::to_vec)
        };
        let beliefs = (0..tree.variables().len()).map(marginal);
        placed(tree, &messages, &beliefs.collect::<Result<Vec<_>, _>>()?)
    }
}

fn other_tree(got: &str) -> RunError {
    RunError::NotDefined {
        what: "the solution".to_owned(),
        why: format!("expected the tree of the run, got {got}"),
    }
}

/// The solution of messages by edge, and of the places that they make at every variable together.
fn placed(tree: &Tree, messages: &[&Gaussian], beliefs: &[Vec<f64>]) -> Result<Solution, RunError> {
    let mut placing = PrimalPoint {
        tree,
        messages,
        beliefs,
        places: vec![None; tree.variables().len()],
    };
    for f in tree.order() {
        placing.place_outputs(*f);
    }
    solution_at(tree, placing.finish())
}

/// The point with these places of variables that no channel makes of others.
///
/// # Errors
/// Constraints that do not hold together.
pub(super) fn point_at(tree: &Tree, beliefs: &[Vec<f64>]) -> Result<Solution, RunError> {
    let own = beliefs.iter().zip(undetermined(tree));
    let mut placing = PrimalPoint {
        tree,
        messages: &[],
        beliefs,
        places: own.map(|(x, free)| free.then(|| x.clone())).collect(),
    };
    tree.order().iter().for_each(|f| placing.place_outputs(*f));
    solution_at(tree, placing.finish())
}

/// Where channels bring everything when the variables that none of them makes change the signs of half their components.
pub(super) fn scrambled(tree: &Tree, beliefs: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let own = |(x, free): (&Vec<f64>, bool)| {
        let signs = x.iter().enumerate().map(|(i, x)| sign(i) * x);
        free.then(|| signs.collect())
    };
    let mut placing = PrimalPoint {
        tree,
        messages: &[],
        beliefs,
        places: beliefs.iter().zip(undetermined(tree)).map(own).collect(),
    };
    tree.order().iter().for_each(|f| placing.place_outputs(*f));
    placing.finish()
}

/// Signs that do not repeat.
fn sign(i: usize) -> f64 {
    if i.count_ones().is_multiple_of(2) {
        1.0
    } else {
        -1.0
    }
}

fn solution_at(tree: &Tree, places: Vec<Vec<f64>>) -> Result<Solution, RunError> {
    let mut energies = Vec::new();
    for (factor, energy) in energies_at(tree, &places) {
        let factor = factor.to_owned();
        if !energy.is_finite() {
            return Err(RunError::Infeasible { factor, energy });
        }
        energies.push((factor, energy));
    }
    Ok(Solution {
        names: tree.variables().iter().map(|v| v.name.clone()).collect(),
        places,
        energies,
    })
}

/// The energy of a factor; not a number where the places are none, which it is not asked about.
pub(super) fn energy_at(node: &FactorNode, ports: &[&[f64]]) -> f64 {
    let finite = ports.iter().all(|x| x.iter().all(|x| x.is_finite()));
    let rule = node.factor.proximal().filter(|_| finite);
    rule.map_or(f64::NAN, |rule| rule.energy(ports))
}

/// The energy of every factor, by name, at a place for every variable.
fn energies_at<'a>(
    tree: &'a Tree,
    places: &'a [Vec<f64>],
) -> impl Iterator<Item = (&'a str, f64)> + 'a {
    tree.factors().iter().map(|node| {
        let at = |e: &usize| places[tree.edges()[*e].variable].as_slice();
        let ports: Vec<&[f64]> = node.edges.iter().map(at).collect();
        let energy = energy_at(node, &ports);
        (node.name.as_str(), energy)
    })
}

/// Variables that no channel makes of others, by index.
pub(super) fn undetermined(tree: &Tree) -> impl Iterator<Item = bool> + '_ {
    tree.variables().iter().map(|v| !is_determined(tree, v))
}

fn is_determined(tree: &Tree, variable: &Variable) -> bool {
    variable.edges.iter().any(|e| {
        let edge = tree.edges()[*e];
        let rule = tree.factors()[edge.factor].factor.proximal();
        edge.direction == Direction::Forward && rule.is_some_and(ProximalRule::determines_outputs)
    })
}

/// Places, found along the tree.
struct PrimalPoint<'a> {
    tree: &'a Tree,
    messages: &'a [&'a Gaussian],
    beliefs: &'a [Vec<f64>],
    places: Vec<Option<Vec<f64>>>,
}

impl PrimalPoint<'_> {
    /// What was found, and the beliefs of what was not.
    fn finish(self) -> Vec<Vec<f64>> {
        let found = self.places.into_iter().zip(self.beliefs);
        found
            .map(|(p, own)| p.unwrap_or_else(|| own.clone()))
            .collect()
    }

    /// The outputs of factor `f`, whose inputs are placed.
    fn place_outputs(&mut self, f: usize) {
        let tree = self.tree;
        let node = &tree.factors()[f];
        let variable = |e: &usize| tree.edges()[*e].variable;
        let (inputs, outputs) = node.edges.split_at(node.inputs);
        let determined = node.factor.proximal().filter(|r| r.determines_outputs());
        if let (Some(_), Some(generator)) = (determined, node.factor.generator()) {
            for v in inputs.iter().map(variable) {
                if self.places[v].is_none() {
                    self.places[v] = Some(self.own_place(v));
                }
            }
            let taken: Vec<&[f64]> = inputs
                .iter()
                .map(|e| self.places[variable(e)].as_deref().unwrap_or_default())
                .collect();
            let blank = |e: &usize| vec![0.0; tree.variables()[variable(e)].spec.len()];
            let mut given: Vec<Vec<f64>> = outputs.iter().map(blank).collect();
            // it draws nothing
            generator.sample(&taken, &mut given, &mut ChaCha8Rng::seed_from_u64(0));
            for (e, place) in outputs.iter().zip(given) {
                self.places[variable(e)].get_or_insert(place);
            }
            return;
        }
        for v in outputs.iter().map(variable) {
            if !is_determined(tree, &tree.variables()[v]) && self.places[v].is_none() {
                self.places[v] = Some(self.own_place(v));
            }
        }
    }

    /// The mode of the penalty at a variable, or the mode of all messages.
    fn own_place(&self, v: usize) -> Vec<f64> {
        let variable = &self.tree.variables()[v];
        let is_penalty = |e: &&usize| {
            let rule = self.tree.factor_at(**e).factor.proximal();
            rule.is_some_and(ProximalRule::is_penalty)
        };
        let Some(e) = variable.edges.iter().find(is_penalty).copied() else {
            return self.beliefs[v].clone();
        };
        let factor = self.tree.factor_at(e).factor.as_ref();
        let cavity = Graph::new(self.tree, self.messages).cavity(e);
        // a cavity that says nothing has no mode of its own: the belief stands
        match alone(factor, variable, cavity).mode(0) {
            Ok(mode) => mode.mean,
            Err(_) => self.beliefs[v].clone(),
        }
    }
}
