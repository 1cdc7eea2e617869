//! The free entropy as a function of the error of one signal.
//!
//! With the knowledge $\hat s$ the signal's prior sends $\hat a$, so that its variance is $v = 1/(\tau_0^{-1} + \hat s + \hat a)$. The rest
//! of the tree receives $\hat a$, held, and settles. Then $\varphi(v) = A_p(\hat s) - A_x(\hat s + \hat a) + A_{rest}(\hat a)$, whose
//! slope vanishes where the rest answers $\hat s$: at the fixed points of state evolution, and there
//! $\varphi$ is less the entropy of the measurements. Stable fixed points are its maxima.
//!
//! The rest may have several states at one $\hat a$, when it holds signals of its own: it is asked from an uninformed start,
//! and from an informed one of these signals. Each is a curve of its own, and where a state ends its curve does.

use super::phases::{Branch, Noise, Star};
use super::theory::{INFORMED, StateEvolution, Theory};
use super::{BayesOptimal, Conjugate, Prediction, Teacher};
use crate::belief::SignalSpec;
use crate::engine::{
    Algorithm, EdgeMessage, Engine, Initial, Messages, MissingRule, Options, Potential, Termination,
};
use crate::error::{FactorError, RunError};
use crate::factor::{Context, Factor, Incoming, Workspace};
use crate::model::{FactorNode, Tree, Variable};

/// The knowledge $\hat s\tau_0$ at both ends of a landscape.
const LEAST: f64 = 1e-3;
const MOST: f64 = 1e8;
/// It ends where the signal is known: below this fraction of $\tau_0$ (see [`landscape`]).
const KNOWN: f64 = 1e-6;
/// Places of the prior's answers between which those of the landscape are interpolated.
const SCAN: u32 = 400;
/// Answers that differ by more than this part are those of two states; one state settles to much less.
const ANOTHER: f64 = 1e-3;

/// One place of a landscape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// The error of the signal, per component.
    pub mse: f64,
    /// The free entropy with the error held there and the rest of the tree in the state that it reaches from nothing, in nats
    /// per component of the first variable; at a fixed point it is less the entropy of the measurements.
    pub free_entropy: f64,
    /// The same in the state that the rest reaches from near-perfect knowledge of its own signals, where this is another state.
    pub informed: Option<f64>,
    /// What the prior of the signal receives, $\hat s$.
    pub knowledge: f64,
    /// What the rest of the tree sends to it, $\hat s$ at a fixed point.
    pub answer: f64,
}

/// The free entropy against the error of `signal` at `places` errors, from that of the prior to a millionth
/// of the signal's second moment, or to where a discrete signal is known. Largest error first.
///
/// ```
/// use treeamp::prelude::*;
/// use treeamp::algorithms::state_evolution::landscape;
/// let model = (source(GaussBernoulli::new(0.3, 0.0, 1.0)?.limit()) >> var("x") >> LinearEnsemble::gaussian(0.8)?
///     >> var("z") >> GaussianNoise::new(0.01)? >> var("y")).build()?.expect("y")?;
/// let places = landscape(&model, "x", 40)?;
/// let best = places.iter().max_by(|p, q| p.free_entropy.total_cmp(&q.free_entropy)).unwrap();
/// let predicted = StateEvolution::new(&model)?.run()?.mse("x")?;
/// assert!((best.mse / predicted).ln().abs() < 0.5); // the nearest of forty places
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// An unknown signal, one without a prior of its own or with a Gaussian one (whose posterior variance does not depend on the data, so
/// that nothing varies along it), fewer than two places, a factor without a rule, a rest of the tree that
/// does not settle.
pub fn landscape(tree: &Tree, signal: &str, places: usize) -> Result<Vec<Place>, RunError> {
    landscape_watched(tree, signal, places, &mut |_, _| ())
}

