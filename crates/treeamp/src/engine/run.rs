//! The loop: sweeps until the moments settle, or until it is clear that they do not.

use std::ops::ControlFlow;

use super::acceleration::Judgement;
use super::adaptive::{STRETCH, Stall, Step};
use super::probe::Certified;
use super::state::State;
use super::stopping::{End, Swept};
use super::sweep::Pass;
use super::{
    Algorithm, Damping, Divergence, Engine, Marginal, Observer, Report, SweepRecord, Termination,
    Verdict,
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
/// Times that an adaptive run which has been improper from its first sweep on starts again.
const FIRST_ATTEMPTS: i32 = 4;
/// And that one does whose signal is contradicted by a factor.
const ATTEMPTS: i32 = 2;

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
    /// Starts after the first.
    attempts: i32,
    /// Whether there is progress.
    stall: Stall,
    /// Sweeps of the run before this part of it, which has constant steps.
    earlier: Option<usize>,
    /// What the state is at which it came to rest.
    pub certified: Option<Certified>,
}

impl<A: Algorithm> Engine<'_, A> {
    /// One run with the options as they are.
    pub(super) fn attempt(&self, observer: &mut impl Observer<A>) -> Result<Report<A>, RunError> {
        let mut run = Run::new(self)?;
        let mut termination = Termination::SweepLimit;
        for sweep in 1..=self.sweep_limit() {
            if let ControlFlow::Break(end) = run.step(sweep, observer)?
                && let ControlFlow::Break(end) = run.confirm(end)?
            {
                termination = end;
                break;
            }
        }
        self.report(run, termination, observer)
    }

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
    fn new(engine: &'e Engine<'t, A>) -> Result<Self, RunError> {
        let capacity = engine.sweep_limit().min(4096);
        Ok(Self {
            engine,
            state: engine.start()?,
            trace: Vec::with_capacity(capacity),
            variances: Vec::with_capacity(capacity * engine.tree.variables().len()),
            smallest: f64::INFINITY,
            improper_in_a_row: 0,
            end: End::new(engine.tree.variables().len()),
            attempts: 0,
            stall: Stall::new(if A::FALLS_BACK_FROM_ANYWHERE {
                SHORT_STRETCH
            } else {
                STRETCH
            }),
            earlier: None,
            certified: None,
        })
    }

    /// Another start of a run that has made so many sweeps, with steps of a constant size.
    pub fn constant(
        engine: &'e Engine<'t, A>,
        step: Step,
        earlier: usize,
    ) -> Result<Self, RunError> {
        let mut run = Self::new(engine)?;
        run.state.hold(step);
        run.attempts = FIRST_ATTEMPTS;
        run.stall = Stall::new(SHORT_STRETCH);
        run.earlier = Some(earlier);
        Ok(run)
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
        if self.starts_again() {
            let taken = self.state.taken();
            let told = self.tell((sweep, taken), judgement.residual, improper, observer);
            if told.is_continue() {
                self.start_again()?;
            }
            return Ok(told);
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

    /// A run that was improper from its first sweep on has nothing to go back to: it starts once more, with smaller
    /// steps.
    fn starts_again(&self) -> bool {
        self.improper_in_a_row > 0 && self.attempts < FIRST_ATTEMPTS && self.state.never_settled()
    }

    fn start_again(&mut self) -> Result<(), RunError> {
        self.attempts += 1;
        self.state = self.engine.start()?;
        self.state.begin_with(0.5_f64.powi(self.attempts));
        self.improper_in_a_row = 0;
        Ok(())
    }

    /// Confirms that the state at rest is a fixed point. A run that plain sweeps lead away from it goes on. One whose signal is
    /// contradicted starts once more, with smaller steps, where they adapt.
    pub fn confirm(&mut self, end: Termination) -> Result<ControlFlow<Termination>, RunError> {
        let Termination::Converged { perfect_recovery } = end else {
            return Ok(ControlFlow::Break(end));
        };
        let origin = (true, perfect_recovery);
        let certified = self
            .engine
            .certify(&mut self.state, &self.variances, origin)?;
        match &certified.verdict {
            Verdict::NotStationary { moving: true, .. } => {
                self.end.go_on();
                return Ok(ControlFlow::Continue(()));
            }
            Verdict::Contradicted(_) if self.attempts < ATTEMPTS && self.state.step.is_some() => {
                self.start_again()?;
                self.end = End::new(self.state.marginals.len());
                self.smallest = f64::INFINITY;
                return Ok(ControlFlow::Continue(()));
            }
            _ => {}
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
        let count = self.earlier.unwrap_or(0) + sweep;
        let beyond = self.earlier.is_some() || sweep > self.engine.options.max_sweeps;
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
        let tolerance = match self.earlier {
            Some(_) => engine.fallback_tolerance(),
            None => engine.options.tolerance,
        };
        let bounds = (tolerance, engine.options.perfect);
        let ended = self.end.judge(state, swept, bounds);
        if let Some(perfect_recovery) = ended {
            return ControlFlow::Break(Termination::Converged { perfect_recovery });
        }
        let stalls = self.stall.note(sweep, full_residual);
        let over = match self.earlier {
            Some(_) => stalls && !self.creeps(),
            None => stalls && engine.gives_up(&mut self.state, sweep, full_residual),
        };
        if over {
            return ControlFlow::Break(Termination::SweepLimit);
        }
        self.state.jump(judgement, engine.options.tolerance);
        ControlFlow::Continue(())
    }
}
