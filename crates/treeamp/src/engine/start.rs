//! Before the first sweep: buffers, damping and initial messages.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::acceleration::Acceleration;
use super::adaptive::Step;
use super::report::{check_len, find_edge};
use super::state::{Adjusted, Attention, State};
use super::{Algorithm, Damping, EdgeMessage, Engine, Initial, Message, Messages, Options};
use crate::belief::{Element, SignalSpec, Structure};
use crate::error::RunError;
use crate::factor::Request;
use crate::model::{Direction, Tree, Variable};

/// Random starts have streams of their own: a sample of the model with the same seed must not meet its own signal.
pub(crate) const START_STREAM: u64 = 1 << 32;

impl<A: Algorithm> Engine<'_, A> {
    pub(super) fn start(&self) -> Result<State<A>, RunError> {
        let variables = self.tree.variables();
        check_memory(self.tree, &self.options)?;
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
            Damping::Adaptive | Damping::None | Damping::Steps(_) => {}
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
        let edges = self.tree.edges().iter().enumerate();
        let changing = edges.filter(|(_, e)| {
            let factor = self.tree.factors()[e.factor].factor.as_ref();
            let unread = self.plan.unread[e.variable];
            self.rolls_back() && !unread && !self.algorithm.is_constant(factor)
        });
        let good_edges: Vec<usize> = changing.map(|(e, _)| e).collect();
        let adapts = A::ON_DATA && self.options.damping == Damping::Adaptive;
        let n = variables.len();
        let mut scratch: Vec<A::Message> = (0..count)
            .map(|c| self.algorithm.flat(of_class(c)))
            .collect();
        let mut spare: Vec<A::Marginal> = (0..count)
            .map(|c| self.algorithm.blank(of_class(c)))
            .collect();
        for (spare, total) in spare.iter_mut().zip(&mut scratch) {
            self.algorithm.recycle(spare, total);
        }
        let sound = good_edges.iter().filter(|_| adapts);
        let few = |v: &Variable| [(); 3].map(|()| self.algorithm.blank(&thinned(&v.spec)));
        let watched = if adapts { variables } else { &[] };
        let mut state = State {
            good_messages: good_edges.iter().map(|e| store[*e].clone()).collect(),
            sound_messages: sound.map(|e| store[*e].clone()).collect(),
            has_sound: false,
            good_edges,
            has_good: false,
            scratch,
            spare,
            marginals: variables
                .iter()
                .map(|v| self.algorithm.blank(&v.spec))
                .collect(),
            class,
            store,
            held,
            first: true,
            attention: Attention {
                unread: self.plan.unread.clone(),
                looks: true,
                sent: vec![false; self.tree.edges().len()],
            },
            workspaces: self.tree.workspaces(),
            adjusted: Adjusted {
                request: Request {
                    iid: A::HAS_ROUTES && !self.options.exact,
                    ..Request::default()
                },
                bounded: false,
            },
            damping,
            thinned: watched.iter().map(few).collect(),
            steps: vec![0.0; n],
            returns: vec![f64::INFINITY; n],
            acceleration: None,
            step: adapts.then(Step::new),
            changes: vec![0.0; n],
            known: vec![false; n],
            scale: vec![f64::INFINITY; n],
        };
        if state.step.is_some() && self.options.acceleration {
            let edges = self.tree.edges().iter().enumerate();
            let followed = edges.filter(|(_, e)| !state.attention.unread[e.variable]);
            state.acceleration = Acceleration::new(&state.store, followed.map(|(e, _)| e));
        }
        Ok(state)
    }

    /// A copy of the last good messages is kept.
    pub(super) fn rolls_back(&self) -> bool {
        rolls_back(self.tree, &self.options)
    }

    /// Edges beside laws without a second moment, with the precision of the first message to them: they have nothing to say to a flat one,
    /// and outputs that are improper alone would wait for them without an end.
    fn assumed_precisions(&self) -> Vec<(usize, f64)> {
        let factors = self.tree.factors().iter();
        let heavy = factors.filter_map(|f| {
            let precision = f.factor.start_precision()?;
            Some((f.edges[0], precision))
        });
        heavy
            .flat_map(|(e, precision)| self.tree.others(e).map(move |o| (o, precision)))
            .collect()
    }

    /// The messages before the first sweep. Returns the edges to be left alone in it: a forward
    /// message that was given would otherwise be overwritten before anyone sees it.
    fn initialise(&self, store: &mut [A::Message]) -> Result<Vec<bool>, RunError> {
        let mut held = vec![false; self.tree.edges().len()];
        let spec = |edge: usize| &self.tree.variables()[self.tree.edges()[edge].variable].spec;
        let assumed = self.assumed_precisions();
        if !matches!(self.options.initial, Initial::Constant { .. }) {
            for (e, precision) in &assumed {
                store[*e] = self.algorithm.centred(spec(*e), *precision);
            }
        }
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
                    rng.set_stream(START_STREAM + e as u64);
                    let mut draw = || {
                        let xi: f64 = StandardNormal.sample(&mut rng);
                        mean + std * xi
                    };
                    let least = assumed.iter().find(|(edge, _)| *edge == e);
                    let precision = least.map_or(*precision, |(_, least)| precision.max(*least));
                    *slot = self.algorithm.constant(spec(e), precision, &mut draw);
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

/// Beyond so many numbers of a variable a run keeps no way back unless it is asked for: it takes the memory of one more message per edge.
const LARGE: usize = 1 << 18;

/// Components by which oscillations are recognised: more of them would show the same.
const WATCHED: usize = 1 << 12;

/// A signal of some components of another.
fn thinned(spec: &SignalSpec) -> SignalSpec {
    let mut few = spec.clone();
    if spec.structure == Structure::Isotropic && spec.len() > WATCHED {
        few.shape = vec![WATCHED];
        few.element = Element::Real;
    }
    few
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

fn rolls_back(tree: &Tree, options: &Options) -> bool {
    let small = |v: &Variable| v.spec.len() <= LARGE;
    let automatic = || tree.variables().iter().all(small);
    options.rollback.unwrap_or_else(automatic)
}

/// The bytes of beliefs that are not isotropic: message and cavity slots, a way back, and per variable its
/// marginal, three to tell oscillations by, and one message and one marginal to work in; and what the factors
/// around them need.
pub(super) fn structured_bytes(tree: &Tree, options: &Options) -> Vec<u128> {
    let variables = tree.variables();
    let structured = |i: usize| variables[i].spec.structure != Structure::Isotropic;
    let mut bytes: Vec<u128> = vec![0; variables.len()];
    for (i, v) in variables.iter().enumerate().filter(|(i, _)| structured(*i)) {
        let stored = v.spec.structure.stored_count(v.spec.len());
        let numbers = stored.saturating_add(v.spec.len() as u128);
        let slots = if v.edges.len() == 2 {
            2
        } else {
            2 * v.edges.len()
        };
        let back = if rolls_back(tree, options) {
            v.edges.len()
        } else {
            0
        };
        bytes[i] = (8 * (slots + back + 6) as u128).saturating_mul(numbers);
    }
    for (f, node) in tree.factors().iter().enumerate() {
        let ends = node.edges.iter().map(|e| tree.edges()[*e].variable);
        if let Some(i) = ends.into_iter().find(|i| structured(*i)) {
            let numbers = node.factor.dense_len(&tree.port_specs(f)) as u128;
            bytes[i] = bytes[i].saturating_add(numbers.saturating_mul(8));
        }
    }
    bytes
}

/// The bytes of beliefs that are not isotropic stay within the limit.
pub(super) fn check_memory(tree: &Tree, options: &Options) -> Result<(), RunError> {
    let variables = tree.variables();
    let bytes = structured_bytes(tree, options);
    let total = bytes.iter().fold(0_u128, |t, b| t.saturating_add(*b));
    let most = (0..variables.len()).max_by_key(|i| bytes[*i]);
    match most.map(|i| &variables[i]) {
        Some(v) if total > u128::from(options.memory_limit) => Err(RunError::Memory {
            variable: v.name.clone(),
            structure: v.spec.structure.to_string(),
            shape: v.spec.to_string(),
            bytes: total,
            limit: options.memory_limit,
        }),
        _ => Ok(()),
    }
}