/// The same, calling `watch(done, all)` before every place and at the end.
///
/// # Errors
/// As [`landscape`].
pub fn landscape_watched(
    tree: &Tree,
    signal: &str,
    places: usize,
    watch: &mut dyn FnMut(usize, usize),
) -> Result<Vec<Place>, RunError> {
    if places < 2 {
        return Err(RunError::Option {
            option: "places",
            expected: "at least 2".to_owned(),
            got: places.to_string(),
        });
    }
    let teacher = StateEvolution::new(tree)?.teacher().clone();
    let held = Signal::of(tree, signal, &teacher)?;
    let answers = [
        held.answer(LEAST / held.tau0)?.0,
        held.answer(1.0 / held.tau0)?.0,
    ];
    if (answers[1] - answers[0]).abs() * held.tau0 < 1e-9 {
        return Err(RunError::NotDefined {
            what: format!("the landscape of `{signal}`"),
            why: "expected a prior that is not Gaussian".to_owned(),
        });
    }
    held.curve(&held.spread(places)?, watch)
}

/// The signal, its prior, and the algorithm that both follow.
struct Signal<'t> {
    tree: &'t Tree,
    prior: usize,
    edge: usize,
    tau0: f64,
    normalisation: f64,
    algorithm: BayesOptimal,
}

impl<'t> Signal<'t> {
    fn of(tree: &'t Tree, signal: &str, teacher: &Teacher) -> Result<Self, RunError> {
        let variable = &tree.variables()[tree.variable(signal)?];
        let source = |e: &&usize| {
            let node = &tree.factors()[tree.edges()[**e].factor];
            node.inputs == 0 && node.edges.len() == 1
        };
        let Some(edge) = variable.edges.iter().find(source) else {
            return Err(RunError::NotDefined {
                what: format!("the landscape of `{signal}`"),
                why: "expected a signal with a prior of its own".to_owned(),
            });
        };
        Ok(Self {
            tree,
            prior: tree.edges()[*edge].factor,
            edge: *edge,
            tau0: teacher.tau0[variable.index],
            normalisation: teacher.normalisation,
            algorithm: BayesOptimal::new(tree, teacher.clone()),
        })
    }

    fn node(&self) -> &FactorNode {
        &self.tree.factors()[self.prior]
    }

    fn failed(&self) -> impl Fn(FactorError) -> RunError {
        let factor = self.node().name.clone();
        move |source| RunError::Factor {
            factor: factor.clone(),
            source,
        }
    }

    /// What the prior answers.
    fn answer(&self, knowledge: f64) -> Result<Conjugate, RunError> {
        let (store, factor) = ([Conjugate(knowledge)], self.node().factor.as_ref());
        let mut answer = Conjugate(0.0);
        let mut workspace = Workspace::none();
        let mut context = Context::new(Incoming::new(&store, &[0]), &mut workspace);
        self.algorithm
            .update(self.prior, factor, &mut context, 0, &mut answer)
            .map_err(self.failed())?;
        Ok(answer)
    }

    fn mse(&self, knowledge: f64, answer: Conjugate) -> f64 {
        1.0 / (1.0 / self.tau0 + knowledge + answer.0)
    }

    /// Places evenly spread in $\ln\hat s - 2\ln v$, so that neither $\hat s$ nor the error leaps between two of them.
    fn spread(&self, places: usize) -> Result<Vec<f64>, RunError> {
        let mut scan: Vec<(f64, f64)> = Vec::new();
        for k in 0..=SCAN {
            let knowledge = LEAST * (MOST / LEAST).powf(f64::from(k) / f64::from(SCAN)) / self.tau0;
            let mse = self.mse(knowledge, self.answer(knowledge)?);
            scan.push((knowledge.ln() - 2.0 * mse.ln(), knowledge.ln()));
            if mse < KNOWN * self.tau0 {
                break;
            }
        }
        let (first, last) = (scan[0].0, scan[scan.len() - 1].0);
        let at = |k: usize| {
            let place = first + (last - first) * k as f64 / (places - 1) as f64;
            let right = scan
                .partition_point(|s| s.0 < place)
                .clamp(1, scan.len() - 1);
            let ((u, x), (w, y)) = (scan[right - 1], scan[right]);
            (x + (y - x) * ((place - u) / (w - u)).clamp(0.0, 1.0)).exp()
        };
        Ok((0..places).map(at).collect())
    }

