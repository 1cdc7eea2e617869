//! Whether the log-evidence has a limit where variances vanish.
//!
//! Of a discrete signal it has one. Where the signal is continuous and outputs are noiseless their density
//! diverges with the inverse variance; where some variances vanish and others do not, the Bethe approximation itself may
//! fall without bound, $A \approx c - s\ln v$. A number would only tell where the run was stopped.

use super::options::TOLERANCE;
use super::probe::{KNOWN, Probe, RESTING};
use super::state::State;
use super::stopping::LOOSE;
use super::sweep::{LATE, Pass};
use super::{Algorithm, Engine, Evidence, Marginal, Message, Objective};
use crate::model::FactorNode;

/// A variance below this fraction of the second moment is far below the tolerance of the moments, and may have none.
const VANISHING: f64 = 1e-9;
/// More sweeps that the objective must survive there, and after how many it is given up.
const CONFIRMING_SWEEPS: usize = 2;
const CONFIRMING_LIMIT: usize = 100;
/// Fractions of the second moment at which the objective is compared, and nats by which it may differ.
const WIDTHS: [f64; 2] = [1e-10, 1e-12];
const DIFFERENCE: f64 = 0.5;
/// A variance below this fraction has underflowed on its way: that it rests tells nothing.
const FROZEN: f64 = 1e-25;

/// What more sweeps showed.
struct Confirmed {
    objective: Objective,
    /// The objective one sweep later.
    next: f64,
    agreed: bool,
    /// Variables whose variance the first of them changed.
    moved: Vec<bool>,
}

impl<A: Algorithm> Probe<'_, '_, A> {
    /// The log-evidence of the state, and whether it has a limit there.
    pub fn evidence(&mut self) -> &Evidence {
        let Self {
            engine,
            state,
            variances,
            recovered,
            evidence,
            ..
        } = self;
        let small = VANISHING.max(LOOSE * engine.options.tolerance);
        let vanishes = A::ON_DATA && (*recovered || A::RECOVERS && state.vanishes(small));
        evidence.get_or_insert_with(|| {
            if vanishes {
                engine.evidence_where_variances_vanish(state, variances)
            } else {
                Evidence::settled(engine.objective(state))
            }
        })
    }

    /// The observed outputs have a density that may be infinite: continuous ones without noise. Where there are none, the evidence is
    /// bounded, and a Bethe objective that is not tells nothing about the data.
    #[must_use]
    pub fn has_unbounded_density(&self) -> bool {
        self.engine.has_unbounded_density()
    }
}

