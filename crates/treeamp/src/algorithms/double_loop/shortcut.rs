//! Shortcuts of the double loop: Newton's method to a stationary point that is near, and plain sweeps to a signal that is
//! about to be known exactly.

use super::DoubleLoop;
use super::fall::VANISHED;
use super::inner::Dual;
use super::newton::Newton;
use crate::belief::{Gaussian, Message as _, Moments};
use crate::engine::{FallbackEnd, Options, RESTING, Verdict, Watch};

/// The first shortcut is tried when the residual is below this, near a fixed point, and another when it has fallen to this fraction of where
/// the last one failed, or after so many evaluations.
pub(super) const NEAR: f64 = 0.03;
const NEARER: f64 = 0.3;
const PATIENCE: usize = 1000;
/// Sweeps of a shortcut.
const SWEEPS: usize = 50;

/// When the next shortcut is due.
#[derive(Debug)]
pub(super) struct Shortcuts {
    below: f64,
    after: usize,
}

impl Shortcuts {
    pub fn new() -> Self {
        Self {
            below: NEAR,
            after: PATIENCE,
        }
    }

    /// The next one is due.
    pub fn at_once(&mut self) {
        self.below = f64::INFINITY;
    }

    fn is_due(&self, residual: f64, evaluations: usize) -> bool {
        residual < self.below || evaluations > self.after
    }

    fn failed(&mut self, residual: f64, evaluations: usize) {
        self.below = self.below.min(NEARER * residual);
        self.after = evaluations + PATIENCE;
    }
}

impl DoubleLoop<'_> {
    /// Tries a shortcut where one is due. The messages are those of its end, or stay.
    pub(super) fn shortcut(
        &mut self,
        messages: &mut [Gaussian],
        options: &Options,
        watch: &mut dyn Watch<Gaussian>,
    ) -> Option<FallbackEnd> {
        let (residual, spent) = (self.out.residual, self.out.evaluations);
        if !self.shortcuts.is_due(residual, spent) {
            return None;
        }
        let before = messages.to_vec();
        let end = self.plain_sweeps(messages, options, watch).or_else(|| {
            messages.clone_from_slice(&before);
            self.newton(messages, options, watch)
        });
        self.out.evaluations = self.dual.evaluations;
        if end.is_none() {
            messages.clone_from_slice(&before);
            self.shortcuts.failed(residual, self.out.evaluations);
        }
        end
    }

    /// Sweeps until they settle, or all variances have vanished: of a discrete signal they double the digits, where the outer
    /// loop gains one at a time.
    fn plain_sweeps(
        &mut self,
        messages: &mut [Gaussian],
        options: &Options,
        watch: &mut dyn Watch<Gaussian>,
    ) -> Option<FallbackEnd> {
        for _ in 0..SWEEPS {
            let residual = watch.sweep(messages)?;
            self.dual.evaluations += 1;
            if residual >= options.tolerance {
                continue;
            }
            let known = self.moments(messages)?;
            let certain = |m: &Moments| m.average_variance() <= options.perfect * m.second_moment();
            if !known.iter().all(certain) {
                // on its way to certainty, or at a fixed point
                if let Some(end) = self.accept(messages, residual, watch) {
                    return Some(end);
                }
                continue;
            }
            self.out.sweep_residual = Some(residual);
            let verdict = watch.verdict_of_recovery(messages);
            let contradicted = matches!(verdict, Some(Verdict::Contradicted(_)));
            return (!contradicted).then_some(FallbackEnd::Recovered);
        }
        None
    }

    /// The moments of all variables under these messages, where they are beliefs.
    fn moments(&self, messages: &[Gaussian]) -> Option<Vec<Moments>> {
        let each = self.tree.variables().iter().map(|v| {
            let mut total = Gaussian::flat(&v.spec);
            v.edges.iter().for_each(|e| total.add_assign(&messages[*e]));
            let mut out = Moments::zeros(&v.spec);
            total.moments_into(&mut out).ok().map(|()| out)
        });
        each.collect()
    }

    /// Newton's method, where its end has no higher free energy.
    fn newton(
        &mut self,
        messages: &mut [Gaussian],
        options: &Options,
        watch: &mut dyn Watch<Gaussian>,
    ) -> Option<FallbackEnd> {
        let start = messages.to_vec();
        let mut newton = Newton::new(&start, watch)?;
        let settled = newton.settle(messages, options.tolerance);
        self.dual.evaluations += newton.sweeps;
        self.accept(messages, settled?, watch)
    }

    /// A fixed point of the sweeps, if its variances rest and its free energy is no higher than that of the last inner problem that was solved.
    fn accept(
        &mut self,
        messages: &[Gaussian],
        residual: f64,
        watch: &mut dyn Watch<Gaussian>,
    ) -> Option<FallbackEnd> {
        let energy = Dual::new(self.tree, messages).ok()?.free_energy().ok()?;
        // where the last inner problem is not solved, its value is below its maximum, and no bound
        let solved = self.unsolved == 0;
        let higher = !(energy <= self.energy + super::ROUNDING * self.dual.scale());
        if solved && higher || !self.rests(messages, watch) {
            return None;
        }
        let recorded = self.out.free_energy.last();
        if recorded.is_none_or(|last| energy <= *last) {
            self.out.free_energy.push(energy);
        }
        self.out.residual = residual;
        self.out.sweep_residual = Some(residual);
        Some(FallbackEnd::Stationary)
    }

    /// No variance is on its way to nothing: that moves by less and less and goes on for ever.
    pub(super) fn rests(&mut self, messages: &[Gaussian], watch: &mut dyn Watch<Gaussian>) -> bool {
        let mut later = messages.to_vec();
        self.dual.evaluations += 1;
        if watch.sweep(&mut later).is_none() {
            return false;
        }
        let (Some(now), Some(then)) = (self.moments(messages), self.moments(&later)) else {
            return false;
        };
        let rests = |i: &usize| {
            let (v, tau) = (now[*i].average_variance(), now[*i].second_moment());
            let moved = (then[*i].average_variance() - v).abs();
            v > VANISHED * tau && moved <= RESTING * v
        };
        self.dual.unknown().all(|v| rests(&v))
    }
}
