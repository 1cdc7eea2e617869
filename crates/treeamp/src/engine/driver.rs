//! One driver walks the [ladder](super::ladder) of attempts until one settles, and returns the best of what was tried.

use std::ops::ControlFlow;

use super::fallback::MORE_SWEEPS;
use super::ladder::{After, FIRST_SWEEPS};
use super::probe::{Certified, Supervisor, Watch as _};
use super::run::Run;
use super::state::State;
use super::sweep::Pass;
use super::{
    Algorithm, Attempt, Attempted, Bound, Damping, Engine, Fallback, FallbackEnd, FallbackReport,
    Method, Observer, Options, Origin, Report, Steps, SweepRecord, Termination, Verdict,
};
use crate::error::RunError;

/// A residual below this is at rest, and what is left of it rounding.
const AT_REST: f64 = 1e-6;
/// A run of so many sweeps without a tolerance was meant to reach a fixed point; shorter ones look at single sweeps.
const LONG: usize = 200;
/// Sweeps after which a run that has not settled may be handed over, where it has [stalled](super::adaptive::Stall).
const PATIENCE: usize = 100;
/// Where there is no certain way, a run may go on for this many times the sweeps it was given.
const MORE: usize = 5;

/// What the sweeps of an attempt came to.
pub(super) struct Sweeps<A: Algorithm> {
    pub state: State<A>,
    pub trace: Vec<SweepRecord>,
    /// Of every variable after every sweep.
    pub variances: Vec<f64>,
    pub certified: Option<Certified>,
    pub termination: Termination,
    /// The first sweep was improper, and another attempt begins with a smaller step.
    pub bad_start: bool,
}

impl<A: Algorithm> Sweeps<A> {
    /// How far a full sweep would move the moments, relative to the signal.
    fn distance(&self) -> f64 {
        let last = self.trace.last();
        last.map_or(f64::INFINITY, |record| record.residual / record.step)
    }

    fn residual(&self) -> f64 {
        self.trace.last().map_or(f64::INFINITY, |r| r.residual)
    }

    fn verdict(&self) -> Option<&Verdict> {
        match &self.termination {
            Termination::Rejected(verdict) => Some(verdict),
            _ => None,
        }
    }
}

/// What the attempts so far came to.
pub(super) struct Walk<A: Algorithm> {
    /// Sweeps with the damping of the options, where others followed them.
    given: Option<Sweeps<A>>,
    /// The sweeps that the report tells of.
    sweeps: Option<Sweeps<A>>,
    /// Of the states that fallbacks by sweeps led to without diverging, the one that a full sweep moves least, and by how much.
    best: Option<(Box<State<A>>, f64)>,
    /// Sweeps that observers have seen, of attempts with one numbering.
    seen: usize,
    /// Evaluations of fallbacks.
    spent: usize,
    pub fallback: Option<FallbackReport>,
    pub no_fallback: Option<RunError>,
    pub attempts: Vec<Attempted>,
    /// A fallback is forced: sweeps that settle are not the end.
    forced: bool,
    /// An attempt settled, or an observer stopped it.
    over: bool,
}

impl<A: Algorithm> Walk<A> {
    fn new(forced: bool) -> Self {
        Self {
            forced,
            given: None,
            sweeps: None,
            best: None,
            seen: 0,
            spent: 0,
            fallback: None,
            no_fallback: None,
            attempts: Vec::new(),
            over: false,
        }
    }

    fn main(&self) -> Option<&Sweeps<A>> {
        self.sweeps.as_ref().or(self.given.as_ref())
    }

    fn main_mut(&mut self) -> Option<&mut Sweeps<A>> {
        self.sweeps.as_mut().or(self.given.as_mut())
    }

