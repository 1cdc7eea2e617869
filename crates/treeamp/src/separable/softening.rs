//! Where the curvature of a penalty among Bayesian factors jumps for ever, its corners are softened; where nothing is active, its
//! variable is nearly pinned.

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

/// What a penalty remembers from update to update: its active fraction $va$, how that changed, and what was not active.
#[derive(Debug, Clone, Default)]
pub(super) struct Activity {
    /// Updates in a row without an active coordinate.
    pub idle: Idle,
    /// The same for every component, of a diagonal belief.
    pub components: Vec<Idle>,
    /// The active fraction at the last update, the sign of its last change, how often that has turned, and the change at the
    /// last turn.
    fraction: f64,
    sign: f64,
    turns: u32,
    swing: f64,
}

/// Counts updates in a row without activity.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Idle(pub u32);

impl Idle {
    /// One more update, with an active coordinate or without.
    pub fn note(&mut self, active: bool) {
        self.0 = if active { 0 } else { self.0.saturating_add(1) };
    }

    /// The variance of what is not active.
    pub fn nearly_pinned(self, a: f64) -> f64 {
        FALL.powf(f64::from(self.0)).max(NEARLY_PINNED) / a
    }
}

impl Activity {
    /// That of a signal with so many precisions of its own.
    pub fn new(components: usize) -> Self {
        Self {
            components: vec![Idle::default(); components],
            ..Self::default()
        }
    }

    /// Takes the active fraction down, and whether its change has turned.
    pub fn note_fraction(&mut self, fraction: f64) {
        let change = fraction - self.fraction;
        let size = self.fraction.max(fraction);
        if change.abs() > CHANGE * size {
            if change * self.sign < 0.0 {
                let swing = change.abs() / size;
                self.turns += u32::from(swing > SHRINKING * self.swing);
                self.swing = swing;
            }
            self.sign = change.signum();
        }
        self.fraction = fraction;
    }

    /// The width of corners after so many turns, if they are softened.
    pub fn width(&self) -> Option<f64> {
        let turns = f64::from(self.turns);
        let doubled = NARROWEST * 2_f64.powf(((turns - PATIENCE) / DOUBLING).floor());
        (turns >= PATIENCE).then(|| doubled.min(WIDEST))
    }
}
