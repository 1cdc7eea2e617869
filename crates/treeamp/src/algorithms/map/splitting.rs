//! The certain way to a minimiser of convex energies: Douglas-Rachford splitting at frozen precisions.
//!
//! A tree has two colours. With a precision $\rho$ on every link between a red and a black factor, and
//! $G = \sum_{\text{red}} E_k$, $H = \sum_{\text{black}} E_k$ (a variable with three factors or more is a factor of its own
//! that holds its copies together),
//!
//! $$u = \mathrm{prox}_G(s),\qquad w = \mathrm{prox}_H(2u - s),\qquad s \leftarrow s + (w - u):$$
//!
//! the messages of a sweep, $b' = 2\rho u - b$, at precisions that stay, and half a step. The map is averaged in the norm
//! of $\rho$, so that $w - u \to 0$ for any convex energies that have a minimiser. Precisions change a few times to balance
//! both residuals, and Anderson acceleration may take a step only while residuals fall fast enough to be summed.

use std::ops::ControlFlow;

use super::agreement::{AGREEMENT, energies_agree, energy_gap};
use super::descent::{Verdict, verdict};
use super::pace::Pace;
use super::pins::pin;
use super::rest::{Rest, TIGHTER};
use super::slopes::slopes_agree;
use super::steps::Splitting;
use crate::belief::Gaussian;
use crate::engine::{FallbackEnd, FallbackReport, Options, Watch};
use crate::error::RunError;
use crate::factor::ProximalRule;
use crate::model::{Edge, Tree};

/// Evaluations of all modes after which it gives up.
const LIMIT: usize = 50_000;
/// The splitting may end at this multiple of the tolerance of the sweeps: it measures how far two factors disagree on a
/// place, they a change from one sweep to the next.
const COARSER: f64 = 1e4;
/// Where that took no more than so many evaluations, it goes on to this fraction: places may still be far along the weakest of
/// columns whose scales differ.
const CHEAP: usize = 1000;
const POLISH: f64 = 0.01;
/// Where the energy of the minimiser is not yet the objective, it goes on to this fraction of the tolerance, and again, down
/// to the rounding of a solve.
const FINEST: f64 = 1e-13;
/// There is nothing left to do at this residual.
const DONE: f64 = 1e-12;
/// Energy and objective that differ by more than this fraction of the energies are not at a minimiser, whatever the residual.
const NO_MINIMISER: f64 = 1e-6;
/// Progress is a residual below this fraction of the best.
const PROGRESS: f64 = 0.9;
/// Who watches is told about so many first steps, and then about one in so many.
const WATCHED: usize = 10;

/// Where a full sweep moves by more than this, relative, slopes are lost in the rounding of precisions that ran away.
const MOVES: f64 = 1e-2;

/// Runs the splitting from the messages of a run, by edge, and leaves there messages at the minimiser.
///
/// # Errors
/// An energy that is not convex, or a factor that fails.
pub(super) fn split(
    tree: &Tree,
    messages: &mut [Gaussian],
    options: &Options,
    watch: &mut dyn Watch<Gaussian>,
) -> Result<FallbackReport, RunError> {
    for node in tree.factors() {
        if !node.factor.proximal().is_some_and(ProximalRule::is_convex) {
            return Err(RunError::NotDefined {
                what: "a certain fallback".to_owned(),
                why: format!("the energy of factor `{}` is not convex", node.name),
            });
        }
    }
    let warm = messages.iter().any(|m| !m.is_flat());
    let mut best = attempt(tree, messages, options, watch, false)?;
    if best.leapt || best.is_open() {
        best.judge(&verdict(tree, messages)?);
    }
    // sweeps that went astray leave precisions that are of no use: once more without them, and then with ever smaller ones
    for (needed, reduces) in [(warm, false), (true, true)] {
        if !needed || !(best.is_open() || best.is_coarse()) {
            continue;
        }
        let flat = |e: &Edge| Gaussian::flat(&tree.variables()[e.variable].spec);
        let mut cold: Vec<Gaussian> = tree.edges().iter().map(flat).collect();
        let mut next = attempt(tree, &mut cold, options, watch, reduces)?;
        if next.leapt {
            next.judge(&verdict(tree, &cold)?);
        }
        next.report.steps += best.report.steps;
        next.report.evaluations += best.report.evaluations;
        if best.is_open() || (!next.is_open() && next.gap < best.gap) {
            messages.clone_from_slice(&cold);
            best = next;
        } else {
            best.report.steps = next.report.steps;
            best.report.evaluations = next.report.evaluations;
        }
    }
    if best.report.end == FallbackEnd::Stationary {
        pin(tree, messages);
    }
    Ok(best.report)
}

/// How a splitting ended.
struct Attempt {
    report: FallbackReport,
    /// Between energy and objective.
    gap: f64,
    /// Places have grown beyond all measure.
    leapt: bool,
}

impl Attempt {
    /// It came to a bound.
    fn is_open(&self) -> bool {
        matches!(self.report.end, FallbackEnd::Limit { .. })
    }