    fn note(
        &mut self,
        (attempt, name): (Attempt, &'static str),
        evaluations: usize,
        residual: f64,
        end: &Termination,
    ) {
        let settled = end.is_converged() && (attempt.is_fallback() || !self.forced);
        self.over = settled || matches!(end, Termination::Stopped(_));
        self.attempts.push(Attempted {
            attempt,
            name,
            evaluations,
            residual,
            end: end.clone(),
        });
    }

    /// How far a full sweep would move the moments where the run has ended.
    fn distance(&self) -> f64 {
        let of_fallback = self.fallback.as_ref().filter(|done| !done.reverted);
        let of_sweeps = || self.main().map_or(f64::INFINITY, Sweeps::distance);
        of_fallback.map_or_else(of_sweeps, |done| {
            done.sweep_residual.unwrap_or(f64::INFINITY)
        })
    }
}

impl<A: Algorithm> Engine<'_, A> {
    /// Runs until convergence, divergence, the sweep limit, or an observer's word.
    ///
    /// With [`Fallback::Automatic`] a run on data that does not settle is followed by other attempts, which [`Report::attempts`] tells of:
    /// after a damping above zero that was given, steps that adapt; after these, what [`Fallback`] says. Observers see the sweeps of the first
    /// two from 1 on. What is returned is the best of what was tried: one that settled, else the one nearer to a fixed point, by the residual
    /// of a full step. A run without a tolerance was asked for its sweeps: others follow where it diverges, and where 200 of them or
    /// more have not come to rest, below 1e-6.
    ///
    /// Where linear channels take approximate message passing ([`Route`](crate::factor::Route)), a run that does not settle, or whose end the
    /// exact route would not confirm, is made again by that one, and observers see sweeps from 1 on again ([`Report::routes`]).
    ///
    /// # Errors
    /// An option out of range, or a factor that fails for good. Divergence is not an error: the
    /// report says so and holds the last good state.
    pub fn run(&self, observer: &mut impl Observer<A>) -> Result<Report<A>, RunError> {
        self.options.check()?;
        self.by_route(observer)
    }

    /// Walks the ladder.
    pub(super) fn walk(&self, observer: &mut impl Observer<A>) -> Result<Report<A>, RunError> {
        let mut walk = Walk::new(self.options.fallback == Fallback::Forced);
        for attempt in self.ladder() {
            if walk.over {
                break;
            }
            if !self.wants(&attempt, &walk) {
                continue;
            }
            let engine = self.for_attempt(&attempt);
            match attempt.method {
                Method::Certain => engine.take_over(attempt, &mut walk, observer)?,
                Method::Sweeps { .. } if attempt.is_fallback() => {
                    self.help(&engine, attempt, &mut walk, observer);
                }
                Method::Sweeps { .. } => engine.sweep_on(attempt, &mut walk, observer)?,
            }
        }
        self.conclude(walk)
    }

    /// The engine of an attempt.
    fn for_attempt(&self, attempt: &Attempt) -> Self {
        let mut options = self.options.clone();
        options.positive |= attempt.positive;
        match attempt.method {
            Method::Sweeps {
                steps: Steps::Constant(size),
                ..
            } if !A::ON_DATA => options.damping = Damping::Constant(1.0 - size),
            Method::Sweeps {
                steps: Steps::Given,
                ..
            } => {}
            _ => options.damping = Damping::Adaptive,
        }
        self.with(options)
    }

    /// Whether an attempt is to be made after what came before.
    fn wants(&self, attempt: &Attempt, walk: &Walk<A>) -> bool {
        let Some(last) = walk.main() else {
            return attempt.after == After::Nothing;
        };
        let contradicted = matches!(last.verdict(), Some(Verdict::Contradicted(_)));
        match attempt.after {
            After::Nothing => true,
            After::Given => self.should_restart(last),
            After::BadStart => last.bad_start,
            After::BadStartOrContradicted => last.bad_start || contradicted,
            After::Sweeps => {
                // other steps would come to rest at the same state, at which nothing moves
                let moves = !matches!(last.verdict(), Some(Verdict::NotStationary { .. }));
                moves && !self.algorithm.certain_from_anywhere(self.tree) && self.hands_over(last)
            }
            After::SweepsForCertain => {
                // the free energy that a certain method descends has no bound where the run collapsed
                let collapsed = matches!(last.verdict(), Some(Verdict::Collapsed { .. }));
                let forced = self.options.fallback == Fallback::Forced;
                self.hands_over(last) && (forced || !collapsed)
            }
            After::EarlyEnd => {
                let certain = |a: &Attempted| a.attempt.method == Method::Certain;
                let done = walk.fallback.as_ref();
                walk.attempts.last().is_some_and(certain)
                    && done.is_some_and(FallbackReport::should_retry)
            }
        }
    }

