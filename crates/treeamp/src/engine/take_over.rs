//! The certain method of an algorithm takes over from sweeps that did not settle.

use super::ladder::FIRST_SWEEPS;
use super::outcome::{Sweeps, Walk};
use super::probe::{LedBy, Supervisor, Watch as _};
use super::state::State;
use super::sweep::Pass;
use super::{
    Algorithm, Attempt, Engine, FallbackEnd, FallbackReport, Observer, Options, Origin, Termination,
};
use crate::error::RunError;

impl<A: Algorithm> Engine<'_, A> {
    /// The certain method, from the last good state. Where it ends at its bound, the better state is kept.
    pub(super) fn take_over(
        &self,
        attempt: Attempt,
        walk: &mut Walk<A>,
        observer: &mut impl Observer<A>,
    ) -> Result<(), RunError> {
        if !self.is_forced()
            && let Some(why) = self.algorithm.uncertain(self.tree)
        {
            if walk.main().is_some_and(|m| m.verdict().is_none()) {
                self.keep_better(walk, false);
            }
            walk.no_fallback = Some(why);
            return Ok(());
        }
        let Some(mut messages) = self.first_messages(&attempt, walk)? else {
            return Ok(());
        };
        let count = walk.seen + walk.spent;
        let Some(main) = walk.main_mut() else {
            return Ok(());
        };
        let before = main.state.store[..messages.len()].to_vec();
        let from_anywhere = self.algorithm.certain_from_anywhere(self.tree);
        let mut supervisor = Supervisor {
            engine: self,
            state: &mut main.state,
            observer,
            before: count,
            count,
        };
        // a method that starts from anywhere does not use the state of the sweeps
        let least = (!from_anywhere).then(|| supervisor.sweep_residual(&before));
        let options = Options {
            tolerance: self.fallback_tolerance(),
            ..self.options.clone()
        };
        let done = self
            .algorithm
            .fall_back(self.tree, &mut messages, &options, &mut supervisor);
        match done {
            Ok(mut done) => {
                self.put(&messages, &mut main.state);
                self.certify_end(&mut done, main)?;
                done.reverted = done.is_worse_than(least.flatten())
                    || main.is_contradicted() && done.end.is_unsettled();
                if done.reverted {
                    self.put(&before, &mut main.state);
                }
                main.state.has_good = true;
                self.account(attempt, done, walk);
                Ok(())
            }
            // where a method that starts from anywhere fails at a factor, the sweeps failed there too
            Err(error) if self.is_forced() || from_anywhere && error.is_failed_factor() => {
                Err(error)
            }
            Err(error) => {
                self.put(&before, &mut main.state);
                walk.no_fallback = Some(error);
                Ok(())
            }
        }
    }

    /// The verdict of the state where the certain method came to rest, which may be no answer.
    fn certify_end(&self, done: &mut FallbackReport, main: &mut Sweeps<A>) -> Result<(), RunError> {
        let recovered = match done.end {
            FallbackEnd::Stationary => false,
            FallbackEnd::Recovered => true,
            _ => return Ok(()),
        };
        let origin = (LedBy::Method, recovered);
        let certified = self.certify(&mut main.state, &main.variances, origin)?;
        if !certified.verdict.is_settled() {
            done.end = FallbackEnd::Rejected(certified.verdict.clone());
        }
        main.certified = Some(certified);
        Ok(())
    }

    /// Where the certain method starts: at the last good state of the sweeps, or after the first of them. Where these lead to no good state the
    /// former must do, once.
    fn first_messages(
        &self,
        attempt: &Attempt,
        walk: &mut Walk<A>,
    ) -> Result<Option<Vec<A::Message>>, RunError> {
        let again = walk.fallback.is_some();
        let Some(main) = walk.main_mut() else {
            return Ok(None);
        };
        if !again {
            self.restore(&mut main.state);
        }
        let edges = self.tree.edges().len();
        if attempt.start == Origin::FirstSweeps {
            match self.after_first_sweeps()? {
                Some(other) => return Ok(Some(other.store[..edges].to_vec())),
                None if again => return Ok(None),
                None => {}
            }
        }
        Ok(Some(main.state.store[..edges].to_vec()))
    }

    /// Writes down what the certain method came to. At a bound, the best state of the fallbacks by sweeps may be better.
    fn account(&self, attempt: Attempt, mut done: FallbackReport, walk: &mut Walk<A>) {
        let (name, alone) = (done.method, done.evaluations);
        let earlier = walk.fallback.take();
        done.evaluations += earlier.as_ref().map_or(walk.spent, |e| e.evaluations);
        done.steps += earlier.as_ref().map_or(0, |e| e.steps);
        let (termination, reverted) = (done.termination(), done.reverted);
        let residual = done.sweep_residual.unwrap_or(done.residual);
        let at_bound = matches!(done.end, FallbackEnd::Limit { .. });
        walk.fallback = Some(done);
        walk.note((attempt, name), alone, residual, &termination);
        let Some(main) = walk.main_mut() else {
            return;
        };
        let diverged = matches!(main.termination, Termination::Diverging(_));
        let rejected = main.verdict().is_some();
        if !rejected || !reverted {
            main.termination = termination;
        }
        if !reverted {
            main.distance = residual;
        }
        if !rejected && at_bound {
            let taken = self.keep_better(walk, diverged && reverted);
            if let Some(done) = &mut walk.fallback {
                done.reverted |= taken;
            }
        }
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
            (main.state, main.distance) = (*other, residual);
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
}
