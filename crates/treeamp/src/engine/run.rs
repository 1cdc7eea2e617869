//! The loop: sweeps until the moments settle, or until it is clear that they do not.

use std::ops::ControlFlow;

use super::acceleration::Judgement;
use super::adaptive::{Stall, Step};
use super::ladder::Patience;
use super::outcome::Sweeps;
use super::probe::{Certified, LedBy};
use super::state::State;
use super::stopping::{End, Swept};
use super::sweep::Pass;
use super::{
    Algorithm, Attempt, Damping, Divergence, Engine, Marginal, Method, Observer, Steps,
    SweepRecord, Termination, Verdict,
};
use crate::error::RunError;

/// A residual this many times its minimum is a divergence.
const GROWTH_LIMIT: f64 = 1000.0;
/// The minimum counts as at least this: leaving a symmetric point slowly is not divergence.
const GROWTH_FLOOR: f64 = 1e-3;
/// Consecutive sweeps with an improper tilted law or belief after which the run gives up.
const IMPROPER_LIMIT: usize = 10;

/// Why sweeps stop.
enum Stop {
    /// The moments are at rest: what the state is, its verdict says.
    Rest {
        /// All variances have vanished.
        recovered: bool,
    },
    /// The run is over.
    End(Termination),
}

/// A run under way.
pub(super) struct Run<'e, 't, A: Algorithm> {
    engine: &'e Engine<'t, A>,
    pub state: State<A>,
    pub trace: Vec<SweepRecord>,
    /// Of every variable after every sweep.
    pub variances: Vec<f64>,
    /// The least residual so far.
    smallest: f64,
    /// Sweeps in a row with an improper law.
    improper_in_a_row: usize,
    /// Whether a sweep was the last.
    end: End,
    /// A first sweep that is improper ends it.
    restarts_if_improper: bool,
    bad_start: bool,
    /// Whether there is progress, and how long it goes on without.
    stall: Stall,
    patience: Patience,
    /// Sweeps of attempts before this one, which observers have seen.
    earlier: usize,
    /// It takes over from other sweeps, and those of this engine are to confirm its end.
    pub helps: Option<&'e Engine<'t, A>>,
    /// What the state is at which it came to rest.
    pub certified: Option<Certified>,
}

impl<A: Algorithm> Engine<'_, A> {
    fn outgrown(&self, state: &State<A>, sweep: usize, residual: f64) -> Divergence {
        Divergence {
            reason: format!("the residual {residual:.2e} is over {GROWTH_LIMIT} times its minimum"),
            sweep,
            variable: state.worst().map(|i| self.tree.variables()[i].name.clone()),
            factor: None,
            direction: None,
        }
    }
}

impl<'e, 't, A: Algorithm> Run<'e, 't, A> {
    /// The sweeps of an attempt, after so many that observers have seen.
    pub fn new(
        engine: &'e Engine<'t, A>,
        attempt: &Attempt,
        earlier: usize,
    ) -> Result<Self, RunError> {
        let (steps, limit) = match attempt.method {
            Method::Sweeps { steps, limit } => (steps, limit),
            Method::Certain => (Steps::Given, 1),
        };
        let capacity = limit.min(4096);
        let mut state = engine.start()?;
        state.adjusted.request.smoothing = attempt.smoothing;
        state.adjusted.bounded = attempt.positive;
        match steps {
            Steps::Adaptive(first) if first < 1.0 => state.begin_with(first),
            Steps::Constant(size) if A::ON_DATA => state.hold(Step::constant(size)),
            _ => {}
        }
        Ok(Self {
            engine,
            state,
            trace: Vec::with_capacity(capacity),
            variances: Vec::with_capacity(capacity * engine.tree.variables().len()),
            smallest: f64::INFINITY,
            improper_in_a_row: 0,
            end: End::new(engine.tree.variables().len()),
            restarts_if_improper: attempt.restarts_if_improper(),
            bad_start: false,
            stall: Stall::new(attempt.patience.stretch),
            patience: attempt.patience,
            earlier,
            helps: None,
            certified: None,
        })
    }