    /// The sweeps of an attempt, which become those of the run unless the ones before were nearer to a fixed point.
    fn sweep_on(
        &self,
        attempt: Attempt,
        walk: &mut Walk<A>,
        observer: &mut impl Observer<A>,
    ) -> Result<(), RunError> {
        let Method::Sweeps { steps, limit } = attempt.method else {
            return Ok(());
        };
        let mut run = Run::new(self, &attempt)?;
        if attempt.after != After::Given {
            run.earlier = walk.seen;
        }
        let mut termination = Termination::SweepLimit;
        for sweep in 1..=limit {
            if let ControlFlow::Break(end) = run.step(sweep, observer)?
                && let ControlFlow::Break(end) = run.confirm(end)?
            {
                termination = end;
                break;
            }
        }
        walk.seen = run.earlier + run.trace.len();
        let made = run.into_sweeps(termination);
        let name = attempt.name();
        walk.note(
            (attempt, name),
            made.trace.len(),
            made.distance(),
            &made.termination,
        );
        if steps == Steps::Given {
            walk.given = Some(made);
        } else if !walk.sweeps.as_ref().is_some_and(|s| stays_behind(&made, s)) {
            walk.sweeps = Some(made);
        }
        Ok(())
    }

    /// A fallback by sweeps: from the start again, with other steps, smoothed penalties or positive precisions.
    fn help(
        &self,
        engine: &Self,
        attempt: Attempt,
        walk: &mut Walk<A>,
        observer: &mut impl Observer<A>,
    ) {
        let before = walk.seen + walk.spent;
        let Ok(run) = Run::helping(engine, &attempt, before) else {
            return;
        };
        let name = attempt.name();
        let smoothing = attempt.smoothing;
        let (made, run, end) = self.follow(run, &attempt, observer);
        walk.spent += made;
        let proper = run.trace.last().is_some_and(|r| r.improper == 0);
        let mut state = run.state;
        if let Some((end, residual)) = end {
            let mut report = FallbackReport::of_sweeps(name, (made, walk.spent), residual, end);
            report.smoothing = smoothing;
            let termination = report.termination();
            walk.note((attempt, name), made, residual, &termination);
            if let Some(main) = walk.main_mut() {
                main.state = state;
                main.termination = termination;
            }
            walk.fallback = Some(report);
            return;
        }
        let residual = self.full_sweep_residual(&mut state).filter(|_| proper);
        let told = residual.unwrap_or(f64::INFINITY);
        walk.note((attempt, name), made, told, &Termination::SweepLimit);
        if let Some(residual) = residual.filter(|r| walk.best.as_ref().is_none_or(|b| *r < b.1)) {
            walk.best = Some((Box::new(state), residual));
        }
    }

    /// The sweeps that were made, the run they led to, and how they ended, if at a fixed point or by an observer.
    fn follow<'r, 't>(
        &self,
        mut run: Run<'r, 't, A>,
        attempt: &Attempt,
        observer: &mut impl Observer<A>,
    ) -> (usize, Run<'r, 't, A>, Option<(FallbackEnd, f64)>) {
        let limit = match attempt.method {
            Method::Sweeps { limit, .. } => limit,
            Method::Certain => 0,
        };
        let mut sweep = 0;
        while sweep < limit || run.creeps() {
            sweep += 1;
            let step = run.step(sweep, observer);
            let step = step.and_then(|step| match step {
                ControlFlow::Break(end) => run.confirm(end),
                ControlFlow::Continue(()) => Ok(step),
            });
            let last = run.trace.last().map_or(f64::INFINITY, |r| r.residual);
            let (end, residual) = match step {
                Ok(ControlFlow::Continue(())) => continue,
                Ok(ControlFlow::Break(Termination::Stopped(reason))) => {
                    (FallbackEnd::Stopped(reason), last)
                }
                Ok(ControlFlow::Break(Termination::Converged {
                    perfect_recovery: true,
                })) => (FallbackEnd::Recovered, last),
                Ok(ControlFlow::Break(Termination::Converged { .. })) => {
                    let mut supervisor = Supervisor {
                        engine: self,
                        state: &mut run.state,
                        observer: &mut *observer,
                        count: sweep,
                    };
                    match supervisor.confirmed(self.fallback_tolerance()) {
                        Some(residual) => (FallbackEnd::Stationary, residual),
                        None => continue,
                    }
                }
                _ => break,
            };
            return (sweep, run, Some((end, residual)));
        }
        self.restore(&mut run.state);
        (sweep, run, None)
    }

