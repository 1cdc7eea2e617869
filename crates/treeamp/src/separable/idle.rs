//! What a penalty remembers from update to update: how long nothing was active. Its variable is then nearly pinned.

/// Without an active coordinate, a variance falls by this with every update, and ends at this fraction of $1/a$: among Bayesian
/// factors a pin could not be left again.
const FALL: f64 = 0.3;
const NEARLY_PINNED: f64 = 1e-9;

/// The memory of a penalty.
#[derive(Debug, Clone, Default)]
pub(super) struct Activity {
    /// Updates in a row without an active coordinate.
    pub idle: Idle,
    /// The same for every component, of a diagonal belief.
    pub components: Vec<Idle>,
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
}