    /// What they came to.
    pub fn into_sweeps(mut self, termination: Termination) -> Sweeps<A> {
        self.engine.look(&mut self.state);
        let last = self.trace.last();
        let moved = last.map_or(f64::INFINITY, |record| record.residual / record.step);
        let plain = self.certified.as_ref().and_then(|c| c.plain_residual);
        Sweeps {
            distance: plain.unwrap_or(moved),
            state: self.state,
            trace: self.trace,
            variances: self.variances,
            certified: self.certified,
            termination,
            bad_start: self.bad_start,
        }
    }

    /// Sweeps until they end, or to this limit; beyond it while the residual creeps down.
    pub fn go(
        &mut self,
        limit: usize,
        observer: &mut impl Observer<A>,
    ) -> Result<Termination, RunError> {
        let mut sweep = 0;
        while sweep < limit || self.creeps() {
            sweep += 1;
            match self.step(sweep, observer)? {
                ControlFlow::Break(Stop::End(end)) => return Ok(end),
                ControlFlow::Break(Stop::Rest { recovered }) => {
                    if let Some(end) = self.certify(recovered)? {
                        return Ok(end);
                    }
                }
                ControlFlow::Continue(()) => {}
            }
        }
        Ok(Termination::SweepLimit)
    }

    /// The residual goes down, however slowly, and there are sweeps left for it.
    fn creeps(&self) -> bool {
        self.stall.creeps && self.trace.len() < self.patience.creeping
    }

    /// The last stretch was no better than the one before, and it is time for another attempt.
    fn makes_way(&mut self, sweep: usize, residual: f64) -> bool {
        let due = self.patience.least.is_some_and(|least| sweep >= least) && !self.creeps();
        due && (self.helps.is_some() || self.engine.may_give_way(&mut self.state, residual))
    }

    /// One sweep, and what follows from it.
    fn step(
        &mut self,
        sweep: usize,
        observer: &mut impl Observer<A>,
    ) -> Result<ControlFlow<Stop>, RunError> {
        let engine = self.engine;
        if let Damping::Steps(steps) = &engine.options.damping {
            let step = steps[sweep.min(steps.len()) - 1];
            self.state.damping.fill(1.0 - step);
        }
        self.state.attention.looks = observer.looks();
        self.state.note();
        let (improper, first) = match engine.sweep(&mut self.state, sweep)? {
            Pass::Broken(_) if self.state.judge(f64::INFINITY, true).back => {
                engine.remake(&mut self.state);
                return Ok(ControlFlow::Continue(()));
            }
            Pass::Broken(divergence) => return Ok(self.diverging(divergence)),
            Pass::Done { improper, first } => (improper, first),
        };
        let judgement = self.record(sweep, improper);
        if judgement.back {
            return Ok(ControlFlow::Continue(()));
        }
        self.improper_in_a_row = if improper > 0 {
            self.improper_in_a_row + 1
        } else {
            0
        };
        if let Some(divergence) = first.clone().filter(|_| self.has_bad_start()) {
            self.bad_start = true;
            let taken = self.state.taken();
            let seen = self.tell((sweep, taken), judgement.residual, improper, observer);
            let stop = seen.break_value();
            let stop = stop.unwrap_or(Stop::End(Termination::Diverging(divergence)));
            return Ok(ControlFlow::Break(stop));
        }
        if let Some(divergence) = first.filter(|_| self.improper_in_a_row >= IMPROPER_LIMIT) {
            // that it is improper is said once
            let inner = divergence.reason.as_str();
            let inner = inner.strip_prefix("its tilted law is improper: ");
            let inner = inner.unwrap_or(&divergence.reason);
            let reason = format!("improper for {} sweeps: {inner}", self.improper_in_a_row);
            return Ok(self.diverging(Divergence {
                reason,
                ..divergence
            }));
        }
        let residual = judgement.residual;
        if residual > GROWTH_LIMIT * self.smallest.max(GROWTH_FLOOR) && residual.is_finite() {
            engine.restore(&mut self.state);
            let divergence = engine.outgrown(&self.state, sweep, residual);
            return Ok(self.diverging(divergence));
        }
        Ok(self.settle(sweep, improper, judgement, observer))
    }