    /// The certain method, from the last good state, to which it goes back if that is the better one.
    fn take_over(
        &self,
        attempt: Attempt,
        walk: &mut Walk<A>,
        observer: &mut impl Observer<A>,
    ) -> Result<(), RunError> {
        let forced = self.options.fallback == Fallback::Forced;
        if !forced && let Some(why) = self.algorithm.uncertain(self.tree) {
            if walk.main().is_some_and(|m| m.verdict().is_none()) {
                self.keep_better(walk, false);
            }
            walk.no_fallback = Some(why);
            return Ok(());
        }
        let (spent, best, earlier) = (walk.spent, walk.best.take(), walk.fallback.take());
        let sweeps = walk.seen + spent;
        let Some(main) = walk.main_mut() else {
            return Ok(());
        };
        let again = attempt.start == Origin::FirstSweeps;
        let diverged = matches!(main.termination, Termination::Diverging(_));
        let rejected = main.verdict().is_some();
        // a contradiction tells more than a bound: unless the fallback settles, it stands, with its state
        let contradicted = matches!(main.verdict(), Some(Verdict::Contradicted(_)));
        let from_anywhere = self.algorithm.certain_from_anywhere(self.tree);
        if !again {
            self.restore(&mut main.state);
        }
        let before = main.state.store[..self.tree.edges().len()].to_vec();
        // a state at a contradicted signal leads nowhere: in its place, that after the first sweeps
        let first_sweeps = if again || contradicted {
            self.after_first_sweeps()?
        } else {
            None
        };
        if again && first_sweeps.is_none() {
            walk.fallback = earlier;
            walk.best = best;
            return Ok(());
        }
        let mut messages = match first_sweeps {
            Some(other) => other.store[..before.len()].to_vec(),
            None => before.clone(),
        };
        let mut supervisor = Supervisor {
            engine: self,
            state: &mut main.state,
            observer,
            count: sweeps,
        };
        // one that starts from anywhere owes nothing to the sweeps
        let residual_before = (!from_anywhere).then(|| supervisor.sweep_residual(&before));
        let options = Options {
            tolerance: self.fallback_tolerance(),
            ..self.options.clone()
        };
        let done = self
            .algorithm
            .fall_back(self.tree, &mut messages, &options, &mut supervisor);
        let mut done = match done {
            Ok(done) => done,
            Err(error) => {
                supervisor.take(&before);
                // one that starts from anywhere would have gone on: a factor that fails there is what the sweeps stumbled over
                if forced || from_anywhere && error.is_failed_factor() {
                    return Err(error);
                }
                walk.fallback = earlier;
                walk.no_fallback = Some(error);
                return Ok(());
            }
        };
        done.reverted = done.is_worse_than(residual_before.flatten())
            || contradicted && done.end.is_unsettled();
        supervisor.state.has_good = true;
        supervisor.take(if done.reverted { &before } else { &messages });
        let alone = done.evaluations;
        done.evaluations += earlier.as_ref().map_or(spent, |e| e.evaluations);
        done.steps += earlier.as_ref().map_or(0, |e| e.steps);
        let termination = done.termination();
        if !rejected || !done.reverted {
            main.termination = termination.clone();
        }
        let residual = done.sweep_residual.unwrap_or(done.residual);
        let at_bound = matches!(done.end, FallbackEnd::Limit { .. });
        let reverted = done.reverted;
        let name = done.method;
        walk.fallback = Some(done);
        walk.best = best;
        walk.note((attempt, name), alone, residual, &termination);
        if !rejected && at_bound {
            let taken = self.keep_better(walk, diverged && reverted);
            if let Some(done) = &mut walk.fallback {
                done.reverted |= taken;
            }
        }
        Ok(())
    }

