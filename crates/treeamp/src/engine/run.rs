//! The loop: sweeps until the moments settle, or until it is clear that they do not.

use std::ops::ControlFlow;

use super::acceleration::Judgement;
use super::adaptive::{STRETCH, Stall, Step};
use super::driver::Sweeps;
use super::probe::Certified;
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
/// The sweeps over which steps of a constant size must make progress.
const SHORT_STRETCH: usize = 25;
/// Steps of a constant size, at most, where the residual creeps down.
const LONGEST: usize = 1000;

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
    gives_way: bool,
    bad_start: bool,
    /// Whether there is progress.
    stall: Stall,
    /// Sweeps of attempts before this one, which observers have seen.
    pub earlier: usize,
    /// It takes over from other sweeps.
    helps: bool,
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
    /// The sweeps of an attempt.
    pub fn new(engine: &'e Engine<'t, A>, attempt: &Attempt) -> Result<Self, RunError> {
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
            gives_way: attempt.gives_way(),
            bad_start: false,
            stall: Stall::new(if engine.algorithm.certain_from_anywhere(engine.tree) {
                SHORT_STRETCH
            } else {
                STRETCH
            }),
            earlier: 0,
            helps: false,
            certified: None,
        })
    }

    /// The sweeps of an attempt after so many others of the same run.
    pub fn helping(
        engine: &'e Engine<'t, A>,
        attempt: &Attempt,
        earlier: usize,
    ) -> Result<Self, RunError> {
        let mut run = Self::new(engine, attempt)?;
        run.gives_way = false;
        run.stall = Stall::new(SHORT_STRETCH);
        run.earlier = earlier;
        run.helps = true;
        Ok(run)
    }

    /// What they came to.
    pub fn into_sweeps(self, termination: Termination) -> Sweeps<A> {
        Sweeps {
            state: self.state,
            trace: self.trace,
            variances: self.variances,
            certified: self.certified,
            termination,
            bad_start: self.bad_start,
        }
    }

    /// The residual goes down, however slowly, and there are sweeps left for it.
    pub fn creeps(&self) -> bool {
        self.stall.creeps && self.trace.len() < LONGEST
    }

    /// One sweep, and what follows from it.
    pub fn step(
        &mut self,
        sweep: usize,
        observer: &mut impl Observer<A>,
    ) -> Result<ControlFlow<Termination>, RunError> {
        let engine = self.engine;
        if let Damping::Steps(steps) = &engine.options.damping {
            let step = steps[sweep.min(steps.len()) - 1];
            self.state.damping.fill(1.0 - step);
        }
        self.state.note();
        let (improper, first) = match engine.sweep(&mut self.state, sweep)? {
            Pass::Broken(_) if self.end.recovered => return Ok(self.recovers()),
            Pass::Broken(_) if self.state.judge(f64::INFINITY, true).back => {
                engine.remake(&mut self.state);
                return Ok(ControlFlow::Continue(()));
            }
            Pass::Broken(divergence) => return Ok(self.diverging(divergence)),
            Pass::Done { improper, first } => (improper, first),
        };
        if improper > 0 && self.end.recovered {
            return Ok(self.recovers());
        }
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
            let told = self.tell((sweep, taken), judgement.residual, improper, observer);
            let end = told.break_value();
            let end = end.unwrap_or(Termination::Diverging(divergence));
            return Ok(ControlFlow::Break(end));
        }
        if let Some(divergence) = first.filter(|_| self.improper_in_a_row >= IMPROPER_LIMIT) {
            let reason = format!(
                "improper for {} sweeps: {}",
                self.improper_in_a_row, divergence.reason
            );
            return Ok(self.diverging(Divergence {
                reason,
                ..divergence
            }));
        }
        let residual = judgement.residual;
        if residual > GROWTH_LIMIT * self.smallest.max(GROWTH_FLOOR) && residual.is_finite() {
            engine.restore(&mut self.state);
            let divergence = engine.outgrown(&self.state, sweep, residual);
            return Ok(ControlFlow::Break(Termination::Diverging(divergence)));
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
        let variances = self.state.marginals.iter().map(Marginal::variance);
        self.variances.extend(variances);
        judgement
    }

    /// A run that was improper from its first sweep on has nothing to go back to: another attempt begins with smaller steps.
    fn has_bad_start(&self) -> bool {
        self.gives_way && self.improper_in_a_row > 0 && self.state.never_settled()
    }

    /// Confirms that the state at rest is a fixed point. A run that plain sweeps lead away from it goes on.
    pub fn confirm(&mut self, end: Termination) -> Result<ControlFlow<Termination>, RunError> {
        let Termination::Converged { perfect_recovery } = end else {
            return Ok(ControlFlow::Break(end));
        };
        let origin = (true, perfect_recovery);
        let certified = self
            .engine
            .certify(&mut self.state, &self.variances, origin)?;
        if let Verdict::NotStationary { moving: true, .. } = certified.verdict {
            self.end.go_on();
            return Ok(ControlFlow::Continue(()));
        }
        let end = Termination::of(&certified.verdict);
        self.certified = Some(certified);
        Ok(ControlFlow::Break(end))
    }

    /// Tells the observer of a sweep; it may be the last.
    fn tell(
        &self,
        (sweep, taken): (usize, f64),
        residual: f64,
        improper: usize,
        observer: &mut impl Observer<A>,
    ) -> ControlFlow<Termination> {
        let count = self.earlier + sweep;
        let beyond = self.helps || sweep > self.engine.options.max_sweeps;
        let view = self.engine.view(&self.state, count, residual, beyond);
        match observer.after_sweep(&view.of_sweep(improper, taken)) {
            ControlFlow::Break(reason) => ControlFlow::Break(Termination::Stopped(reason)),
            ControlFlow::Continue(()) => ControlFlow::Continue(()),
        }
    }

    /// Back to the last good state, which is the end.
    fn diverging(&mut self, divergence: Divergence) -> ControlFlow<Termination> {
        self.engine.restore(&mut self.state);
        ControlFlow::Break(Termination::Diverging(divergence))
    }

    /// Back to the state whose variances had vanished: messages beyond have no digits left.
    fn recovers(&mut self) -> ControlFlow<Termination> {
        self.engine.restore(&mut self.state);
        ControlFlow::Break(Termination::Converged {
            perfect_recovery: true,
        })
    }

    /// Keeps a good state, chooses the next step, asks the observer, and looks whether the run has settled.
    fn settle(
        &mut self,
        sweep: usize,
        improper: usize,
        judgement: Judgement,
        observer: &mut impl Observer<A>,
    ) -> ControlFlow<Termination> {
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
        let tolerance = if self.helps {
            engine.fallback_tolerance()
        } else {
            engine.options.tolerance
        };
        let bounds = (tolerance, engine.options.perfect);
        let ended = self.end.judge(state, swept, bounds);
        if let Some(perfect_recovery) = ended {
            return ControlFlow::Break(Termination::Converged { perfect_recovery });
        }
        let stalls = self.stall.note(sweep, full_residual);
        let over = if self.helps {
            !self.creeps()
        } else {
            engine.gives_up(&mut self.state, sweep, full_residual)
        };
        if stalls && over {
            return ControlFlow::Break(Termination::SweepLimit);
        }
        self.state.jump(judgement, engine.options.tolerance);
        ControlFlow::Continue(())
    }
}
