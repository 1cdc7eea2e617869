//! One driver walks the [ladder](super::ladder) of attempts until one settles, and returns the best of what was tried.

use super::fallback::MORE_SWEEPS;
use super::outcome::{Sweeps, Walk};
use super::probe::{Supervisor, Watch as _};
use super::run::Run;
use super::state::State;
use super::{
    Algorithm, Attempt, Damping, Engine, FallbackEnd, FallbackReport, Method, Observer, Report,
    Steps, Termination,
};
use crate::error::RunError;

impl<A: Algorithm> Engine<'_, A> {
    /// Runs until convergence, divergence, the sweep limit, or an observer's word.
    ///
    /// With [`Fallback::Automatic`](super::Fallback::Automatic) a run on data that does not settle is followed by other attempts, which
    /// [`Report::attempts`] tells of: after a damping above zero that was given, steps that adapt; after these, what
    /// [`Fallback`](super::Fallback) says. Observers see the sweeps of the first two from 1 on. What is returned is the best of what was
    /// tried: one that settled, else the one nearer to a fixed point, by the residual of a full step. (Evidences of states that have not
    /// settled are noise, and do not count; a state that was rejected stands, with its verdict, unless another attempt settles.) A run
    /// without a tolerance was asked for its sweeps: others follow where it diverges, and where 200 of them or more have not come to rest,
    /// below 1e-6.
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
        let mut walk = Walk::new(self.is_forced());
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
                Method::Sweeps { limit, .. } if attempt.is_fallback() => {
                    self.help(&engine, (attempt, limit), &mut walk, observer);
                }
                Method::Sweeps { limit, .. } => {
                    engine.sweep_on((attempt, limit), &mut walk, observer)?;
                }
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

    /// The sweeps of an attempt, which become those of the run unless the ones before were nearer to a fixed point.
    fn sweep_on(
        &self,
        (attempt, limit): (Attempt, usize),
        walk: &mut Walk<A>,
        observer: &mut impl Observer<A>,
    ) -> Result<(), RunError> {
        let earlier = if attempt.starts_again() { 0 } else { walk.seen };
        let mut run = Run::new(self, &attempt, earlier)?;
        let termination = run.go(limit, observer)?;
        let made = run.into_sweeps(termination);
        walk.seen = earlier + made.trace.len();
        let named = (attempt, attempt.name());
        walk.note(named, made.trace.len(), made.distance, &made.termination);
        if attempt.has_given_steps() {
            walk.given = Some(made);
        } else if !walk.sweeps.as_ref().is_some_and(|s| made.stay_behind(s)) {
            walk.sweeps = Some(made);
        }
        Ok(())
    }

    /// A fallback by sweeps: from the start again, with other steps, smoothed penalties or positive precisions. One that settles is the state
    /// of the run; of the others the one is kept that a full sweep moves least. A factor that fails here may not fail in the next attempt.
    fn help(
        &self,
        engine: &Self,
        (attempt, limit): (Attempt, usize),
        walk: &mut Walk<A>,
        observer: &mut impl Observer<A>,
    ) {
        let Ok(mut run) = Run::new(engine, &attempt, walk.seen + walk.spent) else {
            return;
        };
        run.helps = Some(self);
        let end = run.go(limit, observer).unwrap_or(Termination::SweepLimit);
        let mut made = run.into_sweeps(end);
        let count = made.trace.len();
        walk.spent += count;
        let named = (attempt, attempt.name());
        if let Some(end) = FallbackEnd::of_settled(&made.termination) {
            walk.note(named, count, made.distance, &made.termination);
            let counts = (count, walk.spent);
            let mut report = FallbackReport::of_sweeps(named.1, counts, made.distance, end);
            report.smoothing = attempt.smoothing;
            if let Some(main) = walk.main_mut() {
                (main.state, main.termination) = (made.state, made.termination);
                (main.distance, main.certified) = (made.distance, made.certified);
            }
            walk.fallback = Some(report);
            return;
        }
        let proper = made.trace.last().is_some_and(|r| r.improper == 0);
        self.restore(&mut made.state);
        let residual = self.full_sweep_residual(&mut made.state);
        let residual = residual.filter(|_| proper);
        let distance = residual.unwrap_or(f64::INFINITY);
        walk.note(named, count, distance, &made.termination);
        if let Some(residual) = residual {
            walk.offer(made.state, residual);
        }
    }

    /// How far a full sweep moves the moments; none where it cannot be made. The state stays.
    pub(super) fn full_sweep_residual(&self, state: &mut State<A>) -> Option<f64> {
        let messages = state.store[..self.tree.edges().len()].to_vec();
        let mut supervisor = Supervisor {
            engine: self,
            state,
            observer: &mut (),
            before: 0,
            count: 0,
        };
        supervisor.sweep_residual(&messages)
    }

    /// The report on the best of what was tried.
    fn conclude(&self, mut walk: Walk<A>) -> Result<Report<A>, RunError> {
        let given = walk.given.take();
        let Some(best) = walk.sweeps.take() else {
            return Ok(self.report(given.ok_or_else(no_attempt)?, walk, None));
        };
        self.tell_more_sweeps(&mut walk, &best);
        Ok(match given {
            None => self.report(best, walk, None),
            Some(given) if best.stay_behind(&given) => {
                (walk.fallback, walk.no_fallback) = (None, None);
                self.report(given, walk, None)
            }
            Some(given) => {
                let constant = self.options.damping.is_constant();
                self.report(best, walk, constant.then_some(given.termination))
            }
        })
    }

    /// What sweeps beyond those that were asked for did, if there were any and nothing took over from them.
    fn tell_more_sweeps(&self, walk: &mut Walk<A>, sweeps: &Sweeps<A>) {
        let made = sweeps.trace.len();
        let more = made.saturating_sub(self.options.max_sweeps);
        if more == 0 || self.is_forced() || walk.fallback.is_some() {
            return;
        }
        let end = FallbackEnd::of_settled(&sweeps.termination);
        let end = end.unwrap_or_else(|| FallbackEnd::at_sweeps(made));
        let report = FallbackReport::of_sweeps(MORE_SWEEPS, (more, more), sweeps.distance, end);
        walk.fallback = Some(report);
    }
}

fn no_attempt() -> RunError {
    RunError::NotReached {
        what: "a first sweep".to_owned(),
        termination: "no attempt was made".to_owned(),
    }
}