    /// Writes the sweep down; where it has led astray, the state goes back.
    fn record(&mut self, sweep: usize, improper: usize) -> Judgement {
        let residual = self.state.residual();
        let judgement = self.state.judge(residual, improper > 0);
        self.trace.push(SweepRecord {
            sweep,
            residual: judgement.residual,
            improper,
            step: self.state.taken(),
        });
        if judgement.back {
            self.engine.remake(&mut self.state);
        }
        let state = &self.state;
        let variances = state.marginals.iter().enumerate().map(|(i, m)| {
            if state.attention.passes_over(i) {
                f64::NAN
            } else {
                m.variance()
            }
        });
        self.variances.extend(variances);
        judgement
    }

    /// A run that was improper from its first sweep on has nothing to go back to: another attempt begins with smaller steps.
    fn has_bad_start(&self) -> bool {
        self.restarts_if_improper && self.improper_in_a_row > 0 && self.state.never_settled()
    }

    /// How the run ends at a state at rest; none where plain sweeps lead away from it, and it goes on.
    fn certify(&mut self, recovered: bool) -> Result<Option<Termination>, RunError> {
        let (engine, led_by) = match self.helps {
            None => (self.engine, LedBy::Sweeps),
            Some(plain) => (plain, LedBy::OtherSweeps),
        };
        let origin = (led_by, recovered);
        self.engine.look(&mut self.state);
        let certified = engine.certify(&mut self.state, &self.variances, origin)?;
        if let Verdict::NotStationary { moving: true, .. } = certified.verdict {
            self.end.go_on();
            return Ok(None);
        }
        let end = Termination::of(&certified.verdict);
        self.certified = Some(certified);
        Ok(Some(end))
    }

    /// Tells the observer of a sweep; it may be the last.
    fn tell(
        &self,
        (sweep, taken): (usize, f64),
        residual: f64,
        improper: usize,
        observer: &mut impl Observer<A>,
    ) -> ControlFlow<Stop> {
        let count = self.earlier + sweep;
        let beyond = self.helps.is_some() || sweep > self.engine.options.max_sweeps;
        let view = self.engine.view(&self.state, count, residual, beyond);
        match observer.after_sweep(&view.of_sweep(improper, taken)) {
            ControlFlow::Break(why) => ControlFlow::Break(Stop::End(Termination::Stopped(why))),
            ControlFlow::Continue(()) => ControlFlow::Continue(()),
        }
    }

    /// Back to the last good state, which is the end.
    fn diverging(&mut self, divergence: Divergence) -> ControlFlow<Stop> {
        self.engine.restore(&mut self.state);
        ControlFlow::Break(Stop::End(Termination::Diverging(divergence)))
    }

    /// Keeps a good state, chooses the next step, asks the observer, and looks whether the run has settled.
    fn settle(
        &mut self,
        sweep: usize,
        improper: usize,
        judgement: Judgement,
        observer: &mut impl Observer<A>,
    ) -> ControlFlow<Stop> {
        let (engine, state, residual) = (self.engine, &mut self.state, judgement.residual);
        // a variable that kept its moments for want of a belief has not settled
        if improper == 0 {
            self.smallest = self.smallest.min(residual);
            state.keep();
        }
        let (full_residual, step) = (state.full_residual(residual), state.step_size());
        let taken = state.taken();
        if improper > 0 && state.retreats(self.improper_in_a_row) {
            engine.restore(state);
        } else {
            state.adapt(residual, improper > 0, judgement.jumped);
        }
        self.tell((sweep, taken), residual, improper, observer)?;
        let swept = Swept {
            sweep,
            residual: full_residual,
            improper,
            jumped: judgement.jumped,
            step,
        };
        let state = &mut self.state;
        let tolerance = if self.helps.is_some() {
            engine.fallback_tolerance()
        } else {
            engine.options.tolerance
        };
        let bounds = (tolerance, engine.options.perfect);
        if let Some(recovered) = self.end.judge(state, swept, bounds) {
            return ControlFlow::Break(Stop::Rest { recovered });
        }
        if self.stall.note(sweep, full_residual) && self.makes_way(sweep, full_residual) {
            return ControlFlow::Break(Stop::End(Termination::SweepLimit));
        }
        self.state.jump(judgement, engine.options.tolerance);
        ControlFlow::Continue(())
    }
}