    /// Places beyond all measure are no minimiser where the energy falls without bound, or is lower elsewhere.
    fn judge(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Falls { factor, variable } => {
                self.report.end = FallbackEnd::NoMinimum {
                    factor: factor.clone(),
                    variable: variable.clone(),
                };
            }
            Verdict::Above if self.report.end == FallbackEnd::Stationary => {
                self.report.end = limit(self.report.evaluations);
            }
            Verdict::Above | Verdict::Open => {}
        }
    }

    /// It is at a minimiser, with nothing left to do, but large precisions leave the objective with too few digits.
    fn is_coarse(&self) -> bool {
        let done = self.report.end == FallbackEnd::Stationary && self.report.residual <= DONE;
        done && self.gap.is_finite() && self.gap > AGREEMENT
    }
}

/// One splitting, at the precisions of the messages.
fn attempt(
    tree: &Tree,
    messages: &mut [Gaussian],
    options: &Options,
    watch: &mut dyn Watch<Gaussian>,
    reduces: bool,
) -> Result<Attempt, RunError> {
    let mut splitting = Splitting::new(tree, messages);
    let mut pace = Pace::new(splitting.weights(), reduces);
    let (mut rest, goal) = (Rest::default(), COARSER * options.tolerance);
    let (mut tolerance, mut polished) = (goal, false);
    let (end, sweep_residual, gap) = loop {
        let end = splitting.run((&mut pace, &mut rest), tolerance, messages, watch)?;
        splitting.messages_into(messages)?;
        let settled = end == FallbackEnd::Stationary;
        let agree = || energies_agree(tree, messages) && slopes_agree(tree, messages);
        if settled && tolerance >= FINEST && !agree() {
            tolerance *= TIGHTER;
            continue;
        }
        if settled && !polished && splitting.evaluations <= CHEAP {
            (tolerance, polished) = (tolerance.min(POLISH * goal), true);
            continue;
        }
        // a small residual next to an energy that is not the objective, or to slopes that do not cancel, is no minimiser; one that
        // is not feasible is refuted with the name of its factor later
        let gap = energy_gap(tree, messages);
        let moved = watch.sweep_residual(messages);
        let moves = moved.is_some_and(|r| r > MOVES);
        let rests = gap <= NO_MINIMISER && slopes_agree(tree, messages) && !moves;
        let is_minimiser = pace.last <= goal && (rests || gap.is_infinite());
        let end = match end {
            FallbackEnd::Stopped(_) => end,
            _ if is_minimiser => FallbackEnd::Stationary,
            FallbackEnd::Limit { .. } => end,
            _ => limit(splitting.evaluations),
        };
        break (end, moved, gap);
    };
    let report = FallbackReport {
        method: "splitting",
        steps: pace.steps,
        evaluations: splitting.evaluations,
        residual: pace.last,
        sweep_residual,
        free_energy: Vec::new(),
        descent: None,
        went_back: false,
        end,
    };
    let leapt = splitting.has_leapt();
    Ok(Attempt { report, gap, leapt })
}

impl Splitting<'_> {
    /// Runs until the disagreement is below the tolerance, or its limit or a standstill comes. Tells who watches about the
    /// first ten steps and every tenth: their messages cost about as much as a step.
    fn run(
        &mut self,
        (pace, rest): (&mut Pace, &mut Rest),
        tolerance: f64,
        messages: &mut [Gaussian],
        watch: &mut dyn Watch<Gaussian>,
    ) -> Result<FallbackEnd, RunError> {
        while self.evaluations < LIMIT && pace.goes_on(self.evaluations) {
            let (norm, worst) = self.evaluate()?;
            if pace.rejects(norm, &self.gap, &mut self.s) {
                continue;
            }
            pace.steps += 1;
            pace.last = worst;
            if pace.steps <= WATCHED {
                self.note_sizes();
            }
            if pace.steps <= WATCHED || pace.steps.is_multiple_of(WATCHED) {
                self.messages_into(messages)?;
                if let ControlFlow::Break(reason) = watch.after_step(messages, worst) {
                    return Ok(FallbackEnd::Stopped(reason));
                }
            }
            if worst < PROGRESS * pace.mark {
                (pace.mark, pace.since) = (worst, self.evaluations);
            }
            if rest.looks(worst) {
                self.messages_into(messages)?;
                rest.note(self.tree, messages, worst);
            }
            if rest.is_reached(worst, tolerance, pace.is_balanced()) {
                return Ok(FallbackEnd::Stationary);
            }
            if pace.balances() {
                let (changed, reduced) = self.balance(pace);
                if reduced {
                    // disagreements before and after do not compare
                    *rest = Rest::default();
                }
                pace.restart(self.weights(), self.evaluations, changed);
                continue;
            }
            self.before.copy_from_slice(&self.w);
            let slow = pace.is_slow(self.evaluations);
            pace.advance(&mut self.s, (&self.gap, &self.plain), norm, slow);
        }
        self.evaluate()?;
        Ok(limit(self.evaluations))
    }
}

fn limit(reached: usize) -> FallbackEnd {
    let bound = "evaluations";
    FallbackEnd::Limit { bound, reached }
}