    /// Takes the best state of fallbacks by sweeps if it is better than the present one, which did not settle: one that did not diverge is
    /// better than one that did, then the one that a full sweep moves less. Says whether it did.
    fn keep_better(&self, walk: &mut Walk<A>, diverged: bool) -> bool {
        let Some((other, residual)) = walk.best.take() else {
            return false;
        };
        let Some(main) = walk.main_mut() else {
            return false;
        };
        let diverged = diverged || matches!(main.termination, Termination::Diverging(_));
        let here = self.full_sweep_residual(&mut main.state);
        let better = diverged || here.is_none_or(|here| residual < here);
        if better {
            main.state = *other;
        }
        better
    }

    /// The state after the first sweeps, if it is a good one.
    fn after_first_sweeps(&self) -> Result<Option<State<A>>, RunError> {
        let mut state = self.start()?;
        for sweep in 1..=FIRST_SWEEPS {
            if let Pass::Done { improper: 0, .. } = self.sweep(&mut state, sweep)? {
                state.residual();
                state.keep();
            }
        }
        Ok(Some(state).filter(|state| state.has_good))
    }

    /// How far a full sweep moves the moments; none where it cannot be made. The state stays.
    fn full_sweep_residual(&self, state: &mut State<A>) -> Option<f64> {
        let messages = state.store[..self.tree.edges().len()].to_vec();
        let mut supervisor = Supervisor {
            engine: self,
            state,
            observer: &mut (),
            count: 0,
        };
        supervisor.sweep_residual(&messages)
    }

    /// The report on the best of what was tried.
    fn conclude(&self, mut walk: Walk<A>) -> Result<Report<A>, RunError> {
        let first = walk.given.take();
        let Some(best) = walk.sweeps.take() else {
            let given = first.ok_or_else(no_attempt)?;
            return self.report(given, walk, None);
        };
        self.tell_more_sweeps(&mut walk, &best);
        let Some(given) = first else {
            return self.report(best, walk, None);
        };
        let behind = match (&given.termination, &best.termination) {
            (_, Termination::Converged { .. } | Termination::Stopped(_))
            | (Termination::Diverging(_) | Termination::Rejected(_), _) => false,
            (_, Termination::Diverging(_) | Termination::Rejected(_)) => true,
            _ => given.distance() <= walk.distance().min(best.distance()),
        };
        if behind {
            (walk.fallback, walk.no_fallback) = (None, None);
            return self.report(given, walk, None);
        }
        let restarted = self
            .options
            .damping
            .is_constant()
            .then_some(given.termination);
        self.report(best, walk, restarted)
    }

    /// What sweeps beyond those that were asked for did, if there were any and nothing took over from them.
    fn tell_more_sweeps(&self, walk: &mut Walk<A>, sweeps: &Sweeps<A>) {
        let made = sweeps.trace.len();
        let more = made.saturating_sub(self.options.max_sweeps);
        let forced = self.options.fallback == Fallback::Forced;
        if more == 0 || forced || walk.fallback.is_some() {
            return;
        }
        let end = match &sweeps.termination {
            Termination::Converged {
                perfect_recovery: true,
            } => FallbackEnd::Recovered,
            Termination::Converged { .. } => FallbackEnd::Stationary,
            Termination::Stopped(reason) => FallbackEnd::Stopped(reason.clone()),
            _ => FallbackEnd::Limit {
                bound: Bound::Sweeps,
                reached: made,
            },
        };
        let residual = sweeps.state.full_residual(sweeps.residual());
        walk.fallback = Some(FallbackReport::of_sweeps(
            MORE_SWEEPS,
            (more, more),
            residual,
            end,
        ));
    }

    /// Sweeps with the damping of the options did not settle, and were to.
    fn should_restart(&self, made: &Sweeps<A>) -> bool {
        match made.termination {
            Termination::Diverging(_) | Termination::Rejected(_) => true,
            Termination::SweepLimit => {
                let count = made.trace.len();
                let moves = made.distance() >= AT_REST;
                let ends = self.options.tolerance > 0.0;
                let meant = if A::ON_DATA {
                    ends || count >= LONG
                } else {
                    count >= PATIENCE
                };
                meant && (ends || moves)
            }
            _ => false,
        }
    }