impl<A: Algorithm> Engine<'_, A> {
    /// The log-evidence where variances vanish, if it has a limit. More sweeps tell. The state stays.
    ///
    /// `variances`: of every variable after every sweep.
    fn evidence_where_variances_vanish(&self, state: &mut State<A>, variances: &[f64]) -> Evidence {
        let first = match self.objective(state) {
            Ok(first) => first,
            error => return Evidence::settled(error),
        };
        let messages = state.store.clone();
        let vanishing = state.vanishes(VANISHING) || underflowed(state, variances);
        let found = self.confirm(state, &first);
        let vanished =
            vanishing || state.vanishes(VANISHING) || state.perfect(self.options.perfect);
        state.store = messages;
        self.remake(state);
        let collapsing = state.collapsing_variable(VANISHING, KNOWN);
        // pins have an infinite density from the start; one that comes of vanishing variances is no answer
        let infinite = found.objective.total == f64::INFINITY && vanishing;
        if found.agreed && !infinite {
            let going = collapsing.or_else(|| state.vanished_signal());
            let going = going.filter(|i| found.moved[*i]);
            let differs = going.and_then(|i| self.width_dependence(state, i));
            return differs.unwrap_or_else(|| Evidence::settled(Ok(found.objective)));
        }
        if !vanished {
            return Evidence::settled(Ok(first));
        }
        let why = format!(
            "expected a value that settles as the variances vanish, got {:e} and one sweep later {:e}",
            found.objective.total, found.next
        );
        match collapsing.or_else(|| state.vanished_signal()) {
            Some(i) => Evidence::depends_on_width(&self.tree.variables()[i].name, why),
            None => Evidence::diverging(why + self.reason()),
        }
    }

    fn has_unbounded_density(&self) -> bool {
        let mut outputs = self.tree.factors().iter();
        let continuous = |f: &FactorNode| f.inputs == f.edges.len() && f.factor.is_noiseless();
        outputs.any(continuous)
    }

    /// Why the objective of recovered signals has no value.
    fn reason(&self) -> &'static str {
        if self.has_unbounded_density() {
            ", as where the density of noiseless continuous outputs diverges"
        } else {
            ": messages of a signal without doubt have no digits left to take it from"
        }
    }

    /// Sweeps until the objective has agreed with the next one a few times, or clearly does not.
    fn confirm(&self, state: &mut State<A>, first: &Objective) -> Confirmed {
        let variances =
            |s: &State<A>| -> Vec<f64> { s.marginals.iter().map(Marginal::variance).collect() };
        let before = variances(state);
        let mut moved = None;
        let mut objective = first.clone();
        let (mut agreed, mut next) = (0, objective.total);
        for _ in 0..CONFIRMING_LIMIT {
            let recovered = state.perfect(self.options.perfect);
            // an update that is improper, or underflows, leaves its message: the others still tell
            let later = match self.sweep(state, LATE) {
                Ok(Pass::Done { improper, .. }) if improper < self.plan.steps.len() => {
                    self.objective(state).ok()
                }
                _ => None,
            };
            moved.get_or_insert_with(|| {
                let pairs = before.iter().zip(variances(state)).enumerate();
                let going = |(i, (v, w)): (usize, (&f64, f64))| {
                    (w - v).abs() > RESTING * v || *v < FROZEN * state.size(i)
                };
                pairs.map(going).collect()
            });
            next = later.as_ref().map_or(f64::NAN, |o| o.total);
            // infinite twice is an answer: the density of a noiseless output is
            let total = objective.total;
            let agree = (total == f64::INFINITY && next == f64::INFINITY)
                || (total - next).abs() <= TOLERANCE * total.abs().max(1.0);
            agreed = if agree { agreed + 1 } else { 0 };
            if agreed == CONFIRMING_SWEEPS || !agree && recovered {
                break;
            }
            objective = later.unwrap_or(objective);
        }
        Confirmed {
            objective,
            next,
            agreed: agreed == CONFIRMING_SWEEPS,
            moved: moved.unwrap_or_default(),
        }
    }

    /// An objective that depends on how far the variance of variable `i` has vanished.
    fn width_dependence(&self, state: &mut State<A>, i: usize) -> Option<Evidence> {
        let [wide, thin] = WIDTHS.map(|width| self.widened(state, i, width));
        let (wide, thin) = (wide?, thin?);
        let apart = !((wide - thin).abs() <= DIFFERENCE);
        let [from, to] = WIDTHS;
        apart.then(|| {
            let why = format!(
                "expected the same value at {from:e} and at {to:e} of its second moment, got {wide:e} and {thin:e}"
            );
            Evidence::depends_on_width(&self.tree.variables()[i].name, why)
        })
    }

    /// The objective where no message to variable `i` is sharper than this fraction of its size. The messages stay.
    fn widened(&self, state: &mut State<A>, i: usize, width: f64) -> Option<f64> {
        let messages = state.store.clone();
        let sharpest = 1.0 / (width * state.size(i));
        for e in &self.tree.variables()[i].edges {
            let Some((precision, linear)) = state.store[*e].numbers() else {
                continue;
            };
            let (mut precision, mut linear) = (precision.to_vec(), linear.to_vec());
            // of a dense belief there are more precisions than components
            let shared = (linear.len() / precision.len()).max(1);
            for (a, b) in precision.iter_mut().zip(linear.chunks_mut(shared)) {
                let part = (sharpest / a.abs()).min(1.0);
                *a *= part;
                b.iter_mut().for_each(|b| *b *= part);
            }
            state.store[*e].set_numbers(&precision, &linear);
        }
        let objective = self.objective(state);
        state.store = messages;
        objective.ok().map(|o| o.total)
    }
}

/// Some variance is zero that was not after the second sweep: exact statements are known by then.
fn underflowed<A: Algorithm>(state: &State<A>, variances: &[f64]) -> bool {
    let n = state.marginals.len();
    let early = variances.chunks(n).take(2).next_back().unwrap_or(&[]);
    let pairs = early.iter().zip(&state.marginals);
    pairs
        .into_iter()
        .any(|(v, m)| *v > 0.0 && m.variance() == 0.0)
}
