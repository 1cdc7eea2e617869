//! Where the curvature of a penalty among Bayesian factors jumps for ever, its corners are softened; where nothing is active, its
//! variable is nearly pinned.

/// Places in the workspace: updates in a row without an active coordinate; the active fraction $va$ at the last update, the
/// sign of its last change, how often that has turned, and the change at the last turn.
pub(super) const IDLE: usize = 0;
const FRACTION: usize = 1;
const SIGN: usize = 2;
pub(super) const TURNS: usize = 3;
const SWING: usize = 4;
/// How many these are; with a diagonal belief updates without activity follow, for every component.
pub(super) const OWN: usize = 5;
/// A change of the active fraction that counts, relative.
const CHANGE: f64 = 1e-4;
/// A swing below this fraction of the one before settles by itself: its turn does not count. (Recorded total variation
/// runs and classification settle with 0.6; with 0.3 the former do not, with 0.9 one of 20 of the latter.)
const SHRINKING: f64 = 0.6;
/// Turns before corners are softened, the width to begin with, relative to $b$, turns after which it doubles, and its end.
/// The mode does not depend on the width. Narrow ones are slow: half the components of a gradient in two dimensions are
/// free, and where fewer are active, precisions grow until next to nothing moves, at the mode or not. (Twelve runs of total
/// variation in two dimensions settle within 111 sweeps; with 1e-3, doubled after two turns, two of them not within 1000.
/// With a patience of 24 turns they stop before the mode.)
const PATIENCE: f64 = 8.0;
const NARROWEST: f64 = 0.01;
const DOUBLING: f64 = 1.0;
const WIDEST: f64 = 0.5;
/// Without an active coordinate, a variance falls by this with every update, and ends at this fraction of $1/a$: among Bayesian
/// factors a pin could not be left again.
const FALL: f64 = 0.3;
const NEARLY_PINNED: f64 = 1e-9;

/// The variance of what is not active, after so many updates in a row.
pub(super) fn nearly_pinned(a: f64, idle: f64) -> f64 {
    FALL.powf(idle).max(NEARLY_PINNED) / a
}

/// Takes the active fraction down, and whether its change has turned.
pub(super) fn note_fraction(fraction: f64, work: &mut [f64]) {
    let change = fraction - work[FRACTION];
    let size = work[FRACTION].max(fraction);
    if change.abs() > CHANGE * size {
        if change * work[SIGN] < 0.0 {
            let swing = change.abs() / size;
            work[TURNS] += f64::from(swing > SHRINKING * work[SWING]);
            work[SWING] = swing;
        }
        work[SIGN] = change.signum();
    }
    work[FRACTION] = fraction;
}

/// The width of corners after so many turns, if they are softened.
pub(super) fn width(turns: f64) -> Option<f64> {
    let doubled = NARROWEST * 2_f64.powf(((turns - PATIENCE) / DOUBLING).floor());
    (turns >= PATIENCE).then(|| doubled.min(WIDEST))
}