    /// Other attempts take over from these sweeps.
    fn hands_over(&self, made: &Sweeps<A>) -> bool {
        if self.options.fallback == Fallback::Forced {
            return !matches!(made.termination, Termination::Stopped(_));
        }
        let residual = made.state.full_residual(made.residual());
        let unsettled = match made.termination {
            // a shorter run just ends
            Termination::SweepLimit => {
                let long =
                    made.trace.len() >= PATIENCE || self.algorithm.certain_from_anywhere(self.tree);
                long && self.options.max_sweeps >= PATIENCE && !self.rests(residual)
            }
            Termination::Diverging(_)
            | Termination::Rejected(_)
            | Termination::FallbackLimit { .. } => true,
            Termination::Converged { .. } | Termination::Stopped(_) => false,
        };
        unsettled && self.may_fall_back(&made.state)
    }

    /// The first attempt ends after this many sweeps, if not before.
    pub(super) fn sweep_limit(&self) -> usize {
        let limit = self.options.max_sweeps;
        let adapts = A::ON_DATA && self.options.damping == Damping::Adaptive;
        let ends = self.options.tolerance > 0.0;
        match self.options.fallback {
            Fallback::Forced => FIRST_SWEEPS.min(limit),
            Fallback::Automatic
                if adapts
                    && ends
                    && limit >= PATIENCE
                    && self.algorithm.uncertain(self.tree).is_some() =>
            {
                limit.saturating_mul(MORE)
            }
            _ => limit,
        }
    }

    /// The tolerance of what takes over: a run that is not to end by itself has none.
    pub(super) fn fallback_tolerance(&self) -> f64 {
        if self.ends_by_itself() {
            self.options.tolerance
        } else {
            AT_REST
        }
    }

    /// There is a tolerance, or the fallback was asked for, or it has one of its own.
    fn ends_by_itself(&self) -> bool {
        self.options.tolerance > 0.0
            || self.options.fallback == Fallback::Forced
            || self.algorithm.certain_from_anywhere(self.tree)
    }

    /// A run that is not to end by itself has come to rest.
    fn rests(&self, residual: f64) -> bool {
        !self.ends_by_itself() && residual < AT_REST
    }

    /// A fallback may take over from the sweeps of this state.
    pub(super) fn may_fall_back(&self, state: &State<A>) -> bool {
        let startable = state.has_good || self.algorithm.certain_from_anywhere(self.tree);
        match self.options.fallback {
            Fallback::Forced => true,
            Fallback::Automatic => state.step.is_some() && startable,
            Fallback::Forbidden => false,
        }
    }

    /// The sweeps of this run have made no progress for so long that its fallback is to come before their limit. One
    /// that has none goes on: it may still settle.
    pub(super) fn gives_up(&self, state: &mut State<A>, sweep: usize, residual: f64) -> bool {
        let certain = self.algorithm.uncertain(self.tree).is_none();
        if self.options.fallback != Fallback::Automatic || state.step.is_none() || !certain {
            return false;
        }
        // one that starts from anywhere owes nothing to the sweeps
        self.algorithm.certain_from_anywhere(self.tree)
            || state.has_good
                && sweep >= PATIENCE
                && !self.rests(residual)
                && self.objective(state).is_ok()
    }
}

/// Sweeps that did not settle either, and ended farther from a fixed point than the ones before.
fn stays_behind<A: Algorithm>(second: &Sweeps<A>, first: &Sweeps<A>) -> bool {
    match (&first.termination, &second.termination) {
        (_, Termination::Converged { .. } | Termination::Stopped(_))
        | (Termination::Diverging(_) | Termination::Rejected(_), _) => false,
        (_, Termination::Diverging(_) | Termination::Rejected(_)) => true,
        _ => first.distance() <= second.distance(),
    }
}

fn no_attempt() -> RunError {
    RunError::NotReached {
        what: "a first sweep".to_owned(),
        termination: "no attempt was made".to_owned(),
    }
}
