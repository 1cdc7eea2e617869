//! When moments are at rest. What a state at rest is, the [verdict](super::Verdict) says.
//!
//! Moments that a sweep moves by less than the tolerance $\epsilon$ are at rest, with two exceptions. A run that swings may pass its
//! last place by accident. And where a variance is below $100\,\epsilon$ of the second moment its changes are hardly seen: a discrete
//! signal may be certain for a few sweeps, on messages that fall to a tenth in each of them. There the sweeps after must be at rest
//! as well, and no such variance may grow.

use super::probe::RESTING;
use super::state::State;
use super::{Algorithm, Marginal};
use crate::math::ROUNDING;

/// Residual on data below which vanishing variances are a recovery: a run that swings between certainties has them too.
const STILL: f64 = 1e-5;
/// Above this residual a run swings: one that is small in the next sweep is not yet trusted, unless nothing but rounding is left, and no double loop
/// starts there. (From 0.03 to 0.1 the evaluations of starts there and after the first sweeps are alike.)
pub(super) const SWINGING: f64 = 0.03;
/// A variance below so many tolerances of the moments has been seen at rest to one part in a hundred only.
pub(super) const LOOSE: f64 = 100.0;
/// And no more than this fraction of the second moment, however large the tolerance.
const LARGEST: f64 = 1e-4;
/// Sweeps in a row that must be at rest there.
const CONFIRMING: usize = 3;
/// What a sweep left, as its end is judged on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Swept {
    pub sweep: usize,
    /// As of a full step.
    pub residual: f64,
    /// Laws that were improper.
    pub improper: usize,
    /// It started from a jump.
    pub jumped: bool,
    /// The size of its step.
    pub step: f64,
}

/// The fraction of the second moment below which a variance is hardly seen.
pub(super) fn unseen(tolerance: f64) -> f64 {
    (LOOSE * tolerance).min(LARGEST)
}

/// What is known of the sweeps before.
#[derive(Debug, Default)]
pub(super) struct End {
    /// The residual of the sweep before; the first has nothing to compare with.
    before: f64,
    /// Sweeps at rest in a row, with a variance that is hardly seen.
    quiet: usize,
    /// The variances after the sweep before.
    variances: Vec<f64>,
}

impl End {
    pub fn new(variables: usize) -> Self {
        Self {
            variances: vec![0.0; variables],
            ..Self::default()
        }
    }

    /// Takes a sweep, and says whether the run ends at a fixed point: `Some(true)` where the signal is recovered.
    pub fn judge<A: Algorithm>(
        &mut self,
        state: &State<A>,
        swept: Swept,
        (tolerance, perfect): (f64, f64),
    ) -> Option<bool> {
        let residual = swept.residual;
        let proper = swept.improper == 0;
        // after the first sweep the sources have not yet heard what is known
        let perfect = A::RECOVERS && swept.sweep > 1 && state.perfect(perfect);
        // a swinging run may pass its last place by accident, and stays there if it has settled
        let calm = !A::ON_DATA || self.before < SWINGING || residual < ROUNDING;
        self.before = if residual.is_finite() { residual } else { 0.0 };
        let rests = proper && !swept.jumped && residual < tolerance;
        let settled = rests && calm && self.confirms(state, swept.step, tolerance);
        if !rests {
            self.quiet = 0;
        }
        self.note(state);
        let still = residual < STILL || !A::ON_DATA;
        (proper && perfect && still || settled).then_some(perfect)
    }

    /// Enough sweeps in a row were at rest, one where every variance is seen. A variance that grows is on its way elsewhere.
    fn confirms<A: Algorithm>(&mut self, state: &State<A>, step: f64, tolerance: f64) -> bool {
        let small = unseen(tolerance);
        if !(A::ON_DATA && A::RECOVERS && state.vanishes(small)) {
            return true;
        }
        let pairs = state.marginals.iter().zip(&self.variances);
        let pairs = pairs
            .zip(&state.attention.unread)
            .filter(|(_, unread)| !**unread);
        let mut unseen = pairs
            .map(|(pair, _)| pair)
            .filter(|(m, _)| m.variance() <= small * m.second_moment());
        let most = 1.0 + RESTING * step;
        let grows = unseen.any(|(m, v)| m.variance() > most * v);
        self.quiet = if grows { 0 } else { self.quiet + 1 };
        self.quiet >= CONFIRMING
    }

    /// Plain sweeps lead away from where the run came to rest: it goes on.
    pub fn go_on(&mut self) {
        self.quiet = 0;
    }

    fn note<A: Algorithm>(&mut self, state: &State<A>) {
        for (v, m) in self.variances.iter_mut().zip(&state.marginals) {
            *v = m.variance();
        }
    }
}