    /// The star of the signal, if its map has a closed form and no noise of its own behind the outputs.
    fn star(&self) -> Option<Star<'t>> {
        let star = Star::of(self.tree, self.tree.edges()[self.edge].variable)?;
        let plain = star.branches.iter().all(|b| b.noise == Noise::None);
        (plain && !star.is_noiseless_linear()).then_some(star)
    }

    /// A place of a star: with the error $v$ of the signal that of every $z_k$ before its output is $v$ too, and nothing is iterated.
    /// $\varphi = E\ln Z_p(\hat s) - \frac12\hat s(\tau_0 - v) + \sum_k\alpha_k E\ln Z_k(v)$, and an output that sends $e_k$ adds
    /// $\alpha_ke_k/(1 + e_kv)$ to the answer $\hat s'$.
    fn place_of_star(&self, knowledge: f64, star: &Star<'t>) -> Result<Place, RunError> {
        let v = self.mse(knowledge, self.answer(knowledge)?);
        let (mut seen, mut answer) = (0.0, 0.0);
        for branch in &star.branches {
            let (potential, sent) = self.output(branch, v)?;
            seen += potential;
            answer += branch.ratio * sent / (1.0 + sent * v);
        }
        let size = |index: usize| self.tree.variables()[index].spec.relative_size();
        let weight = size(self.tree.edges()[self.edge].variable) / size(0);
        Ok(Place {
            mse: v,
            free_entropy: self.prior_excess(knowledge)? + 0.5 * weight * knowledge * v + seen
                - self.normalisation,
            informed: None,
            knowledge,
            answer,
        })
    }

    /// The potential of an output whose input is known to within a variance, less that of its input; and what it sends.
    fn output(&self, branch: &Branch<'t>, v: f64) -> Result<(f64, f64), RunError> {
        let output = branch.output;
        let same = |f: &FactorNode| std::ptr::eq(f, output);
        let node = self
            .tree
            .factors()
            .iter()
            .position(same)
            .unwrap_or_default();
        let failed = |source| RunError::Factor {
            factor: output.name.clone(),
            source,
        };
        let store = [Conjugate((1.0 / v - 1.0 / self.tau0).max(0.0))];
        let mut workspace = Workspace::none();
        let mut context = Context::new(Incoming::new(&store, &[0]), &mut workspace);
        let mut sent = Conjugate(0.0);
        let factor = output.factor.as_ref();
        self.algorithm
            .update(node, factor, &mut context, 0, &mut sent)
            .map_err(failed)?;
        let potential = self.algorithm.factor_potential(node, factor, &mut context);
        let z = self.tree.variable_at(output.edges[0]);
        let input =
            self.algorithm
                .variable_potential(z, Incoming::new(&store, &[0]), &mut Conjugate(0.0));
        Ok((potential.map_err(failed)?.excess - input.excess, sent.0))
    }

    /// The places at some knowledge, which rises.
    ///
    /// State evolution of the Bayes-optimal setting rises with all that it is told: the least fixed point of the rest at one place is below that at the
    /// next, and leads there as nothing does; the greatest at one place is above that at the one before. So every run starts at the end of
    /// the last, upwards from nothing, and downwards from near-perfect knowledge.
    fn curve(
        &self,
        knowledge: &[f64],
        watch: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<Place>, RunError> {
        let (all, star) = (knowledge.len(), self.star());
        let informed = self.knowing_the_others();
        let both = star.is_none() && !informed.is_empty();
        let turns = if both { 2 } else { 1 };
        let mut start = Vec::new();
        let mut curve = Vec::with_capacity(all);
        for (k, knowledge) in knowledge.iter().enumerate() {
            watch(k / turns, all);
            curve.push(match &star {
                Some(star) => self.place_of_star(*knowledge, star)?,
                None => self.place(*knowledge, &mut start)?,
            });
        }
        if both {
            start = informed;
            for (k, place) in curve.iter_mut().rev().enumerate() {
                watch(usize::midpoint(all, k), all);
                place.informed = self.informed(place, &mut start)?;
            }
        }
        watch(all, all);
        Ok(curve)
    }

    /// A place in the state that the rest reaches from the start, which becomes that state.
    fn place(&self, knowledge: f64, start: &mut Vec<EdgeMessage>) -> Result<Place, RunError> {
        let answer = self.answer(knowledge)?;
        let (free_entropy, rest, settled) = self.rest(knowledge, answer, start)?;
        if !settled.is_converged() {
            return Err(super::teacher::not_reached(
                "a place of the landscape",
                &settled,
            ));
        }
        Ok(Place {
            mse: self.mse(knowledge, answer),
            free_entropy,
            informed: None,
            knowledge,
            answer: rest,
        })
    }

    /// The free entropy in the state that the rest reaches from the start, which becomes that state, where it is another one than that of the place.
    fn informed(
        &self,
        place: &Place,
        start: &mut Vec<EdgeMessage>,
    ) -> Result<Option<f64>, RunError> {
        let answer = self.answer(place.knowledge)?;
        let (height, other, settled) = self.rest(place.knowledge, answer, start)?;
        let another = (other - place.answer).abs() > ANOTHER * other.abs().max(place.answer.abs());
        Ok((settled.is_converged() && another && height.is_finite()).then_some(height))
    }

    /// The free entropy of the state that the rest reaches from a start, what it sends there, and how that ended. The state is the next start.
    fn rest(
        &self,
        knowledge: f64,
        answer: Conjugate,
        start: &mut Vec<EdgeMessage>,
    ) -> Result<(f64, f64, Termination), RunError> {
        let algorithm = Held {
            inner: self.algorithm.clone(),
            node: self.prior,
            message: answer,
        };
        let mut options = Options {
            max_sweeps: 2000,
            tolerance: 1e-9,
            ..Options::default()
        };
        if !start.is_empty() {
            options.initial = Initial::Given(start.clone());
        }
        let report = Engine::new(self.tree, algorithm)?
            .options(options)
            .run(&mut ())?;
        if report.termination.is_converged() {
            *start = state(&report.messages);
        }
        let rest = self.rest_message(&report.messages);
        let excess = self.excess(knowledge, answer.0)? - self.excess(rest, answer.0)?;
        let free_entropy = match report.objective {
            Ok(objective) => objective.total + excess - self.normalisation,
            Err(error) if report.termination.is_converged() => return Err(error),
            Err(_) => f64::NAN,
        };
        Ok((free_entropy, rest, report.termination))
    }

    /// Near-perfect knowledge of all signals but this one.
    fn knowing_the_others(&self) -> Vec<EdgeMessage> {
        let held = self.tree.edges()[self.edge].variable;
        let sources = self.tree.factors().iter().filter(|f| f.inputs == 0);
        let variables = sources.flat_map(|f| &f.edges);
        let variables = variables.map(|e| self.tree.edges()[*e].variable);
        let mut start = Vec::new();
        for index in variables.filter(|index| *index != held) {
            let variable = &self.tree.variables()[index];
            let tau0 = self.algorithm.teacher().tau0[index];
            start.extend(variable.edges.iter().map(|e| {
                EdgeMessage {
                    factor: self.tree.factors()[self.tree.edges()[*e].factor]
                        .name
                        .clone(),
                    variable: variable.name.clone(),
                    precision: INFORMED / tau0,
                    linear: vec![0.0],
                }
            }));
        }
        start
    }

    /// What all others than the prior tell the signal.
    fn rest_message(&self, messages: &Messages<Conjugate>) -> f64 {
        let variable = &self.tree.variables()[self.tree.edges()[self.edge].variable];
        let others = variable.edges.iter().filter(|e| **e != self.edge);
        let factors = others.map(|e| &self.tree.factors()[self.tree.edges()[*e].factor].name);
        factors
            .filter_map(|name| messages.get(name, &variable.name))
            .map(|m| m.0)
            .sum()
    }

    /// $A_p(\hat s)$, as the engine counts it.
    fn prior_excess(&self, knowledge: f64) -> Result<f64, RunError> {
        let store = [Conjugate(knowledge)];
        let mut workspace = Workspace::none();
        let mut context = Context::new(Incoming::new(&store, &[0]), &mut workspace);
        let factor = self.node().factor.as_ref();
        let prior = self
            .algorithm
            .factor_potential(self.prior, factor, &mut context);
        Ok(prior.map_err(self.failed())?.excess)
    }

    /// $A_p(\hat s) - A_x(\hat s + \hat a)$, as the engine counts them.
    fn excess(&self, knowledge: f64, answer: f64) -> Result<f64, RunError> {
        let store = [Conjugate(knowledge), Conjugate(answer)];
        let variable = &self.tree.variables()[self.tree.edges()[self.edge].variable];
        let edge = self.algorithm.variable_potential(
            variable,
            Incoming::new(&store, &[0, 1]),
            &mut Conjugate(0.0),
        );
        Ok(self.prior_excess(knowledge)? - edge.excess)
    }
}

