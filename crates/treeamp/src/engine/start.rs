//! Before the first sweep: buffers, damping and initial messages.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::adaptive::Step;
use super::report::{check_len, find_edge};
use super::state::State;
use super::{Algorithm, Damping, EdgeMessage, Engine, Initial, Message, Messages};
use crate::belief::Structure;
use crate::error::RunError;
use crate::model::{Direction, Variable};

impl<A: Algorithm> Engine<'_, A> {
    pub(super) fn start(&self) -> Result<State<A>, RunError> {
        let variables = self.tree.variables();
        self.check_memory()?;
        let class = classes(variables);
        let of_class = |c: usize| {
            let member = class.iter().position(|k| *k == c).unwrap_or(0);
            &variables[member].spec
        };
        let count = class.iter().max().map_or(0, |c| c + 1);
        let flat = |v: usize| self.algorithm.flat(&variables[v].spec);
        let slots = self.plan.slot_variable.iter();
        let mut store: Vec<A::Message> = slots.map(|v| flat(*v)).collect();
        let held = self.initialise(&mut store)?;
        let mut damping = vec![0.0; self.tree.edges().len()];
        match &self.options.damping {
            Damping::Adaptive | Damping::None => {}
            Damping::Constant(d) => damping.fill(*d),
            Damping::PerEdge(edges) => {
                for (i, (factor, variable, d)) in edges.iter().enumerate() {
                    let twice = |(f, v, _): &(String, String, f64)| f == factor && v == variable;
                    if edges[..i].iter().any(twice) {
                        return Err(given_twice("damping", factor, variable));
                    }
                    damping[find_edge(self.tree, factor, variable)?] = *d;
                }
            }
        }
        let work = (0..self.tree.factors().len())
            .map(|f| {
                let ports = self.tree.port_specs(f);
                vec![0.0; self.tree.factors()[f].factor.workspace_len(&ports)]
            })
            .collect();
        let kept = if self.options.rollback {
            self.tree.edges().len()
        } else {
            0
        };
        let n = variables.len();
        Ok(State {
            good_messages: store[..kept].to_vec(),
            has_good: false,
            scratch: (0..count)
                .map(|c| self.algorithm.flat(of_class(c)))
                .collect(),
            spare: (0..count)
                .map(|c| self.algorithm.blank(of_class(c)))
                .collect(),
            marginals: variables
                .iter()
                .map(|v| self.algorithm.blank(&v.spec))
                .collect(),
            class,
            store,
            held,
            work,
            damping,
            older: variables
                .iter()
                .map(|v| self.algorithm.blank(&v.spec))
                .collect(),
            returns: vec![f64::INFINITY; n],
            step: (A::ON_DATA && self.options.damping == Damping::Adaptive).then(Step::new),
            changes: vec![0.0; n],
            known: vec![false; n],
            scale: vec![f64::INFINITY; n],
        })
    }

    /// The bytes of beliefs that are not isotropic: message and cavity slots, a way back, and per variable two
    /// marginals, with one message and one marginal to work in; and what the factors around them need.
    fn check_memory(&self) -> Result<(), RunError> {
        let variables = self.tree.variables();
        let structured = |i: usize| variables[i].spec.structure != Structure::Isotropic;
        let mut bytes: Vec<u64> = vec![0; variables.len()];
        for (i, v) in variables.iter().enumerate().filter(|(i, _)| structured(*i)) {
            let stored = v.spec.structure.stored_len(v.spec.len());
            let numbers = stored.saturating_add(v.spec.len()) as u64;
            let slots = self.plan.slot_variable.iter().filter(|s| **s == i).count();
            let back = if self.options.rollback {
                v.edges.len()
            } else {
                0
            };
            bytes[i] = (8 * (slots + back + 4) as u64).saturating_mul(numbers);
        }
        for (f, node) in self.tree.factors().iter().enumerate() {
            let ends = node.edges.iter().map(|e| self.tree.edges()[*e].variable);
            if let Some(i) = ends.into_iter().find(|i| structured(*i)) {
                let numbers = node.factor.dense_len(&self.tree.port_specs(f)) as u64;
                bytes[i] = bytes[i].saturating_add(numbers.saturating_mul(8));
            }
        }
        let total = bytes.iter().fold(0_u64, |t, b| t.saturating_add(*b));
        let most = (0..variables.len()).max_by_key(|i| bytes[*i]);
        match most.map(|i| &variables[i]) {
            Some(v) if total > self.options.memory_limit => Err(RunError::Memory {
                variable: v.name.clone(),
                structure: v.spec.structure.to_string(),
                shape: v.spec.to_string(),
                bytes: total,
                limit: self.options.memory_limit,
            }),
            _ => Ok(()),
        }
    }

    /// The messages before the first sweep. Returns the edges to be left alone in it: a forward
    /// message that was given would otherwise be overwritten before anyone sees it.
    fn initialise(&self, store: &mut [A::Message]) -> Result<Vec<bool>, RunError> {
        let mut held = vec![false; self.tree.edges().len()];
        let spec = |edge: usize| &self.tree.variables()[self.tree.edges()[edge].variable].spec;
        match &self.options.initial {
            Initial::Flat => {}
            Initial::Constant { precision, linear } => {
                for (e, slot) in store.iter_mut().enumerate().take(self.tree.edges().len()) {
                    *slot = self
                        .algorithm
                        .constant(spec(e), *precision, &mut || *linear);
                }
            }
            Initial::Noisy {
                precision,
                mean,
                std,
                seed,
            } => {
                for (e, slot) in store.iter_mut().enumerate().take(self.tree.edges().len()) {
                    let mut rng = ChaCha8Rng::seed_from_u64(*seed);
                    rng.set_stream(e as u64);
                    let mut draw = || {
                        let xi: f64 = StandardNormal.sample(&mut rng);
                        mean + std * xi
                    };
                    *slot = self.algorithm.constant(spec(e), *precision, &mut draw);
                }
            }
            Initial::Given(messages) => {
                for (i, message) in messages.iter().enumerate() {
                    let (factor, variable) = (&message.factor, &message.variable);
                    let twice = |m: &EdgeMessage| m.factor == *factor && m.variable == *variable;
                    if messages[..i].iter().any(twice) {
                        return Err(given_twice("initial", factor, variable));
                    }
                    let e = find_edge(self.tree, &message.factor, &message.variable)?;
                    check_len(message, spec(e).len())?;
                    let mut values = message.linear.iter().cycle().copied();
                    let mut next = || values.next().unwrap_or(0.0);
                    held[e] = self.tree.edges()[e].direction == Direction::Forward;
                    store[e] = self
                        .algorithm
                        .constant(spec(e), message.precision, &mut next);
                }
            }
        }
        for (factor, variable, message) in self.warm.iter().flat_map(Messages::iter) {
            let Some(e) = self.tree.edge(factor, variable) else {
                continue;
            };
            if message.components() != store[e].components() {
                return Err(RunError::MessageLen {
                    factor: factor.to_owned(),
                    variable: variable.to_owned(),
                    expected: store[e].components(),
                    got: message.components(),
                });
            }
            if message.structure() != store[e].structure() {
                return Err(RunError::MessageBelief {
                    factor: factor.to_owned(),
                    variable: variable.to_owned(),
                    expected: store[e].structure().to_string(),
                    got: message.structure().to_string(),
                });
            }
            store[e].copy_from(message);
        }
        Ok(held)
    }
}

/// Numbers variables so that those with beliefs of the same size share one.
fn classes(variables: &[Variable]) -> Vec<usize> {
    let mut kinds: Vec<(usize, Structure)> = Vec::new();
    let number = |v: &Variable| {
        let kind = (v.spec.len(), v.spec.structure);
        kinds.iter().position(|k| *k == kind).unwrap_or_else(|| {
            kinds.push(kind);
            kinds.len() - 1
        })
    };
    variables.iter().map(number).collect()
}

fn given_twice(option: &'static str, factor: &str, variable: &str) -> RunError {
    RunError::Option {
        option,
        expected: "given once per edge".to_owned(),
        got: format!("two entries for {factor} - {variable}"),
    }
}