/// Messages as a start; those without a bound are left to the first sweep.
fn state(messages: &Messages<Conjugate>) -> Vec<EdgeMessage> {
    let finite = messages.iter().filter(|(_, _, m)| m.0.is_finite());
    let start = finite.map(|(factor, variable, m)| EdgeMessage {
        factor: factor.to_owned(),
        variable: variable.to_owned(),
        precision: m.0,
        linear: vec![0.0],
    });
    start.collect()
}

/// State evolution with the message of one factor held.
#[derive(Debug, Clone)]
struct Held {
    inner: BayesOptimal,
    node: usize,
    message: Conjugate,
}

impl Algorithm for Held {
    type Message = Conjugate;
    type Marginal = Prediction;
    const NAME: &'static str = BayesOptimal::NAME;

    fn requires(&self, factor: &dyn Factor) -> Result<(), MissingRule> {
        self.inner.requires(factor)
    }

    fn flat(&self, spec: &SignalSpec) -> Conjugate {
        self.inner.flat(spec)
    }

    fn blank(&self, spec: &SignalSpec) -> Prediction {
        self.inner.blank(spec)
    }

    fn constant(
        &self,
        spec: &SignalSpec,
        precision: f64,
        linear: &mut dyn FnMut() -> f64,
    ) -> Conjugate {
        self.inner.constant(spec, precision, linear)
    }

    fn update(
        &self,
        node: usize,
        factor: &dyn Factor,
        context: &mut Context<'_, Conjugate>,
        target: usize,
        out: &mut Conjugate,
    ) -> Result<(), FactorError> {
        if node == self.node {
            *out = self.message;
            return Ok(());
        }
        self.inner.update(node, factor, context, target, out)
    }

    fn marginal(
        &self,
        variable: &Variable,
        incoming: Incoming<'_, Conjugate>,
        total: &mut Conjugate,
        out: &mut Prediction,
    ) -> Result<(), FactorError> {
        self.inner.marginal(variable, incoming, total, out)
    }

    fn factor_potential(
        &self,
        node: usize,
        factor: &dyn Factor,
        context: &mut Context<'_, Conjugate>,
    ) -> Result<Potential, FactorError> {
        self.inner.factor_potential(node, factor, context)
    }

    fn variable_potential(
        &self,
        variable: &Variable,
        incoming: Incoming<'_, Conjugate>,
        total: &mut Conjugate,
    ) -> Potential {
        self.inner.variable_potential(variable, incoming, total)
    }
}
